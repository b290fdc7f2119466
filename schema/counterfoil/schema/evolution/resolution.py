"""Avro's schema resolution as a plan, and the changes of meaning that it ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.derive import Deriver
from counterfoil.schema.evolution.model import BuildRecord, Cast, MapBranches, MapItems, MapTagged, MapValues, Widen
from counterfoil.schema.evolution.rules import PlanRules
from counterfoil.schema.evolution.types import is_instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.evolution.model import ConversionPlan, Scalar
    from counterfoil.schema.parsed import ParsedSchema


def derive_resolution(writer: ParsedSchema, reader: ParsedSchema) -> ConversionPlan:
    """Return Avro's schema resolution as a plan: how data of ``writer`` become values of ``reader``.

    It follows Avro's rules: names and the reader's aliases, promotions, defaults. Its problems are resolutions that the
    operations cannot express, or that Avro does not have.
    """
    return Deriver(PlanRules(drop_rest=True), resolving=True).derive(writer, reader)


def resolution_conflicts(writer: ParsedSchema, reader: ParsedSchema) -> list[tuple[str, str]]:
    """Return the path and reason of each number that Avro's resolution reads with another meaning.

    Resolution ignores logical types: milliseconds are read as microseconds, cents as euros.
    """
    found: list[tuple[str, str]] = []
    for where, source, target in _conversions(derive_resolution(writer, reader).root, ""):
        if "decimal" in {source.word, target.word} or (is_instant(source) and is_instant(target)):
            found.append((where, f"a writer's {source} would be read as {target}"))
    return found


def rounds_to_float(resolution: ConversionPlan) -> bool:
    """Return whether a resolution reads a whole number as a float, which may round."""
    changes = _conversions(resolution.root, "")
    return any(target.base == "float" and source.base in {"int", "long"} for _, source, target in changes)


def _conversions(op: Any, where: str) -> Iterator[tuple[str, Scalar, Scalar]]:
    """Yield every change of a scalar type in an operation, with the target path."""
    if isinstance(op, (Cast, Widen)):
        yield where, op.source, op.target
    if isinstance(op, BuildRecord):
        for name, member in op.fields:
            yield from _conversions(member, f"{where}.{name}" if where else name)
    elif isinstance(op, (MapBranches, MapTagged)):
        for _, branch in op.branches:
            yield from _conversions(branch, where)
    elif isinstance(op, (MapItems, MapValues)):
        yield from _conversions(op.item if isinstance(op, MapItems) else op.value, f"{where}[]")
    elif hasattr(op, "of"):
        yield from _conversions(op.of, where)
