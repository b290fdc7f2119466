"""What is stored about contracts: kinds of records, their keys, and reading them, cached."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, NamedTuple, TypeVar

from counterfoil.registry.store.changes import JournalChangeKind, WrittenChanges
from counterfoil.registry.store.protocol import Storage, StorageRecord
from counterfoil.registry.store.records import Key, StoredKind
from counterfoil.schema.agreements.documents import expectation_of
from counterfoil.schema.agreements.model import Expectation
from counterfoil.schema.agreements.sides import Numbered
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.documents import node_of_json
from counterfoil.schema.errors import ApplicationNotFound, ContractNotFound, EnvironmentNotFound
from counterfoil.schema.model import Schema
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
from counterfoil.schema.rest.json_values import ReplyJson
from counterfoil.schema.rest.object_forms import REQUIRED, TEXT, Document, JsonType, Member, ObjectForm, object_of
from counterfoil.schema.rest.observations import VERIFICATION, Verification
from counterfoil.schema.rest.verdicts import MIGRATION, STORED_APPROVAL, Approval, ContractMigration

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


# A cache of records, each valid until any server writes one with a key that begins as the request for it.

_KnownValue = TypeVar("_KnownValue")
_Place = tuple[str, "Key"]
_MAX_RECORDS: Final = 200_000


class KnownRecords:
    """Reads records of ``storage`` by kind and the beginning of their keys, and caches the values in them.

    The cache is as current as the storage's last call of its observers, as every request has waited for it.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: RecentValues[_Place, Sequence[Any]] = RecentValues(_MAX_RECORDS)
        self._being_read: dict[_Place, object] = {}
        storage.observe(self._note, of_records=True)

    async def under(
        self, kind: str, prefix: Key, read: Callable[[StorageRecord], _KnownValue]
    ) -> Sequence[_KnownValue]:
        """Return the values of the records of a kind whose keys begin with ``prefix``, sorted by key.

        ``read`` is the same function for all requests of a kind.
        """
        known: Sequence[_KnownValue] | None = self._known.get((kind, prefix))
        return (await self.each_under(kind, [prefix], read))[0] if known is None else known

    async def each_under(
        self, kind: str, prefixes: Sequence[Key], read: Callable[[StorageRecord], _KnownValue]
    ) -> Sequence[Sequence[_KnownValue]]:
        """Return what :meth:`under` returns for each prefix; what is not cached is read at once."""
        found: dict[Key, Sequence[_KnownValue] | None] = {each: self._known.get((kind, each)) for each in prefixes}
        if missing := [each for each, values in found.items() if values is None]:
            found |= await self._read(kind, missing, read)
        return [found[each] or () for each in prefixes]

    async def _read(
        self, kind: str, prefixes: list[Key], read: Callable[[StorageRecord], _KnownValue]
    ) -> dict[Key, Sequence[_KnownValue]]:
        reading = object()
        self._being_read |= {(kind, each): reading for each in prefixes}
        found: dict[Key, Sequence[_KnownValue]] = {}
        try:
            for prefix, records in zip(prefixes, await self._storage.records_under(kind, prefixes), strict=True):
                values = found[prefix] = tuple(map(read, records))
                if self._being_read.get((kind, prefix)) is reading:  # otherwise it was written to in the meantime
                    self._known.put((kind, prefix), values, weight=1 + len(values))
        finally:
            for prefix in prefixes:
                if self._being_read.get((kind, prefix)) is reading:
                    del self._being_read[kind, prefix]
        return found

    def _note(self, written: WrittenChanges | None, /) -> None:
        """Remove what a write may have changed."""
        if written is None:
            self._known = RecentValues(_MAX_RECORDS)
            self._being_read.clear()
            return
        for change in written.changes:
            if change.kind is JournalChangeKind.RECORD and change.document is not None:
                kind, key = change.document["kind"], tuple(change.document["key"])
                for length in range(len(key) + 1):
                    self._known.drop((kind, key[:length]))
                    self._being_read.pop((kind, key[:length]), None)


# What is stored about contracts in a storage. Every read is by a key or the prefix of one.
#
# Contracts with their texts are read from the storage; all other records are cached.

_T = TypeVar("_T")
_SHOWN = 80


class Party(NamedTuple):
    """An application that offers or reads a contract, with the newest version that does."""

    contract: str
    application: str
    newest: str


class HeldRecord(NamedTuple, Generic[_T]):
    """The value of a record, None if there is none, and its revision, then 0."""

    value: _T | None
    revision: int


def _party(record: StorageRecord) -> Party:
    contract, application = record.key
    return Party(contract, application, record.document["version"])


class ContractRead(NamedTuple):
    """What a version reads of one contract by one file: the file, its expectations, and the readers' schemas."""

    link: ContractLink
    expectations: tuple[Expectation, ...]
    schemas: Mapping[str, Schema]


def _read(record: StorageRecord) -> ContractRead:
    held = INPUT_PORTS.read(ReplyJson(record.document))
    return ContractRead(held.link, tuple(expectation_of(node_of_json(each)) for each in held.ports), held.schemas)


def _link(record: StorageRecord) -> ContractLink:
    return CONTRACTS.read(record.document).link


def _last_part(record: StorageRecord) -> str:
    return record.key[-1]


