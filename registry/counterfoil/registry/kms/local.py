"""A substitute for a key management service: one secret for all keys, for trials and tests.

Source: the local KMS driver of Confluent's Python client (Apache 2.0), which reads keys wrapped here, and the reverse:
AES-128-GCM in Tink's raw form, with a key derived from the secret by HKDF (RFC 5869) with SHA-256.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import KeyWrapFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LOCAL_SECRET: Final = "LOCAL_SECRET"  # noqa: S105 - the name of a variable, no secret
"""The environment variable with the secret, as in Confluent's clients."""

_SECRET_PROPERTY: Final = "secret"  # noqa: S105 - the name of a property, no secret
_KEY_BYTES: Final = 16
_NONCE_BYTES: Final = 12


class LocalKms:
    """Wraps with ``secret``, or with the property ``secret`` of the key encryption key."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        """Return ``plain`` encrypted: nonce, ciphertext, tag."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher(key_id, props).encrypt(nonce, plain, None)

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        """Decrypt a wrapped key; raise ``KeyWrapFailed`` if it was wrapped with another secret."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher(key_id, props).decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], None)
        except (InvalidTag, ValueError):
            raise KeyWrapFailed(
                f"A key cannot be unwrapped with the local secret for {key_id[:200]!r}: another one wrapped it"
            ) from None

    def _cipher(self, key_id: str, props: Mapping[str, str]) -> AESGCM:
        secret = props.get(_SECRET_PROPERTY) or self._secret
        if not secret:
            raise KeyWrapFailed(
                f"There is no secret for the local key {key_id[:200]!r}; start the registry with the environment "
                f"variable {LOCAL_SECRET}, the same as its clients"
            )
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return AESGCM(HKDF(SHA256(), _KEY_BYTES, salt=None, info=b"").derive(secret.encode()))

    async def close(self) -> None:
        """Do nothing: there are no connections."""
