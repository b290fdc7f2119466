"""All use cases over one storage, those of contracts included."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from counterfoil.registry.associations.records import AssociationIndex, SubjectGuard
from counterfoil.registry.associations.use_cases import Associations
from counterfoil.registry.bridges.records import BridgeAcceptance, BridgeRecords
from counterfoil.registry.bridges.use_cases import BridgePlans, Bridges, Drafting
from counterfoil.registry.changes.as_of import AsOf
from counterfoil.registry.contracts.approvals import ApprovalCases, Migrations, MigrationStatuses, VerificationCases
from counterfoil.registry.contracts.environments import Environments, Histories
from counterfoil.registry.contracts.events import Events, Network
from counterfoil.registry.contracts.publishing import ContractFileReader, Library, Publishing
from counterfoil.registry.contracts.records import ContractRecords
from counterfoil.registry.contracts.usage import ActivityLimits, ObservedUsage
from counterfoil.registry.contracts.verdicts.checking import Checking
from counterfoil.registry.contracts.verdicts.gathering import Gathering, MetWriters, RetainedVersions
from counterfoil.registry.contracts.verdicts.proposals import ConsumerGate, ProposedSchemas
from counterfoil.registry.contracts.verdicts.questions import ContractVerdicts, Decisions, PairJudging
from counterfoil.registry.contracts.verdicts.sides import Comparing, Consumers, Counterparts, Sides
from counterfoil.registry.contracts.webhooks import Announcing, Webhooks
from counterfoil.registry.inspection.facts import DerivedFacts
from counterfoil.registry.inspection.refusals import RefusalLog, RefusalRecords
from counterfoil.registry.inspection.use_cases import Inspection, RelatedRecords, inspection_over
from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.keys.records import KeyRecords
from counterfoil.registry.keys.services import KeyWrapping
from counterfoil.registry.keys.use_cases import Deks, Keks, KeyLimit
from counterfoil.registry.search.following import Following
from counterfoil.registry.search.index import SearchIndex
from counterfoil.registry.search.searching import Searching
from counterfoil.registry.settings import DEFAULT_MAX_KEYS
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.catalog import Catalog, SchemaLookup
from counterfoil.registry.subjects.compatibility import Admission, CompatibilityCheck, CompatibilityTest
from counterfoil.registry.subjects.deletion import SubjectDeletion
from counterfoil.registry.subjects.levels import ConfigAndMode, Scopes
from counterfoil.registry.subjects.reading import MAX_TEXTS, Matcher, SchemaReader
from counterfoil.registry.subjects.registration import SchemaRegistration, TagVersion
from counterfoil.registry.topics.use_cases import Sketches, TopicCases

# All use cases of contracts over one storage.


@dataclass(frozen=True, slots=True)
class Contracts:
    """The use cases of contracts."""

    publishing: Publishing
    library: Library
    environments: Environments
    verdicts: ContractVerdicts
    checking: Checking
    approvals: ApprovalCases
    verifications: VerificationCases
    comparing: Comparing
    consumers: Consumers
    gate: ConsumerGate
    usage: ObservedUsage
    topics: TopicCases
    webhooks: Webhooks
    migrations: Migrations
    migration_statuses: MigrationStatuses
    announcing: Announcing

    @property
    def looks(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """What is called from time to time, to store the events about what no request reports."""
        return self.usage.note_stale, self.announcing.expiring_approvals, self.announcing.retirable_migrations


def contract_use_cases(
    storage: Storage,
    *,
    scopes: Scopes,
    reader: SchemaReader,
    check: CompatibilityCheck,
    limits: ActivityLimits,
    webhook_networks: Sequence[Network],
    bridges: BridgeRecords,
    now_ms: Callable[[], int],
    long: LongJudgements,
) -> Contracts:
    """Return the use cases of contracts over ``storage``.

    ``limits`` are those after which readers count as stale; webhooks may be sent to ``webhook_networks``, too.
    """
    records = ContractRecords(storage)
    sides = Sides(records, reader=reader)
    histories = Histories(records=records, sides=sides)
    files = ContractFileReader(storage, reader=reader, sides=sides)
    events = Events(storage, records=records, now_ms=now_ms)
    usage = ObservedUsage(storage, records=records, scopes=scopes, events=events, limits=limits, now_ms=now_ms)
    counterparts = Counterparts(records=records, sides=sides, usage=usage)
    decisions = Decisions(records=records, now_ms=now_ms)
    comparing = Comparing(records=records, sides=sides, long=long)
    migrations = Migrations(storage, records=records, bridges=bridges, scopes=scopes, now_ms=now_ms)
    retained = RetainedVersions(storage, records=records, reader=reader)
    met = MetWriters(storage, records=records, sides=sides)
    gathering = Gathering(sides=sides, counterparts=counterparts, retained=retained, met=met)
    judging = PairJudging(sides=sides, gathering=gathering, migrations=migrations, long=long)
    verdicts = ContractVerdicts(
        records=records,
        sides=sides,
        counterparts=counterparts,
        decisions=decisions,
        usage=usage,
        migrations=migrations,
        judging=judging,
    )
    schemas = ProposedSchemas(
        storage, records=records, reader=reader, sides=sides, counterparts=counterparts, judging=judging
    )
    return Contracts(
        publishing=Publishing(
            storage,
            records=records,
            scopes=scopes,
            files=files,
            comparing=comparing,
            events=events,
            histories=histories,
            now_ms=now_ms,
        ),
        library=Library(records, sides=sides),
        environments=Environments(
            storage, records=records, scopes=scopes, events=events, histories=histories, now_ms=now_ms
        ),
        verdicts=verdicts,
        checking=Checking(
            storage,
            records=records,
            scopes=scopes,
            reader=reader,
            check=check,
            files=files,
            sides=sides,
            counterparts=counterparts,
            decisions=decisions,
            judging=judging,
            schemas=schemas,
            retained=retained,
            events=events,
        ),
        approvals=ApprovalCases(storage, records=records, scopes=scopes, now_ms=now_ms),
        verifications=VerificationCases(storage, records=records, scopes=scopes, events=events, now_ms=now_ms),
        comparing=comparing,
        consumers=Consumers(records=records, sides=sides, counterparts=counterparts, usage=usage),
        gate=ConsumerGate(
            records=records, schemas=schemas, counterparts=counterparts, decisions=decisions, usage=usage, events=events
        ),
        usage=usage,
        topics=TopicCases(storage, records=records, scopes=scopes, now_ms=now_ms),
        webhooks=Webhooks(storage, records=records, scopes=scopes, networks=webhook_networks, now_ms=now_ms),
        migrations=migrations,
        migration_statuses=MigrationStatuses(migrations=migrations, records=records, counterparts=counterparts),
        announcing=Announcing(
            storage,
            records=records,
            counterparts=counterparts,
            migrations=migrations,
            verdicts=verdicts,
            events=events,
            now_ms=now_ms,
        ),
    )


# All use cases over one storage.

DEFAULT_MEMORY_CHARS = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases of the registry; ``associations`` is None if they are turned off.

    ``kafka_cluster_id`` is the id of the registry's Kafka cluster; it may be empty. ``long`` carries out judgements
    that take long. ``following`` keeps the index of ``search`` in step; None without an index.
    """

    storage: Storage
    reader: SchemaReader
    scopes: Scopes
    registration: SchemaRegistration
    tagging: TagVersion
    lookup: SchemaLookup
    catalog: Catalog
    deletion: SubjectDeletion
    settings: ConfigAndMode
    compatibility: CompatibilityTest
    associations: Associations | None
    bridges: Bridges
    sketches: Sketches
    contracts: Contracts
    keks: Keks
    deks: Deks
    kafka_cluster_id: str
    long: LongJudgements
    inspection: Inspection
    search: Searching
    following: Following | None = None


