"""The command line: one command, ``counterfoil``, with sub-commands of all rooms, each imported when it is called."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command that the process's arguments name and return its exit code; see ``ExitCode``."""
    if sys.getfilesystemencoding() != "utf-8":
        _start_with_utf_8()
    from counterfoil.contracts.cli.root import root_command
    from counterfoil.contracts.cli.run import run

    return run(root_command(), sys.argv[1:])


def _start_with_utf_8() -> None:
    """Replace the process by one in which names of files are UTF-8, as in git and in the files that name them.

    The encoding of the terminal stays.
    """
    import os

    os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 (the same program)
