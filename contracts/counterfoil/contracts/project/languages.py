"""The language of a schema file, by its name and content, the files that it refers to, and the YAML files beside it."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urljoin

from counterfoil.schema.languages.references import FileReferences, Files, FileTarget
from counterfoil.schema.languages.table import SCHEMA_LANGUAGES, language_for
from counterfoil.schema.model import DEFAULT_TYPE, Reference, ResolvedReference, SchemaType
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.languages.references import Outline, Use


# The language of a schema file, by the end of its name.

_META_SCHEMA: Final = re.compile(r"https?://(json-schema\.org|spec\.openapis\.org)/\S*")
_DECLARATION: Final = re.compile(r'"\$schema"\s*:\s*"([^"\\]*)"')
_PROTOBUF: Final = re.compile(rb"^\s*(syntax|edition)\s*=\s*[\"']", re.MULTILINE)
_SEARCHED_BYTES: Final = 65_536
_JSON_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
_AVRO_TYPES: Final = ("record", "enum", "fixed", "map", "int", "long", "float", "double", "bytes")
_TYPE_NAMES: Final = frozenset((*_JSON_TYPES, *_AVRO_TYPES))
"""The types that a JSON schema, or an Avro schema, may have at its top."""
_SUBJECT_ENDS: Final = ("-key", "-value")

TYPE_BY_SUFFIX: Final[Mapping[str, SchemaType]] = {
    suffix: language.schema_type for language in SCHEMA_LANGUAGES for suffix in language.file_suffixes
}
"""The suffixes of schema files, and the language of each."""

_TYPE_BY_PLAIN_SUFFIX: Final[Mapping[str, SchemaType]] = {
    suffix: language.schema_type for language in SCHEMA_LANGUAGES for suffix in language.plain_suffixes
}
"""The suffixes of files with any content, which are schemas only if they are named explicitly."""

AGREEMENT_SUFFIXES: Final = (".odcs.yaml", ".odcs.yml", ".odps.yaml", ".odps.yml")
"""The ends of the names of contract and product files."""


def has_schema_suffix(path: str) -> bool:
    """Return whether the file's name has the suffix of a schema, in any case of letters.

    >>> has_schema_suffix("shop/order.proto"), has_schema_suffix("ORDER.AVSC"), has_schema_suffix("package.json")
    (True, True, False)
    """
    return path.lower().endswith(tuple(TYPE_BY_SUFFIX))


def is_plain(path: str) -> bool:
    """Return whether the file is one with any content: JSON without the suffix of a schema."""
    return path.lower().endswith(tuple(_TYPE_BY_PLAIN_SUFFIX)) and not has_schema_suffix(path)


def looks_like_schema(data: bytes) -> bool:
    """Return whether JSON with any content is a schema by its members; False for a text that is no JSON.

    >>> looks_like_schema(b'{"type": "object"}'), looks_like_schema(b'{"name": "shop", "version": 2}')
    (True, False)
    """
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return True
    if not isinstance(value, dict):
        return False
    types = value.get("type")
    named = {each for each in (types if isinstance(types, list) else [types]) if isinstance(each, str)}
    members = value.get("properties")
    return (
        bool(named & _TYPE_NAMES)
        or any(isinstance(value.get(key), str) for key in ("$id", "$ref"))
        or _META_SCHEMA.fullmatch(str(value.get("$schema", ""))) is not None
        or (isinstance(members, dict) and all(isinstance(each, dict | bool) for each in members.values()))
        or any(isinstance(value.get(key), list) for key in ("allOf", "anyOf", "oneOf", "enum"))
    )


def says_it_is_schema(data: bytes) -> bool:
    """Return whether JSON names the draft of JSON Schema that it is written in; only its first part is searched.

    >>> says_it_is_schema(b'{"$schema": "http://json-schema.org/draft-07/schema#"}'), says_it_is_schema(b"{}")
    (True, False)
    """
    found = _DECLARATION.search(data[:_SEARCHED_BYTES].decode("utf-8", "replace"))
    return found is not None and _META_SCHEMA.fullmatch(found[1]) is not None


def has_known_suffix(path: str) -> bool:
    """Return whether the file's name says which language it may be in."""
    return path.lower().endswith((*TYPE_BY_SUFFIX, *_TYPE_BY_PLAIN_SUFFIX))


