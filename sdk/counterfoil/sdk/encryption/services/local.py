"""``local-kms``: one secret for all keys, for trials and tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import KeyAccessDenied, KeyWrapFailed
from counterfoil.schema.keys.ciphers import DamagedCiphertext, local_cipher

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRET: Final = "secret"  # noqa: S105 - the name of a setting, no secret
_VARIABLE: Final = "LOCAL_SECRET"


class LocalKms:
    """Wraps with the setting ``secret``, or with the environment variable ``LOCAL_SECRET``."""

    def __init__(self, conf: Mapping[str, str]) -> None:
        secret = conf.get(_SECRET) or os.environ.get(_VARIABLE)
        if not secret:
            raise KeyAccessDenied(
                f"There is no secret for local keys; give the setting {_SECRET!r} in the conf of the rules, or the "
                f"environment variable {_VARIABLE}"
            )
        self._cipher = local_cipher(secret)

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted."""
        del key_id
        return self._cipher.encrypt(plain)

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        try:
            return self._cipher.decrypt(wrapped)
        except DamagedCiphertext:
            raise KeyWrapFailed(
                f"The key cannot be unwrapped with the local secret for {key_id[:200]!r}: another one wrapped it"
            ) from None

    def close(self) -> None:
        """Do nothing: there are no connections."""
