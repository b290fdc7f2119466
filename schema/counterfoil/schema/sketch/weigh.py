"""Weighing a verdict with the retained records: which findings they cannot trigger.

A finding says that some record the writer may write cannot be read. Whether a topic contains such a record is another
question, which a sketch answers: none, at most a number of them, or not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.counting import counted
from counterfoil.schema.formats.avro.compare.rules import (
    DECIMAL_CHANGED,
    FIXED_SIZE_MISMATCH,
    LOGICAL_TYPE_CHANGED,
    MISSING_DEFAULT,
    MISSING_ENUM_SYMBOLS,
    MISSING_UNION_BRANCH,
    NAME_MISMATCH,
    TYPE_MISMATCH,
    UNUSABLE_DEFAULT,
)
from counterfoil.schema.sketch.model import SchemaSketch

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.compatibility.report import CompatibilityReport, Difference, Earlier, Failure
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.sketch.model import PlaceSketch, TopicSketch

_BY_ALL_VALUES: Final = frozenset(
    rule.id
    for rule in (
        DECIMAL_CHANGED,
        FIXED_SIZE_MISMATCH,
        LOGICAL_TYPE_CHANGED,
        MISSING_DEFAULT,
        MISSING_UNION_BRANCH,
        NAME_MISMATCH,
        TYPE_MISMATCH,
        UNUSABLE_DEFAULT,
    )
)
"""Rules that every value at the place of the finding triggers."""


@dataclass(frozen=True, slots=True)
class Weight:
    """How many of a topic's records can trigger one finding.

    ``values`` is at most how many of them trigger it, None when it is not known. ``records`` is how many records
    of the finding's writer there are. ``text`` is the sentence for people.
    """

    failure: Failure
    difference: Difference
    values: int | None
    records: int
    text: str

    @property
    def is_harmless(self) -> bool:
        """Whether no retained record can trigger the finding."""
        return self.values == 0


def weigh(
    report: CompatibilityReport, sketch: TopicSketch, *, schema_ids: Callable[[Earlier], frozenset[int]]
) -> tuple[Weight, ...]:
    """Return, for each finding of ``report`` in its order, how many of the records in ``sketch`` can trigger it.

    ``schema_ids`` returns the ids in the frames of records of an earlier version. Findings of the direction in which an
    earlier reader reads new records are weighed as unknown: retained records say nothing about later ones.
    """
    weights: list[Weight] = []
    for failure in report.failures:
        written = _written_with(sketch, schema_ids(failure.earlier))
        weights += [_weigh(failure, difference, written) for difference in failure.differences]
    return tuple(weights)


def _written_with(sketch: TopicSketch, schema_ids: frozenset[int]) -> SchemaSketch:
    merged = SchemaSketch()
    for schema_id in sorted(schema_ids & sketch.by_schema_id.keys()):
        merged = merged.merge(sketch.by_schema_id[schema_id])
    return merged


def _weigh(failure: Failure, difference: Difference, written: SchemaSketch) -> Weight:
    if failure.direction is Direction.FORWARD:
        text = "retained records cannot tell: the finding is about records to come"
        return Weight(failure, difference, None, written.records, text)
    has_references = bool(getattr(failure.writer, "supplied", None))
    values = _triggering(difference, written, has_references=has_references) if written.records else 0
    return Weight(failure, difference, values, written.records, _said(difference, values, written.records))


def _triggering(difference: Difference, written: SchemaSketch, *, has_references: bool) -> int | None:
    """Return the largest possible number of values that trigger the finding; None when it is not known.

    A type that a reference supplies has no place of its own: its findings have the place of the type around it, whose
    counts show only whether there are no values at all.
    """
    around = difference.writer_pointer
    if difference.rule in _BY_ALL_VALUES:
        around = _container(around)
    while around not in written.places and around:
        around = around[:-1]
    place = written.places.get(around)
    if place is None:
        return None
    if place.values == 0:
        return 0
    if difference.rule == MISSING_ENUM_SYMBOLS.id:
        is_own = difference.writer_pointer[: len(around) + 1] == (*around, "symbols")
        return _count_symbols(missing_of(difference), place) if is_own else None
    if difference.rule in _BY_ALL_VALUES and not has_references:
        return place.values
    return None


def _container(pointer: Pointer) -> Pointer:
    """Return the place of a finding's type; for items or values, the place of the array or map around them.

    Some decoders refuse even an empty array when its items cannot match.
    """
    while pointer and pointer[-1] in ("name", "size", "items", "values"):
        pointer = pointer[:-1]
    return pointer


def missing_of(difference: Difference) -> tuple[str, ...]:
    """Return the symbols in a finding about missing enum symbols."""
    symbols = difference.sentence.fact("symbols")
    return symbols if isinstance(symbols, tuple) else ()


def _count_symbols(symbols: tuple[str, ...], place: PlaceSketch) -> int | None:
    return None if place.symbols is None else sum(place.symbols.get(symbol, 0) for symbol in symbols)


def _said(difference: Difference, values: int | None, records: int) -> str:
    if not records:
        return "no retained record was written with this schema"
    if values is None:
        written = counted(records, "retained record was", "retained records were", spec=",")
        return f"{written} written with this schema; how many trigger this is not known"
    place = f"{counted(values, 'value', spec=',')} in {counted(records, 'retained record', spec=',')}"
    verb = ("uses", "is") if values == 1 else ("use", "are")
    if difference.rule == MISSING_ENUM_SYMBOLS.id:
        return f"{place} {verb[0]} {' or '.join(missing_of(difference))}"
    return f"{place} {verb[1]} at this place"