def epoch_ms() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def use_cases(
    storage: Storage,
    *,
    memory_chars: int = DEFAULT_MEMORY_CHARS,
    reader: SchemaReader | None = None,
    wrapping: KeyWrapping | None = None,
    max_keys: int = DEFAULT_MAX_KEYS,
    associations: bool = True,
    kafka_cluster_id: str = "",
    limits: ActivityLimits | None = None,
    webhook_networks: Sequence[Network] = (),
    now_ms: Callable[[], int] = epoch_ms,
    long: LongJudgements | None = None,
    refusals: RefusalRecords | None = None,
    index: SearchIndex | None = None,
    facts: DerivedFacts | None = None,
) -> UseCases:
    """Return the use cases over ``storage``; ``memory_chars`` limits the cached parsed schemas.

    ``reader`` is a reader of the same storage, used instead of a new one. ``wrapping`` uses the keys that are shared
    with the registry; without it shared keys cannot be used. ``max_keys`` limits the number of keys. Without
    ``associations`` their requests are refused and they affect nothing. ``limits`` are those after which readers count
    as stale; webhooks may be sent to ``webhook_networks``, too. ``now_ms`` is the clock (epoch ms). ``long`` carries
    out judgements that take long; by default in threads. ``refusals`` has the refused registrations; without it they
    are not kept. ``index`` is searched; without one, names by prefix are. ``facts`` has what other use cases over the
    same store have found out about contents.
    """
    scopes = Scopes(storage)
    keys = KeyRecords(storage)
    limit = KeyLimit(keys, max_keys=max_keys)
    wrapping = wrapping or KeyWrapping({})
    long = long or LongJudgements()
    texts = long.queue(max_waiting=MAX_TEXTS) if long.judges.are_apart else None
    reader = reader or SchemaReader(storage, memory_chars=memory_chars, large=texts)
    matcher = Matcher(reader)
    check = CompatibilityCheck(reader, long)
    associated = AssociationIndex(storage) if associations else None
    guard = SubjectGuard(associated)
    turns = WriteTurns(storage.catch_up)
    bridges = BridgeRecords(storage)
    contracts = contract_use_cases(
        storage,
        scopes=scopes,
        reader=reader,
        check=check,
        bridges=bridges,
        limits=limits or ActivityLimits(),
        webhook_networks=webhook_networks,
        now_ms=now_ms,
        long=long,
    )
    admission = Admission(check, gate=contracts.gate)
    registration = SchemaRegistration(
        storage,
        scopes=scopes,
        reader=reader,
        matcher=matcher,
        admission=admission,
        guard=guard,
        acceptance=BridgeAcceptance(bridges),
        turns=turns,
        refusals=RefusalLog(storage, refusals, now_ms=now_ms),
    )
    catalog = Catalog(storage, reader=reader)
    search = Searching(storage, index)
    plans = BridgePlans(long)
    return UseCases(
        storage=storage,
        reader=reader,
        scopes=scopes,
        registration=registration,
        tagging=TagVersion(storage, registration=registration, catalog=catalog),
        lookup=SchemaLookup(storage, scopes=scopes, reader=reader, matcher=matcher),
        catalog=catalog,
        deletion=SubjectDeletion(storage, scopes=scopes, guard=guard, turns=turns),
        settings=ConfigAndMode(storage, scopes=scopes),
        compatibility=CompatibilityTest(storage, scopes=scopes, reader=reader, check=check, admission=admission),
        associations=None
        if associated is None
        else Associations(storage, index=associated, scopes=scopes, reader=reader, registration=registration),
        bridges=Bridges(
            storage,
            records=bridges,
            scopes=scopes,
            reader=reader,
            drafting=Drafting(storage, reader=reader, registration=registration, plans=plans),
            plans=plans,
            now_ms=now_ms,
        ),
        sketches=Sketches(storage, scopes=scopes, long=long),
        contracts=contracts,
        keks=Keks(keys, scopes=scopes, wrapping=wrapping, limit=limit, now_ms=now_ms),
        deks=Deks(keys, scopes=scopes, wrapping=wrapping, limit=limit, now_ms=now_ms),
        kafka_cluster_id=kafka_cluster_id,
        long=long,
        inspection=inspection_over(
            storage,
            scopes=scopes,
            reader=reader,
            matcher=matcher,
            check=check,
            admission=admission,
            catalog=catalog,
            long=long,
            refusals=refusals,
            records=RelatedRecords(
                index=associated,
                bridges=bridges,
                keys=keys,
                contracts=ContractRecords(storage),
                library=contracts.library,
                consumers=contracts.consumers,
                gate=contracts.gate,
            ),
            search=search,
            facts=facts,
        ),
        search=search,
        following=None if index is None else Following(index, storage, reader),
    )


def use_cases_as_of(cases: UseCases, seq: int) -> UseCases:
    """Return the use cases over the state after a change.

    What follows from a content alone is found once for now and for all earlier moments.
    """
    past = AsOf(cases.storage, seq)
    facts = cases.inspection.facts.of_past()
    return use_cases(past, reader=cases.reader.over_past(past), long=cases.long, facts=facts)
