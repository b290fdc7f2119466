"""The meaning of encoding: which values fit a type, and which branch of a union a value belongs to.

Generated code does the same faster, but without the place of an error; when it raises, the value is written again here.
So this module decides what is an error, and its message.
"""

from __future__ import annotations

import numbers
import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, NoReturn

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    branch_name,
)
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde import shown
from counterfoil.sdk.serde.avro.encode_plan import ConversionLoss, writing_conversion_of
from counterfoil.sdk.serde.avro.logical_types import conversion_of
from counterfoil.sdk.serde.avro.numbers import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, encode_long
from counterfoil.sdk.serde.avro.plan import TYPE_KEY
from counterfoil.sdk.serde.avro.values import InvalidDefault, Rank, branch_named, rank_of, value_of_default
from counterfoil.sdk.serde.codec import is_rounded

_END: Final = b"\x00"
_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")

_EXPECTED: Final = {
    AvroKind.NULL: "None",
    AvroKind.BOOLEAN: "a bool",
    AvroKind.INT: "an int of 32 bits",
    AvroKind.LONG: "an int of 64 bits",
    AvroKind.FLOAT: "a number that a float of 32 bits holds",
    AvroKind.DOUBLE: "a number",
    AvroKind.BYTES: "bytes",
    AvroKind.STRING: "a str",
    AvroKind.ARRAY: "a list",
    AvroKind.MAP: "a dict with str keys",
    AvroKind.RECORD: "a dict",
}


def describe(avro_type: AvroType) -> str:
    """Return a short description of the type's values in Python."""
    conversion = conversion_of(avro_type)
    if conversion is not None:
        return conversion.expected
    match avro_type:
        case AvroEnum(symbols=symbols, full_name=name):
            return f"one of the symbols of {name}: {', '.join(symbols)}"
        case AvroFixed(size=size, full_name=name):
            return f"{size} bytes ({name})"
        case AvroRecord(full_name=name):
            return f"a dict ({name})"
        case AvroUnion(branches=branches):
            return " or ".join(describe(branch) for branch in branches)
    return _EXPECTED[avro_type.kind]


_NOTHING: Final = object()
"""The placeholder in an error for a missing value."""


class AmbiguousBranch(EncodeError):
    """A value that fits several branches of a union, none closer than the others."""


class LossyValue(EncodeError):
    """A value that its type would hold only in part."""


