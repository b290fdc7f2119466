"""All use cases of contracts over one storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.service.contracts.announcing import Announcing
from counterfoil.registry.service.contracts.approvals import ApprovalCases
from counterfoil.registry.service.contracts.environments import Environments
from counterfoil.registry.service.contracts.events import Events
from counterfoil.registry.service.contracts.files import ContractFiles
from counterfoil.registry.service.contracts.histories import Histories
from counterfoil.registry.service.contracts.library import Library
from counterfoil.registry.service.contracts.migrations import Migrations
from counterfoil.registry.service.contracts.publishing import Publishing
from counterfoil.registry.service.contracts.records import ContractRecords
from counterfoil.registry.service.contracts.topics import Topics
from counterfoil.registry.service.contracts.usage import ObservedUsage
from counterfoil.registry.service.contracts.verdicts.checking import Checking
from counterfoil.registry.service.contracts.verdicts.comparing import Comparing
from counterfoil.registry.service.contracts.verdicts.consumers import Consumers
from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts
from counterfoil.registry.service.contracts.verdicts.decisions import Decisions
from counterfoil.registry.service.contracts.verdicts.gate import ConsumerGate
from counterfoil.registry.service.contracts.verdicts.judging import Judging
from counterfoil.registry.service.contracts.verdicts.known_writers import MetWriters
from counterfoil.registry.service.contracts.verdicts.migration_status import MigrationStatuses
from counterfoil.registry.service.contracts.verdicts.proposals import ProposedSchemas
from counterfoil.registry.service.contracts.verdicts.questions import Verdicts
from counterfoil.registry.service.contracts.verdicts.retained import RetainedVersions
from counterfoil.registry.service.contracts.verdicts.sides import Sides
from counterfoil.registry.service.contracts.verifications import VerificationCases
from counterfoil.registry.service.contracts.webhooks import Webhooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.contracts.networks import Network
    from counterfoil.registry.domain.contracts.observed import ActivityLimits
    from counterfoil.registry.service.bridges.records import BridgeRecords
    from counterfoil.registry.service.compatibility import CompatibilityCheck
    from counterfoil.registry.service.judging import LongJudgements
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage


@dataclass(frozen=True, slots=True)
class Contracts:
    """The use cases of contracts."""

    publishing: Publishing
    library: Library
    environments: Environments
    verdicts: Verdicts
    checking: Checking
    approvals: ApprovalCases
    verifications: VerificationCases
    comparing: Comparing
    consumers: Consumers
    gate: ConsumerGate
    usage: ObservedUsage
    topics: Topics
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
    files = ContractFiles(storage, reader=reader, sides=sides)
    events = Events(storage, records=records, now_ms=now_ms)
    usage = ObservedUsage(storage, records=records, scopes=scopes, events=events, limits=limits, now_ms=now_ms)
    counterparts = Counterparts(records=records, sides=sides, usage=usage)
    decisions = Decisions(records=records, now_ms=now_ms)
    comparing = Comparing(records=records, sides=sides, long=long)
    migrations = Migrations(storage, records=records, bridges=bridges, scopes=scopes, now_ms=now_ms)
    retained = RetainedVersions(storage, records=records, reader=reader)
    met = MetWriters(storage, records=records, sides=sides)
    judging = Judging(
        sides=sides, counterparts=counterparts, migrations=migrations, retained=retained, met=met, long=long
    )
    verdicts = Verdicts(
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
        topics=Topics(storage, records=records, scopes=scopes, now_ms=now_ms),
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
