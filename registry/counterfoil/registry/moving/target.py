"""The targets of facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.registry.moving.facts import Fact, VersionFact


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


def version_standing(fact: VersionFact, *, guid: UUID | None, schema_id: object, deleted: bool) -> Standing:
    """Return the state of a version that exists in the target with this guid, id and deletion."""
    if guid != fact.content.guid:
        return clash(f"{fact} holds another schema ({guid}, not {fact.content.guid})")
    if schema_id != fact.schema_id:
        return clash(f"{fact} holds the schema under id {schema_id}, not {fact.schema_id}")
    return deletion_standing(fact, wanted=fact.deleted, deleted=deleted)


def deletion_standing(fact: Fact, *, wanted: bool, deleted: bool) -> Standing:
    """Return the state of content that is the same in the target, except perhaps whether it is soft-deleted."""
    if deleted == wanted:
        return SAME
    return UNFINISHED if wanted else clash(f"{fact} is soft-deleted")


def id_clash(fact: VersionFact, guid: UUID | None) -> Standing:
    """Return the state of a version whose id has another schema, ``guid``, in the target."""
    context = fact.subject.context
    return clash(f"{fact}: id {fact.schema_id} of context {context!r} stands for another schema ({guid})")


class Target(Protocol):
    """A registry as a target of facts."""

    async def standing(self, fact: Fact) -> Standing:
        """Return the present state of ``fact`` in the target."""

    async def put(self, fact: Fact) -> None:
        """Write ``fact``, which is absent or unfinished."""

    async def finish(self) -> None:
        """Restore everything that was changed during the import; also called after an import that failed."""
