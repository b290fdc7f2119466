"""The outputs of reports: ``--format text``, ``json=FILE``, ``junit=FILE``, one or several."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from counterfoil.converter.errors import BridgeError
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports.forms import Case, CaseOutcome, Suite, junit_xml
from counterfoil.sdk.commands import STANDARD_OUTPUT

WITH_JUNIT: Final = ("text", "json", "junit")
"""The forms of reports that build servers read."""


@dataclass(frozen=True, slots=True)
class OutputForm:
    """One output: ``text``, ``json`` or ``junit``, to a file or, with ``path`` None, to stdout."""

    name: str
    path: Path | None = None


def parse_forms(options: Sequence[str], names: Sequence[str] = ("text", "json")) -> tuple[OutputForm, ...]:
    """Return the outputs that ``--format`` options name; text on stdout when there are none.

    >>> parse_forms(["text", "json=report.json"])
    (OutputForm(name='text', path=None), OutputForm(name='json', path=PosixPath('report.json')))
    """
    forms = []
    for option in options or ("text",):
        name, _, path = option.partition("=")
        if name not in names:
            raise click.UsageError(f"--format must be {' or '.join(names)}, each with or without =FILE; not {option}")
        forms.append(OutputForm(name, Path(path) if path and path != STANDARD_OUTPUT else None))
    return tuple(forms)


def give(
    forms: Sequence[OutputForm],
    *,
    lines: Callable[[], Sequence[str]],
    document: Callable[[], JsonObject],
    suite: Callable[[], Suite] | None = None,
) -> None:
    """Write the report to every output: ``lines`` as text, ``document`` as JSON, ``suite`` as JUnit XML."""
    for form in forms:
        if form.name == "junit" and suite is not None:
            _write(form, junit_xml([suite()]))
        elif form.name == "text":
            _write(form, "\n".join(lines()) + "\n")
        else:
            _write(form, json.dumps(document(), indent=2, default=str) + "\n")


@contextmanager
def failures_as_cases(forms: Sequence[OutputForm], group: str) -> Iterator[None]:
    """Write an error that ends the block as a test case to the outputs in JUnit XML, and raise it again.

    A build server then shows why there is no report.
    """
    try:
        yield
    except CounterfoilError as failure:
        outcome = CaseOutcome.BROKEN if getattr(failure, "exit_code", None) is ExitCode.BROKEN else CaseOutcome.NOT_RUN
        case = Case("run", group, outcome, kind=type(failure).__name__, message=str(failure))
        for form in forms:
            if form.name == "junit":
                _write(form, junit_xml([Suite(group, (case,))]))
        raise


def _write(form: OutputForm, text: str) -> None:
    if form.path is None:
        click.echo(text, nl=False)
        return
    try:
        form.path.write_text(text, encoding="utf-8")
    except OSError as refusal:
        raise BridgeError(f"The report cannot be written to {form.path}: {refusal.strerror}") from None
