"""What versions of applications offer and read, which writers readers have met, and records that topics retain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.paths import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from counterfoil.schema.agreements.findings import Offer, Reader, ReadFinding
    from counterfoil.schema.agreements.model import Expectation, Promise
    from counterfoil.schema.paths import FieldPath


# What versions of applications offer and read, as values: of files of a repository, and of a registry's records.

_LATEST: Final = "latest"

Numbered = tuple[str, str]
"""The name of an application and the number of its version."""


@dataclass(frozen=True, slots=True)
class Offering:
    """What one version of a producer offers of one subject. ``identity`` is equal for equal contents."""

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
    """What one version of a consumer expects of one contract. ``identity`` is equal for equal contents.

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
        """What it expects."""
        return self.reader.expectation

    @property
    def reads_again(self) -> bool:
        """Whether it reads old records again, so that it must read those of earlier versions of a schema."""
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
    """What one version of an application offers and reads."""

    application: str
    version: str
    offerings: tuple[Offering, ...] = ()
    readings: tuple[ConsumerReading, ...] = ()

    def is_same(self, other: Side) -> bool:
        """Return whether the other is the same version of the same application."""
        return (self.application, self.version) == (other.application, other.version)

    def only(self, subjects: Container[tuple[str, str]]) -> Side:
        """Return the side without what it offers of others than ``subjects``: pairs of a contract and a subject."""
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
    """Return the identities of what a reader was built for, of what is offered, and of what is read."""
    return tuple(sorted(each.identity for each in known)), offered.identity, reading.identity


def consumer_groups_of(sides: Iterable[Side]) -> set[str]:
    """Return the consumer groups that are declared for what versions read."""
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

    ``were_together`` returns whether what is offered was live at the same time as the version of a reader.
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
    matter to those who read the new major version already.
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
    """The records that topics still have: by the identity of what is offered, that with the schemas of each version."""

    earlier: Mapping[tuple[str, ...], Sequence[EarlierOffering]] = field(default_factory=dict)

    def findings(
        self, judge: Judge, known: Sequence[Offering], offered: Offering, reading: ConsumerReading
    ) -> list[ReadFinding]:
        """Return why a reader that reads old records again cannot read those of earlier versions.

        ``known`` are the offerings that the reader was built for.
        """
        found: dict[object, ReadFinding] = {}
        for before, where in self.earlier.get(offered.identity, ()) if reading.reads_again else ():
            for each in judge(known, before, reading):
                if each.application is not None and (each.rule.startswith("consumer-") or each.rule == _UNBACKED):
                    former = each.former and each.former._replace(text=f"{each.former.text}; {where}")
                    found.setdefault(each.identity, replace(each, text=f"{each.text}; {where}", former=former))
        return list(found.values())
