"""Whether a migration permits a break now, and what is missing. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.bridges import gates
from counterfoil.registry.domain.contracts.breaks import day_at
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.bridges import BridgeState, Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.domain.bridges.gates import Situation
    from counterfoil.schema.reads.pairing import Pair
    from counterfoil.schema.rest.bridges import Gate
    from counterfoil.schema.rest.migrations import ContractMigration

_RELIABLE: Final = (BridgeState.VERIFIED, BridgeState.CUT_OVER, BridgeState.DRAINING)
"""The states in which others may rely on a bridge."""
_CUT_OVER: Final = (BridgeState.CUT_OVER, BridgeState.DRAINING, BridgeState.RETIRED)
"""The states in which nobody needs the bridge to write the old version for the first time."""
_GATES: Final = (gates.progress_gate, gates.lag_gate, gates.dead_letter_gate, gates.verification_gate)


@dataclass(frozen=True, slots=True)
class Standing:
    """A migration with what is known of its bridge, which is None while it is not registered, and the time."""

    migration: ContractMigration
    situation: Situation | None
    now_ms: int

    @property
    def is_expired(self) -> bool:
        """Whether the last day of the migration is over, in UTC."""
        sunset = self.migration.sunset
        return bool(sunset) and date.fromisoformat(sunset) < day_at(self.now_ms)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The conditions on the latest reports about the bridge."""
        now = self.situation
        return () if now is None else tuple(gate(now) for gate in _GATES)

    def concerns(self, pair: Pair) -> bool:
        """Return whether the migration is between the versions of a contract that a pair writes and reads."""
        mine = self.migration
        return mine.contract == pair.contract and {mine.source, mine.target} == {
            pair.producer_major,
            pair.consumer_major,
        }

    def is_of_converter(self, pair: Pair) -> bool:
        """Return whether the consumer of a pair is the converter itself, which comes before what it reads."""
        return pair.consumer == self.migration.application

    def hindrances(self) -> Iterator[str]:
        """Yield what is missing in every environment, in the order in which it can be done."""
        mine, now = self.migration, self.situation
        if self.is_expired:
            yield (
                f"the migration {mine.id} of {mine.contract} from {mine.source} to {mine.target} ended on "
                f"{mine.sunset}; agree on a later day, or retire version {mine.source}"
            )
        if now is None:
            yield f"the bridge {mine.bridge} of migration {mine.id} is not registered"
            return
        state = now.bridge.state
        if state not in _RELIABLE:
            yield f"the bridge {mine.bridge} is {state}; expected {', '.join(_RELIABLE[:-1])} or {_RELIABLE[-1]}"
        for gate in self.gates:
            if not gate.is_met:
                yield f"the bridge {mine.bridge} does not meet the condition {gate.name}: {gate.reason}"

    def misdirection(self, pair: Pair) -> Iterator[str]:
        """Yield why the bridge converts nothing for a pair; nothing if it converts what the consumer needs."""
        now, mine = self.situation, self.migration
        if now is not None and now.bridge.source.subject != parse_subject(pair.subject):
            yield (
                f"the bridge {mine.bridge} converts the records of {now.bridge.source.subject}, and {pair.producer} "
                f"writes {pair.subject}"
            )
            return
        is_of_old = pair.consumer_major == mine.source
        wanted = Direction.NEW_TO_OLD if is_of_old else Direction.OLD_TO_NEW
        if now is not None and now.bridge.direction is not wanted:
            yield (
                f"the bridge {mine.bridge} converts {now.bridge.direction}; expected {wanted}: {pair.consumer} reads "
                f"version {pair.consumer_major} of {mine.contract}, and {pair.producer} writes {pair.producer_major}"
            )

    def permission(self, pair: Pair) -> str:
        """Return the sentence that permits the breaks of a pair."""
        mine = self.migration
        if self.is_of_converter(pair):
            return f"{pair.consumer} runs the bridge {mine.bridge}, which waits for version {pair.consumer_major}"
        until = f" until {mine.sunset}" if mine.sunset else ""
        return (
            f"{pair.consumer} {pair.consumer_version} reads version {pair.consumer_major} of {pair.contract}, which "
            f"the bridge {mine.bridge} makes of version {pair.producer_major}{until}"
        )

    def unfinished(self) -> str:
        """Return why the old version is still needed for the bridge; empty if it is not."""
        now = self.situation
        if now is None or now.bridge.state in _CUT_OVER:
            return ""
        expected = f"{', '.join(_CUT_OVER[:-1])} or {_CUT_OVER[-1]}"
        return f"the bridge {self.migration.bridge} is {now.bridge.state}; expected {expected}"
