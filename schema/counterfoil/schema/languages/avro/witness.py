"""The search for a datum that shows one difference, and the proof of "compatible" by data that fastavro reads."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from counterfoil.schema.caches import Attempt, cached_by_size
from counterfoil.schema.compatibility.policies import CompatibilityPolicy, OutOfSteps, Steps, steps_for
from counterfoil.schema.compatibility.rules import Sentence
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro import decoder
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.compare.differences import walk
from counterfoil.schema.languages.avro.compare.places import TypePair
from counterfoil.schema.languages.avro.compare.readable import have_matching_names, missing_symbols
from counterfoil.schema.languages.avro.decoder import spell_reader, spell_reader_at, spell_writer
from counterfoil.schema.languages.avro.misreadings import MISREADINGS, RecordComparison, search_for_misreading
from counterfoil.schema.languages.avro.policies import find_all
from counterfoil.schema.languages.avro.sample_values import (
    DataBuilder,
    NoDatum,
    SampleValues,
    plain_json,
    step_in_words,
)
from counterfoil.schema.languages.avro.types import AvroArray, AvroEnum, AvroFixed, AvroMap, AvroRecord, AvroUnion
from counterfoil.schema.witness import BEYOND_LIMITS, Confirmation, NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.languages.avro.compare.places import AvroDifference
    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.languages.avro.types import AvroType


# The causes of a missing union branch: why each branch of the reader's union does not read the writer's type.

_PairKey: TypeAlias = tuple[int, int]


FoundByPair: TypeAlias = "dict[_PairKey, list[AvroDifference]]"
"""The findings about pairs of nodes, each compared as if the pair were the whole schemas."""


class Causes:
    """The causes of findings. Each pair of nodes is walked once; recursive types are cut off. Raises ``OutOfSteps``.

    ``found_by_pair`` has what is known already, and is added to: the same pairs are met by all searches of a judgement.
    """

    def __init__(self, steps: Steps, found_by_pair: FoundByPair) -> None:
        self._steps = steps
        self._found_by_pair = found_by_pair
        self._are_names_by_pair: dict[_PairKey, bool] = {}

    def leaves(self, found: AvroDifference, above: frozenset[_PairKey] = frozenset()) -> Iterator[AvroDifference]:
        """Yield the innermost causes of a finding, the most promising first; itself if it has no other cause.

        Causes about names of records are left out. The place of each cause continues the place of ``found``.
        """
        pair = _pair(found)
        if pair in above:
            return
        below = [
            (*_rank(cause, found, branch), cause)
            for branch, causes in self._branches(found)
            for cause in causes
            if not self.is_about_record_names(cause)
        ]
        for *_, cause in sorted(below, key=itemgetter(0, 1, 2)):
            yield from self.leaves(cause, above | {pair})
        if not below:
            yield found

    def is_about_record_names(self, found: AvroDifference) -> bool:
        """Return whether only names of records prevent a decoder that resolves by structure from reading the datum.

        Such decoders take the branch that has the writer's name if there is one, else any that fits.
        """
        if found.kind is rules.NAME_MISMATCH:
            return isinstance(found.place.reader, AvroRecord)
        if found.kind is not rules.MISSING_UNION_BRANCH:
            return False
        pair = _pair(found)
        known = self._are_names_by_pair.get(pair)
        if known is None:
            self._are_names_by_pair[pair] = True  # inside itself: nothing else was found yet
            known = self._are_names_by_pair[pair] = any(
                all(self.is_about_record_names(cause) for cause in branch) for branch in self._chosen(found)
            )
        return known

    def _chosen(self, found: AvroDifference) -> list[list[AvroDifference]]:
        branches = self._branches(found)
        named = [causes for branch, causes in branches if _is_named_alike(branch, found.place.writer)]
        return named or [causes for _, causes in branches]

    def _branches(self, found: AvroDifference) -> list[tuple[AvroType, list[AvroDifference]]]:
        """Return each branch of the reader's union with its findings, placed below ``found``."""
        if found.kind is not rules.MISSING_UNION_BRANCH or not isinstance(found.place.reader, AvroUnion):
            return []
        return [(branch, self._branch(branch, found.place)) for branch in found.place.reader.branches]

    def _branch(self, branch: AvroType, place: TypePair) -> list[AvroDifference]:
        trial = TypePair(place, None, branch, place.writer)
        pair = (id(branch), id(place.writer))
        known = self._found_by_pair.get(pair)
        if known is None:
            known = self._found_by_pair[pair] = walk(branch, place.writer, self._steps)
        return [replace(cause, place=cause.place.below(trial)) for cause in known]


