"""Changes of the journal as lines of pages: sentences, and who requested them."""

from __future__ import annotations

import json
from typing import Final

from counterfoil.pages.models import ChangeLine
from counterfoil.registry.access.rights import Caller
from counterfoil.registry.changes.feed import shows_author
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind
from counterfoil.schema.rest.object_forms import Document

_SHOWN: Final = 200
_OF_VERSION: Final = {
    JournalChangeKind.REGISTERED: "was registered",
    JournalChangeKind.DELETED: "was deleted; it can be restored by registering it again",
    JournalChangeKind.REMOVED: "was deleted for good",
}


def change_line(change: JournalChange, caller: Caller | None) -> ChangeLine:
    """Return a change as a line; it names who requested it to callers who may know."""
    is_version = change.version is not None
    return ChangeLine(
        seq=change.seq,
        ts=change.ts,
        kind=change.kind.value,
        sentence=_sentence(change),
        subject=str(change.subject) if change.subject.name else "",
        version=change.version if is_version else None,
        by=change.author if shows_author(change, caller) else None,
    )


def _sentence(change: JournalChange) -> str:
    """Return what happened, without the name of the subject."""
    match change.kind:
        case JournalChangeKind.SETTINGS:
            return f"Settings of {_scope(change)} became {_settings(change.shown or {})}"
        case JournalChangeKind.CONTEXT_DELETED:
            return f"Context {change.subject.context} was deleted"
        case JournalChangeKind.RECORD:
            return f"{_record(change.shown or {})} was changed"
        case kind:
            return f"Version {change.version}{_id(change)} {_OF_VERSION[kind]}"


def _id(change: JournalChange) -> str:
    return "" if change.schema_id is None else f", id {change.schema_id},"


def _scope(change: JournalChange) -> str:
    """Return the scope of settings in words."""
    if change.subject.is_global:
        return "all contexts"
    if change.subject.is_context:
        return "the top level" if change.subject.is_default else f"context {change.subject.context}"
    return f"subject {change.subject}"


def _settings(document: Document) -> str:
    config = document.get("config") or {}
    parts = [f"{key} {_short(value)}" for key, value in config.items()]
    mode = document.get("mode")
    if mode:
        parts.append(f"mode {_short(mode)}")
    return ", ".join(parts) or "those of the wider scope"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _record(document: Document) -> str:
    key = document.get("key") or ()
    named = " ".join(str(each) for each in key) if isinstance(key, list | tuple) else str(key)
    return f"{str(document.get('kind', 'record')).capitalize()} {_short(named)}".strip()
