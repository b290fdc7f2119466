"""Breaks, each of which may concern several consumers, and the approvals that cover them. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.consumers.identity import Break, FormerBreaks
from counterfoil.registry.domain.contracts.verdict import BLOCKING, deployable_of, reason_of
from counterfoil.schema.rest.verdicts import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.reads.pairing import Pair
    from counterfoil.schema.rest.approvals import Approval
    from counterfoil.schema.rest.verdicts import DeploymentVerdict, VerdictReason

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_COMPARED: Final = 100
"""The greatest number of consumers for which it is searched whether all but one of them were approved."""


class BreakKey(NamedTuple):
    """What makes findings about several pairs one break."""

    subject: str
    rule: str
    element: FieldPath
    place: FieldPath
    written: str
    consumer: str
    """The consumer whose new version breaks; empty if a producer's new version does."""


@dataclass(frozen=True, slots=True)
class KnownBreak:
    """A break; ``former`` is that of release 0.2.0 of which it was the reported part.

    ``part`` is the break of those consumers alone that a question does not ignore, by which that release named it.
    """

    found: Break
    former: Break | None = None
    part: KnownBreak | None = None

    @property
    def fingerprint(self) -> str:
        """The fingerprint, as a check of the files has it."""
        return self.found.fingerprint()

    @property
    def former_fingerprints(self) -> tuple[str, ...]:
        """Those that earlier releases gave it."""
        own = () if self.former is None else (self.former.former_fingerprint(),)
        part = () if self.part is None else (self.part.fingerprint, *self.part.former_fingerprints)
        return tuple(dict.fromkeys(each for each in (*own, *part) if each != self.fingerprint))


def breaks_of(pairs: Iterable[Pair]) -> Mapping[BreakKey, KnownBreak]:
    """Return what breaks live pairs, other than those that a migration bridges."""
    found: dict[BreakKey, Break] = {}
    former = FormerBreaks()
    for pair in pairs:
        for finding in pair.caused if pair.is_live and not pair.bridged else ():
            if reason_of(finding) in BLOCKING:
                key = _key(pair, finding)
                found.setdefault(key, Break(pair.subject, finding)).add(finding, pair.product)
                former.add(key, finding, subject=pair.subject, group=key.consumer, consumer=pair.product)
    return {key: KnownBreak(each, former.of(key)) for key, each in found.items()}


def with_ignored(breaks: Mapping[BreakKey, KnownBreak], others: Iterable[Pair]) -> Mapping[BreakKey, KnownBreak]:
    """Return breaks with the consumers that a question ignores, so that the approval of a break covers it there, too.

    ``others`` are all pairs of the question, without anybody ignored.
    """
    whole = breaks_of(others)
    return {key: replace(whole[key], part=each) if key in whole else each for key, each in breaks.items()}


def _key(pair: Pair, finding: ReadFinding) -> BreakKey:
    consumer = pair.product if pair.is_by_consumer else ""
    return BreakKey(pair.subject, finding.rule, finding.element, finding.place, finding.written, consumer)


def break_in(breaks: Mapping[BreakKey, KnownBreak], pair: Pair, finding: ReadFinding) -> KnownBreak | None:
    """Return the break that a pair's finding is a part of; None if it breaks nothing."""
    return breaks.get(_key(pair, finding)) if pair.is_live else None


# --- approvals


def is_expired(approval: Approval, now_ms: int) -> bool:
    """Return whether the last day of an approval is over at a time (epoch ms), in UTC."""
    return day_at(now_ms) > date.fromisoformat(approval.until)


def day_at(now_ms: int) -> date:
    """Return the day in UTC at a time (epoch ms)."""
    return (_EPOCH + timedelta(milliseconds=now_ms)).date()


def with_approvals(
    verdict: DeploymentVerdict,
    breaks: Iterable[KnownBreak],
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
    found = [_approved(each, _of(live, each)) for each in verdict.reasons]
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


def _of(approvals: Mapping[str, Approval], reason: VerdictReason) -> Approval | None:
    """Return the approval of a reason, by its fingerprint, or else by a former one."""
    names = (reason.fingerprint, *reason.former_fingerprints)
    return next((approvals[each] for each in names if each in approvals), None)


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
        approval = _of(over, each) if each.reason in BLOCKING else None
        if approval is not None:
            yield (
                f"the approval of {each.fingerprint} by {approval.owner} expired on {approval.until}; it is "
                f"{decided_at} here, so that the break counts again"
            )


def _about_others(breaks: Iterable[KnownBreak], live: Mapping[str, Approval]) -> Iterator[str]:
    """Yield a notice where a break was approved before one more consumer broke."""
    for each in breaks:
        names = (each.fingerprint, *each.former_fingerprints)
        if not live or live.keys() & set(names) or len(each.found.consumers) > _MAX_COMPARED:
            continue
        for consumer in each.found.consumers:
            fewer = [each.found.fingerprint(without=consumer)]
            if each.former is not None and consumer in each.former.broken:
                fewer.append(each.former.former_fingerprint(without=consumer))
            known = next((one for one in fewer if one in live), None)
            if known is not None:
                yield (
                    f"{known} is approved for the consumers without {consumer}, which breaks as well; an approval is "
                    f"for one set of consumers: approve {each.fingerprint}"
                )
