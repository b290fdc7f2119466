"""The result of ``bridge check`` as text, as JSON, and as test cases for build servers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.converter.check.preflight import Check, Severity
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports.junit import Case, Outcome, Suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.converter.check.preflight import Finding
    from counterfoil.converter.check.sampling import TrialReport
    from counterfoil.converter.check.throughput import Throughput


@dataclass(frozen=True)
class CheckReport:
    """Everything that was found before a run.

    ``facts`` are lines about the bridge, and ``engine`` is a sentence about the engine. ``trial`` is None if the topics
    do not permit to read records, and ``throughput`` if there were none.
    """

    bridge: str
    facts: Sequence[str]
    engine: str
    findings: Sequence[Finding]
    trial: TrialReport | None
    throughput: Throughput | None

    @property
    def exit_code(self) -> ExitCode:
        """BROKEN for an error or a disagreement of engines, CANNOT_SAY when no record was tried, or OK."""
        has_errors = any(finding.severity is Severity.ERROR for finding in self.findings)
        if has_errors or (self.trial is not None and self.trial.disagreements):
            return ExitCode.BROKEN
        return ExitCode.OK if self.trial is not None and self.trial.records else ExitCode.CANNOT_SAY

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        shown = [f"bridge {self.bridge}", *self.facts, *(str(finding) for finding in self.findings)]
        if self.trial is None:
            return [*shown, "no records were tried", self.engine]
        ids = ", ".join(f"id {each}: {count:,}" for each, count in sorted(self.trial.by_writer_id.items()))
        shown += [*self.trial.lines(), *([f"records by schema id: {ids}"] if ids else []), self.engine]
        return [*shown, *([str(self.throughput)] if self.throughput is not None else [])]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "trial": None if self.trial is None else self.trial.as_json(),
            "throughput": None if self.throughput is None else self.throughput.as_json(),
            "engine": self.engine,
        }

    def suite(self) -> Suite:
        """Return one test case for each check."""
        group = check_group(self.bridge)
        cases = [Case("plan", group), *(self._finding_case(check, group) for check in Check)]
        return Suite(group, (*cases, *self._trial_cases(group)), (("engine", self.engine),))

    def _finding_case(self, check: Check, group: str) -> Case:
        errors = [each.text for each in self.findings if each.check is check and each.severity is Severity.ERROR]
        warnings = [each.text for each in self.findings if each.check is check and each.severity is Severity.WARNING]
        if not errors:
            return Case(check, group, output="\n".join(warnings))
        return Case(
            check, group, Outcome.BROKEN, kind=check, message=errors[0], details="\n".join(errors),
            output="\n".join(warnings),
        )  # fmt: skip

    def _trial_cases(self, group: str) -> Iterator[Case]:
        trial = self.trial
        if trial is None or not trial.records:
            why = "the topics cannot be read" if trial is None else "the source has no records to try"
            for name in ("records are converted", "engines agree"):
                yield Case(name, group, Outcome.NOT_RUN, kind="no-records", message=why)
            return
        yield Case("records are converted", group, output="\n".join(trial.lines()))
        if trial.disagreements:
            message = f"{trial.engine} and reference disagree about {len(trial.disagreements)} records"
            details = "\n".join(trial.disagreements)
            yield Case("engines agree", group, Outcome.BROKEN, "disagreement", message, details)
        else:
            yield Case("engines agree", group)


def check_group(bridge: str) -> str:
    """Return the name under which build servers list the checks of a bridge."""
    return f"bridge check {bridge}"
