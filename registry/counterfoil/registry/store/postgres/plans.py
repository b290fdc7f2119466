"""Plans as arguments of the database's ``commit``, and its results as outcomes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from counterfoil.registry.store.changes import SCOPE_SETTINGS, JournalChangeKind, WrittenChanges, document_text
from counterfoil.registry.store.records import change_of, event_row, key_text
from counterfoil.registry.store.writes import (
    AtRevision,
    DropContext,
    DropEvents,
    IdFree,
    IdOf,
    MarkDeleted,
    PutRecord,
    PutSettings,
    PutVersion,
    RecordAt,
    RecordEvents,
    ReferenceTarget,
    RefreshRecord,
    RemoveVersions,
    SameTerms,
    SubjectCount,
    Unreferenced,
)
from counterfoil.schema.rest.schemas import metadata_document, reference_documents, rule_set_document
from counterfoil.schema.rest.subjects import config_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.store.changes import JournalChange
    from counterfoil.registry.store.writes import Effect, Guard, StoragePlan
    from counterfoil.registry.subjects.versions import Content
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document


_GUID: Final = 7
_DELETIONS: Final = frozenset({JournalChangeKind.DELETED, JournalChangeKind.REMOVED})


def name_of(text: str) -> str:
    """Return a name that the database can store: PostgreSQL does not permit U+0000.

    No stored name has a control character, so that a replacement finds nothing, either.
    """
    return text.replace("\x00", "\x01")


@dataclass(frozen=True, slots=True)
class CommitBatch:
    """The three arguments of ``commit``: the plans as one JSON text, the contents' fingerprints, and their texts."""

    plans: str
    guids: list[UUID]
    texts: list[bytes]


def batch_of(plans: Sequence[StoragePlan]) -> CommitBatch:
    """Return the arguments of ``commit`` that carry out ``plans``."""
    contents: list[Content] = []
    documents = [
        {
            "guards": [_guard_document(guard) for guard in plan.guards],
            "effects": [_effect_document(effect, contents) for effect in plan.effects],
            "by": {"author": plan.author.principal, "request_id": plan.author.request_id},
        }
        for plan in plans
    ]
    return CommitBatch(
        json.dumps(documents), [content.guid for content in contents], [content.text.encode() for content in contents]
    )


def _guard_document(guard: Guard) -> Document:
    match guard:
        case AtRevision():
            return {"is": "revision", **_place(guard.subject), "revision": guard.revision}
        case SameTerms():
            scopes = None if guard.scopes is None else [list(_place(scope).values()) for scope in guard.scopes]
            return {"is": "terms", "revision": guard.revision, "scopes": scopes}
        case ReferenceTarget():
            place = _place(guard.subject)
            return {"is": "target", **place, "version": guard.version, "active": guard.must_be_active}
        case IdFree():
            return {"is": "free", "context": name_of(guard.context), "id": guard.schema_id, "guid": str(guard.guid)}
        case IdOf():
            return {"is": "id", "context": name_of(guard.context), "id": guard.schema_id, "guid": str(guard.guid)}
        case Unreferenced():
            return {"is": "unreferenced", **_place(guard.subject), **_references(guard)}
        case RecordAt():
            key = name_of(key_text(guard.key))
            return {"is": "record", "kind": guard.kind, "key": key, "revision": guard.revision}
        case SubjectCount():
            return {"is": "subjects", "context": _context(guard.context), "count": guard.count}


def _references(guard: Unreferenced) -> Document:
    inside = guard.inside
    return {
        "versions": guard.versions,
        "deleted_count": guard.deleted_count,
        "inside": None if inside is None else [_context(inside.context), _context(inside.name)],
    }


def _effect_document(effect: Effect, contents: list[Content]) -> Document:
    match effect:
        case PutVersion():
            contents.append(effect.content)
            return _put_version(effect, content=len(contents))
        case MarkDeleted():
            return {"do": "mark", **_place(effect.subject), "versions": effect.versions}
        case RemoveVersions():
            return {"do": "remove", **_place(effect.subject), "versions": effect.versions}
        case PutSettings():
            return _put_settings(effect)
        case PutRecord():
            return _put_record(effect)
        case RefreshRecord():
            return {"do": "refresh", **_record(effect)}
        case DropContext():
            return {"do": "drop", "context": name_of(effect.context)}
        case RecordEvents():
            return {"do": "events", "rows": [list(event_row(event)) for event in effect.events]}
        case DropEvents():
            return {"do": "drop-events", "until": effect.until}


def _put_version(put: PutVersion, *, content: int) -> Document:
    held = put.content
    references = reference_documents(held.references)
    return {
        "do": "version",
        **_place(put.subject),
        "version": put.version,
        "targets": [[*_place(target.subject).values(), target.version] for target in put.targets],
        "schema_id": put.schema_id,
        "ts": put.ts,
        "replaced": None if put.replaced is None else put.replaced.schema_id,
        "content": content,
        "schema_type": held.schema_type.value,
        "refs": json.dumps(references) if references else None,
        "metadata": document_text(metadata_document(held.metadata)),
        "rule_set": document_text(rule_set_document(held.rule_set)),
    }


def _put_settings(put: PutSettings) -> Document:
    config = None if put.settings.config is None else json.dumps(config_document(put.settings.config))
    document = json.dumps(SCOPE_SETTINGS.write(put.settings))
    return {"do": "settings", **_place(put.scope), "config": config, "mode": put.settings.mode, "document": document}


def _put_record(put: PutRecord) -> Document:
    return {
        "do": "record",
        **_record(put),
        "is_term": put.is_term,
        "noted": json.dumps(put.noted),
    }


def _record(put: PutRecord | RefreshRecord) -> Document:
    document = None if put.document is None else json.dumps(put.document, sort_keys=True)
    return {"kind": put.kind, "key": name_of(key_text(put.key)), "document": document}


def _place(subject: QualifiedSubject) -> dict[str, str]:
    return {"context": name_of(subject.context), "name": name_of(subject.name)}


def _context(name: str | None) -> str | None:
    return None if name is None else name_of(name)


# --- outcomes ---------------------------------------------------------------------------------------------------------


def outcomes_of(plans: Sequence[StoragePlan], answer: Document) -> list[WrittenChanges | Exception]:
    """Return the outcomes of ``plans`` from the database's result."""
    changes = [change_of(row, None if row[_GUID] is None else UUID(row[_GUID])) for row in answer["changes"]]
    begun: int = answer["begun"]
    outcomes: list[WrittenChanges | Exception] = []
    for plan, said in zip(plans, answer["outcomes"], strict=True):
        if "refused" in said:
            outcomes.append(plan.guards[said["refused"]].refusal())
        else:
            own = changes[begun - answer["begun"] : said["ended"] - answer["begun"]]
            outcomes.append(_written(plan, tuple(own), shares_id=said["shares_id"]))
            begun = said["ended"]
    return outcomes


def _written(plan: StoragePlan, changes: tuple[JournalChange, ...], *, shares_id: bool) -> WrittenChanges:
    """Return the outcome of a plan; ``shares_id``: a new version has an id that existed, or replaces another one."""
    has_own_times = any(put.ts is not None for put in plan.new_versions)
    return WrittenChanges(
        changes,
        plan.changes_terms,
        decided_on={} if has_own_times else _revisions(plan),
        is_leased=shares_id or plan.changes_leased or any(change.kind in _DELETIONS for change in changes),
    )


def _revisions(plan: StoragePlan) -> dict[QualifiedSubject, int]:
    return {guard.subject: guard.revision for guard in plan.guards if isinstance(guard, AtRevision)}
