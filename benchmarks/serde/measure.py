"""Medians of CPU time, of candidates that take turns in one process, and their ratios beside goals.

The candidates of one comparison run in short slices, one after the other, for many rounds. A ratio is the median of the
ratios of slices of the same round, so that a slow phase of the machine affects both. Only ratios can be compared with
another machine.

A benchmark builds a :class:`Report`, calls :meth:`Report.compare` for each row, and returns :meth:`Report.finish`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SLICE_S: Final = 0.01
TOLERATED: Final = 0.7
"""The part of a goal below which ``--assert`` fails; the rest is a margin for shared machines."""


@dataclass(frozen=True)
class Candidate:
    """One implementation: ``run`` handles all messages once."""

    name: str
    run: Callable[[], object]


def over(work: Callable[..., Any], items: Sequence[Any], *context: object) -> Callable[[], None]:
    """Return a function that calls ``work(item, *context)`` for every item, in a loop that takes no bytecode."""

    def run() -> None:
        deque(map(work, items, *map(repeat, context)), maxlen=0)

    return run


def take_turns(candidates: Sequence[Candidate], *, rounds: int, messages: int) -> list[list[float]]:
    """Return the seconds of CPU per message of every candidate, one figure for each round."""
    for candidate in candidates:
        candidate.run()
    slices: list[list[float]] = [[] for _ in candidates]
    for _ in range(rounds):
        for candidate, own in zip(candidates, slices, strict=True):
            own.append(_slice(candidate.run) / messages)
    return slices


def _slice(run: Callable[[], object]) -> float:
    passes = 0
    start = time.process_time()
    while (elapsed := time.process_time() - start) < SLICE_S:
        run()
        passes += 1
    return elapsed / passes


@dataclass
class Report:
    """The rows that were measured; ``missed`` are those below their goal, with the part of it that they reached."""

    rounds: int
    is_asserting: bool
    missed: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_arguments(cls, description: str) -> Report:
        """Return an empty report with the options of the command line."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--rounds", type=int, default=30, help="how often each candidate takes its turn")
        parser.add_argument("--assert", dest="is_asserting", action="store_true", help="fail far below a goal")
        options = parser.parse_args()
        return cls(options.rounds, options.is_asserting)

    def compare(
        self,
        what: str,
        peer: Candidate,
        *ours: tuple[Candidate, float | None],
        messages: int,
    ) -> list[float]:
        """Print a row for the peer and one for each of ours, with the ratio to the peer; return the ratios.

        Each of ours has its goal: how many times faster than the peer it should be at least, or None for no goal.
        """
        candidates = [peer, *(candidate for candidate, _ in ours)]
        base, *slices = take_turns(candidates, rounds=self.rounds, messages=messages)
        self._print(what, peer.name, statistics.median(base))
        ratios = []
        for (candidate, goal), own in zip(ours, slices, strict=True):
            ratio = statistics.median(theirs / mine for theirs, mine in zip(base, own, strict=True))
            self._print(what, candidate.name, statistics.median(own), ratio, goal)
            if goal is not None and ratio < goal:
                self.missed[f"{what}, {candidate.name}"] = ratio / goal
            ratios.append(ratio)
        return ratios

    def _print(
        self, what: str, name: str, seconds: float, ratio: float | None = None, goal: float | None = None
    ) -> None:
        row = f"{what:34} {name:26} {seconds * 1e6:9.2f} us"
        if ratio is not None:
            row += f" {ratio:7.2f} x"
        if goal is not None:
            row += f"  goal {goal:5.2f} x  {'ok' if ratio is not None and ratio >= goal else 'SHORT OF IT'}"
        print(row, flush=True)

    def finish(self) -> int:
        """Print what missed its goal; return the exit code, which is 1 only with ``--assert`` and far below a goal."""
        for row, part in self.missed.items():
            print(f"SHORT OF IT: {row} reached {part:.0%} of its goal")
        far = [row for row, part in self.missed.items() if part < TOLERATED]
        if far and self.is_asserting:
            print(f"Below {TOLERATED:.0%} of the goal: {'; '.join(far)}", file=sys.stderr)
            return 1
        return 0
