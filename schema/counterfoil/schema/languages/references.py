"""Outlines (the names that a schema text declares and uses), and how the files of schemas refer to one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from counterfoil.schema.jsontext import locate
from counterfoil.schema.texts import Pointer, Position

# Outlines: the names that a schema text declares and those that it uses, found without parsing the schema.
#
# They are used to find the files that a schema refers to, in folders in which most files are never parsed.


@dataclass(frozen=True, slots=True)
class Use:
    """A name that a text uses and does not declare.

    ``names`` are the full names that it may resolve to, best first; for JSON Schema the resolved URI, then the text of
    the reference. ``place`` is the place of its use: a position, or a pointer into the text.
    """

    names: tuple[str, ...]
    place: Position | Pointer

    def position(self, text: str) -> Position | None:
        """Return the position of the use in ``text``, the text of the outline."""
        return self.place if isinstance(self.place, Position) else locate(text, self.place)


@dataclass(frozen=True, slots=True)
class Outline:
    """The names in a schema text.

    ``name`` is the name of the schema, None if it has none: the full name of an Avro type or of the first Protobuf
    message, the ``$id`` or title of a JSON schema. ``declared`` are all names by which other texts may refer to it;
    Protobuf files are referred to by their paths and have none. ``used`` are the names used and not declared.
    """

    name: str | None
    declared: frozenset[str]
    used: tuple[Use, ...]


# How schema files refer to one another: the part that each language defines, and the parts that all of them use.


class Files(Protocol):
    """The schema files of one side, seen from a file of one language."""

    def declaring(self, name: str) -> Sequence[str]:
        """Return the paths of the files of this language that declare ``name``, sorted."""

    def called(self, name: str) -> Sequence[str]:
        """Return the paths of all files whose last step is ``name``, sorted."""

    def has(self, path: str) -> bool:
        """Return whether there is a schema file at ``path``, or any file with a name of this language."""

    def outline(self, path: str) -> Outline | None:
        """Return the names in the file at ``path``; None if it is unreadable."""

    def data(self, path: str) -> bytes:
        """Return the bytes of the file at ``path``."""


@dataclass(frozen=True, slots=True)
class FileTarget:
    """The files that match a use equally well, and the name of the use."""

    name: str
    paths: tuple[str, ...] = ()


class FileReferences(Protocol):
    """How the files of one language refer to one another."""

    @property
    def names_identify_files(self) -> bool:
        """Whether a reference has the name of a whole text; otherwise it has that of a type, found in any text."""
        return True

    @property
    def may_refer_to_itself(self) -> bool:
        """Whether a file may name itself."""
        return False

    @property
    def may_be_paths(self) -> bool:
        """Whether a reference may be a path that is relative to the file that uses it."""
        return False

    @property
    def reach_below(self) -> bool:
        """Whether a file alone refers to files in the folders below its own, and not only to those beside it."""
        return False

    def target(self, use: Use, files: Files, *, asker: str, root: str) -> FileTarget | None:
        """Return the files that ``use`` in the file at ``asker`` refers to; None if no file is needed for it.

        ``root`` is the file whose references are searched.
        """

    def missing(self, name: str) -> str:
        """Return the sentence that no file matches ``name``."""


def nearest(files: Files, name: str, distance_by_path: Mapping[str, tuple[bool, int]]) -> FileTarget:
    """Return the files at the least distance; of those with the same content the first."""
    least = min(distance_by_path.values(), default=(False, 0))
    found = sorted(path for path, distance in distance_by_path.items() if distance == least)
    path_by_content = {files.data(path): path for path in reversed(found)}
    return FileTarget(name, tuple(sorted(path_by_content.values())))


def distance(folder: str, other: str) -> tuple[bool, int]:
    """Return the distance from ``folder`` to ``other``.

    The folders around it come first, by the number of steps; then all others.
    """
    here, there = (one.split("/") if one else [] for one in (folder, other))
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    return shared < len(there), len(here) + len(there) - 2 * shared
