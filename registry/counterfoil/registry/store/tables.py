"""The primitive reads and writes that a storage is made of, and the carrying out of plans in terms of them.

Everything that decides whether a write may happen is here, once; a storage brings the primitives and a transaction
around :func:`apply`. All checks of a plan come before its first write.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, TypeAlias

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.versions import VersionEntry, reference_exists
from counterfoil.registry.service.storage import (
    SCOPE_SETTINGS,
    Append,
    Appended,
    DropContext,
    HardDelete,
    PutRecords,
    PutSettings,
    SoftDelete,
    Together,
)
from counterfoil.registry.store.refusals import (
    context_not_empty,
    id_taken,
    record_changed,
    settings_changed,
    still_active,
    subject_changed,
    target_gone,
)
from counterfoil.registry.store.terms import scopes_behind
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, SubjectPrefix
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.service.storage import Plan, Record, RecordWrite, ScopeSettings, Target, Totals, Use
    from counterfoil.schema.rest.object_forms import Document


class Reads(Protocol):
    """The primitive reads; see :class:`counterfoil.registry.service.storage.Storage` for what each gives."""

    def history(self, subject: QualifiedSubject) -> History:
        """All versions of a subject."""

    def content(self, guid: UUID) -> Content | None:
        """The content with this fingerprint."""

    def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """What an id stands for."""

    def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """The id of a content in a context."""

    def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """All ids of a content."""

    def max_id(self, context: str) -> int:
        """The highest id seen in a context."""

    def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """The versions that hold an id."""

    def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """The versions that refer to a version."""

    def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """The subjects whose names begin so."""

    def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, first: int, last: int) -> str:
        """The names of those subjects, as the text of a JSON array."""

    def totals(self) -> Totals:
        """How much is stored."""

    def contexts(self) -> Sequence[str]:
        """The known contexts."""

    def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """What is stored for a scope."""

    def settings_revision(self) -> int:
        """The stamp of the last change of settings."""

    def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with settings."""

    def records(self, kind: str, prefix: tuple[str, ...]) -> Sequence[Record]:
        """The records of a kind whose keys begin so."""

    def changes(self, after: int, limit: int) -> Sequence[Change]:
        """The changes after one, so many at most."""

    def changes_of(self, subject: QualifiedSubject, until: int) -> Sequence[Change]:
        """The changes of one scope up to a number."""

    def has_changed(self, scope: QualifiedSubject, since: int) -> bool:
        """Whether config or mode of a scope, or a record noted there, was written to after the change ``since``."""

    def last_change(self, until_ts: int | None) -> int:
        """The number of the last change up to a time."""


class Tables(Reads, Protocol):
    """The primitive writes, beside the reads. They check nothing."""

    def put_content(self, content: Content) -> None:
        """Store a content, if it is not there."""

    def take_id(self, context: str) -> int:
        """The next id of a context, which is thereby given out; the context exists afterwards."""

    def claim_id(self, context: str, schema_id: int, guid: UUID) -> None:
        """Take an id that the caller chose: none up to it is given out again, no other id of the content is primary.

        The context exists afterwards.
        """

    def bind_id(self, context: str, schema_id: int, guid: UUID, targets: Sequence[Target]) -> None:
        """Make an id, taken or claimed, stand for a content that refers to ``targets``; it is the primary one."""

    def release_id(self, context: str, schema_id: int) -> None:
        """Forget an id that no version holds, and its content where no other id holds it."""

    def put_version(self, subject: QualifiedSubject, entry: VersionEntry) -> None:
        """Store a version, over whatever row has its number."""

    def mark_deleted(self, subject: QualifiedSubject, version: int) -> None:
        """Soft-delete a version."""

    def remove_version(self, subject: QualifiedSubject, version: int) -> None:
        """Remove a version's row."""

    def touch(self, subject: QualifiedSubject) -> None:
        """Give the subject the number of the last change as its revision; a subject without rows goes."""

    def put_settings(self, scope: QualifiedSubject, settings: ScopeSettings) -> None:
        """Store config and mode of a scope; the number of the last change is the settings' revision."""

    def revision_of_record(self, write: RecordWrite) -> int:
        """The revision of the record that a write is about; 0 when there is none."""

    def put_record(self, write: RecordWrite) -> None:
        """Store or remove a record; the number of the last change is its revision."""

    def touch_settings(self) -> None:
        """Make the number of the last change the settings' revision."""

    def note(
        self,
        kind: ChangeKind,
        subject: QualifiedSubject,
        *,
        version: int | None = None,
        schema_id: int | None = None,
        guid: UUID | None = None,
        document: Document | None = None,
    ) -> None:
        """Add a change, under the next number."""

    def drop_context(self, context: str) -> None:
        """Take a context out of the listing; its ids stay given out."""


