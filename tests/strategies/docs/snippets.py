"""The fenced code blocks of the Markdown pages, and the commands in them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NOTE = re.compile(r"<!-- (not run|setup|file|made|extra|refused): (.+?) -->")
_FENCE = re.compile(r"```(\w*)$")


@dataclass(frozen=True)
class Snippet:
    """A block: its first line, its language (empty for shell) and text, and the notes in comments right above it.

    ``not run`` has a reason, ``setup`` the name of its preparation, ``file`` the name of the file that the block shows,
    ``made`` that of one that a command has made with this text,
    ``refused`` a part of the body with which a server refuses the request of the block.
    """

    page: str
    line: int
    language: str
    text: str
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Page and line, for messages."""
        return f"{self.page}:{self.line}"

    def commands(self) -> list[Command]:
        """Return the shell commands of the block, with the output that is shown after each one."""
        lines = self.text.splitlines()
        is_session = lines[0].startswith("$ ")
        found: list[Command] = []
        pending = ""
        for line in lines:
            if is_session and not pending and not line.startswith("$ "):
                found[-1] = Command(found[-1].text, f"{found[-1].shown}{line}\n")
                continue
            pending += line.removeprefix("$ ") + "\n"
            if _is_whole(pending):
                found.append(Command(pending.strip()))
                pending = ""
        assert not pending, f"{self.place}: this command has no end: {pending}"
        return [command for command in found if command.words]


@dataclass(frozen=True)
class Command:
    """A command, which may have several lines, and its output on the page."""

    text: str
    shown: str = ""

    @property
    def words(self) -> list[str]:
        """The words of the command, without comments."""
        return shlex.split(self.text.replace("\\\n", " "), comments=True)


def _is_whole(text: str) -> bool:
    if text.rstrip("\n").endswith("\\"):
        return False
    try:
        shlex.split(text, comments=True)
    except ValueError:  # a quotation that continues
        return False
    return True


def snippets_of(path: Path, page: str) -> Iterator[Snippet]:
    """Yield the blocks of the page at ``path``, in order."""
    notes: dict[str, str] = {}
    language, begun = "", 0
    block: list[str] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if block is None and fence:
            language, block, begun = fence[1], [], number
        elif block is not None and line == "```":
            yield Snippet(page, begun, language, "\n".join(block) + "\n", notes)
            notes, block = {}, None
        elif block is not None:
            block.append(line)
        elif note := _NOTE.match(line):
            notes[note[1]] = note[2]
        elif line.strip():
            notes = {}
