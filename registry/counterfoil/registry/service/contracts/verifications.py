"""Verifications: the latest result of comparing the records of an environment with a contract, by its content."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.contracts.hooks import Event
from counterfoil.registry.domain.contracts.stored import VERIFICATIONS, content_id
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.plan import together
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import ContractNotFound, InvalidVerification, VerificationNotFound
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.verifications import CHECK_RESULT, VERIFICATION, Outcome, Verification
from counterfoil.schema.rest.webhooks import EventType

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.contracts.events import Events
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.verifications import NewVerification

_SHOWN: Final = 80
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
        self._turns = Turns(storage.catch_up)

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
        return VerificationNotFound(f"There is no verification with the id {verification_id[:_SHOWN]!r}")

    async def add(self, new: NewVerification) -> Verification:
        """Store a verification instead of that of records that were read before; a later one is kept.

        Raises ``EnvironmentNotFound``, ``ContractNotFound``, ``InvalidVerification``.
        """
        return await self._turns.take(partial(self._add, new), written=(new.contract, new.environment))

    async def _add(self, new: NewVerification) -> Verification:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        await self._records.environment(new.environment)
        verification = self._made(new, await self._hash(new))
        held = await self._records.find(VERIFICATIONS, VERIFICATIONS.key(verification))
        if held.value is not None and held.value.read_ts > verification.read_ts:
            return held.value
        if held.value is None or held.value.id != verification.id:
            events = () if verification.is_passed else (_failed(verification),)
            stored = VERIFICATIONS.write(verification, revision=held.revision)
            await self._storage.commit(together((stored, await self._events.plan(*events))))
            return verification
        return held.value

    async def _hash(self, new: NewVerification) -> str:
        contract = await self._records.published(new.contract, ContractKind.ODCS, new.contract_version)
        what = f"{new.contract[:_SHOWN]} {new.contract_version[:_SHOWN]}"
        if contract is None:
            raise ContractNotFound(f"There is no contract {what}; publish it before its verification")
        if new.hash and new.hash != contract.hash:
            raise InvalidVerification(
                f"It is of content with the hash {new.hash[:_SHOWN]}, and {what} is published with {contract.hash}"
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
            Outcome.PASSED in outcomes and Outcome.FAILED not in outcomes,
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
