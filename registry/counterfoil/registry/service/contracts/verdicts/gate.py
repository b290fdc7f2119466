"""Whether a version may be registered where the consumers decide: the policy CONSUMERS of a config."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.contracts.hooks import Event
from counterfoil.registry.domain.contracts.verdict import BLOCKING
from counterfoil.registry.service.contracts.verdicts.counterparts import ANYWHERE, Place
from counterfoil.registry.service.contracts.verdicts.sides import consumer_groups_of
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable
from counterfoil.schema.reads.model import Activity
from counterfoil.schema.rest.verdicts import VERDICT_REASON, Reason
from counterfoil.schema.rest.webhooks import EventType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.domain.contracts.verdict import Pair
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.service.contracts.events import Events
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.usage import ObservedUsage
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts
    from counterfoil.registry.service.contracts.verdicts.decisions import Decisions
    from counterfoil.registry.service.contracts.verdicts.proposals import ProposedSchemas
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.verdicts import VerdictReason

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Decision:
    """What the consumers say of a schema: ``broken`` are the reasons against it.

    ``undecided`` is why they cannot decide, so that the compatibility level does; empty if they can. ``hindrances`` are
    sentences about what is missing of a migration that would permit what is broken.
    """

    broken: tuple[VerdictReason, ...] = ()
    undecided: str = ""
    hindrances: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[str, ...]:
        """The reasons as texts, each with the application, the field and the rule, and then what is missing."""
        found = (f"{each.text} (field {each.path or '*'}, rule {each.rule})" for each in self.broken)
        return (*found, *self.hindrances)


class ConsumerGate:
    """Asks the consumers of a subject: those that declare themselves, and those that were seen to read."""

    def __init__(
        self,
        *,
        records: ContractRecords,
        schemas: ProposedSchemas,
        counterparts: Counterparts,
        decisions: Decisions,
        usage: ObservedUsage,
        events: Events,
    ) -> None:
        self._records = records
        self._schemas = schemas
        self._counterparts = counterparts
        self._decisions = decisions
        self._usage = usage
        self._events = events

    async def decision(self, subject: QualifiedSubject, candidate: Candidate) -> Decision:
        """Return what the consumers say, in every environment and of the newest version of each application.

        Breaks that are approved, or that a migration permits, do not count.
        """
        pairs: list[Pair] = []
        missing: list[VerdictReason] = []
        places = [ANYWHERE, *map(Place, await self._records.environment_names())]
        guid = str(candidate.content.guid)
        for place, judged in zip(
            places, await self._schemas.judged(subject, candidate.parsed, guid, places), strict=True
        ):
            if place == ANYWHERE or judged.is_live:
                pairs += judged.pairs
                missing += judged.reasons
        if undecided := await self._undecided(subject, pairs):
            return Decision(undecided=undecided)
        verdict = await self._decisions.verdict(pairs, none="")
        found = [each for each in verdict.reasons if each.reason in BLOCKING]
        broken = {(each.consumer, each.consumer_version, each.rule, each.path): each for each in found}
        hindrances = dict.fromkeys(each.text for each in missing if each.reason is Reason.MIGRATION_NOT_READY)
        return Decision(tuple(broken.values()), hindrances=tuple(hindrances))

    async def report(self, subject: QualifiedSubject, decision: Decision) -> None:
        """Store an event about a registration that was refused for its consumers."""
        facts = {"reasons": [VERDICT_REASON.write(each) for each in decision.broken]}
        event = Event(EventType.CHECK_FAILED, str(subject), facts)
        with suppress(StoreUnavailable, StoreTimeout):  # the refusal is returned in any case
            await self._events.publish(event)

    async def _undecided(self, subject: QualifiedSubject, pairs: Sequence[Pair]) -> str:
        """Return why the consumers cannot decide: nobody is known, or one of whom nothing else is known."""
        if not pairs:
            return "no consumer is known"
        declared = await self._declared(subject)
        unknown = [
            each.application
            for each in await self._usage.readers(subject)
            if each.is_unknown and each.activity is Activity.ACTIVE and each.application not in declared
        ]
        if not unknown:
            return ""
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        return f"nothing is known of what {', '.join(unknown[:_SHOWN])}{more} reads; declare it, or observe it"

    async def _declared(self, subject: QualifiedSubject) -> set[str]:
        """Return the names of applications, and of their consumer groups, that declare what they read."""
        contracts = await self._records.contracts_of(subject)
        environments = (None, *await self._records.environment_names())
        sides = [
            side for each in environments for side in (await self._counterparts.readers(contracts, Place(each))).live
        ]
        return consumer_groups_of(sides) | {each.application for each in sides}
