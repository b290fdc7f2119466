"""The limits of JSON schemas beyond their types: those that Java checks, and the refusal of all others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import quoted
from counterfoil.schema.evolution.languages.jsonschema import layers_of, test_of
from counterfoil.schema.evolution.tree import Array, Leaf, Map, Record, Union
from counterfoil.schema.evolution.types import split_null
from counterfoil.schema.formats.jsonschema.view.facts import ANYTHING, Facts

if TYPE_CHECKING:
    from counterfoil.schema.evolution.tree import Node
    from counterfoil.schema.formats.jsonschema.view.facts import Schema

_TYPED = ("types", "values", "scalars", "counts_fractions", "marks_contained", "all_of", "min_contains")
"""What the types of a tree hold, or what says nothing of values."""
_OF_OBJECTS = ("properties", "required", "additional", "unevaluated_properties")
_OF_CHOICES = ("any_of", "one_of")
_LIMITS = ("minimum", "maximum", "min_length", "max_length", "min_items", "max_items")
_KNOWN = frozenset((*_TYPED, *_OF_OBJECTS, *_OF_CHOICES, *_LIMITS, "items"))


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
            raise EngineCannot(ENGINE, field=where, why=f"the keyword for {name.replace('_', ' ')} in a JSON schema")
    if facts.values is not None and not (isinstance(inner, Leaf) and inner.kind == "enum") and inner is not None:
        raise EngineCannot(ENGINE, field=where, why="a list of values that are no texts")
    if facts.properties and not isinstance(inner, Record):
        raise EngineCannot(ENGINE, field=where, why="properties in a choice")
    closed = (facts.additional, facts.unevaluated_properties)
    if isinstance(inner, Record) and any(
        each is not None and not each.facts.is_false and not each.accepts_everything for each in closed
    ):
        return  # what the plan writes are declared properties only
    if facts.unevaluated_properties is not None and not isinstance(inner, Record):
        raise EngineCannot(ENGINE, field=where, why="the keyword for unevaluated properties in a JSON schema")
    if facts.required - set(facts.properties) and isinstance(inner, (Record, Map)):
        raise EngineCannot(ENGINE, field=where, why="a required property that is not declared")
    if facts.items is not None and not isinstance(inner, Array):
        raise EngineCannot(ENGINE, field=where, why="the items of a value of several types")


def _spelt(facts: Facts, inner: Node | None, where: str) -> str:
    """Return the limits that concern values of a type as calls in Java."""
    spelt = ""
    if facts.minimum is not None or facts.maximum is not None:
        spelt += f".between({_limit(facts.minimum)}, {_limit(facts.maximum)})"
    lengths, counts = (facts.min_length, facts.max_length), (facts.min_items, facts.max_items)
    if isinstance(inner, Union) and (lengths, counts) != ((None, None), (None, None)):
        raise EngineCannot(ENGINE, field=where, why="sizes in a choice between several types")
    sizes = counts if isinstance(inner, Array) else lengths if isinstance(inner, Leaf) else (None, None)
    if sizes != (None, None):
        spelt += f".sized({_size(sizes[0])}, {_size(sizes[1])})"
    return spelt


def _limit(limit: Any) -> str:
    if limit is None:
        return "null"
    return f"new JsonLimit({quoted(str(limit[0]))}, {'true' if limit[1] else 'false'})"


def _size(size: Any) -> str:
    return "-1L" if size is None else f"{min(int(size), 2**62)}L"
