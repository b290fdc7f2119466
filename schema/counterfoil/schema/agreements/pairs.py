"""The sides of a question (the offers and reads of versions), and its pairs, judged."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from counterfoil.schema.agreements import RULE_BY_ID, Expectation, Promise, major_of
from counterfoil.schema.agreements.findings import Offer, Reader, ReadFinding
from counterfoil.schema.agreements.readers import about_reader, since, united, worse_than
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.paths import FieldPath, StepKind

# What versions of applications offer and read, as values: of files of a repository, and of a registry's records.

_LATEST: Final = "latest"

Numbered = tuple[str, str]
"""The name of an application and the number of its version."""


@dataclass(frozen=True, slots=True)
class Offering:
    """The offer of one version of a producer in one subject. ``identity`` is equal for equal contents."""

    application: str
    version: str
    contract: str
    contract_version: str
    subject: str
    promise: Promise
    offer: Offer
    identity: tuple[str, ...]
    major: str = field(init=False, compare=False)
    """The major version of the contract."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "major", major_of(self.contract_version))

    def has(self, path: FieldPath) -> bool:
        """Return whether records have a path: in their values, in their keys, or as a promised header."""
        if path and path[0].kind is StepKind.HEADER:
            return self.promise.header(path[0].name) is not None
        return self.offer.has(path)

    @property
    def contract_hash(self) -> str:
        """The hash of the contract's content."""
        return self.identity[2]


