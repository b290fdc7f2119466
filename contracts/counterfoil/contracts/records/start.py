"""Where the reading of a topic starts: the value of ``--from``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.errors import UsageMistake
from counterfoil.schema.sampling.moments import milliseconds_of

if TYPE_CHECKING:
    from counterfoil.contracts.records.topic import Topic
    from counterfoil.schema.sampling.selection import Bounds

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

    def offsets(self, topic: Topic, bounds: Bounds) -> dict[int, int]:
        """Return the offset at which the reading of each partition starts; ``bounds`` are the offsets that it has."""
        ends = {partition: end for partition, (_, end) in bounds.items()}
        if self.moment is not None:
            found = topic.offsets_at(milliseconds_of(self.moment))
            return {partition: found.get(partition, end) for partition, end in ends.items()}
        offset = self.offset
        if offset is None:
            return ends
        return {one: max(first, offset if offset >= 0 else end + offset) for one, (first, end) in bounds.items()}
