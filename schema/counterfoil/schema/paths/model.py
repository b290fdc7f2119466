"""A field path: steps by names into the records of a schema, in any language."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias


class StepKind(Enum):
    """The kind of element that a step selects."""

    MEMBER = "member"
    """A field, property, oneof, constant or declared type, by its name."""
    ITEM = "item"
    """The items of an array; one of them if the step has a number."""
    VALUE = "value"
    """The values of a map; those whose keys match, if the step has a pattern."""
    BRANCH = "branch"
    """A branch: of a union, by its type's name; of ``oneOf``, ``anyOf``, ``allOf``, by number; of a oneof, by field."""
    DEPENDENCY = "dependency"
    """The schema that applies if the object has the property of this name."""
    KEY = "key"
    """The record's key instead of its value; only the first step."""
    HEADER = "header"
    """The record's header of this name; only the first step."""


class Step(NamedTuple):
    """One step into a schema; ``name`` is empty if the kind needs none."""

    kind: StepKind
    name: str = ""


FieldPath: TypeAlias = tuple[Step, ...]
"""The steps from the whole record inwards; empty for the record itself."""

ITEMS = Step(StepKind.ITEM)
VALUES = Step(StepKind.VALUE)
KEY = Step(StepKind.KEY)


def member(name: str) -> Step:
    """Return the step into a field or property."""
    return Step(StepKind.MEMBER, name)


def item(index: str | int) -> Step:
    """Return the step into one item of an array."""
    return Step(StepKind.ITEM, str(index))


def value(pattern: str) -> Step:
    """Return the step into the values of a map whose keys match a pattern."""
    return Step(StepKind.VALUE, pattern)


def branch(name: str | int) -> Step:
    """Return the step into a branch of a union, by its type's name or its number."""
    return Step(StepKind.BRANCH, str(name))


def dependency(name: str) -> Step:
    """Return the step into the schema that applies if the object has a property."""
    return Step(StepKind.DEPENDENCY, name)


def header(name: str) -> Step:
    """Return the step into a header of the record."""
    return Step(StepKind.HEADER, name)
