"""The search for a message that shows one difference, and the confirmation that there is none, by the runtime."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.caches import Attempt, cached_by_size
from counterfoil.schema.compatibility.policies import CompatibilityPolicy, OutOfSteps, Steps, steps_for
from counterfoil.schema.compatibility.rules import Sentence
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.protobuf import messages as runtime
from counterfoil.schema.languages.protobuf.compare import confluent_rules as rules
from counterfoil.schema.languages.protobuf.compare.findings import oneof_origins
from counterfoil.schema.languages.protobuf.compare.sound import renamed_first
from counterfoil.schema.languages.protobuf.losses import losses
from counterfoil.schema.languages.protobuf.messages import NoMessage, minimal, probes, samples, wrap
from counterfoil.schema.languages.protobuf.policies import find_all
from counterfoil.schema.witness import BEYOND_LIMITS, Confirmation, NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.languages.protobuf.compare.findings import ProtobufDifference
    from counterfoil.schema.languages.protobuf.losses import MessageLoss
    from counterfoil.schema.languages.protobuf.runtime import AnyMessage
    from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
    from counterfoil.schema.languages.protobuf.types import FieldValueType, MessageType, NumberedField


# The fields that lead from a record to a message inside it, in reader and writer.

Pair: TypeAlias = "tuple[MessageType, MessageType]"
"""A message of the reader, and the message of the writer that is read as it."""


MAX_PAIRS: Final = 10_000
"""The largest number of pairs of messages that are visited."""
_CACHE_CHARS: Final = 100_000
"""The characters of the pairs of schemas whose findings, ways and classes are cached."""


@dataclass(frozen=True, slots=True)
class MessageStep:
    """A pair of messages, and the number of the field that holds the next pair."""

    reader: MessageType
    writer: MessageType
    number: int


def records(reader: ProtobufSchema, writer: ProtobufSchema) -> Iterator[Pair]:
    """Yield the message types that records can have: those that both own files have by one name, and the first ones."""
    mine, theirs = reader.types.root, writer.types.root
    for message in theirs.all_messages():
        match = mine.message_by_local_name(message.local_name)
        if match is not None:
            yield match, message
    renamed = renamed_first(mine, theirs)
    if renamed is not None:
        yield renamed


def _find_ways(reader: ProtobufSchema, writer: ProtobufSchema) -> Mapping[Pair, MessageStep | None]:
    """Return each pair that a record may contain, with the last of the shortest list of steps to it.

    These are at most ``MAX_PAIRS``. Records are messages of the writer's own file that the reader's has by the same
    name, and those of the first message; they have None.
    """
    step_by_pair: dict[Pair, MessageStep | None] = dict.fromkeys(records(reader, writer))
    waiting = deque(step_by_pair)
    while waiting:
        pair = waiting.popleft()
        for number, inner in _inner_pairs(*pair):
            if inner not in step_by_pair and len(step_by_pair) < MAX_PAIRS:
                step_by_pair[inner] = MessageStep(*pair, number)
                waiting.append(inner)
    return step_by_pair


def _inner_pairs(reader: MessageType, writer: MessageType) -> Iterator[tuple[int, Pair]]:
    for number, field in writer.fields.items():
        other = reader.fields.get(number)
        inner = _message_in(field)
        match = _message_in(other) if other is not None else None
        if inner is not None and match is not None:
            yield number, (match, inner)


def _message_in(field: NumberedField) -> MessageType | None:
    held: FieldValueType = field.holds
    return held.value.message if held.value is not None else held.message


def _steps_to(pair: Pair, step_by_pair: Mapping[Pair, MessageStep | None]) -> list[MessageStep]:
    steps: list[MessageStep] = []
    step = step_by_pair[pair]
    while step is not None:
        steps.append(step)
        step = step_by_pair[step.reader, step.writer]
    return steps[::-1]


# The search for a witness: a message for one difference, read by the protobuf runtime.
#
# The writer's message has the field of the difference set, or left out, and otherwise only required fields. It is
# written, read with the reader's schema, and compared by field numbers with the written message. A witness is a message
# that the reader refuses, or whose value at this place it loses or changes.
#
# A difference of names alone has no witness, since bytes hold no names.

MAX_TRIED: Final = 300
"""The largest number of messages that are tried for one difference."""
_STEPS_A_MESSAGE: Final = 200
_STEPS_A_BYTE: Final = 5
_DEPTHS: Final = (1, 2, 3)
"""The depths to try: the number of levels of inner messages in which single fields are set."""

_POLICIES: Final = (
    CompatibilityPolicy.STRICT,
    CompatibilityPolicy.SOUND,
    CompatibilityPolicy.WIRE,
    CompatibilityPolicy.WIRE_JSON,
)
"""The policies whose walks are searched for the difference."""

_NAMES_ONLY: Final = "only names differ, and bytes hold none"


def search_for_witness(
    reader: ProtobufSchema, writer: ProtobufSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return a message of ``writer`` that ``reader`` misreads, or how many were tried and why none was found."""
    try:
        pair = _pair(reader, writer)
        found = pair.find(difference)
        if found is None:
            return NoWitness(0, "the two schemas do not differ in this")
        return _Search(pair, found, steps or steps_for(reader, writer)).run()
    except (RecursionError, InvalidSchema):
        return NoWitness(0, "the schemas are nested too deep")
    except OutOfSteps:
        return NoWitness(0, BEYOND_LIMITS)
    except (runtime.RuntimeRefuses, NoMessage) as refused:
        return NoWitness(0, str(refused))


