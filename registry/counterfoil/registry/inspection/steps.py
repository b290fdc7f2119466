"""The steps of a subject's versions: computed from their schemas, beside the event loop, and cached."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

from counterfoil.registry.inspection.facts import DerivedFacts, weight_of_step
from counterfoil.registry.judges.judging import LongJudgements, Pauses
from counterfoil.registry.subjects.reading import LANGUAGE_CODE, SchemaReader
from counterfoil.registry.subjects.versions import Content, VersionEntry
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import InvalidSchema, JudgementEnded
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import SchemaSource
from counterfoil.schema.steps import UNKNOWN_STEP, StepFacts, find_step, find_steps

_QUICK_CHARS: Final = 4 * 1024
"""The characters of two texts, with their references, that are compared in the event loop."""

_QUICK_STEPS: Final = 3_000
_FEW: Final = 2
"""So many steps are found in the event loop; more of them are found beside it, all in one call."""

_A_CALL: Final = 25
_MOST_CHARS: Final = 1_000_000
"""The characters of two texts, with their references, that are compared for a list; it takes seconds beyond."""

_LARGE_STEP: Final = StepFacts(change="The texts are too large to be compared for a list", is_whole=False)

_Pair: TypeAlias = "tuple[VersionEntry, VersionEntry]"


class VersionSteps:
    """Finds the step of a version from the one before; each pair of contents is compared once."""

    def __init__(self, reader: SchemaReader, long: LongJudgements, facts: DerivedFacts) -> None:
        self._reader = reader
        self._long = long
        self._known = facts.steps

    async def of(
        self, subject: QualifiedSubject, entries: Sequence[VersionEntry], wanted: Iterable[VersionEntry]
    ) -> dict[int, StepFacts]:
        """Return the steps of the ``wanted`` ones of a subject's ``entries`` by version.

        A step is that from the last version before that is not deleted; the first one has none.
        """
        found: dict[int, StepFacts] = {}
        missing: list[_Pair] = []
        for pair in _pairs(entries, wanted):
            known = StepFacts() if pair[0].guid == pair[1].guid else self._known.get(_key(subject, pair))
            if known is None:
                missing.append(pair)
            else:
                found[pair[1].version] = known
        for pair in missing if len(missing) <= _FEW else ():
            quick = await self._quick_step(subject, pair)
            if quick is not None:
                found[pair[1].version] = quick
        rest = [pair for pair in missing if pair[1].version not in found]
        for first in range(0, len(rest), _A_CALL):
            batch = rest[first : first + _A_CALL]
            for pair, step in zip(batch, await self._steps_beside(subject, batch), strict=True):
                found[pair[1].version] = self._kept(subject, pair, step)
        return found

    async def _quick_step(self, subject: QualifiedSubject, pair: _Pair) -> StepFacts | None:
        """Return a step that is found in the event loop; None if the texts are long, or the work would be.

        The solver of JSON Schema has limits of its own, which are too large for the event loop.
        """
        contents = [await self._reader.content(each.guid) for each in pair]
        if any(each.schema_type is SchemaType.JSON for each in contents):
            return None
        sources = [await self._source(subject.context, each) for each in contents]
        if sum(_QUICK_CHARS if each is None else each.chars for each in sources) >= _QUICK_CHARS:
            return None
        schemas = []
        for content in contents:
            await LANGUAGE_CODE.to_compare(content.schema_type)
            validation = language_for(content.schema_type).validation_to_compare
            try:
                schemas.append(await self._reader.parsed(subject.context, content, validation=validation))
            except InvalidSchema:
                return None
            await asyncio.sleep(0)  # parsing has just held the event loop
        found = await self._long.here(partial(find_step, schemas[0], schemas[1], max_steps=_QUICK_STEPS))
        return self._kept(subject, pair, found) if found.is_whole else None

    async def _steps_beside(self, subject: QualifiedSubject, pairs: Sequence[_Pair]) -> Sequence[StepFacts]:
        """Return the steps of pairs, found beside the event loop."""
        await self._reader.load(list(dict.fromkeys(each.guid for pair in pairs for each in pair)))
        pauses = Pauses()
        sources: list[tuple[SchemaSource, SchemaSource] | None] = []
        for pair in pairs:
            await pauses.pause_if_due()
            contents = [await self._reader.content(each.guid) for each in pair]
            earlier, later = [await self._source(subject.context, each) for each in contents]
            sources.append(None if earlier is None or later is None else (earlier, later))
        small = tuple(each for each in sources if each is not None and not _are_large(each))
        found = iter(await self._steps(small))
        return [UNKNOWN_STEP if each is None else _LARGE_STEP if _are_large(each) else next(found) for each in sources]

    async def _steps(self, sources: tuple[tuple[SchemaSource, SchemaSource], ...]) -> Sequence[StepFacts]:
        """Return the step of each pair of sources; where that takes too long for all, pairs are given up one by one."""
        if not sources:
            return ()
        try:
            return await self._long.run(find_steps, sources)
        except JudgementEnded:
            if len(sources) == 1:
                return (UNKNOWN_STEP,)
            return [step for each in sources for step in await self._steps((each,))]

    async def _source(self, context: str, content: Content) -> SchemaSource | None:
        """Return what a content is parsed from; None if it refers to what is not there."""
        try:
            return await self._reader.source(context, content)
        except InvalidSchema:
            return None

    def _kept(self, subject: QualifiedSubject, pair: _Pair, step: StepFacts) -> StepFacts:
        self._known.put(_key(subject, pair), step, weight=weight_of_step(step))
        return step


def _are_large(sources: tuple[SchemaSource, SchemaSource]) -> bool:
    return sum(each.chars for each in sources) > _MOST_CHARS


def _pairs(entries: Sequence[VersionEntry], wanted: Iterable[VersionEntry]) -> list[_Pair]:
    """Return each wanted version with the last one before it that is not deleted, if there is one."""
    versions = {each.version for each in wanted}
    before: VersionEntry | None = None
    found = []
    for each in entries:
        if before is not None and each.version in versions:
            found.append((before, each))
        if not each.deleted:
            before = each
    return found


def _key(subject: QualifiedSubject, pair: _Pair) -> tuple[str, UUID, UUID]:
    return subject.context, pair[0].guid, pair[1].guid
