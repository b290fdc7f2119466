"""Whether a version may be registered where the consumers decide: the policy CONSUMERS of a config."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.contracts.hooks import Event
from counterfoil.registry.domain.contracts.verdict import BLOCKING
from counterfoil.registry.service.contracts.verdicts.counterparts import ANYWHERE, Place
from counterfoil.schema.counting import counted
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable
from counterfoil.schema.reads.model import Activity
from counterfoil.schema.reads.sides import consumer_groups_of
from counterfoil.schema.rest.verdicts import VERDICT_REASON, Reason
from counterfoil.schema.rest.webhooks import EventType

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.service.contracts.events import Events
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.usage import ObservedUsage
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts
    from counterfoil.registry.service.contracts.verdicts.decisions import Decisions
    from counterfoil.registry.service.contracts.verdicts.proposals import ProposedSchemas
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.reads.pairing import Pair
    from counterfoil.schema.rest.verdicts import VerdictReason

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Decision:
    """What the consumers say of a schema: ``broken`` are the reasons against it.

    ``missing`` is what is missing of a migration that would permit what is broken. ``unknown`` are the applications of
    which nothing but their reading is known, ``untold`` those of which a comparison did not end within its limits.
    ``hidden`` and ``others`` count the reasons and the unknown applications that were left out.
    """

    has_consumers: bool = True
    broken: tuple[VerdictReason, ...] = ()
    missing: tuple[VerdictReason, ...] = ()
    unknown: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    hidden: int = 0
    others: int = 0

    @property
    def is_undecided(self) -> bool:
        """Whether they cannot decide, so that the compatibility level does."""
        return not self.has_consumers or bool(self.unknown) or bool(self.untold) or bool(self.others)

    @property
    def undecided(self) -> str:
        """Why they cannot decide."""
        if not self.has_consumers:
            return "no consumer is known"
        if self.untold:
            readers = ", ".join(self.untold[:_SHOWN])
            return f"whether {readers} can read it cannot be told within the limits of a comparison"
        shown = self.unknown[:_SHOWN]
        others = len(self.unknown) + self.others - len(shown)
        if not shown:
            return f"nothing is known of what {counted(others, 'consumer')} {'reads' if others == 1 else 'read'}"
        more = f" and {others} more" if others else ""
        return f"nothing is known of what {', '.join(shown)}{more} reads; declare it, or observe it"

    @property
    def messages(self) -> tuple[str, ...]:
        """The reasons as texts, each with the application, the field and the rule, and then what is missing."""
        found = (f"{each.text} (field {each.place or each.path or '*'}, rule {each.rule})" for each in self.broken)
        more = (f"{self.hidden} more are about applications that the caller may not know",) if self.hidden else ()
        return (*found, *dict.fromkeys(each.text for each in self.missing), *more)

    def shown_to(self, knows: Callable[[str], bool]) -> Decision:
        """Return it without what is about other applications than those that ``knows`` says a caller may know."""

        def is_known(reason: VerdictReason) -> bool:
            return all(knows(name) for name in (reason.producer, reason.consumer) if name)

        broken, missing = (tuple(filter(is_known, each)) for each in (self.broken, self.missing))
        unknown, untold = tuple(filter(knows, self.unknown)), tuple(filter(knows, self.untold))
        hidden = self.hidden + len(self.broken) - len(broken)
        others = self.others + len(self.unknown) - len(unknown) + len(self.untold) - len(untold)
        return Decision(self.has_consumers, broken, missing, unknown, untold, hidden, others)


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
        for judged in await self._schemas.judged(subject, candidate.parsed, guid, places):
            pairs += judged.pairs
            missing += judged.reasons
        if not pairs:
            return Decision(has_consumers=False)
        if unknown := await self._unknown(subject):
            return Decision(unknown=unknown)
        verdict = await self._decisions.verdict(pairs, none="")
        found = [each for each in verdict.reasons if each.reason in BLOCKING]
        broken = {
            (each.consumer, each.consumer_version, each.rule, each.path, each.place, each.written): each
            for each in found
        }
        untold = {each.consumer: None for each in verdict.reasons if each.reason is Reason.UNDECIDED}
        if untold and not broken:
            return Decision(untold=tuple(untold))
        not_ready = tuple(each for each in missing if each.reason is Reason.MIGRATION_NOT_READY)
        return Decision(broken=tuple(broken.values()), missing=not_ready)

    async def report(self, subject: QualifiedSubject, decision: Decision) -> None:
        """Store an event about a registration that was refused for its consumers."""
        facts = {"reasons": [VERDICT_REASON.write(each) for each in decision.broken]}
        event = Event(EventType.CHECK_FAILED, str(subject), facts)
        with suppress(StoreUnavailable, StoreTimeout):  # the refusal is returned in any case
            await self._events.publish(event)

    async def _unknown(self, subject: QualifiedSubject) -> tuple[str, ...]:
        """Return the consumers because of which the others cannot decide: nothing is known of what they read."""
        declared = await self._declared(subject)
        return tuple(
            each.application
            for each in await self._usage.readers(subject)
            if each.is_unknown and each.activity is Activity.ACTIVE and each.application not in declared
        )

    async def _declared(self, subject: QualifiedSubject) -> set[str]:
        """Return the names of applications, and of their consumer groups, that declare what they read."""
        contracts = await self._records.contracts_of(subject)
        environments = (None, *await self._records.environment_names())
        sides = [
            side for each in environments for side in (await self._counterparts.readers(contracts, Place(each))).live
        ]
        return consumer_groups_of(sides) | {each.application for each in sides}
