"""Verdicts from judged pairs of producers and consumers; breaks, and the approvals that cover them; pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, TypeAlias

from counterfoil.contracts.findings import ConsumerBreak, FormerBreaks
from counterfoil.schema.agreements import RULE_BY_ID, UNDECIDED
from counterfoil.schema.agreements.findings import ReadFinding
from counterfoil.schema.agreements.pairs import Pair
from counterfoil.schema.paths import FieldPath, print_path
from counterfoil.schema.rest.verdicts import Approval, DeploymentVerdict, ReasonCode, VerdictReason

# Verdicts from judged pairs of a producer's and a consumer's version. Pure functions.


class Policy(StrEnum):
    """What counts for the verdict on a proposed schema."""

    STRICT = "strict"
    """The subject's compatibility level, and every live consumer."""
    CONSUMERS = "consumers"
    """Every live consumer; the level is reported."""
    OBSERVE = "observe"
    """Nothing: all is reported."""


BLOCKING: Final = frozenset({ReasonCode.INCOMPATIBLE, ReasonCode.EXPECTATION_BROKEN})
"""The reasons that an approval may cover."""
_NO: Final = BLOCKING | {ReasonCode.STILL_READ, ReasonCode.VERIFICATION_FAILED, ReasonCode.MIGRATION_NOT_READY}
_UNKNOWN: Final = frozenset(
    {ReasonCode.NO_CONTRACT, ReasonCode.UNKNOWN_VERSION, ReasonCode.NOT_VERIFIED, ReasonCode.UNDECIDED}
)


def deployable_of(reasons: Iterable[VerdictReason]) -> bool | None:
    """Return the verdict for some reasons: a no counts more than what is unknown, and that more than anything else."""
    found = {each.reason for each in reasons}
    if found & _NO:
        return False
    return None if found & _UNKNOWN else True


class Identified(Protocol):
    """What an approval of a finding names."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint."""

    @property
    def former_fingerprints(self) -> tuple[str, ...]:
        """Those of earlier releases."""


Identify: TypeAlias = "Callable[[Pair, ReadFinding], Identified | None]"
"""Returns what an approval of a pair's finding names, None for what nobody needs to approve."""


def reasons_of(pair: Pair, identify: Identify) -> Iterator[VerdictReason]:
    """Yield the reasons of a pair: one for each finding that the change causes, or OK; one if it is bridged."""
    if not pair.findings:
        if pair.is_live:
            yield _reason(pair, ReasonCode.OK, _fine(pair))
        return
    if pair.bridged and pair.is_broken:
        yield _reason(pair, ReasonCode.APPROVED_BREAK, pair.bridged)
        return
    caused = [(each, reason) for each in pair.caused if (reason := reason_of(each))]
    for finding, reason in caused:
        if pair.is_live:
            yield _about(pair, finding, reason, identify(pair, finding))
        elif reason in BLOCKING:
            yield _about(pair, finding, ReasonCode.PENDING, None)
    if not caused and pair.is_live:
        yield _reason(pair, ReasonCode.OK, _fine(pair))


def _fine(pair: Pair) -> str:
    """Return why a pair is not against the change."""
    producer = f"{pair.producer} {pair.producer_version}"
    consumer = f"{pair.consumer} {pair.consumer_version}"
    if any(not each.is_preexisting and reason_of(each) in BLOCKING for each in pair.findings):
        return f"{producer} was live together with {consumer} before"
    if any(each.is_preexisting for each in pair.findings):
        return f"what {consumer} cannot read of {producer} could not be read before either"
    return f"{consumer} reads what {producer} writes"


def _reason(pair: Pair, reason: ReasonCode, text: str) -> VerdictReason:
    """Return a reason about a pair."""
    return VerdictReason(
        reason,
        text,
        contract=pair.contract,
        subject=pair.subject,
        producer=pair.producer,
        producer_version=pair.producer_version,
        consumer=pair.consumer,
        consumer_version=pair.consumer_version,
    )


