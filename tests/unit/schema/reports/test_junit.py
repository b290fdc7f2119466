"""The JUnit writer: what Jenkins' published XML schema accepts, and what the build server shows."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.reports.forms import Case, CaseOutcome, Suite, junit_xml
from strategies.contracts import published_reports

_TEXT = st.text(max_size=20)
_CASES = st.builds(
    Case,
    name=_TEXT,
    group=_TEXT,
    outcome=st.sampled_from(CaseOutcome),
    kind=_TEXT,
    message=_TEXT,
    details=_TEXT,
    output=_TEXT,
    seconds=st.floats(0, 5000),
)


@pytest.mark.slow
@given(st.lists(st.builds(Suite, name=_TEXT, cases=st.lists(_CASES, max_size=3).map(tuple)), max_size=3))
def test_any_results_are_valid(suites: list[Suite]) -> None:
    published_reports.junit().validate(junit_xml(suites))


def test_counts_and_elements() -> None:
    cases = (
        Case("orders-value", "schemas", seconds=0.25, output="a warning"),
        Case("rides-value", "schemas", CaseOutcome.BROKEN, "type-mismatch", "a < b", "the whole text"),
        Case("fares-value", "schemas", CaseOutcome.NOT_RUN, message="cannot read it"),
    )
    suite = ET.fromstring(junit_xml([Suite("check", cases, (("against", "main@1"),))])).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
        "time": "0.250",
    }
    failure = suite.find("testcase[@name='rides-value']/failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message"), failure.text) == ("type-mismatch", "a < b", "the whole text")
    assert suite.findtext("testcase[@name='orders-value']/system-out") == "a warning"
    assert suite.find("testcase[@name='fares-value']/error") is not None
    assert suite.find("properties/property[@name='against']") is not None


def test_characters_that_xml_cannot_express_are_escapes() -> None:
    document = junit_xml([Suite("s", (Case("a\x00b\ud800", "g"),))])
    case = ET.fromstring(document).find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "a\\x00b\\ud800"
