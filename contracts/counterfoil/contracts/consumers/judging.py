"""What a change of a topic or of a consumer breaks, and which of the two is the cause.

The sides of the question are those of files: what a contract offers and offered before, what a consumer reads and read
before, and what was offered when it appeared. They are judged as those of a registry (``schema/reads/pairing.py``). A
consumer is judged with what it expected before, so that the producer is the cause of what breaks then; what only its
new expectations break, the consumer itself causes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.reads.judge import newly_read
from counterfoil.schema.reads.known_writers import KnownWriters, parts_of
from counterfoil.schema.reads.model import FormerFinding, Reader
from counterfoil.schema.reads.pairing import Gathered, consumer_pair, producer_pair
from counterfoil.schema.reads.pairs import about_reader, concerns, judge_pair, promise_changes
from counterfoil.schema.reads.sides import Offering, Reading, Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.contracts.consumers.agreements import Consumer
    from counterfoil.contracts.consumers.pairs import Topic, TopicChange
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.reads.model import Offer, ReadFinding
    from counterfoil.schema.reads.pairing import Pair

_PRODUCER: Final = ""
"""Stands for the application that writes the topics of a contract, which files do not name."""
_AFTER: Final = "after"
_BEFORE: Final = "before"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A consumer after a change and before it; ``before`` is None for a new one. The schemas are its own, if any.

    ``known`` is what was offered when its version appeared.
    """

    after: Consumer
    before: Consumer | None
    schema: ParsedSchema | None = None
    schema_before: ParsedSchema | None = None
    known: KnownWriters = field(default_factory=KnownWriters)

    @property
    def is_changed(self) -> bool:
        """Whether the consumer expects something else than before."""
        before = self.before
        return before is None or before.expectation != self.after.expectation or self.schema is not self.schema_before


@dataclass(frozen=True, slots=True)
class Found:
    """A finding about a topic: ``consumer`` is the one that breaks, ``is_by_consumer`` says who is the cause.

    ``were_together``: what is offered was there together with this version of the consumer before.
    """

    finding: ReadFinding
    consumer: Consumer | None = None
    is_by_consumer: bool = False
    were_together: bool = False


@dataclass(frozen=True, slots=True)
class _Judged:
    """The findings of a topic about a consumer, and those about promises of the contract that no longer hold for it."""

    reading: Reading
    found: tuple[Found, ...] = ()
    taken_back: tuple[ReadFinding, ...] = ()
    is_of_producer: bool = True
    """Whether the change of the topic was judged, and not the consumer's alone."""


def judge_topics(changes: Sequence[TopicChange], pairings: Sequence[Pairing]) -> Iterator[tuple[TopicChange, Found]]:
    """Yield what the changes of a contract's topics break, and what changes of its consumers break.

    Where nothing valid was before, the change of a topic is not the cause of what its consumers miss.
    """
    question = _Question(changes)
    judged = [question.judged(each) for each in pairings]
    for number, change in enumerate(changes):
        of_topic = [each[number] for each in judged if number in each]
        for each in of_topic:
            yield from ((change, found) for found in each.found)
        if change.is_changed and change.later is not None and change.earlier is not None:
            producer = [each for each in of_topic if each.is_of_producer]
            for finding in _taken_back(promise_changes(change.earlier, change.later), producer):
                yield change, Found(finding)


def _taken_back(changed: Iterable[ReadFinding], judged: Sequence[_Judged]) -> Iterator[ReadFinding]:
    """Yield the findings about promises that the contract has withdrawn: since before, or since a consumer was built.

    It is left out where all consumers that it concerns were built for what is promised now.
    """
    missed = {each.identity: each for one in judged for each in one.taken_back}
    known = set()
    for finding in changed:
        known.add(finding.identity)
        is_read = any(concerns(each.reading.expectation, finding) for each in judged)
        if not is_read or finding.identity in missed:
            yield finding
    yield from (each for identity, each in missed.items() if identity not in known)


