"""Publishing contracts: all those of one version of an application, or none; a published version never changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.contracts.hooks import Event
from counterfoil.registry.domain.contracts.stored import (
    APPLICATIONS,
    CONTRACTS,
    INPUT_PORTS,
    OF_SUBJECT_KIND,
    PORTS_KIND,
    VERSIONS,
    InputPorts,
    of_subject_key,
    party_kind,
)
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.plan import Plan, record_write, together
from counterfoil.registry.service.contracts.files import permit_all
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import TOP_LEVEL, parse_subject
from counterfoil.schema.errors import ContractExists, InvalidContract
from counterfoil.schema.rest.contracts import (
    Application,
    ApplicationVersion,
    ContractKind,
    Publication,
    PublishedContract,
)
from counterfoil.schema.rest.webhooks import EventType

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.contracts.events import Events
    from counterfoil.registry.service.contracts.files import ContractFiles, Permit, ReadContract
    from counterfoil.registry.service.contracts.histories import Histories
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.comparing import Comparing
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.contract_diffs import ContractDiff
    from counterfoil.schema.rest.contracts import NewPublication
    from counterfoil.schema.rest.object_forms import Document


@dataclass(slots=True)
class _Draft:
    """What a publication writes, while it is collected."""

    values: list[Plan] = field(default_factory=list)
    index: dict[tuple[str, tuple[str, ...]], Plan] = field(default_factory=dict)
    """By kind and key: two contracts may be about the same."""
    notices: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
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
        files: ContractFiles,
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
        self._turns = Turns(storage.catch_up)

    async def publish(self, new: NewPublication, *, dry_run: bool = False, permit: Permit = permit_all) -> Publication:
        """Store the contracts of a version of an application, all or none; with ``dry_run`` only check them.

        ``permit`` raises unless the caller may write the subjects of promises.
        Raises ``InvalidContract``, ``ContractExists``, ``OperationNotPermitted``.
        """
        if not new.application or not new.version:
            raise InvalidContract("A publication needs an application and a version")
        read = [
            await self._files.read(each, version=new.version, needs=Operation.WRITE, permit=permit)
            for each in new.contracts
        ]
        named = [(each.contract.id, each.contract.kind) for each in read]
        if twice := next((each for each in named if named.count(each) > 1), None):
            raise InvalidContract(f"Contract {twice[0]!r} is in the publication more than once")
        return await self._turns.take(partial(self._publish, new, read, dry_run=dry_run), written=new.application)

    async def _publish(self, new: NewPublication, read: list[ReadContract], *, dry_run: bool) -> Publication:
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
            await self._storage.commit(together((draft.plan, await self._events.plan(*draft.events))))
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
