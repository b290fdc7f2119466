"""The files that JSON schemas refer to, by ``$id`` or relative path."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from counterfoil.schema.formats.files import FileReferences, Target, distance, nearest

if TYPE_CHECKING:
    from counterfoil.schema.formats.files import Files
    from counterfoil.schema.outline import Use

_LONGEST_NAME: Final = 255
"""The longest file name in bytes, as in file systems."""
_DRAFTS: Final = ("http://json-schema.org/", "https://json-schema.org/")
"""The addresses of the drafts' own schemas, which are built in."""


class _JsonReferences(FileReferences):
    """A reference is the file with its ``$id``, otherwise the one at its relative path."""

    may_refer_to_itself: Final = True
    may_be_paths: Final = True

    def target(self, use: Use, files: Files, *, asker: str, root: str) -> Target | None:
        del root
        uri, text = use.names
        folder = posixpath.dirname(asker)
        for identity in (uri, text):
            paths = files.declaring(identity)
            if paths:
                return nearest(files, text, {path: distance(folder, posixpath.dirname(path)) for path in paths})
        place = _relative_place(text, folder)
        if place is not None and files.has(place):
            return Target(text, (place,))
        return None if uri.startswith(_DRAFTS) else Target(text)

    def missing(self, name: str) -> str:
        return f"no file here has the $id or the relative path {name!r}"


REFERENCES: Final = _JsonReferences()


def _relative_place(reference: str, folder: str) -> str | None:
    """Return the path of a relative reference in a file of ``folder``; None for other URIs, and outside of the side."""
    try:
        parts = urlsplit(reference)
    except ValueError:
        return None
    path = unquote(parts.path)
    if parts.scheme or parts.netloc or parts.query or not path or "\0" in path:
        return None
    if any(len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME for name in path.split("/")):
        return None
    start = "" if path.startswith("/") else folder
    place = posixpath.normpath(posixpath.join(start, path.lstrip("/")))
    return None if place.split("/")[0] == ".." else place
