"""The number of measurements: all, or a few as a quick test."""

from __future__ import annotations

import os
from dataclasses import dataclass

from generate import Shape


@dataclass(frozen=True, slots=True)
class Plan:
    """``rounds`` measurements of ``seconds`` for each figure, in turns, on registries of several ``shapes``.

    ``histories`` are registries whose subjects have increasing numbers of versions.
    """

    rounds: int = 5
    seconds: int = 2
    shapes: tuple[Shape, ...] = (Shape(1_000, 10), Shape(10_000, 10), Shape(100_000, 10))
    histories: tuple[Shape, ...] = (Shape(50, 10), Shape(50, 100), Shape(50, 1_000))
    different_reads: int = 100_000

    @property
    def smallest(self) -> Shape:
        """The shape that the others are compared with."""
        return self.shapes[0]

    @property
    def largest(self) -> Shape:
        """The shape for the goals about a large registry."""
        return self.shapes[-1]


def read_plan() -> Plan:
    """Return the whole plan, or a small one if ``BENCH_QUICK`` is set."""
    if os.environ.get("BENCH_QUICK"):
        return Plan(
            rounds=1,
            seconds=1,
            shapes=(Shape(1_000, 10), Shape(5_000, 10)),
            histories=(Shape(50, 10), Shape(50, 100)),
            different_reads=20_000,
        )
    return Plan()
