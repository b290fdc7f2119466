"""The pairs of a question, judged: from all sides that were gathered for it. Pure functions, without I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from counterfoil.schema.agreements.readers import about_reader, since, united, worse_than
from counterfoil.schema.agreements.rules import RULE_BY_ID
from counterfoil.schema.agreements.sides import KnownWriters, RetainedRecords, parts_of, replaced_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.schema.agreements.findings import ReadFinding
    from counterfoil.schema.agreements.sides import ConsumerReading, Judge, Offering, Side


@dataclass(frozen=True, slots=True)
class Pair:
    """A producer's version and a consumer's version that reads one of its contracts, with the findings about them.

    ``is_live``: the pair can meet in the environment as it is now, or after the deployment in question. ``product`` is
    the id of the consumer's file; ``is_by_consumer``: it is the consumer's version that is in question. The majors are
    those of the contract that the producer offers, and that the consumer reads. ``bridged`` is the sentence about the
    migration that permits the breaks of the pair; empty if none does. ``were_together``: both versions were live in the
    environment at the same time, so that the producer's version is not refused because of the consumer's.
    """

    contract: str
    subject: str
    producer: str
    producer_version: str
    consumer: str
    consumer_version: str
    findings: tuple[ReadFinding, ...] = ()
    is_live: bool = True
    product: str = ""
    is_by_consumer: bool = False
    producer_major: str = ""
    consumer_major: str = ""
    bridged: str = ""
    were_together: bool = False

    @property
    def is_broken(self) -> bool:
        """Whether the pair is live and a finding blocks, before migrations are looked at."""
        return self.is_live and any(RULE_BY_ID[each.rule].is_breaking for each in self.caused)

    @property
    def caused(self) -> tuple[ReadFinding, ...]:
        """The findings that the change causes: those that are worse than before."""
        if self.were_together or not self.findings:
            return ()
        return tuple(each for each in self.findings if not each.is_preexisting)


@dataclass(frozen=True, slots=True)
class Gathered:
    """All sides of a question about a version.

    ``replaced`` are the versions of its application that are live, ``beside`` those of them that are judged as readers
    and writers of their own. ``before`` are those whose records consumers read now in the place of the version's: the
    replaced ones, and other writers of what it writes as the first of its own. ``readers`` are the live versions that
    read what it offers, and those that were seen to; ``pending`` those that are not live; ``writers`` those whose
    contracts it reads.
    """

    side: Side
    replaced: Sequence[Side] = ()
    beside: Sequence[Side] = ()
    before: Sequence[Side] = ()
    readers: Sequence[Side] = ()
    pending: Sequence[Side] = ()
    writers: Sequence[Side] = ()
    known: KnownWriters = field(default_factory=KnownWriters)
    retained: RetainedRecords = field(default_factory=RetainedRecords)

    def known_to(self, reading: ConsumerReading, offered: Offering, live: Sequence[Side]) -> Sequence[Offering]:
        """Return the offerings that a reader of ``offered`` was built for.

        A version that writes what it reads was built for what it writes itself.
        """
        is_own = reading.application == self.side.application
        own = _own_offerings((self.side, *self.replaced), reading, offered) if is_own else []
        return own or self.known.offered_to(reading, offered, live)


def _own_offerings(sides: Iterable[Side], reading: ConsumerReading, offered: Offering) -> list[Offering]:
    """Return the offerings of the same subject by the version of a reading itself, if it is among ``sides``."""
    return [
        each
        for one in sides
        if (one.application, one.version) == (reading.application, reading.version)
        for each in one.offered(reading.contract)
        if each.subject == offered.subject
    ]


def producer_pairs(question: Gathered, consumer: Side, judge: Judge, *, is_live: bool) -> Iterator[Pair]:
    """Yield the pairs of the version, as a producer, with what a consumer reads of it."""
    for reading in consumer.readings:
        for offered, part in parts_of(reading, question.side.offered(reading.contract), question.before):
            yield producer_pair(question, offered, part, judge, is_live=is_live)


def producer_pair(
    question: Gathered, offered: Offering, reading: ConsumerReading, judge: Judge, *, is_live: bool
) -> Pair:
    """Return the pair of what the version offers, with a consumer of it.

    A finding is pre-existing where everything that the version replaces has it.
    """
    known = question.known_to(reading, offered, question.before)
    found = judge(known, offered, reading)
    if not found:
        return pair_of(offered, reading, (), is_live=is_live)
    live = replaced_by(offered, reading, question.before)
    findings = worse_than(found, [judge(known, each, reading) for each in live])
    together = is_live and question.known.were_together(offered, reading)
    return pair_of(offered, reading, findings, is_live=is_live, were_together=together)


def own_pairs(question: Gathered, judge: Judge) -> Iterator[Pair]:
    """Yield the pairs of the version with itself, if it reads what it writes.

    If it reads old records again, those of earlier versions of the schema that the topic still has are among them.
    Where another version of the application is live, they are judged in the pair with that one.
    """
    side = question.side
    judged_there = {(each.contract, each.subject) for one in question.beside for each in one.offerings}
    for reading in side.readings:
        earlier = _earlier(question, reading)
        for offered, part in parts_of(reading, side.offered(reading.contract), question.replaced):
            before = [
                [
                    finding
                    for each in readings
                    for written in each.chosen(one.offered(reading.contract))
                    for finding in judge([written], written, each)
                ]
                for one, readings in earlier
            ]
            findings = since(judge([offered], offered, part), before)
            if (offered.contract, offered.subject) not in judged_there:
                older, *known = [
                    [
                        finding
                        for each in readings
                        for finding in question.retained.findings(
                            judge, [offered], offered, one.own(each, offered.subject)
                        )
                    ]
                    for one, readings in ((side, [part]), *earlier)
                ]
                findings = _worst_of(findings, since(older, known))
            yield pair_of(offered, part, findings)


def consumer_pairs(question: Gathered, judge: Judge) -> Iterator[Pair]:
    """Yield the pairs of the version, as a consumer, with those whose records it reads."""
    for reading in question.side.readings:
        for writer in question.writers:
            if writer.is_same(question.side):
                continue
            for offered, part in parts_of(reading, writer.offered(reading.contract)):
                yield consumer_pair(question, offered, part, judge)


def consumer_pair(question: Gathered, offered: Offering, reading: ConsumerReading, judge: Judge) -> Pair:
    """Return the pair of the version, as a consumer, with what a writer offers.

    A finding is pre-existing where all live versions of the same consumer have it already: which of them it replaces is
    not known.
    """
    sides = ((question.side, [reading]), *_earlier(question, reading))
    found = [[_why_unread(question, one, each, offered, judge) for each in readings] for one, readings in sides]
    written, retained = ([[finding for each in one for finding in each[part]] for one in found] for part in (0, 1))
    findings = _worst_of(since(written[0], written[1:]), since(retained[0], retained[1:]))
    return pair_of(offered, reading, findings, is_by_consumer=True)


def _worst_of(*parts: Iterable[ReadFinding]) -> tuple[ReadFinding, ...]:
    """Return the findings of all parts; of those that say the same, one that breaks counts."""
    found: dict[object, ReadFinding] = {}
    for each in chain.from_iterable(parts):
        known = found.setdefault(each.identity, each)
        if each.is_breaking and not known.is_breaking:
            found[each.identity] = each
    return tuple(found.values())


def _earlier(question: Gathered, reading: ConsumerReading) -> list[tuple[Side, list[ConsumerReading]]]:
    """Return the live versions of the same application that read the same contract, each with what it reads of it."""
    found = ((one, [each for each in one.readings if each.contract == reading.contract]) for one in question.replaced)
    return [(one, readings) for one, readings in found if readings]


def _why_unread(
    question: Gathered, side: Side, reading: ConsumerReading, offered: Offering, judge: Judge
) -> tuple[Iterable[ReadFinding], Iterable[ReadFinding]]:
    """Return why a consumer cannot read what is written now, and what is still in the topic.

    What another version of its own application writes now is not compared with its schema, unless it reads old records
    again: the version in question takes the other's place.
    """
    known: Sequence[Offering] = ()
    if offered.application == side.application:
        reading = side.own(reading, offered.subject)
    else:
        known = question.known_to(reading, offered, [each for each in question.writers if offered in each.offerings])
    older = question.retained.findings(judge, known, offered, reading)
    return about_reader(judge(known, offered, reading)), older


def live_pairs(
    writers: Sequence[Side], readers: Iterable[Side], known: KnownWriters, retained: RetainedRecords, judge: Judge
) -> Iterator[Pair]:
    """Yield all pairs of live writers and readers, as they stand: whatever was so before counts."""
    own = {(each.application, each.version): each for each in writers}
    for writer in writers:
        for side in readers:
            for reading in side.readings:
                for offered, part in parts_of(reading, writer.offered(reading.contract)):
                    mine = own.get((reading.application, reading.version))
                    is_own = mine is not None and reading.application == offered.application
                    met = mine.own(part, offered.subject) if mine is not None and is_own else part
                    built = _own_offerings(writers, part, offered) or known.offered_to(part, offered, [writer])
                    findings = united(judge(built, offered, met), retained.findings(judge, built, offered, met))
                    yield pair_of(offered, part, findings)


def pair_of(
    offered: Offering,
    reading: ConsumerReading,
    findings: tuple[ReadFinding, ...],
    *,
    is_live: bool = True,
    is_by_consumer: bool = False,
    were_together: bool = False,
) -> Pair:
    """Return the pair of what is offered and what is read, with the findings about it."""
    return Pair(
        reading.contract,
        offered.subject,
        offered.application,
        offered.version,
        reading.application,
        reading.version,
        findings,
        is_live,
        reading.product,
        is_by_consumer,
        offered.major,
        reading.major,
        were_together=were_together,
    )