def now_ms() -> int:
    """The time, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


_SinglePlan: TypeAlias = Append | SoftDelete | HardDelete | PutSettings | DropContext | PutRecords


def apply(tables: Tables, plan: Plan) -> Appended | None:
    """Carry out ``plan``: check what it was decided on, then write."""
    if not isinstance(plan, Together):
        _check_settings(tables, plan)
        return _carry_out(tables, plan)
    parts = (plan.records, *plan.plans)
    for part in parts:
        _check_settings(tables, part)
        _check(tables, part)
    for part in parts:
        _carry_out(tables, part)
    return None


def _check(tables: Tables, part: PutRecords | Append | HardDelete) -> None:
    """All checks of a plan but that of the settings, and nothing else."""
    match part:
        case PutRecords():
            _check_records(tables, part)
        case Append():
            _current(tables, part)
            _check_targets(tables, part.targets)
            _check_id(tables, part)
        case HardDelete():
            _current(tables, part)
            _check_unreferenced(tables, part, deleted_count=True)


def _carry_out(tables: Tables, plan: _SinglePlan) -> Appended | None:
    """Check all but the settings, then write."""
    match plan:
        case Append():
            return _append(tables, plan)
        case SoftDelete():
            _soft_delete(tables, plan)
        case HardDelete():
            _hard_delete(tables, plan)
        case PutSettings():
            _put_settings(tables, plan)
        case DropContext():
            _drop_context(tables, plan)
        case PutRecords():
            _put_records(tables, plan)
    return None


def _append(tables: Tables, plan: Append) -> Appended:
    history = _current(tables, plan)
    _check_targets(tables, plan.targets)
    context, guid = plan.subject.context, plan.content.guid
    known = _check_id(tables, plan)
    version = plan.version or history.next_version
    tables.put_content(plan.content)
    schema_id = known if plan.schema_id is None else plan.schema_id
    if schema_id is None:
        schema_id = tables.take_id(context)
    if known != schema_id:
        if plan.schema_id is not None:
            tables.claim_id(context, schema_id, guid)
        tables.bind_id(context, schema_id, guid, plan.targets)
    replaced = next((entry for entry in history.entries if entry.version == version), None)
    ts = now_ms() if plan.ts is None else plan.ts
    tables.put_version(plan.subject, VersionEntry(version, schema_id, guid, deleted=False, ts=ts))
    tables.note(ChangeKind.REGISTERED, plan.subject, version=version, schema_id=schema_id, guid=guid)
    if replaced is not None:
        _release_unused(tables, context, {replaced.schema_id})
    for entry in history.entries:
        if entry.deleted and entry.schema_id == schema_id and entry.version < version:
            _drop_superseded(tables, plan.subject, entry)
    tables.touch(plan.subject)
    return Appended(schema_id, version)


def _check_id(tables: Tables, plan: Append) -> int | None:
    """The id that already stands for the plan's content under the plan's terms, or None."""
    context, guid = plan.subject.context, plan.content.guid
    if plan.schema_id is None:
        return tables.id_of_guid(context, guid)
    bound = tables.guid_of_id(context, plan.schema_id)
    if bound is not None and bound != guid:
        raise id_taken(plan)
    return plan.schema_id if bound is not None else None


def _check_targets(tables: Tables, targets: Iterable[Target]) -> None:
    for target in targets:
        found = tables.history(target.subject).find(target.version, deleted=not target.must_be_active)
        if found is None:
            raise target_gone(target.subject, target.version)


def _drop_superseded(tables: Tables, subject: QualifiedSubject, entry: VersionEntry) -> None:
    if not tables.referrers(subject, entry.version):
        tables.remove_version(subject, entry.version)
        _note_version(tables, ChangeKind.REMOVED, subject, entry)


def _soft_delete(tables: Tables, plan: SoftDelete) -> None:
    history = _current(tables, plan)
    _check_unreferenced(tables, plan, deleted_count=False)
    marked = [entry for entry in history.entries if entry.version in plan.versions]
    for entry in marked:
        tables.mark_deleted(plan.subject, entry.version)
        _note_version(tables, ChangeKind.DELETED, plan.subject, entry)
    if marked:
        tables.touch(plan.subject)


def _note_version(tables: Tables, kind: ChangeKind, subject: QualifiedSubject, entry: VersionEntry) -> None:
    tables.note(kind, subject, version=entry.version, schema_id=entry.schema_id, guid=entry.guid)


def _hard_delete(tables: Tables, plan: HardDelete) -> None:
    history = _current(tables, plan)
    _check_unreferenced(tables, plan, deleted_count=True)
    _remove(tables, plan.subject, history, set(plan.versions))


def _remove(tables: Tables, subject: QualifiedSubject, history: History, versions: set[int]) -> None:
    gone = [entry for entry in history.entries if entry.version in versions]
    if not gone:
        return
    for entry in gone:
        tables.remove_version(subject, entry.version)
        _note_version(tables, ChangeKind.REMOVED, subject, entry)
    _release_unused(tables, subject.context, {entry.schema_id for entry in gone})
    tables.touch(subject)
    stored = tables.settings(subject)
    if len(gone) == len(history.entries) and not subject.is_context and (stored.config or stored.mode):
        _put_scope(tables, subject, type(stored)())


def _release_unused(tables: Tables, context: str, schema_ids: set[int]) -> None:
    for schema_id in schema_ids:
        if not tables.uses(context, schema_id):
            tables.release_id(context, schema_id)


def _check_unreferenced(tables: Tables, plan: SoftDelete | HardDelete, *, deleted_count: bool) -> None:
    for version in plan.versions:
        for use in tables.referrers(plan.subject, version):
            own = plan.ignore_own_references and use.subject == plan.subject
            if not own and (deleted_count or not use.deleted):
                raise reference_exists(plan.subject, version, by=use.subject, by_version=use.version)


def _put_settings(tables: Tables, plan: PutSettings) -> None:
    purged = _purgeable(tables, plan.purge) if plan.purge is not None else ()
    for subject in purged:
        history = tables.history(subject)
        _remove(tables, subject, history, {entry.version for entry in history.entries})
    for scope, settings in plan.scopes:
        _put_scope(tables, scope, settings)


def _put_scope(tables: Tables, scope: QualifiedSubject, settings: ScopeSettings) -> None:
    tables.note(ChangeKind.SETTINGS, scope, document=SCOPE_SETTINGS.write(settings))
    tables.put_settings(scope, settings)


def _purgeable(tables: Tables, scope: SubjectPrefix | QualifiedSubject) -> Sequence[QualifiedSubject]:
    """The subjects in ``scope``, all of whose versions are soft-deleted and referred to by none that stays."""
    if isinstance(scope, SubjectPrefix):
        subjects = tables.subjects(scope, Visibility.WITH_DELETED)
    else:
        subjects = [scope] if tables.history(scope).entries else []
    for subject in subjects:
        history = tables.history(subject)
        if history.active:
            raise still_active(subject)
        for entry in history.entries:
            _check_unreferenced_outside(tables, subject, entry.version, set(subjects))
    return subjects


def _check_unreferenced_outside(
    tables: Tables, subject: QualifiedSubject, version: int, inside: set[QualifiedSubject]
) -> None:
    for use in tables.referrers(subject, version):
        if use.subject not in inside:
            raise reference_exists(subject, version, by=use.subject, by_version=use.version)


def _drop_context(tables: Tables, plan: DropContext) -> None:
    if tables.subjects(SubjectPrefix(plan.context, ""), Visibility.WITH_DELETED):
        raise context_not_empty(plan.context)
    tables.drop_context(plan.context)
    tables.note(ChangeKind.CONTEXT_DELETED, QualifiedSubject(plan.context, ""))


def _check_records(tables: Tables, plan: PutRecords) -> None:
    for subject, revision in plan.subjects:
        if tables.history(subject).revision != revision:
            raise subject_changed(subject)
    for write in plan.writes:
        if tables.revision_of_record(write) != write.revision:
            raise record_changed(write)
    for subject in plan.unreferenced:
        for entry in tables.history(subject).entries:
            _check_unreferenced_outside(tables, subject, entry.version, {subject})


def _put_records(tables: Tables, plan: PutRecords) -> None:
    _check_records(tables, plan)
    for write in plan.writes:
        tables.note(ChangeKind.RECORD, TOP_LEVEL, document={"kind": write.kind, "key": list(write.key)})
        tables.put_record(write)
    if plan.settings_revision is not None:
        tables.touch_settings()


def _current(tables: Tables, plan: Append | SoftDelete | HardDelete) -> History:
    history = tables.history(plan.subject)
    if history.revision != plan.revision:
        raise subject_changed(plan.subject)
    return history


def _check_settings(tables: Tables, plan: _SinglePlan) -> None:
    if isinstance(plan, DropContext) or plan.settings_revision is None:
        return
    if tables.settings_revision() == plan.settings_revision:
        return
    scopes = None if isinstance(plan, PutRecords) else scopes_behind(plan)
    if scopes is None or any(tables.has_changed(scope, plan.settings_revision) for scope in scopes):
        raise settings_changed()
