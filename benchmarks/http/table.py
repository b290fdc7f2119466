"""The figures with their goals."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from load import Run

_WIDTH: Final = 46


class Scores:
    """Prints figures with their goals when they are measured, and all missed goals at the end."""

    def __init__(self) -> None:
        self._met = 0
        self._title = ""
        self._short_by_title: dict[str, list[str]] = {}

    def begin(self, title: str, about: str = "") -> None:
        """Print the title of the next part."""
        self._title = title
        print(f"\n{title}" + (f"\n  {about}" if about else ""), flush=True)

    def at_least(self, what: str, figure: float, goal: float, *, unit: str = "") -> None:
        """Print a figure that must not be smaller than its goal."""
        self._score(what, f"{shown(figure)}{unit}", f"at least {shown(goal)}{unit}", is_met=figure >= goal)

    def at_most(self, what: str, figure: float, goal: float, *, unit: str = "") -> None:
        """Print a figure that must not be larger than its goal."""
        self._score(what, f"{shown(figure)}{unit}", f"at most {shown(goal)}{unit}", is_met=figure <= goal)

    def _score(self, what: str, figure: str, goal: str, *, is_met: bool) -> None:
        verdict = "ok" if is_met else "SHORT OF IT"
        line = f"  {what:{_WIDTH}} {figure:>12}   {goal:24} {verdict}"
        self._met += is_met
        if not is_met:
            self._short_by_title.setdefault(self._title, []).append(line)
        print(line, flush=True)

    def summarize(self) -> None:
        """Print how many goals were met, and which were not."""
        short = sum(map(len, self._short_by_title.values()))
        print(f"\n{self._met} of {self._met + short} goals met" + (", all but these:" if short else "."))
        for title, lines in self._short_by_title.items():
            print("\n".join(["", title, *lines]))


def shown(figure: float) -> str:
    """Return a figure with three significant digits."""
    if abs(figure) >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if abs(figure) >= 10 else f"{figure:.2f}"


def median(runs: Sequence[Run], of: Callable[[Run], float]) -> float:
    """Return the median of a figure over the runs."""
    return statistics.median(of(run) for run in runs)


def ratio(runs: Sequence[Run], beside: Sequence[Run], of: Callable[[Run], float]) -> float:
    """Return the median of a figure's ratio over the pairs of runs."""
    return statistics.median(of(run) / of(other) for run, other in zip(runs, beside, strict=True))


def described(runs: Sequence[Run]) -> str:
    """Return the medians: requests a second, CPU time of each in the server and in its database, p99."""
    per_s, p99_ms = median(runs, lambda run: run.per_s), median(runs, lambda run: run.p99_ms)
    server_us, database_us = median(runs, lambda run: run.server_us), median(runs, lambda run: run.database_us)
    database = f"+{database_us:<5.0f}" if database_us else "      "
    return f"{per_s:>8,.0f}/s {server_us:>6.1f}{database} us {p99_ms:>6.2f} ms"
