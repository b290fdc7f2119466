"""Results as JUnit XML, in the dialect of Jenkins and Surefire.

A check that found the contract broken is a ``failure``; one that could not run is an ``error``. Warnings are
``system-out`` of a case that passed: a skipped case would hide that the check ran.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 cannot express, not even as a character reference (section 2.2)."""


class Outcome(Enum):
    """The result of a case. The value is the element that reports it; a case that passed has none."""

    PASSED = ""
    BROKEN = "failure"
    NOT_RUN = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """One check: its ``name``, the ``group`` (class) that it is listed under, and its outcome.

    ``kind`` is a word for the reason, such as a rule's id, ``message`` its sentence and ``details`` the whole text, of
    an outcome that is not ``PASSED``. ``output`` is what else is to be read, such as warnings.
    """

    name: str
    group: str
    outcome: Outcome = Outcome.PASSED
    kind: str = ""
    message: str = ""
    details: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of one run of one command, and facts about the run, such as what was compared with."""

    name: str
    cases: tuple[Case, ...]
    properties: tuple[tuple[str, str], ...] = ()


def junit_xml(suites: Sequence[Suite]) -> str:
    """Return the suites as an XML document, with a line end at its end."""
    root = ET.Element("testsuites", _counts([case for suite in suites for case in suite.cases]))
    for suite in suites:
        root.append(_suite(suite))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(suite: Suite) -> ET.Element:
    skipped = sum(case.outcome is Outcome.SKIPPED for case in suite.cases)
    element = ET.Element("testsuite", {"name": _text(suite.name), **_counts(suite.cases), "skipped": str(skipped)})
    if suite.properties:
        holder = ET.SubElement(element, "properties")
        for name, value in suite.properties:
            ET.SubElement(holder, "property", {"name": _text(name), "value": _text(value)})
    for case in suite.cases:
        element.append(_case(case))
    return element


def _case(case: Case) -> ET.Element:
    facts = {"name": _text(case.name), "classname": _text(case.group), "time": f"{case.seconds:.3f}"}
    element = ET.Element("testcase", facts)
    if case.outcome is not Outcome.PASSED:
        facts = {"message": _text(case.message), "type": _text(case.kind)}
        ET.SubElement(element, case.outcome.value, facts).text = _text(case.details)
    if case.output:
        ET.SubElement(element, "system-out").text = _text(case.output)
    return element


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    """Return the attributes that count the cases and add up their times."""
    return {
        "tests": str(len(cases)),
        "failures": str(sum(case.outcome is Outcome.BROKEN for case in cases)),
        "errors": str(sum(case.outcome is Outcome.NOT_RUN for case in cases)),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _text(text: str) -> str:
    """Return the text with the characters that XML cannot express as escapes."""
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
