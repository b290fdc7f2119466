"""Plans as the documents that the database's ``commit`` takes, and what it answers as outcomes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.registry.domain.versions import reference_exists
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
from counterfoil.registry.store.record_keys import key_text
from counterfoil.registry.store.refusals import (
    context_not_empty,
    id_taken,
    record_changed,
    settings_changed,
    still_active,
    subject_changed,
    target_gone,
)
from counterfoil.registry.store.stored_rows import document_text
from counterfoil.registry.store.terms import scopes_behind
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import StoreUnavailable
from counterfoil.schema.rest.config import config_document
from counterfoil.schema.rest.schemas import metadata_document, reference_documents, rule_set_document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.service.storage import Plan, RecordWrite, ScopeSettings
    from counterfoil.schema.errors import CounterfoilError
    from counterfoil.schema.rest.object_forms import Document


def name_of(text: str) -> str:
    """A name as the database can hold it: PostgreSQL knows no U+0000.

    No stored name has a control character, so another one in its place finds just as little.
    """
    return text.replace("\x00", "\x01")


@dataclass(frozen=True, slots=True)
class Batch:
    """The three arguments of ``commit``: the plans as one JSON text, the contents' fingerprints, and their texts."""

    plans: str
    guids: list[UUID]
    texts: list[bytes]


def batch_of(plans: Sequence[Plan]) -> Batch:
    """What to call ``commit`` with to carry out ``plans``."""
    contents: list[Content] = []
    documents = [_document(plan, contents) for plan in plans]
    return Batch(
        json.dumps(documents), [content.guid for content in contents], [content.text.encode() for content in contents]
    )


def _document(plan: Plan, contents: list[Content]) -> Document:
    match plan:
        case Append():
            contents.append(plan.content)
            return _append(plan, content=len(contents))
        case SoftDelete():
            return _delete(plan, "soft")
        case HardDelete():
            return _delete(plan, "hard")
        case PutSettings():
            return _put_settings(plan)
        case DropContext():
            return {"kind": "drop", "context": name_of(plan.context)}
        case PutRecords():
            return _put_records(plan)
        case Together():
            parts = (plan.records, *plan.plans)
            return {"kind": "together", "plans": [_document(part, contents) for part in parts]}


def _append(plan: Append, *, content: int) -> Document:
    held = plan.content
    references = reference_documents(held.references)
    return {
        "kind": "append",
        **_decided_on(plan),
        "targets": [
            [*_place(target.subject).values(), target.version, target.must_be_active] for target in plan.targets
        ],
        "schema_id": plan.schema_id,
        "version": plan.version,
        "ts": plan.ts,
        "content": content,
        "schema_type": held.schema_type.value,
        "refs": json.dumps(references) if references else None,
        "metadata": document_text(metadata_document(held.metadata)),
        "rule_set": document_text(rule_set_document(held.rule_set)),
    }


def _delete(plan: SoftDelete | HardDelete, kind: str) -> Document:
    return {
        "kind": kind,
        **_decided_on(plan),
        "versions": plan.versions,
        "ignore_own": plan.ignore_own_references,
    }


def _decided_on(plan: Append | SoftDelete | HardDelete) -> Document:
    """The subject that a plan is about, and what it was decided on."""
    return {
        **_place(plan.subject),
        "revision": plan.revision,
        **_terms(plan),
    }


def _terms(plan: Append | SoftDelete | HardDelete | PutSettings) -> Document:
    """What of config and modes a plan was decided on; without ``terms`` it was all."""
    document: Document = {"settings_revision": plan.settings_revision}
    scopes = scopes_behind(plan)
    if scopes is not None:
        document["terms"] = [list(_place(scope).values()) for scope in scopes]
    return document


def _put_settings(plan: PutSettings) -> Document:
    document: Document = {
        "kind": "settings",
        **_terms(plan),
        "scopes": [{**_place(scope), **_stored(settings)} for scope, settings in plan.scopes],
    }
    if plan.purge is not None:
        context = None if plan.purge.context is None else name_of(plan.purge.context)
        whole = isinstance(plan.purge, QualifiedSubject)
        document["purge"] = {"context": context, "name": name_of(plan.purge.name), "whole": whole}
    return document


def _stored(settings: ScopeSettings) -> Document:
    config = None if settings.config is None else json.dumps(config_document(settings.config))
    document = json.dumps(SCOPE_SETTINGS.write(settings))
    return {"config": config, "mode": settings.mode, "document": document}


def _put_records(plan: PutRecords) -> Document:
    return {
        "kind": "records",
        "settings_revision": plan.settings_revision,
        "subjects": [{**_place(subject), "revision": revision} for subject, revision in plan.subjects],
        "unreferenced": [_place(subject) for subject in plan.unreferenced],
        "writes": [_write(write) for write in plan.writes],
    }


def _write(write: RecordWrite) -> Document:
    return {
        "kind": write.kind,
        "key": name_of(key_text(write.key)),
        "revision": write.revision,
        "document": None if write.document is None else json.dumps(write.document, sort_keys=True),
        "noted": json.dumps({"kind": write.kind, "key": list(write.key)}),
    }


def _place(subject: QualifiedSubject) -> dict[str, str]:
    return {"context": name_of(subject.context), "name": name_of(subject.name)}


# --- outcomes ---------------------------------------------------------------------------------------------------------


def outcome_of(plan: Plan, said: dict[str, Any] | None) -> Appended | CounterfoilError | None:
    """What became of ``plan``, from the database's answer about it."""
    if said is None:
        return None
    if "refused" in said:
        return _refusal(
            (plan.records, *plan.plans)[said.get("part", 1) - 1] if isinstance(plan, Together) else plan, said
        )
    return Appended(said["id"], said["version"], ts=said["ts"], revision=said["revision"], shares_id=said["shares_id"])


def changes_known_ids(plan: Plan, outcome: Appended | None) -> bool:
    """Whether a plan that was carried out concerns an id that was there before."""
    match plan:
        case Append():
            return outcome is None or outcome.shares_id
        case PutSettings():
            return plan.purge is not None
        case DropContext() | PutRecords():
            return False
        case SoftDelete() | HardDelete() | Together():
            return True


def _refusal(plan: Plan, said: dict[str, Any]) -> CounterfoilError:
    match said["refused"], plan:
        case "settings", _:
            return settings_changed()
        case "subject", Append() | SoftDelete() | HardDelete():
            return subject_changed(plan.subject)
        case "subject", PutRecords():
            return subject_changed(plan.subjects[said["position"] - 1][0])
        case "record", PutRecords():
            return record_changed(plan.writes[said["position"] - 1])
        case "target", _:
            context, name, version, _ = said["target"]
            return target_gone(QualifiedSubject(context, name), version)
        case "id", Append():
            return id_taken(plan)
        case "active", _:
            return still_active(QualifiedSubject(said["context"], said["name"]))
        case "context", DropContext():
            return context_not_empty(plan.context)
        case "reference", _:
            by = QualifiedSubject(said["by_context"], said["by_name"])
            held = QualifiedSubject(said["context"], said["name"])
            return reference_exists(held, said["version"], by=by, by_version=said["by_version"])
    return StoreUnavailable(f"The database refused a write for a reason that is not known here: {said['refused']!r}")
