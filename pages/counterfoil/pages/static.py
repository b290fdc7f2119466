"""The static files of the pages: one hash of them all, and the style sheets joined into one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

STYLE: Final = "style.css"
"""The name of the joined style sheet."""
_SHEETS: Final = ("tokens.css", "base.css", "parts.css", "print.css")
"""The style sheets in the order in which they are joined."""
_MEDIA_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file with its media type."""

    name: str
    body: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """All static files by their names; ``hash`` is another one whenever any of them is."""

    hash: str
    files: Mapping[str, StaticFile]


@cache
def assets() -> StaticFiles:
    """Return the static files of this package, which are read once."""
    folder = resources.files("counterfoil.pages").joinpath("static")
    names = sorted(each.name for each in folder.iterdir() if each.name.rpartition(".")[2] in {"js", "svg"})
    bodies = {name: folder.joinpath(name).read_bytes() for name in names}
    bodies[STYLE] = b"".join(folder.joinpath(name).read_bytes() for name in _SHEETS)
    digest = hashlib.sha256()
    for name in sorted(bodies):
        digest.update(f"{name} {len(bodies[name])} ".encode() + bodies[name])
    files = {name: StaticFile(name, body, _MEDIA_TYPES[name.rpartition(".")[2]]) for name, body in bodies.items()}
    return StaticFiles(digest.hexdigest()[:16], MappingProxyType(files))


def style_sheet() -> str:
    """Return the joined style sheet as a text, for pages that are one file."""
    return assets().files[STYLE].body.decode("utf-8")