def language_in(data: bytes) -> SchemaType | None:
    r"""Return the language that a text says it is in; None if it says none.

    >>> language_in(b'// orders\nsyntax = "proto3";'), language_in(b'{"type": "string"}')
    (<SchemaType.PROTOBUF: 'PROTOBUF'>, None)
    """
    if says_it_is_schema(data):
        return SchemaType.JSON
    return SchemaType.PROTOBUF if _PROTOBUF.search(data[:_SEARCHED_BYTES]) else None


def claiming_languages(path: str) -> list[SchemaType]:
    """Return the languages of which a plain file is if it declares a name in them."""
    if not is_plain(path):
        return []
    return [each.schema_type for each in SCHEMA_LANGUAGES if path.lower().endswith(tuple(each.claimed_suffixes))]


def language_of(path: str) -> SchemaType:
    """Return the language of the schema in a file.

    Plain JSON is JSON Schema, and a file without a known suffix is Avro.
    """
    known = {**TYPE_BY_SUFFIX, **_TYPE_BY_PLAIN_SUFFIX}
    return next((schema_type for suffix, schema_type in known.items() if path.lower().endswith(suffix)), DEFAULT_TYPE)


def stem_of(path: str) -> str:
    """Return the file's name without folder and without the suffix of a schema.

    >>> stem_of("a/orders-value.schema.json")
    'orders-value'
    """
    name = posixpath.basename(path)
    for suffix in (*TYPE_BY_SUFFIX, *_TYPE_BY_PLAIN_SUFFIX):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def subject_in_name(path: str) -> str | None:
    """Return the subject that the file is named after: its stem, if that ends in ``-key`` or ``-value``.

    >>> subject_in_name("a/orders-value.proto"), subject_in_name("b/order.avsc")
    ('orders-value', None)
    """
    stem = stem_of(path)
    return stem if stem.endswith(_SUBJECT_ENDS) else None


# The files of the same side that a schema file refers to, found by the names that it uses.
#
# Each language defines how (:mod:`counterfoil.schema.languages.table`): Avro types are found by their full names,
# Protobuf files by their import paths, JSON schemas by ``$id`` or relative path. If several files match, the nearest
# one is used.

_DEEPEST: Final = 100
"""The longest permitted chain of files that refer to each other."""


class FilesOfSide(Protocol):
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

    def has(self, path: str, schema_type: SchemaType) -> bool:
        """Return whether there is a schema file at ``path``, or any file with a name of the language."""


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


class ReferenceFinder:
    """Finds the references of the files of ``side``. What it reads of the side is cached."""

    def __init__(self, side: FilesOfSide) -> None:
        self.side = side
        self._paths_by_name: dict[SchemaType, dict[str, list[str]]] = {}

    def find(self, path: str) -> References:
        """Return the files that the one at ``path`` refers to, directly or not.

        Raises ``ReferenceFault``.
        """
        collection = _Collection(self, path, self.side.language(path))
        collection.visit(path, (path,))
        return References(tuple(collection.found.values()), tuple(collection.missing), collection.entries)

    def direct(self, path: str) -> set[str]:
        """Return the paths of the files that the one at ``path`` itself names."""
        names, language = self.side.outline(path), self.side.language(path)
        rules, files = language_for(language).references, self.seen_by(language)
        targets = [rules.target(use, files, asker=path, root=path) for use in (names.used if names else ())]
        return {target.paths[0] for target in targets if target and len(target.paths) == 1} - {path}

    def seen_by(self, schema_type: SchemaType) -> Files:
        """Return the files as those of one language see them."""
        return _FilesOf(self, schema_type)

    def declared(self, schema_type: SchemaType) -> Mapping[str, list[str]]:
        """Return the paths of the files of a language by the names that they declare."""
        if schema_type not in self._paths_by_name:
            found = self._paths_by_name[schema_type] = {}
            for path in self.side.paths:
                names = self.side.outline(path) if self.side.language(path) is schema_type else None
                for name in names.declared if names else ():
                    found.setdefault(name, []).append(path)
        return self._paths_by_name[schema_type]

    @cached_property
    def paths_by_last_step(self) -> Mapping[str, list[str]]:
        """The paths of all files by their last step."""
        found: dict[str, list[str]] = {}
        for path in self.side.paths:
            found.setdefault(posixpath.basename(path), []).append(path)
        return found


