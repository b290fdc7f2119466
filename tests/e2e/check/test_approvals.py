"""Approved findings: they do not fail the check until their last day, and stale approvals are noticed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from counterfoil.contracts.project.documents import read_approvals
from counterfoil.contracts.project.files import APPROVALS_FILE_NAME

UNTIL = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
APPROVAL = ("--reason", "the topic is empty: see #12", "--owner", "ana", "--until", UNTIL, "--local")


@pytest.fixture
def broken(workshop, order):
    """A repository with one break against its last commit."""
    workshop.write("order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.write("order.avsc", order(id="string", total="int"))
    return workshop


@pytest.fixture
def fingerprint(counterfoil, broken):
    """The fingerprint of the break."""
    return counterfoil("check", "--format", "json", folder=broken.folder).report["findings"][0]["fingerprint"]


def test_an_approved_break_passes_and_is_shown(counterfoil, broken, fingerprint):
    migration = broken.write("converters/order.yaml", "from: 1\n")
    options = (*APPROVAL, "--migration", migration.relative_to(broken.folder))
    assert counterfoil("approve", fingerprint, *options, folder=broken.folder).code == 0
    (record,) = read_approvals((broken.folder / APPROVALS_FILE_NAME).read_text())
    assert (record.rule, record.subject, record.path) == ("type-mismatch", "shop.Order", "order.avsc")
    result = counterfoil("check", folder=broken.folder)
    assert result.code == 0
    said = f"approved by ana until {UNTIL}, with the converter converters/order.yaml: the topic is empty: see #12"
    assert said in result.out
    assert result.out.splitlines()[-1].startswith("0 errors, 0 warnings, 1 approved; 1 schema checked")
    report = counterfoil("check", "--format", "json", folder=broken.folder).report
    assert report["findings"][0]["approval"] == {
        "reason": "the topic is empty: see #12",
        "owner": "ana",
        "until": UNTIL,
        "migration": "converters/order.yaml",
    }
    assert (report["summary"]["errors"], report["summary"]["approved"]) == (0, 1)
    listed = counterfoil("approve", "--list", folder=broken.folder).out
    assert listed.startswith(f"{fingerprint}  until {UNTIL}  ana  the topic is empty")


def test_a_revoked_approval_fails_again(counterfoil, broken, fingerprint):
    assert counterfoil("approve", fingerprint, *APPROVAL, folder=broken.folder).code == 0
    assert counterfoil("approve", fingerprint, "--revoke", "--local", folder=broken.folder).code == 0
    assert counterfoil("check", folder=broken.folder).code == 1
    assert counterfoil("approve", fingerprint, "--revoke", "--local", folder=broken.folder).code == 4


def test_an_expired_approval_fails_again_and_says_so(counterfoil, broken, fingerprint):
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date()
    entry = f"{{fingerprint: {fingerprint}, reason: r, owner: ana, until: {yesterday}}}"
    broken.write(APPROVALS_FILE_NAME, f"approvals:\n  - {entry}\n")
    result = counterfoil("check", "--format", "json", folder=broken.folder)
    assert (result.code, sorted(result.rules)) == (1, ["approval-stale", "type-mismatch"])
    stale = next(one for one in result.report["findings"] if one["rule"] == "approval-stale")
    assert (stale["path"], stale["line"], stale["severity"]) == (APPROVALS_FILE_NAME, 2, "warning")
    assert f"expired on {yesterday}; today is {datetime.now(UTC).date()} in UTC" in stale["text"]


def test_an_approval_without_a_finding_is_a_warning_of_whole_checks(counterfoil, broken):
    broken.write(
        APPROVALS_FILE_NAME, f"approvals:\n  - {{fingerprint: '0123456789ab', reason: r, owner: o, until: {UNTIL}}}\n"
    )
    assert "approval-stale" in counterfoil("check", "--format", "json", folder=broken.folder).rules
    part = counterfoil("check", "order.avsc", "--format", "json", folder=broken.folder)
    assert "approval-stale" not in part.rules


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("000000000000", *APPROVAL), 4),
        (("--reason", "r"), 2),
        (("000000000000", "--local"), 2),
        (("000000000000", *APPROVAL[:-1]), 2),
        (("000000000000", "--reason", "r", "--owner", "o", "--until", "soon", "--local"), 2),
        (("000000000000", "--reason", "r", "--owner", "o", "--until", "2001-01-01", "--local"), 2),
        (("000000000000", *APPROVAL, "--migration", "nowhere.yaml"), 14),
    ],
)
def test_mistakes(counterfoil, broken, arguments, code):
    result = counterfoil("approve", *arguments, folder=broken.folder)
    assert result.code == code
    assert result.err.startswith("counterfoil: ")
    assert not (broken.folder / APPROVALS_FILE_NAME).exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "approvals: [{fingerprint: xyz, reason: r, owner: o, until: 2027-01-01}]",
            f"{APPROVALS_FILE_NAME}:1:27: fingerprint",
        ),
        ("approvals:\n  - {fingerprnt: a}", "did you mean fingerprint?"),
        ("aprovals: []", "did you mean approvals?"),
        ("<<<<<<< HEAD\napprovals: []", "not YAML"),
    ],
)
def test_a_wrong_file_is_named_with_its_place(counterfoil, broken, text, said):
    broken.write(APPROVALS_FILE_NAME, text)
    result = counterfoil("check", folder=broken.folder)
    assert (result.code, said in result.err) == (14, True), result.err


def test_reports_suppress_what_is_approved(counterfoil, broken, fingerprint):
    counterfoil("approve", fingerprint, *APPROVAL, folder=broken.folder)
    outputs = [f"--format={form}=report.{form}" for form in ("sarif", "junit", "gitlab", "github", "markdown", "html")]
    assert counterfoil("check", *outputs, folder=broken.folder).code == 0
    sarif = json.loads((broken.folder / "report.sarif").read_text())
    assert sarif["runs"][0]["results"][0]["suppressions"][0]["status"] == "accepted"
    assert "<failure" not in (broken.folder / "report.junit").read_text()
