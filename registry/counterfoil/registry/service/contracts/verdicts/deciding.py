"""The judgements of the pairs of one question: quick ones at once, and the others beside the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.model import SchemaType
from counterfoil.schema.reads.pairs import judge_pair, judge_pairs
from counterfoil.schema.reads.sides import pair_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.registry.service.judging import LongJudgements
    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.reads.sides import Judge, Offering, PairKey, Reading

_T = TypeVar("_T")

_FOUND_AT_ONCE: Final = 32
_JUDGED_AT_ONCE: Final = 16
_QUICK_CHARS: Final = 4_000
"""The characters of the schemas of a pair that is judged in a few milliseconds; JSON Schema has a solver instead."""


class PairJudge:
    """Judges the pairs of one question.

    The pairs are made anew once those that take long have been judged beside the event loop.
    """

    def __init__(self, sides: Sides, long: LongJudgements) -> None:
        self._sides = sides
        self._long = long
        self._found: dict[PairKey, tuple[ReadFinding, ...]] = {}
        self._missing: dict[PairKey, tuple[Sequence[Offering], Offering, Reading]] = {}

    async def find(self, pairs: Callable[[Judge], Iterable[_T]]) -> list[_T]:
        """Return the results of ``pairs``, made with the findings about each pair that it needs."""
        while True:
            found: list[_T] = []
            for number, each in enumerate(pairs(self._judged)):
                found.append(each)
                if number % _FOUND_AT_ONCE == 0:
                    await asyncio.sleep(0)  # there may be a thousand
            if not self._missing:
                return found
            await self._judge_missing()

    def _judged(self, known: Sequence[Offering], offered: Offering, reading: Reading) -> tuple[ReadFinding, ...]:
        """Return the findings about a pair; none for now if it is judged later.

        ``known`` are the offerings that the reader was built for.
        """
        key = pair_key(known, offered, reading)
        found = self._found.get(key)
        if found is None:
            found = self._sides.known_findings(key)
        if found is not None:
            return found
        if not _is_quick(known, offered, reading):
            self._missing[key] = known, offered, reading
            return ()
        found = judge_pair([each.offer for each in known], offered.offer, reading.reader)
        self._keep(key, found)
        return found

    async def _judge_missing(self) -> None:
        missing, self._missing = self._missing, {}
        waiting = list(missing.items())
        for begin in range(0, len(waiting), _JUDGED_AT_ONCE):
            some = waiting[begin : begin + _JUDGED_AT_ONCE]
            asked = [
                ([each.offer for each in known], offered.offer, reading.reader) for _, (known, offered, reading) in some
            ]
            for (key, _), found in zip(some, await self._long.run(judge_pairs, asked), strict=True):
                self._keep(key, found)

    def _keep(self, key: PairKey, found: tuple[ReadFinding, ...]) -> None:
        """Keep findings for this question, and for others as long as there is room."""
        self._found[key] = found
        self._sides.keep_findings(key, found)


def _is_quick(known: Sequence[Offering], offered: Offering, reading: Reading) -> bool:
    """Return whether a pair is judged in a few milliseconds."""
    offers = [each.offer for each in (*known, offered)]
    schemas = [one for each in offers for one in (each.schema, each.key_schema) if one is not None]
    if reading.reader.schema is not None:
        schemas.append(reading.reader.schema)
    if any(each.schema_type is SchemaType.JSON for each in schemas):
        return False
    return sum(len(each.text) + each.referenced_chars for each in schemas) <= _QUICK_CHARS
