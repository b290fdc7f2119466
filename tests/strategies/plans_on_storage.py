"""Plans that are made from the current state and carried out on a storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.registry.domain.content import make_content
from counterfoil.registry.service.storage import (
    Append,
    Appended,
    PutRecords,
    PutSettings,
    RecordWrite,
    ScopeSettings,
)
from counterfoil.schema.contexts import SubjectPrefix, parse_subject
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Record, Storage

ORDERS = parse_subject("orders")
ELSEWHERE = parse_subject(":.ctx:orders")
EVERYTHING = SubjectPrefix(None, "")


def content(text: str, **parts: Any) -> Any:
    """Return the content of a schema with this text."""
    return make_content(f'"{text}"', SchemaType.AVRO, **parts)


async def append(storage: Storage, subject: Any = ORDERS, text: str = "a", **parts: Any) -> Appended:
    """Append a version based on the current state."""
    plan = Append(
        subject,
        parts.pop("content", None) or content(text),
        parts.pop("targets", ()),
        revision=(await storage.history(subject)).revision,
        settings_revision=await storage.settings_revision(),
        **parts,
    )
    outcome = await storage.commit(plan)
    assert isinstance(outcome, Appended)
    return outcome


async def delete(storage: Storage, kind: Any, subject: Any, *versions: int, **parts: Any) -> None:
    """Delete, soft or hard."""
    history = await storage.history(subject)
    await storage.commit(kind(subject, versions, history.revision, await storage.settings_revision(), **parts))


async def put(storage: Storage, scope: Any, stored: ScopeSettings, **parts: Any) -> None:
    """Replace what is stored for a scope."""
    await storage.commit(PutSettings(((scope, stored),), await storage.settings_revision(), **parts))


async def find_record(storage: Storage, kind: str, *key: str) -> Record | None:
    """Return the record with exactly this key; None if there is none."""
    return next((record for record in await storage.records(kind, key) if record.key == key), None)


async def put_record(storage: Storage, kind: str, key: tuple[str, ...], document: Any, **parts: Any) -> None:
    """Store a record, or remove it if ``document`` is None."""
    found = await find_record(storage, kind, *key)
    write = RecordWrite(kind, key, document, found.revision if found else 0)
    await storage.commit(PutRecords((write,), **parts))