class _SchemaPair:
    """The work that all searches for two schemas share: the findings, the ways to messages, the runtime's classes."""

    def __init__(self, reader: ProtobufSchema, writer: ProtobufSchema) -> None:
        self.reader = reader
        self.writer = writer
        self._found_by_policy: dict[CompatibilityPolicy, Mapping[Difference, ProtobufDifference]] = {}
        refusal = runtime.RuntimeRefuses
        self._reading = Attempt(lambda: runtime.runtime_of(reader), refusal)
        self._writing = Attempt(lambda: runtime.runtime_of(writer), refusal)

    def find(self, difference: Difference) -> ProtobufDifference | None:
        """Return the finding that is equal to ``difference``, with its place."""
        for policy in _POLICIES:
            found = self.found(policy).get(difference)
            if found is not None:
                return found
        return None

    def found(self, policy: CompatibilityPolicy) -> Mapping[Difference, ProtobufDifference]:
        """Return the findings under ``policy``, by difference; the first of several equal ones."""
        if policy not in self._found_by_policy:
            found: dict[Difference, ProtobufDifference] = {}
            for each in find_all(self.reader, self.writer, policy=policy, steps=steps_for(self.reader, self.writer)):
                found.setdefault(each, each)
            self._found_by_policy[policy] = found
        return self._found_by_policy[policy]

    @cached_property
    def ways(self) -> Mapping[Pair, MessageStep | None]:
        """Each pair that a record may contain, with the last step to it."""
        return _find_ways(self.reader, self.writer)

    @property
    def reading(self) -> runtime.Runtime:
        """The reader's classes; raises ``RuntimeRefuses`` if the runtime does not accept the schema."""
        return self._reading.result()

    @property
    def writing(self) -> runtime.Runtime:
        """The writer's classes; raises ``RuntimeRefuses`` if the runtime does not accept the schema."""
        return self._writing.result()


@cached_by_size(_CACHE_CHARS, size_of=lambda _, reader, writer: len(reader.text) + len(writer.text), keeps_large=True)
def _pair(reader: ProtobufSchema, writer: ProtobufSchema) -> _SchemaPair:
    return _SchemaPair(reader, writer)


