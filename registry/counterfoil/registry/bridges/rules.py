"""The states of a bridge: which transition is possible, and the gates before it, as pure functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.schema.errors import InvalidBridge, TransitionRefused
from counterfoil.schema.rest.bridges import (
    GATE,
    Bridge,
    BridgeReports,
    BridgeState,
    Gate,
    PossibleTransition,
    Transition,
)

# The gates of a bridge's transitions: conditions on the latest reports about it, as pure functions.

_MS: Final = 1000
_FOLLOWING: Final = "the reverse plan is used to convert the records of the target back"


@dataclass(frozen=True, slots=True)
class Situation:
    """What gates are decided on: a bridge, the latest reports about it, and the time (epoch ms)."""

    bridge: Bridge
    reports: BridgeReports
    now_ms: int

    def age_s(self, received_ms: int) -> float:
        """Return the age of a report, in seconds."""
        return max(0, self.now_ms - received_ms) / _MS

    @property
    def running_since_ms(self) -> int:
        """The time of the latest transition to ``running``; 0 if there was none."""
        return max((each.ts for each in self.bridge.history if each.target is BridgeState.RUNNING), default=0)


def progress_gate(now: Situation) -> Gate:
    """Return whether the job has reported recently, with the plan of the bridge."""
    progress, limit = now.reports.progress, now.bridge.limits.max_progress_age_s
    if progress is None:
        return _gate("progress", is_met=False, reason="the job has not reported its progress")
    age_s = now.age_s(progress.received_ts)
    figures = {"ageS": age_s, "maxProgressAgeS": limit}
    if progress.plan_hash != now.bridge.plan_hash:
        return _gate("progress", is_met=False, reason=_other_plan(progress.plan_hash, now), **figures)
    reason = f"the job's last report is {age_s:.0f} s old; expected at most {limit} s"
    return _gate("progress", is_met=age_s <= limit, reason=reason, **figures)


def lag_gate(now: Situation) -> Gate:
    """Return whether the number of records that are still to be converted is within its limit."""
    progress, limit = now.reports.progress, now.bridge.limits.max_lag
    if progress is None:
        return _gate("lag", is_met=False, reason="the lag is not known", maxLag=limit)
    reason = f"{progress.lag} offsets are still to be converted; expected at most {limit}"
    return _gate("lag", is_met=progress.lag <= limit, reason=reason, lag=progress.lag, maxLag=limit)


def dead_letter_gate(now: Situation) -> Gate:
    """Return whether the share of records that could not be converted is within its limit."""
    progress, limit = now.reports.progress, now.bridge.limits.max_dead_letter_rate
    if progress is None:
        return _gate("dead-letters", is_met=False, reason="the number of dead letters is not known")
    rate = progress.dead_letter_rate
    return _gate(
        "dead-letters",
        is_met=rate <= limit,
        reason=f"{progress.dead_letter_count} of {progress.records} records are dead letters, which is {rate:.2%}; "
        f"expected at most {limit:.2%}",
        deadLetters=progress.dead_letter_count,
        records=progress.records,
        rate=rate,
        maxDeadLetterRate=limit,
    )


def verification_gate(now: Situation) -> Gate:
    """Return whether a verification has passed, with the plan of the bridge, since it runs, and recently."""
    found, limit = now.reports.verification, now.bridge.limits.max_verification_age_s
    if found is None:
        return _gate("verification", is_met=False, reason="the target has not been verified")
    age_s = now.age_s(found.received_ts)
    figures = {"records": found.records, "faults": found.fault_count, "ageS": age_s, "maxVerificationAgeS": limit}
    if found.plan_hash != now.bridge.plan_hash:
        return _gate("verification", is_met=False, reason=_other_plan(found.plan_hash, now), **figures)
    if found.received_ts < now.running_since_ms:
        reason = "the last verification is from before the bridge was started the last time"
        return _gate("verification", is_met=False, reason=reason, **figures)
    reason = (
        f"{found.fault_count} faults were found in {found.records} records, {age_s:.0f} s ago; "
        f"expected none in at least one record, at most {limit} s ago"
    )
    return _gate("verification", is_met=found.has_passed and age_s <= limit, reason=reason, **figures)


def readers_gate(now: Situation) -> Gate:
    """Return whether no program depends on the old schema any more, according to a recent report."""
    found, limit = now.reports.readers, now.bridge.limits.max_readers_age_s
    if found is None:
        return _gate("readers", is_met=False, reason="the programs that depend on the old schema are not known")
    age_s = now.age_s(found.received_ts)
    named = ", ".join(found.readers[:5]) + (", ..." if len(found.readers) > 5 else "")  # noqa: PLR2004 - enough names
    reason = (
        f"{len(found.readers)} programs depend on the old schema{f' ({named})' if named else ''}, as of {age_s:.0f} s "
        f"ago; expected none, as of at most {limit} s ago"
    )
    figures = {"readers": len(found.readers), "ageS": age_s, "maxReadersAgeS": limit}
    return _gate("readers", is_met=not found.readers and age_s <= limit, reason=reason, **figures)


def reverse_gate(now: Situation) -> Gate:
    """Return whether the reverse plan is complete."""
    problems = now.bridge.reverse.problems
    reason = f"the reverse plan is not complete: {'; '.join(map(str, problems[:5]))}" if problems else _FOLLOWING
    return _gate("reverse-plan", is_met=not problems, reason=reason, problems=len(problems))


def source_gate(now: Situation) -> Gate:
    """Return whether the schema of the source is registered."""
    side = now.bridge.source
    is_met = side.version is not None
    where = f"version {side.version} of" if is_met else "not registered in"
    return _gate("source", is_met=is_met, reason=f"the schema of the source is {where} subject {str(side.subject)!r}")


def _other_plan(plan_hash: str, now: Situation) -> str:
    return (
        f"the last report is about the plan {plan_hash[:12]}, and the bridge has the plan {now.bridge.plan_hash[:12]}"
    )


def _gate(name: str, *, is_met: bool, reason: str, **figures: float) -> Gate:
    return Gate(name, is_met, reason, figures)


# The states of a bridge: which transition is possible, and behind which gates.

MAX_HISTORY: Final = 200
"""The number of transitions that are kept; the oldest are dropped."""

_FLOW: Final = (progress_gate, dead_letter_gate)
_CURRENT: Final = (progress_gate, lag_gate, dead_letter_gate)
_SAFE: Final = (*_CURRENT, verification_gate)
_FREE: Final[tuple[Callable[[Situation], Gate], ...]] = ()

_State = BridgeState
TRANSITIONS: Final[Mapping[BridgeState, Mapping[BridgeState, tuple[Callable[[Situation], Gate], ...]]]] = {
    _State.PLANNED: {_State.SHADOW: (source_gate,), _State.RETIRED: _FREE},
    _State.SHADOW: {_State.RUNNING: _FLOW, _State.PLANNED: _FREE},
    _State.RUNNING: {_State.CAUGHT_UP: _CURRENT, _State.PLANNED: _FREE},
    _State.CAUGHT_UP: {_State.VERIFIED: _SAFE, _State.RUNNING: _FREE, _State.PLANNED: _FREE},
    _State.VERIFIED: {_State.CUT_OVER: _SAFE, _State.RUNNING: _FREE, _State.PLANNED: _FREE},
    _State.CUT_OVER: {_State.DRAINING: _CURRENT, _State.ROLLED_BACK: (reverse_gate,)},
    _State.DRAINING: {
        _State.RETIRED: (readers_gate, lag_gate),
        _State.CUT_OVER: _FREE,
        _State.ROLLED_BACK: (reverse_gate,),
    },
    _State.ROLLED_BACK: {_State.PLANNED: _FREE, _State.RETIRED: _FREE},
    _State.RETIRED: {},
}
"""For each state, the states that a bridge can change to, with the gates of each change."""

AT_REST: Final = frozenset({BridgeState.PLANNED, BridgeState.ROLLED_BACK})
"""The states in which nothing relies on the plan, so that it can be replaced."""

REMOVABLE: Final = AT_REST | {BridgeState.RETIRED}
"""The states in which a bridge can be deleted."""


def steps_to(state: BridgeState) -> tuple[BridgeState, ...]:
    """Return the shortest sequence of states after ``planned`` that ends with ``state``.

    >>> [step.value for step in steps_to(BridgeState.CAUGHT_UP)]
    ['shadow', 'running', 'caught-up']
    """
    paths: dict[BridgeState, tuple[BridgeState, ...]] = {BridgeState.PLANNED: ()}
    waiting = deque(paths)
    while state not in paths:
        last = waiting.popleft()
        for following in TRANSITIONS[last]:
            if following not in paths:
                paths[following] = (*paths[last], following)
                waiting.append(following)
    return paths[state]


@dataclass(frozen=True, slots=True)
class TransitionRequest:
    """A requested change of the state: by whom and why.

    ``expected`` is the state that the caller has seen, None for any. ``force``: carry it out although gates are not
    met, which needs a reason.
    """

    target: BridgeState
    by: str
    reason: str = ""
    force: bool = False
    expected: BridgeState | None = None


def possible_transitions(now: Situation) -> tuple[PossibleTransition, ...]:
    """Return the states that the bridge can change to, with the gates as they are now."""
    found = []
    for state, conditions in TRANSITIONS[now.bridge.state].items():
        checked = tuple(condition(now) for condition in conditions)
        found.append(PossibleTransition(state, all(gate.is_met for gate in checked), checked))
    return tuple(found)


def changed(now: Situation, request: TransitionRequest) -> Bridge:
    """Return the bridge in the requested state, with the transition in its history.

    Raises ``TransitionRefused``, with the unmet gates in its details, and ``InvalidBridge`` for a forced transition
    without a reason.
    """
    bridge = now.bridge
    if request.force and not request.reason.strip():
        raise InvalidBridge("A forced transition needs a reason")
    possible = TRANSITIONS[bridge.state]
    if request.expected not in {None, bridge.state}:
        raise _refused(bridge, request, f"it is {bridge.state}, and the request expects {request.expected}")
    if request.target not in possible:
        choices = ", ".join(possible) or "no other state"
        raise _refused(bridge, request, f"it is {bridge.state}, from which it can change to {choices}")
    unmet = tuple(gate for condition in possible[request.target] if not (gate := condition(now)).is_met)
    if unmet and not request.force:
        raise _refused(bridge, request, "; ".join(f"{gate.name}: {gate.reason}" for gate in unmet), unmet)
    done = Transition(
        bridge.state, request.target, now.now_ms, request.by, request.reason, forced=bool(unmet), unmet=unmet
    )
    history = (*bridge.history, done)[-MAX_HISTORY:]
    return replace(bridge, state=request.target, history=history, update_ts=now.now_ms)


def _refused(bridge: Bridge, request: TransitionRequest, why: str, unmet: tuple[Gate, ...] = ()) -> TransitionRefused:
    details = {"state": bridge.state.value, "gates": [GATE.write(gate) for gate in unmet]}
    return TransitionRefused(f"Bridge {bridge.name!r} cannot change to {request.target}: {why}", details=details)
