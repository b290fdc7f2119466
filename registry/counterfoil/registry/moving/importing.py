"""Importing facts into a target: first the check, then the writing, and on request reading back.

Nothing is written while there is a clash. An import that was interrupted is repeated from the start: existing content
is skipped, so that repeating a complete import changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.moving.errors import Clashes, NotTheSame, UnreadableContent
from counterfoil.registry.moving.facts import Unreadable, VersionFact
from counterfoil.registry.moving.lanes import Lanes
from counterfoil.registry.moving.source import targets_of
from counterfoil.registry.moving.target import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

    from counterfoil.registry.moving.facts import Fact, Found
    from counterfoil.registry.moving.progress import Progress
    from counterfoil.registry.moving.target import Standing, Target

WIDTH: Final = 512
"""How many facts are written at the same time by default.

Those of one subject wait for each other, so that many are needed for a store to commit many together.
"""


@dataclass(slots=True)
class Survey:
    """The states of all facts in a target: the number of facts in each state, the clashes, and what cannot be read."""

    counts: Counter[State] = field(default_factory=Counter)
    clashes: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Outcome:
    """The result of an import: written facts by kind, and the numbers of existing, left out and read back ones."""

    written: Counter[str] = field(default_factory=Counter)
    same: int = 0
    left_out: int = 0
    verified: int = 0


class Import:
    """The import of ``facts``, a function that returns them from the beginning at each call, into ``target``."""

    def __init__(
        self, facts: Callable[[], AsyncIterator[Found]], target: Target, progress: Progress, *, width: int = WIDTH
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

    async def run(self, *, skip_unreadable: bool = False, verify: bool = False) -> Outcome:
        """Import the facts and return the result.

        Raises ``Clashes`` or ``UnreadableContent`` before anything is written. ``verify``: everything is read back
        afterwards, and ``NotTheSame`` names what differs.
        """
        survey = await self.survey()
        if survey.clashes:
            raise Clashes(survey.clashes)
        if survey.unreadable and not skip_unreadable:
            raise UnreadableContent(survey.unreadable)
        outcome = Outcome(left_out=len(survey.unreadable))
        try:
            await self._each(partial(self._carry, outcome))
        finally:
            await self._target.finish()
        if verify:
            outcome.verified = await self._verify()
        return outcome

    async def _carry(self, outcome: Outcome, fact: Fact) -> None:
        standing = await self._target.standing(fact)
        if standing.state is State.CLASH:  # another client wrote since the survey
            raise Clashes([standing.problem])
        if standing.state is State.SAME:
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
            if standing.state is not State.SAME:
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


def _otherwise(fact: Fact, standing: Standing) -> str:
    return standing.problem or f"{fact} is {standing.state.value}"


def _holds(fact: Fact) -> tuple[Hashable, ...]:
    if isinstance(fact, VersionFact):
        return (fact.subject, (fact.subject.context, fact.content.guid))
    return (_kind(fact),)


def _awaits(fact: Fact) -> tuple[Hashable, ...]:
    return tuple(subject for subject, _ in targets_of(fact)) if isinstance(fact, VersionFact) else ()
