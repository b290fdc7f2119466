"""Schema ids of sampled records that the bridge does not know: what the next run does at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.converter.check.preflight import Check, Finding, Severity
from counterfoil.converter.engines.lookup import Outcome
from counterfoil.converter.engines.protocol import KEY
from counterfoil.converter.run.writers import UnknownIds, WriterDecisions
from counterfoil.schema.bridges.model import Framing
from counterfoil.schema.wire import ID_PREFIX_BYTES, MAGIC_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.check.sampling import Sampled
    from counterfoil.sdk import Registry


def id_findings(
    bridge: ResolvedBridge, records: Sequence[Sampled], registry: Registry, *, policy: str
) -> list[Finding]:
    """Return what a run would do at ids that the bridge does not know; it ends the run, unless ``policy`` says not to.

    The registry is asked as a run asks it. Keys are looked at where they are converted.
    """
    halves = [(bridge, "", [each.value for each in records])]
    if bridge.keys is not None:
        halves.append((bridge.keys, f"{KEY}: ", [each.key for each in records]))
    return [
        finding for half, name, data in halves for finding in _of_half(half, name, data, registry, UnknownIds(policy))
    ]


def _of_half(
    bridge: ResolvedBridge, name: str, data: Iterable[bytes | None], registry: Registry, policy: UnknownIds
) -> Iterator[Finding]:
    if bridge.file.source_framing is Framing.NONE:
        return
    decisions = WriterDecisions(bridge, registry, policy)
    for schema_id in sorted(set(_ids(data)) - set(bridge.writer_by_id)):
        decision = decisions.decide(schema_id)
        if decision.outcome is not Outcome.CONVERT:
            severity = Severity.ERROR if decision.outcome is Outcome.STOP else Severity.WARNING
            ends = "the next run ends at such a record: " if decision.outcome is Outcome.STOP else ""
            yield Finding(severity, Check.IDS, f"{ends}{name}{decision.text}")


def _ids(data: Iterable[bytes | None]) -> Iterator[int]:
    """Yield the ids of framed values."""
    for each in data:
        if each is not None and len(each) >= ID_PREFIX_BYTES and each[0] == MAGIC_ID:
            yield int.from_bytes(each[1:ID_PREFIX_BYTES])