def _about(pair: Pair, finding: ReadFinding, reason: ReasonCode, known: Identified | None) -> VerdictReason:
    text = f"{pair.consumer} {pair.consumer_version}: {finding.text}"
    found = replace(
        _reason(pair, reason, text),
        rule=finding.rule,
        path=print_path(finding.element),
        place=print_path(finding.place),
        expected=finding.expected,
        written=finding.written,
    )
    if known is None:
        return found
    return replace(found, fingerprint=known.fingerprint, former_fingerprints=known.former_fingerprints)


def reason_of(finding: ReadFinding) -> ReasonCode | None:
    """Return the reason that a finding is; None for one that only people need to know."""
    if finding.rule == UNDECIDED:
        return ReasonCode.UNDECIDED
    if not RULE_BY_ID[finding.rule].is_breaking:
        return ReasonCode.UNBACKED if finding.rule == "expectation-unbacked" else None
    return ReasonCode.INCOMPATIBLE if finding.rule.startswith("consumer-") else ReasonCode.EXPECTATION_BROKEN


def notices_of(pair: Pair) -> Iterator[str]:
    """Yield what people should know of a pair: what was so before, and what does not affect the verdict."""
    for each in pair.findings:
        said = f"{pair.consumer} {pair.consumer_version}: {_with_place(each)}"
        if each.is_preexisting and RULE_BY_ID[each.rule].is_breaking:
            yield f"{said} (so before this change, rule {each.rule})"
        elif not each.is_preexisting and reason_of(each) is None:
            yield f"{said} (rule {each.rule})"
        elif pair.were_together and not each.is_preexisting and reason_of(each) in BLOCKING:
            together = f"{pair.producer} {pair.producer_version} was live together with {pair.consumer}"
            yield f"{said} ({together} {pair.consumer_version} before, rule {each.rule})"


def _with_place(finding: ReadFinding) -> str:
    """Return the sentence of a finding, with its place where it does not name it: a notice has no path beside it."""
    place = print_path(finding.place)
    return finding.text if not place or place in finding.text else f"{place}: {finding.text}"


def verdict_of(
    pairs: Sequence[Pair],
    more: Sequence[VerdictReason] = (),
    notices: Sequence[str] = (),
    *,
    none: str,
    identify: Identify = lambda _pair, _finding: None,
) -> DeploymentVerdict:
    """Return the verdict on ``pairs`` and on what else was found; ``none`` is the sentence if there are no pairs.

    ``identify`` returns what an approval of a finding names.
    """
    reasons = [*more, *(reason for pair in pairs for reason in reasons_of(pair, identify))]
    reasons = reasons or [VerdictReason(ReasonCode.OK, none)]
    said = [*notices, *(notice for pair in pairs for notice in notices_of(pair))]
    return DeploymentVerdict(deployable_of(reasons), tuple(reasons), tuple(dict.fromkeys(said)))


# Breaks, each of which may concern several consumers, and the approvals that cover them. Pure functions.

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

    found: ConsumerBreak
    former: ConsumerBreak | None = None
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
    broken = [
        (pair, finding)
        for pair in pairs
        if pair.is_live and not pair.bridged
        for finding in pair.caused
        if reason_of(finding) in BLOCKING
    ]
    if not broken:
        return {}
    found: dict[BreakKey, ConsumerBreak] = {}
    former = FormerBreaks()
    for pair, finding in broken:
        key = _key(pair, finding)
        found.setdefault(key, ConsumerBreak(pair.subject, finding)).add(finding, pair.product)
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
    needless = {
        each for each in found if each.reason is ReasonCode.MIGRATION_NOT_READY and _produced(each) not in broken
    }
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
    return replace(reason, reason=ReasonCode.APPROVED_BREAK, text=f"{reason.text} ({until})", approval=approval.id)


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
