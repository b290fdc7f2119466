"""The writers of reports: each is valid by its published schema, and shows what people look for."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given

from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import CheckedSubject, Report, ReportedApproval, ReportedRule, ReportEntry, Severity
from counterfoil.schema.reports.forms import ReportForm, print_report
from counterfoil.schema.texts import Position
from strategies.contracts import published_reports
from strategies.contracts.reports import reports

_BREAK = ReportEntry(
    rule="type-mismatch",
    severity=Severity.ERROR,
    text="total: this schema expects int, the earlier one writes long",
    fingerprint="9897c729b683",
    subject="shop.Order",
    path="schemas/order.avsc",
    position=Position(7, 31),
    details=("this schema cannot read what main@8596744 wrote",),
    advice="Widen along a promotion.",
    is_failing=True,
)
_APPROVAL = ReportedApproval("the topic is empty", "ana", "2027-03-31", "converters/order.yaml")
_APPROVED = replace(_BREAK, is_failing=False, approval=_APPROVAL)
_WARNING = ReportEntry(
    "schema-removed", Severity.WARNING, "the schema was removed", "0123456789ab", "shop.Ride", "ride.avsc"
)


def _print(form: ReportForm, *entries: ReportEntry) -> str:
    report = Report(
        "check",
        "1.0",
        "1 error, 1 warning (exit 1)",
        ExitCode.BROKEN,
        against="main@8596744",
        entries=entries,
        checked=(
            CheckedSubject("shop.Order", "schemas/order.avsc", "broken"),
            CheckedSubject("shop.Fare", "fare.avsc", "unchanged"),
        ),
        rules={"type-mismatch": ReportedRule("Bytes of a long are no int.", "https://example.com/type-mismatch")},
    )
    return print_report(form, report)


@pytest.mark.slow
@given(reports())
def test_any_report_is_valid(report: Report) -> None:
    published_reports.junit().validate(print_report(ReportForm.JUNIT, report))
    published_reports.sarif().validate(json.loads(print_report(ReportForm.SARIF, report)))
    published_reports.gitlab().validate(json.loads(print_report(ReportForm.GITLAB, report)))


def test_sarif_names_rule_place_and_fingerprint() -> None:
    run = json.loads(_print(ReportForm.SARIF, _BREAK, _WARNING))["runs"][0]
    result, warning = run["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "schemas/order.avsc", "uriBaseId": "SRCROOT"}
    assert location["region"] == {"startLine": 7, "startColumn": 31}
    assert result["partialFingerprints"] == {
        "contractFinding/v1": "9897c729b683",
        "contractFinding/v2": "9897c729b683",
    }
    assert (result["level"], warning["level"]) == ("error", "warning")
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], rule["helpUri"]) == ("type-mismatch", "https://example.com/type-mismatch")
    assert "suppressions" not in result


def test_an_approved_finding_is_suppressed_and_no_failure() -> None:
    result = json.loads(_print(ReportForm.SARIF, _APPROVED))["runs"][0]["results"][0]
    (suppression,) = result["suppressions"]
    assert suppression["status"] == "accepted"
    assert "ana until 2027-03-31" in suppression["justification"]
    assert "<failure" not in _print(ReportForm.JUNIT, _APPROVED)
    assert "::error" not in _print(ReportForm.GITHUB, _APPROVED)
    assert json.loads(_print(ReportForm.GITLAB, _APPROVED))[0]["severity"] == "info"


def test_junit_has_a_case_for_everything_checked() -> None:
    text = _print(ReportForm.JUNIT, _BREAK, _WARNING)
    assert text.count("<testcase") == 3
    assert text.count("<failure") == 1
    assert "the schema was removed" in text.partition("<system-out>")[2]


def test_github_commands_are_escaped_and_limited() -> None:
    odd = ReportEntry("rule", Severity.ERROR, "100% of\nlines", "0" * 12, path="a,b:c.avsc", position=Position(2, 3))
    first = _print(ReportForm.GITHUB, odd).splitlines()[0]
    assert first == "::error file=a%2Cb%3Ac.avsc,line=2,col=3,title=rule [000000000000]::100%25 of%0Alines"
    lines = _print(ReportForm.GITHUB, *[odd] * 12, _WARNING).splitlines()
    assert sum(line.startswith("::error") for line in lines) == 10
    assert "2 more of severity error are in the summary of the job" in lines


def test_markdown_is_one_comment_whose_texts_mean_themselves() -> None:
    text = _print(
        ReportForm.MARKDOWN, ReportEntry("rule", Severity.ERROR, "<b>`x`</b> | @ana", "0" * 12, path="a`b.avsc")
    )
    assert text.startswith("<!-- counterfoil check -->\n")
    assert "<b>" not in text
    assert "`` a`b.avsc ``" in text
    many = _print(ReportForm.MARKDOWN, *[_BREAK] * 1000)
    assert len(many) < 65_536
    assert re.search(r"[0-9]+ more are not shown", many)


@pytest.mark.parametrize("form", ReportForm)
def test_every_form_shows_the_fingerprint(form: ReportForm) -> None:
    assert "9897c729b683" in _print(form, _BREAK)
