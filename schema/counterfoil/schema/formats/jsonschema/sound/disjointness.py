"""Whether no value of a writer is one that a schema accepts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.sound.scalar_inclusion import lower_limit, upper_limit

if TYPE_CHECKING:
    from counterfoil.schema.formats.jsonschema.sound.facts import Schema
    from counterfoil.schema.formats.jsonschema.sound.inclusion import Inclusion
    from counterfoil.schema.formats.jsonschema.sound.writers import Writer

_MAX_DEPTH: Final = 6


class Disjointness:
    """Proofs that writers and schemas have no value in common."""

    def __init__(self, inclusion: Inclusion) -> None:
        self._inclusion = inclusion

    def are_apart(self, writer: Writer, schema: Schema, depth: int = 0) -> bool:
        """Whether it is proved that ``schema`` refuses everything that ``writer`` writes."""
        self._inclusion.evaluator.spend()
        if depth > _MAX_DEPTH:
            return False
        both = writer.also(schema)
        if both.is_nothing():
            return True
        listed = [facts.values for facts in both.facts() if facts.values is not None]
        if listed:
            accepts = self._inclusion.evaluator.all_accept
            return all(accepts(both.schemas, value) is False for value in listed[0])
        if all(self._kind_is_empty(replace(both, kind=kind), depth) for kind in both.kinds()):
            return True
        alternatives = both.alternatives()
        return bool(alternatives) and all(self.is_empty(each, depth + 1) for each in alternatives)

    def is_empty(self, writer: Writer, depth: int = 0) -> bool:
        """Whether it is proved that ``writer`` writes nothing at all."""
        return bool(writer.schemas) and self.are_apart(writer, writer.schemas[-1], depth)

    def _kind_is_empty(self, both: Writer, depth: int) -> bool:
        match both.kind:
            case "number":
                low, high = lower_limit(both), upper_limit(both)
                if low is None or high is None:
                    return False
                return low[0] > high[0] or (low[0] == high[0] and (low[1] or not high[1]))
            case "string":
                least, most = both.least("min_length"), both.most("max_length")
            case "array":
                least, most = both.least("min_items"), both.most("max_items")
            case "object":
                least, most = both.least("min_properties"), both.most("max_properties")
                required = {name for facts in both.facts() for name in facts.required}
                if any(self.is_empty(both.property(name), depth + 1) for name in sorted(required)):
                    return True
            case _:
                return False
        return least is not None and most is not None and least > most
