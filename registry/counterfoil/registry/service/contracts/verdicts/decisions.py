"""What decides a verdict besides the pairs: approvals of breaks, and verifications that an environment demands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.contracts.breaks import break_in, breaks_of, with_approvals, with_ignored
from counterfoil.registry.domain.contracts.observed import DAY_MS
from counterfoil.registry.domain.contracts.stored import APPROVALS, VERIFICATIONS, verification_key
from counterfoil.registry.domain.contracts.verdict import BLOCKING, verdict_of
from counterfoil.registry.service.moments import iso_time
from counterfoil.schema.rest.verdicts import Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.schema.reads.pairing import Pair
    from counterfoil.schema.reads.sides import Offering, Side
    from counterfoil.schema.rest.verdicts import DeploymentVerdict
    from counterfoil.schema.rest.verifications import Verification

_SHOWN: Final = 3


class Decisions:
    """Makes verdicts. ``now_ms`` is the clock (epoch ms) by which approvals and verifications count."""

    def __init__(self, *, records: ContractRecords, now_ms: Callable[[], int]) -> None:
        self._records = records
        self._now_ms = now_ms

    async def verdict(
        self,
        pairs: Sequence[Pair],
        reasons: Sequence[VerdictReason] = (),
        notices: Sequence[str] = (),
        *,
        none: str,
        among: Sequence[Pair] = (),
        unless_ignored: Sequence[Pair] = (),
    ) -> DeploymentVerdict:
        """Return the verdict on pairs and on what else was found; ``none`` is the sentence if there are no pairs.

        ``among`` has the pairs of all consumers where ``pairs`` are some of them: an approval is for all that break.
        ``unless_ignored`` has the pairs without anybody ignored, where the question ignores applications.
        """
        breaks = breaks_of(among or pairs)
        breaks = with_ignored(breaks, unless_ignored) if unless_ignored else breaks
        verdict = verdict_of(pairs, reasons, notices, none=none, identify=partial(break_in, breaks))
        if not any(each.reason in BLOCKING for each in verdict.reasons):
            return verdict
        approvals = await self._records.all(APPROVALS)
        if not approvals:
            return verdict
        now_ms = self._now_ms()
        return with_approvals(verdict, breaks.values(), approvals, now_ms=now_ms, decided_at=iso_time(now_ms))

    def time(self) -> str:
        """Return the time by which approvals and verifications count now."""
        return iso_time(self._now_ms())

    async def verifications(self, side: Side, environment: str, days: int) -> list[VerdictReason]:
        """Return what is missing of the verifications of what a version offers, none older than ``days``."""
        hashes = sorted({each.contract_hash for each in side.offerings})
        prefixes = [verification_key(each, environment) for each in hashes]
        found = await self._records.each(VERIFICATIONS, prefixes)
        oldest = self._now_ms() - days * DAY_MS
        return [
            reason
            for offered in side.offerings
            for reason in _unverified(offered, _of(offered, found), environment, days=days, oldest=oldest)
        ]


def _of(offered: Offering, found: Sequence[Verification]) -> list[Verification]:
    """Return the verifications of what is offered on its topic; those without a topic are of all topics."""
    return [
        each
        for each in found
        if each.hash == offered.contract_hash and each.sample.topic in {"", offered.promise.topic}
    ]


def _unverified(
    offered: Offering, found: Sequence[Verification], environment: str, *, days: int, oldest: int
) -> Iterator[VerdictReason]:
    what = f"{offered.contract} {offered.contract_version}"
    for each in found:
        if not each.is_passed:
            failed = "; ".join(f"{one.check}: {one.text or 'failed'}" for one in each.failures[:_SHOWN])
            when = iso_time(each.read_ts)
            text = f"the verification of {what} in {environment} at {when} failed: {failed or 'see its results'}"
            yield _reason(offered, Reason.VERIFICATION_FAILED, text)
            return
    newest = max((each.read_ts for each in found), default=None)
    if newest is None or newest < oldest:
        known = "none" if newest is None else f"the latest is of {iso_time(newest)}"
        text = (
            f"{what} needs a verification of its topic {offered.promise.topic} in {environment} that is at most {days} "
            f"days old ({known}); run counterfoil test --publish"
        )
        yield _reason(offered, Reason.NOT_VERIFIED, text)


def _reason(offered: Offering, reason: Reason, text: str) -> VerdictReason:
    return VerdictReason(
        reason,
        text,
        contract=offered.contract,
        subject=offered.subject,
        producer=offered.application,
        producer_version=offered.version,
    )
