"""Encoders as Python code: one expression for each part of the message, and one ``join`` of them all.

The code accepts the usual types of values: a dict, a list, the exact Python type of a field. Any other value raises an
exception, and then :mod:`.encode_walk` writes the value again and either returns the bytes or raises the error that
describes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from typing import Final, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import AvroUnion
from counterfoil.sdk.serde.avro.encode_plan import LARGEST_EXACT
from counterfoil.sdk.serde.avro.logical_types import LogicalConversion
from counterfoil.sdk.serde.avro.numbers import SMALL, checked_instant, checked_int, checked_long, encode_long
from counterfoil.sdk.serde.avro.plan import (
    MAX_LEVEL,
    ArrayStep,
    BooleanStep,
    BytesStep,
    EncodeFieldStep,
    EncodeRecordStep,
    EncodeUnionStep,
    EnumStep,
    FixedStep,
    Inlining,
    IntegerStep,
    MapStep,
    NullStep,
    PythonSource,
    RawStep,
    RealStep,
    Step,
    TextStep,
)

Choose: TypeAlias = "Callable[[AvroUnion, object], tuple[int, Datum]]"
"""A function that returns number and value of the branch where the Python type alone does not decide."""

_INT_BITS: Final = 32
_FORMAT: Final = {4: "f", 8: "d"}
_CONTAINERS: Final = (ArrayStep, MapStep, EncodeUnionStep, EncodeRecordStep)
_MAX_BRANCH_PARTS: Final = 3
_TRUE: Final = b"\x01"
_FALSE: Final = b"\x00"


def _refuse(_value: object) -> bytes:
    raise TypeError


def _as_list(value: object) -> Sequence[Datum]:
    """Return the value if it is a sequence other than text or bytes; raise otherwise."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        return value
    raise TypeError


