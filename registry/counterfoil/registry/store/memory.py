"""A storage in memory: for tests, trials and ``sqlite://``."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.versions import History, VersionEntry
from counterfoil.registry.service.storage import ScopeSettings, Use, Visibility
from counterfoil.registry.store.local import LocalStorage
from counterfoil.registry.store.tables import apply
from counterfoil.schema.contexts import QualifiedSubject

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.service.storage import Appended, Plan, Target
    from counterfoil.schema.contexts import SubjectPrefix

_Key = tuple[QualifiedSubject, int]


@dataclass(slots=True)
class _Context:
    next_id: int = 1
    listed: bool = True
    guid_by_id: dict[int, UUID] = field(default_factory=dict)
    id_by_guid: dict[UUID, int] = field(default_factory=dict)
    targets_by_id: dict[int, tuple[_Key, ...]] = field(default_factory=dict)
    versions_by_id: dict[int, set[_Key]] = field(default_factory=dict)


class MemoryTables:
    """The primitives over dictionaries."""

    def __init__(self) -> None:
        self._change = 0
        self._settings_revision = 0
        self._histories: dict[QualifiedSubject, History] = {}
        self._contents: dict[UUID, Content] = {}
        self._contexts: dict[str, _Context] = {}
        self._referrers: dict[_Key, set[tuple[str, int]]] = {}
        self._settings: dict[QualifiedSubject, ScopeSettings] = {}

    def history(self, subject: QualifiedSubject) -> History:
        """All versions of a subject."""
        return self._histories.get(subject, History())

    def content(self, guid: UUID) -> Content | None:
        """The content with this fingerprint."""
        return self._contents.get(guid)

    def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """What an id stands for."""
        return self._context(context).guid_by_id.get(schema_id)

    def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """The id of a content in a context."""
        return self._context(context).id_by_guid.get(guid)

    def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """All ids of a content."""
        return sorted(
            (name, schema_id)
            for name, context in self._contexts.items()
            for schema_id, held in context.guid_by_id.items()
            if held == guid
        )

    def max_id(self, context: str) -> int:
        """The highest id seen in a context."""
        return self._context(context).next_id - 1

    def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """The versions that hold an id."""
        return sorted(self._use(key) for key in self._context(context).versions_by_id.get(schema_id, ()))

    def _use(self, key: _Key) -> Use:
        subject, version = key
        entry = self._histories[subject].find(version, deleted=True)
        if entry is None:
            raise KeyError(key)
        return Use(subject, version, entry.schema_id, entry.deleted, entry.ts)

    def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """The versions that refer to a version."""
        found = self._referrers.get((subject, version), set())
        return sorted(use for context, schema_id in found for use in self.uses(context, schema_id))

    def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """The subjects whose names begin so."""
        return sorted(
            subject
            for subject, history in self._histories.items()
            if prefix.context in (None, subject.context)
            and subject.name.startswith(prefix.name)
            and _is_listed(history, visibility)
        )

    def contexts(self) -> Sequence[str]:
        """The known contexts."""
        return sorted(name for name, context in self._contexts.items() if context.listed)

    def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """What is stored for a scope."""
        return self._settings.get(scope, ScopeSettings())

    def settings_revision(self) -> int:
        """The stamp of the last change of settings."""
        return self._settings_revision

    def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with settings."""
        return sorted(self._settings.items(), key=lambda item: item[0])

    def put_content(self, content: Content) -> None:
        """Store a content."""
        self._contents.setdefault(content.guid, content)

    def take_id(self, context: str) -> int:
        """Give out the next id."""
        found = self._contexts.setdefault(context, _Context())
        found.next_id += 1
        return found.next_id - 1

    def claim_id(self, context: str, schema_id: int, guid: UUID) -> None:
        """Take an id that the caller chose; binding makes it the primary one."""
        del guid
        found = self._contexts.setdefault(context, _Context())
        found.next_id = max(found.next_id, schema_id + 1)

    def bind_id(self, context: str, schema_id: int, guid: UUID, targets: Sequence[Target]) -> None:
        """Make an id stand for a content."""
        found = self._contexts[context]
        found.guid_by_id[schema_id] = guid
        found.id_by_guid[guid] = schema_id
        found.targets_by_id[schema_id] = tuple((target.subject, target.version) for target in targets)
        for key in found.targets_by_id[schema_id]:
            self._referrers.setdefault(key, set()).add((context, schema_id))

    def release_id(self, context: str, schema_id: int) -> None:
        """Forget an id."""
        found = self._contexts[context]
        guid = found.guid_by_id.pop(schema_id)
        for key in found.targets_by_id.pop(schema_id, ()):
            self._referrers[key].discard((context, schema_id))
        if found.id_by_guid.get(guid) == schema_id:
            others = [other for other, held in found.guid_by_id.items() if held == guid]
            del found.id_by_guid[guid]
            if others:
                found.id_by_guid[guid] = max(others)
        if not self.ids_of_guid(guid):
            del self._contents[guid]

    def put_version(self, subject: QualifiedSubject, version: int, schema_id: int) -> None:
        """Store a version as active."""
        context = self._contexts.setdefault(subject.context, _Context())
        context.listed = True
        if self.history(subject).find(version, deleted=True):
            self.remove_version(subject, version)
        entry = VersionEntry(version, schema_id, context.guid_by_id[schema_id], deleted=False, ts=_now_ms())
        self._set(subject, [*self.history(subject).entries, entry])
        context.versions_by_id.setdefault(schema_id, set()).add((subject, version))

    def mark_deleted(self, subject: QualifiedSubject, version: int) -> None:
        """Soft-delete a version."""
        entries = self.history(subject).entries
        self._set(subject, (replace(entry, deleted=True) if entry.version == version else entry for entry in entries))

    def remove_version(self, subject: QualifiedSubject, version: int) -> None:
        """Remove a version's row."""
        entries = self.history(subject).entries
        for entry in entries:
            if entry.version == version:
                self._contexts[subject.context].versions_by_id[entry.schema_id].discard((subject, version))
        self._set(subject, (entry for entry in entries if entry.version != version))

    def _set(self, subject: QualifiedSubject, entries: Iterable[VersionEntry]) -> None:
        ordered = tuple(sorted(entries, key=lambda entry: entry.version))
        self._histories[subject] = History(self.history(subject).revision, ordered)

    def touch(self, subject: QualifiedSubject) -> None:
        """Give the subject a new revision."""
        self._change += 1
        history = self.history(subject)
        if history.entries:
            self._histories[subject] = replace(history, revision=self._change)
        else:
            self._histories.pop(subject, None)

    def put_settings(self, scope: QualifiedSubject, settings: ScopeSettings) -> None:
        """Store config and mode of a scope."""
        self._change += 1
        self._settings_revision = self._change
        if settings == ScopeSettings():
            self._settings.pop(scope, None)
        else:
            self._settings[scope] = settings

    def drop_context(self, context: str) -> None:
        """Take a context out of the listing."""
        if context in self._contexts:
            self._contexts[context].listed = False

    def _context(self, name: str) -> _Context:
        return self._contexts.get(name) or _Context()


def _is_listed(history: History, visibility: Visibility) -> bool:
    if visibility is Visibility.ALL:
        return bool(history.entries)
    return bool(history.active) == (visibility is Visibility.ACTIVE) and bool(history.entries)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class MemoryStorage(LocalStorage):
    """A storage that is gone with the process."""

    def __init__(self) -> None:
        self._tables = MemoryTables()
        super().__init__(self._tables)

    async def commit(self, plan: Plan) -> Appended | None:
        """Carry out ``plan``."""
        outcome = apply(self._tables, plan)
        self._announce(plan, outcome)
        return outcome

    async def check(self) -> None:
        """Return: memory always answers."""

    async def close(self) -> None:
        """Nothing to let go of."""
