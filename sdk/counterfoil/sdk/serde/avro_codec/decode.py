"""Decoders: functions from bytes to a value, made of a writer's schema and perhaps a reader's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.avro_codec.decode_code import decoder_source
from counterfoil.sdk.serde.avro_codec.decode_walk import DecodeWalk
from counterfoil.sdk.serde.avro_codec.nodes import decode_nodes
from counterfoil.sdk.serde.avro_codec.plan import BranchStep, name_records, steps_of
from counterfoil.sdk.serde.avro_codec.resolve import BaseResolver, FarResolver, NamingResolver, resolve
from counterfoil.sdk.serde.avro_codec.weights import MAX_EMPTY_ITEMS, WEIGHT_OF_ITEM
from counterfoil.sdk.serde.tier import find_accelerator, made_when_called

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.sdk.serde.avro_codec.plan import Step
    from counterfoil.sdk.serde.avro_codec.resolve import Resolver


class Decode(Protocol):
    """The function that :func:`compile_decoder` returns."""

    def __call__(self, data: bytes, offset: int = 0, /) -> Any:
        """Return the value at ``offset`` of ``data``. Raises ``DecodeError`` with offset and path."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """A function that decodes, and the accelerator's decoder behind it, if it is used."""

    decode: Decode
    accelerated: Any = None
    columns_of: Callable[[Any, tuple[Any, ...]], Any] | None = None

    def columns(self, layout: tuple[Any, ...]) -> Any:
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
) -> Decode:
    """Return a function that reads data of ``writer`` as values of ``reader`` (of ``writer`` itself without one).

    Values are None, bool, int, float, str, bytes, list and dict, and for logical types Decimal, date, time, datetime
    and UUID (see :mod:`.logical`). Bytes after the value are ignored, or with ``whole`` an error. A top-level
    ``bytes`` is all of the data, since it is written without its length. ``max_empty_items`` is how many array
    items that take no bytes a datum may have; defaults of repeated records are limited with it (see :mod:`.weights`).
    With ``names_records`` the dict of a record has its full name under the key ``-type``, as encoders accept it. With
    ``far_as_numbers`` a date or time that Python does not have is its number.

    Raises ``IncompatibleReader`` when no data of the writer could be read. Compiling takes milliseconds, so store the
    function. It may be called from many threads. The accelerator runs it where it is installed, with the same results
    (see :mod:`.tier`).

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
    resolver: Resolver | None = None,
) -> Decoder:
    """Return what :func:`compile_decoder` does, with the accelerator's decoder; ``resolver`` makes its plan."""
    plan = resolve(writer, reader, resolver=resolver)
    if names_records:
        name_records(plan)

    def again(data: object, start: int) -> Any:
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

    def generate() -> Decode:
        source = decoder_source(plan, whole=whole, max_empty_items=max_empty_items)
        source.namespace.update(again=again, rest=rest)
        decode: Decode = source.run(f"decoder of {writer.name or writer.root.kind.value}")["decode"]
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


def compile_hinted_decoder(writer: AvroSchema, reader: AvroSchema | None = None) -> Decode:
    """Return a function like that of :func:`compile_decoder`, which also returns the types of values of unions.

    A value of a union with several types besides null is ``(name, value)``, so that an encoder writes it as it was
    read. The function walks the plan: it is for commands, not for every message of a topic. All data has to be read.
    """
    return _walking(resolve(writer, reader, resolver=NamingResolver()))


def compile_base_decoder(writer: AvroSchema) -> Decode:
    """Return a function that reads data of ``writer`` without logical types, for summaries of many messages.

    A value of a union with several types besides null is ``(name, value)``; a schema that has such a union is read by
    walking its plan. All data has to be read.
    """
    resolver = BaseResolver()
    plan = resolve(writer, resolver=resolver)
    return _walking(plan) if resolver.has_named else make_decoder(writer, whole=True, resolver=BaseResolver()).decode


def _walking(plan: Step) -> Decode:
    """Return a function that walks the plan, and reads all data."""

    def decode(data: bytes, offset: int = 0, /) -> Any:
        walk = DecodeWalk(data, offset)
        value = walk.read(plan)
        if walk.offset != len(data):
            walk.fail(f"{_count(len(data) - walk.offset)} left behind the value")
        return value

    return decode


def _count(size: int) -> str:
    return "1 byte is" if size == 1 else f"{size} bytes are"
