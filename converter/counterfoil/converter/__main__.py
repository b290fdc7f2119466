"""``python -m counterfoil.converter plan|check|run|verify``: what spark-submit is given."""

from __future__ import annotations

import sys

import click

from counterfoil.converter.cli import bridge
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode


def main() -> int:
    """The exit code of the command that the process's arguments ask for."""
    try:
        code = bridge.main(sys.argv[1:], prog_name="counterfoil bridge", standalone_mode=False)
    except click.ClickException as mistake:
        mistake.show()
        return ExitCode.USAGE
    except CounterfoilError as problem:
        sys.stderr.write(f"counterfoil: {' '.join(str(problem).split())}\n")
        return int(getattr(problem, "exit_code", ExitCode.PRECONDITION))
    return code if isinstance(code, int) else ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