def _rank(cause: AvroDifference, above: AvroDifference, branch: AvroType) -> tuple[bool, bool, bool]:
    """Return the rank of a cause that was found with a branch; the smallest is tried first.

    A datum that fails deep inside the most similar branch fails in the others as well; the reverse is not true.
    """
    writer = above.place.writer
    is_mismatch = cause.kind is rules.TYPE_MISMATCH
    is_of_another_kind = is_mismatch and cause.place.writer is writer
    return is_of_another_kind, not _is_named_alike(branch, writer), is_mismatch


def _pair(found: AvroDifference) -> _PairKey:
    return (id(found.place.reader), id(found.place.writer))


def _is_named_alike(reader: AvroType, writer: AvroType) -> bool:
    named = AvroRecord | AvroEnum | AvroFixed
    return (
        isinstance(reader, named)
        and isinstance(writer, named)
        and reader.kind is writer.kind
        and have_matching_names(reader, writer)
    )


# The search for a datum that shows one difference, built from the difference and confirmed by another decoder.
#
# It follows the difference from the root, builds the smallest datum that reaches it, writes it with fastavro under the
# writer's schema, and reads it with fastavro twice: with the whole reader's schema, and with only the part of it that
# the difference concerns. Both must fail.
#
# If a checker is stricter than decoders there is nothing to find. Decoders that resolve by structure do not compare the
# names of records, so a renamed record alone is never returned as a witness, though fastavro refuses it: the result
# states this.

_STEPS_A_PAIR: Final = 50
"""The steps for each pair of branches of the largest unions, which the decoder tries."""

_CHARS_A_STEP: Final = 10
"""The characters of both schemas for which the decoder takes about as long as the walk for one step."""

MAX_TRIED: Final = 24
"""The largest number of data that are tried for one difference."""

_CACHE_CHARS: Final = 100_000
"""The characters of the pairs of schemas for which the shared work of the searches is cached."""


