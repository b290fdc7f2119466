"""The matrix, ``can-i-retire`` and ``can-i-merge`` on generated fleets: decoded records demand the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from strategies.fleets.languages import LANGUAGES
from strategies.fleets.standing import Asked, ask_merges, ask_standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SEEDS, MANY = range(3), range(1000, 1200)


def faults(ask: Callable[[int, str], Asked], language: str, seeds: Iterable[int]) -> list[str]:
    """Ask the questions of some seeds, and return what was wrong."""
    asked = [(seed, ask(seed, language)) for seed in seeds]
    assert any(each.answers for _, each in asked)
    return [f"seed {seed}: {one}" for seed, each in asked for one in each.wrong]


@pytest.mark.slow
@pytest.mark.parametrize("ask", [ask_standing, ask_merges])
@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_about_what_stands_are_those_of_decoded_records(ask: Callable[..., Asked], language: str) -> None:
    assert not (found := faults(ask, language, SEEDS)), "\n\n".join(found)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("ask", [ask_standing, ask_merges])
@pytest.mark.parametrize("language", LANGUAGES)
def test_many_answers_about_what_stands_are_those_of_decoded_records(ask: Callable[..., Asked], language: str) -> None:
    assert not (found := faults(ask, language, MANY)), "\n\n".join(found)
