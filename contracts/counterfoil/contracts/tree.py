"""Schema files of one side (the working tree, a commit, a folder), read with their references to one another.

A name that a file uses and does not declare is looked up in the other files of the same side. Nothing is read from
disk here: the files come with their bytes.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.contracts.outline import Outline, outline
from counterfoil.schema.errors import InvalidSchema, SchemaParseError
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.position import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.formats.protocol import ParsedSchema, Validation

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A schema file: its path, with ``/``, from the root of its side, and its bytes."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file is no schema, and where."""

    text: str
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class ReadSchema:
    """A schema that was looked at: ``schema``, or the ``problem`` it has.

    ``content`` is its text and those of everything it refers to, with one kind of line end: equal content means equal
    schemas. ``label`` says where it stands, such as ``main@8c1f2e0`` or ``orders-value version 3``.
    """

    label: str
    path: str
    content: tuple[str, ...] = ()
    schema: ParsedSchema | None = None
    problem: Problem | None = None
    has_byte_order_mark: bool = False


class SchemaTree:
    """The schema files of one side. ``label`` names the side; files are parsed when asked for, and once."""

    def __init__(self, files: Iterable[SchemaFile], *, label: str = "", validation: Validation) -> None:
        self.label = label
        self._validation = validation
        self._file_by_path = {file.path: file for file in files}
        self._text_by_path: dict[str, str] = {}
        self._schema_by_path: dict[str, ReadSchema] = {}
        self._paths_by_name: dict[str, list[str]] | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files, sorted."""
        return tuple(sorted(self._file_by_path))

    def data(self, path: str) -> bytes:
        """The bytes of the file at ``path``, which must be there."""
        return self._file_by_path[path].data

    def outline(self, path: str) -> Outline | None:
        """The names in the file at ``path``; None where it is not readable JSON."""
        try:
            return outline(self._text(path))
        except UnicodeDecodeError:
            return None

    def content(self, path: str) -> tuple[str, ...]:
        """The text at ``path`` and the texts it refers to, as in :class:`ReadSchema`; nothing is parsed."""
        try:
            texts = (self._text(path), *(known.text for known in self._references(path)))
        except (UnicodeDecodeError, _Circle):
            texts = (self.data(path).decode("utf-8", "replace"),)
        return tuple(text.replace("\r\n", "\n") for text in texts)

    def only(self, paths: Iterable[str]) -> SchemaTree:
        """The same side with the files at ``paths`` alone."""
        return SchemaTree((self._file_by_path[path] for path in paths), label=self.label, validation=self._validation)

    def read(self, path: str) -> ReadSchema:
        """The schema in the file at ``path``, or what is wrong with it."""
        if path not in self._schema_by_path:
            self._schema_by_path[path] = self._read(path)
        return self._schema_by_path[path]

    def _read(self, path: str) -> ReadSchema:
        data = self.data(path)
        marked = data.startswith(BYTE_ORDER_MARK.encode())
        schema, problem = None, None
        try:
            schema = parse_schema(
                self._text(path), SchemaType.AVRO, references=self._references(path), validation=self._validation
            )
        except UnicodeDecodeError as error:
            problem = _not_utf8(data, error)
        except _Circle as circle:
            problem = Problem(f"the files refer to one another in a circle: {' → '.join(circle.paths)}")
        except SchemaParseError as error:
            problem = Problem(_said(error), error.position)
        except InvalidSchema as error:
            problem = Problem(error.message)
        return ReadSchema(
            label=self.label,
            path=path,
            content=self.content(path),
            schema=schema,
            problem=problem,
            has_byte_order_mark=marked,
        )

    def _text(self, path: str) -> str:
        if path not in self._text_by_path:
            self._text_by_path[path] = self.data(path).decode().removeprefix(BYTE_ORDER_MARK)
        return self._text_by_path[path]

    def _references(self, path: str) -> tuple[ResolvedReference, ...]:
        """What the file at ``path`` needs, each after what it needs itself."""
        found: dict[str, ResolvedReference] = {}
        self._collect_references(path, found, (path,))
        return tuple(found.values())

    def _collect_references(self, path: str, found: dict[str, ResolvedReference], way: tuple[str, ...]) -> None:
        names = self.outline(path)
        for candidates in names.used if names else ():
            target, name = self._declaring(candidates, near=path)
            if target is None or target in found:
                continue
            if target in way:
                raise _Circle((*way[way.index(target) :], target))
            self._collect_references(target, found, (*way, target))
            found[target] = ResolvedReference(Reference(name=name, subject=target, version=1), self._text(target))

    def _declaring(self, candidates: tuple[str, ...], *, near: str) -> tuple[str | None, str]:
        """The file that declares one of ``candidates``, and which; in the same folder first, at top level first."""
        for name in candidates:
            paths = self._declared().get(name, ())
            folder = posixpath.dirname(near)

            def distance(path: str, name: str = name, folder: str = folder) -> tuple[bool, bool, str]:
                names = self.outline(path)
                return (posixpath.dirname(path) != folder, names is None or names.name != name, path)

            if paths:
                return min(paths, key=distance), name
        return None, ""

    def _declared(self) -> Mapping[str, list[str]]:
        if self._paths_by_name is None:
            self._paths_by_name = {}
            for path in self.paths:
                names = self.outline(path)
                for name in names.declared if names else ():
                    self._paths_by_name.setdefault(name, []).append(path)
        return self._paths_by_name


class _Circle(Exception):
    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(paths)
        self.paths = paths


def match_paths(head: SchemaTree, earlier: SchemaTree) -> dict[str, str]:
    """Which file of ``earlier`` each file of ``head`` comes from; a file without origin is not in the answer.

    A file at its old place with its old name is itself. Then a name that is declared by one file on each side is the
    same schema in a moved file; then whatever stands at the same path is the same schema with another name.
    """
    origin = {
        path: path
        for path in set(head.paths).intersection(earlier.paths)
        if head.data(path) == earlier.data(path) or _identity(head, path) == _identity(earlier, path)
    }
    later_by_name = _paths_by_identity(head, set(head.paths).difference(origin))
    earlier_by_name = _paths_by_identity(earlier, set(earlier.paths).difference(origin.values()))
    for name, paths in later_by_name.items():
        sources = earlier_by_name.get(name, [])
        if len(paths) == len(sources) == 1:
            origin[paths[0]] = sources[0]
    taken, earlier_paths = set(origin.values()), set(earlier.paths)
    for path in head.paths:
        if path not in origin and path in earlier_paths and path not in taken:
            origin[path] = path
    return origin


def _identity(tree: SchemaTree, path: str) -> str | None:
    """What a schema is known by when its file moves: its full name, or its text where it has none."""
    names = tree.outline(path)
    if names is None:
        return None
    return names.name or tree.content(path)[0]


def _paths_by_identity(tree: SchemaTree, paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        identity = _identity(tree, path)
        if identity is not None:
            found.setdefault(identity, []).append(path)
    return found


def _said(error: SchemaParseError) -> str:
    inside = f" ({error.path})" if error.path else ""
    wanted = f"; expected {error.expected}" if error.expected else ""
    return f"{error.problem}{inside}{wanted}"


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> Problem:
    before = data[: error.start]
    line_start = before.rfind(b"\n") + 1
    column = len(before[line_start:].decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)) + 1
    text = f"byte 0x{data[error.start]:02x} is not UTF-8 ({error.reason}); a schema file is UTF-8 text"
    return Problem(text, Position(before.count(b"\n") + 1, column))