def search_for_witness(
    reader: AvroSchema, writer: AvroSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return a datum of ``writer`` that ``reader`` cannot read, or the number of tries and why none was found."""
    steps = steps or steps_for(reader, writer)
    try:
        found = _find(reader, writer, difference, steps)
        if found is None:
            return NoWitness(0, "the two schemas do not differ in this")
        if difference.rule in MISREADINGS:
            return search_for_misreading(writer, found, steps)
        return _Search(_pair_of(reader, writer), found, steps).run()
    except (RecursionError, InvalidSchema):
        return NoWitness(0, "the schemas are nested too deep")
    except OutOfSteps:
        return NoWitness(0, BEYOND_LIMITS)


def _find(reader: AvroSchema, writer: AvroSchema, difference: Difference, steps: Steps) -> AvroDifference | None:
    """Return the walk's finding that equals ``difference``, under either policy; None if there is none."""
    pair = _pair_of(reader, writer)
    for policy in (CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND):
        found = pair.found(policy, steps).get(difference)
        if found is not None:
            return found
    return None


class _Pair:
    """The shared work of all searches for two schemas: the findings, and the schemas in fastavro's form."""

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self._reader_schema = reader
        self._writer_schema = writer
        self._found_by_policy: dict[CompatibilityPolicy, Mapping[Difference, AvroDifference]] = {}
        self._found_by_pair: WeakKeyDictionary[Steps, FoundByPair] = WeakKeyDictionary()
        self.writer_types = (*writer.named.values(),)
        self._undecided: dict[CompatibilityPolicy, int] = {}
        branches = _largest_union(reader.root) * _largest_union(writer.root)
        refusal = decoder.DecoderRefuses
        self._writer = Attempt(lambda: decoder.prepared(spell_writer(writer.root)), refusal)
        self._reader = Attempt(lambda: decoder.prepared(spell_reader(reader.root, self.writer_types)), refusal)
        self.steps_a_datum = (len(reader.text) + len(writer.text)) // _CHARS_A_STEP + _STEPS_A_PAIR * branches

    def found(self, policy: CompatibilityPolicy, steps: Steps) -> Mapping[Difference, AvroDifference]:
        """Return the findings under ``policy``, by difference; the first of several equal ones."""
        if steps.left <= self._undecided.get(policy, -1):
            raise OutOfSteps  # as many steps did not suffice before
        if policy not in self._found_by_policy:
            self._undecided[policy] = steps.left
            found: dict[Difference, AvroDifference] = {}
            for each in find_all(self._reader_schema, self._writer_schema, policy=policy, steps=steps):
                found.setdefault(each, each)
            self._found_by_policy[policy] = found
            self._undecided.pop(policy, None)
        return self._found_by_policy[policy]

    def found_by_pair(self, steps: Steps) -> FoundByPair:
        """Return what the searches with ``steps`` have found about pairs of nodes; others have nothing of it.

        So it depends on the steps alone, and not on earlier judgements, what is found with them.
        """
        return self._found_by_pair.setdefault(steps, {})

    @property
    def writer(self) -> Any:
        """The writer's schema for fastavro; raises ``DecoderRefuses`` if fastavro does not accept it."""
        return self._writer.result()

    @property
    def reader(self) -> Any:
        """The reader's schema for fastavro; raises ``DecoderRefuses`` if fastavro does not accept it."""
        return self._reader.result()


@cached_by_size(_CACHE_CHARS, size_of=lambda _, *schemas: sum(len(one.text) for one in schemas), keeps_large=True)
def _pair_of(reader: AvroSchema, writer: AvroSchema) -> _Pair:
    return _Pair(reader, writer)


def _largest_union(root: AvroType) -> int:
    """Return the number of branches of the largest union; the decoder tries those of the reader for each datum."""
    largest, waiting, seen = 1, [root], {id(root)}
    while waiting:
        node = waiting.pop()
        match node:
            case AvroUnion():
                inner = [*node.branches]
                largest = max(largest, len(inner))
            case AvroRecord():
                inner = [field.type for field in node.fields]
            case AvroArray():
                inner = [node.items]
            case AvroMap():
                inner = [node.values]
            case _:
                inner = []
        inner = [each for each in inner if id(each) not in seen]
        seen.update(map(id, inner))
        waiting += inner
    return largest


class _Search:
    """One search."""

    def __init__(self, pair: _Pair, found: AvroDifference, steps: Steps) -> None:
        self._steps = steps
        self._found = found
        self._pair = pair
        self._reader_at = spell_reader_at(found, pair.writer_types)

    def run(self) -> Witness | NoWitness:
        if self._found.kind is rules.AMBIGUOUS_ALIAS:
            return NoWitness(0, "decoders disagree about a field with several matches")
        causes = Causes(self._steps, self._pair.found_by_pair(self._steps))
        if causes.is_about_record_names(self._found):
            return self._of_record_names()
        tried = 0
        reason = "the writer cannot write it in a datum of finite size"
        leaves = islice(causes.leaves(self._found), MAX_TRIED)
        for datum in islice(_data(leaves), MAX_TRIED):
            tried += 1
            try:
                witness = self._confirm(datum)
            except decoder.DecoderRefuses as refused:
                reason = str(refused)
                continue
            if witness:
                return witness
            reason = f"{decoder.decoder_name()} reads them"
        return NoWitness(tried, reason)

    def _of_record_names(self) -> NoWitness:
        """Return the result for records with another name, which fastavro refuses and some other decoders read."""
        reason = "only names of records differ, and decoders that go by structure, such as Avro's for Java, read them"
        for datum in islice(_data([self._found]), 1):
            self._steps.spend(self._pair.steps_a_datum)
            try:
                body = decoder.write(datum, self._pair.writer)
                failure = decoder.failure_to_read(body, self._pair.writer, self._pair.reader)
            except decoder.DecoderRefuses:
                continue
            return NoWitness(1, f"{reason}; {decoder.decoder_name()} refuses this one" if failure else reason)
        return NoWitness(0, reason)

    def _confirm(self, datum: Any) -> Witness | None:
        self._steps.spend(self._pair.steps_a_datum)
        writer = self._pair.writer
        body = decoder.write(datum, writer)
        if decoder.failure_to_read(body, writer) is not None:
            return None
        failure = decoder.failure_to_read(body, writer, self._reader_at)
        if failure is None or decoder.failure_to_read(body, writer, self._pair.reader) is None:
            return None
        return Witness(
            datum_json=plain_json(datum),
            body=body,
            stop=step_in_words(self._found),
            confirmed_by=f"{decoder.decoder_name()}: {failure}",
        )


def _data(leaves: Iterable[AvroDifference]) -> Iterator[Any]:
    """Yield data that reach one of ``leaves``."""
    for leaf in leaves:
        for value in _values(leaf):
            builder = DataBuilder()
            try:
                yield builder.reaching(leaf.place, builder.minimal(leaf.place.writer) if value is None else value)
            except (NoDatum, RecursionError):
                continue


def _values(found: AvroDifference) -> Iterator[str | None]:
    """Yield values at the place of a difference that may fail in the reader; None stands for the smallest."""
    match found.place.reader, found.place.writer:
        case (AvroEnum() as reader, AvroEnum() as writer) if found.kind is rules.MISSING_ENUM_SYMBOLS:
            yield from missing_symbols(reader, writer)
        case _:
            yield None


# The proof of "compatible" for Avro: fastavro writes values with the writer's schema and reads them with the reader's.
#
# What is read must have the same meaning as what was written.


_ONLY_FIELD: Final = "value"
_STEPS_A_BYTE: Final = 5


def confirm_compatible(reader: AvroSchema, writer: AvroSchema, count: int) -> Confirmation:
    """Return how many of ``count`` values of ``writer`` were read with ``reader``, or the first that was not."""
    done = 0
    steps = steps_for(reader, writer)
    try:
        writer_spelt = _spelled_writer(writer)
        reader_spelt = decoder.prepared(_as_field(spell_reader(reader.root, writer.named.values())))
        comparison = RecordComparison(reader.root, writer.root, steps)
        for datum, body in written(writer, count):
            steps.spend(_STEPS_A_BYTE * len(body))
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
    samples = SampleValues()
    spelt = _spelled_writer(writer)
    for _ in range(count):
        datum = samples.next_of(writer.root)
        yield datum, decoder.write({_ONLY_FIELD: datum}, spelt)


def _spelled_writer(writer: AvroSchema) -> Any:
    return decoder.prepared(_as_field(_without_defaults(spell_writer(writer.root))))


def _as_field(spelt: Any) -> Any:
    """Return the schema of a record with one field of the type ``spelt``; its values have the same encodings.

    fastavro remembers that it has parsed a record, and parses a union anew for each value.
    """
    return {"type": "record", "name": "_.root", "fields": [{"name": _ONLY_FIELD, "type": spelt}]}


def _read(body: bytes, writer: Any, reader: Any) -> tuple[Any, str | None]:
    """Return the value of the only field as decoded; bytes that are not UTF-8 count as a failure."""
    try:
        got, failure = decoder.resolve(body, writer, reader)
        return (got[_ONLY_FIELD] if failure is None else None), failure
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
