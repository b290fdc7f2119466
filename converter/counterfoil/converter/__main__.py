"""``python -m counterfoil.converter plan|check|run|verify``: what spark-submit is given."""

from __future__ import annotations

import sys

from counterfoil.contracts.cli.run import run
from counterfoil.converter.cli import bridge


def main() -> int:
    """Return the exit code of the command that the process's arguments ask for."""
    return run(bridge, sys.argv[1:], name="counterfoil bridge")


if __name__ == "__main__":
    sys.exit(main())
