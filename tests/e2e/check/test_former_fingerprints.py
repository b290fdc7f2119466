"""Approvals that release 0.2.0 stored go on to count: the files and fingerprints here were made with that release."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

SCENARIOS = json.loads((Path(__file__).parents[2] / "data" / "fingerprints" / "checks-0.2.0.json").read_text())
UNTIL = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()


def written(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def accepting(findings: list[dict[str, Any]]) -> str:
    """Return a project file that accepts findings by their fingerprints of then."""
    entries = [
        f"  - {{fingerprint: '{each}', owner: ana, reason: agreed, until: {UNTIL}}}\n"
        for each in sorted({each["fingerprint"] for each in findings})
    ]
    return f"accepted:\n{''.join(entries)}" if entries else ""


@pytest.fixture
def check(counterfoil, tmp_path):
    """A function that checks the files of a scenario, with findings accepted, and returns the findings."""

    def run(scenario: dict[str, Any], accepted: list[dict[str, Any]]) -> list[dict[str, Any]]:
        before = written(tmp_path / "before", scenario["before"])
        files = {**scenario["before"], **scenario["changed"]}
        after = written(tmp_path / "after", {path: text for path, text in files.items() if text is not None})
        if accepted:
            (after / "counterfoil.yaml").write_text(accepting(accepted))
        options = ("--against", before, "--consumers", "consumers", "--level", "NONE", "--offline", "--format", "json")
        return counterfoil("check", *options, ".", folder=after).report["findings"]

    return run


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each["name"] for each in SCENARIOS])
def test_what_was_accepted_is_accepted(check, scenario):
    findings = check(scenario, scenario["check"])
    assert [each["rule"] for each in findings if each["rule"] == "approval-stale"] == []
    left = [each for each in findings if each["approval"] is None and each["severity"] == "error"]
    assert left == []
    approved = {(each["rule"], each["path"], each["element"]) for each in findings if each["approval"] is not None}
    assert approved == {(each["rule"], each["path"], each["element"]) for each in scenario["check"]}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each["name"] for each in SCENARIOS])
def test_what_is_accepted_by_the_fingerprints_of_today_is_accepted(check, scenario):
    findings = check(scenario, [])
    assert len({each["fingerprint"] for each in findings}) == len(findings)
    findings = check(scenario, findings)
    assert [each for each in findings if each["approval"] is None] == []
