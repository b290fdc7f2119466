"""The registry's verdict on a deployment, a merge or a retirement, as text, as JSON, and as a report for any writer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click

from counterfoil.contracts.findings import fingerprint
from counterfoil.contracts.reports import COLOUR_BY_SEVERITY, TextStyle, printable
from counterfoil.schema.agreements import RULE_BY_ID
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import PROJECT, CheckedSubject, Report, ReportedRule, ReportEntry, Severity
from counterfoil.schema.rest.verdicts import DeploymentVerdict, ReasonCode, VerdictReason, verdict_document
from counterfoil.schema.texts import counted

SCHEMA_VERSION: Final = 1
_PAGE: Final = f"{PROJECT}/blob/main/docs/reference/contract-rules.md"
UNKNOWN_REASONS: Final = frozenset(
    {ReasonCode.NO_CONTRACT, ReasonCode.UNKNOWN_VERSION, ReasonCode.NOT_VERIFIED, ReasonCode.UNDECIDED}
)
"""The reasons because of which a verdict is neither yes nor no."""
_SEVERITY: Final = {
    ReasonCode.UNBACKED: Severity.WARNING,
    ReasonCode.PENDING: Severity.NOTICE,
    ReasonCode.APPROVED_BREAK: Severity.NOTICE,
}
_ADVICE: Final = {
    ReasonCode.UNKNOWN_VERSION: "Publish its contracts with counterfoil publish.",
    ReasonCode.NO_CONTRACT: "Publish the contract, and record what is live with counterfoil record.",
    ReasonCode.NOT_VERIFIED: "Run counterfoil test --publish with the contract, against the environment.",
    ReasonCode.UNDECIDED: (
        "Take alternatives, references or nested types out of the schema, so that it can be compared."
    ),
    ReasonCode.VERIFICATION_FAILED: "Change the contract or the records, and run counterfoil test --publish again.",
    ReasonCode.MIGRATION_NOT_READY: "Deploy and verify the converter first: counterfoil bridge run, bridge verify.",
    ReasonCode.STILL_READ: "Deploy versions of the consumers that no longer read it, or end their support.",
}


@dataclass(frozen=True, slots=True)
class DeploymentQuestion:
    """The question to a registry: whether ``about`` may be ``done`` in ``environment``, or on a branch.

    ``done`` is "deployed to", "merged into" or "retired in".
    """

    about: str
    done: str
    environment: str

    def answer(self, verdict: DeploymentVerdict) -> str:
        """Return the verdict in one sentence."""
        if verdict.deployable is None:
            return f"It is unknown whether {self.about} can be {self.done} {self.environment}"
        return f"{self.about} {'can' if verdict.deployable else 'cannot'} be {self.done} {self.environment}"


@dataclass(frozen=True, slots=True)
class VerdictForms:
    """The report of a verdict."""

    question: DeploymentQuestion
    verdict: DeploymentVerdict
    is_explained: bool = False

    def text(self, style: TextStyle) -> str:
        """Return the report as text; the kind of each reason has the colour of its severity."""
        return text_verdict(self.question, self.verdict, is_explained=self.is_explained, is_coloured=style.is_coloured)

    def json(self) -> str:
        """Return the report as indented JSON."""
        return json_verdict(self.question, self.verdict)

    def report(self, *, version: str) -> Report:
        """Return the report for any writer."""
        return report_of(self.question, self.verdict, version=version)


def exit_code_of(verdict: DeploymentVerdict) -> ExitCode:
    """Return OK for yes, BROKEN for no, CANNOT_SAY for unknown."""
    if verdict.deployable is None:
        return ExitCode.CANNOT_SAY
    return ExitCode.OK if verdict.deployable else ExitCode.BROKEN


def text_verdict(
    question: DeploymentQuestion, verdict: DeploymentVerdict, *, is_explained: bool, is_coloured: bool = False
) -> str:
    """Return the reasons against it, notices, and a last line with the answer.

    With ``is_explained``, also the pairs that are fine, and for each reason whom it concerns and what to do.
    """
    lines: list[str] = []
    for each in verdict.reasons:
        if is_explained or each.reason is not ReasonCode.OK:
            kind = f"{each.reason:<19}"
            painted = click.style(kind, fg=_colour_of(each)) if is_coloured else kind
            lines.append(f"{painted}  {printable(each.text)}")
            lines += [printable(f"    {detail}") for detail in _details(each)] if is_explained else []
    lines += [printable(f"{'notice':<19}  {each}") for each in verdict.notices]
    lines.append(printable(summary(question, verdict)))
    return "".join(f"{line}\n" for line in lines)


def _colour_of(reason: VerdictReason) -> str:
    return "green" if reason.reason is ReasonCode.OK else COLOUR_BY_SEVERITY[severity_of(reason)]


def summary(question: DeploymentQuestion, verdict: DeploymentVerdict) -> str:
    """Return the last line: the answer, how many reasons there are for it, and the exit code that stands for it."""
    fine = sum(each.reason is ReasonCode.OK for each in verdict.reasons)
    found = len(verdict.reasons) - fine
    counts = counted(found, "finding") if found else "no finding"
    if fine:
        counts += f", {counted(fine, 'check')} passed"
    return f"{question.answer(verdict)}: {counts} (exit {int(exit_code_of(verdict))})"


def json_verdict(question: DeploymentQuestion, verdict: DeploymentVerdict) -> str:
    """Return the verdict as indented JSON, as the registry has it, with the question."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "can-i-deploy",
        "exitCode": int(exit_code_of(verdict)),
        "subject": question.about,
        "environment": question.environment,
        **verdict_document(verdict),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def report_of(question: DeploymentQuestion, verdict: DeploymentVerdict, *, version: str) -> Report:
    """Return the report for any writer; ``version`` is that of the program."""
    found = [each for each in verdict.reasons if each.reason is not ReasonCode.OK]
    return Report(
        command="can-i-deploy",
        version=version,
        summary=summary(question, verdict),
        exit_code=exit_code_of(verdict),
        against=question.environment,
        entries=tuple(map(_entry, found)),
        checked=tuple(
            CheckedSubject(_pair(each), "", each.text, is_skipped=each.reason in UNKNOWN_REASONS)
            for each in verdict.reasons
        ),
        rules={
            each.rule: ReportedRule(RULE_BY_ID[each.rule].why, f"{_PAGE}#{each.rule}")
            for each in found
            if each.rule in RULE_BY_ID
        },
        note="; ".join(verdict.notices),
    )


