"""The text of a generated Java class, where it keeps the source's values, and which bytes it can copy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.schema.plans.types import split_null
from counterfoil.sdk.serde.avro.plan import (
    ArrayStep,
    BooleanStep,
    BytesStep,
    EnumStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RealStep,
    RecordStep,
    Step,
    TextStep,
    UnionStep,
)

# The text of a generated Java class: its members, its constants, and names that are used once.

_SMALLEST_LITERAL: Final = 1e-300
"""Janino refuses the smallest numbers as literals."""
_LONGEST_LITERAL: Final = 60_000
"""A Java string literal has at most 65,535 bytes."""
_VALUES_PER_METHOD: Final = 100


def quoted(text: str) -> str:
    """Return a Java string literal."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    if letter in {'"', "\\"}:
        return f"\\{letter}"
    return letter if " " <= letter <= "~" else "".join(f"\\u{unit:04x}" for unit in _utf16(letter))


def _utf16(letter: str) -> Iterator[int]:
    data = letter.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(data[place : place + 2], "big") for place in range(0, len(data), 2))


def joined(text: str) -> str:
    """Return an ASCII text of any length as a Java expression."""
    pieces = [quoted(text[place : place + _LONGEST_LITERAL]) for place in range(0, len(text), _LONGEST_LITERAL)]
    if len(pieces) <= 1:
        return quoted(text)
    return f"new StringBuilder(){''.join(f'.append({piece})' for piece in pieces)}.toString()"


def real(value: float) -> str:
    """Return a double as a Java expression."""
    if not math.isfinite(value):
        word = "NaN" if math.isnan(value) else f"{'POSITIVE' if value > 0 else 'NEGATIVE'}_INFINITY"
        return f"Double.{word}"
    spelt = repr(float(value))
    return f"Double.parseDouble({quoted(spelt)})" if 0 < abs(value) < _SMALLEST_LITERAL else spelt


def signed(schema_id: int) -> int:
    """Return a schema id as Java reads its four bytes."""
    return schema_id - (1 << 32) if schema_id >= 1 << 31 else schema_id


def indented(lines: Iterable[str]) -> list[str]:
    """Return the lines, one level deeper."""
    return [f"  {line}" for line in lines]


def block(head: str, lines: Iterable[str]) -> list[str]:
    """Return a statement with a block."""
    return [f"{head} {{", *indented(lines), "}"]


