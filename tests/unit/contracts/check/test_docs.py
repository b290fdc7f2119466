"""The pages that people read say what the code says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from counterfoil.contracts.advice import FILE_RULE_BY_ID
from counterfoil.contracts.baselines.git import HISTORY_LIMIT
from counterfoil.contracts.cli.check import check
from counterfoil.contracts.findings import Status
from counterfoil.contracts.project.languages import TYPE_BY_SUFFIX
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.exit_codes import ExitCode

DOCS = Path(__file__).resolve().parents[4] / "docs"


def test_the_page_of_exit_codes_is_the_table():
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", (DOCS / "exit-codes.md").read_text(), flags=re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in rows] == [(code.value, code.meaning) for code in ExitCode]


def test_the_pages_of_the_check_name_every_rule_status_level_and_option():
    page = "".join((DOCS / f"check{part}.md").read_text() for part in ("", "-consumers", "-reference"))
    options = [name for parameter in check.params for name in parameter.opts if name.startswith("--")]
    for word in (*FILE_RULE_BY_ID, *Status, *CompatibilityLevel, *CompatibilityPolicy, *TYPE_BY_SUFFIX, *options):
        assert f"`{word}" in page, word
    assert f"{HISTORY_LIMIT} commits" in " ".join(page.split())


@pytest.mark.parametrize(("option", "values"), [("level", CompatibilityLevel), ("policy", CompatibilityPolicy)])
def test_the_options_offer_every_level_and_policy(option, values):
    parameters: list[Any] = check.params
    offered = next(parameter.type.choices for parameter in parameters if parameter.name == option)
    assert list(offered) == [value.value for value in values]
