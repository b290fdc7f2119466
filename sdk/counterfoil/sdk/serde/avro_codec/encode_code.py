"""Encoders as Python code: one expression for each part of the message, and one ``join`` of them all.

The code accepts the usual types of values: a dict, a list, the exact Python type of a field. Any other value raises an
exception, and then :mod:`.encode_walk` writes the value again and either returns the bytes or raises the error that
describes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.sdk.serde.avro_codec.branches import branch_by_type
from counterfoil.sdk.serde.avro_codec.inlining import Inlining
from counterfoil.sdk.serde.avro_codec.logical import conversion_of
from counterfoil.sdk.serde.avro_codec.source import MAX_LEVEL, Source
from counterfoil.sdk.serde.avro_codec.values import InvalidDefault, value_of_default
from counterfoil.sdk.serde.avro_codec.varint import SMALL, checked_instant, checked_int, checked_long, encode_long

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.sdk.serde.avro_codec.logical import Conversion

_FORMAT: Final = {Kind.FLOAT: "f", Kind.DOUBLE: "d"}
_CONTAINERS: Final = (Array, Map, Union, Record)
_MAX_BRANCH_PARTS: Final = 3
_TRUE: Final = b"\x01"
_FALSE: Final = b"\x00"


def _refuse(_value: object) -> bytes:
    raise TypeError


def _as_list(value: object) -> Sequence[Any]:
    """Return the value if it is a sequence other than text or bytes; raise otherwise."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        return value
    raise TypeError


def _as_dict(value: object) -> dict[Any, Any]:
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


def children_of(avro_type: AvroType) -> Sequence[AvroType]:
    """Return the types that a type is made of."""
    match avro_type:
        case Array(items=inner) | Map(values=inner):
            return (inner,)
        case Union(branches=branches):
            return branches
        case Record(fields=fields):
            return [field.type for field in fields]
        case _:
            return ()


def encoder_source(root: AvroType, choose: Callable[[Union, object], tuple[int, Any]], *, strict: bool) -> Source:
    """Return the source of ``encode(v, prefix)``. It calls ``again(v, prefix)``, which the caller must bind.

    ``choose`` returns number and value of the branch where the Python type alone does not decide.
    """
    return _EncoderWriter(root, choose, strict=strict).write()