class JavaClass:
    """The members and methods of one class, as lines."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._constants: dict[tuple[str, str], str] = {}
        self.members: list[str] = []
        self.methods: list[str] = []
        self.statics: list[str] = []

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Take back what was added inside the block if it ends with an exception."""
        lists = [(each, len(each)) for each in (self.members, self.methods, self.statics)]
        constants = len(self._constants)
        try:
            yield
        except BaseException:
            for each, size in lists:
                del each[size:]
            while len(self._constants) > constants:
                self._constants.popitem()
            raise

    def fresh(self, stem: str) -> str:
        """Return a name that was not used before."""
        return f"{stem}{next(self._numbers)}"

    def constant(self, java_type: str, value: str) -> str:
        """Return the name of a constant; equal ones are one."""
        key = (java_type, value)
        if key not in self._constants:
            self._constants[key] = name = self.fresh("C")
            self.members.append(f"private static final {java_type} {name} = {value};")
        return self._constants[key]

    def data(self, value: bytes) -> str:
        """Return the name of a constant with these bytes."""
        return self.constant("byte[]", f"Texts.ofHex({joined(value.hex())})")

    def several(self, values: Iterable[bytes]) -> str:
        """Return the name of a constant with an array of bytes.

        It is one text: Java limits the code that fills an array element by element to 64 KB.
        """
        return self.constant("byte[][]", f"Texts.ofHexes({joined(','.join(value.hex() for value in values))})")

    def words(self, values: Sequence[str]) -> str:
        """Return the name of a constant with an array of strings."""
        return self.constant("String[]", f"Texts.words({joined(','.join(value.encode().hex() for value in values))})")

    def integers(self, values: Iterable[int]) -> str:
        """Return the name of a constant with an array of whole numbers of 32 bits."""
        return self.constant("int[]", f"Numbers.ints({joined(','.join(map(str, values)))})")

    def longs(self, values: Iterable[int]) -> str:
        """Return the name of a constant with an array of whole numbers of 64 bits."""
        return self.constant("long[]", f"Numbers.longs({joined(','.join(map(str, values)))})")

    def member(self, declaration: str) -> None:
        """Add a member."""
        self.members.append(f"private {declaration};")

    def static(self, statement: str) -> None:
        """Add a statement that runs when the class is loaded."""
        self.statics.append(statement)

    def fill(self, name: str, java_type: str, values: Sequence[str]) -> None:
        """Call a constant's method ``fill`` with an array when the class is loaded, in methods of moderate size."""
        method = self.fresh("fill")
        body = [f"{java_type}[] all = new {java_type}[{len(values)}];"]
        for start in range(0, len(values), _VALUES_PER_METHOD):
            part = list(enumerate(values))[start : start + _VALUES_PER_METHOD]
            lines = [f"all[{number}] = {value};" for number, value in part]
            self.method(f"static void {method}_{start}({java_type}[] all)", lines)
            body.append(f"{method}_{start}(all);")
        self.method(f"static void {method}()", [*body, f"{name}.fill(all);"])
        self.static(f"{method}();")

    def method(self, head: str, lines: Iterable[str]) -> None:
        """Add a method."""
        self.methods += block(f"private {head}", lines)


# Where the generated class keeps the source's values: a tree of slots beside the source's type.
#
# A slot is one or more members of the worker, by its number: ``x`` whether it is null, ``v`` a number or boolean, ``a``
# and ``z`` the begin and end of bytes or text, ``a`` and ``n`` the begin and the number of items of an array, ``m`` the
# entries of a map. Positions are in the record, or in ``d`` where the value may be a default. The items of an array
# have one slot, which is filled for each item anew.

ENGINE = "java"

WHOLE = frozenset({AvroKind.INT, AvroKind.LONG, AvroKind.ENUM})
REAL = frozenset({AvroKind.FLOAT, AvroKind.DOUBLE})
BYTES = frozenset({AvroKind.STRING, AvroKind.BYTES, AvroKind.FIXED})


@dataclass(frozen=True)
class SlotRun:
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
    runs: list[SlotRun] = field(default_factory=list)
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
    if inner is None or isinstance(inner, AvroUnion):
        return slot
    if id(inner) in open_types:
        raise EngineCannot(ENGINE, field=where, why="a record that contains itself")
    within = (*open_types, id(inner))
    if isinstance(inner, AvroRecord):
        for member in inner.fields:
            inside = f"{where}.{member.name}" if where else member.name
            slot.members[member.name] = _make(member.type, java, inside, slot, within)
    elif isinstance(inner, AvroArray):
        slot.element = _make(inner.items, java, f"{where}[]", None, within)
    elif isinstance(inner, AvroMap):
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
    if inner.kind is AvroKind.BOOLEAN:
        java.member(f"boolean v{slot.name}")
    elif inner.kind in WHOLE:
        java.member(f"long v{slot.name}")
    elif inner.kind in REAL:
        java.member(f"double v{slot.name}")
    elif inner.kind in BYTES:
        java.member(f"int a{slot.name}")
        java.member(f"int z{slot.name}")
    elif isinstance(inner, AvroArray):
        java.member(f"int a{slot.name}")
        java.member(f"int n{slot.name}")
        java.member(f"int w{slot.name}")
    elif isinstance(inner, AvroMap):
        java.member(f"final Keys m{slot.name} = new Keys()")
        java.member(f"int w{slot.name}")
    if slot.has_defaults and (inner.kind in BYTES or isinstance(inner, (AvroArray, AvroMap))):
        java.member(f"byte[] d{slot.name}")


