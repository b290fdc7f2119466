"""The schemas that every value of a place of a JSON schema fits, and whether a text may be such a value.

A value fits what a schema requires without a condition: its ``allOf`` and references, and a branch of ``anyOf`` or
``oneOf`` if the other branches are for values of other types, as in ``{"anyOf": [{"type": "object", …}, {"type":
"null"}]}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.formats.jsonschema.read.patterns import holds_match
from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
from counterfoil.schema.steps import OutOfSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.view.facts import Schema

Certain: TypeAlias = "tuple[Schema, ...]"
"""Schemas that all values of a place fit; they need not be all such schemas."""

_MOST: Final = 100
_MAX_STEPS: Final = 20_000
_CONTAINERS: Final = frozenset({"object", "array"})


def certain_beside(schemas: Certain) -> Certain:
    """Return schemas and those beside them that an object or an array which fits them certainly fits, at most 100."""
    found: dict[Schema, None] = {}
    waiting = [*schemas]
    while waiting and len(found) < _MOST:
        each = waiting.pop()
        if each not in found:
            found[each] = None
            facts = each.facts
            waiting += facts.all_of
            for branches in (facts.any_of or (), facts.one_of or ()):
                waiting += _only_container(branches)
    return tuple(found)


def certain_of_property(around: Certain, name: str) -> Certain:
    """Return the schemas that the property ``name`` of an object which fits ``around`` fits."""
    found: dict[Schema, None] = {}
    for each in around:
        facts = each.facts
        declared = facts.properties.get(name)
        matching = [schema for pattern, schema in facts.patterns.items() if holds_match(pattern, name)]
        found |= dict.fromkeys(matching if declared is None else (declared, *matching))
        if declared is None and not facts.patterns and facts.additional is not None:
            found[facts.additional] = None
    return tuple(found)


def certain_of_unlisted(around: Certain, schema: Schema) -> Certain:
    """Return ``schema`` if it is for properties that are not listed by name, of objects which fit ``around``."""
    for each in around:
        facts = each.facts
        if schema in (*facts.patterns.values(), facts.additional, facts.unevaluated_properties):
            return (schema,)
    return ()


def certain_of_item(around: Certain, index: int) -> Certain:
    """Return the schemas that the item at ``index`` of an array which fits ``around`` fits."""
    found: dict[Schema, None] = {}
    for each in around:
        prefix, items = each.facts.prefix, each.facts.items
        schema = prefix[index] if index < len(prefix) else items
        if schema is not None:
            found[schema] = None
    return tuple(found)


def may_be_text(certain: Certain) -> Callable[[str], bool] | None:
    """Return a function that returns False for texts that do not fit all of the schemas; None if all texts do."""
    limiting = [each for each in certain if not each.accepts_everything]
    if not limiting or any(_CONTAINERS & (each.facts.types or frozenset()) for each in limiting):
        return None

    def may_be(text: str) -> bool:
        evaluator = Evaluator(_MAX_STEPS)
        try:
            return all(evaluator.accepts(each, text) is not False for each in limiting)
        except (OutOfSteps, RecursionError):
            return True

    return may_be


def _only_container(branches: Sequence[Schema]) -> Iterator[Schema]:
    """Yield the branch that an object or an array fits, if no other branch is for one."""
    containing = [each for each in branches if _types(each) is None or _CONTAINERS & (_types(each) or frozenset())]
    if len(containing) == 1:
        yield containing[0]


def _types(schema: Schema) -> frozenset[str] | None:
    """Return the types that a schema permits; None if all."""
    waiting, seen = [schema], 0
    while waiting and seen < _MOST:
        seen += 1
        facts = waiting.pop(0).facts
        if facts.types is not None:
            return facts.types
        waiting += facts.all_of
    return None