@dataclass(frozen=True, slots=True)
class ConsumerReading:
    """The expectations of one version of a consumer about one contract. ``identity`` is equal for equal contents.

    ``product`` is the id of the consumer's file, or the name of an application that was only seen.
    """

    application: str
    version: str
    contract: str
    reader: Reader
    product: str
    identity: tuple[str, ...]
    major: str = field(init=False, compare=False)
    """The major version of the contract that it reads."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "major", major_of(self.reader.expectation.version))

    @property
    def expectation(self) -> Expectation:
        """Its expectations."""
        return self.reader.expectation

    @property
    def reads_again(self) -> bool:
        """Whether it reads old records again, so that it must read records of earlier versions of a schema."""
        return self.expectation.reprocesses_from not in {None, _LATEST}

    def only(self, numbers: Sequence[int]) -> ConsumerReading:
        """Return it with some of its reads alone, by their numbers."""
        reads = self.expectation.reads
        if reads is None or len(numbers) == len(reads):
            return self
        expectation = replace(self.expectation, reads=tuple(reads[each] for each in numbers))
        identity = (*self.identity, "only", *map(str, numbers))
        return replace(self, reader=replace(self.reader, expectation=expectation), identity=identity)

    def chosen(self, offerings: Sequence[Offering]) -> list[Offering]:
        """Return the offerings that it reads, of all of its contract by one version of a producer.

        Those are the ones of its major version; without any, all of them, so that a new major version of the same topic
        does not escape. Of several topics, it reads the one after which its port is named, or else all of them.
        """
        if len(offerings) == 1:
            return list(offerings)
        of_major = [each for each in offerings if each.major == self.major] or list(offerings)
        name = self.expectation.name
        named = [each for each in of_major if name in {each.promise.name, each.promise.topic, each.subject}]
        return named or of_major


@dataclass(frozen=True, slots=True)
class Side:
    """The offers and the reads of one version of an application."""

    application: str
    version: str
    offerings: tuple[Offering, ...] = ()
    readings: tuple[ConsumerReading, ...] = ()

    def is_same(self, other: Side) -> bool:
        """Return whether the other is the same version of the same application."""
        return (self.application, self.version) == (other.application, other.version)

    def only(self, subjects: Container[tuple[str, str]]) -> Side:
        """Return the side without its offers in other subjects than ``subjects``: pairs of a contract and a subject."""
        return replace(
            self, offerings=tuple(each for each in self.offerings if (each.contract, each.subject) in subjects)
        )

    def offered(self, contract: str) -> list[Offering]:
        """Return its offerings of a contract."""
        return [each for each in self.offerings if each.contract == contract]

    def own(self, reading: ConsumerReading, subject: str) -> ConsumerReading:
        """Return a reading of records that this application has written: with the schema that this version writes.

        It stays as it is if it has a schema of its own, reads no old records again, or if the version does not write
        the subject.
        """
        written = next((each for each in self.offered(reading.contract) if each.subject == subject), None)
        if written is None or reading.reader.schema is not None or not reading.reads_again:
            return reading
        reader = replace(reading.reader, schema=written.offer.schema)
        return replace(reading, reader=reader, identity=(*reading.identity, "own", *written.identity))


Judge: TypeAlias = "Callable[[Sequence[Offering], Offering, ConsumerReading], tuple[ReadFinding, ...]]"
"""Judges a pair: the offerings that the reader was built for, what is offered, and what is read."""


PairKey: TypeAlias = "tuple[tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...]]"
"""The identities of the contents of a pair."""


def pair_key(known: Sequence[Offering], offered: Offering, reading: ConsumerReading) -> PairKey:
    """Return the identities of the offers that a reader was built for, of the present offer, and of the reads."""
    return tuple(sorted(each.identity for each in known)), offered.identity, reading.identity


def consumer_groups_of(sides: Iterable[Side]) -> set[str]:
    """Return the consumer groups that are declared for the reads of versions."""
    return {group for side in sides for each in side.readings for group in each.expectation.consumer_groups}


# Which writers the readers of a question have met: the versions with whose schemas they may read. Pure functions.

_MAX_REPLACED: Final = 10_000


def never_met(offered: Offering, reading: ConsumerReading) -> bool:
    """Return False, since it is not known of a writer and a reader that they were live together."""
    del offered, reading
    return False


@dataclass(frozen=True, slots=True)
class KnownWriters:
    """The writers that readers have met. ``groups`` are by reader, that which counts first.

    ``were_together`` returns whether the offer was live at the same time as the version of a reader.
    """

    groups: Mapping[Numbered, Sequence[Sequence[Side]]] = field(default_factory=dict)
    were_together: Callable[[Offering, ConsumerReading], bool] = field(default=never_met, compare=False, repr=False)
    _replacing: RecentValues[tuple[int | str, ...], list[Offering]] = field(
        default_factory=lambda: RecentValues(_MAX_REPLACED), compare=False, repr=False
    )
    """What the writers of a group offer in the place of something, so that it is found once for all its readers."""

    def offered_to(self, reading: ConsumerReading, offered: Offering, live: Sequence[Side]) -> list[Offering]:
        """Return the offerings with whose schemas a reading may be done, in the place of ``offered``.

        Of a reader that has met nobody, it is what ``live`` offers now.
        """
        for group in self.groups.get((reading.application, reading.version), ()):
            if found := self._replaced_by(offered, reading, group):
                return found
        return replaced_by(offered, reading, live)

    def _replaced_by(self, offered: Offering, reading: ConsumerReading, group: Sequence[Side]) -> list[Offering]:
        """Return :func:`replaced_by` of one of the groups; the key has all that it depends on."""
        what = (offered.subject, offered.promise.name, offered.major)
        key = (id(group), *what, reading.contract, reading.major, reading.reader.expectation.name)
        found = self._replacing.get(key)
        if found is None:
            found = replaced_by(offered, reading, group)
            self._replacing.put(key, found, weight=1 + len(found))
        return found


def replaced_by(offered: Offering, reading: ConsumerReading, sides: Iterable[Side]) -> list[Offering]:
    """Return the offerings of other versions that stand in the place of ``offered`` for a reader.

    It has the same subject, or the same name in the contract: a new major version may have another topic. It does not
    matter to consumers of the new major version already.
    """
    return [
        each
        for one in sides
        for each in reading.chosen(one.offered(reading.contract))
        if each.major in {offered.major, reading.major}
        and (each.subject == offered.subject or each.promise.name == offered.promise.name)
    ]


def parts_of(
    reading: ConsumerReading, offered: Sequence[Offering], before: Sequence[Side] = ()
) -> Sequence[tuple[Offering, ConsumerReading]]:
    """Return the offerings of its contract that a reader reads, each with the reads that are about it.

    Of several topics of a contract, a read is about those that have its path, or had it ``before``; what none of them
    has is about the last one. Topics of which nothing is read are left out.
    """
    chosen = reading.chosen(offered)
    reads = reading.expectation.reads
    if len(chosen) < 2 or reads is None:  # noqa: PLR2004 - there is nothing to divide
        return [(each, reading) for each in chosen]
    offers = [[each, *replaced_by(each, reading, before)] for each in chosen]
    having = [[any(one.has(read.path) for one in part) for part in offers] for read in reads]
    last = len(chosen) - 1
    parts = []
    for place, each in enumerate(chosen):
        mine = [number for number, known in enumerate(having) if known[place] or (place == last and not any(known))]
        if mine or not reads:
            parts.append((each, reading.only(mine)))
    return parts


# The records that topics still have, of earlier versions of a schema, and who cannot read them. Pure functions.

EarlierOffering = tuple["Offering", str]
"""What is offered with the schema of an earlier version, and the end of the sentences about it."""

_UNBACKED = "expectation-unbacked"
"""The rule about what nothing promises, such as an enum's values in records whose field was a text."""


