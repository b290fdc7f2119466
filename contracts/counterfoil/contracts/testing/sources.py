"""Which topics are tested, and where their records come from, in batches: a topic, or a file with its schemas."""

from __future__ import annotations

import bz2
import json
import lzma
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.check.agreements import Agreements, read_file
from counterfoil.contracts.errors import InputNotFound, InvalidOperand, UsageMistake
from counterfoil.contracts.project.languages import language_of
from counterfoil.contracts.records.lines import PartChoice, RecordMaker
from counterfoil.contracts.records.topic import KafkaRecord, KafkaTopic
from counterfoil.contracts.testing.promises import TopicTest, topic_test
from counterfoil.contracts.values import read_json
from counterfoil.schema.agreements import Contract, Server
from counterfoil.schema.datum import Datum
from counterfoil.schema.documents import likely
from counterfoil.schema.errors import InvalidSchema, SchemaParseError
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.sampling import FORMS, Bounds, Offsets, Strategy, choose_offsets, read_moment_ms
from counterfoil.schema.texts import Position
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.client import Registry
from counterfoil.sdk.client.bundle import URL, Bundle, BundledVersion, BundleTransport
from counterfoil.sdk.errors import (
    DecodeError,
    EncodeError,
    FrameError,
    IncompatibleReader,
    SerdeError,
    UnknownSchemaId,
    ValidationError,
)
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from counterfoil.contracts.lint.lint import LintInput

    Headers = Sequence[tuple[str, bytes | None]] | None


@dataclass(slots=True)
class RecordBatch:
    """Records. A timestamp, in milliseconds, is None where there is none."""

    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int | None] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size_bytes(self) -> int:
        """The bytes of all keys and values."""
        return sum(map(len, filter(None, self.values))) + sum(map(len, filter(None, self.keys)))

    @classmethod
    def of_messages(cls, messages: Sequence[Datum]) -> RecordBatch:
        """Return the batch of messages of confluent-kafka."""
        stamps = [each.timestamp() for each in messages]
        return cls(
            [each.partition() for each in messages],
            [each.offset() for each in messages],
            [moment if kind else None for kind, moment in stamps],
            [each.key() for each in messages],
            [each.value() for each in messages],
            [each.headers() for each in messages],
        )

    @classmethod
    def of_records(cls, records: Iterable[KafkaRecord]) -> RecordBatch:
        """Return the batch of single records."""
        made = cls()
        for each in records:
            made.partitions.append(each.partition)
            made.offsets.append(each.offset)
            made.timestamps.append(each.timestamp_ms)
            made.keys.append(each.key)
            made.values.append(each.value)
            made.headers.append(each.headers or None)
        return made


# JSON objects that have a key twice: readers keep the last value, the first one, or refuse the message.
#
# RFC 8259 leaves it open, so that consumers in different languages may see different values.

_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"([ \t\r\n]*:)?', re.DOTALL)
"""A string of a JSON text; with a colon after it, it is a key."""


class _Repeated(Exception):
    """A key is there twice."""


