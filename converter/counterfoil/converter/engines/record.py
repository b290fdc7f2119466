"""One record's value through a plan, in plain Python: the meaning that every engine must keep to."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.schema.counting import counted
from counterfoil.schema.evolution import (
    ConversionError,
    FailureCode,
    PlanUnfinished,
    base_text,
    derive_resolution,
    resolution_conflicts,
    rounds_to_float,
)
from counterfoil.schema.evolution.evaluate import compile_op
from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import ID_PREFIX_BYTES, MAGIC_ID, id_prefix
from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.avro_codec import compile_decoder, compile_encoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.schema.evolution.model import BuildRecord
    from counterfoil.schema.formats.avro.schema import AvroSchema


@dataclass(frozen=True)
class Converted:
    """What became of one value: the new ``value``, framed, or the ``failure``; exactly one is set."""

    value: bytes | None = None
    failure: ConversionError | None = None


@dataclass(frozen=True, eq=False)
class RecordRecipe:
    """A conversion as texts and operations: small, and fit to be sent to another process."""

    root: BuildRecord
    source: str
    target: str
    writer_by_id: tuple[tuple[int, str], ...]
    target_id: int

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal recipes."""
        return hashlib.sha256(self.packed).digest()

    @cached_property
    def packed(self) -> bytes:
        """The recipe as bytes; :func:`converter_of` takes them."""
        return pickle.dumps((self.root, self.source, self.target, self.writer_by_id, self.target_id))


def recipe_of(conversion: Conversion) -> RecordRecipe:
    """The recipe of a conversion.

    Raises ``PlanUnfinished`` for a plan with problems, and ``EngineCannot`` where a writer's value would mean something
    else as the source's: a timestamp that changed its unit, say.
    """
    plan = conversion.plan
    if plan.problems:
        raise PlanUnfinished(tuple(str(problem) for problem in plan.problems))
    for schema_id, writer in conversion.writer_by_id.items():
        for path, why in resolution_conflicts(writer, plan.source):
            raise EngineCannot("reference", field=f"{path} (schema id {schema_id})", why=why)
    return RecordRecipe(
        plan.root,
        base_text(plan.source.root),
        base_text(plan.target.root),
        tuple((schema_id, base_text(writer.root)) for schema_id, writer in sorted(conversion.writer_by_id.items())),
        conversion.target_id,
    )


class RecordConverter:
    """Converts one value after the other. May be used from many threads."""

    def __init__(self, recipe: RecordRecipe) -> None:
        source, target = _parsed(recipe.source), _parsed(recipe.target)
        self._prefix = id_prefix(recipe.target_id)
        self._encode = compile_encoder(target)
        self._evaluate: Callable[[Any], Any] = compile_op(recipe.root, "")
        self._decode_by_id = {
            schema_id: _decoder(_parsed(text), source, whole=True) for schema_id, text in recipe.writer_by_id
        }
        self._lenient_by_id: dict[int, Callable[[bytes, int], Any]] = {}
        self._texts = dict(recipe.writer_by_id)
        self._source = source

    def convert_value(self, data: bytes) -> Converted:
        """The value as the target's bytes, framed with the target id, or why not."""
        try:
            return Converted(value=self.convert(data))
        except ConversionError as failure:
            return Converted(failure=failure)

    def convert(self, data: bytes) -> bytes:
        """The target's bytes, framed with the target id. Raises ``ConversionError``."""
        value = self._decoded(data)
        made = self._evaluate(value)
        try:
            return self._encode(made, self._prefix)
        except EncodeError as error:
            raise ConversionError(FailureCode.UNENCODABLE, error.path, error.problem) from None

    def _decoded(self, data: bytes) -> Any:
        if len(data) < ID_PREFIX_BYTES or data[0] != MAGIC_ID:
            size = counted(len(data), "byte")
            text = f"{size} beginning with {data[:1].hex() or 'nothing'} are no id frame of magic byte 00"
            raise ConversionError(FailureCode.NOT_FRAMED, "", text)
        schema_id = int.from_bytes(data[1:ID_PREFIX_BYTES])
        decode = self._decode_by_id.get(schema_id)
        if decode is None:
            text = f"schema id {schema_id} is none of {', '.join(map(str, self._decode_by_id))}"
            raise ConversionError(FailureCode.UNKNOWN_SCHEMA_ID, "", text)
        try:
            return decode(data, ID_PREFIX_BYTES)
        except DecodeError as error:
            raise self._unreadable(schema_id, data, error) from None

    def _unreadable(self, schema_id: int, data: bytes, error: DecodeError) -> ConversionError:
        """Why the bytes are no value of the writer: trailing bytes, when all before them is one."""
        if schema_id not in self._lenient_by_id:
            self._lenient_by_id[schema_id] = _decoder(_parsed(self._texts[schema_id]), self._source, whole=False)
        try:
            self._lenient_by_id[schema_id](data, ID_PREFIX_BYTES)
        except DecodeError:
            return ConversionError(FailureCode.UNDECODABLE, error.path, error.problem)
        return ConversionError(FailureCode.TRAILING_BYTES, "", error.problem)


def _decoder(writer: AvroSchema, source: AvroSchema, *, whole: bool) -> Callable[[bytes, int], Any]:
    """Reads a writer's data as the source's values.

    The codec resolves, but for one thing: it keeps a whole number that is read as a float exact, where Avro's Java
    reader (and so Spark) rounds it. There the resolution is done as a plan, after reading.
    """
    if writer.text == source.text:
        return compile_decoder(writer, whole=whole)
    resolution = derive_resolution(writer, source)
    decode = compile_decoder(writer, source, whole=whole)  # refuses what cannot be read at all
    if resolution.problems or not rounds_to_float(resolution):
        return decode
    decode_as_written, resolve = compile_decoder(writer, whole=whole), compile_op(resolution.root, "")

    def read(data: bytes, offset: int) -> Any:
        written = decode_as_written(data, offset)
        try:
            return resolve(written)
        except ConversionError as failure:
            raise ConversionError(FailureCode.UNDECODABLE, failure.field, failure.text) from None

    return read


def _parsed(text: str) -> AvroSchema:
    return parse_avro(text, validation=Validation.LENIENT)


@lru_cache(maxsize=8)
def converter_of(packed: bytes) -> RecordConverter:
    """The converter of a packed recipe; made once in each process."""
    return RecordConverter(RecordRecipe(*pickle.loads(packed)))  # noqa: S301 - these bytes come from our own driver
