"""Importing facts into a target: first the check, then the writing, and on request reading back."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import IO, TYPE_CHECKING, Final, Protocol

from counterfoil.registry.moving.facts import Clashes, NotTheSame, Unreadable, UnreadableContent, VersionFact
from counterfoil.registry.moving.sources import Lanes, targets_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
    from uuid import UUID

    from counterfoil.registry.moving.facts import Fact, Found


# Reports of the progress of a move, on standard error.

_EVERY_S: Final = 2.0


class MoveProgress:
    """Writes to ``stream``; nothing if there is none."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._counts: dict[str, int] = {}
        self._written_at = time.monotonic()

    def say(self, sentence: str) -> None:
        """Write a line."""
        if self._stream is not None:
            self._stream.write(f"{sentence}\n")
            self._stream.flush()

    def step(self, done: str) -> None:
        """Count one more fact with the result ``done``; write the counts now and then."""
        self._counts[done] = self._counts.get(done, 0) + 1
        if time.monotonic() - self._written_at >= _EVERY_S:
            self._written_at = time.monotonic()
            self.say(", ".join(f"{count} {word}" for word, count in self._counts.items()) + " …")


def to_stderr(*, quiet: bool) -> MoveProgress:
    """Return progress reports on standard error, or none if ``quiet``."""
    return MoveProgress(None if quiet else sys.stderr)


# The targets of facts.


class FactState(Enum):
    """The state of a fact in a target."""

    ABSENT = "absent"
    """The target does not have it, and can."""
    UNFINISHED = "unfinished"
    """The version exists and is not soft-deleted yet."""
    SAME = "same"
    CLASH = "clash"


@dataclass(frozen=True, slots=True)
class FactStanding:
    """The state of one fact in a target; ``problem`` is a sentence for a clash."""

    state: FactState
    problem: str = ""


ABSENT = FactStanding(FactState.ABSENT)
UNFINISHED = FactStanding(FactState.UNFINISHED)
SAME = FactStanding(FactState.SAME)


def clash(problem: str) -> FactStanding:
    """Return the state of content that differs in the target."""
    return FactStanding(FactState.CLASH, problem)


def version_standing(fact: VersionFact, *, guid: UUID | None, schema_id: object, deleted: bool) -> FactStanding:
    """Return the state of a version that exists in the target with this guid, id and deletion."""
    if guid != fact.content.guid:
        return clash(f"{fact} holds another schema ({guid}, not {fact.content.guid})")
    if schema_id != fact.schema_id:
        return clash(f"{fact} holds the schema under id {schema_id}, not {fact.schema_id}")
    return deletion_standing(fact, wanted=fact.deleted, deleted=deleted)


def deletion_standing(fact: Fact, *, wanted: bool, deleted: bool) -> FactStanding:
    """Return the state of content that is the same in the target, except perhaps whether it is soft-deleted."""
    if deleted == wanted:
        return SAME
    return UNFINISHED if wanted else clash(f"{fact} is soft-deleted")


def id_clash(fact: VersionFact, guid: UUID | None) -> FactStanding:
    """Return the state of a version whose id has another schema, ``guid``, in the target."""
    context = fact.subject.context
    return clash(f"{fact}: id {fact.schema_id} of context {context!r} stands for another schema ({guid})")


class FactTarget(Protocol):
    """A registry as a target of facts."""

    async def standing(self, fact: Fact) -> FactStanding:
        """Return the present state of ``fact`` in the target."""

    async def put(self, fact: Fact) -> None:
        """Write ``fact``, which is absent or unfinished."""

    async def finish(self) -> None:
        """Restore everything that was changed during the import; also called after an import that failed."""


# The import itself.
#
# Nothing is written while there is a clash. An import that was interrupted is repeated from the start: existing content
# is skipped, so that repeating a complete import changes nothing.

WIDTH: Final = 512
"""How many facts are written at the same time by default.

Those of one subject wait for each other, so that many are needed for a store to commit many together.
"""