class ContractRecords:
    """What is stored about contracts in ``storage``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known = KnownRecords(storage)

    async def find(self, kind: StoredKind[_T], key: Key) -> HeldRecord[_T]:
        """Return the value of a kind with this key, and its revision."""
        found = await self._known.under(kind.name, key, kind.held)
        return HeldRecord(*found[0]) if found else HeldRecord(None, 0)

    async def all(self, kind: StoredKind[_T], prefix: Key = ()) -> list[_T]:
        """Return the values of a kind whose keys begin with ``prefix``, sorted by key."""
        return [value for value, _ in await self._known.under(kind.name, prefix, kind.held)]

    async def each(self, kind: StoredKind[_T], prefixes: Sequence[Key]) -> list[_T]:
        """Return the values of a kind whose keys begin with one of ``prefixes``, prefix by prefix."""
        found = await self._known.each_under(kind.name, prefixes, kind.held)
        return [value for part in found for value, _ in part]

    # --- one of a kind, which must exist

    async def application(self, name: str) -> Application:
        """Return an application; raise ``ApplicationNotFound`` if there is none of this name."""
        found = (await self.find(APPLICATIONS, (name,))).value
        if found is None:
            raise ApplicationNotFound(f"There is no application {name[:_SHOWN]!r}; publish its contracts first")
        return found

    async def version(self, application: str, version: str) -> tuple[ApplicationVersion, int]:
        """Return a version of an application and its revision; raise ``ApplicationNotFound`` if there is none."""
        held = await self.find(VERSIONS, (application, version))
        if held.value is None:
            raise ApplicationNotFound(
                f"Application {application[:_SHOWN]!r} has no version {version[:_SHOWN]!r}; publish its contracts first"
            )
        return held.value, held.revision

    async def environment(self, name: str) -> tuple[Environment, int]:
        """Return an environment and its revision; raise ``EnvironmentNotFound`` if there is none of this name."""
        held = await self.find(ENVIRONMENTS, (name,))
        if held.value is None:
            raise EnvironmentNotFound(
                f"There is no environment {name[:_SHOWN]!r}; create it with counterfoil record environment"
            )
        return held.value, held.revision

    async def environment_names(self) -> list[str]:
        """Return the names of all environments."""
        return [each.name for each in await self.all(ENVIRONMENTS)]

    # --- contracts with their texts

    async def published(self, contract: str, kind: ContractKind, version: str) -> PublishedContract | None:
        """Return a version of a contract; None if there is none."""
        found = await self._storage.records(CONTRACTS.name, (contract, kind, version))
        return CONTRACTS.read(found[0].document) if found else None

    async def contracts(self, links: Sequence[ContractLink]) -> list[PublishedContract]:
        """Return published contracts in the order of ``links``; raise ``ContractNotFound`` if one does not exist."""
        keys = [(link.id, str(link.kind), link.version) for link in links]
        found = await self._storage.records_under(CONTRACTS.name, keys)
        for (contract, _, version), records in zip(keys, found, strict=True):
            if not records:
                raise ContractNotFound(f"Contract {contract[:_SHOWN]!r} has no version {version[:_SHOWN]!r}")
        return [CONTRACTS.read(records[0].document) for records in found]

    async def promised(self, contract: str) -> list[ContractLink]:
        """Return the published versions of a producer's contract."""
        return list(await self._known.under(CONTRACTS.name, (contract, ContractKind.ODCS), _link))

    async def contract_keys(self, contract: str | None = None) -> list[Key]:
        """Return the keys of the versions of a contract, or of all: id, kind, version."""
        prefix = () if contract is None else (contract,)
        return [record.key for record in await self._storage.records(CONTRACTS.name, prefix)]

    # --- what leads from one to others

    async def contracts_of(self, subject: QualifiedSubject) -> list[str]:
        """Return the ids of the contracts that are about a subject."""
        return list(await self._known.under(OF_SUBJECT_KIND, of_subject_key(subject), _last_part))

    async def parties(self, kind: ContractKind, contracts: Sequence[str]) -> list[Party]:
        """Return the applications that offer (ODCS) or read (ODPS) one of some contracts."""
        found = await self._known.each_under(party_kind(kind), [(each,) for each in contracts], _party)
        return [each for part in found for each in part]

    async def reads(self, keys: Sequence[Key]) -> Sequence[Sequence[ContractRead]]:
        """Return what versions read, by contract, application and version; empty where it is not stored apart."""
        return await self._known.each_under(PORTS_KIND, keys, _read)

    async def live(self, environment: str, applications: Iterable[str]) -> list[Numbered]:
        """Return the versions of some applications that are live in an environment, each once."""
        names = sorted(set(applications))
        found = await self.each(DEPLOYMENTS, [(environment, name) for name in names])
        return list(dict.fromkeys((each.application, each.version) for each in found))

    async def newest_on(self, branch: str, applications: Iterable[str]) -> list[ApplicationVersion]:
        """Return the newest version of each of some applications that comes from a branch."""
        found: dict[str, ApplicationVersion] = {}
        for each in await self.each(VERSIONS, [(name,) for name in sorted(set(applications))]):
            known = found.get(each.application)
            if each.branch == branch and (known is None or known.create_ts <= each.create_ts):
                found[each.application] = each
        return list(found.values())

    async def versions(self, keys: Iterable[Numbered]) -> list[ApplicationVersion]:
        """Return versions of applications by name and version; those that do not exist are left out."""
        return await self.each(VERSIONS, list(keys))

    async def was_used(self, environment: str) -> bool:
        """Return whether anything is or was recorded as live in an environment."""
        prefix = (environment,)
        return bool(await self.all(DEPLOYMENTS, prefix) or await self.all(LIVE_HISTORIES, prefix))

    async def deployments(self, environment: str, application: str | None = None) -> Sequence[Deployment]:
        """Return what is live in an environment, of one application or of all."""
        prefix = (environment,) if application is None else (environment, application)
        return await self.all(DEPLOYMENTS, prefix)
