"""Protobuf messages as base values.

The bytes that are written are the same for equal values: map entries are sorted by their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from functools import cached_property
from typing import Final, TypeAlias

from google.protobuf.message import EncodeError as RuntimeEncodeError

from counterfoil.converter.messages.table import TypeTurns, ValueMisfit, each_item, each_value, expected
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, AnyMessage, PoolRefuses, pooled_file
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.plans import ConversionError, FailureCode
from counterfoil.schema.plans.protobuf import MessageOf, tree_of
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, NotPlannable, Opaque, RecordType, UnionType
from counterfoil.schema.plans.types import split_null
from counterfoil.schema.wire import (
    BadMessageIndexes,
    WireError,
    encode_message_indexes,
    id_prefix,
    read_message_indexes,
)
from counterfoil.sdk.errors import DecodeError, EncodeError, IncompatibleReader, SerdeError
from counterfoil.sdk.serde.protobuf.codec import ProtobufCodec
from counterfoil.sdk.serde.protobuf.encode import DictWriter
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of, path_of

Turn: TypeAlias = Callable[[Datum], Datum]
Content: TypeAlias = "tuple[str, Datum, dict[str, Datum], str | None]"

_NANOS: Final = 10**9
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_SECONDS_OF_YEARS: Final = range(-62_135_596_800, 253_402_300_800)
"""The seconds of a Timestamp: the years 1 to 9999."""
_WORDS_BY_BOOLEAN: Final = {True: "true", False: "false"}


def pack(schema: ProtobufSchema) -> Content:
    """Return the text, the tree of the file, the trees of its imports, and the name of the message if one is named."""
    return schema.text, schema.file, dict(schema.imports), schema.message if isinstance(schema, MessageOf) else None


def reading_problem(source: ProtobufSchema, writer: ProtobufSchema) -> str | None:
    """Return why a writer's messages cannot be read as values of ``source``; None if they can."""
    wanted, written = PooledSchema(pack(source)), PooledSchema(pack(writer))
    try:
        wanted.tree  # noqa: B018 - whether there is one is a problem of the plan
    except NotPlannable:
        return None
    found = written.types.find(wanted.tree.full_name)
    if found is None:
        return f"it has no message {wanted.tree.full_name}"
    suffix = encode_message_indexes(path_of(found))
    try:
        ProtobufCodec(message=wanted.tree.full_name).decoder(written.types, wanted.types, suffix)
    except IncompatibleReader as error:
        return error.problem
    return None


def make_reader(source: Content, writer_by_id: Mapping[int, Content]) -> Callable[[int, bytes, int], Datum]:
    """Return a function ``(schema_id, data, offset)`` that reads message indexes and body as a base value."""
    return _Reader(PooledSchema(source), {number: PooledSchema(each) for number, each in writer_by_id.items()}).read


def make_writer(target: Content, target_id: int) -> Callable[[Datum], bytes]:
    """Return a function that writes a base value of ``target``, framed with its schema id and message indexes."""
    return _Writer(PooledSchema(target), target_id).write


class PooledSchema:
    """A schema in Google's runtime: its tree, and the types of its messages."""

    def __init__(self, content: Content) -> None:
        text, file, imports, message = content
        parsed = ProtobufSchema(text, file, imports=imports)
        self.parsed = parsed if message is None else MessageOf(parsed, message)
        try:
            self.types = MessageTypes(pooled_file(self.parsed, text))
        except PoolRefuses as refused:
            raise SchemaParseError(f"Google's runtime refuses the schema: {refused}") from refused

    @cached_property
    def tree(self) -> RecordType:
        """The message as a record; raises ``NotPlannable`` if there is none."""
        tree = tree_of(self.parsed)
        if not isinstance(tree, RecordType):  # the tree of a Protobuf schema always is one
            raise TypeError
        return tree

    @property
    def descriptor(self) -> AnyDescriptor:
        """The type of the message."""
        return self.types.find(self.tree.full_name)


