"""Values of Avro's logical type ``duration``: months, days and milliseconds.

Source: Apache Avro 1.12 specification, "Duration".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

_LAYOUT: Final = struct.Struct("<III")
_LIMIT: Final = 2**32


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in months, days and milliseconds, each from 0 to 2**32 - 1.

    The three are independent, since months and days have no fixed length, so that no ``timedelta`` holds them.

    >>> bytes(Duration(months=1, millis=500)).hex(" ", 4)
    '01000000 00000000 f4010000'
    """

    months: int = 0
    days: int = 0
    millis: int = 0

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a part that has no place in the encoding."""
        for name in ("months", "days", "millis"):
            part = getattr(self, name)
            if part.__class__ is not int or not 0 <= part < _LIMIT:
                raise ValueError(f"{name} is {part!r}; expected an int from 0 to {_LIMIT - 1}")

    def __bytes__(self) -> bytes:
        """Return the 12 bytes of the encoding."""
        return _LAYOUT.pack(self.months, self.days, self.millis)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Duration:
        """Return the duration that 12 bytes encode."""
        return cls(*_LAYOUT.unpack(raw))
