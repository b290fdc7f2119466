"""The files of the same side that a schema file refers to, found by the names that it uses.

Avro types are found by their full names, Protobuf files by their import paths, JSON schemas by ``$id`` or relative
path. If several files match, the nearest one is used.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote, urljoin, urlsplit

from counterfoil.schema.model import Reference, ResolvedReference, SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.outline import Outline, Use
    from counterfoil.schema.position import Position

_DEEPEST: Final = 100
"""The longest permitted chain of files that refer to each other."""
_LONGEST_NAME: Final = 255
"""The longest file name in bytes, as in file systems."""
_DRAFTS: Final = ("http://json-schema.org/", "https://json-schema.org/")
"""The addresses of the drafts' own schemas, which the kernel has."""


class Side(Protocol):
    """The interface of the files of one side for finding references."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all schema files, sorted."""

    def language(self, path: str) -> SchemaType:
        """Return the language of the file at ``path``."""

    def outline(self, path: str) -> Outline | None:
        """Return the names in the file at ``path``; None if it is unreadable."""

    def data(self, path: str) -> bytes:
        """Return the bytes of the file at ``path``."""

    def text(self, path: str) -> str:
        """Return the text of the file at ``path``; raises ``UnicodeDecodeError``."""

    def has(self, path: str) -> bool:
        """Return whether there is a file at ``path``, with any suffix."""


class ReferenceFault(Exception):
    """References that cannot be followed: files in a circle, or several files that match one name."""

    def __init__(self, text: str, position: Position | None) -> None:
        super().__init__(text)
        self.text = text
        self.position = position


@dataclass(frozen=True, slots=True)
class MissingReference:
    """A name that no file of the side declares, and the position in the root schema of the use that needs it."""

    text: str
    position: Position | None


@dataclass(frozen=True, slots=True)
class References:
    """The references of a schema, each after its own references, and the names that were not found.

    ``entries`` has, for the path of each file, the use in the schema that requires it.
    """

    found: tuple[ResolvedReference, ...] = ()
    missing: tuple[MissingReference, ...] = ()
    entries: Mapping[str, Use] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Target:
    """The files that match a use equally well, and the name of the use."""

    name: str
    paths: tuple[str, ...] = ()


class ReferenceFinder:
    """Finds the references of the files of ``side``. What it reads of the side is cached."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._paths_by_name: dict[SchemaType, dict[str, list[str]]] = {}
        self._paths_by_end: dict[str, list[str]] | None = None

    def find(self, path: str) -> References:
        """Return what the file at ``path`` refers to, directly or not.

        Raises ``ReferenceFault``.
        """
        collection = _Collection(self, path)
        collection.visit(path, (path,))
        return References(tuple(collection.found.values()), tuple(collection.missing), collection.entries)

    def direct(self, path: str) -> set[str]:
        """Return the paths of the files that the one at ``path`` itself names."""
        names = self.side.outline(path)
        targets = [self.target(use, asker=path, root=path) for use in (names.used if names else ())]
        return {target.paths[0] for target in targets if target and len(target.paths) == 1} - {path}

    def target(self, use: Use, *, asker: str, root: str) -> _Target | None:
        """Return the files that ``use`` in the file at ``asker`` refers to; None if the kernel resolves it.

        ``root`` is the file whose references are searched.
        """
        match self.side.language(root):
            case SchemaType.AVRO:
                return self._declaring(use, asker)
            case SchemaType.PROTOBUF:
                return self._imported(use, root)
            case SchemaType.JSON:
                return self._document(use, asker)

    def _declaring(self, use: Use, asker: str) -> _Target | None:
        """Return the file that declares an Avro name: first in the same folder, first as the file's top-level type."""
        for name in use.names:
            paths = self._declared(SchemaType.AVRO).get(name, ())
            if paths:
                return _Target(name, (min(paths, key=self._avro_distance(name, asker)),))
        return None  # the kernel reports the position of the unknown name

    def _avro_distance(self, name: str, asker: str) -> Callable[[str], tuple[bool, bool, str]]:
        folder = posixpath.dirname(asker)

        def distance(path: str) -> tuple[bool, bool, str]:
            names = self.side.outline(path)
            return (posixpath.dirname(path) != folder, names is None or names.name != name, path)

        return distance

    def _imported(self, use: Use, root: str) -> _Target | None:
        """Return the file whose path ends with an import path: below the nearest folder around the importing file."""
        (name,) = use.names
        if _is_known_to_the_kernel(name):
            return None
        wanted = posixpath.normpath(name)
        named = self._ending().get(posixpath.basename(wanted), ())
        ends = (path for path in named if path == wanted or path.endswith(f"/{wanted}"))
        folder = posixpath.dirname(root)
        return self._nearest(name, {path: _distance(folder, path.removesuffix(wanted).rstrip("/")) for path in ends})

    def _document(self, use: Use, asker: str) -> _Target | None:
        """Return the file with the ``$id`` of the reference, otherwise the one at the relative path."""
        uri, text = use.names
        declared = self._declared(SchemaType.JSON)
        folder = posixpath.dirname(asker)
        for identity in (uri, text):
            paths = declared.get(identity)
            if paths:
                return self._nearest(text, {path: _distance(folder, posixpath.dirname(path)) for path in paths})
        place = _relative_place(text, folder)
        if place is not None and self.side.has(place):
            return _Target(text, (place,))
        return None if uri.startswith(_DRAFTS) else _Target(text)

    def _nearest(self, name: str, distance_by_path: Mapping[str, tuple[bool, int]]) -> _Target:
        """Return the files at the least distance; of those with the same content the first."""
        least = min(distance_by_path.values(), default=(False, 0))
        nearest = sorted(path for path, distance in distance_by_path.items() if distance == least)
        path_by_content = {self.side.data(path): path for path in reversed(nearest)}
        return _Target(name, tuple(sorted(path_by_content.values())))

    def _ending(self) -> Mapping[str, list[str]]:
        """Return the paths of all files by their last name."""
        if self._paths_by_end is None:
            self._paths_by_end = {}
            for path in self.side.paths:
                self._paths_by_end.setdefault(posixpath.basename(path), []).append(path)
        return self._paths_by_end

    def _declared(self, schema_type: SchemaType) -> Mapping[str, list[str]]:
        if schema_type not in self._paths_by_name:
            found = self._paths_by_name[schema_type] = {}
            for path in self.side.paths:
                names = self.side.outline(path) if self.side.language(path) is schema_type else None
                for name in names.declared if names else ():
                    found.setdefault(name, []).append(path)
        return self._paths_by_name[schema_type]


