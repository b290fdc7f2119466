"""From the names that a schema file uses to the files of the same side that it refers to.

Avro types are found by their full names, Protobuf files by their import paths, JSON schemas by ``$id`` or relative
path. Where several files would do, the nearest counts.
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
"""How many files may refer to one another in a row."""
_LONGEST_NAME: Final = 255
"""Bytes of a file's name, as file systems have it."""
_DRAFTS: Final = ("http://json-schema.org/", "https://json-schema.org/")
"""Where the drafts' own schemas are, which the kernel knows."""


class Side(Protocol):
    """What finding references asks of the files of one side."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all schema files, sorted."""

    def language(self, path: str) -> SchemaType:
        """The language of the file at ``path``."""

    def outline(self, path: str) -> Outline | None:
        """The names in the file at ``path``; None where it is unreadable."""

    def data(self, path: str) -> bytes:
        """The bytes of the file at ``path``."""

    def text(self, path: str) -> str:
        """The text of the file at ``path``; raises ``UnicodeDecodeError``."""

    def has(self, path: str) -> bool:
        """Whether there is a file at ``path``, be its name that of a schema or not."""


class ReferenceFault(Exception):
    """References that cannot be followed: files in a circle, or several files that one name may mean."""

    def __init__(self, text: str, position: Position | None) -> None:
        super().__init__(text)
        self.text = text
        self.position = position


@dataclass(frozen=True, slots=True)
class MissingReference:
    """A name that no file of the side declares, and where the schema that was asked about uses it."""

    text: str
    position: Position | None


@dataclass(frozen=True, slots=True)
class References:
    """What a schema refers to, each after what it needs itself, and what was not found.

    ``entries`` says for the path of each file by which use in the schema it came to be needed.
    """

    found: tuple[ResolvedReference, ...] = ()
    missing: tuple[MissingReference, ...] = ()
    entries: Mapping[str, Use] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Target:
    """The files that a use may mean, equally well, under the name that the asking text has for them."""

    name: str
    paths: tuple[str, ...] = ()


class ReferenceFinder:
    """Finds what the files of ``side`` refer to. What it learns about the side is kept."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._paths_by_name: dict[SchemaType, dict[str, list[str]]] = {}
        self._paths_by_end: dict[str, list[str]] | None = None

    def find(self, path: str) -> References:
        """What the file at ``path`` refers to, directly or not.

        Raises ``ReferenceFault``.
        """
        collection = _Collection(self, path)
        collection.visit(path, (path,))
        return References(tuple(collection.found.values()), tuple(collection.missing), collection.entries)

    def target(self, use: Use, *, asker: str, root: str) -> _Target | None:
        """What the file at ``asker`` means by ``use``; None where it is the kernel's business.

        ``root`` is the file whose references are looked for.
        """
        match self.side.language(root):
            case SchemaType.AVRO:
                return self._declaring(use, asker)
            case SchemaType.PROTOBUF:
                return self._imported(use, root)
            case SchemaType.JSON:
                return self._document(use, asker)

    def _declaring(self, use: Use, asker: str) -> _Target | None:
        """The file that declares an Avro name; in the same folder first, at top level first."""
        for name in use.names:
            paths = self._declared(SchemaType.AVRO).get(name, ())
            if paths:
                return _Target(name, (min(paths, key=self._avro_distance(name, asker)),))
        return None  # the kernel says where the unknown name stands

    def _avro_distance(self, name: str, asker: str) -> Callable[[str], tuple[bool, bool, str]]:
        folder = posixpath.dirname(asker)

        def distance(path: str) -> tuple[bool, bool, str]:
            names = self.side.outline(path)
            return (posixpath.dirname(path) != folder, names is None or names.name != name, path)

        return distance

    def _imported(self, use: Use, root: str) -> _Target | None:
        """The file whose path ends with an import path: below the nearest folder that is around the importing file."""
        (name,) = use.names
        if _is_known_to_the_kernel(name):
            return None
        wanted = posixpath.normpath(name)
        named = self._ending().get(posixpath.basename(wanted), ())
        ends = (path for path in named if path == wanted or path.endswith(f"/{wanted}"))
        folder = posixpath.dirname(root)
        return self._nearest(name, {path: _distance(folder, path.removesuffix(wanted).rstrip("/")) for path in ends})

    def _document(self, use: Use, asker: str) -> _Target | None:
        """The file with the ``$id`` that is meant, else the one at the relative path."""
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
        """The files at the least distance; of those with the same content the first."""
        least = min(distance_by_path.values(), default=(False, 0))
        nearest = sorted(path for path, distance in distance_by_path.items() if distance == least)
        path_by_content = {self.side.data(path): path for path in reversed(nearest)}
        return _Target(name, tuple(sorted(path_by_content.values())))

    def _ending(self) -> Mapping[str, list[str]]:
        """The paths of all files by their last name."""
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
    """What the file at ``root`` needs, as far as it was found. ``found`` goes by name; for Avro by file."""

    finder: ReferenceFinder
    root: str
    found: dict[str, ResolvedReference] = field(default_factory=dict)
    missing: list[MissingReference] = field(default_factory=list)
    entries: dict[str, Use] = field(default_factory=dict)

    def visit(self, path: str, way: tuple[str, ...], entry: Use | None = None) -> None:
        """Collect what the file at ``path`` needs; ``way`` leads to it, and begins at ``entry`` in the root."""
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
        """The name of a reference: the text that is used, or the whole URI where that text means another file, too."""
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
    """How far ``other`` is from ``folder``: the folders around it first, by the number of steps; then all the rest."""
    here, there = (one.split("/") if one else [] for one in (folder, other))
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    return shared < len(there), len(here) + len(there) - 2 * shared


def _relative_place(reference: str, folder: str) -> str | None:
    """The path that a relative reference in a file of ``folder`` means; None for other URIs, and outside the side."""
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
