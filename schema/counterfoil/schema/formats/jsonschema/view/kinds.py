"""Which kinds of values a writer's schemas allow at a place: the types, and the values that enums list.

A misfit names them as facts. What the schemas say together is used only where it is certain: two that say different
things may apply together, or each to other records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.values import TYPES, are_equal, is_integer, type_of
from counterfoil.schema.formats.jsonschema.view.facts import MAX_WIDTH, Facts, spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.jsonschema.view.facts import Schema

_NUMBERS: Final = frozenset({"integer", "number"})
_ALL: Final = frozenset({*TYPES, "integer"})
_FEW_VALUES: Final[Mapping[str, tuple[Any, ...]]] = {"null": (None,), "boolean": (False, True)}


@dataclass(frozen=True, slots=True)
class WrittenKinds:
    """Types of which values may be written, and ``listed`` values: those of enums. A number may be an integer."""

    types: frozenset[str]
    listed: tuple[Any, ...] = ()

    @property
    def all_types(self) -> frozenset[str]:
        """The types, also those of listed values."""
        return self.types | {kind_of(each) for each in self.listed}

    def has(self, value: Any) -> bool:
        """Return whether a value may be written."""
        return kind_of(value) in self.types or any(are_equal(value, each) for each in self.listed)

    def has_all(self, type_name: str) -> bool:
        """Return whether every value of a type may be written: it is among the types, or all its values are listed."""
        few = _FEW_VALUES.get(type_name)
        return type_name in self.types or (few is not None and all(self.has(each) for each in few))

    def without(self, other: WrittenKinds) -> WrittenKinds:
        """Return what this one allows and the other one does not."""
        types = frozenset(each for each in self.types if not other.has_all(each))
        return WrittenKinds(types, tuple(each for each in self.listed if not other.has(each)))

    def both(self, other: WrittenKinds) -> WrittenKinds:
        """Return what this one and another one allow."""
        listed = [each for each in self.listed if other.has(each)]
        listed += [each for each in other.listed if self.has(each) and not any(are_equal(each, one) for one in listed)]
        return WrittenKinds(self.types & other.types, tuple(listed))

    def either(self, other: WrittenKinds) -> WrittenKinds:
        """Return what this one or another one allows."""
        more = [each for each in other.listed if not any(are_equal(each, one) for one in self.listed)]
        return WrittenKinds(self.types | other.types, (*self.listed, *more))


_NOTHING: Final = WrittenKinds(frozenset())
_ANYTHING: Final = WrittenKinds(_ALL)


def kind_of(value: Any) -> str:
    """Return the type of a value; of an integer, that."""
    found = type_of(value)
    return "integer" if found == "number" and is_integer(value) else found


def with_integers(types: frozenset[str]) -> frozenset[str]:
    """Return types with that of integers, if numbers are among them."""
    return types | _NUMBERS if "number" in types else types


def written_kinds(writers: Sequence[Schema]) -> WrittenKinds | None:
    """Return what may be written at the place of some schemas; None where they do not say it, or say different things.

    Conditions and negations are not looked at.
    """
    known: dict[int, WrittenKinds] = {}
    said = [found for each in writers if (found := _of(each, known)) != _ANYTHING]
    return said[0] if said and all(each == said[0] for each in said) else None


def accepted_kinds(reader: Schema) -> WrittenKinds | None:
    """Return what a schema accepts that states types, listed values and choices of these alone; None for another."""
    parts = spread([reader])
    return _of(reader, {}) if len(parts) < MAX_WIDTH and all(_states_kinds(each.facts) for each in parts) else None


def _states_kinds(facts: Facts) -> bool:
    return is_bare(replace(facts, values=None, scalars=frozenset(), any_of=None, all_of=()))


def is_bare(facts: Facts) -> bool:
    """Return whether a schema states nothing but types."""
    return replace(facts, types=None) == Facts(
        counts_fractions=facts.counts_fractions, marks_contained=facts.marks_contained
    )


def _of(schema: Schema, known: dict[int, WrittenKinds]) -> WrittenKinds:
    """Return what one schema allows; one that contains itself adds nothing there."""
    if schema.accepts_everything:
        return _ANYTHING
    if id(schema) not in known:
        known[id(schema)] = _ANYTHING
        known[id(schema)] = _of_facts(schema.facts, known)
    return known[id(schema)]


def _of_facts(facts: Facts, known: dict[int, WrittenKinds]) -> WrittenKinds:
    if facts.is_false:
        return _NOTHING
    found = _ANYTHING if facts.types is None else WrittenKinds(with_integers(facts.types))
    if facts.values is not None:
        found = found.both(WrittenKinds(frozenset(), tuple(facts.values)))
    for each in facts.all_of:
        found = found.both(_of(each, known))
    for branches in (facts.any_of, facts.one_of):
        if branches is not None:
            chosen = _NOTHING
            for each in branches:
                chosen = chosen.either(_of(each, known))
            found = found.both(chosen)
    return found
