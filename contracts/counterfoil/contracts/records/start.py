"""Where the reading of a topic starts: the value of ``--from``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.errors import UsageMistake

if TYPE_CHECKING:
    from counterfoil.contracts.records.topic import Topic

_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Start:
    """A place in every partition: an ``offset`` (negative: so many records before the end), or a ``moment``.

    Both are None for the end.
    """

    offset: int | None = None
    moment: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> Start:
        """Return the start that ``text`` names: beginning, end, an offset, ``-N``, or a time in ISO 8601.

        >>> Start.parse("-10")
        Start(offset=-10, moment=None)
        """
        if text in {"beginning", "end"}:
            return cls(0 if text == "beginning" else None)
        if _NUMBER.fullmatch(text):
            return cls(int(text))
        try:
            return cls(None, datetime.fromisoformat(text).astimezone())
        except (ValueError, OverflowError):
            expected = "beginning, end, an offset, -N for the last N records, or a time such as 2026-01-31T12:00Z"
            raise UsageMistake(f"--from is {text!r}; expected {expected}") from None

    def offset_in(self, topic: Topic, partition: int, first: int, end: int) -> int:
        """Return the offset in a partition that has the offsets from ``first`` to before ``end``."""
        if self.moment is not None:
            found = topic.offset_at(partition, self.moment)
            return end if found is None else found
        if self.offset is None:
            return end
        return max(first, self.offset if self.offset >= 0 else end + self.offset)
