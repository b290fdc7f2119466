"""Findings of a check from those about topics and consumers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.consumers.identity import Break, FormerBreaks
from counterfoil.contracts.consumers.places import place_of
from counterfoil.contracts.model import Finding, Readers
from counterfoil.schema.paths import KEY, print_path
from counterfoil.schema.reads.judge import is_read
from counterfoil.schema.reads.pairs import concerns
from counterfoil.schema.reads.rules import RULE_BY_ID
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from counterfoil.contracts.consumers.agreements import Consumer
    from counterfoil.contracts.consumers.judging import Found
    from counterfoil.contracts.consumers.pairs import TopicChange
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.position import Position
    from counterfoil.schema.reads.model import ReadFinding

WAS_SO: Final = " (it was so before this change)"
_WERE_TOGETHER: Final = " (this version of the consumer was there together with it before)"
_NO_HEADER: Final = "header-missing"
_UNBACKED: Final = "expectation-unbacked"
_OWN_FIX: Final = "Change what the consumer expects, or have the producer of {contract} offer it first."


@dataclass(slots=True)
class _Group:
    """Findings that are one break, at the same place of a file; ``broken`` are the names of those who break."""

    change: TopicChange
    found: Found
    path: str
    position: Position | None
    shared: Break
    former: Break | None = None
    broken: dict[str, None] = field(default_factory=dict)


def findings_of(judged: Iterable[tuple[TopicChange, Found]], consumers: Sequence[Consumer]) -> Iterator[Finding]:
    """Yield one finding for each break, with all of its ``consumers``."""
    groups: dict[Hashable, _Group] = {}
    former = FormerBreaks(joins_promises=True)
    for change, found in judged:
        path, position = place_of(change, found)
        finding, subject = found.finding, change.after.promise.subject
        seen_as = (finding.is_preexisting, found.is_by_consumer, path)
        key = (finding.rule, finding.element, finding.place, finding.written, *seen_as)
        group = groups.setdefault(key, _Group(change, found, path, position, Break(subject, finding)))
        consumer = "" if found.consumer is None else found.consumer.application.id
        if found.consumer is not None:
            group.broken[found.consumer.name] = None
        elif group.found.consumer is not None:  # what the contract itself says is the better sentence
            group.found = found
        about = finding if found.consumer is not None else replace(finding, application=None)
        group.shared.add(about, *([consumer] if consumer else concerned_by(about, consumers)))
        former.add(key, about, subject=group.shared.subject, group=seen_as, consumer=consumer)
        group.former = former.of(key)
    headers = {group.found.finding.element for group in groups.values() if group.found.finding.rule == _NO_HEADER}
    for group in groups.values():
        finding = group.found.finding
        if finding.rule != _UNBACKED or finding.element not in headers:  # the promise that is gone says it already
            yield _finding(group, consumers)


def concerned_by(finding: ReadFinding, consumers: Iterable[Consumer]) -> list[str]:
    """Return the ids of the consumers that a finding about the contract itself concerns."""
    return [each.application.id for each in consumers if concerns(each.expectation, finding)]


def _finding(group: _Group, consumers: Sequence[Consumer]) -> Finding:
    found, topic = group.found, group.change.after
    finding, rule = found.finding, RULE_BY_ID[found.finding.rule]
    is_own = found.is_by_consumer and found.consumer is not None
    return Finding(
        rule=finding.rule,
        severity=_severity(is_breaking=rule.is_breaking, is_preexisting=finding.is_preexisting),
        subject=found.consumer.application.id if is_own and found.consumer is not None else topic.promise.subject,
        path=group.path,
        text=f"{group.shared.text}{_why_not_new(found)}",
        fingerprint=group.shared.fingerprint(),
        former_fingerprints=() if group.former is None else (group.former.former_fingerprint(),),
        position=group.position,
        element=print_path(finding.element),
        advice=_OWN_FIX.format(contract=topic.contract.id) if is_own and rule.is_breaking else rule.fix,
        readers=readers_of(finding.element, consumers, broken=tuple(group.broken) if rule.is_breaking else ()),
    )


def _why_not_new(found: Found) -> str:
    """Return the end of the sentence about what the change is not the cause of."""
    if found.were_together:
        return _WERE_TOGETHER
    return WAS_SO if found.finding.is_preexisting else ""


def _severity(*, is_breaking: bool, is_preexisting: bool) -> Severity:
    if is_preexisting:
        return Severity.NOTICE
    return Severity.ERROR if is_breaking else Severity.WARNING


def readers_of(path: FieldPath, consumers: Sequence[Consumer], *, broken: tuple[str, ...] = ()) -> Readers:
    """Return which of ``consumers`` read the part of a schema at ``path``; the key is read by all of them."""
    reading = [
        each.name
        for each in consumers
        if path == (KEY,) or not path or each.name in broken or is_read(each.expectation, path)
    ]
    names = tuple(dict.fromkeys(reading))
    others = tuple(dict.fromkeys(each.name for each in consumers if each.name not in names))
    return Readers(broken, names, others)