@dataclass(frozen=True, slots=True)
class RetainedRecords:
    """The records that topics still have: by the identity of an offer, the offer with the schemas of each version."""

    earlier: Mapping[tuple[str, ...], Sequence[EarlierOffering]] = field(default_factory=dict)

    def findings(
        self, judge: Judge, known: Sequence[Offering], offered: Offering, reading: ConsumerReading
    ) -> list[ReadFinding]:
        """Return why a reader that reads old records again cannot read the ones of earlier versions.

        ``known`` are the offerings that the reader was built for.
        """
        found: dict[object, ReadFinding] = {}
        for before, where in self.earlier.get(offered.identity, ()) if reading.reads_again else ():
            for each in judge(known, before, reading):
                if each.application is not None and (each.rule.startswith("consumer-") or each.rule == _UNBACKED):
                    former = each.former and each.former._replace(text=f"{each.former.text}; {where}")
                    found.setdefault(each.identity, replace(each, text=f"{each.text}; {where}", former=former))
        return list(found.values())


# The pairs of a question, judged: from all sides that were gathered for it. Pure functions, without I/O.


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
    def may_be_bridged(self) -> bool:
        """Whether a migration may permit its breaks: the consumer reads another major version than is written."""
        return self.producer_major != self.consumer_major and self.is_broken

    @property
    def caused(self) -> tuple[ReadFinding, ...]:
        """The findings that the change causes: they are worse than before."""
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


def pairs_of_producer(question: Gathered, judge: Judge) -> Iterator[Pair]:
    """Yield the pairs of the version, as a producer, with itself and with all who read it, or will."""
    yield from own_pairs(question, judge)
    for is_live, consumers in ((True, question.readers), (False, question.pending)):
        for consumer in consumers:
            yield from producer_pairs(question, consumer, judge, is_live=is_live)


def producer_pairs(question: Gathered, consumer: Side, judge: Judge, *, is_live: bool) -> Iterator[Pair]:
    """Yield the pairs of the version, as a producer, with the reads of a consumer."""
    for reading in consumer.readings:
        for offered, part in parts_of(reading, question.side.offered(reading.contract), question.before):
            yield producer_pair(question, offered, part, judge, is_live=is_live)


def producer_pair(
    question: Gathered, offered: Offering, reading: ConsumerReading, judge: Judge, *, is_live: bool
) -> Pair:
    """Return the pair of an offer of the version with a consumer of it.

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

    If it reads old records again, records of earlier versions that the topic still has are among them.
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
    """Yield the pairs of the version, as a consumer, with the producers whose records it reads."""
    for reading in question.side.readings:
        for writer in question.writers:
            if writer.is_same(question.side):
                continue
            for offered, part in parts_of(reading, writer.offered(reading.contract)):
                yield consumer_pair(question, offered, part, judge)


def consumer_pair(question: Gathered, offered: Offering, reading: ConsumerReading, judge: Judge) -> Pair:
    """Return the pair of the version, as a consumer, with the offer of a writer.

    A finding is pre-existing where all live versions of the same consumer have it already: which of them it replaces is
    not known.
    """
    sides = ((question.side, [reading]), *_earlier(question, reading))
    found = [[_why_unread(question, one, each, offered, judge) for each in readings] for one, readings in sides]
    written, retained = ([[finding for each in one for finding in each[part]] for one in found] for part in (0, 1))
    findings = _worst_of(since(written[0], written[1:]), since(retained[0], retained[1:]))
    return pair_of(offered, reading, findings, is_by_consumer=True)


def _worst_of(*parts: Iterable[ReadFinding]) -> tuple[ReadFinding, ...]:
    """Return the findings of all parts; where several say the same, one that breaks counts."""
    found: dict[object, ReadFinding] = {}
    for each in chain.from_iterable(parts):
        known = found.setdefault(each.identity, each)
        if each.is_breaking and not known.is_breaking:
            found[each.identity] = each
    return tuple(found.values())


def _earlier(question: Gathered, reading: ConsumerReading) -> list[tuple[Side, list[ConsumerReading]]]:
    """Return the live versions of the same application that read the same contract, each with its reads."""
    found = ((one, [each for each in one.readings if each.contract == reading.contract]) for one in question.replaced)
    return [(one, readings) for one, readings in found if readings]


def _why_unread(
    question: Gathered, side: Side, reading: ConsumerReading, offered: Offering, judge: Judge
) -> tuple[Iterable[ReadFinding], Iterable[ReadFinding]]:
    """Return why a consumer cannot read the records that are written now, and the old ones in the topic.

    Records that another version of its own application writes now are not compared with its schema, unless it reads
    old records again: the version in question takes the other's place.
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
    """Return the pair of an offer and its reads, with the findings about it."""
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
