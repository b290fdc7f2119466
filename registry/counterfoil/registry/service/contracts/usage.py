"""Observed use: batches of reads, added up in one record for each application, subject and schema id."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.rights import everything
from counterfoil.registry.domain.contracts.hooks import Event
from counterfoil.registry.domain.contracts.observed import (
    OBSERVED_USES,
    ActivityLimits,
    is_news,
    new_use,
    observed_prefix,
    readers_of,
    with_batch,
)
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.effects import RefreshRecord
from counterfoil.registry.domain.writes.guards import RecordAt
from counterfoil.registry.domain.writes.plan import Plan, together
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import DEFAULT_CONTEXT, TOP_LEVEL, parse_subject
from counterfoil.schema.reads.model import Activity
from counterfoil.schema.rest.usage import UsageReceipt
from counterfoil.schema.rest.webhooks import EventType

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.access.rights import Shown
    from counterfoil.registry.domain.contracts.observed import ObservedReader
    from counterfoil.registry.domain.stored_kinds import Key
    from counterfoil.registry.service.contracts.events import Events
    from counterfoil.registry.service.contracts.records import ContractRecords, Held
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.usage import ObservedUse, UsageBatch, UsageRead

_SHOWN: Final = 80


@dataclass(slots=True)
class _Draft:
    """What a batch changes, by the key of the record: what was read, and what it becomes."""

    held: dict[Key, Held[ObservedUse]] = field(default_factory=dict)
    uses: dict[Key, ObservedUse] = field(default_factory=dict)
    added: dict[tuple[str, str], Event] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    stored: int = 0


class ObservedUsage:
    """The use cases of observed use. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        events: Events,
        limits: ActivityLimits,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._events = events
        self._limits = limits
        self._now_ms = now_ms
        self._turns = Turns(storage.catch_up)

    # --- reading

    async def uses(
        self, subject: QualifiedSubject | None = None, *, application: str | None = None, environment: str | None = None
    ) -> list[ObservedUse]:
        """Return what is stored: of a subject or of all, of one application, in one environment.

        What an application reports without an environment counts in every one.
        """
        found = await self._records.all(OBSERVED_USES, () if subject is None else observed_prefix(subject))
        return [
            each
            for each in found
            if (application is None or each.application == application)
            and (environment is None or each.environment in {"", environment})
        ]

    async def readers(self, subject: QualifiedSubject, environment: str | None = None) -> list[ObservedReader]:
        """Return who was seen to read a subject."""
        return readers_of(await self.uses(subject, environment=environment), self._limits, self._now_ms())

    def activity(self, last_seen: int) -> Activity:
        """Return the activity of what was last seen then (epoch ms)."""
        return self._limits.of(last_seen, self._now_ms())

    # --- writing

    async def post(self, batch: UsageBatch, *, shows: Shown = everything) -> UsageReceipt:
        """Add a batch to what is stored; entries about unknown schema ids are left out, with a notice for each.

        Of the subjects that have a schema id those count that ``shows`` says the caller may read.
        """
        return await self._turns.take(partial(self._post, batch, shows), written=batch.application)

    async def _post(self, batch: UsageBatch, shows: Shown) -> UsageReceipt:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        draft = _Draft()
        for read in batch.reads:
            subjects = [each for each in await self._subjects(read) if shows(each)]
            for subject in subjects:
                await self._add(batch, read, subject, draft)
            draft.stored += bool(subjects)
            if not subjects:
                draft.notices.append(_unknown(read))
        plans = [_write(draft.held[key], use, key) for key, use in draft.uses.items()]
        if plans:
            await self._storage.commit(together((*plans, await self._events.plan(*draft.added.values()))))
        return UsageReceipt(draft.stored, tuple(draft.notices))

    async def note_stale(self) -> None:
        """Store an event for each application that has not been seen to read a subject for long, once."""
        newest: dict[tuple[str, str], ObservedUse] = {}
        for each in await self.uses():
            known = newest.get((each.application, each.subject))
            if known is None or each.last_seen > known.last_seen:
                newest[each.application, each.subject] = each
        now = self._now_ms()
        for use in newest.values():
            if not use.stale_since and self.activity(use.last_seen) is not Activity.ACTIVE:
                await self._turns.take(partial(self._note_stale, use, now), written=use.application)

    async def _note_stale(self, use: ObservedUse, now: int) -> None:
        held = await self._records.find(OBSERVED_USES, OBSERVED_USES.key(use))
        if held.value is None or held.value.stale_since or held.value.last_seen != use.last_seen:
            return  # another server has noted it, or it was seen again
        facts = {"application": use.application, "subject": use.subject, "lastSeen": use.last_seen}
        event = await self._events.plan(Event(EventType.CONSUMER_STALE, use.application, facts))
        stale, subjects = replace(use, stale_since=now), [parse_subject(use.subject)]
        stored = OBSERVED_USES.write(stale, revision=held.revision, subjects=subjects)
        await self._storage.commit(together((stored, event)))

    async def _subjects(self, read: UsageRead) -> list[QualifiedSubject]:
        """Return the subjects that the reads are of: all that have the schema id, unless one is given."""
        given = parse_subject(read.subject) if read.subject else None
        if not read.schema_id:
            return [] if given is None or not (await self._storage.history(given)).entries else [given]
        context = DEFAULT_CONTEXT if given is None else given.context
        found = dict.fromkeys(each.subject for each in await self._storage.uses(context, read.schema_id))
        return [each for each in found if given in {None, each}]

    async def _add(self, batch: UsageBatch, read: UsageRead, subject: QualifiedSubject, draft: _Draft) -> None:
        empty = new_use(batch, subject, read.schema_id)
        key = OBSERVED_USES.key(empty)
        if key not in draft.uses:
            held = draft.held[key] = await self._records.find(OBSERVED_USES, key)
            draft.uses[key] = held.value or empty
            if held.value is None:
                await self._note_new(batch, subject, draft)
        draft.uses[key] = with_batch(draft.uses[key], batch, read, self._now_ms())

    async def _note_new(self, batch: UsageBatch, subject: QualifiedSubject, draft: _Draft) -> None:
        known = await self._storage.records(OBSERVED_USES.name, (*observed_prefix(subject), batch.application))
        if not known:
            facts = {"application": batch.application, "subject": str(subject), "origin": str(batch.origin)}
            draft.added[batch.application, str(subject)] = Event(EventType.CONSUMER_ADDED, batch.application, facts)


def _unknown(read: UsageRead) -> str:
    where = f"subject {read.subject[:_SHOWN]!r}" if read.subject else "the registry"
    if not read.schema_id:
        return f"{where} has no version" if read.subject else "an entry has neither a schema id nor a subject"
    return f"{where} has no schema id {read.schema_id}"


def _write(held: Held[ObservedUse], use: ObservedUse, key: Key) -> Plan:
    """Return the plan that stores a record; without an entry in the journal where only counts have changed."""
    if is_news(held.value, use):
        return OBSERVED_USES.write(use, revision=held.revision, subjects=[parse_subject(use.subject)])
    refreshed = RefreshRecord(OBSERVED_USES.name, key, OBSERVED_USES.form.write(use))
    return Plan((RecordAt(OBSERVED_USES.name, key, held.revision),), (refreshed,))
