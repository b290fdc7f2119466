"""Publishing contracts: contract files of requests, all those of one version or none; reading published ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import partial
from typing import Any, Final, TypeAlias

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.contracts.environments import Histories
from counterfoil.registry.contracts.events import Event, Events
from counterfoil.registry.contracts.records import (
    APPLICATIONS,
    CONTRACTS,
    INPUT_PORTS,
    OF_SUBJECT_KIND,
    PORTS_KIND,
    VERSIONS,
    ContractRecords,
    InputPorts,
    is_name,
    of_subject_key,
    party_kind,
)
from counterfoil.registry.contracts.verdicts.sides import Comparing, Sides
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Requester, StoragePlan, record_write, together
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import schema_request_of
from counterfoil.schema.agreements import Agreement, AgreementFault, Contract, SchemaLink
from counterfoil.schema.agreements.documents import hash_of_file, ports_of, read_agreement, read_if_valid
from counterfoil.schema.contexts import DEFAULT_CONTEXT, TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.documents import plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.errors import ContractExists, ContractNotFound, Forbidden, InvalidContract, InvalidSchema
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.contracts import (
    Application,
    ApplicationVersion,
    ContractKind,
    ContractVersions,
    EventType,
    NewContract,
    NewPublication,
    Publication,
    PublishedContract,
)
from counterfoil.schema.rest.object_forms import Document
from counterfoil.schema.rest.verdicts import ContractDiff

# Reading contract files of requests: valid under their standard, and with every schema to which they refer.

_SHOWN: Final = 80

Permit: TypeAlias = "Callable[[AccessOperation, QualifiedSubject], None]"
"""Raises unless the caller may do an operation to a subject."""


def permit_all(_: AccessOperation, __: QualifiedSubject) -> None:
    """Do nothing: for callers who may do everything."""


@dataclass(frozen=True, slots=True)
class ReadContract:
    """A contract file that was read, with the subjects and contracts it is about."""

    contract: PublishedContract
    agreement: Agreement
    subjects: tuple[str, ...] = ()
    reads: Mapping[str, list[Any]] = field(default_factory=dict)
    """The input ports of a consumer as JSON, by the contract that they read."""


class ContractFileReader:
    """Reads contract files."""

    def __init__(self, storage: Storage, *, reader: SchemaReader, sides: Sides) -> None:
        self._storage = storage
        self._reader = reader
        self._sides = sides

    async def read(self, given: NewContract, *, version: str, needs: AccessOperation, permit: Permit) -> ReadContract:
        """Return a contract; ``version`` is that of the application, for a file without one.

        ``permit`` is called with ``needs`` for each subject of a producer's contract, and with READ for each that a
        given schema refers to, and for each that a consumer's contract reads: a verdict tells which fields it has.
        Raises ``InvalidContract``.
        """
        reading = await self._reader.of_text(given.text, read_if_valid)
        if reading is None:
            reading = await self._reader.beside(read_agreement, given.text)
        agreement = reading.agreement
        if agreement is None or reading.faults:
            raise _invalid(reading.faults)
        _check_names(agreement, version)
        if isinstance(agreement, Contract):
            return await self._producers(agreement, given, version, needs, permit)
        links = [each.reader_schema.url for each in agreement.expectations if each.reader_schema is not None]
        schemas = await self._given(given, dict.fromkeys(links, DEFAULT_CONTEXT), permit)
        if missing := next((link for link in links if link not in schemas), None):
            raise InvalidContract(f"The reader schema {missing!r} of {agreement.id!r} is not among the schemas")
        reads = await self._reader.of_text(given.text, ports_of)
        for contract in reads:
            await self._permit_reading(contract, permit)
        return await self._contract(agreement, given, version, schemas, reads=reads)

    async def _permit_reading(self, contract: str, permit: Permit) -> None:
        """Raise ``Forbidden`` without their names unless the caller may read the subjects that a contract is about."""
        try:
            for subject in await self._sides.subjects(contract):
                permit(AccessOperation.READ, subject)
        except Forbidden:
            raise Forbidden(
                f"User is denied operation Read on a subject that contract {contract[:_SHOWN]!r} is about"
            ) from None

    async def _producers(
        self, contract: Contract, given: NewContract, version: str, needs: AccessOperation, permit: Permit
    ) -> ReadContract:
        """Return a producer's contract; where a schema is not given, it is the latest version of the subject."""
        keys = [each.key.subject for each in contract.promises if each.key is not None and each.key.subject is not None]
        for subject in (*keys, *(each.subject for each in contract.promises)):
            permit(needs, parse_subject(subject))
        contexts = {subject: parse_subject(subject).context for subject in keys}
        for promise in contract.promises:
            context = parse_subject(promise.subject).context
            contexts[promise.subject] = context
            for link in (promise.schema, promise.key.schema if promise.key is not None else None):
                if link is not None:
                    contexts[link.url] = context
        schemas = await self._given(given, contexts, permit)
        for promise in contract.promises:
            if promise.subject not in schemas and (promise.schema is None or promise.schema.url not in schemas):
                schemas |= await self._registered(promise.subject, promise.schema)
        for subject in keys:
            if subject not in schemas:
                schemas |= await self._registered(subject, None, is_needed=False)
        subjects = tuple(dict.fromkeys(each.subject for each in contract.promises))
        return await self._contract(contract, given, version, schemas, subjects=subjects)

    async def _given(self, given: NewContract, contexts: dict[str, str], permit: Permit) -> dict[str, Schema]:
        """Return the given schemas to which the contract refers, by link or subject, as they are stored.

        ``contexts`` are those of their references. Raises ``InvalidContract``.
        """
        found: dict[str, Schema] = {}
        for name, context in contexts.items():
            if name not in given.schemas:
                continue
            for reference in given.schemas[name].references:
                permit(AccessOperation.READ, parse_subject(reference.subject, context=context))
            try:
                reading = await self._reader.read(
                    context,
                    schema_request_of(given.schemas[name]),
                    validation=Validation.STRICT,
                    normalize=False,
                    deleted=False,
                )
            except InvalidSchema as mistake:
                raise InvalidContract(f"Schema {name!r}: {mistake.message}") from None
            content = reading.candidate.content
            found[name] = Schema(content.text, content.schema_type, content.references)
        return found

    async def _registered(self, subject: str, link: SchemaLink | None, *, is_needed: bool = True) -> dict[str, Schema]:
        """Return the latest schema of a subject, by its name."""
        latest = (await self._storage.history(parse_subject(subject))).latest
        if latest is None:
            if not is_needed:
                return {}
            given = "" if link is None else f"the schema {link.url!r} is not among the schemas, and "
            raise InvalidContract(
                f"{given or 'the contract refers to no schema, and '}subject {subject!r} has no version; "
                "give the schema, or register it first"
            )
        content = await self._reader.content(latest.guid)
        return {subject: Schema(content.text, content.schema_type, content.references)}

    async def _contract(
        self,
        agreement: Agreement,
        given: NewContract,
        version: str,
        schemas: dict[str, Schema],
        *,
        subjects: tuple[str, ...] = (),
        reads: Mapping[str, list[Any]] | None = None,
    ) -> ReadContract:
        kind = ContractKind.ODCS if isinstance(agreement, Contract) else ContractKind.ODPS
        found = await self._reader.of_text(given.text, hash_of_file, schemas)
        contract = PublishedContract(agreement.id, kind, agreement.version or version, found, given.text, schemas)
        return ReadContract(contract, agreement, subjects, reads or {})


