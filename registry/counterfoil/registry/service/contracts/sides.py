"""What versions of applications offer and read, as values that can be judged; files are read once, by content."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.contracts.verdict import judge_pair
from counterfoil.registry.service.bridges.requests import schema_request_of
from counterfoil.registry.service.recent_values import RecentValues
from counterfoil.schema.agreements.document import read_agreement
from counterfoil.schema.agreements.model import Application as Product
from counterfoil.schema.agreements.model import Contract
from counterfoil.schema.contexts import DEFAULT_CONTEXT, parse_subject
from counterfoil.schema.errors import InvalidContract
from counterfoil.schema.parsed import Validation
from counterfoil.schema.reads.model import Offer, Reader
from counterfoil.schema.rest.contracts import ApplicationVersion, ContractKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.schema.agreements.model import Expectation, Promise, SchemaLink
    from counterfoil.schema.model import Schema
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.rest.contracts import ContractLink, PublishedContract

_MEMORY_CHARS: Final = 32 * 1024 * 1024
_ENTRY_CHARS: Final = 1000
_FINDING_CHARS: Final = 500
_MAX_FINDING_CHARS: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Offering:
    """What one version of a producer offers of one subject. ``identity`` is equal for equal contents."""

    application: str
    version: str
    contract: str
    contract_version: str
    subject: str
    promise: Promise
    offer: Offer
    identity: tuple[str, ...]

    @property
    def major(self) -> str:
        """The major version of the contract."""
        return self.contract_version.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one version of a consumer expects of one contract. ``identity`` is equal for equal contents."""

    application: str
    version: str
    contract: str
    reader: Reader
    identity: tuple[str, ...]

    @property
    def expectation(self) -> Expectation:
        """What it expects."""
        return self.reader.expectation

    @property
    def major(self) -> str:
        """The major version of the contract that it reads."""
        return self.expectation.version.partition(".")[0]

    def chosen(self, offerings: Sequence[Offering]) -> list[Offering]:
        """Return those that it reads, of the offerings of its contract by one version of a producer.

        Those are the ones of its major version; without any, all of them, so that a new major version of the same topic
        does not escape. Of several topics, it reads the one after which its port is named, or else all of them.
        """
        of_major = [each for each in offerings if each.major == self.major] or list(offerings)
        name = self.expectation.name
        named = [each for each in of_major if name in {each.promise.name, each.promise.topic, each.subject}]
        return named or of_major


@dataclass(frozen=True, slots=True)
class Side:
    """What one version of an application offers and reads."""

    application: str
    version: str
    offerings: tuple[Offering, ...] = ()
    readings: tuple[Reading, ...] = ()

    def is_same(self, other: Side) -> bool:
        """Return whether the other is the same version of the same application."""
        return (self.application, self.version) == (other.application, other.version)

    def offered(self, contract: str) -> list[Offering]:
        """Return what it offers of a contract."""
        return [each for each in self.offerings if each.contract == contract]


_Content = tuple[tuple[tuple["Promise", Offer], ...], tuple[tuple["Expectation", "ParsedSchema | None"], ...]]


