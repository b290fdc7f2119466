"""The verdicts on generated fleets are those that decoded records demand; the judge knows nothing of the product."""

from __future__ import annotations

import pytest

from strategies.fleets.asking import ask, ask_seeds
from strategies.fleets.languages import LANGUAGES

SEEDS = range(4)
WERE_WRONG = {
    "AVRO": (1_200_023, 1_200_094),
    "JSON": (500_017, 500_036, 500_039, 500_207),
    "PROTOBUF": (500_199, 930_001, 940_035, 940_039),
}
"""Seeds of stories about which an answer was wrong."""
QUESTIONS = 6_700
"""In each language, so that there are 20,000 in all."""


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_verdicts_on_a_few_fleets_are_those_of_decoded_records(language: str) -> None:
    asked = ask_seeds(language, SEEDS)
    assert not asked.wrong, asked.words()


@pytest.mark.slow
@pytest.mark.parametrize("language", WERE_WRONG)
def test_the_verdicts_on_fleets_that_were_wrong_are_right(language: str) -> None:
    asked = ask_seeds(language, WERE_WRONG[language])
    assert not asked.wrong, asked.words()


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_verdicts_on_many_fleets_are_those_of_decoded_records(language: str) -> None:
    asked = ask(language, QUESTIONS, first=1000)
    assert not asked.faults(), f"{asked.faults()}\n{asked.words()}"