def repeated_key(data: bytes) -> str | None:
    """Return a key that an object of a JSON text has twice, at any depth; None if there is none, or for no JSON.

    >>> repeated_key(b'{"a": 1, "b": {"c": 1, "c": 2}}'), repeated_key(b'[{"a": 1}, {"a": 2}]')
    ('c', None)
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    keys = [name for name, colon in _STRING.findall(text) if colon]
    if len(keys) == len(set(keys)) and not any("\\" in each for each in keys):
        return None  # the whole text has no key twice
    try:
        json.loads(text, object_pairs_hook=_object)
    except _Repeated as found:
        return str(found)
    except (ValueError, RecursionError):
        return None
    return None


def _object(pairs: list[tuple[str, Datum]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _Repeated(name)
        seen.add(name)


# Why a record cannot be read or written, in words that quote no value unless values may be shown.

_SAFE = (FrameError, IncompatibleReader, UnknownSchemaId)
"""Errors about schemas and frames, whose texts have no value of a record."""


def reason_of(error: SerdeError, *, shows_values: bool) -> str:
    """Return why a message cannot be read, or a value not be written."""
    if shows_values or isinstance(error, _SAFE):
        return error.problem
    if isinstance(error, ValidationError) and error.violations:
        first = error.violations[0]
        return f"{first.path or 'the value'} violates {first.keyword!r}"
    if isinstance(error, EncodeError) and error.expected is not None:
        return f"{error.path or 'the value'} is not {error.expected}"
    if isinstance(error, DecodeError):
        where = f" at {error.path}" if error.path else ""
        return f"the bytes are no value of the schema{where}{_byte(error)}"
    if isinstance(error, EncodeError):
        return f"{error.path or 'the value'} does not fit"
    return type(error).__name__


def _byte(error: DecodeError) -> str:
    return "" if error.offset is None else f" (byte {error.offset})"


# Which topics are tested: those of contract files, with what the consumers among the files expect of them.


class ChosenTest(NamedTuple):
    """A test of a topic, and the server of its contract that was named."""

    test: TopicTest
    server: Server | None


def chosen_tests(
    given: LintInput, *, topics: Sequence[str] = (), server: str | None = None, window_ms: int = 0
) -> list[ChosenTest]:
    """Return the tests of all topics of the contracts among the files, or of those that are named.

    ``window_ms`` is the length of the windows of rules that name none; 0: they are about all records. Where consumers
    alone are among the files, their contracts are looked for in the other files. Raises ``InvalidOperand`` for a file
    that is not valid, and ``UsageMistake`` for an unknown topic or server.
    """
    wanted = frozenset(given.agreements)
    files = [read_file(path, given.read(path) or b"") for path in given.agreements]
    if not any(isinstance(each.reading.agreement, Contract) for each in files):
        files += [read_file(path, given.read(path) or b"") for path in given.others] if files else []
    for file in files:
        if file.path in wanted and file.reading.faults:
            fault = file.reading.faults[0]
            raise InvalidOperand(file.path, fault.problem, position=fault.position, what="contract or product file")
    agreements = Agreements.of(files, consumer_files=wanted)
    read = {each.expectation.contract_id for each in agreements.consumers}
    contracts = [
        (path, contract) for path, contract in agreements.contracts.values() if path in wanted or contract.id in read
    ]
    found = [
        ChosenTest(
            topic_test(
                contract, promise, file=path, consumers=agreements.of_contract(contract.id), window_ms=window_ms
            ),
            _server(contract, server),
        )
        for path, contract in contracts
        for promise in contract.promises
    ]
    return _of_topics(found, topics)


def environment_of(chosen: ChosenTest, given: str | None) -> str:
    """Return the environment of the records: the given one, else that of the server, else nothing."""
    server = chosen.server
    return given or (server.environment or server.name if server is not None else "")


def _of_topics(found: list[ChosenTest], topics: Sequence[str]) -> list[ChosenTest]:
    known = {each.test.topic for each in found}
    for topic in topics:
        if topic not in known:
            raise UsageMistake(f"--topic {topic}: no contract here names it; {likely(topic, known)}")
    return [each for each in found if not topics or each.test.topic in topics]


def _server(contract: Contract, name: str | None) -> Server | None:
    if name is None:
        return None
    found = next((each for each in contract.servers if each.name == name), None)
    if found is None:
        known = [each.name for each in contract.servers]
        raise UsageMistake(f"--server {name}: the contract {contract.id} has no such server; {likely(name, known)}")
    return found


# Where the tested records come from, and which of them were taken: a topic, or a file.

_SINCE: Final = "since"
FILE: Final = "file"
"""The strategy of records in a file: all of them."""


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """Which records of a topic are read: at most ``limit`` and ``limit_bytes``; ``since_ms`` is the earliest moment."""

    strategy: Strategy = Strategy.NEWEST
    limit: int = 1000
    limit_bytes: int | None = None
    seed: int = 0
    since_ms: int | None = None

    @classmethod
    def parse(cls, text: str, *, limit: int, limit_bytes: int | None = None, seed: int = 0) -> SampleChoice:
        """Return the choice that ``--sample`` names; raise ``UsageMistake``."""
        name, separator, moment = text.partition("=")
        if name == _SINCE and separator:
            try:
                since_ms = read_moment_ms(moment, now_s=time.time())
            except ValueError:
                raise UsageMistake(f"--sample {text} names no moment; expected {FORMS}") from None
            return cls(Strategy.OLDEST, limit, limit_bytes, seed, since_ms)
        try:
            return cls(Strategy(text), limit, limit_bytes, seed)
        except ValueError:
            names = [*Strategy, _SINCE]
            raise UsageMistake(f"--sample {text}: {likely(name, names)}; since needs a moment: since=36h") from None

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return _SINCE if self.since_ms is not None else self.strategy.value


@dataclass(slots=True)
class SampleUnderTest:
    """The part of a topic that was read: ``source`` in words, offsets by partition, the moment of the first request.

    ``bounds`` are the offsets that there were. ``is_cut``: the limit of bytes ended it early. ``has_ids``: the schema
    ids of the records are those of a registry.
    """

    source: str
    strategy: str
    seed: int = 0
    limit: int | None = None
    since_ms: int | None = None
    offsets: Offsets = field(default_factory=dict)
    bounds: Bounds = field(default_factory=dict)
    taken_ms: int = 0
    is_cut: bool = False
    has_ids: bool = True

    @property
    def is_complete(self) -> bool:
        """Whether every record was taken."""
        whole = {number: (each,) for number, each in self.bounds.items() if each[0] < each[1]}
        return not self.is_cut and (self.strategy == FILE or dict(self.offsets) == whole)

    @property
    def is_random(self) -> bool:
        """Whether the sample says something about all records."""
        return self.strategy == Strategy.RANDOM and not self.is_cut

    @property
    def reaches_end(self) -> bool:
        """Whether the newest record of every partition was taken."""
        ends = {number: end for number, (first, end) in self.bounds.items() if first < end}
        reached = {number: ranges[-1][1] for number, ranges in self.offsets.items() if ranges}
        return not self.is_cut and bool(self.bounds) and ends == reached

    @property
    def is_contiguous(self) -> bool:
        """Whether one range of each partition was taken, so that windows of time can be complete."""
        return not self.is_cut and bool(self.offsets) and all(len(ranges) == 1 for ranges in self.offsets.values())


def choose_sample(topic: KafkaTopic, choice: SampleChoice, *, source: str) -> SampleUnderTest:
    """Return the sample of a topic, whose bounds are requested now."""
    bounds = {number: topic.bounds(number) for number in topic.partitions()}
    wanted: Mapping[int, tuple[int, int]] = bounds
    if choice.since_ms is not None:
        first = topic.offsets_at(choice.since_ms)
        wanted = {number: (max(low, first.get(number, high)), high) for number, (low, high) in bounds.items()}
    return SampleUnderTest(
        source,
        choice.name,
        choice.seed,
        None if choice.strategy is Strategy.ALL else choice.limit,
        choice.since_ms,
        choose_offsets(wanted, choice.strategy, limit=choice.limit, seed=choice.seed),
        bounds,
        int(time.time() * 1000),
    )


def open_topic(access: KafkaAccess, test: TopicTest) -> KafkaTopic:
    """Return the topic of a test; raise ``InputNotFound`` with the contract that names it if there is none."""
    topic = KafkaTopic(access, test.topic)
    try:
        topic.partitions()
    except InputNotFound as missing:
        topic.__exit__()
        where = f"{test.file}:{test.position}" if test.position else test.file
        raise InputNotFound(f"{missing}; the contract {test.contract} names it ({where})") from None
    return topic


def batches_of(topic: KafkaTopic, sample: SampleUnderTest, *, limit_bytes: int | None = None) -> Iterator[RecordBatch]:
    """Yield the records of a sample; with a limit of bytes it ends with the batch that exceeds it."""
    read = 0
    for messages in topic.sample(sample.offsets):
        batch = RecordBatch.of_messages(messages)
        yield batch
        if limit_bytes is not None:
            read += batch.size_bytes
            if read >= limit_bytes:
                sample.is_cut = True
                return


# Schemas by id from a folder, for tests without a registry.


def registry_of_folder(folder: str) -> Registry:
    """Return a client that has the schemas in a folder: files that are named by their ids, such as ``7.avsc``.

    Raises ``InputNotFound`` if there is no such file, and ``InvalidOperand`` for one that is not UTF-8.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputNotFound(f"there is no folder {folder!r}")
    versions = tuple(_version(path) for path in sorted(place.iterdir()) if path.stem.isdecimal())
    if not versions:
        raise InputNotFound(f"the folder {folder!r} has no schema; the files are named by their ids, such as 7.avsc")
    return registry_of(folder, versions)


