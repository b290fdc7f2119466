"""Encoders and decoders, made of schemas: by the accelerator, else as generated code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from sys import intern
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import AvroKind, AvroUnion
from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.accelerator import find_accelerator, made_when_called
from counterfoil.sdk.serde.avro.decode_code import decoder_source
from counterfoil.sdk.serde.avro.decode_walk import DecodeWalk
from counterfoil.sdk.serde.avro.encode_code import Choose, encoder_source
from counterfoil.sdk.serde.avro.encode_plan import plan_encoding
from counterfoil.sdk.serde.avro.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro.logical_types import LogicalConversion
from counterfoil.sdk.serde.avro.plan import (
    MAX_EMPTY_ITEMS,
    WEIGHT_OF_ITEM,
    ArrayStep,
    BooleanStep,
    BranchStep,
    BytesStep,
    EncodeRecordStep,
    EncodeUnionStep,
    EnumStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RawStep,
    RealStep,
    RecordStep,
    Step,
    TextStep,
    UnionStep,
    UnreadableStep,
    name_records,
    steps_of,
)
from counterfoil.sdk.serde.avro.resolve import BaseResolver, FarResolver, NamingResolver, SchemaResolver, resolve

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


# Plans as nodes for the accelerator: tuples that begin with the kind of a step, and refer to others by number.
#
# Names are interned, as Python interns the names in programs, so that most keys of dicts are found by identity.
#
# The accelerator is installed by itself and may be older or newer than this package, so that the nodes have a version:
# ``INTERFACE`` in :mod:`counterfoil.sdk.serde.accelerator` and there. Whoever changes the nodes changes both, and
# ``sdk/accelerator/src``.

Node: TypeAlias = "tuple[Datum, ...]"


def decode_nodes(plan: Step) -> list[Node]:
    """Return the nodes of a plan for reading; the first is the plan itself."""
    return _nodes_of(plan, _decode_node)


def encode_nodes(plan: Step, choose: Choose) -> list[Node]:
    """Return the nodes of a plan for writing; the first is the plan itself.

    ``choose`` returns number and value of the branch where the Python type alone does not decide.
    """
    return _nodes_of(plan, partial(_encode_node, choose))


def _nodes_of(plan: Step, node_of: Callable[[Step, Mapping[int, int]], Node]) -> list[Node]:
    steps = steps_of(plan)
    number_by_id = {id(step): number for number, step in enumerate(steps)}
    return [node_of(step, number_by_id) for step in steps]


def _decode_node(step: Step, number_by_id: Mapping[int, int]) -> Node:
    match step:
        case ArrayStep(items=items, smallest=smallest):
            return "array", number_by_id[id(items)], smallest
        case UnionStep(branches=branches):
            return "union", _numbers(branches, number_by_id)
        case UnreadableStep():
            return ("unreadable",)
        case RecordStep():
            fields = [(one.target and intern(one.target), number_by_id[id(one.step)]) for one in step.fields]
            template = dict.fromkeys(map(intern, step.targets)) | step.defaults
            copied = [(intern(name), step.defaults[name]) for name in step.mutable_defaults]
            return "record", fields, template, copied, step.unpaid
        case RawStep(is_text=True, conversion=conversion):
            return "raw text", _conversion(conversion)
    return _shared_node(step, number_by_id)


def _encode_node(choose: Choose, step: Step, number_by_id: Mapping[int, int]) -> Node:
    match step:
        case ArrayStep(items=items):
            return "array", number_by_id[id(items)]
        case EncodeUnionStep():
            return _encode_union(partial(choose, step.union), step, number_by_id)
        case EncodeRecordStep(fields=fields):
            rows = [(intern(one.name), number_by_id[id(one.step)], one.has_default, one.default) for one in fields]
            return "record", rows, step.is_strict
    return _shared_node(step, number_by_id)


def _encode_union(
    choose: Callable[[object], tuple[int, Datum]], step: EncodeUnionStep, number_by_id: Mapping[int, int]
) -> Node:
    null = step.null_of_optional
    if null is None:
        return "union", _numbers(step.branches, number_by_id), [*step.branch_by_type.items()], choose
    other = step.branches[1 - null]
    may_be_named = isinstance(other, (EncodeRecordStep, ArrayStep))  # by a tuple
    return "optional", null, number_by_id[id(other)], choose if may_be_named else None


def _shared_node(step: Step, number_by_id: Mapping[int, int]) -> Node:
    match step:
        case NullStep():
            return ("null",)
        case BooleanStep():
            return ("boolean",)
        case IntegerStep(bits=bits, conversion=conversion):
            return "int" if bits == 32 else "long", _conversion(conversion)  # noqa: PLR2004 - bits of an int
        case RealStep(size=size):
            return ("float" if size == 4 else "double",)  # noqa: PLR2004 - bytes of a float
        case EnumStep(values=values):
            return "enum", [value and intern(value) for value in values]
        case MapStep(values=values):
            return "map", number_by_id[id(values)]
    return _sized_node(step)


def _sized_node(step: Step) -> Node:
    match step:
        case BytesStep(conversion=conversion):
            return "bytes", _conversion(conversion)
        case TextStep(conversion=conversion):
            return "text", _conversion(conversion)
        case FixedStep(size=size, conversion=conversion):
            return "fixed", size, _conversion(conversion)
        case RawStep(conversion=conversion):
            return "raw bytes", _conversion(conversion)
        case _:
            raise AssertionError(step)


def _numbers(steps: Sequence[Step], number_by_id: Mapping[int, int]) -> list[int]:
    return [number_by_id[id(one)] for one in steps]


def _conversion(conversion: LogicalConversion | None) -> Node | None:
    if conversion is None:
        return None
    return conversion.form, conversion.decode, conversion.encode, conversion.size_limit_bytes


# Decoders: functions from bytes to a value, made of a writer's schema and perhaps a reader's.


class AvroDecode(Protocol):
    """The function that :func:`compile_decoder` returns."""

    def __call__(self, data: bytes, offset: int = 0, /) -> Datum:
        """Return the value at ``offset`` of ``data``. Raises ``DecodeError`` with offset and path."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """A function that decodes, and the accelerator's decoder behind it, if it is used."""

    decode: AvroDecode
    accelerated: Any = None
    columns_of: Callable[[Datum, tuple[Datum, ...]], Datum] | None = None

    def columns(self, layout: tuple[object, ...]) -> Datum:
        """Return the accelerator's ``Columns`` of a layout; None without the accelerator."""
        return None if self.columns_of is None else self.columns_of(self.accelerated, layout)


