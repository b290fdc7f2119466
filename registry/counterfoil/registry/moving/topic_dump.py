"""The facts in a dump of the ``_schemas`` topic of Confluent's registry or Karapace."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.moving.facts import (
    ContextFact,
    MovingError,
    RecordFact,
    SettingsFact,
    Unreadable,
    VersionFact,
    read_content,
    whole_number,
)
from counterfoil.registry.moving.sources import Canonicaliser
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, RegistryError
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.subjects import Mode, read_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from pathlib import Path
    from uuid import UUID

    from counterfoil.registry.moving.facts import Key
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.subjects import Config


# Reading a dump of the ``_schemas`` topic line by line: keys and values, in the formats of several tools.
#
# ``kafka-console-consumer --property print.key=true`` prints key, tab, value, and before them other fields as requested
# (``CreateTime:…``, ``Partition:…``, ``Offset:…``). JSON lines are ``{"key": …, "value": …}``, where both may be texts
# with JSON, as ``kcat -J`` (with ``payload``) and ``rpk`` print them.
#
# Source: Apache Kafka's documentation of its console consumer; kcat's documentation of its JSON output.

_TIME: Final = re.compile(r"(?:CreateTime|LogAppendTime):(\d+)\t")
_OTHER: Final = re.compile(r"(?:NO_TIMESTAMP|Partition:\d+|Offset:\d+|NO_HEADERS|[\w.-]+:[^\t{}]*)\t")
_NULL: Final = ("", "null")
_TRAILER: Final = re.compile(r"Processed a total of \d+ messages?")


@dataclass(frozen=True, slots=True)
class SchemasTopicRecord:
    """One record: key and value as JSON values, None for a tombstone; when it was written (epoch ms), if printed."""

    line: int
    key: Document
    value: Document | None
    ts: int | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record, and why."""

    line: int
    problem: str


def read_lines(path: Path) -> Iterator[SchemasTopicRecord | BadLine]:
    """Yield the records of a dump, in order; blank lines and the consumer's last line are skipped."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.rstrip(b"\r\n")
                if line.strip() and not _TRAILER.fullmatch(line.decode("utf-8", "replace").strip()):
                    yield _read(number, line)
    except (OSError, EOFError) as error:
        raise MovingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _read(number: int, raw: bytes) -> SchemasTopicRecord | BadLine:
    try:
        line = raw.decode()
        return _as_json_line(number, line) or _as_printed(number, line)
    except UnicodeDecodeError:
        return BadLine(number, "this is not UTF-8")
    except (ValueError, RecursionError) as error:
        return BadLine(number, f"this is no record of a schemas topic ({error})")


def _as_json_line(number: int, line: str) -> SchemasTopicRecord | None:
    """Return the record in a JSON line; None if the line is none."""
    if not line.startswith("{"):
        return None
    try:
        document = json.loads(line)
    except ValueError:
        return None
    if "key" not in document:
        return None
    ts = document.get("ts", document.get("timestamp"))
    return SchemasTopicRecord(
        number,
        _key(_unwrapped(document["key"])),
        _value(_unwrapped(document.get("value", document.get("payload")))),
        ts if isinstance(ts, int) else None,
    )


def _as_printed(number: int, line: str) -> SchemasTopicRecord:
    """Return the record in a line that a console consumer printed."""
    ts = None
    while not line.startswith("{"):
        timed = _TIME.match(line)
        found = timed or _OTHER.match(line)
        if found is None:
            raise ValueError("it does not begin with a key in JSON; was it dumped with print.key=true?")
        ts = int(timed[1]) if timed else ts
        line = line[found.end() :]
    key, end = json.JSONDecoder().raw_decode(line)
    rest = line[end:]
    if not rest.startswith("\t"):
        raise ValueError("there is no tab after the key")
    return SchemasTopicRecord(number, _key(key), _value(_unwrapped(rest[1:].strip())), ts)


def _unwrapped(value: Any) -> Any:
    """Return a JSON value, parsed if it is a text with JSON."""
    if not isinstance(value, str):
        return value
    return None if value in _NULL else json.loads(value)


def _key(value: Any) -> Document:
    if isinstance(value, dict) and isinstance(value.get("keytype"), str):
        return value
    raise ValueError("its key is not a JSON object with a keytype")


def _value(value: Any) -> Document | None:
    if value is None or isinstance(value, dict):
        return value
    raise ValueError("its value is neither a JSON object nor null")


# The facts in a dump of the topic in which Confluent's registry and Karapace store theirs (``_schemas``).
#
# The records are applied in order, so that later ones win, as when a registry starts; records that the topic's
# compaction removed were overwritten anyway. Keys are compared by their fields and not by their spelling, since the two
# registries order a key's fields differently. The whole topic is held in memory, as in these registries.
#
# Source: public dumps of the topic, and Karapace's source (Apache-2.0), which reads them.


@dataclass(frozen=True, slots=True)
class _Stored:
    """A version in the topic. ``is_canonical``: the record's own hash shows that its text is canonical."""

    fact: VersionFact
    is_canonical: bool