class _Reader:
    """Reads the messages of several writers as values of one source schema."""

    def __init__(self, source: PooledSchema, writer_by_id: Mapping[int, PooledSchema]) -> None:
        self._source = source
        self._writer_by_id = writer_by_id
        self._codec = ProtobufCodec(message=source.tree.full_name)
        self._decode_by_frame: dict[tuple[int, bytes], Callable[[bytes, int], Datum]] = {}
        self._turns = TypeTurns()
        self._turn = self._message(source.tree, source.descriptor)

    def read(self, schema_id: int, data: bytes, offset: int) -> Datum:
        try:
            end = read_message_indexes(data, offset)[1]
            return self._turn(self._decoder(schema_id, data[offset:end])(data, end))
        except ValueMisfit as misfit:
            raise misfit.as_error() from None
        except (WireError, BadMessageIndexes) as error:
            raise ConversionError(FailureCode.NOT_FRAMED, "", str(error)) from None
        except (DecodeError, IncompatibleReader) as error:
            raise ConversionError(FailureCode.UNDECODABLE, getattr(error, "path", ""), error.problem) from None

    def _decoder(self, schema_id: int, suffix: bytes) -> Callable[[bytes, int], Datum]:
        known = self._decode_by_frame.get((schema_id, suffix))
        if known is None:
            writer = self._writer_by_id[schema_id].types
            known = self._codec.decoder(writer, self._source.types, suffix)
            self._decode_by_frame[schema_id, suffix] = known
        return known

    def _message(self, node: RecordType, descriptor: AnyDescriptor) -> Turn:
        """Return the function from messages of a type to base values."""
        return self._turns.once(node, lambda: self._record(node, descriptor))

    def _record(self, node: RecordType, descriptor: AnyDescriptor) -> Turn:
        members = [
            (field.name, field.has_presence, member.may_be_absent, self._value(member.type, field))
            for member, field in _pairs(node, descriptor)
        ]

        def read(message: AnyMessage) -> dict[str, Datum]:
            made: dict[str, Datum] = {}
            name = ""
            try:
                for name, has_presence, may_be_absent, turn in members:
                    if not has_presence or message.HasField(name):
                        made[name] = turn(getattr(message, name))
                    elif may_be_absent:
                        made[name] = None
                    else:
                        _refuse_unset()
            except ValueMisfit as misfit:
                raise misfit.under(name) from None
            return made

        return read

    def _value(self, node: Node, field: AnyField) -> Turn:
        _, inner = split_null(node)
        if isinstance(inner, MapType):
            values = self._value(inner.values, field.message_type.fields_by_name["value"])
            key = _WORDS_BY_BOOLEAN.__getitem__ if inner.key == "boolean" else str
            # indexing, since items() of a map of messages has no defined order, and returns them all the same
            return lambda entries: each_value(values, {key(each): entries[each] for each in _sorted(entries)})
        if isinstance(inner, ArrayType):
            items = self._value(inner.items, field)
            return lambda given: each_item(items, given)
        if isinstance(inner, RecordType):
            return self._message(inner, field.message_type)
        if isinstance(inner, Leaf) and field.message_type is not None:
            return _READ_BY_WORD.get(inner.scalar.word, lambda message: message.value)
        if isinstance(inner, Leaf) and field.enum_type is not None:
            # of several names of a number, the first, as in Protobuf's JSON
            symbols = {symbol.number: symbol.name for symbol in reversed(field.enum_type.values)}
            return lambda number: _symbol(symbols, number)
        return _text if isinstance(inner, Leaf) and inner.scalar.base == "string" else _unchanged


