"""A place in a schema as steps, whatever the language: what findings carry and elements are rendered from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class StepKind(Enum):
    """What a step leads into."""

    MEMBER = "member"
    """A field, property, oneof or constant, by its name."""
    ITEM = "item"
    """The items of an array; one of them where it has a number."""
    VALUE = "value"
    """The values of a map; those whose keys match, where it has a pattern."""
    BRANCH = "branch"
    """A branch of a union or of ``oneOf`` and its kind, by its type's name or its number."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step into a schema; ``name`` is empty where there is only one way."""

    kind: StepKind
    name: str = ""


Steps: TypeAlias = tuple[Step, ...]

ITEMS = Step(StepKind.ITEM)
VALUES = Step(StepKind.VALUE)


def member(name: str) -> Step:
    """The step into a field or property."""
    return Step(StepKind.MEMBER, name)


def branch(name: str | int) -> Step:
    """The step into a branch of a union, by its type's name or its number."""
    return Step(StepKind.BRANCH, str(name))
