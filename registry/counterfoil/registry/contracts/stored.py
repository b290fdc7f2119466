"""Applications, contracts, environments, deployments and histories as stored documents."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.store.records import Key, StoredKind
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    CONTRACT_LINK,
    CONTRACT_SCHEMAS,
    DEPLOYMENT,
    ENVIRONMENT,
    Application,
    ApplicationVersion,
    ContractKind,
    ContractLink,
    Deployment,
    Environment,
    Liveness,
    PublishedContract,
)
from counterfoil.schema.rest.object_forms import REQUIRED, TEXT, JsonType, Member, ObjectForm, object_of
from counterfoil.schema.rest.observations import VERIFICATION, Verification
from counterfoil.schema.rest.verdicts import MIGRATION, STORED_APPROVAL, Approval, ContractMigration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.agreements.pairs import Numbered
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.object_forms import Document


# When versions were live in an environment, and which writers a consumer's version met, as stored. Pure functions.
#
# A consumer that declares no schema of its own reads with one that was there when it was built. So it is stored which
# versions wrote its contracts when it was published and when it was first deployed to an environment; what is live
# later does not tell it any more.

ANYWHERE: Final = ""
"""Stands for no environment: the newest version of each application."""


@dataclass(frozen=True, slots=True)
class Period:
    """A time in which a version was live, in epoch ms; ``until`` is None while it is."""

    since: int
    until: int | None = None

    def overlaps(self, other: Period) -> bool:
        """Return whether there is a moment in both periods; the end of a period is not in it."""
        return (self.until is None or other.since < self.until) and (other.until is None or self.since < other.until)


@dataclass(frozen=True, slots=True)
class LiveHistory:
    """When a version was live in an environment.

    ``writers`` are the versions that were live there when it was first live, and offer contracts that it reads.
    """

    environment: str
    application: str
    version: str
    periods: tuple[Period, ...] = ()
    writers: tuple[Numbered, ...] = ()

    @property
    def since(self) -> int:
        """The time at which it was first live."""
        return min(each.since for each in self.periods)

    def was_with(self, other: LiveHistory) -> bool:
        """Return whether both versions were live at the same time."""
        met = (other.application, other.version) in self.writers or (self.application, self.version) in other.writers
        return met or any(mine.overlaps(each) for mine in self.periods for each in other.periods)

    def together_since(self, other: LiveHistory) -> int | None:
        """Return the first time at which both versions were live; None if they never were."""
        times = [max(mine.since, each.since) for mine in self.periods for each in other.periods if mine.overlaps(each)]
        return min(times, default=None)


@dataclass(frozen=True, slots=True)
class PublishedBeside:
    """Which writers of the contracts that a version reads were there when it was published.

    They are by environment; those of :data:`ANYWHERE` are the newest published ones.
    """

    application: str
    version: str
    writers: Mapping[str, tuple[Numbered, ...]] = field(default_factory=dict)


def went_live(held: LiveHistory | None, new: LiveHistory, now_ms: int) -> LiveHistory:
    """Return the history of a version that is live from now on; ``new`` is that of one that never was before."""
    if held is None or not held.periods:
        return replace(new, periods=(Period(now_ms),))
    if held.periods[-1].until is None:
        return held
    return replace(held, periods=(*held.periods, Period(now_ms)))


def ended(held: LiveHistory, now_ms: int) -> LiveHistory:
    """Return the history of a version that is no longer live."""
    *before, last = held.periods
    return held if last.until is not None else replace(held, periods=(*before, replace(last, until=now_ms)))


def _texts(pairs: Iterable[Numbered]) -> list[list[str]]:
    return [list(each) for each in pairs]


def _numbered(pairs: Iterable[Any]) -> tuple[Numbered, ...]:
    return tuple((application, version) for application, version in pairs)


_PERIODS: Final = JsonType(
    lambda value: tuple(Period(since, until) for since, until in value.value),
    lambda periods: [[each.since, each.until] for each in periods],
)
_WRITERS: Final = JsonType(lambda value: _numbered(value.value), _texts)
_BY_ENVIRONMENT: Final = JsonType(
    lambda value: {name: _numbered(each) for name, each in value.value.items()},
    lambda writers: {name: _texts(each) for name, each in sorted(writers.items())},
)
LIVE_HISTORIES: Final[StoredKind[LiveHistory]] = StoredKind(
    "contract-live-history",
    ObjectForm(
        LiveHistory,
        (
            Member("environment", "environment", TEXT, otherwise=REQUIRED),
            Member("application", "application", TEXT, otherwise=REQUIRED),
            Member("version", "version", TEXT, otherwise=REQUIRED),
            Member("periods", "periods", _PERIODS),
            Member("writers", "writers", _WRITERS),
        ),
    ),
    lambda each: (each.environment, each.application, each.version),
)
PUBLISHED_BESIDE: Final[StoredKind[PublishedBeside]] = StoredKind(
    "contract-published-beside",
    ObjectForm(
        PublishedBeside,
        (
            Member("application", "application", TEXT, otherwise=REQUIRED),
            Member("version", "version", TEXT, otherwise=REQUIRED),
            Member("writers", "writers", _BY_ENVIRONMENT),
        ),
    ),
    lambda each: (each.application, each.version),
)
HISTORY_KINDS: Final = frozenset({LIVE_HISTORIES.name, PUBLISHED_BESIDE.name})
"""The kinds of these records: each is written with a deployment or a publication, and not by itself."""


# Applications, contracts, environments, deployments, approvals and verifications as stored documents.
#
# Besides the records of the values themselves there are four kinds that lead to them, so that a verdict reads only what
# it is about: the contracts of a subject, the applications that offer and that read a contract, each with the newest
# version that does, and what a version of an application reads of a contract.

NAME_PATTERN: Final = r"^[^\x00-\x1f\x7f]{1,300}$"
"""What names of applications, versions, contracts and environments are: parts of keys, and segments of paths."""
_ID_LENGTH: Final = 16
_NAME: Final = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Return whether a text can be a name."""
    return _NAME.fullmatch(text) is not None


