"""A test that is ready to run: its checks by kind, compiled, the schemas of writers, and what is counted meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.project import ReadSchema
from counterfoil.contracts.records.message import OpenedWriter, open_writer, parse_read, shown_frame
from counterfoil.contracts.testing import (
    CelCheck,
    FreshnessCheck,
    HeaderCheck,
    KeyCheck,
    Metric,
    QualityCheck,
    ValueCheck,
    hidden_names,
)
from counterfoil.contracts.testing.promises import TopicTest
from counterfoil.contracts.values.constraints import VARIABLES, read_rule, variables_of
from counterfoil.schema.datum import Datum, Json, JsonObject
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.sampling import milliseconds_of
from counterfoil.schema.wire import KEY_HEADER
from counterfoil.sdk.errors import DecodeError, RuleError, SerdeError
from counterfoil.sdk.serde import read_header
from counterfoil.sdk.serde.codec import AnyCodec, Decode
from counterfoil.sdk.serde.multi import LANGUAGES
from counterfoil.sdk.serde.reading import read_header_of

if TYPE_CHECKING:
    from counterfoil.contracts.testing.columns import RecordColumns
    from counterfoil.sdk.client import Registry


# A tally is sent between processes as JSON. Its size does not grow with the number of records: places are the first
# few.

FIRST_PLACES: Final = 5
"""How many places of failing records are kept, for each kind of failure."""
_SUMS: Final = ("records", "tombstones", "null_keys", "with_headers", "size_bytes")
"""The numbers of a tally that are added up."""


class RecordPlace(NamedTuple):
    """A record that fails: where it is, its writer's label, and why."""

    partition: int
    offset: int
    writer: str
    reason: str = ""


@dataclass(slots=True)
class Failures:
    """The records that fail one check: how many, and the first of each partition's batch, by partition and offset."""

    count: int = 0
    places: list[RecordPlace] = field(default_factory=list)

    def add(self, place: RecordPlace) -> None:
        """Count a record."""
        self.count += 1
        if len(self.places) < FIRST_PLACES or place < self.places[-1]:
            self.places = sorted((*self.places, place))[:FIRST_PLACES]

    def merge(self, other: Failures) -> None:
        """Add the failures of another part."""
        self.count += other.count
        self.places = sorted((*self.places, *other.places))[:FIRST_PLACES]