@dataclass(slots=True)
class _State:
    """The state after the records that were read."""

    versions: dict[QualifiedSubject, dict[int, _Stored]] = field(default_factory=dict)
    configs: dict[QualifiedSubject, Config] = field(default_factory=dict)
    modes: dict[QualifiedSubject, Mode] = field(default_factory=dict)
    max_ids: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def _deleted(fact: VersionFact) -> VersionFact:
    return VersionFact(fact.subject, fact.version, fact.schema_id, fact.content, deleted=True, ts=fact.ts)


def _schema(state: _State, record: SchemasTopicRecord) -> None:
    subject, number = _subject(record.key), whole_number(record.key, "version", least=1)
    if record.value is None:
        state.versions.get(subject, {}).pop(number, None)
        return
    content = read_content(record.value)
    ts = record.value.get("ts", record.ts)
    fact = VersionFact(
        subject,
        number,
        whole_number(record.value, "id"),
        content,
        deleted=record.value.get("deleted") is True,
        ts=ts if isinstance(ts, int) else None,
    )
    is_canonical = _md5(record.value) == content.guid.bytes
    state.versions.setdefault(subject, {})[number] = _Stored(fact, is_canonical)
    state.max_ids[subject.context] = max(state.max_ids.get(subject.context, 0), fact.schema_id)


def _config(state: _State, record: SchemasTopicRecord) -> None:
    scope = _scope(record.key)
    if record.value is None:
        state.configs.pop(scope, None)
        return
    state.configs[scope] = read_config(RequestJson(record.value))


def _mode(state: _State, record: SchemasTopicRecord) -> None:
    scope = _scope(record.key)
    if record.value is None:
        state.modes.pop(scope, None)
        return
    state.modes[scope] = RequestJson(record.value).member("mode").one_of(Mode, any_case=True)


def _delete_subject(state: _State, record: SchemasTopicRecord) -> None:
    """Soft-delete the versions up to the one in the value."""
    if record.value is None:
        return
    held = state.versions.get(_subject(record.value if "subject" in record.value else record.key), {})
    up_to = RequestJson(record.value).member("version").integer()
    for number, stored in held.items():
        if number <= up_to:
            held[number] = _Stored(_deleted(stored.fact), stored.is_canonical)


def _clear_subject(state: _State, record: SchemasTopicRecord) -> None:
    """Remove the soft-deleted versions, as a registry does when a subject is set to IMPORT mode."""
    if record.value is not None:
        held = state.versions.get(_subject(record.key), {})
        for number in [number for number, stored in held.items() if stored.fact.deleted]:
            del held[number]


def _pass_over(state: _State, record: SchemasTopicRecord) -> None:
    """Ignore a record that has no content."""


_HANDLERS: Final[Mapping[str, Callable[[_State, SchemasTopicRecord], None]]] = {
    "SCHEMA": _schema,
    "CONFIG": _config,
    "MODE": _mode,
    "DELETE_SUBJECT": _delete_subject,
    "CLEAR_SUBJECT": _clear_subject,
    "CONTEXT": _pass_over,  # a context exists from its first version on
    "NOOP": _pass_over,
}


