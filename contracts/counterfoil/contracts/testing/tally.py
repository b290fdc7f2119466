"""What was counted while records were tested; the counts of parts of a topic can be added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol, Self

from counterfoil.schema.datum import Json, JsonObject

# A tally is sent between processes as JSON. Its size does not grow with the number of records: places are the first
# few.

FIRST_PLACES: Final = 5
"""How many places of failing records are kept, for each kind of failure."""
_SUMS: Final = ("records", "tombstones", "null_keys", "with_headers", "size_bytes")
"""The numbers of a tally that are added up."""


class RecordPlace(NamedTuple):
    """A record that fails: where it is, its writer's label, and why."""

    partition: int
    offset: int
    writer: str
    reason: str = ""


@dataclass(slots=True)
class Failures:
    """The records that fail one check: how many, and the first of each partition's batch, by partition and offset."""

    count: int = 0
    places: list[RecordPlace] = field(default_factory=list)

    def add(self, place: RecordPlace) -> None:
        """Count a record."""
        self.count += 1
        if len(self.places) < FIRST_PLACES or place < self.places[-1]:
            self.places = sorted((*self.places, place))[:FIRST_PLACES]

    def merge(self, other: Failures) -> None:
        """Add the failures of another part."""
        self.count += other.count
        self.places = sorted((*self.places, *other.places))[:FIRST_PLACES]