class _Question:
    """The changes of a contract's topics, as sides that can be judged."""

    def __init__(self, changes: Sequence[TopicChange]) -> None:
        self._changes = changes
        before = [_offering(_BEFORE, each.before, each.earlier, number) for number, each in enumerate(changes)]
        after = [  # of what has no valid schema now, only the paths matter that it had before
            _offering(_AFTER, each.after, each.later or each.earlier, number) for number, each in enumerate(changes)
        ]
        self._before = side_of(_BEFORE, before)
        self._after = side_of(_AFTER, after)

    def judged(self, pairing: Pairing) -> dict[int, _Judged]:
        """Return the findings about a consumer, by the numbers of the topics that it reads."""
        now = _reading(pairing.after, pairing.schema)
        before = pairing.before
        was = None if before is None or _reads_nothing(before) else _reading(before, pairing.schema_before)
        if _reads_nothing(pairing.after):
            return {}
        parts_before = {} if was is None else {number_of(each): part for each, part in self._parts(was)}
        found: dict[int, _Judged] = {}
        for offered, part in self._parts(now):
            change = self._changes[number_of(offered)]
            if change.later is None or not (change.is_changed or pairing.is_changed):
                continue
            is_comparable = change.is_changed and (change.earlier is not None or change.before is None)
            if was is not None and is_comparable:
                part_before = parts_before.get(number_of(offered)) if pairing.is_changed else part
                judged = self._by_producer(pairing, offered, part, part_before)
            else:
                judged = self._by_consumer(pairing, offered, part, was)
            personal = tuple(_newly_read(pairing, part, was, change.later))
            found[number_of(offered)] = replace(judged, found=(*judged.found, *personal))
        return found

    def _parts(self, reading: Reading) -> Sequence[tuple[Offering, Reading]]:
        return parts_of(reading, self._after.offerings, [self._before])

    def _by_producer(self, pairing: Pairing, offered: Offering, now: Reading, was: Reading | None) -> _Judged:
        """Return the breaks by the change of a topic, and those by the consumer whose expectations change with it."""
        pair = self._pair(pairing, offered, now)
        pair_before = pair if was is now or was is None else self._pair(pairing, offered, was)
        causes = () if was is None else pair_before.findings
        cause_by_identity = {each.identity: each for each in causes}
        found = []
        for each in about_reader(pair.findings):
            cause = cause_by_identity.get(each.identity)
            is_known = cause is not None and (cause.is_preexisting or pair.were_together)
            finding = replace(each, is_preexisting=is_known)
            together = pair.were_together and cause is not None and not cause.is_preexisting
            found.append(Found(finding, pairing.after, cause is None, together))
        taken_back = tuple(each for each in pair.caused if each.application is None)
        return _Judged(now, tuple(found), taken_back)

    def _pair(self, pairing: Pairing, offered: Offering, reading: Reading) -> Pair:
        question = Gathered(self._after, before=[self._before], known=pairing.known)
        return producer_pair(question, offered, reading, _judge, is_live=True)

    def _by_consumer(self, pairing: Pairing, offered: Offering, now: Reading, was: Reading | None) -> _Judged:
        """Return the breaks of a consumer by a topic that has not changed, or that it did not read before."""
        replaced = [] if was is None else [Side(was.application, was.version, readings=(was,))]
        side = Side(now.application, now.version, readings=(now,))
        question = Gathered(side, replaced, writers=[self._after], known=pairing.known)
        pair = consumer_pair(question, offered, now, _judge)
        found = (Found(each, pairing.after, not each.is_preexisting) for each in about_reader(pair.findings))
        return _Judged(now, tuple(found), is_of_producer=False)


def _newly_read(pairing: Pairing, now: Reading, was: Reading | None, later: Offer) -> Iterator[Found]:
    """Yield the fields with personal data of a topic that a new version of a consumer reads."""
    if not pairing.is_changed or later.promise is None:
        return
    for finding in newly_read(None if was is None else was.reader, now.reader, later.promise):
        former = FormerFinding(finding.rule, finding.element, finding.text)
        yield Found(replace(finding, former=former), pairing.after, is_by_consumer=True)


# --- files as sides


def side_of(version: str, offerings: Iterable[Offering | None]) -> Side:
    """Return the side of the producer of a contract's topics."""
    return Side(_PRODUCER, version, tuple(each for each in offerings if each is not None))


def _offering(version: str, topic: Topic | None, offer: Offer | None, number: int) -> Offering | None:
    return None if topic is None or offer is None else offering_of(version, topic, offer, number)


def offering_of(version: str, topic: Topic, offer: Offer, number: int) -> Offering:
    """Return the offering of a topic; ``number`` is its place in the contract."""
    contract, promise = topic.contract, topic.promise
    identity = (version, str(number))
    return Offering(_PRODUCER, version, contract.id, contract.version, promise.subject, promise, offer, identity)


def number_of(offered: Offering) -> int:
    """Return the place of a topic in its contract."""
    return int(offered.identity[-1])


def _reading(consumer: Consumer, schema: ParsedSchema | None) -> Reading:
    application, version = consumer.application.id, consumer.application.version
    reader = Reader(application, consumer.expectation, version=version, schema=schema)
    contract, identity = consumer.expectation.contract_id, (consumer.path, consumer.expectation.name)
    return Reading(application, version or "", contract, reader, application, identity)


def _judge(known: Sequence[Offering], offered: Offering, reading: Reading) -> tuple[ReadFinding, ...]:
    return judge_pair([each.offer for each in known], offered.offer, reading.reader)


def _reads_nothing(consumer: Consumer) -> bool:
    return consumer.expectation.reads == ()
