"""The events of the audit, as a table and as values, and which of them are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from counterfoil.registry.access.identity import CallerIdentity
from counterfoil.registry.access.resources import AccessResource, ResourceKind
from counterfoil.registry.access.rights import Shown
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.object_forms import Document

# What the audit says of the subjects that a record is about.


def facts_about(subjects: Iterable[QualifiedSubject]) -> dict[str, str]:
    """Return the subject, if it is one, and its context, if all are in the same.

    Whoever may read the audit of a context alone sees what has this context.
    """
    known = set(subjects)
    contexts = {each.context for each in known}
    facts = {"context": contexts.pop()} if len(contexts) == 1 else {}
    return {**facts, "subject": str(known.pop())} if len(known) == 1 else facts


# Which events of the audit are wanted.

_SUBJECT: Final = "Subject: "


@dataclass(frozen=True, slots=True)
class EventSelection:
    """A condition on events; None and an empty set select all. Times are compared as texts in UTC (ISO 8601).

    ``in_context`` says whether events about a context are selected; those about no context are not then.
    """

    events: frozenset[str] = frozenset()
    caller: str | None = None
    subject: str | None = None
    outcome: str | None = None
    since: str | None = None
    until: str | None = None
    in_context: Callable[[str], bool] | None = None

    def selects(self, facts: Mapping[str, Any]) -> bool:
        """Return whether the event with ``facts`` is wanted; somebody may have made a line of a file by hand."""
        resource, time = str(facts.get("resource", "")), str(facts.get("time", ""))
        caller = facts.get("caller")
        principal = caller.get("principal") if isinstance(caller, dict) else None
        return (
            (not self.events or str(facts.get("event")) in self.events)
            and self.caller in (None, principal)
            and self.subject in (None, resource, resource.removeprefix(_SUBJECT), facts.get("subject"))
            and self.outcome in (None, facts.get("outcome"))
            and (self.since or "") <= time
            and (self.until is None or time < self.until)
            and (self.in_context is None or ("context" in facts and self.in_context(str(facts["context"]))))
        )


# The events of the audit, as a table and as values.

_MAX_AGENT: Final = 200


class KeptIn(Enum):
    """Where an event is kept in the store, beside the audit file."""

    JOURNAL = "the journal"
    WITH_WRITE = "the audit, in the transaction of the write"
    TABLE = "the audit, within a second"
    COUNTED = "the audit, once a minute with a count"
    NOWHERE = "the file alone"


class EventKind(Enum):
    """What an event is about: its name, when it is recorded, and where."""

    SCHEMA_REGISTER = "schema.register", "A version was registered.", KeptIn.JOURNAL
    SCHEMA_DELETE = "schema.delete", "A version was soft-deleted.", KeptIn.JOURNAL
    SCHEMA_PURGE = "schema.purge", "A version was permanently deleted.", KeptIn.JOURNAL
    SETTINGS_CHANGE = (
        "settings.change",
        "Config or mode of a subject, a context or the registry was changed.",
        KeptIn.JOURNAL,
    )
    CONTEXT_DELETE = "context.delete", "A context was removed from the list.", KeptIn.JOURNAL
    KEK_CHANGE = "kek.change", "A key encryption key was written or removed.", KeptIn.JOURNAL
    DEK_CHANGE = "dek.change", "A data encryption key was written or removed.", KeptIn.JOURNAL
    BRIDGE_CHANGE = "bridge.change", "A bridge, or a report about one, was written or removed.", KeptIn.JOURNAL
    CONTRACT_CHANGE = (
        "contract.change",
        "An application, a contract, a deployment, an approval, a webhook or the like was written or removed.",
        KeptIn.JOURNAL,
    )
    ASSOCIATION_CHANGE = "association.change", "An association was written or removed.", KeptIn.JOURNAL
    RECORD_CHANGE = "record.change", "A sketch or another record was written or removed.", KeptIn.JOURNAL
    USER_CREATED = "user.created", "A user was stored.", KeptIn.WITH_WRITE
    USER_CHANGED = "user.changed", "A user's password was set, or it was enabled or disabled.", KeptIn.WITH_WRITE
    USER_DELETED = "user.deleted", "A user was removed.", KeptIn.WITH_WRITE
    SERVICE_CREATED = "service.created", "A service was stored.", KeptIn.WITH_WRITE
    SERVICE_CHANGED = "service.changed", "A service was described, enabled or disabled.", KeptIn.WITH_WRITE
    SERVICE_DELETED = "service.deleted", "A service was removed.", KeptIn.WITH_WRITE
    TOKEN_CREATED = "token.created", "A token was made.", KeptIn.WITH_WRITE
    TOKEN_REVOKED = "token.revoked", "A token was revoked, or removed with its owner.", KeptIn.WITH_WRITE
    ACCESS_CHANGED = "access.changed", "A binding or a role was written or removed.", KeptIn.WITH_WRITE
    POLICY_CHANGED = (
        "policy.changed",
        "All servers on the store demand credentials from now on, or no longer.",
        KeptIn.WITH_WRITE,
    )
    FILE_RELOADED = "file.reloaded", "The access file was read again, and another content is in force.", KeptIn.TABLE
    KEY_REVEALED = "key.revealed", "A response had the plain material of a data encryption key.", KeptIn.TABLE
    KEY_TESTED = "key.tested", "A key encryption key was tested.", KeptIn.TABLE
    REGISTRY_EXPORT = (
        "registry.export",
        "All schemas of all contexts were listed (`GET /schemas`), or `counterfoil export --store` has read the store.",
        KeptIn.COUNTED,
    )
    SCHEMA_READ = (
        "schema.read",
        "A response had the text of a version of a subject that the setting `audit_reads` names.",
        KeptIn.NOWHERE,
    )
    AUTH_FAILED = "auth.failed", "Credentials were missing or wrong: the response was 401.", KeptIn.COUNTED
    AUTH_THROTTLED = "auth.throttled", "Too many requests: the response was 429.", KeptIn.COUNTED
    ACCESS_DENIED = (
        "access.denied",
        "The caller had no right: the response was 403, or 404 by `denied_reads`, or an item of a batch has 40301.",
        KeptIn.COUNTED,
    )
    SERVER_STARTED = (
        "server.started",
        "A process began its chain; `last` is the last hash that was in the file.",
        KeptIn.NOWHERE,
    )
    AUDIT_HEAD = (
        "audit.head",
        "In the file the last hash of the journal, in the store the last one of a chain of the file.",
        KeptIn.NOWHERE,
    )
    AUDIT_GAP = "audit.gap", "Events could not be written: `lost` counts them.", KeptIn.NOWHERE
    AUDIT_CUT = "audit.cut", "Old events were removed from the store: `count` of them.", KeptIn.WITH_WRITE

    def __init__(self, text: str, about: str, kept: KeptIn) -> None:
        self.text = text
        self.about = about
        self.kept = kept


FIELDS: Final[Mapping[str, str]] = {
    "seq": "In a file: counts the lines of one chain from 1, without a gap. In responses: the place of the event.",
    "time": "UTC, with milliseconds.",
    "node": "In a file, the chain: host, process id and a random part of one server process.",
    "event": "What happened; the table of events lists the names.",
    "request_id": "The id of the request, as in the response's `X-Request-ID`.",
    "caller": "`principal`, `method`, and `issuer`, `token_id`, `act` if there are; absent without authentication.",
    "action": "The method and the path template of the route; the word `(none)` if the request reached no route.",
    "resource": "What it was done to: subject or context, or kind and key of a record.",
    "context": "Of subjects and contexts, and of records that are about subjects of one context: the context, `.` for "
    "the default one.",
    "detail": "Of bindings and roles: what they say. Of users, services and tokens: owner, end, whether disabled.",
    "subject": "Of a data encryption key: the subject that it is for. Of other records that are about one subject: it.",
    "operation": "Of denials: the operation that the caller lacks.",
    "version": "The version of the subject.",
    "before": "Of records about access and of encryption keys: as `after`, before the change; absent for a new one.",
    "after": "For versions the guid of the content, for config and mode SHA-256 of the document in the journal, for "
    "records about access and encryption keys HMAC-SHA256 of the record, by a key of the store; absent for what was "
    "removed.",
    "change": "The number of the change in the journal.",
    "status": "The status of the response, for refused requests.",
    "outcome": "`success`, `denied` or `failed`.",
    "reason": "For 401 and 429: why, in one word.",
    "rule": "Of denials: where the rule is that denies it; absent if no rule allows it.",
    "group": "Of denials: the group of the caller that the denying rule is for, if it is for one.",
    "from": "The address of the client.",
    "agent": "The User-Agent, 200 characters of it.",
    "count": "In the store: how many equal events this row stands for. In `audit.cut`: how many were removed.",
    "until": "In the store: the time of the last of `count` events. In `audit.cut`: the time of the last one removed.",
    "last": "In `server.started`: the last hash in the file before; null in a new file.",
    "lost": "In `audit.gap`: how many events could not be written.",
    "of": "In `audit.head`: `journal` or `file`.",
    "chain": "In `audit.head` of a file: the chain (`node`).",
    "line": "In `audit.head` of a file: the `seq` of the line in its chain.",
    "head": "In `audit.head`: the hash.",
    "key": "In `audit.head`: the beginning of SHA-256 of the public key.",
    "signature": "In `audit.head`: Ed25519 over the other members but `hash`, as canonical JSON; in base64.",
    "prev": "In a file: the hash of the line before in this chain; null in the first.",
    "hash": "In a file: SHA-256 of the line without `hash`, as canonical JSON (RFC 8785).",
}
"""The members of an event, and what each says."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event; ``facts`` are members of its line. It never has credentials, bodies or schema texts."""

    kind: EventKind
    facts: Mapping[str, Any] = field(default_factory=dict)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class EventPlace(NamedTuple):
    """The place of an event among all: after which change it is, and its number; a change itself has the number 0.

    >>> str(EventPlace(7, 0)), str(EventPlace(7, 12))
    ('7', '7.12')
    """

    change: int
    number: int = 0

    def __str__(self) -> str:
        """Return the place as responses have it."""
        return f"{self.change}.{self.number}" if self.number else str(self.change)


