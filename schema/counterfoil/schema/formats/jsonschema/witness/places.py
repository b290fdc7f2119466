"""The place in a value that a difference concerns, and whether a validation failure comes from it.

A difference has the path by which the comparison reached it in both schemas: ``#/properties/a/items`` leads to the
items of property ``a``, while ``#/allOf/1`` stays at the same value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.paths.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.jsonschema.values.samples import Step
    from counterfoil.schema.formats.jsonschema.witness.validator import Failure
    from counterfoil.schema.paths.model import Step as SchemaStep

_BRANCHES: Final = frozenset({"allOf", "anyOf", "oneOf"})
_IN_PLACE: Final = frozenset({"not", "if", "then", "else"})
_ANY_NAME: Final = frozenset({"additionalProperties", "unevaluatedProperties"})
_ANY_ITEM: Final = frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"})
_NAMED_IN_PLACE: Final = frozenset({"dependencies", "dependentRequired", "dependentSchemas"})
_OF_COMBINATIONS: Final = frozenset({"oneOf", "anyOf", "allOf", "not", "if", "dependencies", "dependentSchemas"})
_OF_NAMES: Final = frozenset(
    {"additionalProperties", "unevaluatedProperties", "required", "propertyNames", *_NAMED_IN_PLACE}
)
_OF_ITEMS: Final = frozenset({"additionalItems", "unevaluatedItems", "items", "minItems", "maxItems", "contains"})


NO_KEYWORD: Final = "None"
"""The keyword of a failure at the schema ``false``, whose path lacks the last step of the place."""


class ValuePlace:
    """The place in a value that a difference concerns.

    ``steps`` lead to it from the root; ``keyword`` is the keyword at the end of the path, or None if it ends in a
    schema.
    """

    def __init__(self, steps: tuple[Step, ...], keyword: str | None) -> None:
        self.steps = steps
        self.keyword = keyword

    def explains(self, failure: Failure) -> bool:
        """Return whether a failure is exactly at the difference: at this place, with this keyword."""
        if self.keyword is None:
            return self._is_at(failure.path) or (failure.keyword == NO_KEYWORD and self._is_at((*failure.path, None)))
        return failure.keyword == self.keyword and self._is_at(failure.path)

    def is_near(self, failure: Failure) -> bool:
        """Return whether a failure may come from the difference: at this place, inside it, or at a value around it.

        Around it, only keywords that apply schemas or limits to the inside count.
        """
        path = failure.path
        if self._starts(path[: len(self.steps)]) and len(path) >= len(self.steps):
            return True
        if not self._starts(path):
            return False
        return failure.keyword in _OF_COMBINATIONS or (
            len(path) + 1 == len(self.steps) and failure.keyword in _OF_NAMES | _OF_ITEMS
        )

    def _is_at(self, path: tuple[Step, ...]) -> bool:
        return len(path) == len(self.steps) and self._starts(path)

    def _starts(self, path: tuple[Step, ...]) -> bool:
        pairs = zip(path, self.steps, strict=False)
        return len(path) <= len(self.steps) and all(None in (step, taken) or step == taken for taken, step in pairs)


def place_of(difference: Difference) -> ValuePlace:
    """Return the place of a difference's path; if it has none, the place of its steps in the reader."""
    if difference.steps is not None:
        return _read(difference.steps)
    steps = (each for each in difference.reader_path if each.kind is not StepKind.BRANCH)
    return ValuePlace(tuple(_in_value(each) for each in steps), None)


def _in_value(step: SchemaStep) -> Step:
    if step.kind is StepKind.MEMBER:
        return step.name
    return int(step.name) if step.kind is StepKind.ITEM and step.name else None


def _read(tokens: Sequence[str]) -> ValuePlace:
    steps: list[Step] = []
    rest = tokens
    while rest:
        name, rest = rest[0], rest[1:]
        if name == "required" or (name in _NAMED_IN_PLACE and len(rest) < 2):  # noqa: PLR2004  # a name and what follows
            return ValuePlace(tuple(steps), name)
        if name in _BRANCHES or name in _NAMED_IN_PLACE:
            rest = rest[1:]
        elif name in ("properties", "patternProperties"):
            steps.append(rest[0] if rest and name == "properties" else None)
            rest = rest[1:]
        elif name in ("items", "prefixItems") and rest and rest[0].isdigit():
            steps.append(int(rest[0]))
            rest = rest[1:]
        elif name in _ANY_ITEM or (name in _ANY_NAME and rest):
            steps.append(None)
        elif name not in _IN_PLACE:
            return ValuePlace(tuple(steps), name)
    return ValuePlace(tuple(steps), None)
