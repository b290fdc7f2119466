"""``python -m counterfoil.converter plan|check|run|verify``: the program to give to spark-submit."""

from __future__ import annotations

import sys
from pathlib import Path

from counterfoil.contracts.cli.run import run
from counterfoil.converter.cli import bridge


def main() -> int:
    """Run the command that the process's arguments name and return its exit code."""
    folder = str(Path(__file__).parent)
    sys.path[:] = [each for each in sys.path if each != folder]  # a program's folder comes first, before packages
    return run(bridge, sys.argv[1:], name="counterfoil bridge")


if __name__ == "__main__":
    sys.exit(main())
