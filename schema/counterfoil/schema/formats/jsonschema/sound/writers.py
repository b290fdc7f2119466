"""What a writer may write in one place: all schemas that hold there at once, and choices among their alternatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.patterns import holds_match
from counterfoil.schema.formats.jsonschema.values import TYPES

if TYPE_CHECKING:
    from counterfoil.schema.formats.jsonschema.model import Number
    from counterfoil.schema.formats.jsonschema.sound.facts import Facts, Schema

_MAX_FACTS: Final = 200


@dataclass(frozen=True, slots=True)
class Writer:
    """Values that fit every one of ``schemas``; of type ``kind`` alone, where that is given.

    ``chosen`` names the alternatives among which a choice has been made, so that none is made twice.
    """

    schemas: tuple[Schema, ...] = ()
    kind: str | None = None
    chosen: frozenset[tuple[int, str]] = frozenset()

    def key(self) -> tuple[object, ...]:
        """Equal for writers that write the same."""
        return (frozenset(map(id, self.schemas)), self.kind, self.chosen)

    def facts(self) -> list[Facts]:
        """What all the schemas ask, those of their allOf and of references among them."""
        found: dict[int, Facts] = {}
        waiting = list(self.schemas)
        while waiting and len(found) < _MAX_FACTS:
            schema = waiting.pop(0)
            if id(schema) not in found:
                found[id(schema)] = schema.facts
                waiting += schema.facts.all_of
        return list(found.values())

    def also(self, *schemas: Schema) -> Writer:
        """The same with more asked of it."""
        return replace(self, schemas=(*self.schemas, *(one for one in schemas if one not in self.schemas)))

    def alternatives(self) -> list[Writer]:
        """The writers whose values, together, are those of this one; none where there is no choice left."""
        for facts in self.facts():
            for word, branches in (("any", facts.any_of), ("one", facts.one_of)):
                if branches and (id(facts), word) not in self.chosen:
                    chosen = self.chosen | {(id(facts), word)}
                    return [replace(self.also(branch), chosen=chosen) for branch in branches]
        return []

    def kinds(self) -> list[str]:
        """The types that its values may have."""
        kinds = [kind for kind in TYPES if self.kind in (None, kind)]
        for facts in self.facts():
            if facts.types is not None:
                kinds = [
                    kind for kind in kinds if kind in facts.types or (kind == "number" and "integer" in facts.types)
                ]
        return kinds

    def writes_integers(self) -> bool:
        """Whether all its numbers are whole, however they are spelt."""
        return any(
            (facts.types is not None and "integer" in facts.types and "number" not in facts.types)
            or (facts.multiple_of is not None and facts.multiple_of == int(facts.multiple_of))
            for facts in self.facts()
        )

    def property(self, name: str) -> Writer:
        """What it writes under a name."""
        schemas: list[Schema] = []
        for facts in self.facts():
            declared = facts.properties.get(name)
            matches = {pattern: holds_match(pattern, name) for pattern in facts.patterns}
            schemas += [facts.patterns[pattern] for pattern, is_match in matches.items() if is_match]
            if declared is not None:
                schemas.append(declared)
            elif facts.additional is not None and all(is_match is False for is_match in matches.values()):
                schemas.append(facts.additional)
        return _writer(schemas)

    def names(self) -> set[str]:
        """The names of the properties that it declares, asks for, or depends on."""
        return {
            name
            for facts in self.facts()
            for name in (*facts.properties, *facts.required, *facts.needed_names, *facts.needed_schemas)
        }

    def undeclared(self) -> Writer:
        """What it writes under names that no schema here declares and no pattern of theirs matches."""
        return _writer([facts.additional for facts in self.facts() if facts.additional is not None])

    def matching(self, pattern: str) -> Writer:
        """What it surely asks of properties that it does not declare and whose names match ``pattern``."""
        schemas: list[Schema] = []
        for facts in self.facts():
            same = facts.patterns.get(pattern)
            if same is not None:
                schemas.append(same)
            elif facts.additional is not None and not facts.patterns:
                schemas.append(facts.additional)
        return _writer(schemas)

    def item(self, index: int | None) -> Writer:
        """What it writes in one place of an array; None is a place behind everything that is declared."""
        schemas = [
            schema
            for facts in self.facts()
            if (schema := facts.prefix[index] if index is not None and index < len(facts.prefix) else facts.items)
            is not None
        ]
        return _writer(schemas)

    def declared_items(self) -> int:
        """How many places of an array have schemas of their own."""
        return max((len(facts.prefix) for facts in self.facts()), default=0)

    def requires(self, name: str) -> bool:
        """Whether every object has the property."""
        return any(name in facts.required for facts in self.facts())

    def is_nothing(self) -> bool:
        """Whether it surely writes no value at all."""
        facts = self.facts()
        return any(one.is_false or one.values == [] for one in facts) or not self.kinds()

    def least(self, name: str) -> Number | None:
        """The largest of its lower limits of one name."""
        return max((limit for facts in self.facts() if (limit := getattr(facts, name)) is not None), default=None)

    def most(self, name: str) -> Number | None:
        """The smallest of its upper limits of one name."""
        return min((limit for facts in self.facts() if (limit := getattr(facts, name)) is not None), default=None)


def _writer(schemas: list[Schema]) -> Writer:
    return Writer(tuple(dict.fromkeys(schema for schema in schemas if not schema.accepts_everything)))
