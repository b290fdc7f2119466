"""The outline of a JSON schema: its ``$id``, the documents that it refers to, the files of these, its tags."""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext import read_json, read_tags, write_tags
from counterfoil.schema.languages.jsonschema.json_values import print_exact
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.references import FileReferences, Files, FileTarget, Outline, Use, distance, nearest
from counterfoil.schema.marks import Entity, EntityKind, TagEdit
from counterfoil.schema.texts import Pointer

# The outline of a JSON schema: its ``$id``, those of its parts, and the documents that it refers to.
#
# Source: the core specifications of draft-04 to 2020-12 (``id``, ``$id``, ``$ref``); RFC 3986 for relative references.

_DATA: Final = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose values are data and not schemas."""
_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords whose values are schemas by name; the names are not keywords."""
_REFERRING: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def outline(text: str) -> Outline | None:
    """Return the identifiers that a JSON schema has and refers to; None if it is not JSON or nested too deeply."""
    try:
        document = read_json(text)
        walk = _Walk(_id_keyword(document))
        walk.visit(document, "", ())
    except (SchemaParseError, RecursionError):
        return None
    own = {"", *walk.declared}
    used = tuple(Use(names, pointer) for names, pointer in walk.used.items() if names[0] not in own)
    return Outline(name=_name(document, walk.id_keyword), declared=frozenset(walk.declared), used=used)


@dataclass(slots=True)
class _Walk:
    """The walk over a document.

    ``used`` has, for each URI and text of a reference, the JSON Pointer of the first place.
    """

    id_keyword: str
    declared: set[str] = field(default_factory=set)
    used: dict[tuple[str, ...], Pointer] = field(default_factory=dict)

    def visit(self, node: object, base: str, pointer: Pointer) -> None:
        """Collect the identifiers at and below ``node``, whose references are relative to the URI ``base``."""
        if isinstance(node, list):
            for index, inner in enumerate(node):
                self.visit(inner, base, (*pointer, index))
        elif isinstance(node, dict):
            base = self._enter(node, base)
            for keyword in _REFERRING:
                self._use(node.get(keyword), base, (*pointer, keyword))
            for key, inner in node.items():
                below = (*pointer, key)
                if key in _BY_NAME and isinstance(inner, dict):
                    for name, schema in inner.items():
                        self.visit(schema, base, (*below, name))
                elif key not in _DATA:
                    self.visit(inner, base, below)

    def _enter(self, node: JsonObject, base: str) -> str:
        identity = node.get(self.id_keyword)
        if not isinstance(identity, str) or identity.startswith("#"):
            return base
        uri, _ = _join(base, identity)
        self.declared.add(uri)
        return uri

    def _use(self, reference: object, base: str, pointer: Pointer) -> None:
        if isinstance(reference, str) and not reference.startswith("#"):
            uri, text = _join(base, reference)
            self.used.setdefault((uri, text), pointer)


def _join(base: str, reference: str) -> tuple[str, str]:
    """Return the absolute URI of ``reference``, and its own text; both without fragment."""
    text = reference.partition("#")[0]
    try:
        return urldefrag(urljoin(base, reference) if base else reference)[0], text
    except ValueError:  # such as an IPv6 address without its bracket
        return text, text


def _id_keyword(document: object) -> str:
    dialect = document.get("$schema") if isinstance(document, dict) else None
    return "id" if isinstance(dialect, str) and "draft-04" in dialect else "$id"


def _name(document: object, id_keyword: str) -> str | None:
    """Return the schema's identifier, or else its title."""
    names = (document.get(keyword) for keyword in (id_keyword, "title")) if isinstance(document, dict) else ()
    return next((name for name in names if isinstance(name, str) and name), None)


# The files that JSON schemas refer to, by ``$id`` or relative path.

_LONGEST_NAME: Final = 255
"""The longest file name in bytes, as in file systems."""
_DRAFTS: Final = ("http://json-schema.org/", "https://json-schema.org/")
"""The addresses of the drafts' own schemas, which are built in."""


class _JsonReferences(FileReferences):
    """A reference is the file with its ``$id``, otherwise the one at its relative path."""

    may_refer_to_itself: Final = True
    may_be_paths: Final = True

    def target(self, use: Use, files: Files, *, asker: str, root: str) -> FileTarget | None:
        del root
        uri, text = use.names
        folder = posixpath.dirname(asker)
        for identity in (uri, text):
            paths = files.declaring(identity)
            if paths:
                return nearest(files, text, {path: distance(folder, posixpath.dirname(path)) for path in paths})
        place = _relative_place(text, folder)
        if place is not None and files.has(place):
            return FileTarget(text, (place,))
        return None if uri.startswith(_DRAFTS) else FileTarget(text)

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


# Tags of JSON schemas: ``confluent:tags`` of objects and properties.

_COMBINED: Final = ("allOf", "anyOf", "oneOf")


def find_tags(schema: JsonSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return every object and property with its tags, in the order of the text."""
    return read_tags(_declarations(schema.document))


def edit_tags(schema: JsonSchema, edit: TagEdit) -> str:
    """Return the canonical text with the tags changed."""
    document = copy.deepcopy(schema.document)
    write_tags(_declarations(document), edit)
    return print_exact(document)


def _declarations(node: object, around: str = "") -> Iterator[tuple[Entity, JsonObject]]:
    """Yield the objects and properties of a JSON schema, each with the JSON object that declares it.

    A path alternates kinds and names: ``object`` is the schema itself, ``object.lines.array.object.price`` a property
    of the items of an array.
    """
    if not isinstance(node, dict):
        return
    if node.get("type") == "object" or isinstance(node.get("properties"), dict):
        yield from _of_object(node, _below(around, "object"))
    if isinstance(node.get("items"), dict):
        yield from _declarations(node["items"], _below(around, "array"))
    for word in _COMBINED:
        branches = node.get(word)
        for index, branch in enumerate(branches if isinstance(branches, list) else ()):
            yield from _declarations(branch, _below(around, f"{word.lower()}.{index}"))


def _of_object(node: JsonObject, path: str) -> Iterator[tuple[Entity, JsonObject]]:
    yield Entity(path, EntityKind.RECORD), node
    properties = node.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if isinstance(inner, dict):
            yield Entity(f"{path}.{name}", EntityKind.FIELD), inner
            yield from _declarations(inner, f"{path}.{name}")


def _below(around: str, part: str) -> str:
    return f"{around}.{part}" if around else part
