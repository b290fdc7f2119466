"""Where the generated class keeps the source's values: a tree of slots beside the source's type.

A slot is one or more members of the worker, by its number: ``x`` whether it is null, ``v`` a number or boolean, ``a``
and ``z`` the begin and end of bytes or text, ``a`` and ``n`` the begin and the number of items of an array, ``m`` the
entries of a map. Positions are in the record, or in ``d`` where the value may be a default. The items of an array have
one slot, which is filled for each item anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.schema.evolution.types import split_null
from counterfoil.schema.formats.avro.types import Array, Kind, Map, Record, Union

if TYPE_CHECKING:
    from counterfoil.converter.engines.java.source import JavaClass
    from counterfoil.schema.formats.avro.types import AvroType

ENGINE = "java"

WHOLE = frozenset({Kind.INT, Kind.LONG, Kind.ENUM})
REAL = frozenset({Kind.FLOAT, Kind.DOUBLE})
BYTES = frozenset({Kind.STRING, Kind.BYTES, Kind.FIXED})


@dataclass(frozen=True)
class Run:
    """Fields of one record that are written as they were read, one behind the other: ``name`` is its number."""

    name: str
    fields: tuple[str, ...]


@dataclass(eq=False)
class Slot:
    """The place of one source value. ``inner`` is its type without null; None for null alone."""

    name: str
    where: str
    node: AvroType
    inner: AvroType | None
    is_nullable: bool
    above: Slot | None = None
    members: dict[str, Slot] = field(default_factory=dict)
    element: Slot | None = None
    is_used: bool = False
    has_defaults: bool = False
    runs: list[Run] = field(default_factory=list)
    element_readers: list[str] = field(default_factory=list)

    @property
    def data(self) -> str:
        """The expression of the bytes in which ``a`` and ``z`` are positions."""
        return f"d{self.name}" if self.has_defaults else "data"

    def use(self) -> None:
        """Mark the value as needed."""
        self.is_used = True

    def at(self, path: tuple[str, ...]) -> Slot:
        """Return the slot of the field at ``path``."""
        found = self
        for step in path:
            if step not in found.members:
                raise EngineCannot(ENGINE, field=".".join(path), why="a path into a value that is no record")
            found = found.members[step]
        return found

    def null_condition(self, base: Slot) -> str | None:
        """Return the condition that the value, or a record between it and ``base``, is null; None for never."""
        conditions: list[str] = []
        here: Slot | None = self
        while here is not None:
            if here.inner is None:
                return "true"
            if here.is_nullable:
                here.use()
                conditions.append(f"x{here.name}")
            here = None if here is base else here.above
        return " || ".join(reversed(conditions)) or None

    def is_needed(self) -> bool:
        """Return whether the plan uses the value or a part of it."""
        parts = [*self.members.values(), *([self.element] if self.element else [])]
        return self.is_used or any(part.is_needed() for part in parts)


def make_slot(node: AvroType, java: JavaClass, where: str = "", above: Slot | None = None) -> Slot:
    """Return the slots of a source type."""
    return _make(node, java, where, above, ())


def _make(node: AvroType, java: JavaClass, where: str, above: Slot | None, open_types: tuple[int, ...]) -> Slot:
    is_nullable, inner = split_null(node)
    slot = Slot(java.fresh(""), where, node, inner, is_nullable, above)
    if inner is None or isinstance(inner, Union):
        return slot
    if id(inner) in open_types:
        raise EngineCannot(ENGINE, field=where, why="a record that contains itself")
    within = (*open_types, id(inner))
    if isinstance(inner, Record):
        for member in inner.fields:
            inside = f"{where}.{member.name}" if where else member.name
            slot.members[member.name] = _make(member.type, java, inside, slot, within)
    elif isinstance(inner, Array):
        slot.element = _make(inner.items, java, f"{where}[]", None, within)
    elif isinstance(inner, Map):
        slot.element = _make(inner.values, java, f"{where}{{}}", None, within)
    return slot


def declare(slot: Slot, java: JavaClass) -> None:
    """Declare the members of a slot and of the slots below it, as far as the plan needs them."""
    if not slot.is_needed():
        return
    inner = slot.inner
    if slot.is_nullable and inner is not None:
        java.member(f"boolean x{slot.name}")
    if inner is not None:
        _declare_value(slot, inner, java)
    for run in slot.runs:
        java.member(f"int s{run.name}")
        java.member(f"int e{run.name}")
    for part in (*slot.members.values(), *([slot.element] if slot.element else [])):
        declare(part, java)


def _declare_value(slot: Slot, inner: AvroType, java: JavaClass) -> None:
    if inner.kind is Kind.BOOLEAN:
        java.member(f"boolean v{slot.name}")
    elif inner.kind in WHOLE:
        java.member(f"long v{slot.name}")
    elif inner.kind in REAL:
        java.member(f"double v{slot.name}")
    elif inner.kind in BYTES:
        java.member(f"int a{slot.name}")
        java.member(f"int z{slot.name}")
    elif isinstance(inner, Array):
        java.member(f"int a{slot.name}")
        java.member(f"int n{slot.name}")
        java.member(f"int w{slot.name}")
    elif isinstance(inner, Map):
        java.member(f"final Keys m{slot.name} = new Keys()")
        java.member(f"int w{slot.name}")
    if slot.has_defaults and (inner.kind in BYTES or isinstance(inner, (Array, Map))):
        java.member(f"byte[] d{slot.name}")