class _Search:
    """One search. ``_place`` is the place of the difference; for an enum's symbol, that of a field of the enum."""

    def __init__(self, pair: _SchemaPair, found: ProtobufDifference, steps: Steps) -> None:
        self._steps = steps
        self._pair = pair
        self._found = found
        place = found.place
        self._place = place.parent if place.writer is None and place.parent is not None else place

    def run(self) -> Witness | NoWitness:
        """Return the witness from the first candidate that shows the difference, or why there is none."""
        if self._found.kind is rules.MESSAGE_REMOVED:
            return self._of_removed()
        if self._place.reader is None or self._place.writer is None:
            return NoWitness(0, self._nothing_to_write())
        if self._found.kind is rules.FIELD_NUMERIC_LABEL_CHANGED and not self._is_narrower():
            return NoWitness(0, "a label that asks for less reads all that was written")
        if self._place.writer_field is not None and self._place.writer_field.is_extension:
            return NoWitness(0, "messages with extensions are not built")
        wanted = (self._place.reader, self._place.writer)
        if wanted not in self._pair.ways:
            return NoWitness(0, "no record holds such a message")
        self._way = _steps_to(wanted, self._pair.ways)
        self._reader = self._pair.reading
        self._writer = self._pair.writing
        tried = 0
        for message in islice(self._candidates(), MAX_TRIED):
            tried += 1
            record = self._wrapped(message)
            self._steps.spend(_STEPS_A_MESSAGE + _STEPS_A_BYTE * record.ByteSize())
            witness = self._confirm(record)
            if witness:
                return witness
        return NoWitness(
            tried, f"{runtime.runtime_name()} reads what the reader has of them" if tried else self._nothing_to_write()
        )

    def _of_removed(self) -> Witness | NoWitness:
        """Return a record of the first message if the reader lacks that; for any other message there is no witness."""
        gone = self._place.writer
        if gone is None or gone is not next(iter(self._pair.writer.types.root.messages.values()), None):
            return NoWitness(
                0, "records are of the first message; the types of fields are matched by number, not by name"
            )
        if self._found not in self._pair.found(CompatibilityPolicy.SOUND):
            return NoWitness(0, "the reader's first message has another name and reads the same records")
        name = self._pair.reader.file.package_prefix + gone.local_name
        try:
            self._pair.reading.new(name)
        except runtime.RuntimeRefuses as refused:
            message = minimal(self._pair.writing.new(gone.full_name).DESCRIPTOR)
            stop = Sentence.of("a record is a message {name}, which the reader lacks", {"name": gone.local_name})
            return self._witness(message, stop, str(refused))
        return NoWitness(0, "the reader has a message of this name")

    def _nothing_to_write(self) -> str:
        """Return the reason why no message is tried."""
        if self._found.kind is rules.PACKAGE_CHANGED:
            return _NAMES_ONLY
        return "the rule guards what may be written later, not what was"

    def _is_narrower(self) -> bool:
        """Return whether the reader's label is stricter than the writer's: not repeated any more, or newly required."""
        mine, theirs = self._place.reader_field, self._place.writer_field
        if mine is None or theirs is None:
            return False
        return (theirs.is_repeated and not mine.is_repeated) or (mine.is_required and not theirs.is_required)

    def _candidates(self) -> Iterator[AnyMessage]:
        """Yield messages of the writer that may show the difference, the minimal one first."""
        place = self._place
        descriptor = self._writer.new(place.writer.full_name).DESCRIPTOR if place.writer else None
        if descriptor is None:
            return
        if place.reader_field or place.writer_field:
            yield minimal(descriptor)
            if place.writer_field:
                holds = place.writer_field.holds
                for depth in _DEPTHS[:1] if holds.scalar or holds.enum else _DEPTHS:
                    yield from probes(descriptor, place.writer_field.number, depth=depth)
        elif place.reader and place.writer:
            oneof = place.steps[-1] if place.steps else ""
            origins = oneof_origins(place.reader, place.writer, oneof) if oneof in place.reader.oneofs else []
            for one, other in combinations(origins, 2):
                first = next(probes(descriptor, one[0].number))
                second = next(probes(descriptor, other[0].number))
                first.MergeFrom(second)
                yield first

    def _numbers(self) -> set[int]:
        """Return the numbers of the fields of the difference."""
        place = self._place
        fields = [field.number for field in (place.reader_field, place.writer_field) if field]
        if fields or not place.reader:
            return {*fields}
        oneof = place.reader.oneofs.get(place.steps[-1]) if place.steps else None
        return {field.number for field in oneof.fields} if oneof else set()

    def _wrapped(self, message: AnyMessage) -> AnyMessage:
        """Return a record that contains ``message``, a message of the place."""
        for step in reversed(self._way):
            message = wrap(self._writer.new(step.writer.full_name).DESCRIPTOR, step.number, message)
        return message

    def _read(self, record: AnyMessage) -> tuple[AnyMessage, str | None]:
        """Return the record as parsed with the reader's schema, and the parser's error, None on success."""
        reader = self._way[0].reader if self._way else self._place.reader
        read = self._reader.new(reader.full_name if reader else "")
        return read, runtime.read(read, runtime.write(record))

    def _confirm(self, record: AnyMessage) -> Witness | None:
        read, failure = self._read(record)
        if failure is not None:
            return self._witness(record, self._stop("parsing fails"), failure) if self._is_ours(record) else None
        missing = self._missing(read)
        if missing:
            stop = self._stop("the reader requires {field}", field=missing)
            return self._witness(record, stop, f"{missing} is not set")
        above = tuple(step.number for step in self._way)
        for loss in losses(record, read, only=[*({number} for number in above), self._numbers()]):
            if len(loss.numbers) > len(above) and self._is_about(loss, loss.numbers[len(above)]):
                return self._witness(record, self._stop("{loss}", loss=loss.sentence), loss.text)
        return None

    def _is_about(self, loss: MessageLoss, number: int) -> bool:
        """Return whether a loss in the field of this number is the one that the difference describes."""
        if self._found.kind is rules.FIELD_NUMERIC_LABEL_CHANGED and not loss.is_missing:
            return False
        if self._place is self._found.place:
            return number in self._numbers()
        facts = self._found.facts
        symbol = facts["name"] if "name" in facts else facts.get("writer", "")
        return number in self._numbers() and (f"{symbol} (" in loss.text or f"value: {symbol}" in loss.text)

    def _missing(self, read: AnyMessage) -> str:
        """Return the required field of the difference if it is missing in ``read``, else an empty text."""
        field = self._place.reader_field
        if field is None or not field.is_required:
            return ""
        return next((each for each in read.FindInitializationErrors() if each.split(".")[-1] == field.node.name), "")

    def _is_ours(self, record: AnyMessage) -> bool:
        """Return whether the reader parses the record without the field; if not, the error has another cause."""
        least = self._wrapped(
            minimal(self._writer.new(self._place.writer.full_name if self._place.writer else "").DESCRIPTOR)
        )
        return least == record or self._read(least)[1] is None

    def _stop(self, template: str, **facts: object) -> Sentence:
        """Return a sentence of the record's message name, and ``template`` with ``facts``."""
        record = self._way[0].writer if self._way else self._place.writer
        if record is None:
            return Sentence.of(f"the file: {template}", facts)
        return Sentence.of(f"message {{message}}: {template}", {"message": record.local_name, **facts})

    def _witness(self, message: AnyMessage, stop: Sentence, said: str) -> Witness:
        return Witness(
            datum_json=runtime.plain_json(message),
            body=runtime.write(message),
            stop=stop,
            confirmed_by=f"{runtime.runtime_name()}: {said}",
        )


