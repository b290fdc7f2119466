"""Where facts go to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from counterfoil.registry.moving.facts import Fact


class State(Enum):
    """How a target stands to a fact."""

    ABSENT = "absent"
    """It is not there, and can be."""
    UNFINISHED = "unfinished"
    """The version is there and not yet soft-deleted."""
    SAME = "same"
    CLASH = "clash"


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one fact in a target; ``problem`` is a sentence for a clash."""

    state: State
    problem: str = ""


ABSENT = Standing(State.ABSENT)
UNFINISHED = Standing(State.UNFINISHED)
SAME = Standing(State.SAME)


def clash(problem: str) -> Standing:
    """The standing of something that the target holds otherwise."""
    return Standing(State.CLASH, problem)


class Target(Protocol):
    """A registry to carry facts out in."""

    async def standing(self, fact: Fact) -> Standing:
        """How the target stands to ``fact`` now."""

    async def put(self, fact: Fact) -> None:
        """Make ``fact`` true: it is absent or unfinished."""

    async def finish(self) -> None:
        """Put back whatever was changed for the time of the import; also after an import that failed."""
