"""What was verified a moment ago, by a keyed digest of the header, so that it need not be verified at each request."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from hashlib import sha256
from typing import Final, Generic, TypeVar

_Value = TypeVar("_Value")

_MAX_ENTRIES: Final = 20_000


class Remembered(Generic[_Value]):
    """A bounded memory of successes. The key is a digest over a random key of the process, never the header itself."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._entries: OrderedDict[bytes, _Value] = OrderedDict()

    def get(self, header: bytes) -> _Value | None:
        """Return what is remembered of a header."""
        return self._entries.get(sha256(self._key + header).digest())

    def put(self, header: bytes, value: _Value) -> None:
        """Remember ``value``."""
        digest = self._digest(header)
        self._entries[digest] = value
        self._entries.move_to_end(digest)
        if len(self._entries) > _MAX_ENTRIES:
            self._entries.popitem(last=False)

    def forget(self, header: bytes) -> None:
        """Forget what is remembered of a header."""
        self._entries.pop(self._digest(header), None)

    def _digest(self, header: bytes) -> bytes:
        return sha256(self._key + header).digest()
