"""The command line: one command, ``counterfoil``, whose sub-commands come from all rooms and load when called."""

from __future__ import annotations

import sys


def main() -> int:
    """The exit code of the command that the process's arguments ask for; see ``ExitCode`` for what each means."""
    from counterfoil.contracts.cli.root import root_command
    from counterfoil.contracts.cli.run import run

    return run(root_command(), sys.argv[1:])
