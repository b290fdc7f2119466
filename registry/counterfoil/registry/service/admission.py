"""Whether a version may be registered: what the compatibility level says, or what the consumers say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.config import is_decided_by_consumers
from counterfoil.schema.errors import IncompatibleSchema

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.access.rights import Knows
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.service.compatibility import CompatibilityCheck
    from counterfoil.registry.service.contracts.verdicts.gate import ConsumerGate, Decision
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.config import Config


async def _nothing_to_make() -> None:
    """Do nothing: for messages that are there."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a version may not be registered: a sentence about what is wrong, and messages.

    ``decision`` is that of the consumers, where they are asked. ``make_messages`` makes the messages beside the event
    loop, before they are read.
    """

    problem: str
    messages: Callable[[], tuple[str, ...]]
    decision: Decision | None = None
    make_messages: Callable[[], Awaitable[None]] = _nothing_to_make

    @property
    def is_of_consumers(self) -> bool:
        """Whether the consumers are against it, and not the compatibility level."""
        return self.decision is not None and not self.decision.is_undecided

    @property
    def hint(self) -> str:
        """The text that follows the messages."""
        if self.decision is None or self.is_of_consumers:
            return ""
        return f"; the level decides, and not the consumers: {self.decision.undecided}"

    def shown_to(self, knows: Knows) -> Refusal:
        """Return it without the names of applications that a caller may not know."""
        if self.decision is None:
            return self
        shown = self.decision.shown_to(knows)
        return _of_consumers(shown) if self.is_of_consumers else replace(self, decision=shown)


class RefusedVersion(IncompatibleSchema):
    """A version of ``subject`` may not be registered; ``hint`` is what can be done about it."""

    def __init__(self, subject: QualifiedSubject, refusal: Refusal, *, hint: str = "") -> None:
        reasons = refusal.messages()
        super().__init__(
            f"The schema {refusal.problem} subject {str(subject)!r}: [{', '.join(reasons)}]{refusal.hint}{hint}",
            reasons=reasons,
        )
        self._subject = subject
        self._refusal = refusal
        self._hint = hint

    def shown_to(self, knows: Knows) -> RefusedVersion:
        """Return the error without the names of applications that a caller may not know."""
        return RefusedVersion(self._subject, self._refusal.shown_to(knows), hint=self._hint)


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
        decision = None
        if is_decided_by_consumers(config) and not verdict.reservations:
            decision = await self._gate.decision(subject, candidate)
            if not decision.is_undecided:
                return _of_consumers(decision) if decision.broken else None
        if verdict.is_compatible:
            return None
        return Refusal("is incompatible with an earlier version of", verdict.messages, decision, verdict.make_messages)

    async def report(self, subject: QualifiedSubject, refusal: Refusal) -> None:
        """Report a registration that was refused for its consumers to webhooks."""
        if refusal.decision is not None and refusal.is_of_consumers:
            await self._gate.report(subject, refusal.decision)


def _of_consumers(decision: Decision) -> Refusal:
    return Refusal("breaks consumers of", lambda: decision.messages, decision)
