"""Approvals of findings, and verifications of records by a contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Final

from counterfoil.registry.changes.as_of import iso_time
from counterfoil.registry.contracts.events import Event, Events
from counterfoil.registry.contracts.records import ContractRecords
from counterfoil.registry.contracts.stored import APPROVALS, VERIFICATIONS, content_id
from counterfoil.registry.contracts.verdicts.verdict import day_at, is_expired
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Requester, record_write, together
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import (
    ApprovalNotFound,
    ContractNotFound,
    InvalidApproval,
    InvalidVerification,
    VerificationNotFound,
)
from counterfoil.schema.rest.contracts import ContractKind, EventType
from counterfoil.schema.rest.observations import CHECK_RESULT, VERIFICATION, CheckOutcome, NewVerification, Verification
from counterfoil.schema.rest.verdicts import NEW_APPROVAL, Approval, Approvals, NewApproval

# Approvals: findings that someone answers for until a day.

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
        self._turns = WriteTurns(storage.catch_up)

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

    async def add(self, new: NewApproval, *, by: Requester) -> Approval:
        """Store an approval; one that is equal to a stored one is that one.

        Raises ``InvalidApproval`` if its day is over.
        """
        new = replace(new, fingerprints=tuple(sorted(set(new.fingerprints))), until=self._day(new.until).isoformat())
        return await self._turns.take(partial(self._add, new, by=by), written=new)

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

    async def _add(self, new: NewApproval, *, by: Requester) -> Approval:
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
        await self._storage.commit(APPROVALS.write(approval, revision=held.revision), by=by)
        return approval

    async def revoke(self, approval_id: str, *, by: Requester) -> None:
        """Delete an approval; raise ``ApprovalNotFound`` if there is none with this id."""
        await self._turns.take(partial(self._revoke, approval_id, by=by), written=approval_id)

    async def _revoke(self, approval_id: str, *, by: Requester) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        _, revision = await self._held(approval_id)
        await self._storage.commit(record_write(APPROVALS.name, (approval_id,), None, revision=revision), by=by)

    async def _held(self, approval_id: str) -> tuple[Approval, int]:
        held = await self._records.find(APPROVALS, (approval_id,))
        if held.value is None:
            raise ApprovalNotFound(f"There is no approval with the id {approval_id[:_SHOWN]!r}")
        return held.value, held.revision


def _at(approval: Approval, now_ms: int) -> Approval:
    return replace(approval, is_expired=is_expired(approval, now_ms))


# Verifications: the latest result of comparing the records of an environment with a contract, by its content.

_SHOWN_TEXT: Final = 80
_REPORTED: Final = 20
"""How many failing checks an event has."""


class VerificationCases:
    """The use cases of verifications. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        events: Events,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._events = events
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    async def all(self, contract: str | None = None, environment: str | None = None) -> list[Verification]:
        """Return the latest verifications: of all contracts and environments, or of one."""
        return [
            each
            for each in sorted(await self._records.all(VERIFICATIONS), key=lambda one: (one.create_ts, one.id))
            if contract in {None, each.contract} and environment in {None, each.environment}
        ]

    async def get(self, verification_id: str) -> Verification:
        """Return a verification; raise ``VerificationNotFound`` if there is none with this id."""
        found = (each for each in await self._records.all(VERIFICATIONS) if each.id == verification_id)
        held = next(found, None)
        if held is None:
            raise self.no_verification(verification_id)
        return held

    @staticmethod
    def no_verification(verification_id: str) -> VerificationNotFound:
        """Return the error for a verification that does not exist."""
        return VerificationNotFound(f"There is no verification with the id {verification_id[:_SHOWN_TEXT]!r}")

    async def add(self, new: NewVerification, *, by: Requester) -> Verification:
        """Store a verification instead of that of records that were read before; a later one is kept.

        Raises ``EnvironmentNotFound``, ``ContractNotFound``, ``InvalidVerification``.
        """
        return await self._turns.take(partial(self._add, new, by=by), written=(new.contract, new.environment))

    async def _add(self, new: NewVerification, *, by: Requester) -> Verification:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        await self._records.environment(new.environment)
        verification = self._made(new, await self._hash(new))
        held = await self._records.find(VERIFICATIONS, VERIFICATIONS.key(verification))
        if held.value is not None and held.value.read_ts > verification.read_ts:
            return held.value
        if held.value is None or held.value.id != verification.id:
            events = () if verification.is_passed else (_failed(verification),)
            stored = VERIFICATIONS.write(verification, revision=held.revision)
            await self._storage.commit(together((stored, await self._events.plan(*events))), by=by)
            return verification
        return held.value

    async def _hash(self, new: NewVerification) -> str:
        contract = await self._records.published(new.contract, ContractKind.ODCS, new.contract_version)
        what = f"{new.contract[:_SHOWN_TEXT]} {new.contract_version[:_SHOWN_TEXT]}"
        if contract is None:
            raise ContractNotFound(f"There is no contract {what}; publish it before its verification")
        if new.hash and new.hash != contract.hash:
            raise InvalidVerification(
                f"It is of content with the hash {new.hash[:_SHOWN_TEXT]}, and {what} is published with {contract.hash}"
            )
        return contract.hash

    def _made(self, new: NewVerification, contract_hash: str) -> Verification:
        now_ms = self._now_ms()
        outcomes = {each.outcome for each in new.results}
        verification = Verification(
            "",
            new.contract,
            new.contract_version,
            contract_hash,
            new.environment,
            CheckOutcome.PASSED in outcomes and CheckOutcome.FAILED not in outcomes,
            new.sample,
            new.results,
            new.schema_ids,
            new.build_url,
            now_ms if new.read_ts is None else min(new.read_ts, now_ms),
        )
        return replace(verification, id=content_id(VERIFICATION.write(verification)), create_ts=now_ms)


def _failed(verification: Verification) -> Event:
    """Return the event about a verification that failed, with the checks that did."""
    facts = {
        "id": verification.id,
        "contract": verification.contract,
        "contractVersion": verification.contract_version,
        "environment": verification.environment,
        "topic": verification.sample.topic,
        "buildUrl": verification.build_url,
        "failures": [CHECK_RESULT.write(each) for each in verification.failures[:_REPORTED]],
    }
    return Event(EventType.VERIFICATION_FAILED, verification.contract, facts)
