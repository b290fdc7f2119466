"""Publishing contracts: all those of one version of an application, or none; a published version never changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.stored import (
    APPLICATIONS,
    CONTRACTS,
    OF_SUBJECT_KIND,
    VERSIONS,
    of_subject_key,
    party_kind,
)
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.plan import Plan, record_write, together
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.contracts.files import ContractFiles, ReadContract
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.contracts import NewPublication


@dataclass(slots=True)
class _Draft:
    """What a publication writes, while it is collected."""

    values: list[Plan] = field(default_factory=list)
    index: dict[tuple[str, tuple[str, ...]], Plan] = field(default_factory=dict)
    """By kind and key: two contracts may be about the same."""
    notices: list[str] = field(default_factory=list)

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
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._files = files
        self._now_ms = now_ms
        self._turns = Turns(storage.catch_up)

    async def publish(self, new: NewPublication, *, dry_run: bool = False) -> Publication:
        """Store the contracts of a version of an application, all or none; with ``dry_run`` only check them.

        Raises ``InvalidContract``, ``ContractExists``, ``OperationNotPermitted``.
        """
        if not new.application or not new.version:
            raise InvalidContract("A publication needs an application and a version")
        read = [await self._files.read(each, version=new.version) for each in new.contracts]
        named = [(each.contract.id, each.contract.kind) for each in read]
        if twice := next((each for each in named if named.count(each) > 1), None):
            raise InvalidContract(f"Contract {twice[0]!r} is in the publication more than once")
        return await self._turns.take(partial(self._publish, new, read, dry_run=dry_run), written=new.application)

    async def _publish(self, new: NewPublication, read: list[ReadContract], *, dry_run: bool) -> Publication:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
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
        if draft.plan.effects and not dry_run:
            await self._storage.commit(draft.plan)
        return Publication(new.application, new.version, version.contracts, tuple(draft.notices))

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
                    f"publish {link.id} {link.version} with a new version of the application"
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
        held = (await self._records.find(CONTRACTS, CONTRACTS.key(contract))).value
        if held is None:
            stamped = replace(
                contract, application=new.application, application_version=new.version, create_ts=self._now_ms()
            )
            draft.values.append(CONTRACTS.write(stamped, revision=0))
        elif held.hash != contract.hash:
            raise _other_content(held, contract)
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
            await self._add_index(party_kind(contract.kind), (each, new.application), newest, draft)

    async def _add_index(self, kind: str, key: tuple[str, ...], document: dict[str, str], draft: _Draft) -> None:
        found = await self._storage.records(kind, key)
        if not found or found[0].document != document:
            revision = found[0].revision if found else 0
            draft.index[kind, key] = record_write(kind, key, document, revision=revision)


def _other_content(held: PublishedContract, given: PublishedContract) -> ContractExists:
    """Return the error for a version of a contract that is published with other content."""
    links = sorted({*held.schemas, *given.schemas})
    schemas = [f"schema {link}" for link in links if held.schemas.get(link) != given.schemas.get(link)]
    lines = unified_diff(held.text.splitlines(), given.text.splitlines(), "published", "given", lineterm="", n=0)
    return ContractExists(
        f"{given.id} {given.version} is published with other content; publish the change as another version",
        details={"differences": [*schemas, *lines]},
    )
