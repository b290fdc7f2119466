"""Plans that are made from the current state and carried out on a storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from counterfoil.registry.store.writes import (
    NO_REQUEST,
    AtRevision,
    Extent,
    IdFree,
    PutVersion,
    SameTerms,
    StoragePlan,
    record_write,
    same_terms,
    together,
)
from counterfoil.registry.subjects.planning import (
    plan_context_removal,
    plan_hard_deletion,
    plan_purge,
    plan_settings,
    plan_soft_deletion,
    plan_version,
    read_state,
)
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import SubjectPrefix, parse_subject
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.registry.store.changes import ScopeSettings
    from counterfoil.registry.store.protocol import Storage, StorageRecord
    from counterfoil.registry.store.writes import ReferenceTarget, Requester

ORDERS = parse_subject("orders")
ELSEWHERE = parse_subject(":.ctx:orders")
EVERYTHING = SubjectPrefix(None, "")
WHOLE = Extent()
"""The extent of a purge of the whole registry."""
SOFT, HARD = plan_soft_deletion, plan_hard_deletion


class Appended(NamedTuple):
    """The id and number of a new version."""

    schema_id: int
    version: int


def content(text: str, **parts: Any) -> Any:
    """Return the content of a schema with this text."""
    return make_content(f'"{text}"', SchemaType.AVRO, **parts)


def version_plan(
    subject: Any,
    content: Any,
    *targets: ReferenceTarget,
    revision: int = 0,
    settings_revision: int = 0,
    version: int = 1,
    schema_id: int | None = None,
) -> StoragePlan:
    """Return the plan of a version that was decided at these revisions."""
    ids = () if schema_id is None else (IdFree(subject.context, schema_id, content.guid),)
    return StoragePlan(
        (same_terms(subject, settings_revision), AtRevision(subject, revision), *targets, *ids),
        (PutVersion(subject, version, content, targets, schema_id=schema_id),),
    )


async def append(
    storage: Storage, subject: Any = ORDERS, text: str = "a", *, by: Requester = NO_REQUEST, **parts: Any
) -> Appended:
    """Append a version based on the current state."""
    state = await read_state(storage, subject)
    plan = await plan_version(storage, state, parts.pop("content", None) or content(text), **parts)
    [outcome] = (await storage.commit(plan, by=by)).registered
    return Appended(*outcome)


async def delete(
    storage: Storage, kind: Any, subject: Any, *versions: int, by: Requester = NO_REQUEST, **parts: Any
) -> None:
    """Delete, ``SOFT`` or ``HARD``."""
    await storage.commit(await kind(storage, await read_state(storage, subject), versions, **parts), by=by)


async def drop(storage: Storage, context: str) -> None:
    """Remove a context from the listing."""
    await storage.commit(await plan_context_removal(storage, context), by=NO_REQUEST)


async def put(
    storage: Storage, scope: Any, stored: ScopeSettings, *, purge: Extent | None = None, by: Requester = NO_REQUEST
) -> None:
    """Replace what is stored for a scope."""
    revision = await storage.settings_revision()
    plan = plan_settings({scope: stored}, revision)
    if purge is not None:
        plan = together((await plan_purge(storage, purge, revision), plan))
    await storage.commit(plan, by=by)


async def find_record(storage: Storage, kind: str, *key: str) -> StorageRecord | None:
    """Return the record with exactly this key; None if there is none."""
    return next((record for record in await storage.records(kind, key) if record.key == key), None)


async def put_record(
    storage: Storage,
    kind: str,
    key: tuple[str, ...],
    document: Any,
    *,
    settings_revision: int | None = None,
    by: Requester = NO_REQUEST,
) -> None:
    """Store a record, or remove it if ``document`` is None; with a revision of the settings one that affects them."""
    found = await find_record(storage, kind, *key)
    is_term = settings_revision is not None
    write = record_write(kind, key, document, revision=found.revision if found else 0, is_term=is_term)
    guards = () if settings_revision is None else (SameTerms(settings_revision),)
    await storage.commit(together((StoragePlan(guards), write)), by=by)
