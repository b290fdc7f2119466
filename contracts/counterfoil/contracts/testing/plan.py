"""A test that is ready to run: its checks by kind, compiled, the schemas of writers, and the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

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
from counterfoil.contracts.testing.tally import Failures, RecordPlace, RepeatedKeys, Repeats, Tally, Window
from counterfoil.contracts.values.constraints import VARIABLES, read_rule, variables_of
from counterfoil.schema.datum import Datum
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
    """What reads messages of a writer with one suffix; each part is a function, or the error that all messages have."""

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
        """Return what makes columns of messages; None for a language whose messages become values first."""
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
    """A rule in CEL, compiled, and what it reads of a record."""

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
        """Return what the rule reads of each row; None if columns do not have it."""
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