@dataclass(slots=True)
class Outcomes:
    """The results of the records of one writer: how many there are, and how many of these fail in which way."""

    records: int = 0
    undecodable: int = 0
    unreadable: int = 0
    unwritable: int = 0
    failing: int = 0

    @property
    def fine(self) -> int:
        """The records that fail in no way."""
        return self.records - self.failing

    def merge(self, other: Outcomes) -> None:
        """Add the results of another part."""
        for name in ("records", "undecodable", "unreadable", "unwritable", "failing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Span:
    """What was read of a partition: offsets, both inclusive, and timestamps in milliseconds, if there are any."""

    first: int
    last: int
    earliest_ms: int | None = None
    latest_ms: int | None = None

    def merge(self, other: Span) -> None:
        """Widen the span."""
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.earliest_ms = _least((self.earliest_ms, other.earliest_ms))
        self.latest_ms = _most((self.latest_ms, other.latest_ms))


@dataclass(slots=True)
class Window:
    """The records of a window of time: how many, and how many of these are duplicates, by the number of the rule."""

    records: int = 0
    duplicates: dict[int, int] = field(default_factory=dict)

    def merge(self, other: Window) -> None:
        """Add the records of another part."""
        self.records += other.records
        for rule, count in other.duplicates.items():
            self.duplicates[rule] = self.duplicates.get(rule, 0) + count


@dataclass(slots=True)
class Tally:
    """Everything that was counted of a topic, or of a part of it.

    ``failures`` are those of each check by its number, ``counts`` those of quality rules by the rule's number.
    ``windows`` has the windows of each length in milliseconds by their starts; those of length 0 are all records.
    ``newest_ms`` are the latest moments of service levels, by the level's number. ``repeated_keys`` are the records
    with a JSON object that has a key twice, which do not fail by that. ``crowded`` are the numbers of rules about
    duplicates with more keys than are kept.
    """

    records: int = 0
    tombstones: int = 0
    null_keys: int = 0
    with_headers: int = 0
    size_bytes: int = 0
    writers: dict[str, Outcomes] = field(default_factory=dict)
    failures: dict[int, Failures] = field(default_factory=dict)
    counts: dict[int, Failures] = field(default_factory=dict)
    spans: dict[int, Span] = field(default_factory=dict)
    windows: dict[int, dict[int, Window]] = field(default_factory=dict)
    newest_ms: dict[int, int] = field(default_factory=dict)
    repeated_keys: Failures = field(default_factory=Failures)
    crowded: set[int] = field(default_factory=set)

    @property
    def failing(self) -> int:
        """The records that fail in any way."""
        return sum(each.failing for each in self.writers.values())

    def outcomes(self, writer: str) -> Outcomes:
        """Return the results of a writer's records."""
        return self.writers.setdefault(writer, Outcomes())

    def merge(self, other: Tally) -> None:
        """Add what was counted of another part."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in (
            (self.writers, other.writers),
            (self.failures, other.failures),
            (self.counts, other.counts),
            (self.spans, other.spans),
        ):
            _merge_all(mine, theirs)
        for length, starts in other.windows.items():
            _merge_all(self.windows.setdefault(length, {}), starts)
        for number, moment in other.newest_ms.items():
            self.newest_ms[number] = max(moment, self.newest_ms.get(number, moment))
        self.repeated_keys.merge(other.repeated_keys)
        self.crowded |= other.crowded

    def document(self) -> JsonObject:
        """Return the tally as values of JSON."""
        return {**asdict(self), "crowded": sorted(self.crowded)}

    @classmethod
    def read(cls, document: JsonObject) -> Self:
        """Return the tally of a document, whose keys may have become texts."""
        return cls(
            **{name: document[name] for name in _SUMS},
            writers={label: Outcomes(**each) for label, each in document["writers"].items()},
            failures=_failures(document["failures"]),
            counts=_failures(document["counts"]),
            spans={int(number): Span(**each) for number, each in document["spans"].items()},
            windows={
                int(length): {int(start): _window(each) for start, each in starts.items()}
                for length, starts in document["windows"].items()
            },
            newest_ms={int(number): moment for number, moment in document["newest_ms"].items()},
            repeated_keys=_failed(document["repeated_keys"]),
            crowded=set(document["crowded"]),
        )


def _failures(document: JsonObject) -> dict[int, Failures]:
    return {int(number): _failed(each) for number, each in document.items()}


def _failed(document: JsonObject) -> Failures:
    return Failures(document["count"], [RecordPlace(*place) for place in document["places"]])


def _window(document: JsonObject) -> Window:
    return Window(document["records"], {int(rule): count for rule, count in document["duplicates"].items()})


def _merge_all(mine: dict[Json, Json], theirs: dict[Json, Json]) -> None:
    for key, each in theirs.items():
        if key in mine:
            mine[key].merge(each)
        else:
            mine[key] = each


def _least(moments: Iterable[int | None]) -> int | None:
    return min((each for each in moments if each is not None), default=None)


def _most(moments: Iterable[int | None]) -> int | None:
    return max((each for each in moments if each is not None), default=None)


# Values that occur more than once in a window of time, found with digests of them.

MOST_KEYS: Final = 1_000_000
"""How many different values are kept, for all windows together: about 100 MB."""


def digest_of(values: tuple[object, ...]) -> int:
    """Return a number of 64 bits for values; equal values have the same in every process."""
    return int.from_bytes(blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Key(NamedTuple):
    """The values of one record, as a digest, with its timestamp in milliseconds and its place."""

    digest: int
    moment_ms: int | None
    place: RecordPlace


def window_start(moment_ms: int | None, length_ms: int) -> int | None:
    """Return the start of the window of a moment; 0 for windows of no length, None without a moment.

    >>> window_start(5_500, 1_000), window_start(None, 0)
    (5000, 0)
    """
    if not length_ms:
        return 0
    return None if moment_ms is None else moment_ms // length_ms * length_ms


class RepeatedKeys(Protocol):
    """What keys are added to: they are compared, or collected."""

    @property
    def is_crowded(self) -> bool:
        """Whether keys had to be forgotten that may occur again."""

    def add(self, keys: Iterable[Key]) -> list[tuple[int, int]]:
        """Add keys; return those that were there before: their numbers, and the starts of their windows."""


class Repeats:
    """The values of one rule; windows begin at multiples of ``window_ms``, and 0 is one window for all records."""

    def __init__(self, window_ms: int, *, most_keys: int = MOST_KEYS) -> None:
        self._window_ms = window_ms
        self._most_keys = most_keys
        self._seen: dict[int, set[int]] = {}
        self._keys = 0
        self.is_crowded = False
        """Whether keys had to be forgotten that may occur again."""

    def add(self, keys: Iterable[Key]) -> list[tuple[int, int]]:
        """Add keys; return those that were there before: their numbers, and the starts of their windows."""
        repeated = []
        for number, key in enumerate(keys):
            start = window_start(key.moment_ms, self._window_ms)
            if start is None:
                continue
            seen = self._seen.setdefault(start, set())
            if key.digest in seen:
                repeated.append((number, start))
                continue
            seen.add(key.digest)
            self._keys += 1
            if self._keys > self._most_keys:
                self._forget()
        return repeated

    def _forget(self) -> None:
        """Forget the oldest window."""
        oldest = min(self._seen)
        self._keys -= len(self._seen.pop(oldest))
        self.is_crowded = True