class _EncoderWriter:
    """Writes one encoder. A method writes the lines that a value needs, and returns the expressions of its encoding."""

    def __init__(self, root: AvroType, choose: Callable[[Union, object], tuple[int, Any]], *, strict: bool) -> None:
        self._root = root
        self._choose = choose
        self._strict = strict
        self._out = Source(_LIBRARY)
        self._function_by_type: dict[int, str] = {}
        self._pending: list[tuple[str, AvroType]] = []
        self._inlining = Inlining(root, children_of=children_of, is_record=lambda one: isinstance(one, Record))

    def write(self) -> Source:
        out = self._out
        out.line("def encode(v, prefix=b''):")
        out.line(" try:")
        out.level = 2
        parts = self._raw_parts("v") if self._root.kind is Kind.BYTES else self._inline(self._root, "v", b"")
        out.line(f"return join((prefix, {', '.join(parts)}))")
        out.level = 0
        out.line(" except Exception:")
        out.line("  return again(v, prefix)")
        while self._pending:
            self._function(*self._pending.pop())
        return out

    def _function(self, name: str, avro_type: AvroType) -> None:
        self._out.level = 0
        self._out.line(f"def {name}(v):")
        self._out.level = 1
        parts = self._inline(avro_type, "v", b"")
        self._out.line(f"return {_joined(parts)}")

    def _parts(self, avro_type: AvroType, value: str, lead: bytes = b"") -> list[str]:
        """Return the expressions for the value in the variable ``value``, after the constant ``lead``."""
        if self._is_called(avro_type):
            return [*_constant(lead), f"{self._name_of(avro_type)}({value})"]
        return self._inline(avro_type, value, lead)

    def _is_called(self, avro_type: AvroType) -> bool:
        if self._out.level > MAX_LEVEL and isinstance(avro_type, _CONTAINERS):
            return True
        return self._inlining.is_function(avro_type)

    def _name_of(self, avro_type: AvroType) -> str:
        known = self._function_by_type.get(id(avro_type))
        if known is None:
            known = self._function_by_type[id(avro_type)] = self._out.name("write")
            self._pending.append((known, avro_type))
        return known

    # --- one method a type ---------------------------------------------------------------------------------------

    def _inline(self, avro_type: AvroType, value: str, lead: bytes) -> list[str]:
        match avro_type:
            case Record():
                return [*_constant(lead), *self._record(avro_type, value)]
            case Union():
                return self._union(avro_type, value, lead)
            case Array():
                return [*_constant(lead), self._array(avro_type, value)]
            case Map():
                return [*_constant(lead), self._map(avro_type, value)]
        conversion = conversion_of(avro_type)
        if conversion is not None:
            value = self._converted(value, conversion)
        return self._scalar(avro_type, value, lead, is_base=conversion is not None)

    def _converted(self, value: str, conversion: Conversion) -> str:
        base = self._out.name("w")
        self._out.namespace.update(conversion.constants)
        if conversion.encode_source is None:
            self._out.line(f"{base} = {self._out.bind('encode', conversion.encode)}({value})")
        else:
            self._out.line(f"{base} = {conversion.encode_source.format(v=value)}")
        return base

    def _scalar(self, avro_type: AvroType, value: str, lead: bytes, *, is_base: bool) -> list[str]:
        match avro_type.kind:
            case Kind.NULL:
                return [f"({lead!r} if {value} is None else refuse({value}))"]
            case Kind.BOOLEAN:
                yes, no = lead + _TRUE, lead + _FALSE
                return [f"({yes!r} if {value} is True else {no!r} if {value} is False else refuse({value}))"]
            case Kind.INT | Kind.LONG:
                return self._integer(avro_type.kind, value, lead, is_base=is_base)
            case Kind.FLOAT | Kind.DOUBLE:
                return self._real(avro_type.kind, value, lead)
            case Kind.STRING:
                text = self._out.name("t")
                self._out.line(f"{text} = encode_text({value})")
                return [self._size(text, lead), text]
            case Kind.BYTES:
                if not is_base:
                    self._require_bytes(value)
                return [self._size(value, lead), value]
            case Kind.ENUM:
                return [f"{self._bind_symbols(avro_type, lead)}[{value}]"]
        return self._fixed(avro_type, value, lead)

    def _integer(self, kind: Kind, value: str, lead: bytes, *, is_base: bool) -> list[str]:
        checked = "checked_int" if kind is Kind.INT else "checked_long"
        if is_base:  # an instant or a date: always an int, and never small
            return [*_constant(lead), f"{checked if kind is Kind.INT else 'checked_instant'}({value})"]
        slow = f"{lead!r} + {checked}({value})" if lead else f"{checked}({value})"
        return [f"({self._small(lead)}({value}) or {slow} if {value}.__class__ is int else refuse({value}))"]

    def _small(self, lead: bytes) -> str:
        if not lead:
            return "small"
        return self._out.bind("small", small_after(lead).get)

    def _size(self, value: str, lead: bytes) -> str:
        slow = f"{lead!r} + encode_long(len({value}))" if lead else f"encode_long(len({value}))"
        return f"({self._small(lead)}(len({value})) or {slow})"

    def _real(self, kind: Kind, value: str, lead: bytes) -> list[str]:
        pack = self._bind_pack(f"<{len(lead)}s{_FORMAT[kind]}" if lead else f"<{_FORMAT[kind]}")
        first = f"{lead!r}, " if lead else ""
        return [f"({pack}({first}{value}) if {value}.__class__ is float or {value}.__class__ is int else refuse(0))"]

    def _bind_pack(self, layout: str) -> str:
        return self._out.bind("pack", struct.Struct(layout).pack)

    def _require_bytes(self, value: str) -> None:
        self._out.line(f"if {value}.__class__ is not bytes: raise TypeError")

    def _fixed(self, avro_type: AvroType, value: str, lead: bytes) -> list[str]:
        self._require_bytes(value)
        self._out.line(f"if len({value}) != {avro_type.size if isinstance(avro_type, Fixed) else 0}: raise ValueError")
        return [*_constant(lead), value]

    def _bind_symbols(self, avro_type: AvroType, lead: bytes) -> str:
        symbols = avro_type.symbols if isinstance(avro_type, Enum) else ()
        return self._out.bind("symbols", {symbol: lead + encode_long(index) for index, symbol in enumerate(symbols)})

    def _raw_parts(self, value: str) -> list[str]:
        """Return the expressions of a top-level ``bytes``, which is written without its length."""
        conversion = conversion_of(self._root)
        if conversion is not None:
            return [self._converted(value, conversion)]
        self._require_bytes(value)
        return [value]

    # --- containers ----------------------------------------------------------------------------------------------

    def _array(self, avro_type: Array, value: str) -> str:
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
        parts = self._parts(avro_type.items, item)
        out.line(_extended(parts_name, parts))
        out.level -= 1
        out.line(f"{parts_name}.append(b'\\0')")
        out.line(f"{encoded} = join({parts_name})")
        out.level -= 1
        return encoded

    def _map(self, avro_type: Map, value: str) -> str:
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
        parts = self._parts(avro_type.values, item)
        out.line(_extended(parts_name, [self._size(text, b""), text, *parts]))
        out.level -= 1
        out.line(f"{parts_name}.append(b'\\0')")
        out.line(f"{encoded} = join({parts_name})")
        out.level -= 1
        return encoded

    def _union(self, avro_type: Union, value: str, lead: bytes) -> list[str]:
        """Return one variable for each part that some branch has; the others are empty there."""
        branches = avro_type.branches
        kinds = [branch.kind for branch in branches]
        if len(branches) == 2 and Kind.NULL in kinds:  # noqa: PLR2004 - the optional value
            return self._optional(avro_type, value, lead, kinds.index(Kind.NULL))
        number, inner = self._out.name("i"), self._out.name("v")
        table = self._out.bind("branch_by_type", branch_by_type(avro_type).get)
        self._out.line(f"{number} = {table}({value}.__class__); {inner} = {value}")
        self._out.line(f"if {number} is None: {number}, {inner} = {self._bind_choose(avro_type)}({value})")
        tests = [f"{'elif' if index else 'if'} {number} == {index}:" for index in range(len(branches))]
        names = self._alternatives(list(zip(tests, enumerate(branches), strict=True)), inner, lead)
        self._out.line("else: raise ValueError" if branches else "raise ValueError")
        return names

    def _optional(self, avro_type: Union, value: str, lead: bytes, null_index: int) -> list[str]:
        other = avro_type.branches[1 - null_index]
        inner = value
        if isinstance(other, (Record, Array)):  # a tuple may be a hint
            inner = self._out.name("v")
            choose = f"{self._bind_choose(avro_type)}({value})[1]"
            self._out.line(f"{inner} = {choose} if {value}.__class__ is tuple else {value}")
        tests = [f"if {inner} is not None:", "else:"]
        order = [(1 - null_index, other), (null_index, avro_type.branches[null_index])]
        return self._alternatives(list(zip(tests, order, strict=True)), inner, lead)

    def _bind_choose(self, avro_type: Union) -> str:
        choose = self._choose
        return self._out.bind("choose", lambda value: choose(avro_type, value))

    def _alternatives(self, cases: list[tuple[str, tuple[int, AvroType]]], value: str, lead: bytes) -> list[str]:
        out = self._out
        parts_by_place: dict[int, list[str]] = {}
        for test, (index, branch) in cases:
            out.line(test)
            out.level += 1
            prefix = lead + encode_long(index)
            parts = [repr(prefix)] if branch.kind is Kind.NULL else self._parts(branch, value, prefix)
            parts_by_place[out.hold()] = parts if len(parts) <= _MAX_BRANCH_PARTS else [_joined(parts)]
            out.level -= 1
        names = [out.name("e") for _ in range(max(map(len, parts_by_place.values()), default=0))]
        for place, parts in parts_by_place.items():
            filled = [*parts, *["b''"] * (len(names) - len(parts))]
            out.fill(place, "; ".join(f"{name} = {part}" for name, part in zip(names, filled, strict=True)))
        return names

    # --- records -------------------------------------------------------------------------------------------------

    def _record(self, avro_type: Record, value: str) -> list[str]:
        out, record = self._out, self._out.name("r")
        out.line(f"{record} = {value} if {value}.__class__ is dict else as_dict({value})")
        if self._strict:
            out.line(f"if len({record}) > {len(avro_type.fields)}: raise ValueError")
        values = self._field_values(avro_type, record)
        parts: list[str] = []
        for is_real, group in groupby(zip(avro_type.fields, values, strict=True), key=lambda pair: _is_real(pair[0])):
            neighbours = list(group)
            if is_real and len(neighbours) > 1:
                parts.append(self._reals(neighbours))
            else:
                for field, name in neighbours:
                    parts += self._parts(field.type, name)
        return parts

    def _field_values(self, avro_type: Record, record: str) -> list[str]:
        """Write code that assigns every field's value to a variable; missing ones get their defaults."""
        out = self._out
        names = [out.name("v") for _ in avro_type.fields]
        takes = [f"{name} = {record}[{field.name!r}]" for name, field in zip(names, avro_type.fields, strict=True)]
        if self._strict or not any(field.has_default for field in avro_type.fields):
            for take in takes:
                out.line(take)
            return names
        out.line("try:")
        for take in takes:
            out.line(f" {take}")
        out.line("except KeyError:")
        out.line(f" {', '.join(names)}, = {out.bind('fill', _filler(avro_type.fields))}({record})")
        return names

    def _reals(self, neighbours: list[tuple[Field, str]]) -> str:
        """Return one ``pack`` for adjacent fields."""
        names = [name for _, name in neighbours]
        layout = "".join(_FORMAT[field.type.kind] for field, _ in neighbours)
        classes = " is ".join(f"{name}.__class__" for name in names)
        fast = f"{self._bind_pack(f'<{layout}')}({', '.join(names)})"
        each = [part for field, name in neighbours for part in self._real(field.type.kind, name, b"")]
        return f"({fast} if {classes} is float else {_joined(each)})"


@lru_cache(maxsize=64)
def small_after(lead: bytes) -> dict[int, bytes]:
    """Return the most frequent varints, each after ``lead``."""
    return {value: lead + encoded for value, encoded in SMALL.items()}


def _filler(fields: Sequence[Field]) -> Callable[[dict[str, Any]], list[Any]]:
    defaults: dict[str, Any] = {}
    for field in fields:
        if field.has_default:
            try:
                defaults[field.name] = value_of_default(field.type, field.default)
            except InvalidDefault:  # a missing value is then an error, which names the default
                continue

    def fill(record: dict[str, Any]) -> list[Any]:
        return [record[field.name] if field.name in record else defaults[field.name] for field in fields]

    return fill


def _is_real(field: Field) -> bool:
    return field.type.kind in _FORMAT


def _constant(lead: bytes) -> list[str]:
    return [repr(lead)] if lead else []


def _joined(parts: Sequence[str]) -> str:
    if not parts:
        return "b''"
    return parts[0] if len(parts) == 1 else f"join(({', '.join(parts)}))"


def _extended(name: str, parts: Sequence[str]) -> str:
    return f"{name}.append({parts[0]})" if len(parts) == 1 else f"{name} += ({', '.join(parts)})"
