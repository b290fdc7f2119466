"""Witnesses for values that are read without an error, but wrongly: the findings that only the policy SOUND has.

fastavro writes a value and reads it with the reader's schema; its meanings by the logical types of both sides are
compared by :mod:`~counterfoil.schema.formats.avro.witness.meanings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.types import Fixed
from counterfoil.schema.formats.avro.witness import decoder
from counterfoil.schema.formats.avro.witness.data import DataBuilder, NoDatum, plain_json, step_in_words, words_to
from counterfoil.schema.formats.avro.witness.meanings import Comparison
from counterfoil.schema.formats.avro.witness.samples import Samples
from counterfoil.schema.formats.avro.witness.spelling import spell_writer
from counterfoil.schema.witness import NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.compare.places import AvroDifference
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.schema.steps import Steps

MISREADINGS: Final = frozenset(
    rule.id
    for rule in (
        rules.BYTES_AS_STRING,
        rules.LOGICAL_TYPE_CHANGED,
        rules.DECIMAL_CHANGED,
        rules.INTEGER_AS_FLOAT,
        rules.UNUSABLE_DEFAULT,
    )
)

_NO_UTF8: Final = b"\xff"
_MOST_TRIED: Final = 12


def search_for_misreading(writer: AvroSchema, found: AvroDifference, steps: Steps) -> Witness | NoWitness:
    """Return a datum of ``writer`` that a reader misreads as in ``found``, or why none was found."""
    tried = 0
    for value in _values(found):
        tried += 1
        try:
            datum = DataBuilder().reaching(found.place, value)
            body = decoder.write(datum, spell_writer(writer.root))
            said = _misread(found, value, steps)
        except (NoDatum, decoder.DecoderRefuses) as refused:
            return NoWitness(tried, str(refused))
        if said is not None:
            return Witness(
                datum_json=plain_json(datum),
                body=body,
                stop=step_in_words(found) if found.kind is rules.BYTES_AS_STRING else _stop(found, said),
                confirmed_by=f"{decoder.decoder_name()}: {said}",
            )
    return NoWitness(tried, "decoders fill in whatever a default holds" if not tried else "both read them alike")


def _stop(found: AvroDifference, said: str) -> Sentence:
    way = words_to(found.place.from_root())
    return Sentence.of("{way}: {said}" if way else "{said}", {"way": way, "said": said})


def _values(found: AvroDifference) -> Iterator[Any]:
    """Yield values at the place of the finding that may show it, the most revealing first."""
    if found.kind is rules.BYTES_AS_STRING:
        yield _NO_UTF8
    elif found.kind is not rules.UNUSABLE_DEFAULT:
        samples = Samples()
        yield from (samples.next_of(found.place.writer) for _ in range(_MOST_TRIED))


def _misread(found: AvroDifference, value: Any, steps: Steps) -> str | None:
    """Return the description of the reader's misreading of ``value``; None if it is read correctly."""
    reader, writer = found.place.reader, found.place.writer
    body = decoder.write(value, _bare(writer))
    if found.kind is rules.BYTES_AS_STRING:
        return decoder.failure_to_decode(body, "string")
    got, failure = decoder.resolve(body, _bare(writer), _bare(reader))
    if failure is not None:
        return failure
    return next((one.text for one in Comparison(reader, writer, steps).misreadings(value, got)), None)


def _bare(node: AvroType) -> dict[str, Any]:
    named = {"name": "_.value", "size": node.size} if isinstance(node, Fixed) else {}
    return {"type": node.kind.value, **named}
