"""The events about records whose content the audit may not have, and the digests by which they are compared."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping
from secrets import token_hex
from typing import Any, Final

from counterfoil.registry.access.records import (
    AUDIT_KEY_KEY,
    AUDIT_KEYS,
    BINDINGS,
    POLICIES,
    ROLE_RECORDS,
    SERVICES,
    TOKENS,
    USERS,
    AccessPolicy,
    AuditKey,
    StoredAccess,
)
from counterfoil.registry.audit.events import AuditEvent, EventKind, time_text_of
from counterfoil.registry.audit.file import canonical
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.records import StoredKind
from counterfoil.registry.store.writes import PutRecord, StoragePlan
from counterfoil.schema.rest.object_forms import Document

# Digests of records: whether one was changed, and changed back, for those who may not know its content.


def digest_of_record(document: Document, *, key: bytes, without: Collection[str]) -> str:
    """Return the HMAC-SHA256 of a record by ``key`` (RFC 2104), in hexadecimal digits; ``without`` some members.

    A bare hash of a record with few possible contents would say which of them it is.
    """
    lasting = {name: value for name, value in document.items() if name not in without}
    return hmac.new(key, canonical(lasting), hashlib.sha256).hexdigest()


# The events of the audit that writing records about access is.

_DISABLED: Final = "disabled"
_PASSING: Final = frozenset({"lastUsed"})
"""The member of a token's record that is written while it is used, without an event."""


def events_of(puts: tuple[PutRecord, ...], before: StoredAccess, *, key: bytes) -> tuple[AuditEvent, ...]:
    """Return the events that writing ``puts`` to what was declared ``before`` is, each once; none has a secret.

    They have digests of the record before and after.
    """
    return tuple(event for put in puts if (event := _event(put, before, key)) is not None)


def _event(put: PutRecord, before: StoredAccess, key: bytes) -> AuditEvent | None:
    kind = _kind(put, before)
    if kind is None:
        return None
    facts: Document = {"resource": " ".join([put.kind, *put.key]), "outcome": "success"}
    detail = _DETAILS[put.kind](put.document) if put.document is not None else ""
    if detail:
        facts["detail"] = detail
    for name, document in (("before", _document(put, before)), ("after", put.document)):
        if document is not None:
            facts[name] = digest_of_record(document, key=key, without=_PASSING)
    return AuditEvent(kind, facts)


def _document(put: PutRecord, before: StoredAccess) -> Document | None:
    """Return the document of a record as it is before it is written; None if there is none."""
    if put.kind == POLICIES.name:
        return None if before.is_empty else POLICIES.form.write(AccessPolicy(before.is_required))
    kind, held = _HELD[put.kind](before)
    value = held.get(put.key[0])
    return None if value is None else kind.form.write(value)


def _kind(put: PutRecord, before: StoredAccess) -> EventKind | None:
    document = put.document
    if put.kind == POLICIES.name:
        is_same = document is not None and POLICIES.read(document).is_required == before.is_required
        return None if is_same else EventKind.POLICY_CHANGED
    if put.kind == TOKENS.name:
        return EventKind.TOKEN_CREATED if document and put.key[0] not in before.tokens else EventKind.TOKEN_REVOKED
    if put.kind not in _ACCOUNTS:
        return EventKind.ACCESS_CHANGED
    created, changed, deleted = _ACCOUNTS[put.kind]
    known = before.users if put.kind == USERS.name else before.services
    if document is None:
        return deleted
    return changed if put.key[0] in known else created


_HELD: Final[Mapping[str, Callable[[StoredAccess], tuple[StoredKind[Any], Mapping[str, Any]]]]] = {
    USERS.name: lambda stored: (USERS, stored.users),
    SERVICES.name: lambda stored: (SERVICES, stored.services),
    TOKENS.name: lambda stored: (TOKENS, stored.tokens),
    BINDINGS.name: lambda stored: (BINDINGS, stored.bindings),
    ROLE_RECORDS.name: lambda stored: (ROLE_RECORDS, stored.roles),
}
_ACCOUNTS: Final[Mapping[str, tuple[EventKind, EventKind, EventKind]]] = {
    USERS.name: (EventKind.USER_CREATED, EventKind.USER_CHANGED, EventKind.USER_DELETED),
    SERVICES.name: (EventKind.SERVICE_CREATED, EventKind.SERVICE_CHANGED, EventKind.SERVICE_DELETED),
}


def _account(document: Document) -> str:
    return _DISABLED if document.get("disabled") else ""


def _token(document: Document) -> str:
    return f"{document['name']} of {document['owner']} until {time_text_of(document['expires'])}"


def _binding(document: Document) -> str:
    word = "allow" if document["allows"] else "deny"
    return f"{word} {', '.join(document['operations'])} to {document['to']} on {document['on']}"


def _role(document: Document) -> str:
    return ", ".join(document["operations"])


def _policy(document: Document) -> str:
    return "credentials are required" if document.get("required") else "credentials are not required"


_DETAILS: Final[Mapping[str, Callable[[Document], str]]] = {
    USERS.name: _account,
    SERVICES.name: _account,
    TOKENS.name: _token,
    BINDINGS.name: _binding,
    ROLE_RECORDS.name: _role,
    POLICIES.name: _policy,
}


# The key of a store by which the audit compares records whose content it may not have.

_KEY_BYTES: Final = 32


async def audit_key(storage: Storage) -> tuple[bytes, StoragePlan]:
    """Return the key of ``storage``, and the plan that stores it; it belongs to the write that uses the key first.

    The plan does nothing where the key is stored already.
    """
    held = await storage.records(AUDIT_KEYS.name, AUDIT_KEY_KEY)
    if held:
        return bytes.fromhex(AUDIT_KEYS.read(held[0].document).key), StoragePlan((), ())
    made = token_hex(_KEY_BYTES)
    return bytes.fromhex(made), AUDIT_KEYS.write(AuditKey(made), revision=0)
