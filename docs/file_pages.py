"""The page with every module of the product: its folder, and the first line of its docstring."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from known_names import ROOMS, ROOT

if TYPE_CHECKING:
    from pathlib import Path

_ROLE: Final = re.compile(r":\w+:`[~.]?([^`]+)`")


class FolderOfModules(NamedTuple):
    """A folder with the line about it, and its modules by name, each with its line."""

    place: Path
    about: str
    about_by_name: dict[str, str]


def files_page() -> str:
    """Return the page of all modules, by room and folder."""
    lines = [
        "# Files",
        "",
        "Every module of the product, with the first line of its docstring.",
        "[ARCHITECTURE.md](../../ARCHITECTURE.md) describes the rooms and their folders.",
    ]
    for room in ROOMS:
        lines += ["", f"## {room}"]
        for folder in _folders(ROOT / room / "counterfoil" / room):
            path = folder.place.relative_to(ROOT)
            lines += ["", f"### {'/'.join((room, *path.parts[3:]))}", "", f"[Folder](../../{path}). {folder.about}"]
            if folder.about_by_name:
                lines += ["", "| module | content |", "|---|---|"]
                lines += [f"| `{name}` | {about} |" for name, about in folder.about_by_name.items()]
    return "\n".join(lines)


def _folders(place: Path) -> list[FolderOfModules]:
    """Return a folder and those in it that have modules, in the order of their names."""
    modules = sorted(path for path in place.glob("*.py") if path.name != "__init__.py")
    own = FolderOfModules(place, _about(place / "__init__.py"), {path.name: _about(path) for path in modules})
    below = sorted(path.parent for path in place.glob("*/__init__.py"))
    return [own, *(each for folder in below for each in _folders(folder))]


def _about(module: Path) -> str:
    """Return the first line of a module's docstring for the cell of a table."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    first = _ROLE.sub(r"`\1`", text.partition("\n")[0])
    return first.replace("``", "`").replace("|", "\\|")