class EncodeWalk:
    """One value, written type by type; ``path`` is the current place. ``strict`` refuses keys that are no fields.

    With ``takes_indexes``, a tuple in a union is the index of the branch and its value. ``exact`` refuses values that
    would be written with a loss.
    """

    def __init__(self, *, strict: bool, takes_indexes: bool = False, exact: bool = True) -> None:
        self.strict = strict
        self._is_exact = exact
        self._takes_indexes = takes_indexes
        self.path: list[str] = []
        self._fitting: dict[tuple[int, int], bool] = {}
        self._lossy: LossyValue | None = None
        self._asked: list[object] = []  # keeps objects alive, so that no other gets their id

    def write(self, avro_type: AvroType, value: object) -> bytes:
        """Return the encoding of ``value``. Raises ``EncodeError`` with path, expected and got."""
        try:
            return self._write(avro_type, value)
        except RecursionError:
            self._fail("a value that is nested less deeply", value)

    def write_raw(self, avro_type: AvroType, value: object) -> bytes:
        """Return the bytes of a top-level ``bytes``, which is written without its length."""
        return self._bytes_of(avro_type, self._base(avro_type, value))

    def choose(self, union: AvroUnion, value: object) -> tuple[int, Datum]:
        """Return the number of the branch that ``value`` belongs to, and the value without its hint.

        A hint is ``("full.name", value)``, or the key ``-type`` of a dict. Without one the branch is the one of the
        closest rank that fits the value. Raises ``EncodeError`` when there is none or more than one.
        """
        if self._takes_indexes and isinstance(value, tuple):
            return value
        hint = self._hinted(union, value)
        if hint is not None:
            return hint
        by_rank: dict[Rank, list[int]] = {}
        for index, branch in enumerate(union.branches):
            rank = rank_of(branch, value, strict=self.strict)
            if rank is not None:
                by_rank.setdefault(rank, []).append(index)
        return self._closest(union, [by_rank[rank] for rank in sorted(by_rank)], value), value

    def _closest(self, union: AvroUnion, ranked: list[list[int]], value: object) -> int:
        """Return the branch that fits the value, of the first rank that has any."""
        for indexes in ranked:
            fitting = [index for index in indexes if self._fits(union.branches[index], value)]
            if len(fitting) > 1:
                self._fail_ambiguous(union, fitting, value)
            if fitting:
                return fitting[0]
        if len(ranked) != 1 or len(ranked[0]) != 1:
            if self._lossy is not None:
                raise self._lossy
            self._fail(describe(union), value)
        return ranked[0][0]  # the only possible branch: writing it raises the error inside it

    def _hinted(self, union: AvroUnion, value: object) -> tuple[int, Datum] | None:
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):  # noqa: PLR2004 - name and value
            index = branch_named(union, value[0])
            if index is not None:
                return index, value[1]
            if not any(branch.kind is AvroKind.ARRAY for branch in union.branches):
                self._fail(f"the name of a branch: {describe(union)}", value[0])
        if isinstance(value, Mapping) and isinstance(value.get(TYPE_KEY), str):
            index = branch_named(union, value[TYPE_KEY])
            if index is not None:
                return index, {key: item for key, item in value.items() if key != TYPE_KEY}
        return None

    def _fits(self, branch: AvroType, value: object) -> bool:
        key = (id(branch), id(value))
        if key not in self._fitting:
            self._asked.append(value)
            depth = len(self.path)
            try:
                self._write(branch, value)
                self._fitting[key] = True
            except AmbiguousBranch:  # inside the value, another union has no single branch
                self._fitting[key] = True
            except EncodeError as error:
                self._fitting[key] = False
                self._lossy = error if isinstance(error, LossyValue) else self._lossy
            del self.path[depth:]
        return self._fitting[key]

    def _fail(self, expected: str, value: object, kind: type[EncodeError] = EncodeError) -> NoReturn:
        path, got = self._where, "nothing" if value is _NOTHING else shown(value)
        raise kind(f"{path or 'The value'}: expected {expected}; got {got}", path=path, expected=expected, got=got)

    def _fail_ambiguous(self, union: AvroUnion, fitting: list[int], value: object) -> NoReturn:
        names = [branch_name(union.branches[index]) for index in fitting]
        path, got = self._where, shown(value)
        expected = f"a value of one branch, and it fits {' and '.join(names)}"
        hint = f'say which, as in ("{names[0]}", value)'
        problem = f"{path or 'The value'}: expected {expected}; got {got}; {hint}"
        raise AmbiguousBranch(problem, path=path, expected=expected, got=got)

    @property
    def _where(self) -> str:
        return "".join(self.path).removeprefix(".")

    def _write(self, avro_type: AvroType, value: object) -> bytes:
        return self._writers[avro_type.kind](self, avro_type, self._base(avro_type, value))

    def _base(self, avro_type: AvroType, value: object) -> Datum:
        conversion = writing_conversion_of(avro_type, exact=self._is_exact)
        if conversion is None:
            return value
        try:
            return conversion.encode(value)
        except ConversionLoss as loss:
            self._fail(loss.expected, value, LossyValue)
        except (TypeError, ValueError, ArithmeticError):
            self._fail(conversion.expected, value)

    def _null(self, _avro_type: AvroType, value: object) -> bytes:
        if value is not None:
            self._fail("None", value)
        return b""

    def _boolean(self, _avro_type: AvroType, value: object) -> bytes:
        if value is True:
            return b"\x01"
        if value is not False:
            self._fail("a bool", value)
        return b"\x00"

    def _integer(self, avro_type: AvroType, value: object) -> bytes:
        low, high = (INT_MIN, INT_MAX) if avro_type.kind is AvroKind.INT else (LONG_MIN, LONG_MAX)
        if isinstance(value, bool):
            self._fail(_EXPECTED[avro_type.kind], value)
        try:
            number = operator.index(value)  # type: ignore[arg-type]  # what is no integer is refused by it
        except TypeError:
            self._fail(_EXPECTED[avro_type.kind], value)
        if not low <= number <= high:
            self._fail(_EXPECTED[avro_type.kind], value)
        return encode_long(number)

    def _real(self, avro_type: AvroType, value: object) -> bytes:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            self._fail(_EXPECTED[avro_type.kind], value)
        layout = _FLOAT if avro_type.kind is AvroKind.FLOAT else _DOUBLE
        try:
            packed = layout.pack(float(value))
        except OverflowError:
            self._fail(_EXPECTED[avro_type.kind], value)
        if self._is_exact and is_rounded(value, layout.size):
            loss = ConversionLoss(f"a number that a {avro_type.kind.value} has without rounding")
            self._fail(loss.expected, value, LossyValue)
        return packed

    def _bytes_of(self, _avro_type: AvroType, value: object) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            self._fail("bytes", value)
        return bytes(value)

    def _bytes(self, avro_type: AvroType, value: object) -> bytes:
        body = self._bytes_of(avro_type, value)
        return encode_long(len(body)) + body

    def _string(self, _avro_type: AvroType, value: object) -> bytes:
        if not isinstance(value, str):
            self._fail("a str", value)
        try:
            body = value.encode()
        except UnicodeEncodeError:
            self._fail("a str that UTF-8 can hold", value)
        return encode_long(len(body)) + body

    def _fixed(self, avro_type: AvroFixed, value: object) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)) or len(bytes(value)) != avro_type.size:
            self._fail(describe(avro_type), value)
        return bytes(value)

    def _enum(self, avro_type: AvroEnum, value: object) -> bytes:
        if not isinstance(value, str) or value not in avro_type.symbols:
            self._fail(describe(avro_type), value)
        return encode_long(list(avro_type.symbols).index(value))

    def _array(self, avro_type: AvroArray, value: object) -> bytes:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray, memoryview)):
            self._fail("a list", value)
        if not value:
            return _END
        parts = [encode_long(len(value))]
        parts += [self._under(f"[{index}]", avro_type.items, item) for index, item in enumerate(value)]
        return b"".join(parts) + _END

    def _map(self, avro_type: AvroMap, value: object) -> bytes:
        if not isinstance(value, Mapping):
            self._fail("a dict with str keys", value)
        if not value:
            return _END
        parts = [encode_long(len(value))]
        for key, item in value.items():
            self.path.append(f"[{key!r}]")
            parts += (self._string(avro_type, key), self._write(avro_type.values, item))
            self.path.pop()
        return b"".join(parts) + _END

    def _under(self, part: str, avro_type: AvroType, value: object) -> bytes:
        self.path.append(part)
        encoded = self._write(avro_type, value)
        self.path.pop()
        return encoded

    def _union(self, avro_type: AvroUnion, value: object) -> bytes:
        index, inner = self.choose(avro_type, value)
        return encode_long(index) + self._write(avro_type.branches[index], inner)

    def _record(self, avro_type: AvroRecord, value: object) -> bytes:
        if not isinstance(value, Mapping):
            self._fail(describe(avro_type), value)
        if self.strict:
            extra = value.keys() - {field.name for field in avro_type.fields}
            if extra:
                self._fail(f"only fields of {avro_type.full_name}", min(extra, key=str))
        return b"".join(
            [self._under(f".{field.name}", field.type, self._of(value, field)) for field in avro_type.fields]
        )

    def _of(self, value: Mapping[object, object], field: AvroField) -> object:
        if field.name in value:
            return value[field.name]
        self.path.append(f".{field.name}")
        if not field.has_default:
            self._fail(f"{describe(field.type)}, since the field has no default", _NOTHING)
        try:
            default: object = value_of_default(field.type, field.default)
        except InvalidDefault as error:
            self._fail(f"{describe(field.type)}, since {error}", _NOTHING)
        self.path.pop()
        return default

    _writers: ClassVar[dict[AvroKind, Callable[..., bytes]]] = {
        AvroKind.NULL: _null,
        AvroKind.BOOLEAN: _boolean,
        AvroKind.INT: _integer,
        AvroKind.LONG: _integer,
        AvroKind.FLOAT: _real,
        AvroKind.DOUBLE: _real,
        AvroKind.BYTES: _bytes,
        AvroKind.STRING: _string,
        AvroKind.FIXED: _fixed,
        AvroKind.ENUM: _enum,
        AvroKind.ARRAY: _array,
        AvroKind.MAP: _map,
        AvroKind.UNION: _union,
        AvroKind.RECORD: _record,
    }