# Confirmation of "compatible" for Protobuf: messages that the runtime writes with one schema and reads with the other.
#
# The messages are of the types that a record can have: every type that both sides have by one name, and the first one.


def confirm_compatible(reader: ProtobufSchema, writer: ProtobufSchema, count: int) -> Confirmation:
    """Return how many of ``count`` messages of ``writer`` were read with ``reader`` without loss, or the first loss.

    A field that the reader does not have is no loss, unless it is the set member of a oneof that the reader has.
    """
    done = 0
    try:
        for record, read, mine in islice(_read(reader, writer), count):
            failure = runtime.read(read, runtime.write(record)) or _loss(record, read)
            if failure:
                return Confirmation(done, _counter_witness(record, mine, failure))
            done += 1
    except (runtime.RuntimeRefuses, InvalidSchema) as refused:
        return Confirmation(done, reason=str(refused))
    except RecursionError:
        return Confirmation(done, reason="the schemas are nested too deep")
    return Confirmation(done, reason="" if done == count else "no record of finite size exists")


def _read(reader: ProtobufSchema, writer: ProtobufSchema) -> Iterator[tuple[AnyMessage, AnyMessage, MessageType]]:
    """Yield records of the writer, of each type in turn, each with an empty message of the reader and its type."""
    readers, writers = runtime.runtime_of(reader), runtime.runtime_of(writer)
    pairs = dict.fromkeys(records(reader, writer))
    sources = deque((mine, samples(writers.new(theirs.full_name).DESCRIPTOR)) for mine, theirs in pairs)
    while sources:
        mine, source = sources.popleft()
        try:
            yield next(source), readers.new(mine.full_name), mine
        except NoMessage:
            continue
        sources.append((mine, source))


def _loss(record: AnyMessage, read: AnyMessage) -> Sentence | None:
    missing = read.FindInitializationErrors()
    if missing:
        return Sentence.of("IsInitialized() is False, missing {fields}", {"fields": tuple(missing)})
    return next((loss.sentence for loss in losses(record, read)), None)


def _counter_witness(record: AnyMessage, message: MessageType, failure: str | Sentence) -> Witness:
    said = failure if isinstance(failure, str) else failure.render(is_start=False)
    return Witness(
        datum_json=runtime.plain_json(record),
        body=runtime.write(record),
        stop=Sentence.of("message {name}: {what}", {"name": message.local_name, "what": failure}),
        confirmed_by=f"{runtime.runtime_name()}: {said}",
    )
