"""The step of the action that runs the commands, and writes the outputs whatever their exit codes are.

Its own exit code is 0: the last step of the action ends with that of the commands, after comment and uploads.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import PROGRAM, verdict_of
from counterfoil.schema.reports.forms import plain
from github_action.event import add_to_summary, read_pull_request, write_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORMATS: Final = ("github", "json", "markdown", "sarif")
_FORMATS_OF_PLAN: Final = ("text", "json", "markdown")
_NO_ANSWER: Final = frozenset({ExitCode.UNREACHABLE, ExitCode.REFUSED})
_ANSWERS: Final = frozenset({ExitCode.OK, ExitCode.BROKEN})
"""The exit codes of a command that has written a report; Python itself ends with 1, too."""
_MISSING: Final = frozenset({"path-missing", "consumer-field-missing"})
"""The rules of lint and of check for a path that the schema does not have."""
_SKIPPED: Final = (
    "The verdict of the registry was skipped: this pull request is from a fork, whose workflow has no secrets, and the "
    "registry did not answer without them."
)


class Request(NamedTuple):
    """The inputs of the action, and whether the workflow has secrets."""

    command: str
    against: str
    registry: str
    arguments: tuple[str, ...]
    directory: str
    has_secrets: bool


class Step(NamedTuple):
    """One run of ``counterfoil``: the name of its reports, its arguments, and the formats of its reports.

    One that ``may_be_skipped`` is no error where the registry refuses or cannot be reached.
    """

    name: str
    arguments: tuple[str, ...]
    formats: tuple[str, ...] = _FORMATS
    may_be_skipped: bool = False


class Result(NamedTuple):
    """How a step ended: its exit code, its reports (None without one), and its section of the comment."""

    step: Step
    code: ExitCode
    report: dict[str, Any] | None
    section: str

    @property
    def hides_findings(self) -> bool:
        """Whether the step may have found errors that no report has; that of a plan has no findings."""
        return self.code is not ExitCode.OK and "findings" not in (self.report or {})


def main() -> None:
    """Run what the inputs request, and write the outputs."""
    try:
        arguments = tuple(shlex.split(os.environ["INPUT_ARGUMENTS"]))
    except ValueError as mistake:
        problem = f"The input arguments is not written as in a shell: {mistake}"
        _announced("error", problem, problem)
        write_outputs({"verdict": verdict_of(ExitCode.USAGE), "exit-code": int(ExitCode.USAGE)})
        return
    pull_request = read_pull_request()
    request = Request(
        command=os.environ["INPUT_COMMAND"],
        against=os.environ["INPUT_AGAINST"].strip("0") and os.environ["INPUT_AGAINST"],  # zeros: a new branch
        registry=os.environ["INPUT_REGISTRY"],
        arguments=arguments,
        directory=os.environ["INPUT_DIRECTORY"],
        has_secrets=pull_request is None or not pull_request.is_from_fork,
    )
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-", dir=os.environ["RUNNER_TEMP"]))
    steps = planned(request)
    results = [_run(step, folder, request) for step in steps]
    write_outputs(_outputs(results, folder, request))


def planned(request: Request) -> list[Step]:
    """Return the steps of a command; one that does not exist is left to ``counterfoil`` to refuse."""
    against = ("--against", request.against) if request.against else ()
    if request.command == "plan":
        registry = ("--registry", request.registry) if request.registry else ()
        return [Step("plan", ("plan", *registry, *request.arguments), _FORMATS_OF_PLAN)]
    if request.command != "check":
        return [Step(request.command, (request.command, *request.arguments))]
    steps = [Step("lint", ("lint", "--allow-empty"))]
    uses_git = request.against != "registry"
    if uses_git:
        steps.append(Step("check", ("check", *against, *request.arguments)))
    if request.registry or not uses_git:
        registry = ("--registry", request.registry) if request.registry else ()
        arguments = ("check", "--against", "registry", *registry, *request.arguments)
        steps.append(Step("registry", arguments, may_be_skipped=uses_git and not request.has_secrets))
    return steps


def _run(step: Step, folder: Path, request: Request) -> Result:
    """Run a step; its reports are in ``folder`` under its name, and its annotations on standard output."""
    files = {form: folder / form / f"{step.name}.{form}" for form in step.formats[1:]}
    for file in files.values():
        file.parent.mkdir(exist_ok=True)
    formats = [step.formats[0], *(f"{form}={file}" for form, file in files.items())]
    options = [word for form in formats for word in ("--format", form)]
    print(f"{PROGRAM} {shlex.join(step.arguments)}", flush=True)
    words = [str(Path(sys.executable).with_name(PROGRAM)), *step.arguments, *options]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    print(done.stderr, end="", flush=True)
    code = next((each for each in ExitCode if each == done.returncode), ExitCode.BUG)
    if step.may_be_skipped and code in _NO_ANSWER:
        return Result(step, ExitCode.OK, None, _announced("warning", _SKIPPED, f"> {_SKIPPED}"))
    if not files["json"].exists():
        code = ExitCode.BUG if code in _ANSWERS else code
        title = f"### {PROGRAM} {plain(step.name)}: {verdict_of(code)}"
        return Result(step, code, None, _announced("error", done.stderr, f"{title}\n\n{plain(done.stderr)}"))
    if "sarif" in files:
        _name_analysis(files["sarif"], request.directory)
    report = json.loads(files["json"].read_text(encoding="utf-8"))
    return Result(step, code, report, files["markdown"].read_text(encoding="utf-8"))


def _announced(level: str, text: str, section: str) -> str:
    """Return a section of the comment that no report has, after adding it to the annotations and the summary."""
    print(f"::{level}::{' '.join(text.split())}", flush=True)
    add_to_summary(section)
    return f"{section}\n"


def _name_analysis(file: Path, directory: str) -> None:
    """Add the directory to the id of the analysis in a SARIF file: code scanning keeps only one analysis of each id."""
    document = json.loads(file.read_text(encoding="utf-8"))
    if directory != ".":
        document["runs"][0]["automationDetails"]["id"] += f"{directory}/"
        file.write_text(json.dumps(document), encoding="utf-8")


def _outputs(results: Sequence[Result], folder: Path, request: Request) -> dict[str, object]:
    code = _combined([result.code for result in results])
    reported = [result for result in results if result.report is not None]
    main = next((each for each in reported if each.step.name == request.command), reported[-1] if reported else None)
    comment = folder / "comment.md"
    marker = f"<!-- counterfoil action: {request.command} {request.directory} -->"
    comment.write_text("\n".join([marker, *(result.section for result in results)]), encoding="utf-8")
    has_sarif = any((folder / "sarif").glob("*"))
    return {
        "verdict": verdict_of(code).replace(" ", "-"),
        "breaking-count": "" if any(result.hides_findings for result in results) else count_errors(reported),
        "report-path": folder / "json" / f"{main.step.name}.json" if main else "",
        "comment-path": comment,
        "sarif-path": folder / "sarif" if has_sarif else "",
        "exit-code": int(code),
    }


def _combined(codes: Sequence[ExitCode]) -> ExitCode:
    """Return BROKEN if a step found something broken, else the first code that is not OK."""
    if ExitCode.BROKEN in codes:
        return ExitCode.BROKEN
    return next((code for code in codes if code is not ExitCode.OK), ExitCode.OK)


def count_errors(results: Sequence[Result]) -> int:
    """Return how many different errors are not approved.

    Several commands may report the same one: git and a registry the same difference, lint the same invalid file, or the
    path that a consumer reads and that a change takes away. The last commands count first: what they found is a break.
    """
    counted: dict[str, Mapping[str, Any]] = {}
    for result in reversed(results):
        report = result.report or {}
        errors = (one for one in report.get("findings", ()) if one["severity"] == "error" and not one.get("approval"))
        others = list(counted.values())
        new = [one for one in errors if not any(_is_same(one, other) for other in others)]
        counted |= {one["fingerprint"]: one for one in new if one["fingerprint"] not in counted}
    return len(counted)


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two commands mean the same: by fingerprint, rule and place, or a path that is missing."""
    if one["fingerprint"] == other["fingerprint"]:
        return True
    if all(one.get(key) == other.get(key) for key in ("rule", "path", "line", "column", "element", "direction")):
        return True
    element = one.get("element")
    is_missing = one["rule"] in _MISSING and other["rule"] in _MISSING
    return bool(element) and element == other.get("element") and (is_missing or one["text"] == other["text"])


if __name__ == "__main__":
    main()
