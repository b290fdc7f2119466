"""The files that Avro schemas refer to, by the full names of types."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.files import FileReferences, Target

if TYPE_CHECKING:
    from counterfoil.schema.formats.files import Files
    from counterfoil.schema.outline import Use


class _AvroReferences(FileReferences):
    """A type is found in the file that declares it: first in the same folder, first as the file's top-level type."""

    names_identify_files: Final = False

    def target(self, use: Use, files: Files, *, asker: str, root: str) -> Target | None:
        del root
        folder = posixpath.dirname(asker)
        for name in use.names:

            def distance(path: str, name: str = name) -> tuple[bool, bool, str]:
                names = files.outline(path)
                return (posixpath.dirname(path) != folder, names is None or names.name != name, path)

            paths = files.declaring(name)
            if paths:
                return Target(name, (min(paths, key=distance),))
        return None  # the parser reports the position of the unknown name

    def missing(self, name: str) -> str:
        return f"no file here declares the type {name!r}"


REFERENCES: Final = _AvroReferences()