# Which types, and which steps of reading, have the same bytes for the same values, so that spans can be copied.

_WIDER = {(AvroKind.INT, AvroKind.LONG), (AvroKind.STRING, AvroKind.BYTES)}
_REAL_SIZE = {AvroKind.FLOAT: 4, AvroKind.DOUBLE: 8}


def is_same_wire(source: AvroType, target: AvroType) -> bool:
    """Return whether every value of ``source`` is written with the same bytes as ``target``.

    No for unions of several types besides null, which may contain themselves.
    """
    if isinstance(split_null(source)[1], AvroUnion):
        return False
    if isinstance(source, AvroRecord) and isinstance(target, AvroRecord):
        return [member.name for member in source.fields] == [member.name for member in target.fields] and all(
            is_same_wire(left.type, right.type) for left, right in zip(source.fields, target.fields, strict=True)
        )
    if isinstance(source, AvroArray) and isinstance(target, AvroArray):
        return is_same_wire(source.items, target.items)
    if isinstance(source, AvroMap) and isinstance(target, AvroMap):
        return is_same_wire(source.values, target.values)
    if isinstance(source, AvroUnion) and isinstance(target, AvroUnion):
        return len(source.branches) == len(target.branches) and all(
            is_same_wire(left, right) for left, right in zip(source.branches, target.branches, strict=True)
        )
    if isinstance(source, AvroEnum) and isinstance(target, AvroEnum):
        return list(source.symbols) == list(target.symbols[: len(source.symbols)])
    if isinstance(source, AvroFixed) and isinstance(target, AvroFixed):
        return source.size == target.size
    return source.kind is target.kind


def widens_on_wire(source: AvroType, target: AvroType) -> bool:
    """Return whether the larger type ``target`` has the same bytes for every value of ``source``."""
    if isinstance(source, AvroUnion) and isinstance(target, AvroUnion):
        return len(source.branches) == len(target.branches) and all(
            is_same_wire(left, right) or widens_on_wire(left, right)
            for left, right in zip(source.branches, target.branches, strict=True)
        )
    return (source.kind, target.kind) in _WIDER


def is_read_as_written(step: Step, node: AvroType) -> bool:
    """Return whether the bytes that ``step`` reads are those with which its value is written as ``node``."""
    match step:
        case UnionStep(branches=branches):
            return (
                isinstance(node, AvroUnion)
                and len(branches) == len(node.branches)
                and all(map(is_read_as_written, branches, node.branches))
            )
        case RecordStep(fields=fields):
            return (
                isinstance(node, AvroRecord)
                and [one.target for one in fields] == [member.name for member in node.fields]
                and all(is_read_as_written(one.step, m.type) for one, m in zip(fields, node.fields, strict=True))
            )
        case ArrayStep(items=items):
            return isinstance(node, AvroArray) and is_read_as_written(items, node.items)
        case MapStep(values=values):
            return isinstance(node, AvroMap) and is_read_as_written(values, node.values)
        case EnumStep(values=values):
            return isinstance(node, AvroEnum) and list(values) == list(node.symbols[: len(values)])
        case FixedStep(size=size):
            return isinstance(node, AvroFixed) and node.size == size
        case _:
            return _is_scalar_as_written(step, node.kind)


def _is_scalar_as_written(step: Step, kind: AvroKind) -> bool:
    match step:
        case NullStep():
            return kind is AvroKind.NULL
        case BooleanStep():
            return kind is AvroKind.BOOLEAN
        case IntegerStep():
            return kind in {AvroKind.INT, AvroKind.LONG}
        case RealStep(size=size):
            return _REAL_SIZE.get(kind) == size
        case BytesStep() | TextStep():
            return kind in {AvroKind.BYTES, AvroKind.STRING}
        case _:
            return False