def registry_of(source: str, versions: tuple[BundledVersion, ...]) -> Registry:
    """Return a client that has these schemas alone; ``source`` names where they come from."""
    from counterfoil.sdk.client import Registry

    return Registry(URL, transport=BundleTransport(Bundle(source, datetime.now(UTC).isoformat(), versions)))


def bundled(subject: str, schema_id: int, schema: Schema) -> BundledVersion:
    """Return a schema as the only version of a subject."""
    guid = content_guid(schema.text, schema.references, schema.metadata, schema.rule_set)
    return BundledVersion(subject, 1, schema_id, guid, schema)


def _version(path: Path) -> BundledVersion:
    try:
        schema = Schema(path.read_text(encoding="utf-8"), language_of(path.name))
    except UnicodeDecodeError as error:
        raise InvalidOperand(str(path), f"it is not UTF-8 ({error.reason})") from None
    return bundled(path.stem, int(path.stem), schema)


# Records in a file: lines of ``counterfoil consume --json``, lines of hexadecimal digits, one message, a container.
#
# Source of the last: Apache Avro 1.12, Object Container Files.

_CONTAINER: Final = b"Obj\x01"
_SYNC_SIZE: Final = 16
_BATCH: Final = 5_000
_ID: Final = 1
_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "null": lambda data: data,
    "deflate": lambda data: zlib.decompress(data, -15),
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}


