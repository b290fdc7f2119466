"""Contracts in the REST API: applications, versions, environments, deployments, and webhooks about them.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from counterfoil.schema.model import Schema
from counterfoil.schema.rest.object_forms import (
    INTEGER,
    REQUIRED,
    TEXT,
    TEXTS,
    Document,
    JsonType,
    ListOf,
    Member,
    ObjectForm,
    form_of,
    list_of,
    word_of,
)
from counterfoil.schema.rest.schemas import SCHEMA

# Contracts as objects of the registry: applications with their versions, contracts, environments, deployments.


class ContractKind(StrEnum):
    """The standard of a contract file: a producer's promises, or a consumer's expectations."""

    ODCS = "odcs"
    ODPS = "odps"


class Liveness(StrEnum):
    """How a version came to an environment."""

    DEPLOYED = "deployed"
    """It runs there: a later deployment of the same instance replaces it."""
    RELEASED = "released"
    """It was given to others, such as an app in a store: it stays until its support ends."""


@dataclass(frozen=True, slots=True)
class Application:
    """A program with versions that are deployed: a producer, a consumer, or both."""

    name: str
    owner: str = ""
    repository: str = ""
    description: str = ""
    create_ts: int = 0


@dataclass(frozen=True, slots=True)
class ContractLink:
    """A contract that a version of an application has published: its identity, and the hash of its content."""

    id: str
    kind: ContractKind
    version: str
    hash: str


@dataclass(frozen=True, slots=True)
class ApplicationVersion:
    """One version of an application, with the contracts that it has published."""

    application: str
    version: str
    branch: str = ""
    commit: str = ""
    build_url: str = ""
    contracts: tuple[ContractLink, ...] = ()
    create_ts: int = 0


@dataclass(frozen=True, slots=True)
class PublishedContract:
    """One version of a contract: its text, and the schemas to which it refers, by link or subject.

    ``hash`` is equal where no verdict can differ. ``application`` and ``application_version`` published it first.
    """

    id: str
    kind: ContractKind
    version: str
    hash: str
    text: str = field(repr=False)
    schemas: Mapping[str, Schema] = field(default_factory=dict, repr=False)
    application: str = ""
    application_version: str = ""
    create_ts: int = 0

    @property
    def link(self) -> ContractLink:
        """The identity and the hash."""
        return ContractLink(self.id, self.kind, self.version, self.hash)


@dataclass(frozen=True, slots=True)
class ContractVersions:
    """A contract with the numbers of its versions."""

    id: str
    kind: ContractKind
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewContract:
    """A contract file to publish, with the schemas to which it refers, by the text of each link."""

    text: str
    schemas: Mapping[str, Schema] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewPublication:
    """The contracts of one version of an application, to be published all or not at all."""

    application: str
    version: str
    contracts: tuple[NewContract, ...]
    branch: str = ""
    commit: str = ""
    build_url: str = ""


@dataclass(frozen=True, slots=True)
class Publication:
    """What was published: all contracts of the version, and notices for people."""

    application: str
    version: str
    contracts: tuple[ContractLink, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """A place to which versions are deployed. ``order`` is its place in lists.

    ``verified_within_days`` demands, of each contract that a version offers, a verification that is not older; None
    demands nothing.
    """

    name: str
    is_production: bool = False
    order: int = 0
    contacts: tuple[str, ...] = ()
    verified_within_days: int | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """One version that is live in an environment. ``instance`` is empty where an application runs once."""

    id: str
    environment: str
    application: str
    version: str
    liveness: Liveness
    instance: str = ""
    create_ts: int = 0


_CREATE_TS: Final = Member("createTs", "create_ts", INTEGER, about="The time of its creation, in epoch milliseconds.")
_SCHEMAS: Final = JsonType(
    lambda value: value.by_key(SCHEMA.read),
    lambda schemas: {link: SCHEMA.write(schema) for link, schema in sorted(schemas.items())},
    {"type": "object", "additionalProperties": {"type": "object"}},
)
CONTRACT_SCHEMAS: Final = Member(
    "schemas", "schemas", _SCHEMAS, about="The schemas to which it refers, by link or subject."
)

APPLICATION: Final = ObjectForm(
    Application,
    (
        Member("name", "name", TEXT, otherwise=REQUIRED),
        Member("owner", "owner", TEXT, about="The team or person to ask."),
        Member("repository", "repository", TEXT, about="The address of its source code."),
        Member("description", "description", TEXT),
        _CREATE_TS,
    ),
)

CONTRACT_LINK: Final = form_of(
    ContractLink,
    about={
        "kind": "odcs or odps.",
        "hash": "Equal for contents on which no verdict can differ.",
    },
)

APPLICATION_VERSION: Final = ObjectForm(
    ApplicationVersion,
    (
        Member("application", "application", TEXT, otherwise=REQUIRED),
        Member("version", "version", TEXT, otherwise=REQUIRED),
        Member("branch", "branch", TEXT),
        Member("commit", "commit", TEXT),
        Member("buildUrl", "build_url", TEXT),
        Member("contracts", "contracts", list_of(CONTRACT_LINK), about="The contracts that it has published."),
        _CREATE_TS,
    ),
)

CONTRACT: Final = ObjectForm(
    PublishedContract,
    (
        *CONTRACT_LINK.members,
        Member("content", "text", TEXT, otherwise=REQUIRED, about="The text of the file."),
        CONTRACT_SCHEMAS,
        Member("application", "application", TEXT, about="The application that published it first."),
        Member("applicationVersion", "application_version", TEXT),
        _CREATE_TS,
    ),
)

CONTRACT_VERSIONS: Final = ObjectForm(
    ContractVersions,
    (*CONTRACT_LINK.members[:2], Member("versions", "versions", TEXTS, otherwise=REQUIRED)),
)

NEW_CONTRACT: Final = form_of(NewContract, keys={"text": "content"}, types={"schemas": _SCHEMAS})

NEW_PUBLICATION: Final = ObjectForm(
    NewPublication,
    (
        *APPLICATION_VERSION.members[:5],
        Member("contracts", "contracts", list_of(NEW_CONTRACT), otherwise=REQUIRED),
    ),
)

PUBLICATION: Final = ObjectForm(
    Publication,
    (
        *APPLICATION_VERSION.members[:2],
        Member("contracts", "contracts", list_of(CONTRACT_LINK), otherwise=REQUIRED),
        Member("notices", "notices", TEXTS, otherwise=REQUIRED),
    ),
    keeps_empty=True,
)

ENVIRONMENT: Final = form_of(
    Environment,
    keys={"is_production": "production"},
    otherwise={"is_production": REQUIRED},
    about={
        "order": "Its place in lists.",
        "contacts": "Whom to ask.",
        "verified_within_days": "The greatest age, in days, of a verification of each contract that a version offers; "
        "absent: none is needed.",
    },
)

DEPLOYMENT: Final = ObjectForm(
    Deployment,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        Member("environment", "environment", TEXT, otherwise=REQUIRED),
        *APPLICATION_VERSION.members[:2],
        Member("liveness", "liveness", word_of(Liveness), otherwise=REQUIRED, about="deployed or released."),
        Member("instance", "instance", TEXT, about="Which of several instances; absent where there is one."),
        _CREATE_TS,
    ),
)


# Webhooks as objects of the registry: where events are sent, and what became of each delivery.


class EventType(StrEnum):
    """What an event reports."""

    CONTRACT_PUBLISHED = "contract.published"
    """The first version of a contract was published."""
    CONTRACT_CHANGED = "contract.changed"
    """Another version of a contract was published."""
    CHECK_FAILED = "check.failed"
    """The verdict on a proposed schema or contract was no, or a registration was refused for its consumers."""
    CONSUMER_ADDED = "consumer.added"
    """An application reads a contract, or a subject, that it did not read before."""
    CONSUMER_STALE = "consumer.stale"
    """An observed consumer was not seen for long."""
    VERIFICATION_FAILED = "verification.failed"
    """Records did not pass a verification."""
    DEPLOYMENT_RECORDED = "deployment.recorded"
    """A version became live in an environment."""
    APPROVAL_EXPIRING = "approval.expiring"
    """An approval ends soon."""
    MIGRATION_RETIRABLE = "migration.retirable"
    """Nobody reads the old side of a migration any more."""


class DeliveryState(StrEnum):
    """What became of a delivery."""

    PENDING = "pending"
    """It was not accepted yet, and is tried again."""
    DELIVERED = "delivered"
    """The receiver has answered with a status of success."""
    FAILED = "failed"
    """It was given up."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address to which events are sent: those of ``events``, or all if it is empty.

    ``secret`` is the key of signatures, which the registry never returns.
    """

    id: str
    url: str
    events: tuple[EventType, ...] = ()
    description: str = ""
    create_ts: int = 0
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one webhook. ``event`` is the CloudEvent that is sent; times are epoch ms.

    ``status`` is that of the last answer, 0 if there was none; ``error`` says why the last attempt failed.
    ``claimed_until`` is the time until which one server makes an attempt.
    """

    id: str
    webhook: str
    event: Document
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    next_ts: int = 0
    status: int = 0
    error: str = ""
    create_ts: int = 0
    end_ts: int = 0
    claimed_until: int = 0


