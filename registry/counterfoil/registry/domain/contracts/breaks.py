"""Breaks, each of which may concern several consumers, and the approvals that cover them. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.consumers.identity import fingerprint_of, sentence_of
from counterfoil.registry.domain.contracts.verdict import BLOCKING, deployable_of, reason_of
from counterfoil.schema.rest.verdicts import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterfoil.registry.domain.contracts.verdict import Pair
    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.rest.approvals import Approval
    from counterfoil.schema.rest.verdicts import DeploymentVerdict, VerdictReason

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_COMPARED: Final = 100
"""The greatest number of consumers for which it is searched whether all but one of them were approved."""


class BreakKey(NamedTuple):
    """What makes findings about several pairs one break."""

    subject: str
    rule: str
    element: object
    consumer: str
    """The consumer whose new version breaks; empty if a producer's new version does."""


@dataclass(slots=True)
class Break:
    """A break with the consumers that it concerns, by the ids of their products."""

    subject: str
    finding: ReadFinding
    broken: dict[str, None] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)

    def fingerprint(self, *, without: str = "") -> str:
        """Return the fingerprint, as a check of the files has it; or that of the break of all consumers but one."""
        broken = (each for each in self.broken if each != without)
        return fingerprint_of(self.finding, self.subject, text="; ".join(self.texts), broken=broken)


def breaks_of(pairs: Iterable[Pair]) -> Mapping[BreakKey, Break]:
    """Return what breaks live pairs, other than those that a migration bridges."""
    found: dict[BreakKey, Break] = {}
    for pair in pairs:
        for finding in pair.caused if pair.is_live and not pair.bridged else ():
            if reason_of(finding) in BLOCKING:
                _add(found.setdefault(_key(pair, finding), Break(pair.subject, finding)), pair, finding)
    return found


def _key(pair: Pair, finding: ReadFinding) -> BreakKey:
    return BreakKey(pair.subject, finding.rule, finding.element, pair.product if pair.is_by_consumer else "")


def _add(found: Break, pair: Pair, finding: ReadFinding) -> None:
    if finding.application is not None:
        found.broken[pair.product] = None
    elif found.finding.application is not None:  # what the contract itself says is the better sentence
        found.finding, found.texts = finding, {}
    if finding.application is None or found.finding.application is not None:
        found.texts[sentence_of(finding)] = None


def fingerprints_of(breaks: Mapping[BreakKey, Break]) -> Mapping[BreakKey, str]:
    """Return the fingerprint of each break."""
    return {key: each.fingerprint() for key, each in breaks.items()}


def fingerprint_in(fingerprints: Mapping[BreakKey, str], pair: Pair, finding: ReadFinding) -> str:
    """Return the fingerprint of a pair's finding; empty if it breaks nothing."""
    return fingerprints.get(_key(pair, finding), "") if pair.is_live else ""


# --- approvals


def is_expired(approval: Approval, now_ms: int) -> bool:
    """Return whether the last day of an approval is over at a time (epoch ms), in UTC."""
    return day_at(now_ms) > date.fromisoformat(approval.until)


def day_at(now_ms: int) -> date:
    """Return the day in UTC at a time (epoch ms)."""
    return (_EPOCH + timedelta(milliseconds=now_ms)).date()


def with_approvals(
    verdict: DeploymentVerdict,
    breaks: Iterable[Break],
    approvals: Sequence[Approval],
    *,
    now_ms: int,
    decided_at: str,
) -> DeploymentVerdict:
    """Return the verdict in which breaks that a live approval covers do not count; ``decided_at`` names the time.

    What is missing of a migration is a notice where every break that it would permit is approved.
    """
    live = {each: one for one in approvals if not is_expired(one, now_ms) for each in one.fingerprints}
    over = {each: one for one in approvals if is_expired(one, now_ms) for each in one.fingerprints}
    found = [_approved(each, live.get(each.fingerprint)) for each in verdict.reasons]
    broken = {_produced(each) for each in found if each.reason in BLOCKING}
    needless = {each for each in found if each.reason is Reason.MIGRATION_NOT_READY and _produced(each) not in broken}
    reasons = tuple(each for each in found if each not in needless)
    notices = [
        *verdict.notices,
        *(each.text for each in found if each in needless),
        *_about_expired(reasons, over, decided_at),
        *_about_others(breaks, live),
    ]
    return replace(
        verdict,
        deployable=deployable_of(reasons),
        reasons=reasons,
        notices=tuple(dict.fromkeys(notices)),
        decided_at=decided_at,
    )


def _approved(reason: VerdictReason, approval: Approval | None) -> VerdictReason:
    if approval is None or reason.reason not in BLOCKING:
        return reason
    migration = f", with {approval.migration}" if approval.migration else ""
    until = f"approved until {approval.until} by {approval.owner}{migration}: {approval.reason}"
    return replace(reason, reason=Reason.APPROVED_BREAK, text=f"{reason.text} ({until})", approval=approval.id)


def _produced(reason: VerdictReason) -> tuple[str, ...]:
    """Return what a reason is about, without the consumer."""
    return reason.contract, reason.subject, reason.producer, reason.producer_version


def _about_expired(reasons: Iterable[VerdictReason], over: Mapping[str, Approval], decided_at: str) -> Iterator[str]:
    for each in reasons:
        approval = over.get(each.fingerprint) if each.reason in BLOCKING else None
        if approval is not None:
            yield (
                f"the approval of {each.fingerprint} by {approval.owner} expired on {approval.until}; it is "
                f"{decided_at} here, so that the break counts again"
            )


def _about_others(breaks: Iterable[Break], live: Mapping[str, Approval]) -> Iterator[str]:
    """Yield a notice where a break was approved before one more consumer broke."""
    for each in breaks:
        found = each.fingerprint()
        if found in live or not live or len(each.broken) > _MAX_COMPARED:
            continue
        for consumer in each.broken:
            known = each.fingerprint(without=consumer)
            if known in live:
                yield (
                    f"{known} is approved for the consumers without {consumer}, which breaks as well; an approval is "
                    f"for one set of consumers: approve {found}"
                )
