"""The questions of JSON Schema's rules to a sketch: how many records can trigger a finding.

Findings of JSON Schema are not independent of one another: one stands for several keywords. Therefore the reader's
whole schema is applied to the sketch, as a validator applies it to a value: :mod:`.json_acceptance` returns each place
of the reader at which a value may be refused. A finding is counted by the places that touch its own. If the reader
may refuse something at a place that no finding touches, the result is 0 for no finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.jsonschema.schema import JsonSchema
from counterfoil.schema.sketch.json_acceptance import Acceptance
from counterfoil.schema.sketch.weigh import Count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.sketch.json_acceptance import Refusal
    from counterfoil.schema.sketch.model import SchemaSketch


def counts(
    reader: ParsedSchema, writer: ParsedSchema, differences: Sequence[Difference], sketch: SchemaSketch
) -> list[Count | None]:
    """Return how many records trigger each difference."""
    if not isinstance(reader, JsonSchema) or not isinstance(writer, JsonSchema):
        return [None] * len(differences)
    refusals = Acceptance(reader, writer, sketch).refusals()
    found = [_count(each.reader_pointer, refusals) for each in differences]
    if any(not any(_touches(refusal, each.reader_pointer) for each in differences) for refusal in refusals):
        return [None if count.most == 0 else count for count in found]
    return list(found)


def _count(pointer: Pointer, refusals: Sequence[Refusal]) -> Count:
    touched = [refusal for refusal in refusals if _touches(refusal, pointer)]
    is_exact = all(refusal.is_exact for refusal in touched) and len(touched) <= 1
    return Count(sum(refusal.records for refusal in touched), is_exact=is_exact)


def _touches(refusal: Refusal, pointer: Pointer) -> bool:
    """Return whether one of the two places contains the other."""
    return any(all(mine == theirs for mine, theirs in zip(each, pointer, strict=False)) for each in refusal.pointers)
