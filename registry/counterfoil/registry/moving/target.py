"""The targets of facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from counterfoil.registry.moving.facts import Fact


class State(Enum):
    """The state of a fact in a target."""

    ABSENT = "absent"
    """The target does not have it, and can."""
    UNFINISHED = "unfinished"
    """The version exists and is not soft-deleted yet."""
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
    """Return the state of content that differs in the target."""
    return Standing(State.CLASH, problem)


class Target(Protocol):
    """A registry as a target of facts."""

    async def standing(self, fact: Fact) -> Standing:
        """Return the present state of ``fact`` in the target."""

    async def put(self, fact: Fact) -> None:
        """Write ``fact``, which is absent or unfinished."""

    async def finish(self) -> None:
        """Restore everything that was changed during the import; also called after an import that failed."""
