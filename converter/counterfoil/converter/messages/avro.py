"""Avro messages as base values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import AvroSchema, parse_avro
from counterfoil.schema.parsed import Validation
from counterfoil.schema.plans import ConversionError, FailureCode
from counterfoil.schema.plans.avro import base_text
from counterfoil.schema.plans.derivations import derive_resolution, rounds_to_float
from counterfoil.schema.plans.evaluate import compile_op
from counterfoil.schema.texts import counted
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.avro.coders import compile_encoder
from counterfoil.sdk.serde.avro.tagged import compile_tagged_decoder


def pack(schema: AvroSchema) -> str:
    """Return the text of the schema without logical types, with its references resolved."""
    return base_text(schema.root)


def reading_problem(source: AvroSchema, writer: AvroSchema) -> str | None:
    """Return why a writer's messages cannot be read as values of ``source``; None if they can."""
    differences = find_differences(source, writer)
    if not differences:
        return None
    return f"{counted(len(differences), 'difference')}, the first is {differences[0]}"


def make_reader(source: str, writer_by_id: Mapping[int, str]) -> Callable[[int, bytes, int], Datum]:
    """Return a function ``(schema_id, data, offset)`` that reads a body as a base value of ``source``."""
    return _Reader(_parsed(source), writer_by_id).read


def make_writer(target: str, target_id: int) -> Callable[[Datum], bytes]:
    """Return a function that writes a base value of ``target``, framed with its schema id."""
    prefix, encode = id_prefix(target_id), compile_encoder(_parsed(target), takes_indexes=True)

    def write(value: object) -> bytes:
        try:
            return encode(value, prefix)
        except EncodeError as error:
            raise ConversionError(FailureCode.UNENCODABLE, error.path, error.problem) from None

    return write


class _Reader:
    """Reads the messages of several writers as values of one source schema."""

    def __init__(self, source: AvroSchema, writer_by_id: Mapping[int, str]) -> None:
        self._source = source
        self._texts = writer_by_id
        self._decode_by_id = {
            schema_id: _decoder(_parsed(text), source, whole=True) for schema_id, text in writer_by_id.items()
        }
        self._lenient_by_id: dict[int, Callable[[bytes, int], Datum]] = {}

    def read(self, schema_id: int, data: bytes, offset: int) -> Datum:
        try:
            return self._decode_by_id[schema_id](data, offset)
        except DecodeError as error:
            raise self._unreadable(schema_id, data, offset, error) from None

    def _unreadable(self, schema_id: int, data: bytes, offset: int, error: DecodeError) -> ConversionError:
        """Return the error for bytes that are no value of the writer: trailing bytes, if they begin with a value."""
        if schema_id not in self._lenient_by_id:
            self._lenient_by_id[schema_id] = _decoder(_parsed(self._texts[schema_id]), self._source, whole=False)
        try:
            self._lenient_by_id[schema_id](data, offset)
        except DecodeError:
            return ConversionError(FailureCode.UNDECODABLE, error.path, error.problem)
        return ConversionError(FailureCode.TRAILING_BYTES, "", error.problem)


def _decoder(writer: AvroSchema, source: AvroSchema, *, whole: bool) -> Callable[[bytes, int], Datum]:
    """Return a function that reads a writer's data as the source's values.

    The codec resolves the schemas, with one exception: it keeps a whole number that is read as a float exact, while
    Avro's Java reader (and so Spark) rounds it. In that case a plan does the resolution after reading.
    """
    if writer.text == source.text:
        return compile_tagged_decoder(writer, whole=whole)
    resolution = derive_resolution(writer, source)
    decode = compile_tagged_decoder(writer, source, whole=whole)  # raises for schemas that can never be read
    if resolution.problems or not rounds_to_float(resolution):
        return decode
    decode_as_written, resolve = compile_tagged_decoder(writer, whole=whole), compile_op(resolution.root, "")

    def read(data: bytes, offset: int) -> Datum:
        written = decode_as_written(data, offset)
        try:
            return resolve(written)
        except ConversionError as failure:
            raise ConversionError(FailureCode.UNDECODABLE, failure.field, failure.text) from None

    return read


def _parsed(text: str) -> AvroSchema:
    return parse_avro(text, validation=Validation.LENIENT)