def compile_decoder(
    writer: AvroSchema,
    reader: AvroSchema | None = None,
    *,
    whole: bool = False,
    max_empty_items: int = MAX_EMPTY_ITEMS,
    names_records: bool = False,
    far_as_numbers: bool = False,
) -> AvroDecode:
    """Return a function that reads data of ``writer`` as values of ``reader`` (of ``writer`` itself without one).

    Values are None, bool, int, float, str, bytes, list and dict, and for logical types Decimal, date, time, datetime
    and UUID (see :mod:`.logical_types`). Bytes after the value are ignored, or with ``whole`` an error. A top-level
    ``bytes`` is all of the data, since it is written without its length. ``max_empty_items`` is how many array
    items that take no bytes a datum may have; defaults of repeated records are limited with it (see :mod:`.plan`).
    With ``names_records`` the dict of a record has its full name under the key ``-type``, as encoders accept it. With
    ``far_as_numbers`` a date or time that Python does not have is its number.

    Raises ``IncompatibleReader`` when no data of the writer could be read. Compiling takes milliseconds, so store the
    function. It may be called from many threads. The accelerator runs it where it is installed, with the same results
    (see :mod:`counterfoil.sdk.serde.accelerator`).

    Source: Apache Avro 1.12 specification, "Binary Encoding" and "Schema Resolution".
    """
    return make_decoder(
        writer,
        reader,
        whole=whole,
        max_empty_items=max_empty_items,
        names_records=names_records,
        resolver=FarResolver() if far_as_numbers else None,
    ).decode


def make_decoder(
    writer: AvroSchema,
    reader: AvroSchema | None = None,
    *,
    whole: bool = False,
    max_empty_items: int = MAX_EMPTY_ITEMS,
    names_records: bool = False,
    resolver: SchemaResolver | None = None,
) -> Decoder:
    """Return what :func:`compile_decoder` does, with the accelerator's decoder; ``resolver`` makes its plan."""
    plan = resolve(writer, reader, resolver=resolver)
    if names_records:
        name_records(plan)

    def again(data: object, start: int) -> Datum:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise DecodeError(f"The data is a {type(data).__name__}; expected bytes")
        walk = DecodeWalk(bytes(data), start, max_empty_items=max_empty_items)
        value = walk.read(plan)
        if whole and walk.offset != len(data):
            rest(walk.data, walk.offset)
        return value

    def rest(data: bytes, offset: int) -> NoReturn:
        if offset > len(data):
            raise IndexError
        DecodeWalk(data, offset).fail(f"{_count(len(data) - offset)} left behind the value")

    def generate() -> AvroDecode:
        source = decoder_source(plan, whole=whole, max_empty_items=max_empty_items)
        source.namespace.update(again=again, rest=rest)
        decode: AvroDecode = source.run(f"decoder of {writer.name or writer.root.kind.value}")["decode"]
        return decode

    accelerator = find_accelerator()
    if accelerator is None or any(isinstance(step, BranchStep) for step in steps_of(plan)):
        return Decoder(generate())
    decoder = accelerator.Decoder(
        decode_nodes(plan),
        0,
        whole=whole,
        max_empty_items=max_empty_items,
        max_weight=max_empty_items * WEIGHT_OF_ITEM,
        fallback=made_when_called(generate),
    )
    return Decoder(decoder.decode, decoder, accelerator.Columns)


