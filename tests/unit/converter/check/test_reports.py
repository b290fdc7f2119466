"""The reports of ``bridge check`` and ``bridge verify``: text, JSON, and JUnit XML for build servers."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from counterfoil.converter.check.command import BridgeCheckReport
from counterfoil.converter.check.preflight import PreflightCheck, PreflightFinding, PreflightSeverity
from counterfoil.converter.check.sampling import TrialReport
from counterfoil.converter.check.throughput import Throughput
from counterfoil.converter.errors import BrokerUnreachable, PlanIncomplete
from counterfoil.converter.outputs import failures_as_cases, give, parse_forms
from counterfoil.converter.verify.verdict import PartitionVerdict, VerifyReport
from counterfoil.schema.exit_codes import ExitCode
from strategies.contracts import published_reports

if TYPE_CHECKING:
    from pathlib import Path


def cases_of(path: Path) -> dict[str, str]:
    """The test cases of a valid report, each with the element of its outcome, or "" if it passed."""
    published_reports.junit().validate(path)
    found = {}
    for case in ET.parse(path).getroot().iter("testcase"):
        found[case.attrib["name"]] = next((each.tag for each in case if each.tag != "system-out"), "")
    return found


def written(report: BridgeCheckReport | VerifyReport, path: Path) -> dict[str, str]:
    give(
        parse_forms([f"junit={path}"], ("text", "json", "junit")),
        lines=report.lines,
        document=report.as_json,
        suite=report.suite,
    )
    return cases_of(path)


def trial() -> TrialReport:
    sizes = [(100, 120), (200, 260), (50, 55)]
    found = TrialReport("java", records=5, converted=3, tombstones=1, limit=1000, sizes=sizes)
    found.by_writer_id[7] = 4
    found.failures["lookup-missing", "fare"] = 1
    found.examples["lookup-missing", "fare"] = "partition 0 offset 3: no entry"
    return found


def checked(
    *findings: PreflightFinding, trial: TrialReport | None = None, throughput: Throughput | None = None
) -> BridgeCheckReport:
    return BridgeCheckReport("rides", ["from a", "to b"], "engine java, as requested", findings, trial, throughput)


def test_a_good_check_is_one_passed_case_for_each_check(tmp_path: Path) -> None:
    warning = PreflightFinding(PreflightSeverity.WARNING, PreflightCheck.SIZES, "out accepts less\x00")
    report = checked(warning, trial=trial(), throughput=Throughput(50_000.0, 100_000, 2.0, 2, 6_000_000))
    cases = written(report, tmp_path / "report.xml")
    assert report.exit_code is ExitCode.OK
    assert set(cases) == {"plan", *PreflightCheck, "records are converted", "engines agree"}
    assert set(cases.values()) == {""}
    assert "out accepts less" in (tmp_path / "report.xml").read_text()
    rate = "about 50,000 records/s in 2 tasks, without reading and writing Kafka"
    assert f"{rate}; 6,000,000 in the source: at least 2 min 0 s" in report.lines()
    document = json.loads(json.dumps(report.as_json()))
    assert (document["throughput"]["eta_s"], document["throughput"]["records_per_s"]) == (120.0, 50_000.0)
    assert document["trial"]["by_writer_id"] == {"7": 4}
    assert document["trial"]["failures"][0]["count"] == 1
    assert document["findings"] == [{"severity": "warning", "check": "sizes", "text": "out accepts less\x00"}]


def test_sizes_are_those_of_the_converted_values() -> None:
    assert trial().as_json()["sizes"] == {
        "source_median": 100,
        "source_max": 200,
        "converted_median": 120,
        "converted_max": 260,
        "ratio": round(435 / 350, 3),
        "limit": 1000,
    }
    assert (
        "bytes of a value: 100 (median) to 200 (largest) on the source, 120 to 260 converted; the target takes 1,000"
        in trial().lines()
    )
    assert TrialReport("java", records=1, tombstones=1).as_json()["sizes"] is None


def test_what_breaks_is_a_failure_and_what_could_not_run_an_error(tmp_path: Path) -> None:
    refused = PreflightFinding(
        PreflightSeverity.ERROR,
        PreflightCheck.RIGHTS,
        "the broker refuses to write to topic out: the right WRITE is missing",
    )
    report = checked(refused)
    cases = written(report, tmp_path / "report.xml")
    assert report.exit_code is ExitCode.BROKEN
    assert {name: outcome for name, outcome in cases.items() if outcome} == {
        "rights": "failure",
        "records are converted": "error",
        "engines agree": "error",
    }
    differing = trial()
    differing.disagreements.append("partition 0 offset 4: other bytes instead of the reference value")
    assert written(checked(trial=differing), tmp_path / "report.xml")["engines agree"] == "failure"
    assert checked(trial=TrialReport("java")).exit_code is ExitCode.CANNOT_SAY


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(BrokerUnreachable("b:1", reason="away"), "error"), (PlanIncomplete("b", ["fare: no source"]), "failure")],
)
def test_an_error_that_ends_the_command_is_in_the_report_for_build_servers(
    error: Exception, outcome: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.xml"
    forms = parse_forms([f"junit={path}", "text"], ("text", "json", "junit"))
    with pytest.raises(type(error)), failures_as_cases(forms, "bridge check b"):
        raise error
    assert cases_of(path) == {"run": outcome}
    assert str(error) in path.read_text()


def verified(*partitions: PartitionVerdict) -> VerifyReport:
    return VerifyReport("rides", "a", "b", "dead", list(partitions), 0, 0, dict(Counter()))


def test_a_verification_is_one_case_for_each_kind_of_fault(tmp_path: Path) -> None:
    good = PartitionVerdict(0, 0, 10, records=10, converted=10)
    assert set(written(verified(good), tmp_path / "good.xml").values()) == {""}
    bad = PartitionVerdict(1, 0, 10, records=10, converted=9)
    bad.fault("missing", "7")
    cases = written(verified(good, bad), tmp_path / "bad.xml")
    assert [name for name, outcome in cases.items() if outcome == "failure"] == ["no record is missing"]
    assert "partition 1: 7" in (tmp_path / "bad.xml").read_text()
    assert len(cases) == 9
    assert written(verified(PartitionVerdict(0, 0, 0)), tmp_path / "none.xml") == {"records": "error"}
