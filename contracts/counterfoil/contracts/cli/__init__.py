"""The command line: one command, ``counterfoil``, with sub-commands of all rooms, each imported when it is called."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command that the process's arguments name and return its exit code; see ``ExitCode``."""
    from counterfoil.contracts.cli.root import root_command
    from counterfoil.contracts.cli.run import run

    return run(root_command(), sys.argv[1:])
