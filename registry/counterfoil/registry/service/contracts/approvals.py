"""Approvals: findings that someone answers for until a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.contracts.breaks import day_at, is_expired
from counterfoil.registry.domain.contracts.stored import APPROVALS, content_id
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.plan import record_write
from counterfoil.registry.service.moments import iso_time
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import ApprovalNotFound, InvalidApproval
from counterfoil.schema.rest.approvals import NEW_APPROVAL, Approval, Approvals

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.approvals import NewApproval

_SHOWN: Final = 80


class ApprovalCases:
    """The use cases of approvals. ``now_ms`` is the clock (epoch ms), which decides whether one has expired."""

    def __init__(
        self, storage: Storage, *, records: ContractRecords, scopes: Scopes, now_ms: Callable[[], int]
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._now_ms = now_ms
        self._turns = Turns(storage.catch_up)

    async def all(self, fingerprint: str | None = None) -> Approvals:
        """Return all approvals, or those of one finding, and the day by which some of them have expired."""
        now_ms = self._now_ms()
        found = await self._records.all(APPROVALS)
        wanted = (each for each in found if fingerprint is None or fingerprint in each.fingerprints)
        ordered = sorted(wanted, key=lambda each: (each.create_ts, each.id))
        return Approvals(day_at(now_ms).isoformat(), tuple(_at(each, now_ms) for each in ordered))

    async def get(self, approval_id: str) -> Approval:
        """Return an approval; raise ``ApprovalNotFound`` if there is none with this id."""
        held, _ = await self._held(approval_id)
        return _at(held, self._now_ms())

    async def add(self, new: NewApproval) -> Approval:
        """Store an approval; one that is equal to a stored one is that one.

        Raises ``InvalidApproval`` if its day is over.
        """
        new = replace(new, fingerprints=tuple(sorted(set(new.fingerprints))), until=self._day(new.until).isoformat())
        return await self._turns.take(partial(self._add, new), written=new)

    def _day(self, text: str) -> date:
        """Return the day in a text, which must not be over."""
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise InvalidApproval(f"until is {text[:_SHOWN]!r}; expected a day such as 2027-03-31") from None
        now_ms = self._now_ms()
        if day < day_at(now_ms):
            raise InvalidApproval(f"until is {day}, which is over: it is {iso_time(now_ms)} here")
        return day

    async def _add(self, new: NewApproval) -> Approval:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        approval_id = content_id(NEW_APPROVAL.write(new))
        held = await self._records.find(APPROVALS, (approval_id,))
        if held.value is not None:
            return _at(held.value, self._now_ms())
        approval = Approval(
            approval_id,
            new.fingerprints,
            new.owner,
            new.reason,
            new.until,
            new.migration,
            new.by,
            create_ts=self._now_ms(),
        )
        await self._storage.commit(APPROVALS.write(approval, revision=held.revision))
        return approval

    async def revoke(self, approval_id: str) -> None:
        """Delete an approval; raise ``ApprovalNotFound`` if there is none with this id."""
        await self._turns.take(partial(self._revoke, approval_id), written=approval_id)

    async def _revoke(self, approval_id: str) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        _, revision = await self._held(approval_id)
        await self._storage.commit(record_write(APPROVALS.name, (approval_id,), None, revision=revision))

    async def _held(self, approval_id: str) -> tuple[Approval, int]:
        held = await self._records.find(APPROVALS, (approval_id,))
        if held.value is None:
            raise ApprovalNotFound(f"There is no approval with the id {approval_id[:_SHOWN]!r}")
        return held.value, held.revision


def _at(approval: Approval, now_ms: int) -> Approval:
    return replace(approval, is_expired=is_expired(approval, now_ms))
