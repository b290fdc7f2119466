"""Witnesses for what is read without complaint, and wrongly: the findings that only the policy SOUND has.

Decoders differ in whose logical type they go by. What is shown is what two readers make of the same bytes, one that
goes by the writer's schema and one that goes by the reader's, both of them fastavro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.avro import rules
from counterfoil.schema.formats.avro.types import Fixed, Kind
from counterfoil.schema.witness.avro import decoder
from counterfoil.schema.witness.avro.data import DataBuilder, NoDatum, plain_json, step_in_words
from counterfoil.schema.witness.avro.spelling import spell_writer
from counterfoil.schema.witness.model import NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.places import Found
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType

MISREADINGS: Final = frozenset(
    rule.id
    for rule in (
        rules.BYTES_AS_STRING,
        rules.LOGICAL_TYPE_CHANGED,
        rules.DECIMAL_CHANGED,
        rules.UNUSABLE_DEFAULT,
    )
)

_NO_UTF8: Final = b"\xff"
_CHARACTERS: Final = "00000000-0000-0000-0000-000000000001"


def search_for_misreading(writer: AvroSchema, found: Found) -> Witness | NoWitness:
    """A datum of ``writer`` that a reader misreads as ``found`` says, or why none could be shown."""
    tried = 0
    for value in _values(found):
        tried += 1
        try:
            datum = DataBuilder().reaching(found.place, value)
            body = decoder.write(datum, spell_writer(writer.root))
            said = _misread(found, value)
        except (NoDatum, decoder.DecoderRefuses) as refused:
            return NoWitness(tried, str(refused))
        if said is not None:
            return Witness(
                datum_json=plain_json(datum),
                body=body,
                stop=step_in_words(found),
                confirmed_by=f"{decoder.decoder_name()}: {said}",
            )
    return NoWitness(tried, "decoders fill in whatever a default holds" if not tried else "both read them alike")


def _values(found: Found) -> Iterator[Any]:
    """Values at the place of the finding that show it, the simplest first."""
    writer = found.place.writer
    if found.rule is rules.BYTES_AS_STRING:
        yield _NO_UTF8
    elif found.rule is rules.DECIMAL_CHANGED:
        precision = (writer.logical_type.precision if writer.logical_type else None) or 1
        for number in (1, 10**precision - 1):
            size = writer.size if isinstance(writer, Fixed) else number.bit_length() // 8 + 1
            yield number.to_bytes(size, "big", signed=True)
    elif found.rule is rules.LOGICAL_TYPE_CHANGED:
        if isinstance(writer, Fixed):
            yield (1).to_bytes(writer.size, "big")
        else:
            yield {Kind.STRING: _CHARACTERS, Kind.BYTES: b"\x01"}.get(writer.kind, 1)


def _misread(found: Found, value: Any) -> str | None:
    """What the reader makes of ``value``, in words; None where that is the same."""
    reader, writer = found.place.reader, found.place.writer
    if found.rule is rules.BYTES_AS_STRING:
        return decoder.failure_to_decode(decoder.write(value, "bytes"), "string")
    theirs = decoder.read(decoder.write(value, _bare(writer)), _annotated(writer))
    ours = decoder.read(decoder.write(value, _bare(reader)), _annotated(reader))
    return None if theirs == ours and type(theirs) is type(ours) else f"{theirs} is read as {ours}"


def _bare(node: AvroType) -> dict[str, Any]:
    named = {"name": "_.value", "size": node.size} if isinstance(node, Fixed) else {}
    return {"type": node.kind.value, **named}


def _annotated(node: AvroType) -> dict[str, Any]:
    logical = node.logical_type
    if logical is None:
        return _bare(node)
    digits = {} if logical.precision is None else {"precision": logical.precision, "scale": logical.scale}
    return {**_bare(node), "logicalType": logical.name, **digits}