def _deployment_key(each: Deployment) -> Key:
    """Return the key: one deployment for each instance, and one release for each version."""
    place = each.instance if each.liveness is Liveness.DEPLOYED else each.version
    return each.environment, each.application, each.liveness, place


def verification_key(contract_hash: str, environment: str, *topic: str) -> Key:
    """Return the key of the latest verification on a topic, or the prefix of those of a contract's content."""
    return contract_hash, environment, *topic


def content_id(document: Document) -> str:
    """Return an id that is equal for equal contents, so that a request that is repeated stores nothing new."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_LENGTH]


APPLICATIONS: Final[StoredKind[Application]] = StoredKind("application", APPLICATION, lambda each: (each.name,))
VERSIONS: Final[StoredKind[ApplicationVersion]] = StoredKind(
    "application-version", APPLICATION_VERSION, lambda each: (each.application, each.version)
)
CONTRACTS: Final[StoredKind[PublishedContract]] = StoredKind(
    "contract", CONTRACT, lambda each: (each.id, each.kind, each.version)
)
ENVIRONMENTS: Final[StoredKind[Environment]] = StoredKind("environment", ENVIRONMENT, lambda each: (each.name,))
DEPLOYMENTS: Final[StoredKind[Deployment]] = StoredKind("deployment", DEPLOYMENT, _deployment_key)
APPROVALS: Final[StoredKind[Approval]] = StoredKind("approval", STORED_APPROVAL, lambda each: (each.id,))
VERIFICATIONS: Final[StoredKind[Verification]] = StoredKind(
    "verification", VERIFICATION, lambda each: verification_key(each.hash, each.environment, each.sample.topic)
)
MIGRATIONS: Final[StoredKind[ContractMigration]] = StoredKind("contract-migration", MIGRATION, lambda each: (each.id,))

OF_SUBJECT_KIND: Final = "contract-of-subject"
_OFFERING_KIND: Final = "contract-offered-by"
_READING_KIND: Final = "contract-read-by"
PORTS_KIND: Final = "contract-input-ports"
"""What a version reads of a contract; the key is the contract, the application, the version and the file's id."""

INDEX_KINDS: Final = HISTORY_KINDS | {OF_SUBJECT_KIND, _OFFERING_KIND, _READING_KIND, PORTS_KIND}
"""The kinds of the records that only lead to others, or tell when others were written."""
RECORD_KINDS: Final = INDEX_KINDS | {
    APPLICATIONS.name,
    VERSIONS.name,
    CONTRACTS.name,
    ENVIRONMENTS.name,
    DEPLOYMENTS.name,
    APPROVALS.name,
    VERIFICATIONS.name,
    MIGRATIONS.name,
}
"""The kinds of all records about contracts."""


@dataclass(frozen=True, slots=True)
class InputPorts:
    """What a version of an application reads of one contract: the file, and its input ports as JSON.

    ``schemas`` are the readers' schemas of the file, by link.
    """

    link: ContractLink
    ports: tuple[Any, ...]
    schemas: Mapping[str, Schema] = field(default_factory=dict)


INPUT_PORTS: Final = ObjectForm(
    InputPorts,
    (
        Member("file", "link", object_of(CONTRACT_LINK), otherwise=REQUIRED),
        Member("ports", "ports", JsonType(lambda value: tuple(value.value), list), otherwise=REQUIRED),
        CONTRACT_SCHEMAS,
    ),
)


def of_subject_key(subject: QualifiedSubject, contract: str = "") -> Key:
    """Return the key of the record that a contract is about a subject, or the prefix of all about this subject."""
    prefix = (subject.context, subject.name)
    return (*prefix, contract) if contract else prefix


def party_kind(kind: ContractKind) -> str:
    """Return the kind of the records that lead from a contract to those who offer it, or to those who read it."""
    return _OFFERING_KIND if kind is ContractKind.ODCS else _READING_KIND
