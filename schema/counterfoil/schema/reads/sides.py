"""What versions of applications offer and read, as values: of files of a repository, and of a registry's records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.paths import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from counterfoil.schema.agreements.model import Expectation, Promise
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.reads.model import Offer, Reader, ReadFinding

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
class Reading:
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

    def only(self, numbers: Sequence[int]) -> Reading:
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
    readings: tuple[Reading, ...] = ()

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

    def own(self, reading: Reading, subject: str) -> Reading:
        """Return a reading of records that this application has written: with the schema that this version writes.

        It stays as it is if it has a schema of its own, reads no old records again, or if the version does not write
        the subject.
        """
        written = next((each for each in self.offered(reading.contract) if each.subject == subject), None)
        if written is None or reading.reader.schema is not None or not reading.reads_again:
            return reading
        reader = replace(reading.reader, schema=written.offer.schema)
        return replace(reading, reader=reader, identity=(*reading.identity, "own", *written.identity))


Judge: TypeAlias = "Callable[[Sequence[Offering], Offering, Reading], tuple[ReadFinding, ...]]"
"""Judges a pair: the offerings that the reader was built for, what is offered, and what is read."""


PairKey: TypeAlias = "tuple[tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...]]"
"""The identities of the contents of a pair."""


def pair_key(known: Sequence[Offering], offered: Offering, reading: Reading) -> PairKey:
    """Return the identities of what a reader was built for, of what is offered, and of what is read."""
    return tuple(sorted(each.identity for each in known)), offered.identity, reading.identity


def consumer_groups_of(sides: Iterable[Side]) -> set[str]:
    """Return the consumer groups that are declared for what versions read."""
    return {group for side in sides for each in side.readings for group in each.expectation.consumer_groups}
