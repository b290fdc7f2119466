"""The forms of a report: JUnit, SARIF, GitHub's commands, GitLab's Code Quality, Markdown.

A report as a web page is in :mod:`counterfoil.pages.files`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from counterfoil.schema.datum import JsonObject
from counterfoil.schema.reports import PROGRAM, PROJECT, Report, ReportEntry, Severity

# The forms of a report, each with its writer, which is imported when it is needed.


class ReportForm(StrEnum):
    """The forms of texts that any report can be printed in."""

    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    MARKDOWN = "markdown"


def print_report(form: ReportForm, report: Report) -> str:
    """Return the report in a form."""
    match form:
        case ReportForm.JUNIT:
            return junit_report(report)
        case ReportForm.SARIF:
            return sarif_report(report)
        case ReportForm.GITHUB:
            return github_report(report)
        case ReportForm.GITLAB:
            return gitlab_report(report)
        case ReportForm.MARKDOWN:
            return markdown_report(report)


# A report as GitHub's workflow commands, which a pull request shows as annotations.
#
# Source: GitHub's "Workflow commands for GitHub Actions". A step shows at most ten annotations of a kind.

SHOWN: Final = 10
"""How many annotations of a severity are shown in a step."""
_IN_DATA: Final = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_IN_PROPERTIES: Final = {**_IN_DATA, ord(":"): "%3A", ord(","): "%2C"}


def github_report(report: Report) -> str:
    """Return a command for each finding that is not approved, ten of a severity, then the summary."""
    lines = []
    for severity in Severity:
        found = [entry for entry in report.open if entry.severity is severity]
        lines += [_command(entry) for entry in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"{len(found) - SHOWN} more of severity {severity} are in the summary of the job")
    lines.append(report.summary)
    return "".join(f"{line}\n" for line in lines)


def _command(entry: ReportEntry) -> str:
    facts = {"file": entry.path} if entry.path else {}
    if entry.position is not None:
        facts |= {"line": str(entry.position.line), "col": str(entry.position.column)}
    facts["title"] = f"{entry.rule} [{entry.fingerprint}]"
    properties = ",".join(f"{name}={value.translate(_IN_PROPERTIES)}" for name, value in facts.items())
    advice = (f"fix: {entry.advice}",) if entry.advice else ()
    said = "\n".join((f"{entry.subject}: {entry.text}" if entry.subject else entry.text, *entry.details, *advice))
    return f"::{entry.severity} {properties}::{said.translate(_IN_DATA)}"


# A report as GitLab's Code Quality JSON, which merge requests show at the changed lines.
#
# Source: GitLab's documentation of Code Quality, "Report format".

_SEVERITY: Final = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTICE: "info"}


def gitlab_report(report: Report) -> str:
    """Return the findings as indented JSON, with a line end at its end; an approved finding is of severity ``info``."""
    found = [_entry(entry) for entry in report.entries if entry.path]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _entry(entry: ReportEntry) -> JsonObject:
    approved = f" ({entry.approval})" if entry.approval else ""
    return {
        "description": f"{entry.subject}: {entry.text}{approved}" if entry.subject else f"{entry.text}{approved}",
        "check_name": entry.rule,
        "fingerprint": entry.fingerprint,
        "severity": "info" if entry.approval else _SEVERITY[entry.severity],
        "location": {"path": entry.path, "lines": {"begin": entry.position.line if entry.position else 1}},
    }


# Results as JUnit XML, in the dialect of Jenkins and Surefire.
#
# A check that found the contract broken is a ``failure``; one that could not run is an ``error``. Warnings are
# ``system-out`` of a case that passed: a skipped case would hide that the check ran.

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 cannot express, not even as a character reference (section 2.2)."""


