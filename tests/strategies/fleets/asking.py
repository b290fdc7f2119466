"""Many questions, by seeds in several processes, and what was wrong about the answers.

``python -m strategies.fleets.asking 20000`` asks at least so many questions, a third of them in each language, and
exits with 1 if an answer is wrong that must not be; ``--seed`` is the first seed. It needs ``tests`` on the path.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING, Final

from strategies.fleets.judging import Fault, Tally, judged_seed
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.oracle import Answer
from strategies.fleets.shrinking import report, shrunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strategies.fleets.judging import Wrong

WRONG_NO: Final = 0.001
"""The share of the certain yes that may be answered with no."""
NOT_JUDGED: Final = 0.1
"""The share of the questions that the judge may leave open."""
_SHOWN: Final = 10
_AT_ONCE: Final = 40
_QUESTIONS: Final = 20_000
_TRIES: Final = 250


@dataclass(slots=True)
class Asked:
    """What was asked in one language, and what was wrong, by seed."""

    language: str
    answers: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, Wrong]] = field(default_factory=list)

    def add(self, seed: int, tally: Tally) -> None:
        """Add the questions of a seed."""
        self.answers += tally.asked
        self.causes += tally.doubts
        self.wrong += [(seed, each) for each in tally.wrong]

    @property
    def questions(self) -> int:
        """How many questions were asked."""
        return self.answers.total()

    def faults(self) -> list[str]:
        """Return in words what must not be; empty if all is well."""
        found = Counter(each.fault for _, each in self.wrong)
        no = found.pop(Fault.WRONG_NO, 0)
        faults = [f"{number} answers: {fault}" for fault, number in found.items()]
        certain = self.answers[Answer.YES]
        if no > certain * WRONG_NO:
            faults.append(f"{no} of {certain} certain yes were answered with no")
        if self.answers[Answer.EITHER] > self.questions * NOT_JUDGED:
            faults.append(f"{self.answers[Answer.EITHER]} of {self.questions} questions were not judged")
        return faults

    def words(self, shown: int = _SHOWN) -> str:
        """Return the numbers, and some of the wrong answers in the shortest stories that show them."""
        answers = ", ".join(f"{number} {answer}" for answer, number in self.answers.most_common())
        lines = [f"{self.language}: {self.questions} questions: {answers}; {len(self.wrong)} wrong"]
        lines += [f"  not judged: {number} {cause}" for cause, number in self.causes.most_common(5)]
        lines += [f"seed {seed}: {report(shrunk(each, _TRIES))}" for seed, each in self.wrong[:shown]]
        return "\n".join(lines)


def ask(language: str, questions: int, *, first: int = 0, processes: int | None = None) -> Asked:
    """Ask at least so many questions in a language, with the seeds from ``first`` on."""
    asked, seeds = Asked(language), count(first)
    with ProcessPoolExecutor(processes or os.cpu_count()) as pool:
        while asked.questions < questions:
            some = list(islice(seeds, _AT_ONCE))
            for seed, tally in zip(some, pool.map(judged_seed, some, [language] * len(some)), strict=True):
                asked.add(seed, tally)
    return asked


def ask_seeds(language: str, seeds: Iterable[int]) -> Asked:
    """Ask the questions of some seeds in this process."""
    asked = Asked(language)
    for seed in seeds:
        asked.add(seed, judged_seed(seed, language))
    return asked


def _all(questions: int, first: int) -> Iterator[Asked]:
    for language in LANGUAGES:
        yield ask(language, -(-questions // len(LANGUAGES)), first=first)


def main() -> int:
    """Ask, print what was found, and return the exit code."""
    parser = ArgumentParser(prog="python -m strategies.fleets.asking", description=__doc__)
    parser.add_argument("questions", nargs="?", type=int, default=_QUESTIONS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    is_fine = True
    for asked in _all(given.questions, given.seed):
        faults = asked.faults()
        is_fine = is_fine and not faults
        sys.stdout.write("\n".join([asked.words(), *(f"  wrong: {each}" for each in faults), ""]))
        sys.stdout.flush()
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