_EVENTS: Final = JsonType(
    lambda value: tuple(each.one_of(EventType) for each in value.items()),
    lambda events: [str(each) for each in events],
    ListOf({"type": "string"}),
)
_EVENT: Final = JsonType(lambda value: dict(value.members()), schema={"type": "object"})

WEBHOOK: Final = form_of(
    Webhook,
    "id",
    "url",
    "events",
    "description",
    "create_ts",
    types={"events": _EVENTS},
    about={
        "events": "The events that are sent; absent for all.",
        "create_ts": "The time of its creation, in epoch milliseconds.",
    },
)
"""A webhook as it is returned: without its secret."""

STORED_WEBHOOK: Final = replace(WEBHOOK, members=(*WEBHOOK.members, Member("secret", "secret", TEXT)))
"""A webhook as it is stored."""

DELIVERY: Final = form_of(
    Delivery,
    types={"event": _EVENT},
    otherwise={"state": REQUIRED, "attempts": REQUIRED},
    about={
        "event": "The CloudEvent that is sent.",
        "state": "pending, delivered or failed.",
        "next_ts": "When it is tried again, in epoch milliseconds.",
        "status": "The HTTP status of the last answer; absent without an answer.",
        "error": "Why the last attempt failed.",
        "end_ts": "When it was delivered or given up.",
        "claimed_until": "Until when a server makes an attempt.",
    },
)
