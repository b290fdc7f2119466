"""A comparison that does not end within its limits: the check says that it cannot tell."""

from __future__ import annotations

import pytest

from counterfoil.contracts.advice import FILE_RULE_BY_ID, UNDECIDED
from counterfoil.contracts.check.check import exit_code_of
from counterfoil.contracts.findings import CheckReport, FailOn, Finding
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import Severity


@pytest.mark.parametrize("is_empty_fine", [False, True])
def test_an_undecided_comparison_is_neither_yes_nor_no(*, is_empty_fine: bool):
    undecided = Finding(
        rule=UNDECIDED, severity=Severity.WARNING, subject="a", path="a.avsc", text="cannot be told", fingerprint="f"
    )
    report = CheckReport("main", findings=(undecided,))
    assert exit_code_of(report, fail_on=FailOn.ERROR, is_empty_fine=is_empty_fine) is ExitCode.CANNOT_SAY
    assert UNDECIDED in FILE_RULE_BY_ID
