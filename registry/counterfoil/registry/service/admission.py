"""Whether a version may be registered: what the compatibility level says, or what the consumers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.config import is_decided_by_consumers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.service.compatibility import CompatibilityCheck
    from counterfoil.registry.service.contracts.verdicts.gate import ConsumerGate, Decision
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.config import Config


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a version may not be registered: a sentence about what is wrong, messages, and the text that follows them.

    ``decision`` is that of the consumers if they are against it.
    """

    problem: str
    messages: Callable[[], tuple[str, ...]]
    hint: str = ""
    decision: Decision | None = None


class Admission:
    """Decides whether a version may be registered, apart from bridges."""

    def __init__(self, check: CompatibilityCheck, *, gate: ConsumerGate) -> None:
        self._check = check
        self._gate = gate

    async def refusal(
        self, subject: QualifiedSubject, candidate: Candidate, versions: Sequence[VersionEntry], config: Config
    ) -> Refusal | None:
        """Return why ``candidate`` may not follow ``versions`` under ``config``; None if it may.

        Where the consumers decide, the level does so only if they cannot; reserved names are refused in any case.
        """
        verdict = await self._check.verdict(subject, candidate, versions, config)
        hint = ""
        if is_decided_by_consumers(config) and not verdict.reservations:
            decision = await self._gate.decision(subject, candidate)
            if not decision.undecided:
                return _of_consumers(decision)
            hint = f"; the level decides, and not the consumers: {decision.undecided}"
        if verdict.is_compatible:
            return None
        return Refusal("is incompatible with an earlier version of", verdict.messages, hint)

    async def report(self, subject: QualifiedSubject, refusal: Refusal) -> None:
        """Report a registration that was refused for its consumers to webhooks."""
        if refusal.decision is not None:
            await self._gate.report(subject, refusal.decision)


def _of_consumers(decision: Decision) -> Refusal | None:
    if not decision.broken:
        return None
    return Refusal("breaks consumers of", lambda: decision.messages, decision=decision)
