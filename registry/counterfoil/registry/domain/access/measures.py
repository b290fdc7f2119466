"""What is counted about callers, for measures: by words from short lists, never by a principal or a subject."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

ACCEPTED: Final = "accepted"
"""The outcome of credentials that have proven a caller; the others are the values of ``Reason``."""

NO_METHOD: Final = "none"
"""The method of a request without credentials."""

OTHER_METHOD: Final = "other"
"""The method of a scheme of ``Authorization`` that is not known, and of a header that is there twice."""

MEMBER: Final = "MEMBER"
"""Instead of an operation: the request needs credentials, and no operation."""

BUCKETS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""The upper bounds of the buckets of durations."""


class Durations:
    """The durations of one kind of work: the number in each bucket, of which the last one has all that are longer."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.sum_s = 0.0

    def record(self, duration_s: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKETS_S, duration_s)] += 1
        self.sum_s += duration_s

    def add(self, counts: list[int], sum_s: float) -> None:
        """Add the counts of another process."""
        self.counts = [one + other for one, other in zip(self.counts, counts, strict=True)]
        self.sum_s += sum_s

    def cumulated(self) -> list[tuple[str, float]]:
        """Return each bucket's upper bound with the number of durations in it or a bucket before it."""
        ends = [*map(str, BUCKETS_S), "+Inf"]
        return list(zip(ends, accumulate(map(float, self.counts)), strict=True))


class AccessCounts:
    """Counts of one process, or of several: examined credentials, remembered ones, denials, examined passwords."""

    def __init__(self) -> None:
        self.attempts: Counter[tuple[str, str]] = Counter()
        """Examined requests by method and outcome."""
        self.denials: Counter[str] = Counter()
        """Denied requests, and items of requests, by operation."""
        self.examined_headers = 0
        """Headers with credentials that were not remembered."""
        self.passwords = Durations()
        self._recalled: dict[str, list[int]] = {}

    @property
    def recalled(self) -> dict[str, int]:
        """The requests whose credentials were remembered, by method."""
        return {method: cell[0] for method, cell in self._recalled.items()}

    def recalled_cell(self, method: str) -> list[int]:
        """Return a list of one number, to which a request is added whose credentials of ``method`` were remembered."""
        return self._recalled.setdefault(method, [0])

    @property
    def by_outcome(self) -> Counter[tuple[str, str]]:
        """All requests by method and outcome, with those whose credentials were remembered."""
        return self.attempts + Counter({(method, ACCEPTED): count for method, count in self.recalled.items()})

    def packed(self) -> dict[str, Any]:
        """Return the counts as JSON, for another process to add."""
        return {
            "attempts": [[*key, count] for key, count in self.attempts.items()],
            "recalled": self.recalled,
            "examined": self.examined_headers,
            "denials": self.denials,
            "passwords": [self.passwords.counts, self.passwords.sum_s],
        }

    def add(self, packed: dict[str, Any]) -> None:
        """Add the counts of another process."""
        for method, outcome, count in packed["attempts"]:
            self.attempts[method, outcome] += count
        for method, count in packed["recalled"].items():
            self.recalled_cell(method)[0] += count
        self.examined_headers += packed["examined"]
        self.denials.update(packed["denials"])
        self.passwords.add(*packed["passwords"])


@dataclass(frozen=True, slots=True)
class IssuerState:
    """The keys of an issuer: how old they are (None: never fetched), and how often a fetch has failed."""

    name: str
    age_s: float | None
    failures: int


@dataclass(frozen=True, slots=True)
class AccessState:
    """The access control of a process.

    ``is_file_valid`` is None without an access file; ``rules`` is a digest of the rules in force.
    """

    rules: str
    is_file_valid: bool | None = None
    issuers: tuple[IssuerState, ...] = ()