@dataclass(slots=True)
class Outcomes:
    """The results of the records of one writer: how many there are, and how many of these fail in which way."""

    records: int = 0
    undecodable: int = 0
    unreadable: int = 0
    unwritable: int = 0
    failing: int = 0

    @property
    def fine(self) -> int:
        """The records that fail in no way."""
        return self.records - self.failing

    def merge(self, other: Outcomes) -> None:
        """Add the results of another part."""
        for name in ("records", "undecodable", "unreadable", "unwritable", "failing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Span:
    """The part of a partition that was read: offsets, both inclusive, and timestamps in milliseconds, if any."""

    first: int
    last: int
    earliest_ms: int | None = None
    latest_ms: int | None = None

    def merge(self, other: Span) -> None:
        """Widen the span."""
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.earliest_ms = _least((self.earliest_ms, other.earliest_ms))
        self.latest_ms = _most((self.latest_ms, other.latest_ms))


@dataclass(slots=True)
class Window:
    """The records of a window of time: how many, and how many of these are duplicates, by the number of the rule."""

    records: int = 0
    duplicates: dict[int, int] = field(default_factory=dict)

    def merge(self, other: Window) -> None:
        """Add the records of another part."""
        self.records += other.records
        for rule, count in other.duplicates.items():
            self.duplicates[rule] = self.duplicates.get(rule, 0) + count


@dataclass(slots=True)
class Tally:
    """Everything that was counted of a topic, or of a part of it.

    ``failures`` are those of each check by its number, ``counts`` those of quality rules by the rule's number.
    ``windows`` has the windows of each length in milliseconds by their starts; those of length 0 are all records.
    ``newest_ms`` are the latest moments of service levels, by the level's number. ``repeated_keys`` are the records
    with a JSON object that has a key twice, which do not fail by that. ``crowded`` are the numbers of rules about
    duplicates with more keys than are kept.
    """

    records: int = 0
    tombstones: int = 0
    null_keys: int = 0
    with_headers: int = 0
    size_bytes: int = 0
    writers: dict[str, Outcomes] = field(default_factory=dict)
    failures: dict[int, Failures] = field(default_factory=dict)
    counts: dict[int, Failures] = field(default_factory=dict)
    spans: dict[int, Span] = field(default_factory=dict)
    windows: dict[int, dict[int, Window]] = field(default_factory=dict)
    newest_ms: dict[int, int] = field(default_factory=dict)
    repeated_keys: Failures = field(default_factory=Failures)
    crowded: set[int] = field(default_factory=set)

    @property
    def failing(self) -> int:
        """The records that fail in any way."""
        return sum(each.failing for each in self.writers.values())

    def outcomes(self, writer: str) -> Outcomes:
        """Return the results of a writer's records."""
        return self.writers.setdefault(writer, Outcomes())

    def merge(self, other: Tally) -> None:
        """Add the counts of another part."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in (
            (self.writers, other.writers),
            (self.failures, other.failures),
            (self.counts, other.counts),
            (self.spans, other.spans),
        ):
            _merge_all(mine, theirs)
        for length, starts in other.windows.items():
            _merge_all(self.windows.setdefault(length, {}), starts)
        for number, moment in other.newest_ms.items():
            self.newest_ms[number] = max(moment, self.newest_ms.get(number, moment))
        self.repeated_keys.merge(other.repeated_keys)
        self.crowded |= other.crowded

    def document(self) -> JsonObject:
        """Return the tally as values of JSON."""
        return {**asdict(self), "crowded": sorted(self.crowded)}

    @classmethod
    def read(cls, document: JsonObject) -> Self:
        """Return the tally of a document, whose keys may have become texts."""
        return cls(
            **{name: document[name] for name in _SUMS},
            writers={label: Outcomes(**each) for label, each in document["writers"].items()},
            failures=_failures(document["failures"]),
            counts=_failures(document["counts"]),
            spans={int(number): Span(**each) for number, each in document["spans"].items()},
            windows={
                int(length): {int(start): _window(each) for start, each in starts.items()}
                for length, starts in document["windows"].items()
            },
            newest_ms={int(number): moment for number, moment in document["newest_ms"].items()},
            repeated_keys=_failed(document["repeated_keys"]),
            crowded=set(document["crowded"]),
        )


def _failures(document: JsonObject) -> dict[int, Failures]:
    return {int(number): _failed(each) for number, each in document.items()}


def _failed(document: JsonObject) -> Failures:
    return Failures(document["count"], [RecordPlace(*place) for place in document["places"]])


def _window(document: JsonObject) -> Window:
    return Window(document["records"], {int(rule): count for rule, count in document["duplicates"].items()})


def _merge_all(mine: dict[Json, Json], theirs: dict[Json, Json]) -> None:
    for key, each in theirs.items():
        if key in mine:
            mine[key].merge(each)
        else:
            mine[key] = each


def _least(moments: Iterable[int | None]) -> int | None:
    return min((each for each in moments if each is not None), default=None)


def _most(moments: Iterable[int | None]) -> int | None:
    return max((each for each in moments if each is not None), default=None)


# Values that occur more than once in a window of time, found with digests of them.

MOST_KEYS: Final = 1_000_000
"""How many different values are kept, for all windows together: about 100 MB."""


def digest_of(values: tuple[object, ...]) -> int:
    """Return a number of 64 bits for values; equal values have the same in every process."""
    return int.from_bytes(blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Key(NamedTuple):
    """The values of one record, as a digest, with its timestamp in milliseconds and its place."""

    digest: int
    moment_ms: int | None
    place: RecordPlace


def window_start(moment_ms: int | None, length_ms: int) -> int | None:
    """Return the start of the window of a moment; 0 for windows of no length, None without a moment.

    >>> window_start(5_500, 1_000), window_start(None, 0)
    (5000, 0)
    """
    if not length_ms:
        return 0
    return None if moment_ms is None else moment_ms // length_ms * length_ms


class RepeatedKeys(Protocol):
    """A collection of keys: they are compared, or kept."""

    @property
    def is_crowded(self) -> bool:
        """Whether keys had to be forgotten that may occur again."""

    def add(self, keys: Iterable[Key]) -> list[tuple[int, int]]:
        """Add keys; return those that were there before: their numbers, and the starts of their windows."""


class Repeats:
    """The values of one rule; windows begin at multiples of ``window_ms``, and 0 is one window for all records."""

    def __init__(self, window_ms: int, *, most_keys: int = MOST_KEYS) -> None:
        self._window_ms = window_ms
        self._most_keys = most_keys
        self._seen: dict[int, set[int]] = {}
        self._keys = 0
        self.is_crowded = False
        """Whether keys had to be forgotten that may occur again."""

    def add(self, keys: Iterable[Key]) -> list[tuple[int, int]]:
        """Add keys; return those that were there before: their numbers, and the starts of their windows."""
        repeated = []
        for number, key in enumerate(keys):
            start = window_start(key.moment_ms, self._window_ms)
            if start is None:
                continue
            seen = self._seen.setdefault(start, set())
            if key.digest in seen:
                repeated.append((number, start))
                continue
            seen.add(key.digest)
            self._keys += 1
            if self._keys > self._most_keys:
                self._forget()
        return repeated

    def _forget(self) -> None:
        """Forget the oldest window."""
        oldest = min(self._seen)
        self._keys -= len(self._seen.pop(oldest))
        self.is_crowded = True


# The schemas that records were written with, and what reads their values: each is opened once.

_OPTIONS: Final[Mapping[SchemaType, Mapping[str, Datum]]] = {
    SchemaType.JSON: {"adds_defaults": False},
    SchemaType.PROTOBUF: {"as_dict": True},
}
"""The options with which values are plain, have nothing but what was written, and JSON is validated."""
_GUID_MAGIC: Final = 1
_ID_FRAME: Final = 5
_GUID_FRAME: Final = 17
UNFRAMED: Final = b""
"""The key of all messages without a frame."""


def codec_of(language: SchemaType) -> AnyCodec:
    """Return the codec with which records are tested."""
    return LANGUAGES[language].make_codec(**_OPTIONS.get(language, {}))


def frame_key(data: bytes) -> bytes:
    """Return the bytes of a message that name its schema; ``UNFRAMED`` for one without a frame."""
    magic = data[0] if data else -1
    if magic == 0:
        return data[:_ID_FRAME]
    return data[:_GUID_FRAME] if magic == _GUID_MAGIC else UNFRAMED


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposed schema, which reads what was written, and writes what was read."""

    found: ReadSchema
    language: SchemaType


@dataclass
class Layout:
    """The functions that read messages of a writer with one suffix; or for each the error that all messages have."""

    opened: OpenedWriter
    suffix: bytes
    proposed: Datum = None

    @cached_property
    def problem(self) -> SerdeError | None:
        """The error that all messages have, such as one about an index of a message that is not there; else None."""
        found = _or_error(lambda: self.decode)
        return found if isinstance(found, SerdeError) else None

    @cached_property
    def decode(self) -> Decode:
        """The function that reads a value as it was written."""
        return self.opened.codec.decoder(self.opened.parsed, None, self.suffix)

    @cached_property
    def decode_proposed(self) -> Datum:
        """The function that reads a value with the proposed schema, or a ``SerdeError``."""
        if isinstance(self.proposed, SerdeError):
            return self.proposed
        return _or_error(lambda: self.opened.codec.decoder(self.opened.parsed, self.proposed, self.suffix))

    @cached_property
    def encode_proposed(self) -> Datum:
        """The function that writes a value with the proposed schema, or a ``SerdeError``."""
        if isinstance(self.proposed, SerdeError):
            return self.proposed
        codec = self.opened.codec
        if codec.schema_type is SchemaType.PROTOBUF:
            name = codec.record_name(self.opened.parsed, self.suffix)
            codec = LANGUAGES[codec.schema_type].make_codec(message=name, as_dict=True)
        return _or_error(lambda: codec.encoder(self.proposed))

    def row_source(self, *, is_proposed: bool) -> Datum:
        """Return the function from messages to columns; None for a language whose messages become values first."""
        if self.opened.codec.schema_type is not SchemaType.AVRO:
            return None
        return self.opened.codec.row_source(self.opened.parsed, self.proposed if is_proposed else None, self.suffix)


@dataclass
class Writer:
    """A writer's schema: its ``label``, such as ``id 7``, and its layouts by suffix."""

    label: str
    opened: OpenedWriter
    proposed: Datum
    hidden: frozenset[str]
    _layouts: dict[bytes, Layout] = field(default_factory=dict)

    def layout(self, data: bytes, named: bytes | None) -> tuple[Layout, int, bytes]:
        """Return the layout of a message, where its value begins, and the bytes before it. Raises ``SerdeError``."""
        header = read_header_of(self.opened.codec, data, named=named)
        found = self._layouts.get(header.suffix)
        if found is None:
            found = self._layouts[header.suffix] = Layout(self.opened, header.suffix, self.proposed)
        return found, header.offset, data[: header.offset]


class Writers:
    """Opens writers. The registry is opened when it is first needed; its errors are raised."""

    def __init__(self, registry: Callable[[], Registry], proposed: Proposed | None = None) -> None:
        self._registry = registry
        self._proposed = proposed
        self._found: dict[bytes, Writer | SerdeError] = {}

    def find(self, key: bytes, data: bytes, named: bytes | None) -> Writer | SerdeError:
        """Return the writer of messages with a key; the error that all of them have if there is none."""
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._open(data, named)
        return found

    def _open(self, data: bytes, named: bytes | None) -> Writer | SerdeError:
        try:
            framed = data if named is None else named
            opened = open_writer(framed, registry=self._registry(), make_codec=codec_of)
        except SerdeError as error:
            return error
        wanted = self._proposed
        proposed = None if wanted is None else _or_error(lambda: self._parsed(opened, wanted))
        label = shown_frame(opened.frame)
        return Writer(label, opened, proposed, hidden_names(opened.schema, opened.writer))

    @staticmethod
    def _parsed(opened: OpenedWriter, proposed: Proposed) -> Datum:
        if proposed.language is not opened.codec.schema_type:
            languages = f"{proposed.found.label} is {proposed.language}, the writer's is {opened.codec.schema_type}"
            raise DecodeError(f"The proposed schema has another language: {languages}")
        return parse_read(opened.codec, proposed.found)


def _or_error(make: Callable[[], Datum]) -> Datum:
    try:
        return make()
    except SerdeError as error:
        return error


# A test that is ready to run: its checks by kind, compiled, and the counts.

UNDECODABLE: Final = 0
UNREADABLE: Final = 1
UNWRITABLE: Final = 2
"""The numbers of the checks about whole records."""


class RecordTestPlan:
    """The checks of a test by kind, each with its number, and what was counted so far in ``tally``.

    ``keys`` opens the schemas of keys. With ``shows_values``, reasons quote values, except hidden ones. ``values`` are
    constraints of fields: number, path, constraint, and whether values that do not fit are only counted. ``repeats``
    makes what the keys of a rule about duplicates are added to.
    """

    def __init__(
        self,
        test: TopicTest,
        *,
        keys: Writers,
        shows_values: bool = False,
        has_proposed: bool = False,
        repeats: Callable[[int, QualityCheck], RepeatedKeys] = lambda _, check: Repeats(check.window_ms),
    ) -> None:
        self.tally = Tally()
        self.test = test
        self.keys = keys
        self.shows_values = shows_values
        self.has_proposed = has_proposed
        numbered = list(enumerate(test.checks))
        metrics = [(number, each) for number, each in numbered if isinstance(each, QualityCheck)]
        self.values: list[tuple[int, FieldPath, Datum, bool]] = [
            (number, each.path, each.constraint, False) for number, each in numbered if isinstance(each, ValueCheck)
        ] + [
            (number, path, each.constraint, True)
            for number, each in metrics
            if each.constraint is not None
            for path in each.paths
        ]
        self.headers = [(number, each) for number, each in numbered if isinstance(each, HeaderCheck)]
        self.equal_keys = [(number, each) for number, each in numbered if isinstance(each, KeyCheck)]
        self.rules = [(number, CompiledRule(each)) for number, each in numbered if isinstance(each, CelCheck)]
        levels = [(number, each) for number, each in numbered if isinstance(each, FreshnessCheck)]
        self.levels = [(number, each.path) for number, each in levels if each.path]
        self.broker_levels = [number for number, each in levels if not each.path]
        self.repeats = [
            (number, each, repeats(number, each)) for number, each in metrics if each.metric is Metric.DUPLICATE
        ]
        self.window_lengths = sorted({each.window_ms for _, each in metrics if each.constraint is None})

    def window(self, length: int, start: int) -> Window:
        """Return the counts of a window."""
        return self.tally.windows.setdefault(length, {}).setdefault(start, Window())

    def fail(self, number: int, place: RecordPlace) -> None:
        """Count a record that fails a check."""
        self.tally.failures.setdefault(number, Failures()).add(place)

    def count(self, number: int, place: RecordPlace) -> None:
        """Count a record for a quality rule."""
        self.tally.counts.setdefault(number, Failures()).add(place)

    def note_moments(self, number: int, values: Iterable[object]) -> None:
        """Note the latest of some moments for a service level."""
        moments = [moment for each in values if (moment := _moment_ms(each)) is not None]
        if moments:
            newest = self.tally.newest_ms
            newest[number] = max(*moments, newest.get(number, moments[0]))


class CompiledRule:
    """A rule in CEL, compiled, and the fields that it reads of a record."""

    def __init__(self, check: CelCheck) -> None:
        from counterfoil.sdk.serde.rules.cel.executors import compile_check_of

        try:
            self.evaluate = compile_check_of(check.source, VARIABLES)
        except RuleError as mistake:
            raise PreconditionFailed(f"{check.file}:{check.position}: {mistake}") from None
        expression = read_rule(check.source)
        variables = variables_of(expression)
        parts = expression.reads.get("message", {})
        there = [path[1] for path in expression.presences.values() if path[0] == "message"]
        self._names = None if parts is None else tuple(dict.fromkeys((*parts, *there)))
        self.reads_key = "key" in variables
        self.reads_headers = "headers" in variables

    def rows_of(self, columns: RecordColumns) -> Iterator[dict[str, Datum]] | None:
        """Return the values that the rule reads of each row; None if columns do not have them."""
        return None if self._names is None else columns.dicts(self._names)


def key_value(data: bytes | None, headers: object, keys: Writers) -> Datum:
    """Return the value of a key: by its schema if it names one, else a text, else bytes."""
    if data is None:
        return None
    named = read_header(headers, KEY_HEADER) if headers else None
    key = frame_key(data) if named is None else named
    if key != UNFRAMED:
        try:
            writer = keys.find(key, data, named)
            if not isinstance(writer, SerdeError):
                layout, offset, _ = writer.layout(data, named)
                return layout.decode(data, offset)
        except SerdeError:
            pass
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def texts_of(headers: Datum) -> dict[str, Datum]:
    """Return the headers of a record as texts; bytes that are no text stay bytes."""
    found: dict[str, Datum] = {}
    for name, content in headers or ():
        try:
            found[name] = None if content is None else content.decode()
        except UnicodeDecodeError:
            found[name] = content
    return found


def _moment_ms(value: object) -> int | None:
    """Return a moment in milliseconds since 1970: of a timestamp, a number of milliseconds, or a text in ISO 8601."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return milliseconds_of(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