def _take(state: _State, record: SchemasTopicRecord) -> None:
    """Apply one record; raise ``BadRequest`` if it cannot be parsed."""
    kind = record.key["keytype"]
    handle = _HANDLERS.get(kind)
    if handle is None:
        raise BadRequest(f"its key type is {kind!r}; expected one of {', '.join(_HANDLERS)}")
    handle(state, record)


def _subject(fields: Mapping[str, Any]) -> QualifiedSubject:
    return parse_subject(RequestJson(fields).member("subject").text())


def _scope(fields: Mapping[str, Any]) -> QualifiedSubject:
    return TOP_LEVEL if fields.get("subject") is None else _subject(fields)


def _md5(value: Mapping[str, Any]) -> bytes | None:
    """Return the hash in a schema's record, over text, references, metadata and rules; None if it has none."""
    try:
        return base64.b64decode(value["md5"], validate=True)
    except (KeyError, TypeError, binascii.Error, ValueError):
        return None


class TopicSource:
    """The facts in the dump ``path``, which is read at once.

    Lines that cannot be read are among its facts, as ``Unreadable``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = _State()
        self._canonical = Canonicaliser(self._find)
        self._guid_by_id: dict[tuple[str, int], UUID] = {}
        for record in read_lines(path):
            try:
                if isinstance(record, BadLine):
                    raise BadRequest(record.problem)
                _take(self._state, record)
            except RegistryError as error:
                self._state.problems.append(f"{path}, line {record.line}: {error}")

    @property
    def origin(self) -> str:
        """The source's name: the file's path."""
        return str(self._path)

    async def unreadable(self) -> list[Unreadable]:
        """Return the lines that cannot be read."""
        return [Unreadable(problem) for problem in self._state.problems]

    async def mark(self) -> object:
        """Return always the same value: the dump was read once."""
        return None

    async def subjects(self) -> list[QualifiedSubject]:
        """Return all subjects with a version."""
        return sorted(subject for subject, held in self._state.versions.items() if held)

    async def versions(self, subject: QualifiedSubject) -> list[VersionFact | Unreadable]:
        """Return all versions of a subject."""
        held = self._state.versions.get(subject, {})
        return [self._checked(await self._settled(held[number])) for number in sorted(held)]

    async def _settled(self, stored: _Stored) -> VersionFact | Unreadable:
        return stored.fact if stored.is_canonical else await self._canonical.canonical(stored.fact)

    def _checked(self, item: VersionFact | Unreadable) -> VersionFact | Unreadable:
        """Return ``item``, or ``Unreadable`` if its id was seen with another schema."""
        if isinstance(item, Unreadable):
            return item
        guid = item.content.guid
        if self._guid_by_id.setdefault((item.subject.context, item.schema_id), guid) == guid:
            return item
        return Unreadable(f"{item}: the topic has two schemas under id {item.schema_id}")

    async def _find(self, key: Key) -> VersionFact | None:
        stored = self._state.versions.get(key[0], {}).get(key[1])
        return None if stored is None else stored.fact

    async def bound_before(self, fact: VersionFact) -> list[Key]:
        """Return an empty list: the topic does not show which of several ids of one content look-ups return."""
        del fact
        return []

    async def contexts(self) -> list[ContextFact]:
        """Return all contexts, with the highest id in any record, also of versions that were deleted."""
        ids = self._state.max_ids
        return [ContextFact(name, ids[name]) for name in sorted(ids)]

    async def records(self) -> list[RecordFact]:
        """Return an empty list: keys and associations are not in this topic."""
        return []

    async def settings(self) -> AsyncIterator[SettingsFact]:
        """Yield the config and mode of every scope."""
        for scope in sorted({*self._state.configs, *self._state.modes}):
            yield SettingsFact(scope, self._state.configs.get(scope), self._state.modes.get(scope))