class _Writer:
    """Writes base values as messages of one target schema."""

    def __init__(self, target: PooledSchema, target_id: int) -> None:
        descriptor = target.descriptor
        self._prefix = id_prefix(target_id) + encode_message_indexes(path_of(descriptor))
        self._class = class_of(descriptor)
        self._fill = DictWriter().fill(descriptor)
        self._turns = TypeTurns()
        self._turn = self._message(target.tree)

    def write(self, value: object) -> bytes:
        message = self._class()
        try:
            self._fill(message, self._turn(value))
            return self._prefix + bytes(message.SerializeToString(deterministic=True))
        except ValueMisfit as misfit:
            raise ConversionError(FailureCode.UNENCODABLE, misfit.path, misfit.problem) from None
        except EncodeError as error:
            raise ConversionError(FailureCode.UNENCODABLE, error.path, error.problem) from None
        except (RuntimeEncodeError, SerdeError, ValueError, TypeError) as error:
            raise ConversionError(FailureCode.UNENCODABLE, "", str(error)) from None

    def _message(self, node: RecordType) -> Turn:
        return self._turns.once(node, lambda: self._record(node))

    def _record(self, node: RecordType) -> Turn:
        members = [(member.name, self._value(member.type)) for member in node.fields]

        def write(value: dict[str, Datum]) -> dict[str, Datum]:
            made: dict[str, Datum] = {}
            name = ""
            try:
                for name, turn in members:
                    item = value[name]
                    if item is not None:
                        made[name] = turn(item)
            except ValueMisfit as misfit:
                raise misfit.under(name) from None
            return made

        return write

    def _value(self, node: Node) -> Turn:
        _, inner = split_null(node)
        if isinstance(inner, MapType):
            values, read_key = self._value(inner.values), _KEY_BY_WORD.get(inner.key, _whole_key)
            return lambda entries: _keyed(each_value(values, entries), read_key)
        if isinstance(inner, ArrayType):
            items = self._value(inner.items)
            return lambda given: each_item(items, given)
        if isinstance(inner, RecordType):
            return self._message(inner)
        if isinstance(inner, Leaf):
            return _WRITE_BY_WORD.get(inner.scalar.word, _unchanged)
        if isinstance(inner, UnionType | Opaque) or inner is None:
            return _unchanged
        raise TypeError(inner)


def _pairs(node: RecordType, descriptor: AnyDescriptor) -> list[tuple[Datum, AnyField]]:
    """Return each field of a record with the runtime's field of the same number."""
    return [(member, descriptor.fields_by_number[member.number]) for member in node.fields]


def _refuse_unset() -> None:
    raise ValueMisfit("the field is required, and it is not set")


def _symbol(symbols: Mapping[int, str], number: int) -> str:
    found = symbols.get(number)
    if found is None:
        raise ValueMisfit(f"the number {number} has no symbol in the enum")
    return found


def _text(value: str | bytes) -> str:
    """Return a text; the runtime returns the bytes of one that is not UTF-8, which proto2 permits."""
    if isinstance(value, bytes):
        raise ValueMisfit("the text is not UTF-8")
    return value


def _sorted(entries: Datum) -> list[Datum]:
    keys = list(entries)
    if any(isinstance(key, bytes) for key in keys):
        raise ValueMisfit("the text is not UTF-8").under("{}")
    return sorted(keys)


def _keyed(values: dict[str, Datum], read_key: Turn) -> dict[Datum, Datum]:
    try:
        return {read_key(key): value for key, value in values.items()}
    except (ValueError, KeyError):
        raise ValueMisfit("a key of the map is no key of the target's type").under("{}") from None


def _whole_key(key: str) -> int:
    number = int(key)
    if str(number) != key:  # such as 01, which would be the same key as 1
        raise ValueError(key)
    return number


_KEY_BY_WORD: Final[dict[str, Turn]] = {"string": str, "boolean": {"true": True, "false": False}.__getitem__}


def _nanos(message: AnyMessage) -> int:
    return int(message.seconds) * _NANOS + int(message.nanos)


def _days(message: AnyMessage) -> int:
    try:
        return date(message.year, message.month, message.day).toordinal() - _EPOCH_DAY
    except ValueError:
        shown = f"{message.year}-{message.month}-{message.day}"
        raise ValueMisfit(f"{shown} is no complete date") from None


def _instant(nanos: int) -> dict[str, int]:
    seconds, rest = divmod(nanos, _NANOS)
    if seconds not in _SECONDS_OF_YEARS:
        raise expected("a point in time in the years 1 to 9999", nanos)
    return {"seconds": seconds, "nanos": rest}


def _duration(nanos: int) -> dict[str, int]:
    seconds, rest = divmod(abs(nanos), _NANOS)
    sign = -1 if nanos < 0 else 1
    return {"seconds": sign * seconds, "nanos": sign * rest}


def _date(day: int) -> dict[str, int]:
    try:
        made = date.fromordinal(day + _EPOCH_DAY)
    except (ValueError, OverflowError):
        raise expected("a date in the years 1 to 9999", day) from None
    return {"year": made.year, "month": made.month, "day": made.day}


def _unchanged(value: object) -> Datum:
    return value


_READ_BY_WORD: Final[dict[str, Turn]] = {"timestamp-nanos": _nanos, "duration-nanos": _nanos, "date": _days}
_WRITE_BY_WORD: Final[dict[str, Turn]] = {"timestamp-nanos": _instant, "duration-nanos": _duration, "date": _date}
