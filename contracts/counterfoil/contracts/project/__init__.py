"""Schema files of one side (the working tree, a commit, a folder), read with their references to one another.

References are resolved among the files of the same side. Nothing is read from disk here: the files are passed in with
their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.contracts.project.languages import (
    MissingReference,
    ReferenceFault,
    ReferenceFinder,
    References,
    claiming_languages,
    has_known_suffix,
    language_in,
    language_of,
)
from counterfoil.schema.documents import CONFLICT, conflict_in
from counterfoil.schema.errors import InvalidSchema, SchemaParseError
from counterfoil.schema.languages.table import language_for, outline, parse_schema
from counterfoil.schema.model import ResolvedReference, SchemaType
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.languages.references import Outline


BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A schema file: its path, with ``/``, from the root of its side, and its bytes."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileProblem:
    """The reason why a file is no schema, and its position."""

    text: str
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class ReadSchema:
    """The result of reading a schema: ``schema``, or its ``problem``.

    ``content`` is its text and those of everything it refers to, with one kind of line end: equal content means equal
    schemas. ``references`` are what it refers to, ``missing`` its references that no file of its side has. ``label``
    names its origin, such as ``main@8c1f2e0`` or ``orders-value version 3``.
    """

    label: str
    path: str
    content: tuple[str, ...] = ()
    schema: ParsedSchema | None = None
    problem: FileProblem | None = None
    missing: tuple[MissingReference, ...] = ()
    has_byte_order_mark: bool = False
    references: tuple[ResolvedReference, ...] = ()


class SchemaTree:
    """The schema files of one side. ``label`` names the side; each file is parsed once, when it is requested.

    ``other`` returns the bytes of a file of the side that is not among ``files``, None if there is none; it is called
    for JSON that schemas refer to by relative path.
    """

    def __init__(
        self,
        files: Iterable[SchemaFile],
        *,
        label: str = "",
        validation: Validation,
        other: Callable[[str], bytes | None] | None = None,
    ) -> None:
        self.label = label
        self._validation = validation
        self._other = other
        self._file_by_path = {file.path: file for file in files}
        self._paths = tuple(sorted(self._file_by_path))
        self._text_by_path: dict[str, str] = {}
        self._language_by_path: dict[str, SchemaType] = {}
        self._outline_by_path: dict[str, Outline | None] = {}
        self._schema_by_path: dict[str, ReadSchema] = {}
        self._references_by_path: dict[str, References] = {}
        self._finder = ReferenceFinder(self)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all schema files, sorted."""
        return self._paths

    def has(self, path: str, schema_type: SchemaType) -> bool:
        """Return whether there is a schema file at ``path``, or any file with a name of the language."""
        if path not in self._file_by_path and self._other is not None and language_of(path) is schema_type:
            data = self._other(path)
            if data is not None:
                self._file_by_path[path] = SchemaFile(path, data)
        return path in self._file_by_path

    def data(self, path: str) -> bytes:
        """Return the bytes of the file at ``path``, which must exist."""
        return self._file_by_path[path].data

    def text(self, path: str) -> str:
        """Return the text of the file at ``path``, without byte order mark; raises ``UnicodeDecodeError``."""
        if path not in self._text_by_path:
            self._text_by_path[path] = self.data(path).decode().removeprefix(BYTE_ORDER_MARK)
        return self._text_by_path[path]

    def language(self, path: str) -> SchemaType:
        """Return the language of the file at ``path`` by its name; plain JSON that declares an Avro type is Avro.

        A file whose name shows no language may say it in its text: a ``$schema``, or a ``syntax`` of Protobuf.
        """
        if path not in self._language_by_path:
            self._language_by_path[path] = self._language(path)
        return self._language_by_path[path]

    def _language(self, path: str) -> SchemaType:
        if has_known_suffix(path) or path not in self._file_by_path:
            claims = (each for each in claiming_languages(path) if self._declares(path, each))
            return next(claims, language_of(path))
        return language_in(self.data(path)) or language_of(path)

    def outline(self, path: str) -> Outline | None:
        """Return the names in the file at ``path``; None if it is unreadable."""
        if path not in self._outline_by_path:
            try:
                self._outline_by_path[path] = outline(self.text(path), self.language(path))
            except UnicodeDecodeError:
                self._outline_by_path[path] = None
        return self._outline_by_path[path]

    def content(self, path: str) -> tuple[str, ...]:
        """Return the text at ``path`` and the texts it refers to, as in :class:`ReadSchema`; nothing is parsed."""
        try:
            texts = (self.text(path), *(known.text for known in self._references(path).found))
        except (UnicodeDecodeError, ReferenceFault):
            texts = (self.data(path).decode("utf-8", "replace"),)
        return tuple(text.replace("\r\n", "\n") for text in texts)

    def referred(self, path: str) -> Mapping[str, str]:
        """Return the paths of the files that the one at ``path`` refers to, directly or not, by reference name."""
        try:
            found = self._references(path).found
        except (UnicodeDecodeError, ReferenceFault):
            return {}
        return {known.reference.name: known.reference.subject for known in found}

    def direct_references(self, path: str) -> Mapping[str, str]:
        """Return the paths of the files that the one at ``path`` itself names, by reference name.

        In the order of :meth:`referred`.
        """
        direct = self._finder.direct(path)
        return {name: target for name, target in self.referred(path).items() if target in direct}

    def only(self, paths: Iterable[str]) -> SchemaTree:
        """Return the same side with the files at ``paths`` alone."""
        files = (self._file_by_path[path] for path in paths)
        return SchemaTree(files, label=self.label, validation=self._validation, other=self._other)

    def read(self, path: str) -> ReadSchema:
        """Return the schema in the file at ``path``, or its mistake."""
        if path not in self._schema_by_path:
            self._schema_by_path[path] = self._read(path)
        return self._schema_by_path[path]

    def _read(self, path: str) -> ReadSchema:
        data = self.data(path)
        schema, problem, references = None, None, References()
        try:
            references = self._references(path)
            schema = parse_schema(
                self.text(path), self.language(path), references=references.found, validation=self._validation
            )
        except UnicodeDecodeError as error:
            problem = _not_utf8(data, error)
        except ReferenceFault as fault:
            problem = FileProblem(fault.text, fault.position)
        except SchemaParseError as error:
            problem = (
                _conflict(self.text(path))
                or self._broken_reference(path, references)
                or FileProblem(_problem_text(error), error.position)
            )
        except InvalidSchema as error:
            problem = FileProblem(error.message)
        return ReadSchema(
            label=self.label,
            path=path,
            content=self.content(path),
            schema=schema,
            problem=_in_our_words(problem, references),
            missing=references.missing,
            references=references.found,
            has_byte_order_mark=data.startswith(BYTE_ORDER_MARK.encode()),
        )

    def _broken_reference(self, path: str, references: References) -> FileProblem | None:
        """Return the first invalid file that the one at ``path`` refers to, if nothing else is wrong with it."""
        language = self.language(path)
        if not references.found or not language_for(language).references.names_identify_files:
            return None  # without names of files, the parser itself reports the position
        try:
            parse_schema(self.text(path), language, validation=Validation.LENIENT)
        except InvalidSchema:
            return None
        for other, entry in references.entries.items():
            fault = self.read(other).problem if other != path else None
            if fault is not None:
                where = f"{other}:{fault.position}" if fault.position else other
                return FileProblem(
                    f"it refers to {where}, which is invalid: {fault.text}", entry.position(self.text(path))
                )
        return None

    def _references(self, path: str) -> References:
        if path not in self._references_by_path:
            self._references_by_path[path] = self._finder.find(path)
        return self._references_by_path[path]

    def _declares(self, path: str, schema_type: SchemaType) -> bool:
        try:
            names = outline(self.text(path), schema_type)
        except UnicodeDecodeError:
            return False
        return names is not None and names.name is not None


def _in_our_words(problem: FileProblem | None, references: References) -> FileProblem | None:
    """Return the problem, with the text of the missing reference at its position if there is one."""
    at_place = [one for one in references.missing if problem and problem.position in {one.position, None}]
    return FileProblem(at_place[0].text, at_place[0].position) if at_place else problem


def _conflict(text: str) -> FileProblem | None:
    """Return the problem of a file in which git has left the markers of a conflict."""
    place = conflict_in(text)
    return None if place is None else FileProblem(CONFLICT, place)


def _problem_text(error: SchemaParseError) -> str:
    inside = f" ({error.path})" if error.path else ""
    wanted = f"; expected {error.expected}" if error.expected else ""
    return f"{error.problem}{inside}{wanted}"


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> FileProblem:
    before = data[: error.start]
    line_start = before.rfind(b"\n") + 1
    column = len(before[line_start:].decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)) + 1
    text = f"byte 0x{data[error.start]:02x} is not UTF-8 ({error.reason}); a schema file is UTF-8 text"
    return FileProblem(text, Position(before.count(b"\n") + 1, column))
