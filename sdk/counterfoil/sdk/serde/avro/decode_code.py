"""Decode plans as Python code.

The code does not check at each step whether the data is long enough: an index beyond the end raises, and a slice that
is too short leaves the offset beyond the end, which the last line checks. Every irregularity, from a short slice to a
number that could have been shorter, raises an exception, and then :mod:`.decode_walk` reads the datum again and either
returns the value or raises the error that describes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.avro.numbers import UNZIGZAG, read_count, read_int, read_long, read_size
from counterfoil.sdk.serde.avro.plan import (
    MAX_EMPTY_ITEMS,
    MAX_LEVEL,
    WEIGHT_OF_ITEM,
    ArrayStep,
    BooleanStep,
    BranchStep,
    BytesStep,
    EnumStep,
    FieldStep,
    FixedStep,
    Inlining,
    IntegerStep,
    MapStep,
    NullStep,
    PythonSource,
    RawStep,
    RealStep,
    RecordStep,
    Step,
    TextStep,
    UnionStep,
    steps_of,
)

if TYPE_CHECKING:
    from counterfoil.sdk.serde.avro.logical_types import LogicalConversion


_ONE_BYTE_SYMBOLS: Final = 64
_FORMAT: Final = {4: "f", 8: "d"}


def _as_bytes(data: object) -> bytes:
    """Return a bytes-like object as bytes, since values that are read from it must not change later."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError


_LIBRARY: Final[dict[str, object]] = {
    "DecodeError": DecodeError,
    "as_bytes": _as_bytes,
    "unzigzag": UNZIGZAG,
    "booleans": (False, True),
    "read_int": read_int,
    "read_long": read_long,
    "read_size": read_size,
    "read_count": read_count,
}


def decoder_source(plan: Step, *, whole: bool, max_empty_items: int = MAX_EMPTY_ITEMS) -> PythonSource:
    """Return the source of ``decode(b, p)`` for a plan.

    It calls ``again(b, start)``, and with ``whole`` ``rest(b, offset)`` for data that does not end with the value; the
    caller must bind both.
    """
    return _DecoderWriter(plan, max_empty_items).write(whole=whole)