class StoredEvent(NamedTuple):
    """An event in the table of a store."""

    place: EventPlace
    ts: int
    event: str
    facts: Document


class AuditLog(Protocol):
    """Takes events; nothing waits for it."""

    @property
    def refuses_writes(self) -> bool:
        """Whether events cannot be written, and writes are to be refused until they can."""
        ...

    @property
    def watches(self) -> Shown | None:
        """The function that says whether successful reads of a subject are recorded; None if none are."""
        ...

    def record(self, event: AuditEvent) -> None:
        """Have ``event`` written."""
        ...


def time_text(at: datetime) -> str:
    """Return a time as events have it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_text_of(ts: int) -> str:
    """Return epoch milliseconds as events have a time."""
    return time_text(datetime.fromtimestamp(ts / 1000, UTC))


def context_facts(resource: AccessResource) -> dict[str, str]:
    """Return the context of a subject or a context, as a member of an event; nothing for other resources."""
    return {"context": resource.context} if resource.kind in {ResourceKind.SUBJECT, ResourceKind.CONTEXT} else {}


def caller_facts(identity: CallerIdentity) -> dict[str, str]:
    """Return what a line says of a caller."""
    facts = {
        "principal": identity.principal,
        "method": identity.method,
        "issuer": identity.issuer,
        "token_id": identity.token_id,
        "act": identity.act,
    }
    return {name: value for name, value in facts.items() if value}


def agent_text(value: bytes) -> str:
    """Return the User-Agent as a line has it."""
    return value.decode("latin-1")[:_MAX_AGENT]
