"""The words of options are those of the enums that they stand for, which help pages do not import."""

from __future__ import annotations

import click
import pytest

from counterfoil.contracts.check.file import GeneratedCode
from counterfoil.contracts.cli.check import check
from counterfoil.contracts.cli.diff import diff
from counterfoil.contracts.findings import CheckGate, FailOn
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy

WORDS = {
    "level": [str(each) for each in CompatibilityLevel],
    "policy": [str(each) for each in CompatibilityPolicy],
    "gate": [each.value for each in CheckGate],
    "generated_code": [each.value for each in GeneratedCode],
    "fail_on": [each.value for each in FailOn],
}


def choices(command: click.Command) -> dict[str, list[str]]:
    return {each.name: list(each.type.choices) for each in command.params if isinstance(each.type, click.Choice)}


@pytest.mark.parametrize("name", WORDS)
def test_an_option_of_check_has_the_words_of_its_enum(name: str):
    assert choices(check)[name] == WORDS[name]


def test_the_options_of_diff_have_the_words_of_their_enums():
    assert choices(diff) == {name: WORDS[name] for name in ("level", "policy")}