class RecordFile:
    """The records of a file. ``registry`` opens the source of their schemas; ``has_ids``: their ids are its own."""

    def __init__(self, path: str, data: bytes, *, topic: str, registry: Callable[[], Registry]) -> None:
        self._path = path
        self._data = data
        self._topic = topic
        self._container = _Container(path, data) if data.startswith(_CONTAINER) else None
        self.registry = registry if self._container is None else self._container.registry
        self.has_ids = self._container is None

    def batches(self) -> Iterator[RecordBatch]:
        """Yield the records; raise ``InvalidOperand`` for a line that is none."""
        records = iter(self._records())
        while batch := list(islice(records, _BATCH)):
            yield RecordBatch.of_records(batch)

    def _records(self) -> Iterable[KafkaRecord]:
        if self._container is not None:
            return (self._record(number, data) for number, data in enumerate(self._container.messages()))
        if self._data[:1] in {b"\0", b"\1"}:
            return [self._record(0, self._data)]
        return self._of_lines()

    def _record(self, offset: int, value: bytes) -> KafkaRecord:
        return KafkaRecord(self._topic, 0, offset, None, None, value, ())

    def _of_lines(self) -> Iterator[KafkaRecord]:
        maker = RecordMaker(self._topic, key=PartChoice(), value=PartChoice(), registry=self.registry)
        for number, line in enumerate(self._data.split(b"\n"), 1):
            if line.strip():
                try:
                    yield self._of_line(maker, number, line.decode())
                except (ValueError, SerdeError) as error:
                    position = Position(number, 1)
                    raise InvalidOperand(self._path, str(error), position=position, what="record") from None

    def _of_line(self, maker: RecordMaker, number: int, line: str) -> KafkaRecord:
        if not line.lstrip().startswith("{"):
            return self._record(number - 1, bytes.fromhex(line.strip()))
        given = read_json(line)
        made = maker.make(given)
        offset = given.get("offset")
        return KafkaRecord(
            self._topic,
            made.partition or 0,
            offset if isinstance(offset, int) else number - 1,
            made.timestamp_ms,
            made.key,
            made.value,
            tuple(made.headers),
        )


