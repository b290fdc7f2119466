"""The search for a datum that shows one difference, built from the difference and confirmed by another decoder.

It follows the difference from the root, builds the smallest datum that reaches it, writes it with fastavro under the
writer's schema, and reads it with fastavro twice: with the whole reader's schema, and with only the part of it that the
difference concerns. Both must fail.

If a checker is stricter than decoders there is nothing to find. Decoders that resolve by structure do not compare the
names of records, so a renamed record alone is never returned as a witness, though fastavro refuses it: the result
states this.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.compare.readable import missing_symbols
from counterfoil.schema.formats.avro.policies import find_all
from counterfoil.schema.formats.avro.types import Array, Enum, Map, Record, Union
from counterfoil.schema.formats.avro.witness import decoder
from counterfoil.schema.formats.avro.witness.causes import Causes
from counterfoil.schema.formats.avro.witness.data import DataBuilder, NoDatum, plain_json, step_in_words
from counterfoil.schema.formats.avro.witness.misreading import MISREADINGS, search_for_misreading
from counterfoil.schema.formats.avro.witness.spelling import spell_reader, spell_reader_at, spell_writer
from counterfoil.schema.steps import OutOfSteps, Steps, steps_for
from counterfoil.schema.witness import BEYOND_LIMITS, NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.avro.compare.places import AvroDifference
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.schema.formats.avro.witness.causes import FoundByPair

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

    @cached_property
    def writer(self) -> Any:
        """The writer's schema for fastavro; raises ``DecoderRefuses`` if fastavro does not accept it."""
        return decoder.prepared(spell_writer(self._writer_schema.root))

    @cached_property
    def reader(self) -> Any:
        """The reader's schema for fastavro; raises ``DecoderRefuses`` if fastavro does not accept it."""
        return decoder.prepared(spell_reader(self._reader_schema.root, self.writer_types))


@cached_by_size(_CACHE_CHARS, size_of=lambda _, *schemas: sum(len(one.text) for one in schemas), keeps_large=True)
def _pair_of(reader: AvroSchema, writer: AvroSchema) -> _Pair:
    return _Pair(reader, writer)


def _largest_union(root: AvroType) -> int:
    """Return the number of branches of the largest union; the decoder tries those of the reader for each datum."""
    largest, waiting, seen = 1, [root], {id(root)}
    while waiting:
        node = waiting.pop()
        match node:
            case Union():
                inner = [*node.branches]
                largest = max(largest, len(inner))
            case Record():
                inner = [field.type for field in node.fields]
            case Array():
                inner = [node.items]
            case Map():
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
        case (Enum() as reader, Enum() as writer) if found.kind is rules.MISSING_ENUM_SYMBOLS:
            yield from missing_symbols(reader, writer)
        case _:
            yield None
