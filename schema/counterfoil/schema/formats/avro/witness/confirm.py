"""The proof of "compatible" for Avro: fastavro writes values with the writer's schema and reads them with the reader's.

What is read must have the same meaning as what was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.avro.witness import decoder
from counterfoil.schema.formats.avro.witness.data import NoDatum, plain_json
from counterfoil.schema.formats.avro.witness.meanings import Comparison
from counterfoil.schema.formats.avro.witness.samples import Samples
from counterfoil.schema.formats.avro.witness.spelling import spell_reader, spell_writer
from counterfoil.schema.steps import OutOfSteps, steps_for
from counterfoil.schema.witness import BEYOND_LIMITS, Confirmation, Witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.schema import AvroSchema


def confirm_compatible(reader: AvroSchema, writer: AvroSchema, count: int) -> Confirmation:
    """Return how many of ``count`` values of ``writer`` were read with ``reader``, or the first that was not."""
    done = 0
    steps = steps_for(reader, writer)
    try:
        writer_spelt = decoder.prepared(_without_defaults(spell_writer(writer.root)))
        reader_spelt = decoder.prepared(spell_reader(reader.root, writer.named.values()))
        comparison = Comparison(reader.root, writer.root, steps)
        for datum, body in written(writer, count):
            got, failure = _read(body, writer_spelt, reader_spelt)
            if failure is not None:
                return Confirmation(done, _counter_witness(datum, body, _stopped(failure), failure))
            misread = next(comparison.misreadings(datum, got), None)
            if misread is not None:
                return Confirmation(done, _counter_witness(datum, body, misread.sentence, misread.text))
            done += 1
    except (decoder.DecoderRefuses, NoDatum) as stopped:
        return Confirmation(done, reason=str(stopped))
    except RecursionError:
        return Confirmation(done, reason="the schemas are nested too deep")
    except OutOfSteps:
        return Confirmation(done, reason=BEYOND_LIMITS)
    return Confirmation(done)


def written(writer: AvroSchema, count: int) -> Iterator[tuple[Any, bytes]]:
    """Yield ``count`` values of ``writer`` and their encodings.

    Raises ``NoDatum`` or ``DecoderRefuses`` if a value cannot be built or written.
    """
    samples = Samples()
    spelt = decoder.prepared(_without_defaults(spell_writer(writer.root)))
    for _ in range(count):
        datum = samples.next_of(writer.root)
        yield datum, decoder.write(datum, spelt)


def _read(body: bytes, writer: Any, reader: Any) -> tuple[Any, str | None]:
    """Return the result of the decoder; bytes that are not UTF-8 count as a failure."""
    try:
        return decoder.resolve(body, writer, reader)
    except decoder.DecoderRefuses as refused:
        if isinstance(refused.__cause__, UnicodeDecodeError):
            return None, decoder.quote(refused.__cause__)
        raise


def _without_defaults(spelt: Any) -> Any:
    """Return a writer's schema without defaults: a writer does not use them, and fastavro refuses some valid ones."""
    match spelt:
        case list():
            return [_without_defaults(branch) for branch in spelt]
        case dict():
            inner = {key: _without_defaults(spelt[key]) for key in ("items", "values", "fields") if key in spelt}
            if isinstance(spelt.get("type"), dict | list):  # a field
                inner["type"] = _without_defaults(spelt["type"])
            return {key: value for key, value in spelt.items() if key != "default"} | inner
    return spelt


def _stopped(failure: str) -> Sentence:
    return Sentence.of("the decoder stops: {failure}", {"failure": failure})


def _counter_witness(datum: Any, body: bytes, stop: Sentence, said: str) -> Witness:
    return Witness(datum_json=plain_json(datum), body=body, stop=stop, confirmed_by=f"{decoder.decoder_name()}: {said}")
