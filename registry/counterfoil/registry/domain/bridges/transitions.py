"""The states of a bridge: which transition is possible, and behind which gates."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.bridges import gates
from counterfoil.schema.errors import InvalidBridge, TransitionRefused
from counterfoil.schema.rest.bridges import GATE, Bridge, BridgeState, PossibleTransition, Transition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.registry.domain.bridges.gates import Situation
    from counterfoil.schema.rest.bridges import Gate

MAX_HISTORY: Final = 200
"""The number of transitions that are kept; the oldest are dropped."""

_FLOW: Final = (gates.progress_gate, gates.dead_letter_gate)
_CURRENT: Final = (gates.progress_gate, gates.lag_gate, gates.dead_letter_gate)
_SAFE: Final = (*_CURRENT, gates.verification_gate)
_FREE: Final[tuple[Callable[[Situation], Gate], ...]] = ()

_State = BridgeState
TRANSITIONS: Final[Mapping[BridgeState, Mapping[BridgeState, tuple[Callable[[Situation], Gate], ...]]]] = {
    _State.PLANNED: {_State.SHADOW: (gates.source_gate,), _State.RETIRED: _FREE},
    _State.SHADOW: {_State.RUNNING: _FLOW, _State.PLANNED: _FREE},
    _State.RUNNING: {_State.CAUGHT_UP: _CURRENT, _State.PLANNED: _FREE},
    _State.CAUGHT_UP: {_State.VERIFIED: _SAFE, _State.RUNNING: _FREE, _State.PLANNED: _FREE},
    _State.VERIFIED: {_State.CUT_OVER: _SAFE, _State.RUNNING: _FREE, _State.PLANNED: _FREE},
    _State.CUT_OVER: {_State.DRAINING: _CURRENT, _State.ROLLED_BACK: (gates.reverse_gate,)},
    _State.DRAINING: {
        _State.RETIRED: (gates.readers_gate, gates.lag_gate),
        _State.CUT_OVER: _FREE,
        _State.ROLLED_BACK: (gates.reverse_gate,),
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
