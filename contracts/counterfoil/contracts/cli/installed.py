"""The commands that the installed distribution declares: its own table of entry points, read from its own file.

``importlib.metadata`` would return the same. Importing it takes as long as everything else that ``counterfoil --help``
does, so it is used only where the distribution is in no plain folder of ``sys.path``, such as in a zip file.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


class Installed(NamedTuple):
    """The installed distribution: its version and its commands."""

    version: str
    entries: tuple[CommandEntry, ...]


def find_installed(path: Sequence[str] | None = None) -> Installed:
    """Return the distribution on ``path``, by default ``sys.path``: the first that is found, as Python does.

    Raises ``importlib.metadata.PackageNotFoundError`` when it is not installed.
    """
    for folder in sys.path if path is None else path:
        for name in _names_in(folder):
            if name.startswith(f"{DISTRIBUTION}-") and name.endswith(_SUFFIX):
                text = _text_of(os.path.join(folder, name, "entry_points.txt"))  # noqa: PTH118 (pathlib costs start time)
                if text is not None:
                    version = name.removeprefix(f"{DISTRIBUTION}-").removesuffix(_SUFFIX)
                    return Installed(version, tuple(parse_entries(text, COMMAND_GROUP)))
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


def _from_metadata() -> Installed:
    from importlib import metadata

    distribution = metadata.distribution(DISTRIBUTION)
    entries = (
        CommandEntry(each.name, each.value.partition("[")[0].replace(" ", ""), next(iter(each.extras), ""))
        for each in distribution.entry_points.select(group=COMMAND_GROUP)
    )
    return Installed(distribution.version, tuple(entries))
