"""The limits of JSON schemas beyond their types that Java checks while it walks a value, and the refusal of others.

What is refused here is judged by the schema as a whole (:mod:`.json_tests`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.messages.json_tests import size_of
from counterfoil.converter.engines.java.messages.patterns import pattern_of
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import joined, quoted
from counterfoil.schema.evolution.languages.jsonschema import layers_of, test_of
from counterfoil.schema.evolution.tree import Array, Leaf, Map, Record, Union
from counterfoil.schema.evolution.types import WHOLE, split_null
from counterfoil.schema.formats.jsonschema.view.facts import ANYTHING, Facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.evolution.tree import Node
    from counterfoil.schema.formats.jsonschema.view.facts import Schema

_TYPED = ("types", "values", "scalars", "counts_fractions", "marks_contained", "all_of", "min_contains")
"""What the types of a tree hold, or what says nothing of values."""
_OF_OBJECTS = ("properties", "required", "additional", "unevaluated_properties")
_OF_CHOICES = ("any_of", "one_of")
_LIMITS = ("minimum", "maximum", "min_length", "max_length", "min_items", "max_items", "pattern")
_SOMETIMES = ("multiple_of", "has_unique_items", "min_properties", "max_properties")
"""Keywords that Java checks for some types."""
_KNOWN = frozenset((*_TYPED, *_OF_OBJECTS, *_OF_CHOICES, *_LIMITS, *_SOMETIMES, "items"))
_KEYWORD_BY_FACT = {
    "patterns": "patternProperties",
    "names": "propertyNames",
    "needed_names": "dependentRequired",
    "needed_schemas": "dependentSchemas",
    "prefix": "prefixItems",
    "max_contains": "maxContains",
    "unevaluated_items": "unevaluatedItems",
    "refused": "not",
    "condition": "if",
    "consequence": "then",
    "alternative": "else",
    "is_opaque": "that is not known",
}
_COMPARED = frozenset({"boolean", "string", "enum", *WHOLE})
"""The kinds of items that Java compares."""


@dataclass(frozen=True)
class Limits:
    """The limits of one type as calls in Java, and the schemas of its parts.

    ``in_choice`` is whether the type is a branch: a violation there would be one of the choice as a whole.
    """

    spelt: str
    facts: tuple[Facts, ...]
    in_choice: bool = False

    def inner(self, where: str) -> Schema:
        """Return the schema of items or values."""
        for each in self.facts:
            found = each.items or each.additional
            if found is not None and not found.facts.is_false:
                return found
        raise EngineCannot(ENGINE, field=where, why="an array or a map without one schema of its parts")

    def property(self, name: str) -> Schema:
        """Return the schema of a property."""
        return next(each.properties[name] for each in self.facts if name in each.properties)

    def branch(self, node: Union, index: int) -> Schema:
        """Return the schema of a branch."""
        return test_of(node, index) or ANYTHING


def limits_of(node: Node, schema: Schema, where: str) -> Limits:
    """Return the limits of a type that a schema describes. Raises ``EngineCannot`` for keywords that Java lacks."""
    _, inner = split_null(node)
    if schema.accepts_everything:
        return Limits("", ())
    layers = [layer.facts for layer in layers_of(schema)]
    constrained = [each for each in layers if _says_something(each)]
    if len(constrained) > 1:
        raise EngineCannot(ENGINE, field=where, why="several JSON schemas that apply to one value")
    for each in constrained:
        _check(each, inner, where)
    spelt = "".join(_spelt(each, inner, where) for each in constrained)
    choices = [one for each in constrained for one in (each.any_of or each.one_of or ())]
    if choices and inner is not None and not isinstance(inner, Union):
        if spelt:
            raise EngineCannot(ENGINE, field=where, why="limits beside a choice")
        return _of_only_choice(inner, choices, where)
    return Limits(spelt, tuple(constrained))


def _of_only_choice(inner: Node, choices: list[Schema], where: str) -> Limits:
    """Return the limits of the one branch beside null."""
    others = [each for each in choices if all(one.facts.types != frozenset({"null"}) for one in layers_of(each))]
    if len(others) != 1:
        raise EngineCannot(ENGINE, field=where, why="a choice between conditions")
    return replace(limits_of(inner, others[0], where), in_choice=True)


def _says_something(facts: Facts) -> bool:
    return replace(facts, all_of=()) != Facts(
        counts_fractions=facts.counts_fractions, marks_contained=facts.marks_contained
    )


def _check(facts: Facts, inner: Node | None, where: str) -> None:
    """Refuse keywords that neither the types of the tree nor the limits hold."""
    plain = Facts()
    for name in Facts.__slots__:
        if name not in _KNOWN and getattr(facts, name) != getattr(plain, name):
            keyword = _KEYWORD_BY_FACT.get(name, name)
            raise EngineCannot(ENGINE, field=where, why=f"the keyword {keyword} of JSON Schema")
    for why in (*_unchecked_values(facts, inner), *_unchecked_parts(facts, inner)):
        raise EngineCannot(ENGINE, field=where, why=why)


def _unchecked_values(facts: Facts, inner: Node | None) -> Iterator[str]:
    """Yield the keywords about numbers, items and entries that Java does not check."""
    is_whole = isinstance(inner, Leaf) and inner.kind in WHOLE
    is_listed = inner is None or is_whole or (isinstance(inner, Leaf) and inner.kind == "enum")
    if facts.values is not None and not is_listed:
        yield "a list of values that are neither texts nor whole numbers"
    if facts.multiple_of is not None and not (is_whole and facts.multiple_of == int(facts.multiple_of)):
        yield "multipleOf of other than whole numbers"
    if facts.has_unique_items and isinstance(inner, Array) and inner.items.kind not in _COMPARED:
        yield "uniqueItems of items that are neither texts nor whole numbers"
    if (facts.min_properties, facts.max_properties) != (None, None) and isinstance(inner, Record | Union):
        yield "a number of properties of an object that declares its own"


def _unchecked_parts(facts: Facts, inner: Node | None) -> Iterator[str]:
    """Yield the keywords about the parts of a value that Java does not check."""
    if facts.properties and not isinstance(inner, Record):
        yield "properties in a choice"
    closed = (facts.additional, facts.unevaluated_properties)
    if isinstance(inner, Record) and any(
        each is not None and not each.facts.is_false and not each.accepts_everything for each in closed
    ):
        return  # what the plan writes are declared properties only
    if facts.unevaluated_properties is not None and not isinstance(inner, Record):
        yield "the keyword unevaluatedProperties of JSON Schema"
    if facts.required - set(facts.properties) and isinstance(inner, (Record, Map)):
        yield "a required property that is not declared"
    if facts.items is not None and not isinstance(inner, Array):
        yield "the items of a value of several types"


def _spelt(facts: Facts, inner: Node | None, where: str) -> str:
    """Return the limits that concern values of a type as calls in Java."""
    spelt = ""
    if facts.minimum is not None or facts.maximum is not None:
        spelt += f".between({_limit(facts.minimum)}, {_limit(facts.maximum)})"
    lengths, counts = (facts.min_length, facts.max_length), (facts.min_items, facts.max_items)
    entries = (facts.min_properties, facts.max_properties)
    if isinstance(inner, Union) and (lengths, counts, facts.pattern) != ((None, None), (None, None), None):
        raise EngineCannot(ENGINE, field=where, why="sizes or a pattern in a choice between several types")
    sizes = counts if isinstance(inner, Array) else entries if isinstance(inner, Map) else (None, None)
    sizes = lengths if isinstance(inner, Leaf) else sizes
    if sizes != (None, None):
        spelt += f".sized({size_of(sizes[0])}, {size_of(sizes[1])})"
    if facts.pattern is not None and isinstance(inner, Leaf):
        spelt += f".matching({pattern_of(facts.pattern, where)})"
    if facts.multiple_of is not None:
        spelt += f".multipleOf({quoted(str(int(facts.multiple_of)))})"
    if facts.values is not None and isinstance(inner, Leaf) and inner.kind in WHOLE:
        numbers = ",".join(str(int(value)) for value in facts.values if value is not None)
        spelt += f".oneOf({joined(numbers)})"
    if facts.has_unique_items and isinstance(inner, Array):
        spelt += ".unique()"
    return spelt


def _limit(limit: Any) -> str:
    if limit is None:
        return "null"
    return f"new JsonLimit({quoted(str(limit[0]))}, {'true' if limit[1] else 'false'})"
