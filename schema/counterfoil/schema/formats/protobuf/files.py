"""The files that ``.proto`` files import, by their paths."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.files import FileReferences, distance, nearest

if TYPE_CHECKING:
    from counterfoil.schema.formats.files import Files, Target
    from counterfoil.schema.outline import Use


class _ProtobufReferences(FileReferences):
    """An import is the file whose path ends with it, below the nearest folder around the importing file."""

    reach_below: Final = True

    def target(self, use: Use, files: Files, *, asker: str, root: str) -> Target | None:
        from counterfoil.schema.formats.protobuf.describe.known_files import KNOWN_PATHS

        del asker
        (name,) = use.names
        if name in KNOWN_PATHS:
            return None
        wanted = posixpath.normpath(name)
        named = files.called(posixpath.basename(wanted))
        ends = (path for path in named if path == wanted or path.endswith(f"/{wanted}"))
        folder = posixpath.dirname(root)
        by_path = {path: distance(folder, path.removesuffix(wanted).rstrip("/")) for path in ends}
        return nearest(files, name, by_path)

    def missing(self, name: str) -> str:
        return f"no file here has a path that ends with {name!r}"


REFERENCES: Final = _ProtobufReferences()
