"""The outline of an Avro schema: the types that it declares and uses, the files that these are in, and its tags."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext import print_json, read_json, read_tags, write_tags
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import PRIMITIVE_KINDS, AvroKind
from counterfoil.schema.languages.references import FileReferences, Files, FileTarget, Outline, Use
from counterfoil.schema.marks import Entity, EntityKind, TagEdit
from counterfoil.schema.texts import Pointer

# The outline of an Avro schema: the named types that it declares, and those that it uses.

_NAMED = frozenset({AvroKind.RECORD.value, "error", AvroKind.ENUM.value, AvroKind.FIXED.value})
_BUILT_IN = frozenset(kind.value for kind in PRIMITIVE_KINDS) | _NAMED | {AvroKind.ARRAY.value, AvroKind.MAP.value}


def outline(text: str) -> Outline | None:
    """Return the full names that an Avro schema declares and uses; None if it is not JSON or nested too deeply."""
    walk = _Walk()
    try:
        node = read_json(text)
        walk.visit(node, "", ())
    except (SchemaParseError, RecursionError):
        return None
    used = tuple(Use(names, pointer) for names, pointer in walk.used.items() if not walk.declared.intersection(names))
    return Outline(name=_top_level_name(node), declared=frozenset(walk.declared), used=used)


@dataclass(slots=True)
class _Walk:
    """The walk over a document; ``used`` has the possible names of each use, and the JSON Pointer of the first one."""

    declared: set[str] = field(default_factory=set)
    used: dict[tuple[str, ...], Pointer] = field(default_factory=dict)

    def visit(self, node: object, namespace: str, pointer: Pointer) -> None:
        """Collect the names at and below ``node``, which is at ``pointer`` inside ``namespace``."""
        if isinstance(node, str):
            self._use(node, namespace, pointer)
        elif isinstance(node, list):
            for index, branch in enumerate(node):
                self.visit(branch, namespace, (*pointer, index))
        elif isinstance(node, dict):
            self._visit_object(node, namespace, pointer)

    def _visit_object(self, node: JsonObject, namespace: str, pointer: Pointer) -> None:
        kind = node.get("type")
        if _is_named(node):
            full_name = _full_name(node, namespace)
            self.declared.add(full_name)
            namespace = full_name.rpartition(".")[0]
        elif not isinstance(kind, str) or kind not in _BUILT_IN:
            self.visit(kind, namespace, (*pointer, "type"))
        for key in ("items", "values"):
            self.visit(node.get(key), namespace, (*pointer, key))
        fields = node.get("fields")
        for index, declared in enumerate(fields if isinstance(fields, list) else ()):
            if isinstance(declared, dict):
                self.visit(declared.get("type"), namespace, (*pointer, "fields", index, "type"))

    def _use(self, name: str, namespace: str, pointer: Pointer) -> None:
        if name in _BUILT_IN:
            return
        qualified = f"{namespace}.{name}" if namespace and "." not in name else name
        self.used.setdefault((qualified,) if qualified == name else (qualified, name), pointer)


def _full_name(node: JsonObject, namespace: str) -> str:
    name = str(node["name"])
    if "." in name:
        return name
    own = node.get("namespace", namespace)
    return f"{own}.{name}" if own and isinstance(own, str) else name


def _top_level_name(node: object) -> str | None:
    return _full_name(node, "") if isinstance(node, dict) and _is_named(node) else None


def _is_named(node: JsonObject) -> bool:
    kind = node.get("type")
    return isinstance(kind, str) and kind in _NAMED and isinstance(node.get("name"), str)


# The files that Avro schemas refer to, by the full names of types.


class _AvroReferences(FileReferences):
    """A type is found in the file that declares it: first in the same folder, first as the file's top-level type."""

    names_identify_files: Final = False

    def target(self, use: Use, files: Files, *, asker: str, root: str) -> FileTarget | None:
        del root
        folder = posixpath.dirname(asker)
        for name in use.names:

            def distance(path: str, name: str = name) -> tuple[bool, bool, str]:
                names = files.outline(path)
                return (posixpath.dirname(path) != folder, names is None or names.name != name, path)

            paths = files.declaring(name)
            if paths:
                return FileTarget(name, (min(paths, key=distance),))
        return None  # the parser reports the position of the unknown name

    def missing(self, name: str) -> str:
        return f"no file here declares the type {name!r}"


REFERENCES: Final = _AvroReferences()


# Tags of Avro schemas: ``confluent:tags`` of records and fields.


def find_tags(schema: AvroSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return every record and field with its tags, in the order of the text."""
    return read_tags(_declarations(read_json(schema.canonical())))


def edit_tags(schema: AvroSchema, edit: TagEdit) -> str:
    """Return the canonical text with the tags changed."""
    document = read_json(schema.canonical())
    write_tags(_declarations(document), edit)
    return print_json(document)


def _declarations(node: object, namespace: str = "") -> Iterator[tuple[Entity, JsonObject]]:
    """Yield the records and fields of an Avro document, each with the JSON object that declares it."""
    if isinstance(node, list):
        for branch in node:
            yield from _declarations(branch, namespace)
    elif isinstance(node, dict):
        if node.get("type") in {"record", "error"}:
            yield from _of_record(node, namespace)
        for part in ("type", "items", "values"):
            yield from _declarations(node.get(part), namespace)


def _of_record(node: JsonObject, namespace: str) -> Iterator[tuple[Entity, JsonObject]]:
    name = str(node.get("name", ""))
    own = str(node.get("namespace", namespace)) if "." not in name else name.rpartition(".")[0]
    full = f"{own}.{name}" if own and "." not in name else name
    yield Entity(full, EntityKind.RECORD), node
    for each in node.get("fields", ()):
        yield Entity(f"{full}.{each['name']}", EntityKind.FIELD), each
        yield from _declarations(each.get("type"), own)