class _DecoderWriter:
    """Writes one decoder. In the generated code ``b`` is the data and ``p`` the offset in it.

    Where values can take no bytes, ``left`` is how many such items a message may still have, and how much other weight.
    """

    def __init__(self, plan: Step, max_empty_items: int) -> None:
        self._plan = plan
        self._max_empty_items = max_empty_items
        self._arguments = "b, p, left" if any(map(_is_counted, steps_of(plan))) else "b, p"
        self._out = PythonSource(_LIBRARY)
        self._containers: list[str] = []
        self._function_by_step: dict[tuple[int, bool], str] = {}
        self._pending: list[tuple[str, Step, bool]] = []
        self._inlining = Inlining(plan)

    def write(self, *, whole: bool) -> PythonSource:
        out = self._out
        out.line("def decode(b, p=0):")
        out.line(" s = p")
        out.line(" try:")
        out.level = 2
        out.line("if b.__class__ is not bytes: b = as_bytes(b)")
        if "left" in self._arguments:
            items = self._max_empty_items
            out.line(f"left = [{items}, {items * WEIGHT_OF_ITEM} + len(b)]")
        self._inline(self._plan, "v")
        out.line("if p != len(b): rest(b, p)" if whole else "if p > len(b): raise IndexError")
        out.line("return v")
        out.level = 0
        out.line(" except DecodeError: raise")
        out.line(" except Exception: pass")
        out.line(f" {' = '.join([*self._containers, 'v'])} = None")  # not stored during the call
        out.line(" return again(b, s)")
        while self._pending:
            self._function(*self._pending.pop())
        return out

    def _function(self, name: str, step: Step, is_skipping: bool) -> None:  # noqa: FBT001 - an entry of _pending
        self._out.level = 0
        self._out.line(f"def {name}({self._arguments}):")
        self._out.level = 1
        if is_skipping:
            self._skip_container(step)
            self._out.line("return p")
        else:
            self._inline(step, "v")
            self._out.line("return v, p")

    # --- a call or code in place ---------------------------------------------------------------

    def _read(self, step: Step, target: str) -> None:
        """Write code that assigns the value at ``p`` to ``target`` and moves ``p`` past it."""
        if self._is_called(step):
            self._out.line(f"{target}, p = {self._name_of(step)}({self._arguments})")
        else:
            self._inline(step, target)

    def _is_called(self, step: Step) -> bool:
        if self._out.level > MAX_LEVEL and isinstance(step, (ArrayStep, MapStep, UnionStep, RecordStep)):
            return True
        return self._inlining.is_function(step)

    def _name_of(self, step: Step, *, is_skipping: bool = False) -> str:
        key = (id(step), is_skipping)
        known = self._function_by_step.get(key)
        if known is None:
            known = self._function_by_step[key] = self._out.name("skip" if is_skipping else "read")
            self._pending.append((known, step, is_skipping))
        return known

    # --- one method a step ---------------------------------------------------------------------------------------

    def _inline(self, step: Step, target: str) -> None:
        match step:
            case NullStep():
                self._out.line(f"{target} = None")
            case BooleanStep():
                self._out.line(f"{target} = booleans[b[p]]; p += 1")
            case IntegerStep():
                self._integer(step, target)
            case RealStep(size=size):
                unpack = self._bind_unpack(f"<{_FORMAT[size]}")
                self._out.line(f"{target}, = {unpack}(b, p); p += {size}")
            case BytesStep(conversion=conversion):
                self._size("n", conversion)
                self._out.line(f"{target} = {self._converted('b[p:(p := p + n)]', conversion)}")
            case TextStep(conversion=conversion):
                self._size("n", None)
                self._out.line(f"{target} = {self._converted('b[p:(p := p + n)].decode()', conversion)}")
            case FixedStep(size=size, conversion=conversion):
                self._out.line(f"{target} = {self._converted(f'b[p:(p := p + {size})]', conversion)}")
            case EnumStep():
                self._enum(step, target)
            case _:
                self._inline_container(step, target)

    def _inline_container(self, step: Step, target: str) -> None:
        match step:
            case ArrayStep():
                self._array(step, target)
            case MapStep():
                self._map(step, target)
            case UnionStep():
                self._union(step, target)
            case RecordStep():
                self._record(step, target)
            case RawStep():
                self._raw(step, target)
            case BranchStep(name=name, step=inner):
                self._read(inner, target)
                self._out.line(f"{target} = {name!r}, {target}")
            case _:
                self._out.line("raise ValueError")

    def _converted(self, expression: str, conversion: LogicalConversion | None) -> str:
        if conversion is None:
            return expression
        self._out.namespace.update(conversion.constants)
        return conversion.decode_source.format(v=expression)

    def _bind_unpack(self, layout: str) -> str:
        return self._out.bind("unpack", struct.Struct(layout).unpack_from)

    def _integer(self, step: IntegerStep, target: str) -> None:
        read = "read_int" if step.bits == 32 else "read_long"  # noqa: PLR2004 - bits of an int
        if step.conversion is not None:  # an instant or a date: never one byte
            self._out.line(f"x, p = {read}(b, p)")
            self._out.line(f"{target} = {self._converted('x', step.conversion)}")
            return
        self._out.line("x = b[p]")
        self._out.line(f"if x < 128: {target} = unzigzag[x]; p += 1")
        self._out.line(f"else: {target}, p = {read}(b, p)")

    def _size(self, name: str, conversion: LogicalConversion | None) -> None:
        self._out.line(f"{name} = b[p]")
        self._out.line(f"if {name} & 129: {name}, p = read_size(b, p)")
        self._out.line(f"else: {name} >>= 1; p += 1")
        if conversion is not None and conversion.size_limit_bytes is not None:
            self._out.line(f"if {name} > {conversion.size_limit_bytes}: raise ValueError")

    def _enum(self, step: EnumStep, target: str) -> None:
        if len(step.values) <= _ONE_BYTE_SYMBOLS:
            self._out.line(f"{target} = {self._bind_symbols(step)}[b[p]]; p += 1")
        else:
            symbols = {index: value for index, value in enumerate(step.values) if value is not None}
            self._out.line(f"x, p = read_long(b, p); {target} = {self._out.bind('symbols', symbols)}[x]")

    def _bind_symbols(self, step: EnumStep) -> str:
        """Return a table from the one byte of a symbol's number to the reader's value."""
        by_byte = {2 * index: value for index, value in enumerate(step.values) if value is not None}
        return self._out.bind("symbols", by_byte)

    def _raw(self, step: RawStep, target: str) -> None:
        limit = step.conversion.size_limit_bytes if step.conversion else None
        if limit is not None:
            self._out.line(f"if len(b) - p > {limit}: raise ValueError")
        expression = "b[p:].decode()" if step.is_text else "b[p:]"
        self._out.line("if p > len(b): raise IndexError")
        self._out.line(f"{target} = {self._converted(expression, step.conversion)}")
        self._out.line("p = len(b)")

    def _blocks(self, smallest: int) -> None:
        """Write the heads of a loop over blocks and of a loop over the items of each; the level is then inside both."""
        out = self._out
        out.line("while True:")
        out.level += 1
        out.line("n = b[p]")
        out.line("if n & 129: n, p = read_count(b, p)")
        out.line("else: n >>= 1; p += 1")
        out.line("if not n: break")
        self._bound("n", smallest)
        out.line("for _ in range(n):")
        out.level += 1

    def _bound(self, count: str, smallest: int) -> None:
        if smallest:
            times = f" * {smallest}" if smallest > 1 else ""
            self._out.line(f"if {count}{times} > len(b) - p: raise IndexError")
        else:
            self._out.line(f"left[0] -= {count}")
            self._out.line("if left[0] < 0: raise ValueError")

    def _array(self, step: ArrayStep, target: str) -> None:
        items, item = self._out.name("items"), self._out.name("v")
        self._containers.append(items)
        self._out.line(f"{items} = []")
        self._blocks(step.smallest)
        self._read(step.items, item)
        self._out.line(f"{items}.append({item})")
        self._out.level -= 2
        self._out.line(f"{target} = {items}")

    def _map(self, step: MapStep, target: str) -> None:
        entries, key, value = self._out.name("entries"), self._out.name("k"), self._out.name("v")
        self._containers.append(entries)
        self._out.line(f"{entries} = {{}}")
        self._blocks(1)
        self._inline(TextStep(), key)
        self._read(step.values, value)
        self._out.line(f"{entries}[{key}] = {value}")
        self._out.level -= 2
        self._out.line(f"{target} = {entries}")

    def _union(self, step: UnionStep, target: str) -> None:
        self._branches(step, lambda branch: self._read(branch, target))

    def _branches(self, step: UnionStep, emit: Callable[[Step], None]) -> None:
        """Write code that reads the number of the branch and runs what ``emit`` writes for the branch."""
        out = self._out
        if len(step.branches) <= _ONE_BYTE_SYMBOLS:
            out.line("x = b[p]; p += 1")
            number_of_branch = [2 * index for index in range(len(step.branches))]
        else:
            out.line("x, p = read_long(b, p)")
            number_of_branch = list(range(len(step.branches)))
        word = "if"
        for number, branch in zip(number_of_branch, step.branches, strict=True):
            out.line(f"{word} x == {number}:")
            self._nested([branch], emit)
            word = "elif"
        out.line("else: raise ValueError" if step.branches else "raise ValueError")

    # --- records -------------------------------------------------------------------------------------------------

    def _record(self, step: RecordStep, target: str) -> None:
        if step.unpaid:
            self._out.line(f"left[1] -= {step.unpaid}")
            self._out.line("if left[1] < 0: raise ValueError")
        value_by_field: dict[str, str] = {}
        for is_packed, group in groupby(step.fields, key=_is_packable):
            fields = list(group)
            if is_packed and len(fields) > 1:
                self._packed(fields, value_by_field)
            else:
                for one in fields:
                    self._field(one, value_by_field)
        for name, value in step.defaults.items():
            value_by_field[name] = self._literal(value)
        entries = ", ".join(f"{name!r}: {value_by_field[name]}" for name in step.targets)
        self._out.line(f"{target} = {{{entries}}}")

    def _field(self, one: FieldStep, value_by_field: dict[str, str]) -> None:
        if one.target is None:
            self._skip(one.step)
            return
        value_by_field[one.target] = self._out.name("v")
        self._read(one.step, value_by_field[one.target])

    def _packed(self, fields: Sequence[FieldStep], value_by_field: dict[str, str]) -> None:
        """Write one ``unpack`` for adjacent fields of known size, assuming that every int among them takes one byte."""
        out = self._out
        values = [out.name("v") for _ in fields]
        layout = "<" + "".join(_layout(one.step) for one in fields)
        numbers = [value for value, one in zip(values, fields, strict=True) if isinstance(one.step, IntegerStep)]
        out.line(f"{', '.join(values)} = {self._bind_unpack(layout)}(b, p)")
        if numbers:
            out.line(f"if ({' | '.join(numbers)}) < 128:")
            out.level += 1
        out.line(f"p += {struct.calcsize(layout)}")
        for value, one in zip(values, fields, strict=True):
            self._unpacked(one.step, value)
        if numbers:
            out.level -= 1
            out.line("else:")
            out.level += 1
            for value, one in zip(values, fields, strict=True):
                self._inline(one.step, value)
            out.level -= 1
        value_by_field.update({one.target or "": value for value, one in zip(values, fields, strict=True)})

    def _unpacked(self, step: Step, value: str) -> None:
        """Write code that turns the result of ``unpack`` into the value."""
        match step:
            case IntegerStep():
                self._out.line(f"{value} = unzigzag[{value}]")
            case BooleanStep():
                self._out.line(f"{value} = booleans[{value}]")
            case EnumStep():
                self._out.line(f"{value} = {self._bind_symbols(step)}[{value}]")
            case FixedStep(conversion=conversion) if conversion is not None:
                self._out.line(f"{value} = {self._converted(value, conversion)}")

    def _literal(self, value: object) -> str:
        """Return an expression for ``value``, which makes a new object each time if the object is mutable."""
        if isinstance(value, list):
            return f"[{', '.join(map(self._literal, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self._literal(item)}' for key, item in value.items())}}}"
        if value is None or isinstance(value, (bool, str)):
            return repr(value)
        return self._out.bind("default", value)

    # --- skipping --------------------------------------------------------------------------------------------

    def _skip(self, step: Step) -> None:
        """Write code that moves ``p`` past the value at ``p``."""
        match step:
            case NullStep():
                pass
            case BooleanStep():
                self._out.line("p += 1")
            case IntegerStep() | EnumStep():
                self._out.line("while b[p] > 127: p += 1")
                self._out.line("p += 1")
            case RealStep(size=size) | FixedStep(size=size):
                self._out.line(f"p += {size}")
            case BytesStep() | TextStep():
                self._size("n", None)
                self._out.line("p += n")
            case _ if self._is_called(step):
                self._out.line(f"p = {self._name_of(step, is_skipping=True)}({self._arguments})")
            case _:
                self._skip_container(step)

    def _skip_container(self, step: Step) -> None:
        match step:
            case ArrayStep(items=items, smallest=smallest):
                self._skip_blocks([items], smallest)
            case MapStep(values=values):
                self._skip_blocks([TextStep(), values], 1)
            case UnionStep():
                self._branches(step, self._skip)
            case RecordStep(fields=fields):
                for one in fields:
                    self._skip(one.step)
            case _:
                self._out.line("raise ValueError")

    def _skip_blocks(self, steps: Sequence[Step], smallest: int) -> None:
        out = self._out
        out.line("while True:")
        out.level += 1
        out.line("n, p = read_long(b, p)")
        out.line("if not n: break")
        out.line("if n < 0:")
        out.line(" n, p = read_size(b, p)")
        out.line(" p += n")
        out.line(" continue")
        self._bound("n", smallest)
        out.line("for _ in range(n):")
        self._nested(steps, self._skip)
        out.level -= 1

    def _nested(self, steps: Sequence[Step], emit: Callable[[Step], None]) -> None:
        """Write the output of ``emit`` for the steps, indented by one level; ``pass`` when that is nothing."""
        self._out.level += 1
        before = self._out.size
        for step in steps:
            emit(step)
        if self._out.size == before:
            self._out.line("pass")
        self._out.level -= 1


def _is_counted(step: Step) -> bool:
    """Return whether the step's values, or values inside them, may take no bytes, so that they are counted."""
    match step:
        case ArrayStep(smallest=smallest):
            return not smallest
        case RecordStep(unpaid=unpaid):
            return bool(unpaid)
        case _:
            return False


def _is_packable(one: FieldStep) -> bool:
    if one.target is None:
        return False
    match one.step:
        case BooleanStep() | RealStep() | FixedStep():
            return True
        case IntegerStep(bits=32, conversion=None):
            return True
        case EnumStep(values=values):
            return len(values) <= _ONE_BYTE_SYMBOLS
        case _:
            return False


def _layout(step: Step) -> str:
    match step:
        case RealStep(size=size):
            return _FORMAT[size]
        case FixedStep(size=size):
            return f"{size}s"
        case _:
            return "B"
