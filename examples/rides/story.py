"""Tell a story on the terminal: numbered steps, what happened in each, a table at the end."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator


class NotAsToldError(Exception):
    """A step did not do what the story says."""


class Story:
    """Steps that are printed as they happen and remembered for the table."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, str, float]] = []
        self._result = ""

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """One step: its title now, its result (the last thing ``tell`` was given) in the table."""
        print(f"\n{len(self._steps) + 1}. {title}", flush=True)
        start = time.monotonic()
        self._result = ""
        yield
        self._steps.append((title, self._result, time.monotonic() - start))

    def tell(self, text: str) -> None:
        """Print a line that belongs to the step; the last one of a step is its result."""
        print(f"   {text}", flush=True)
        self._result = text

    def quote(self, output: str) -> None:
        """Show what a program printed."""
        for line in output.rstrip().splitlines():
            print(f"   │ {line}", flush=True)

    def expect(self, *, told: bool, otherwise: str) -> None:
        """Stop the story when something is not as told."""
        if not told:
            self.fail(otherwise)

    def fail(self, reason: str) -> NoReturn:
        """Stop the story."""
        raise NotAsToldError(reason)

    def table(self) -> str:
        """The steps with their results and times."""
        width = max(len(title) for title, _, _ in self._steps)
        lines = [
            f"{number}  {title:<{width}}  {seconds:6.1f} s  {result}"
            for number, (title, result, seconds) in enumerate(self._steps, 1)
        ]
        return "\n".join(lines)
