"""The facts in a dump of the topic in which Confluent's registry and Karapace store theirs (``_schemas``).

The records are applied in order, so that later ones win, as when a registry starts; records that the topic's compaction
removed were overwritten anyway. Keys are compared by their fields and not by their spelling, since the two registries
order a key's fields differently. The whole topic is held in memory, as in these registries.

Source: public dumps of the topic, and Karapace's source (Apache-2.0), which reads them.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.moving.canonical import Canonicaliser
from counterfoil.registry.moving.facts import (
    ContextFact,
    RecordFact,
    SettingsFact,
    Unreadable,
    VersionFact,
    read_content,
    whole_number,
)
from counterfoil.registry.moving.topic.lines import BadLine, read_lines
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, RegistryError
from counterfoil.schema.rest.config import read_config
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.modes import Mode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path
    from uuid import UUID

    from counterfoil.registry.moving.facts import Key
    from counterfoil.registry.moving.topic.lines import TopicRecord
    from counterfoil.schema.rest.config import Config


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


def _schema(state: _State, record: TopicRecord) -> None:
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


def _config(state: _State, record: TopicRecord) -> None:
    scope = _scope(record.key)
    if record.value is None:
        state.configs.pop(scope, None)
        return
    state.configs[scope] = read_config(RequestJson(record.value))


def _mode(state: _State, record: TopicRecord) -> None:
    scope = _scope(record.key)
    if record.value is None:
        state.modes.pop(scope, None)
        return
    state.modes[scope] = RequestJson(record.value).member("mode").one_of(Mode, any_case=True)


def _delete_subject(state: _State, record: TopicRecord) -> None:
    """Soft-delete the versions up to the one in the value."""
    if record.value is None:
        return
    held = state.versions.get(_subject(record.value if "subject" in record.value else record.key), {})
    up_to = RequestJson(record.value).member("version").integer()
    for number, stored in held.items():
        if number <= up_to:
            held[number] = _Stored(_deleted(stored.fact), stored.is_canonical)


def _clear_subject(state: _State, record: TopicRecord) -> None:
    """Remove the soft-deleted versions, as a registry does when a subject is set to IMPORT mode."""
    if record.value is not None:
        held = state.versions.get(_subject(record.key), {})
        for number in [number for number, stored in held.items() if stored.fact.deleted]:
            del held[number]


def _pass_over(state: _State, record: TopicRecord) -> None:
    """Ignore a record that has no content."""


_HANDLERS: Final[Mapping[str, Callable[[_State, TopicRecord], None]]] = {
    "SCHEMA": _schema,
    "CONFIG": _config,
    "MODE": _mode,
    "DELETE_SUBJECT": _delete_subject,
    "CLEAR_SUBJECT": _clear_subject,
    "CONTEXT": _pass_over,  # a context exists from its first version on
    "NOOP": _pass_over,
}


def _take(state: _State, record: TopicRecord) -> None:
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