class Sides:
    """Reads the contracts of versions; parsed files and judged pairs are cached by content."""

    def __init__(self, records: ContractRecords, *, reader: SchemaReader) -> None:
        self._records = records
        self._reader = reader
        self._contents: RecentValues[ContractLink, _Content] = RecentValues(_MEMORY_CHARS)
        self._judged: RecentValues[tuple[object, ...], tuple[ReadFinding, ...]] = RecentValues(_MAX_FINDING_CHARS)

    async def side(self, version: ApplicationVersion, *, contracts: Iterable[str] | None = None) -> Side:
        """Return what a version offers and reads: of some contracts, or of all."""
        wanted = None if contracts is None else frozenset(contracts)
        links = [
            each for each in version.contracts if wanted is None or each.kind is ContractKind.ODPS or each.id in wanted
        ]
        return _side(version, [(link, await self._content(link)) for link in links], wanted)

    async def sides(self, versions: Iterable[ApplicationVersion], *, contracts: Iterable[str]) -> list[Side]:
        """Return what versions offer and read of some contracts."""
        wanted = frozenset(contracts)
        return list(await asyncio.gather(*(self.side(each, contracts=wanted) for each in versions)))

    def judged(self, earlier: Sequence[Offering], later: Offering, reading: Reading) -> tuple[ReadFinding, ...]:
        """Return the findings about a pair, from the cache if the same contents were judged before."""
        key = (tuple(sorted(each.identity for each in earlier)), later.identity, reading.identity)
        found = self._judged.get(key)
        if found is None:
            found = judge_pair([each.offer for each in earlier], later.offer, reading.reader)
            self._judged.put(key, found, weight=_FINDING_CHARS * (1 + len(found)))
        return found

    async def proposed(self, contract: PublishedContract, application: str, version: str) -> Side:
        """Return what a contract that is not published offers or reads."""
        proposal = ApplicationVersion(application, version, contracts=(contract.link,))
        return _side(proposal, [(contract.link, await self._parsed(contract))])

    async def _content(self, link: ContractLink) -> _Content:
        found = self._contents.get(link)
        if found is None:
            contract = await self._records.contract(link)
            found = await self._parsed(contract)
            weight = len(contract.text) + sum(len(each.text) for each in contract.schemas.values()) + _ENTRY_CHARS
            self._contents.put(link, found, weight=weight)
        return found

    async def _parsed(self, contract: PublishedContract) -> _Content:
        agreement = read_agreement(contract.text, is_validated=True).agreement
        if isinstance(agreement, Contract):
            offered = [(promise, await self._offer(contract, promise)) for promise in agreement.promises]
            return tuple(offered), ()
        if isinstance(agreement, Product):
            read = [(each, await self._schema(contract, each.reader_schema)) for each in agreement.expectations]
            return (), tuple(read)
        return (), ()

    async def _offer(self, contract: PublishedContract, promise: Promise) -> Offer:
        context = parse_subject(promise.subject).context
        schema = await self._schema(contract, promise.schema, context=context, subject=promise.subject)
        if schema is None:
            raise InvalidContract(f"Contract {contract.id} {contract.version} is stored without its schema")
        key = None
        if promise.key is not None and promise.key.subject is not None:
            key = await self._schema(contract, None, context=context, subject=promise.key.subject)
        return Offer(schema, promise, key=key)

    async def _schema(
        self,
        contract: PublishedContract,
        link: SchemaLink | None,
        *,
        context: str = DEFAULT_CONTEXT,
        subject: str = "",
    ) -> ParsedSchema | None:
        found = contract.schemas.get(link.url) if link is not None else None
        found = found or contract.schemas.get(subject)
        return None if found is None else await self.parsed(context, found)

    async def parsed(self, context: str, schema: Schema) -> ParsedSchema:
        """Return a schema of a request or a stored contract, parsed."""
        reading = await self._reader.read(
            context, schema_request_of(schema), validation=Validation.LENIENT, normalize=False, deleted=True
        )
        return reading.candidate.parsed


def _side(
    version: ApplicationVersion, contents: Sequence[tuple[ContractLink, _Content]], wanted: frozenset[str] | None = None
) -> Side:
    """Return what a version offers and reads; of what it reads, only ``wanted`` contracts, or all for None."""
    offerings = [
        _offering(version, link, promise, offer) for link, (offered, _) in contents for promise, offer in offered
    ]
    readings = [
        _reading(version, link, expectation, schema)
        for link, (_, read) in contents
        for expectation, schema in read
        if wanted is None or expectation.contract_id in wanted
    ]
    return Side(version.application, version.version, tuple(offerings), tuple(readings))


def _offering(version: ApplicationVersion, link: ContractLink, promise: Promise, offer: Offer) -> Offering:
    identity = (link.id, link.version, link.hash, promise.name, promise.subject)
    return Offering(
        version.application, version.version, link.id, link.version, promise.subject, promise, offer, identity
    )


def _reading(
    version: ApplicationVersion, link: ContractLink, expectation: Expectation, schema: ParsedSchema | None
) -> Reading:
    reader = Reader(version.application, expectation, version=version.version, schema=schema)
    identity = (version.application, link.id, link.version, link.hash, expectation.name, str(expectation.position))
    return Reading(version.application, version.version, expectation.contract_id, reader, identity)
