"""The protocol of a key management service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.schema.errors import KeyWrapFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_TIMEOUT_S: Final = 2.0
READ_TIMEOUT_S: Final = 10.0


class KeyService(Protocol):
    """A key management service, used by several threads.

    Raises ``KeyAccessDenied`` if the service refuses the key to the program, ``KeyServiceUnavailable`` if it does not
    answer, else ``KeyWrapFailed``.
    """

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted with the key ``key_id``."""

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Return the ``plain`` of :meth:`wrap`."""

    def close(self) -> None:
        """Close the connections."""


class KeyServiceMaker(Protocol):
    """What an entry point of the group ``counterfoil.key_services`` names, usually a class."""

    def __call__(self, conf: Mapping[str, str], /) -> KeyService:
        """Return the service for the settings of the program and the properties of the KEK, which come first."""


def malformed(key_id: str, expected: str) -> KeyWrapFailed:
    """Return the error for an id that is not one of a service."""
    return KeyWrapFailed(f"kmsKeyId {key_id[:200]!r} is not the id of a key; expected {expected}")
