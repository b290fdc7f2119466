"""Numbered steps on the terminal, the result of each, and a table at the end."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnexpectedResultError(Exception):
    """A step did not have the expected result."""


class Steps:
    """Steps that are printed when they are carried out, and listed in the table."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, str, float]] = []
        self._result = ""

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print the title of a step; its result in the table is the last line that ``report`` prints."""
        print(f"\n{len(self._steps) + 1}. {title}", flush=True)
        start = time.monotonic()
        self._result = ""
        yield
        self._steps.append((title, self._result, time.monotonic() - start))

    def report(self, text: str) -> None:
        """Print a line about the step."""
        print(f"   {text}", flush=True)
        self._result = text

    def show(self, output: str) -> None:
        """Print the output of a program."""
        for line in output.rstrip().splitlines():
            print(f"   │ {line}", flush=True)

    def expect(self, *, is_met: bool, otherwise: str) -> None:
        """Raise ``UnexpectedResultError`` unless the expectation ``is_met``."""
        if not is_met:
            self.fail(otherwise)

    def fail(self, reason: str) -> NoReturn:
        """Raise ``UnexpectedResultError``."""
        raise UnexpectedResultError(reason)

    def table(self) -> str:
        """Return the steps with their results and times."""
        width = max(len(title) for title, _, _ in self._steps)
        lines = [
            f"{number}  {title:<{width}}  {seconds:6.1f} s  {result}"
            for number, (title, result, seconds) in enumerate(self._steps, 1)
        ]
        return "\n".join(lines)