def compile_hinted_decoder(writer: AvroSchema, reader: AvroSchema | None = None) -> AvroDecode:
    """Return a function like that of :func:`compile_decoder`, which also returns the types of values of unions.

    A value of a union with several types besides null is ``(name, value)``, so that an encoder writes it as it was
    read. The function walks the plan: it is for commands, not for every message of a topic. All data has to be read.
    """
    return _walking(resolve(writer, reader, resolver=NamingResolver()))


def compile_base_decoder(writer: AvroSchema) -> AvroDecode:
    """Return a function that reads data of ``writer`` without logical types, for summaries of many messages.

    A value of a union with several types besides null is ``(name, value)``; a schema that has such a union is read by
    walking its plan. All data has to be read.
    """
    resolver = BaseResolver()
    plan = resolve(writer, resolver=resolver)
    return _walking(plan) if resolver.has_named else make_decoder(writer, whole=True, resolver=BaseResolver()).decode


def _walking(plan: Step) -> AvroDecode:
    """Return a function that walks the plan, and reads all data."""

    def decode(data: bytes, offset: int = 0, /) -> Datum:
        walk = DecodeWalk(data, offset)
        value = walk.read(plan)
        if walk.offset != len(data):
            walk.fail(f"{_count(len(data) - walk.offset)} left behind the value")
        return value

    return decode


def _count(size: int) -> str:
    return "1 byte is" if size == 1 else f"{size} bytes are"


# Encoders: functions from a value to bytes, made of a schema.


class AvroEncode(Protocol):
    """The function that :func:`compile_encoder` returns."""

    def __call__(self, value: object, prefix: bytes = b"", /) -> bytes:
        """Return ``prefix`` and the encoding of ``value``. Raises ``EncodeError`` with path, expected and got."""


def compile_encoder(
    schema: AvroSchema, *, strict: bool = False, takes_indexes: bool = False, exact: bool = True
) -> AvroEncode:
    """Return a function that writes values of ``schema``.

    It accepts the values that a decoder returns, and others: numbers of other libraries, any sequence or mapping, a
    number instead of a date or time. A field that a dict does not have is written as its default, and without one it is
    an error; keys that are no fields are ignored, or with ``strict`` an error. A value of a union is written as the
    branch of its Python type, a dict as the record whose fields it has; where several branches fit, ``("full.name",
    value)`` or the key ``-type`` names the branch. With ``takes_indexes``, a tuple in a union is the index of a branch
    and its value. A top-level ``bytes`` is written without its length. With ``exact`` a value is an error that the type
    holds only in part, such as microseconds for milliseconds; without it the rest is dropped. A float of Python for an
    Avro ``float`` is always the nearest number of 32 bits.

    Compiling takes milliseconds, so store the function. It may be called from many threads. The accelerator runs it
    where it is installed, with the same results (see :mod:`counterfoil.sdk.serde.accelerator`).

    Source: Apache Avro 1.12 specification, "Binary Encoding".
    """
    root = schema.root
    plan = plan_encoding(root, strict=strict, exact=exact)

    def choose(union: AvroUnion, value: object) -> tuple[int, Datum]:
        return EncodeWalk(strict=strict, takes_indexes=takes_indexes, exact=exact).choose(union, value)

    def again(value: object, prefix: bytes) -> bytes:
        walk = EncodeWalk(strict=strict, takes_indexes=takes_indexes, exact=exact)
        return prefix + (walk.write_raw(root, value) if root.kind is AvroKind.BYTES else walk.write(root, value))

    def generate() -> AvroEncode:
        source = encoder_source(plan, choose)
        source.namespace["again"] = again
        encode: AvroEncode = source.run(f"encoder of {schema.name or root.kind.value}")["encode"]
        return encode

    accelerator = find_accelerator()
    if accelerator is None:
        return generate()
    encoder = accelerator.Encoder(encode_nodes(plan, choose), 0, fallback=made_when_called(generate))
    accelerated: AvroEncode = encoder.encode
    return accelerated