def _entry(reason: VerdictReason) -> ReportEntry:
    severity, rule = severity_of(reason), rule_of(reason)
    return ReportEntry(
        rule=rule,
        severity=severity,
        text=reason.text,
        fingerprint=reason.fingerprint or fingerprint(rule, reason.contract, _pair(reason), reason.path),
        subject=_pair(reason),
        details=tuple(_facts(reason)),
        advice=advice_on(reason),
        is_failing=severity is Severity.ERROR and reason.reason not in UNKNOWN_REASONS,
    )


def rule_of(reason: VerdictReason) -> str:
    """Return the rule of a reason; without one, the reason itself in the form of a rule."""
    return reason.rule or reason.reason.lower().replace("_", "-")


def severity_of(reason: VerdictReason) -> Severity:
    """Return the severity of a reason."""
    return _SEVERITY.get(reason.reason, Severity.ERROR)


def _pair(reason: VerdictReason) -> str:
    """Return the two versions that a reason is about, or the contract."""
    producer = f"{reason.producer} {reason.producer_version}".strip()
    consumer = f"{reason.consumer} {reason.consumer_version}".strip()
    pair = " → ".join(each for each in (producer, consumer) if each)
    return pair or reason.contract or reason.reason.lower().replace("_", " ")


def _details(reason: VerdictReason) -> Iterator[str]:
    yield from _facts(reason)
    if reason.rule in RULE_BY_ID:
        yield f"why: {RULE_BY_ID[reason.rule].why}"
    if advice := advice_on(reason):
        yield f"fix: {advice}"


def advice_on(reason: VerdictReason) -> str:
    """Return the advice about a reason; empty if there is none."""
    rule = RULE_BY_ID.get(reason.rule)
    return rule.fix if rule is not None else _ADVICE.get(reason.reason, "")


def _facts(reason: VerdictReason) -> Iterator[str]:
    facts = {
        "producer": f"{reason.producer} {reason.producer_version}".strip(),
        "consumer": f"{reason.consumer} {reason.consumer_version}".strip(),
        "contract": reason.contract,
        "subject": reason.subject,
        "rule": reason.rule,
        "path": reason.path,
        "fingerprint": reason.fingerprint,
        "approval": reason.approval,
    }
    yield from (f"{name}: {value}" for name, value in facts.items() if value)