def _as_dict(value: object) -> dict[Datum, Datum]:
    """Return a mapping as a plain dict, so that a missing key stays missing."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


_LIBRARY: Final[dict[str, object]] = {
    "join": b"".join,
    "small": SMALL.get,
    "checked_int": checked_int,
    "checked_long": checked_long,
    "checked_instant": checked_instant,
    "encode_long": encode_long,
    "encode_text": str.encode,
    "refuse": _refuse,
    "as_list": _as_list,
    "as_dict": _as_dict,
}


def encoder_source(plan: Step, choose: Choose) -> PythonSource:
    """Return the source of ``encode(v, prefix)``. It calls ``again(v, prefix)``, which the caller must bind."""
    return _EncoderWriter(plan, choose).write()


class _EncoderWriter:
    """Writes one encoder. A method writes the lines that a value needs, and returns the expressions of its encoding."""

    def __init__(self, plan: Step, choose: Choose) -> None:
        self._plan = plan
        self._choose = choose
        self._out = PythonSource(_LIBRARY)
        self._function_by_step: dict[int, str] = {}
        self._pending: list[tuple[str, Step]] = []
        self._inlining = Inlining(plan)

    def write(self) -> PythonSource:
        out = self._out
        out.line("def encode(v, prefix=b''):")
        out.line(" try:")
        out.level = 2
        parts = self._inline(self._plan, "v", b"")
        out.line(f"return join((prefix, {', '.join(parts)}))")
        out.level = 0
        out.line(" except Exception:")
        out.line("  return again(v, prefix)")
        while self._pending:
            self._function(*self._pending.pop())
        return out

    def _function(self, name: str, step: Step) -> None:
        self._out.level = 0
        self._out.line(f"def {name}(v):")
        self._out.level = 1
        parts = self._inline(step, "v", b"")
        self._out.line(f"return {_joined(parts)}")

    def _parts(self, step: Step, value: str, lead: bytes = b"") -> list[str]:
        """Return the expressions for the value in the variable ``value``, after the constant ``lead``."""
        if self._is_called(step):
            return [*_constant(lead), f"{self._name_of(step)}({value})"]
        return self._inline(step, value, lead)

    def _is_called(self, step: Step) -> bool:
        if self._out.level > MAX_LEVEL and isinstance(step, _CONTAINERS):
            return True
        return self._inlining.is_function(step)

    def _name_of(self, step: Step) -> str:
        known = self._function_by_step.get(id(step))
        if known is None:
            known = self._function_by_step[id(step)] = self._out.name("write")
            self._pending.append((known, step))
        return known

    # --- one method a step ---------------------------------------------------------------------------------------

    def _inline(self, step: Step, value: str, lead: bytes) -> list[str]:
        match step:
            case EncodeRecordStep():
                return [*_constant(lead), *self._record(step, value)]
            case EncodeUnionStep():
                return self._union(step, value, lead)
            case ArrayStep(items=items):
                return [*_constant(lead), self._array(items, value)]
            case MapStep(values=values):
                return [*_constant(lead), self._map(values, value)]
            case NullStep():
                return [f"({lead!r} if {value} is None else refuse({value}))"]
            case BooleanStep():
                yes, no = lead + _TRUE, lead + _FALSE
                return [f"({yes!r} if {value} is True else {no!r} if {value} is False else refuse({value}))"]
            case EnumStep():
                return [f"{self._bind_symbols(step, lead)}[{value}]"]
            case RealStep(size=size):
                return self._real(size, value, lead)
            case IntegerStep():
                return self._integer(step, value, lead)
        return self._sized(step, value, lead)

    def _converted(self, value: str, conversion: LogicalConversion) -> str:
        base = self._out.name("w")
        self._out.namespace.update(conversion.constants)
        if conversion.encode_source is None:
            self._out.line(f"{base} = {self._out.bind('encode', conversion.encode)}({value})")
        else:
            self._out.line(f"{base} = {conversion.encode_source.format(v=value)}")
        return base

    def _integer(self, step: IntegerStep, value: str, lead: bytes) -> list[str]:
        is_int = step.bits == _INT_BITS
        checked = "checked_int" if is_int else "checked_long"
        if step.conversion is not None:  # an instant or a date: always an int, and never small
            base = self._converted(value, step.conversion)
            return [*_constant(lead), f"{checked if is_int else 'checked_instant'}({base})"]
        slow = f"{lead!r} + {checked}({value})" if lead else f"{checked}({value})"
        return [f"({self._small(lead)}({value}) or {slow} if {value}.__class__ is int else refuse({value}))"]

    def _text(self, step: TextStep, value: str, lead: bytes) -> list[str]:
        text = self._out.name("t")
        base = value if step.conversion is None else self._converted(value, step.conversion)
        self._out.line(f"{text} = encode_text({base})")
        return [self._size(text, lead), text]

    def _sized(self, step: Step, value: str, lead: bytes) -> list[str]:
        match step:
            case TextStep():
                return self._text(step, value, lead)
            case BytesStep(conversion=conversion):
                base = self._bytes_base(value, conversion)
                return [self._size(base, lead), base]
            case FixedStep(size=size, conversion=conversion):
                base = self._bytes_base(value, conversion)
                self._out.line(f"if len({base}) != {size}: raise ValueError")
                return [*_constant(lead), base]
            case RawStep(conversion=conversion):
                return [self._bytes_base(value, conversion)]
            case _:
                raise AssertionError(step)

    def _bytes_base(self, value: str, conversion: LogicalConversion | None) -> str:
        if conversion is not None:
            return self._converted(value, conversion)
        self._out.line(f"if {value}.__class__ is not bytes: raise TypeError")
        return value

    def _small(self, lead: bytes) -> str:
        if not lead:
            return "small"
        return self._out.bind("small", small_after(lead).get)

    def _size(self, value: str, lead: bytes) -> str:
        slow = f"{lead!r} + encode_long(len({value}))" if lead else f"encode_long(len({value}))"
        return f"({self._small(lead)}(len({value})) or {slow})"

    def _real(self, size: int, value: str, lead: bytes) -> list[str]:
        pack = self._bind_pack(f"<{len(lead)}s{_FORMAT[size]}" if lead else f"<{_FORMAT[size]}")
        first = f"{lead!r}, " if lead else ""
        most = LARGEST_EXACT[size]
        is_usual = f"{value}.__class__ is float or ({value}.__class__ is int and -{most} <= {value} <= {most})"
        return [f"({pack}({first}{value}) if {is_usual} else refuse(0))"]

    def _bind_pack(self, layout: str) -> str:
        return self._out.bind("pack", struct.Struct(layout).pack)

    def _bind_symbols(self, step: EnumStep, lead: bytes) -> str:
        return self._out.bind("symbols", {name: lead + encode_long(index) for index, name in enumerate(step.symbols)})

    # --- containers ----------------------------------------------------------------------------------------------

    def _array(self, items_step: Step, value: str) -> str:
        out, items, item = self._out, self._out.name("items"), self._out.name("v")
        out.line(f"{items} = {value} if {value}.__class__ is list else as_list({value})")
        encoded = out.name("e")
        out.line(f"if not {items}: {encoded} = b'\\0'")
        out.line("else:")
        out.level += 1
        parts_name = out.name("parts")
        out.line(f"{parts_name} = [{self._size(items, b'')}]")
        out.line(f"for {item} in {items}:")
        out.level += 1
        parts = self._parts(items_step, item)
        out.line(_extended(parts_name, parts))
        out.level -= 1
        out.line(f"{parts_name}.append(b'\\0')")
        out.line(f"{encoded} = join({parts_name})")
        out.level -= 1
        return encoded

    def _map(self, values_step: Step, value: str) -> str:
        out, items = self._out, self._out.name("entries")
        key, item, text, encoded = (out.name(stem) for stem in ("k", "v", "t", "e"))
        out.line(f"{items} = {value} if {value}.__class__ is dict else as_dict({value})")
        out.line(f"if not {items}: {encoded} = b'\\0'")
        out.line("else:")
        out.level += 1
        parts_name = out.name("parts")
        out.line(f"{parts_name} = [{self._size(items, b'')}]")
        out.line(f"for {key}, {item} in {items}.items():")
        out.level += 1
        out.line(f"{text} = encode_text({key})")
        parts = self._parts(values_step, item)
        out.line(_extended(parts_name, [self._size(text, b""), text, *parts]))
        out.level -= 1
        out.line(f"{parts_name}.append(b'\\0')")
        out.line(f"{encoded} = join({parts_name})")
        out.level -= 1
        return encoded

    def _union(self, step: EncodeUnionStep, value: str, lead: bytes) -> list[str]:
        """Return one variable for each part that some branch has; the others are empty there."""
        null = step.null_of_optional
        if null is not None:
            return self._optional(step, value, lead, null)
        number, inner = self._out.name("i"), self._out.name("v")
        table = self._out.bind("branch_by_type", step.branch_by_type.get)
        self._out.line(f"{number} = {table}({value}.__class__); {inner} = {value}")
        self._out.line(f"if {number} is None: {number}, {inner} = {self._bind_choose(step)}({value})")
        tests = [f"{'elif' if index else 'if'} {number} == {index}:" for index in range(len(step.branches))]
        names = self._alternatives(list(zip(tests, enumerate(step.branches), strict=True)), inner, lead)
        self._out.line("else: raise ValueError" if step.branches else "raise ValueError")
        return names

    def _optional(self, step: EncodeUnionStep, value: str, lead: bytes, null: int) -> list[str]:
        other = step.branches[1 - null]
        inner = value
        if isinstance(other, (EncodeRecordStep, ArrayStep)):  # a tuple may be a hint
            inner = self._out.name("v")
            choose = f"{self._bind_choose(step)}({value})[1]"
            self._out.line(f"{inner} = {choose} if {value}.__class__ is tuple else {value}")
        tests = [f"if {inner} is not None:", "else:"]
        order = [(1 - null, other), (null, step.branches[null])]
        return self._alternatives(list(zip(tests, order, strict=True)), inner, lead)

    def _bind_choose(self, step: EncodeUnionStep) -> str:
        return self._out.bind("choose", partial(self._choose, step.union))

    def _alternatives(self, cases: list[tuple[str, tuple[int, Step]]], value: str, lead: bytes) -> list[str]:
        out = self._out
        parts_by_place: dict[int, list[str]] = {}
        for test, (index, branch) in cases:
            out.line(test)
            out.level += 1
            prefix = lead + encode_long(index)
            parts = [repr(prefix)] if isinstance(branch, NullStep) else self._parts(branch, value, prefix)
            parts_by_place[out.hold()] = parts if len(parts) <= _MAX_BRANCH_PARTS else [_joined(parts)]
            out.level -= 1
        names = [out.name("e") for _ in range(max(map(len, parts_by_place.values()), default=0))]
        for place, parts in parts_by_place.items():
            filled = [*parts, *["b''"] * (len(names) - len(parts))]
            out.fill(place, "; ".join(f"{name} = {part}" for name, part in zip(names, filled, strict=True)))
        return names

    # --- records -------------------------------------------------------------------------------------------------

    def _record(self, step: EncodeRecordStep, value: str) -> list[str]:
        out, record = self._out, self._out.name("r")
        out.line(f"{record} = {value} if {value}.__class__ is dict else as_dict({value})")
        if step.is_strict:
            out.line(f"if len({record}) > {len(step.fields)}: raise ValueError")
        values = self._field_values(step, record)
        parts: list[str] = []
        for is_real, group in groupby(zip(step.fields, values, strict=True), key=lambda pair: _is_real(pair[0])):
            neighbours = list(group)
            if is_real and len(neighbours) > 1:
                parts.append(self._reals(neighbours))
            else:
                for field, name in neighbours:
                    parts += self._parts(field.step, name)
        return parts

    def _field_values(self, step: EncodeRecordStep, record: str) -> list[str]:
        """Write code that assigns every field's value to a variable; missing ones get their defaults."""
        out = self._out
        names = [out.name("v") for _ in step.fields]
        takes = [f"{name} = {record}[{field.name!r}]" for name, field in zip(names, step.fields, strict=True)]
        if step.is_strict or not any(field.has_default for field in step.fields):
            for take in takes:
                out.line(take)
            return names
        out.line("try:")
        for take in takes:
            out.line(f" {take}")
        out.line("except KeyError:")
        out.line(f" {', '.join(names)}, = {out.bind('fill', _filler(step.fields))}({record})")
        return names

    def _reals(self, neighbours: list[tuple[EncodeFieldStep, str]]) -> str:
        """Return one ``pack`` for adjacent fields."""
        names = [name for _, name in neighbours]
        sizes = [field.step.size for field, _ in neighbours if isinstance(field.step, RealStep)]
        layout = "".join(_FORMAT[size] for size in sizes)
        classes = " is ".join(f"{name}.__class__" for name in names)
        fast = f"{self._bind_pack(f'<{layout}')}({', '.join(names)})"
        each = [part for size, name in zip(sizes, names, strict=True) for part in self._real(size, name, b"")]
        return f"({fast} if {classes} is float else {_joined(each)})"


@lru_cache(maxsize=64)
def small_after(lead: bytes) -> dict[int, bytes]:
    """Return the most frequent varints, each after ``lead``."""
    return {value: lead + encoded for value, encoded in SMALL.items()}


def _filler(fields: Sequence[EncodeFieldStep]) -> Callable[[dict[str, Datum]], list[Datum]]:
    defaults = {field.name: field.default for field in fields if field.has_default}

    def fill(record: dict[str, Datum]) -> list[Datum]:
        return [record[field.name] if field.name in record else defaults[field.name] for field in fields]

    return fill


def _is_real(field: EncodeFieldStep) -> bool:
    return isinstance(field.step, RealStep)


def _constant(lead: bytes) -> list[str]:
    return [repr(lead)] if lead else []


def _joined(parts: Sequence[str]) -> str:
    if not parts:
        return "b''"
    return parts[0] if len(parts) == 1 else f"join(({', '.join(parts)}))"


def _extended(name: str, parts: Sequence[str]) -> str:
    return f"{name}.append({parts[0]})" if len(parts) == 1 else f"{name} += ({', '.join(parts)})"