class _Container:
    """An object container file, whose values become messages with the id 1."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._data = data
        metadata, self._at = self._metadata()
        name = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
        if name not in _CODECS:
            raise self._invalid(f"its codec {name} is not among {', '.join(_CODECS)}")
        self._decompress = _CODECS[name]
        self._schema = Schema(metadata.get("avro.schema", b"").decode("utf-8", "replace"))

    def registry(self) -> Registry:
        """Return a client that has the schema of the file alone."""
        return registry_of(self._path, (bundled("file", _ID, self._schema),))

    def messages(self) -> Iterator[bytes]:
        """Yield the values as messages: a block is read as an array, since values in it have no lengths."""
        from counterfoil.sdk.serde.avro import AvroCodec
        from counterfoil.sdk.serde.avro.numbers import encode_long

        codec = AvroCodec(names_records=True)
        items = Schema(f'{{"type": "array", "items": {self._schema.text}}}')
        try:
            encode = codec.encoder(codec.parse(self._schema, (), validation=Validation.LENIENT))
            decode = codec.decoder(codec.parse(items, (), validation=Validation.LENIENT), None, b"")
        except (InvalidSchema, SchemaParseError) as error:
            raise self._invalid(f"its schema cannot be read: {error}") from None
        prefix = id_prefix(_ID)
        at = self._at
        while at < len(self._data):
            count, at = self._long(at)
            size, at = self._long(at)
            try:
                block = self._decompress(self._data[at : at + size])
                values: list[Datum] = decode(encode_long(count) + block + b"\0", 0)
            except (SerdeError, OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                problem = error.problem if isinstance(error, SerdeError) else error
                raise self._invalid(f"the block at byte {at} cannot be read: {problem}") from None
            for value in values:
                yield encode(value, prefix)
            at += size + _SYNC_SIZE

    def _metadata(self) -> tuple[dict[str, bytes], int]:
        found: dict[str, bytes] = {}
        at = len(_CONTAINER)
        while True:
            count, at = self._long(at)
            if count == 0:
                return found, at + _SYNC_SIZE
            if count < 0:  # with the size of the block in front
                count, (_, at) = -count, self._long(at)
            for _ in range(count):
                name, at = self._bytes(at)
                found[name.decode("utf-8", "replace")], at = self._bytes(at)

    def _bytes(self, at: int) -> tuple[bytes, int]:
        size, at = self._long(at)
        if size < 0 or at + size > len(self._data):
            raise self._invalid("it ends inside its header")
        return self._data[at : at + size], at + size

    def _long(self, at: int) -> tuple[int, int]:
        from counterfoil.sdk.serde.avro.numbers import read_long

        try:
            return read_long(self._data, at)
        except (SerdeError, IndexError, ValueError):
            raise self._invalid(f"it ends at byte {at}") from None

    def _invalid(self, problem: str) -> InvalidOperand:
        return InvalidOperand(self._path, problem, what="object container file")
