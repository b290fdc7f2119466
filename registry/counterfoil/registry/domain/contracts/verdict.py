"""Verdicts from judged pairs of a producer's and a consumer's version. Pure functions."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from counterfoil.schema.paths import print_path
from counterfoil.schema.reads.rules import RULE_BY_ID, UNDECIDED
from counterfoil.schema.rest.verdicts import DeploymentVerdict, Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.reads.pairing import Pair


class Policy(StrEnum):
    """What counts for the verdict on a proposed schema."""

    STRICT = "strict"
    """The subject's compatibility level, and every live consumer."""
    CONSUMERS = "consumers"
    """Every live consumer; the level is reported."""
    OBSERVE = "observe"
    """Nothing: all is reported."""


BLOCKING: Final = frozenset({Reason.INCOMPATIBLE, Reason.EXPECTATION_BROKEN})
"""The reasons that an approval may cover."""
_NO: Final = BLOCKING | {Reason.STILL_READ, Reason.VERIFICATION_FAILED, Reason.MIGRATION_NOT_READY}
_UNKNOWN: Final = frozenset({Reason.NO_CONTRACT, Reason.UNKNOWN_VERSION, Reason.NOT_VERIFIED, Reason.UNDECIDED})


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
            yield _reason(pair, Reason.OK, _fine(pair))
        return
    if pair.bridged and pair.is_broken:
        yield _reason(pair, Reason.APPROVED_BREAK, pair.bridged)
        return
    caused = [(each, reason) for each in pair.caused if (reason := reason_of(each))]
    for finding, reason in caused:
        if pair.is_live:
            yield _about(pair, finding, reason, identify(pair, finding))
        elif reason in BLOCKING:
            yield _about(pair, finding, Reason.PENDING, None)
    if not caused and pair.is_live:
        yield _reason(pair, Reason.OK, _fine(pair))


def _fine(pair: Pair) -> str:
    """Return why a pair is not against the change."""
    producer = f"{pair.producer} {pair.producer_version}"
    consumer = f"{pair.consumer} {pair.consumer_version}"
    if any(not each.is_preexisting and reason_of(each) in BLOCKING for each in pair.findings):
        return f"{producer} was live together with {consumer} before"
    if any(each.is_preexisting for each in pair.findings):
        return f"what {consumer} cannot read of {producer} could not be read before either"
    return f"{consumer} reads what {producer} writes"


def _reason(pair: Pair, reason: Reason, text: str) -> VerdictReason:
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


def _about(pair: Pair, finding: ReadFinding, reason: Reason, known: Identified | None) -> VerdictReason:
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


def reason_of(finding: ReadFinding) -> Reason | None:
    """Return the reason that a finding is; None for one that only people need to know."""
    if finding.rule == UNDECIDED:
        return Reason.UNDECIDED
    if not RULE_BY_ID[finding.rule].is_breaking:
        return Reason.UNBACKED if finding.rule == "expectation-unbacked" else None
    return Reason.INCOMPATIBLE if finding.rule.startswith("consumer-") else Reason.EXPECTATION_BROKEN


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
    reasons = reasons or [VerdictReason(Reason.OK, none)]
    said = [*notices, *(notice for pair in pairs for notice in notices_of(pair))]
    return DeploymentVerdict(deployable_of(reasons), tuple(reasons), tuple(dict.fromkeys(said)))
