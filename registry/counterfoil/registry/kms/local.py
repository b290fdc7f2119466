"""A substitute for a key management service: one secret for all keys, for trials and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import KeyWrapFailed
from counterfoil.schema.keys.ciphers import DamagedCiphertext, local_cipher

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.keys.ciphers import Cipher

LOCAL_SECRET: Final = "LOCAL_SECRET"  # noqa: S105 - the name of a variable, no secret
"""The environment variable with the secret, as in Confluent's clients."""

_SECRET_PROPERTY: Final = "secret"  # noqa: S105 - the name of a property, no secret


class LocalKms:
    """Wraps with ``secret``, or with the property ``secret`` of the key encryption key."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        """Return ``plain`` encrypted."""
        return self._cipher(key_id, props).encrypt(plain)

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        """Decrypt a wrapped key; raise ``KeyWrapFailed`` if it was wrapped with another secret."""
        try:
            return self._cipher(key_id, props).decrypt(wrapped)
        except DamagedCiphertext:
            raise KeyWrapFailed(
                f"A key cannot be unwrapped with the local secret for {key_id[:200]!r}: another one wrapped it"
            ) from None

    def _cipher(self, key_id: str, props: Mapping[str, str]) -> Cipher:
        secret = props.get(_SECRET_PROPERTY) or self._secret
        if not secret:
            raise KeyWrapFailed(
                f"There is no secret for the local key {key_id[:200]!r}; start the registry with the environment "
                f"variable {LOCAL_SECRET}, the same as its clients"
            )
        return local_cipher(secret)

    async def close(self) -> None:
        """Do nothing: there are no connections."""