def _check_names(agreement: Agreement, version: str) -> None:
    """Check what becomes part of a key."""
    if isinstance(agreement, Contract):
        others = [(each.subject, "a subject") for each in agreement.promises]
    else:
        others = [(each.contract_id, "the contractId of a port") for each in agreement.expectations]
    for name, what in ((agreement.id, "the id"), (agreement.version or version, "the version"), *others):
        if not is_name(name):
            raise InvalidContract(f"{what} is {name[:80]!r}; expected 1 to 300 characters without control characters")


def _invalid(faults: tuple[AgreementFault, ...]) -> InvalidContract:
    """Return the error for a file with mistakes."""
    first = faults[0]
    where = f"{first.position}: " if first.position else ""
    more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
    details = [
        {
            "rule": each.rule,
            "text": each.problem,
            **({"line": each.position.line, "column": each.position.column} if each.position else {}),
        }
        for each in faults
    ]
    return InvalidContract(f"The contract is not valid: {where}{first.problem}{more}", details={"faults": details})


# Reading published contracts.

_SHOWN_NAME = 80


class Library:
    """The use cases of reading contracts."""

    def __init__(self, records: ContractRecords, *, sides: Sides) -> None:
        self._records = records
        self._sides = sides

    async def all(self) -> list[ContractVersions]:
        """Return all contracts with the numbers of their versions."""
        return _grouped(await self._records.contract_keys())

    async def get(self, contract: str) -> list[ContractVersions]:
        """Return a contract with the numbers of its versions; raise ``ContractNotFound`` if there is none."""
        found = _grouped(await self._records.contract_keys(contract))
        if not found:
            raise self.no_contract(contract)
        return found

    @staticmethod
    def no_contract(contract: str) -> ContractNotFound:
        """Return the error for a contract that does not exist."""
        return ContractNotFound(f"There is no contract {contract[:_SHOWN_NAME]!r}")

    @staticmethod
    def no_version(contract: str, version: str) -> ContractNotFound:
        """Return the error for a version of a contract that does not exist."""
        return ContractNotFound(f"Contract {contract[:_SHOWN_NAME]!r} has no version {version[:_SHOWN_NAME]!r}")

    async def applications(self, contract: str, kind: ContractKind) -> set[str]:
        """Return the applications that offer (ODCS) or read (ODPS) a contract."""
        return {party.application for party in await self._records.parties(kind, [contract])}

    async def subjects(self, contract: str) -> list[QualifiedSubject]:
        """Return the subjects that the published versions of a contract are about, sorted."""
        return await self._sides.subjects(contract)

    async def version(self, contract: str, version: str, kind: ContractKind | None = None) -> PublishedContract:
        """Return a version of a contract, of a kind: by default a producer's, or else a consumer's.

        Raises ``ContractNotFound``.
        """
        for each in ContractKind if kind is None else (kind,):
            found = await self._records.published(contract, each, version)
            if found is not None:
                return found
        raise self.no_version(contract, version)