@dataclass(slots=True)
class _Collection:
    """What the file at ``root`` needs, as far as it was found. The key of ``found`` is the name; for Avro the file."""

    finder: ReferenceFinder
    root: str
    found: dict[str, ResolvedReference] = field(default_factory=dict)
    missing: list[MissingReference] = field(default_factory=list)
    entries: dict[str, Use] = field(default_factory=dict)

    def visit(self, path: str, way: tuple[str, ...], entry: Use | None = None) -> None:
        """Collect what the file at ``path`` needs; ``way`` is the path to it, which begins at ``entry`` in the root."""
        names = self.finder.side.outline(path)
        for use in names.used if names else ():
            first = entry or use
            target = self.finder.target(use, asker=path, root=self.root)
            if target is None:
                continue
            if not target.paths:
                self.missing.append(MissingReference(self._lacks(target.name, path), self._position(first)))
            elif len(target.paths) > 1:
                rivals = " or ".join(target.paths)
                raise ReferenceFault(f"{target.name!r} may mean {rivals}, which differ", self._position(first))
            else:
                self._add(target.paths[0], self._free_name(target, use, path), way, first)

    def _position(self, entry: Use) -> Position | None:
        return entry.position(self.finder.side.text(self.root))

    def _add(self, target: str, name: str, way: tuple[str, ...], entry: Use) -> None:
        side = self.finder.side
        schema_type = side.language(self.root)
        key = target if schema_type is SchemaType.AVRO else name
        if key in self.found:
            return
        is_itself = target == way[-1] and schema_type is SchemaType.JSON
        if not is_itself:
            self._refuse_circles(target, way, entry)
            self.visit(target, (*way, target), entry)
        try:
            text = side.text(target)
        except UnicodeDecodeError:
            raise ReferenceFault(f"{target}, which is referred to, is not UTF-8 text", self._position(entry)) from None
        self.found[key] = ResolvedReference(Reference(name=name, subject=target, version=1), text)
        self.entries.setdefault(target, entry)

    def _free_name(self, target: _Target, use: Use, asker: str) -> str:
        """Return the name of a reference: the text that is used, or the whole URI if that text means two files."""
        known = self.found.get(target.name)
        if known is None or known.reference.subject == target.paths[0] or len(use.names) == 1:
            return target.name
        uri, text = use.names
        return uri if uri != text else urljoin(posixpath.relpath(asker, posixpath.dirname(self.root) or "."), text)

    def _lacks(self, name: str, asker: str) -> str:
        by = "" if asker == self.root else f", which {asker} refers to"
        if self.finder.side.language(self.root) is SchemaType.PROTOBUF:
            return f"no file here has a path that ends with {name!r}{by}"
        return f"no file here has the $id or the relative path {name!r}{by}"

    def _refuse_circles(self, target: str, way: tuple[str, ...], entry: Use) -> None:
        if target in way:
            circle = (*way[way.index(target) :], target)
            fault = f"the files refer to one another in a circle: {' → '.join(circle)}"
            raise ReferenceFault(fault, self._position(entry))
        if len(way) > _DEEPEST:
            raise ReferenceFault(f"more than {_DEEPEST} files refer to one another in a row", self._position(entry))


def _is_known_to_the_kernel(import_path: str) -> bool:
    from counterfoil.schema.formats.protobuf.describe.known_files import KNOWN_PATHS

    return import_path in KNOWN_PATHS


def _distance(folder: str, other: str) -> tuple[bool, int]:
    """Return the distance from ``folder`` to ``other``.

    The folders around it come first, by the number of steps; then all others.
    """
    here, there = (one.split("/") if one else [] for one in (folder, other))
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    return shared < len(there), len(here) + len(there) - 2 * shared


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
