"""The command line: one command, ``counterfoil``, with sub-commands of all rooms, each imported when it is called."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command that the process's arguments name and return its exit code; see ``ExitCode``."""
    if sys.getfilesystemencoding() != "utf-8":
        _start_with_utf_8()
    arguments = sys.argv[1:]
    page = _list_of_commands() if arguments in (["--help"], ["-h"]) else None
    if page is not None:
        from counterfoil.contracts.cli.run import print_page

        return print_page(page)
    from counterfoil.contracts.cli.root import root_command
    from counterfoil.contracts.cli.run import run

    return run(root_command(), arguments)


def _list_of_commands() -> str | None:
    """Return the page of ``counterfoil --help``; None where only click can make it, or where a shell requests words."""
    import os

    from counterfoil.contracts.cli.run import COMPLETION, find_installed, overview, terminal_columns

    return None if COMPLETION in os.environ else overview(find_installed().entries, columns=terminal_columns())


def _start_with_utf_8() -> None:
    """Replace the process by one in which names of files are UTF-8, as in git and in the files that name them.

    The encoding of the terminal stays.
    """
    import os

    os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 (the same program)