def plain_contract(contract: PublishedContract) -> Any:
    """Return the content of the file as JSON, which is valid under the same standard."""
    root = read_yaml(contract.text)
    return None if root is None else plain_value(root)


def _grouped(keys: list[tuple[str, ...]]) -> list[ContractVersions]:
    versions: dict[tuple[str, str], list[str]] = {}
    for contract, kind, version in keys:
        versions.setdefault((contract, kind), []).append(version)
    return [ContractVersions(name, ContractKind(kind), tuple(found)) for (name, kind), found in versions.items()]


# Publishing contracts: all those of one version of an application, or none; a published version never changes.


@dataclass(slots=True)
class _Draft:
    """What a publication writes, while it is collected."""

    values: list[StoragePlan] = field(default_factory=list)
    index: dict[tuple[str, tuple[str, ...]], StoragePlan] = field(default_factory=dict)
    """By kind and key: two contracts may be about the same."""
    notices: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def plan(self) -> StoragePlan:
        """The plan that writes all of it."""
        return together((*self.values, *self.index.values()))


class Publishing:
    """The use case of publishing. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        files: ContractFileReader,
        comparing: Comparing,
        events: Events,
        histories: Histories,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._files = files
        self._comparing = comparing
        self._events = events
        self._histories = histories
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    async def publish(
        self, new: NewPublication, *, by: Requester, dry_run: bool = False, permit: Permit = permit_all
    ) -> Publication:
        """Store the contracts of a version of an application, all or none; with ``dry_run`` only check them.

        ``permit`` raises unless the caller may write the subjects of promises.
        Raises ``InvalidContract``, ``ContractExists``, ``OperationNotPermitted``.
        """
        if not new.application or not new.version:
            raise InvalidContract("A publication needs an application and a version")
        read = [
            await self._files.read(each, version=new.version, needs=AccessOperation.WRITE, permit=permit)
            for each in new.contracts
        ]
        named = [(each.contract.id, each.contract.kind) for each in read]
        if twice := next((each for each in named if named.count(each) > 1), None):
            raise InvalidContract(f"Contract {twice[0]!r} is in the publication more than once")
        return await self._turns.take(
            partial(self._publish, new, read, dry_run=dry_run, by=by), written=new.application
        )

    async def _publish(
        self, new: NewPublication, read: list[ReadContract], *, by: Requester, dry_run: bool
    ) -> Publication:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        read = [await self._as_stored(each) for each in read]
        found = await self._records.find(VERSIONS, (new.application, new.version))
        held = found.value
        version = self._version(held, new, read)
        draft = _Draft()
        for each in read:
            await self._add_contract(new, each, draft)
            if held is None or each.contract.link not in held.contracts:
                await self._add_indexes(new, each, draft)
        application = (await self._records.find(APPLICATIONS, (new.application,))).value
        if application is None:
            draft.values.append(APPLICATIONS.write(Application(new.application, create_ts=self._now_ms()), revision=0))
        if version != held:
            draft.values.append(VERSIONS.write(version, revision=found.revision))
        if news := {
            each for one in read if held is None or one.contract.link not in held.contracts for each in one.reads
        }:
            draft.values.append(await self._histories.published(new.application, new.version, news))
        if draft.plan.effects and not dry_run:
            await self._storage.commit(together((draft.plan, await self._events.plan(*draft.events))), by=by)
        return Publication(new.application, new.version, version.contracts, tuple(draft.notices))

    async def _as_stored(self, read: ReadContract) -> ReadContract:
        """Return a contract with the hash with which it is stored: an earlier release may have computed another one."""
        contract = read.contract
        held = await self._records.published(contract.id, contract.kind, contract.version)
        if held is None or held.hash == contract.hash or not await self._comparing.are_the_same(held, contract):
            return read
        return replace(read, contract=replace(contract, hash=held.hash))

    def _version(
        self, held: ApplicationVersion | None, new: NewPublication, read: list[ReadContract]
    ) -> ApplicationVersion:
        """Return the version with its contracts; it cannot have another version of a contract that it has."""
        version = held or ApplicationVersion(new.application, new.version, create_ts=self._now_ms())
        links = {(link.id, link.kind): link for link in version.contracts}
        for each in read:
            link = each.contract.link
            known = links.setdefault((link.id, link.kind), link)
            if known != link:
                raise ContractExists(
                    f"{new.application} {new.version} has published {link.id} {known.version} with other content; "
                    f"publish the change with a new version of the application"
                    f"{f' and of {link.id}' if known.version == link.version else ''}"
                )
        return replace(
            version,
            branch=new.branch or version.branch,
            commit=new.commit or version.commit,
            build_url=new.build_url or version.build_url,
            contracts=tuple(links.values()),
        )

    async def _add_contract(self, new: NewPublication, read: ReadContract, draft: _Draft) -> None:
        contract = read.contract
        held = await self._records.published(contract.id, contract.kind, contract.version)
        if held is None:
            stamped = replace(
                contract, application=new.application, application_version=new.version, create_ts=self._now_ms()
            )
            draft.values.append(CONTRACTS.write(stamped, revision=0, subjects=map(parse_subject, read.subjects)))
            draft.events.append(await self._published(stamped))
        elif not await self._comparing.are_the_same(held, contract):
            raise _other_content(held, contract, await self._comparing.contents(held, contract))
        elif held.text != contract.text:
            draft.notices.append(
                f"{contract.id} {contract.version} is published already with other texts for people, which are kept"
            )

    async def _add_indexes(self, new: NewPublication, read: ReadContract, draft: _Draft) -> None:
        contract = read.contract
        for subject in read.subjects:
            await self._add_index(OF_SUBJECT_KIND, of_subject_key(parse_subject(subject), contract.id), {}, draft)
        for each in (contract.id,) if contract.kind is ContractKind.ODCS else read.reads:
            newest = {"version": new.version}
            is_new = await self._add_index(party_kind(contract.kind), (each, new.application), newest, draft)
            if is_new and contract.kind is ContractKind.ODPS:
                facts = {"application": new.application, "version": new.version, "contract": each, "origin": "declared"}
                draft.events.append(Event(EventType.CONSUMER_ADDED, new.application, facts))
        for each, ports in read.reads.items():
            stored = INPUT_PORTS.write(InputPorts(contract.link, tuple(ports), contract.schemas))
            await self._add_index(PORTS_KIND, (each, new.application, new.version, contract.id), stored, draft)

    async def _published(self, contract: PublishedContract) -> Event:
        """Return the event of a new version of a contract: the first, or another one."""
        known = await self._storage.records(CONTRACTS.name, (contract.id, contract.kind))
        facts = {
            "contract": contract.id,
            "kind": str(contract.kind),
            "version": contract.version,
            "hash": contract.hash,
            "application": contract.application,
            "applicationVersion": contract.application_version,
        }
        return Event(EventType.CONTRACT_CHANGED if known else EventType.CONTRACT_PUBLISHED, contract.id, facts)

    async def _add_index(self, kind: str, key: tuple[str, ...], document: Document, draft: _Draft) -> bool:
        """Write an entry of an index where it differs; return whether there was none."""
        found = await self._storage.records(kind, key)
        if not found or found[0].document != document:
            revision = found[0].revision if found else 0
            draft.index[kind, key] = record_write(kind, key, document, revision=revision)
        return not found


class OtherContent(ContractExists):
    """A version of a contract is published with other content, by ``application``; the details show the difference."""

    def __init__(self, message: str, *, application: str, differences: list[str], changes: list[str]) -> None:
        super().__init__(message, details={"differences": differences, "changes": changes})
        self.application = application


def _other_content(held: PublishedContract, given: PublishedContract, found: ContractDiff) -> OtherContent:
    """Return the error for a version of a contract that is published with other content."""
    links = sorted({*held.schemas, *given.schemas})
    schemas = [f"schema {link}" for link in links if held.schemas.get(link) != given.schemas.get(link)]
    lines = unified_diff(held.text.splitlines(), given.text.splitlines(), "published", "given", lineterm="", n=0)
    return OtherContent(
        f"{given.id} {given.version} is published with other content; publish the change as another version",
        application=held.application,
        differences=[*schemas, *lines],
        changes=[": ".join(filter(None, (each.subject, each.path, each.text))) for each in found.changes],
    )