@dataclass(slots=True)
class Survey:
    """The states of all facts in a target: the number of facts in each state, the clashes, and what cannot be read."""

    counts: Counter[FactState] = field(default_factory=Counter)
    clashes: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ImportOutcome:
    """The result of an import: written facts by kind, and the numbers of existing, left out and read back ones."""

    written: Counter[str] = field(default_factory=Counter)
    same: int = 0
    left_out: int = 0
    verified: int = 0


class FactImport:
    """The import of ``facts``, a function that returns them from the beginning at each call, into ``target``."""

    def __init__(
        self,
        facts: Callable[[], AsyncIterator[Found]],
        target: FactTarget,
        progress: MoveProgress,
        *,
        width: int = WIDTH,
    ) -> None:
        self._facts = facts
        self._target = target
        self._progress = progress
        self._width = width

    async def survey(self) -> Survey:
        """Return the states of all facts in the target; nothing is written."""
        survey = Survey()

        async def look(fact: Fact) -> None:
            standing = await self._target.standing(fact)
            survey.counts[standing.state] += 1
            if standing.problem:
                survey.clashes.append(standing.problem)
            self._progress.step("looked at")

        await self._each(look, unreadable=survey.unreadable)
        survey.clashes.sort()
        return survey

    async def run(self, *, skip_unreadable: bool = False, verify: bool = False) -> ImportOutcome:
        """Import the facts and return the result.

        Raises ``Clashes`` or ``UnreadableContent`` before anything is written. ``verify``: everything is read back
        afterwards, and ``NotTheSame`` names what differs.
        """
        survey = await self.survey()
        if survey.clashes:
            raise Clashes(survey.clashes)
        if survey.unreadable and not skip_unreadable:
            raise UnreadableContent(survey.unreadable)
        outcome = ImportOutcome(left_out=len(survey.unreadable))
        try:
            await self._each(partial(self._carry, outcome))
        finally:
            await self._target.finish()
        if verify:
            outcome.verified = await self._verify()
        return outcome

    async def _carry(self, outcome: ImportOutcome, fact: Fact) -> None:
        standing = await self._target.standing(fact)
        if standing.state is FactState.CLASH:  # another client wrote since the survey
            raise Clashes([standing.problem])
        if standing.state is FactState.SAME:
            outcome.same += 1
        else:
            await self._target.put(fact)
            outcome.written[_kind(fact)] += 1
        self._progress.step("carried over")

    async def _verify(self) -> int:
        problems: list[str] = []
        count = 0

        async def look(fact: Fact) -> None:
            nonlocal count
            standing = await self._target.standing(fact)
            if standing.state is not FactState.SAME:
                problems.append(_otherwise(fact, standing))
            count += 1
            self._progress.step("read back")

        await self._each(look)
        if problems:
            raise NotTheSame(sorted(problems))
        return count

    async def _each(self, act: Callable[[Fact], Awaitable[None]], *, unreadable: list[str] | None = None) -> None:
        """Call ``act`` with each fact, many at once; facts that depend on each other, and kinds, in their order."""
        lanes = Lanes(self._width)
        kind = ""
        try:
            async for fact in self._facts():
                if isinstance(fact, Unreadable):
                    if unreadable is not None:
                        unreadable.append(fact.problem)
                    continue
                if _kind(fact) != kind:
                    await lanes.drain()
                    kind = _kind(fact)
                await lanes.run(partial(act, fact), holds=_holds(fact), awaits=_awaits(fact))
            await lanes.drain()
        finally:
            await lanes.abandon()


def _kind(fact: Fact) -> str:
    return type(fact).__name__.removesuffix("Fact").lower()


def _otherwise(fact: Fact, standing: FactStanding) -> str:
    return standing.problem or f"{fact} is {standing.state.value}"


def _holds(fact: Fact) -> tuple[Hashable, ...]:
    if isinstance(fact, VersionFact):
        return (fact.subject, (fact.subject.context, fact.content.guid))
    return (_kind(fact),)


def _awaits(fact: Fact) -> tuple[Hashable, ...]:
    return tuple(subject for subject, _ in targets_of(fact)) if isinstance(fact, VersionFact) else ()
