"""The commands that the installed distribution declares, and the list of them that ``counterfoil --help`` prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from textwrap import wrap
from typing import Any, Final, NamedTuple

from counterfoil.contracts.cli.run import PROGRAM

# The commands that the installed distribution declares: its own table of entry points, read from its own file.
#
# ``importlib.metadata`` would return the same. Importing it takes as long as everything else that ``counterfoil
# --help`` does, so it is used only where the distribution is in no plain folder of ``sys.path``, such as in a zip file.

DISTRIBUTION: Final = "counterfoil"
COMMAND_GROUP: Final = "counterfoil.commands"
OTHER_COMMANDS: Final = "Other"
"""The group of commands that name none."""
_SUFFIX: Final = ".dist-info"


class CommandEntry(NamedTuple):
    """One line of the table: the command's ``name``, its target (``module:attribute``), and the extra that it needs.

    The target is a click command, or three texts: where the command is, its line in the list of commands, and the group
    under which it stands there.
    """

    name: str
    target: str
    extra: str = ""

    def load(self) -> Any:
        """Import the command's module and return the command."""
        named = _named_by(self.target)
        return _named_by(named[0]) if isinstance(named, tuple) else named

    def listed(self) -> tuple[str | None, str]:
        """Return the command's line in the list of commands, or None, and its group, without importing its module."""
        named = _named_by(self.target)
        return (named[1], named[2]) if isinstance(named, tuple) else (None, OTHER_COMMANDS)


class InstalledDistribution(NamedTuple):
    """The installed distribution: its version and its commands."""

    version: str
    entries: tuple[CommandEntry, ...]


def find_installed(path: Sequence[str] | None = None) -> InstalledDistribution:
    """Return the distribution on ``path``, by default ``sys.path``: the first that is found, as Python does.

    Raises ``importlib.metadata.PackageNotFoundError`` when it is not installed.
    """
    for folder in sys.path if path is None else path:
        for name in _names_in(folder):
            if name.startswith(f"{DISTRIBUTION}-") and name.endswith(_SUFFIX):
                text = _text_of(os.path.join(folder, name, "entry_points.txt"))  # noqa: PTH118 (pathlib costs start time)
                if text is not None:
                    version = name.removeprefix(f"{DISTRIBUTION}-").removesuffix(_SUFFIX)
                    return InstalledDistribution(version, tuple(parse_entries(text, COMMAND_GROUP)))
    return _from_metadata()


def parse_entries(text: str, group: str) -> Iterator[CommandEntry]:
    """Yield the entries of ``group`` in the text of an ``entry_points.txt``.

    Source: the entry points specification of packaging.python.org.
    """
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == group and line and line[0] not in "#;":
            name, _, value = line.partition("=")
            target, _, extras = value.partition("[")
            extra = extras.rstrip("] ").partition(",")[0]
            yield CommandEntry(name.strip(), target.replace(" ", ""), extra.strip())


def _named_by(target: str) -> Any:
    """Import and return the object that a reference names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")  # noqa: PTH208 (pathlib costs start time)
    except OSError:  # not a folder, or it does not exist
        return []


def _text_of(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 (pathlib costs start time)
            return file.read()
    except OSError:
        return None


def _from_metadata() -> InstalledDistribution:
    from importlib import metadata

    distribution = metadata.distribution(DISTRIBUTION)
    entries = (
        CommandEntry(each.name, each.value.partition("[")[0].replace(" ", ""), next(iter(each.extras), ""))
        for each in distribution.entry_points.select(group=COMMAND_GROUP)
    )
    return InstalledDistribution(distribution.version, tuple(entries))


# The list of commands that ``counterfoil --help`` prints, as text, without click.
#
# The import of click takes several times as long as everything else that this page needs. A test compares the text with
# the page that click makes of the same table.

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
