"""The steps of the deploy action: the verdict before a deployment, and its record after it.

The outputs are written before the step ends with the exit code of the command.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import PROGRAM, verdict_of
from github_action.event import add_to_summary, write_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

_RECORD: Final = "record"


def main() -> None:
    """Run the command that the argument names, and exit with its exit code."""
    step = _record if sys.argv[1:] == [_RECORD] else _can_i_deploy
    sys.exit(step(f"{os.environ['INPUT_APPLICATION']}@{os.environ['INPUT_VERSION']}", os.environ["INPUT_ENVIRONMENT"]))


def _can_i_deploy(version: str, environment: str) -> int:
    """Return the exit code of the verdict, after writing its report to the summary."""
    try:
        arguments = shlex.split(os.environ["INPUT_ARGUMENTS"])
    except ValueError as mistake:
        print(f"::error::The input arguments is not written as in a shell: {mistake}", flush=True)
        write_outputs({"verdict": verdict_of(ExitCode.USAGE), "exit-code": int(ExitCode.USAGE)})
        return ExitCode.USAGE
    folder = Path(tempfile.mkdtemp(prefix=f"{PROGRAM}-", dir=os.environ["RUNNER_TEMP"]))
    files = {form: folder / f"can-i-deploy.{form}" for form in ("json", "markdown")}
    formats = [word for form, file in files.items() for word in ("--format", f"{form}={file}")]
    code = _run(["can-i-deploy", version, "--environment", environment, "--format", "text", *formats, *arguments])
    has_report = files["json"].exists()
    if files["markdown"].exists():
        add_to_summary(files["markdown"].read_text(encoding="utf-8"))
    named = next((each for each in ExitCode if each == code), ExitCode.BUG)
    write_outputs(
        {
            "verdict": verdict_of(named).replace(" ", "-"),
            "report-path": files["json"] if has_report else "",
            "exit-code": code,
        }
    )
    return code


def _record(version: str, environment: str) -> int:
    return _run([_RECORD, "deployment", version, "--environment", environment])


def _run(arguments: Sequence[str]) -> int:
    registry = ("--registry", os.environ["INPUT_REGISTRY"]) if os.environ["INPUT_REGISTRY"] else ()
    words = [str(Path(sys.executable).with_name(PROGRAM)), *arguments, *registry]
    print(shlex.join([PROGRAM, *words[1:]]), flush=True)
    return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    main()
