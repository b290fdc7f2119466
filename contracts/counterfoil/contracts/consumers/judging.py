"""What a change of a topic or of a consumer breaks, and which of the two is the cause.

A consumer is judged with what it expected before, so that the producer is the cause of what breaks then; what only its
new expectations break, the consumer itself causes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from counterfoil.schema.reads.judge import newly_read
from counterfoil.schema.reads.model import FormerFinding, Reader
from counterfoil.schema.reads.pairs import about_reader, judge_pair, promise_changes, worse_than

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.contracts.consumers.agreements import Consumer
    from counterfoil.contracts.consumers.pairs import TopicChange
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.reads.model import Offer, ReadFinding


@dataclass(frozen=True, slots=True)
class Pairing:
    """A consumer after a change and before it; ``before`` is None for a new one. The schemas are its own, if any."""

    after: Consumer
    before: Consumer | None
    schema: ParsedSchema | None = None
    schema_before: ParsedSchema | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the consumer expects something else than before."""
        before = self.before
        return before is None or before.expectation != self.after.expectation or self.schema is not self.schema_before


@dataclass(frozen=True, slots=True)
class Found:
    """A finding about a topic: ``consumer`` is the one that breaks, ``is_by_consumer`` says who is the cause."""

    finding: ReadFinding
    consumer: Consumer | None = None
    is_by_consumer: bool = False


def judge_topics(changes: Sequence[TopicChange], pairings: Sequence[Pairing]) -> Iterator[tuple[TopicChange, Found]]:
    """Yield what the changes of a contract's topics break, and what changes of its consumers break.

    Where nothing valid was before, the change of a topic is not the cause of what its consumers miss.
    """
    for change in changes:
        later, earlier = change.later, change.earlier
        if later is None:
            continue
        share = _share_of(change, changes)
        is_comparable = change.is_changed and (earlier is not None or change.before is None)
        for pairing in pairings:
            if change.is_changed or pairing.is_changed:
                for found in _judge(earlier, later, _limited(pairing, share), is_changed=is_comparable):
                    yield change, found
        if change.is_changed and earlier is not None:
            for finding in promise_changes(earlier, later):
                yield change, Found(finding)


def _judge(earlier: Offer | None, later: Offer, pairing: Pairing, *, is_changed: bool) -> Iterator[Found]:
    """Yield the findings of one consumer."""
    consumer, before = pairing.after, pairing.before
    if _reads_nothing(consumer):
        return
    now = _reader(consumer, pairing.schema)
    was = None if before is None or _reads_nothing(before) else _reader(before, pairing.schema_before)
    if was is None:
        causes = {}
        found = about_reader(judge_pair((), later, now))
    elif not is_changed:
        causes = {each.identity: replace(each, is_preexisting=True) for each in judge_pair((), later, was)}
        found = about_reader(judge_pair((), later, now))
    else:
        causes = {each.identity: each for each in _for_readers(earlier, later, was)}
        found = _for_readers(earlier, later, now)
    for each in found:
        cause = causes.get(each.identity)
        flag = cause is not None and cause.is_preexisting
        yield Found(replace(each, is_preexisting=flag), consumer, is_by_consumer=cause is None)
    if pairing.is_changed and later.promise is not None:
        for finding in newly_read(was, now, later.promise):
            former = FormerFinding(finding.rule, finding.element, finding.text)
            yield Found(replace(finding, former=former), consumer, is_by_consumer=True)


def _for_readers(earlier: Offer | None, later: Offer, reader: Reader) -> tuple[ReadFinding, ...]:
    """Return the findings of a change about a reader, without those about the contract itself.

    A reader without a schema of its own is taken to read with the earlier one.
    """
    known = () if earlier is None else (earlier,)
    found = about_reader(judge_pair(known, later, reader))
    return worse_than(found, [judge_pair(known, each, reader) for each in known])


def _reader(consumer: Consumer, schema: ParsedSchema | None) -> Reader:
    version = consumer.application.version
    return Reader(consumer.application.id, consumer.expectation, version=version, schema=schema)


def _reads_nothing(consumer: Consumer) -> bool:
    return consumer.expectation.reads == ()


def _share_of(change: TopicChange, changes: Sequence[TopicChange]) -> Callable[[Consumer], Consumer]:
    """Return the function that leaves those reads of a consumer that are about one of several topics.

    What no topic has is about the last one.
    """
    if len(changes) == 1:
        return lambda consumer: consumer
    is_last = change is changes[-1]

    def share(consumer: Consumer) -> Consumer:
        reads = consumer.expectation.reads
        if reads is None:
            return consumer
        mine = tuple(
            each
            for each in reads
            if change.has(each.path) or (is_last and not any(one.has(each.path) for one in changes))
        )
        return replace(consumer, expectation=replace(consumer.expectation, reads=mine))

    return share


def _limited(pairing: Pairing, share: Callable[[Consumer], Consumer]) -> Pairing:
    before = pairing.before
    return replace(pairing, after=share(pairing.after), before=None if before is None else share(before))