@dataclass(frozen=True, slots=True)
class _FilesOf:
    """The :class:`~counterfoil.schema.languages.references.Files` of a finder for one language."""

    finder: ReferenceFinder
    schema_type: SchemaType

    def declaring(self, name: str) -> Sequence[str]:
        return self.finder.declared(self.schema_type).get(name, ())

    def called(self, name: str) -> Sequence[str]:
        return self.finder.paths_by_last_step.get(name, ())

    def has(self, path: str) -> bool:
        return self.finder.side.has(path, self.schema_type)

    def outline(self, path: str) -> Outline | None:
        return self.finder.side.outline(path)

    def data(self, path: str) -> bytes:
        return self.finder.side.data(path)


@dataclass(slots=True)
class _Collection:
    """The files that the one at ``root`` needs, as far as they were found.

    The key of ``found`` is the reference's name if it identifies the file, else the file's path.
    """

    finder: ReferenceFinder
    root: str
    schema_type: SchemaType
    found: dict[str, ResolvedReference] = field(default_factory=dict)
    missing: list[MissingReference] = field(default_factory=list)
    entries: dict[str, Use] = field(default_factory=dict)

    @property
    def rules(self) -> FileReferences:
        """How the files of the root's language refer to one another."""
        return language_for(self.schema_type).references

    def visit(self, path: str, way: tuple[str, ...], entry: Use | None = None) -> None:
        """Collect the files that ``path`` needs; ``way`` is the path to it and begins at ``entry`` in the root."""
        names = self.finder.side.outline(path)
        files = self.finder.seen_by(self.schema_type)
        for use in names.used if names else ():
            first = entry or use
            target = self.rules.target(use, files, asker=path, root=self.root)
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
        key = name if self.rules.names_identify_files else target
        if key in self.found:
            return
        is_itself = target == way[-1] and self.rules.may_refer_to_itself
        if not is_itself:
            self._refuse_circles(target, way, entry)
            self.visit(target, (*way, target), entry)
        try:
            text = side.text(target)
        except UnicodeDecodeError:
            raise ReferenceFault(f"{target}, which is referred to, is not UTF-8 text", self._position(entry)) from None
        self.found[key] = ResolvedReference(Reference(name=name, subject=target, version=1), text)
        self.entries.setdefault(target, entry)

    def _free_name(self, target: FileTarget, use: Use, asker: str) -> str:
        """Return the name of a reference: the text that is used, or the whole URI if that text means two files."""
        known = self.found.get(target.name)
        if known is None or known.reference.subject == target.paths[0] or len(use.names) == 1:
            return target.name
        uri, text = use.names
        return uri if uri != text else urljoin(posixpath.relpath(asker, posixpath.dirname(self.root) or "."), text)

    def _lacks(self, name: str, asker: str) -> str:
        by = "" if asker == self.root else f", which {asker} refers to"
        return f"{self.rules.missing(name)}{by}"

    def _refuse_circles(self, target: str, way: tuple[str, ...], entry: Use) -> None:
        if target in way:
            circle = (*way[way.index(target) :], target)
            fault = f"the files refer to one another in a circle: {' → '.join(circle)}"
            raise ReferenceFault(fault, self._position(entry))
        if len(way) > _DEEPEST:
            raise ReferenceFault(f"more than {_DEEPEST} files refer to one another in a row", self._position(entry))


# The YAML files of one side of a comparison, among which are its contract and product files.

YAML_SUFFIXES: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class YamlFiles:
    """The paths of the files, sorted, and the function that reads several of them."""

    paths: tuple[str, ...]
    contents: Callable[[Sequence[str]], Mapping[str, bytes]]


def is_yaml(path: str) -> bool:
    """Return whether a file is YAML by its name."""
    return path.endswith(YAML_SUFFIXES)
