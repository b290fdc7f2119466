"""The language of a schema file, by the end of its name."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.table import FORMATS
from counterfoil.schema.model import DEFAULT_TYPE, SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    suffix: language.schema_type for language in FORMATS for suffix in language.file_suffixes
}
"""The suffixes of schema files, and the language of each."""

_TYPE_BY_PLAIN_SUFFIX: Final[Mapping[str, SchemaType]] = {
    suffix: language.schema_type for language in FORMATS for suffix in language.plain_suffixes
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
    """Return whether JSON with any content is a schema by what it contains; also for what is not JSON at all.

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
    return [each.schema_type for each in FORMATS if path.lower().endswith(tuple(each.claimed_suffixes))]


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
