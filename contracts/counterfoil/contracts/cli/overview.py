"""The list of commands that ``counterfoil --help`` prints, as text, without click.

The import of click takes several times as long as everything else that this page needs. A test compares the text with
the page that click makes of the same table.
"""

from __future__ import annotations

import os
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.cli.installed import OTHER_COMMANDS
from counterfoil.contracts.cli.run import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.contracts.cli.installed import CommandEntry

SENTENCE: Final = "A schema registry and contract tests for event streams: serve, check, compare, convert."
"""What the program is, above the commands."""
MAX_COLUMNS: Final = 100
"""The page is not wider than this, however wide the terminal is."""
_GROUPS: Final = ("Check", "Registry", "Messages", "Contracts", "Bridges", "Administration")
"""In the order of the help."""
_OPTIONS: Final = (("--version", "Show the version and exit."), ("-h, --help", "Show this message and exit."))
_DEFAULT_COLUMNS: Final = 80
_LEAST_COLUMNS: Final = 50
_INDENT: Final = 2


def by_group(listed: Iterable[tuple[str, str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Return the names of commands with their lines, by group in the order of the help.

    ``listed`` are the name, the line and the group of each command.
    """
    rows: dict[str, list[tuple[str, str]]] = {group: [] for group in _GROUPS}
    for name, line, group in listed:
        rows.setdefault(group, []).append((name, line))
    return {group: found for group, found in rows.items() if found}


def overview(entries: Iterable[CommandEntry], *, columns: int) -> str | None:
    """Return the page for a terminal of ``columns``; None where a command has no line without its module."""
    listed = []
    for entry in sorted(entries):
        try:
            line, group = entry.listed()
        except ModuleNotFoundError:
            line, group = None, OTHER_COMMANDS
        if line is None:
            return None
        listed.append((entry.name, line, group))
    width = max(min(columns, MAX_COLUMNS) - 2, _LEAST_COLUMNS)
    margin = " " * _INDENT
    first = [f"Usage: {PROGRAM} [OPTIONS] COMMAND [ARGS]...", ""]
    first += wrap(SENTENCE, width, initial_indent=margin, subsequent_indent=margin)
    lines = [*first, "", "Options:", *_rows(_OPTIONS, width)]
    longest = max((len(name) for name, _, _ in listed), default=0)
    for group, rows in by_group(listed).items():
        lines += ["", f"{group}:", *_rows([(name.ljust(longest), line) for name, line in rows], width)]
    return "\n".join(lines) + "\n"


def _rows(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield the lines of a table of terms and what they mean."""
    column = max(len(term) for term, _ in rows) + _INDENT
    for term, meaning in rows:
        first, *others = wrap(meaning, max(width - column - _INDENT, 10)) or [""]
        yield f"{'':{_INDENT}}{term:{column}}{first}"
        yield from (f"{'':{_INDENT + column}}{other}" for other in others)


def terminal_columns() -> int:
    """Return the width of the terminal, as ``shutil.get_terminal_size`` finds it; its module takes long to import."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    terminal = sys.__stdout__
    if terminal is None:
        return _DEFAULT_COLUMNS
    try:
        return os.get_terminal_size(terminal.fileno()).columns or _DEFAULT_COLUMNS
    except (ValueError, OSError):  # it is closed, or no terminal
        return _DEFAULT_COLUMNS