class CaseOutcome(Enum):
    """The result of a case. The value is the element that reports it; a case that passed has none."""

    PASSED = ""
    BROKEN = "failure"
    NOT_RUN = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """One check: its ``name``, the ``group`` (class) that it is listed under, and its outcome.

    ``kind`` is a word for the reason, such as a rule's id, ``message`` its sentence and ``details`` the whole text, of
    an outcome that is not ``PASSED``. ``output`` is other text for readers, such as warnings.
    """

    name: str
    group: str
    outcome: CaseOutcome = CaseOutcome.PASSED
    kind: str = ""
    message: str = ""
    details: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of one run of one command, and facts about the run, such as the baseline."""

    name: str
    cases: tuple[Case, ...]
    properties: tuple[tuple[str, str], ...] = ()


def junit_xml(suites: Sequence[Suite]) -> str:
    """Return the suites as an XML document, with a line end at its end."""
    root = ET.Element("testsuites", _counts([case for suite in suites for case in suite.cases]))
    for suite in suites:
        root.append(_suite_element(suite))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite_element(suite: Suite) -> ET.Element:
    skipped = sum(case.outcome is CaseOutcome.SKIPPED for case in suite.cases)
    element = ET.Element("testsuite", {"name": _xml_text(suite.name), **_counts(suite.cases), "skipped": str(skipped)})
    if suite.properties:
        holder = ET.SubElement(element, "properties")
        for name, value in suite.properties:
            ET.SubElement(holder, "property", {"name": _xml_text(name), "value": _xml_text(value)})
    for case in suite.cases:
        element.append(_case_element(case))
    return element


def _case_element(case: Case) -> ET.Element:
    facts = {"name": _xml_text(case.name), "classname": _xml_text(case.group), "time": f"{case.seconds:.3f}"}
    element = ET.Element("testcase", facts)
    if case.outcome is not CaseOutcome.PASSED:
        facts = {"message": _xml_text(case.message), "type": _xml_text(case.kind)}
        ET.SubElement(element, case.outcome.value, facts).text = _xml_text(case.details)
    if case.output:
        ET.SubElement(element, "system-out").text = _xml_text(case.output)
    return element


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    """Return the attributes that count the cases and add up their times."""
    return {
        "tests": str(len(cases)),
        "failures": str(sum(case.outcome is CaseOutcome.BROKEN for case in cases)),
        "errors": str(sum(case.outcome is CaseOutcome.NOT_RUN for case in cases)),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _xml_text(text: str) -> str:
    """Return the text with the characters that XML cannot express as escapes."""
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


# A report as a JUnit suite: one case for everything that was checked, and one for each file of a finding besides.


def junit_report(report: Report) -> str:
    """Return the report as JUnit XML; findings that make the command fail are failures, other ones output."""
    found: dict[tuple[str, str], list[ReportEntry]] = {(one.subject, one.path): [] for one in report.checked}
    for entry in report.entries:
        found.setdefault((entry.subject, entry.path), []).append(entry)
    skipped = {(one.subject, one.path): one.result for one in report.checked if one.is_skipped}
    name = f"{PROGRAM} {report.command}"
    cases = [_case_of_entries(name, key, entries, skipped.get(key, "")) for key, entries in found.items()]
    facts = {"version": report.version, "against": report.against, "summary": report.summary, "note": report.note}
    properties = tuple((key, value) for key, value in facts.items() if value)
    return junit_xml([Suite(name, tuple(cases), properties)])


def _case_of_entries(group: str, key: tuple[str, str], entries: Sequence[ReportEntry], skipped: str) -> Case:
    subject, path = key
    name = f"{subject} ({path})" if path not in {"", subject} else subject
    failed = [entry for entry in entries if entry.is_failing]
    others = "\n\n".join(_entry_text(entry) for entry in entries if not entry.is_failing)
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        details = "\n\n".join(map(_entry_text, failed))
        return Case(name, group, CaseOutcome.BROKEN, first.rule, f"{first.text}{more}", details, others)
    if skipped:
        return Case(name, group, CaseOutcome.NOT_RUN, "not-judged", skipped, skipped, others)
    return Case(name, group, output=others)


def _entry_text(entry: ReportEntry) -> str:
    head = f"{entry.place}: {entry.severity} {entry.rule}: {entry.text} [{entry.fingerprint}]"
    advice = (f"fix: {entry.advice}",) if entry.advice else ()
    approved = (str(entry.approval),) if entry.approval else ()
    return "\n".join((head, *entry.details, *advice, *approved))


# A report as Markdown: a comment on a pull request, or the summary of a job.

MARKER: Final = "<!-- counterfoil {command} -->"
"""The first line, by which a job finds its earlier comment and replaces it."""
MAX_CHARACTERS: Final = 60_000
"""GitHub refuses comments of more than 65,536 characters."""
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$])")
_SIGN: Final = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTICE: "ℹ️"}  # noqa: RUF001 (signs of severities)


def markdown_report(report: Report) -> str:
    """Return the report as Markdown; findings that do not fit into a comment are counted in its last line."""
    head = [MARKER.format(command=report.command), f"### {plain(report.title)}", "", plain(report.summary), ""]
    if report.note:
        head += [f"> {plain(report.note)}", ""]
    blocks = ["\n".join(_block(report, entry)) for entry in report.open]
    if approved := "\n".join(_approved(report)):
        blocks.append(approved)
    lines, length = ["\n".join(head)], 0
    for index, block in enumerate(blocks):
        length += len(block)
        if length > MAX_CHARACTERS:
            lines.append(f"{len(blocks) - index} more are not shown.")
            break
        lines.append(block)
    return "\n".join(lines).rstrip() + "\n"


def _block(report: Report, entry: ReportEntry) -> Iterator[str]:
    rule = report.rules.get(entry.rule)
    name = f"[{entry.rule}]({rule.page})" if rule and rule.page else entry.rule
    where = f" {code(entry.place)}" if entry.place else ""
    about = f" {plain(entry.subject)}" if entry.subject not in {"", entry.path} else ""
    yield f"#### {_SIGN[entry.severity]} {entry.severity} {name}{about}{where}"
    yield ""
    yield f"{plain(entry.text)} {code(entry.fingerprint)}"
    if entry.details or entry.advice:
        yield ""
    yield from (f"- {plain(line)}" for line in entry.details)
    if entry.advice:
        yield f"- **Fix:** {plain(entry.advice)}"
    yield ""


def _approved(report: Report) -> Iterator[str]:
    if not report.approved:
        return
    yield f"<details><summary>{len(report.approved)} approved</summary>"
    yield ""
    for entry, approval in report.approved:
        yield f"- {code(entry.place)} {entry.rule}: {plain(entry.text)} {code(entry.fingerprint)}: {plain(approval)}"
    yield ""
    yield "</details>"


def plain(text: object) -> str:
    """Return a text whose characters mean themselves, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def code(text: str) -> str:
    """Return the text as code, also where it has backticks or line ends; a bar does not end a table's cell."""
    text = " ".join(text.split()).replace("|", r"\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


# A report as SARIF 2.1.0, which code scanning services read.
#
# Source: OASIS SARIF 2.1.0. A fingerprint is the same wherever its finding moves, so that a service recognises it.

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL_BY_SEVERITY: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_FORMER_FINGERPRINT: Final = "contractFinding/v1"
"""That of releases up to 0.2.0, so that a service recognises what it knows from them."""
_FINGERPRINT: Final = "contractFinding/v2"
_ROOT: Final = "SRCROOT"


def sarif_report(report: Report) -> str:
    """Return the report as indented JSON, with a line end at its end."""
    ids = list(dict.fromkeys(entry.rule for entry in report.entries))
    driver = {
        "name": PROGRAM,
        "version": report.version,
        "informationUri": PROJECT,
        "rules": [_rule(report, name) for name in ids],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{PROGRAM}-{report.command}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The top of the repository."}}},
        "invocations": [{"executionSuccessful": True, "exitCode": int(report.exit_code)}],
        "results": [_result(entry, ids.index(entry.rule)) for entry in report.entries],
        "properties": {"against": report.against, "summary": report.summary},
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(report: Report, name: str) -> JsonObject:
    rule = report.rules.get(name)
    found: JsonObject = {"id": name}
    if rule is not None:
        found["shortDescription"] = {"text": rule.why or name}
        if rule.page:
            found["helpUri"] = rule.page
            found["help"] = {"text": f"{rule.why} {rule.page}"}
    return found


def _result(entry: ReportEntry, rule_index: int) -> JsonObject:
    advice = [f"Fix: {entry.advice}"] if entry.advice else []
    found: JsonObject = {
        "ruleId": entry.rule,
        "ruleIndex": rule_index,
        "level": _LEVEL_BY_SEVERITY[entry.severity],
        "message": {"text": "\n".join((f"{_about(entry)}{entry.text}", *entry.details, *advice))},
        "partialFingerprints": {
            _FORMER_FINGERPRINT: next(iter(entry.former_fingerprints), entry.fingerprint),
            _FINGERPRINT: entry.fingerprint,
        },
    }
    if entry.path:
        found["locations"] = [{"physicalLocation": _location(entry)}]
    if entry.approval is not None:
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": f"{entry.approval}"},
        ]
    return found


def _about(entry: ReportEntry) -> str:
    return f"{entry.subject}: " if entry.subject not in {"", entry.path} else ""


def _location(entry: ReportEntry) -> JsonObject:
    location: JsonObject = {"artifactLocation": {"uri": quote(entry.path), "uriBaseId": _ROOT}}
    position = entry.position
    region = {"startLine": position.line, "startColumn": position.column} if position else {"startLine": 1}
    return {**location, "region": region}
