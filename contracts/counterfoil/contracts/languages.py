"""Which language a schema file is written in: by the end of its name."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.table import FORMATS
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPE_BY_SUFFIX: Final[Mapping[str, SchemaType]] = {
    suffix: language.schema_type for language in FORMATS for suffix in language.file_suffixes
}
"""How the names of schema files end, and the language of each."""

PLAIN_JSON: Final = ".json"
"""Anything may be in such a file, so it counts as a schema only where somebody names it."""


def has_schema_suffix(path: str) -> bool:
    """Whether the file's name says that it holds a schema.

    >>> has_schema_suffix("shop/order.proto"), has_schema_suffix("package.json")
    (True, False)
    """
    return path.endswith(tuple(TYPE_BY_SUFFIX))


def is_plain_json(path: str) -> bool:
    """Whether the file is JSON whose name does not say that it is a schema."""
    return path.endswith(PLAIN_JSON) and not has_schema_suffix(path)


def language_of(path: str) -> SchemaType:
    """The language of the schema in a file; a name that says nothing stands for Avro, plain JSON for JSON Schema."""
    for suffix, schema_type in TYPE_BY_SUFFIX.items():
        if path.endswith(suffix):
            return schema_type
    return SchemaType.JSON if is_plain_json(path) else SchemaType.AVRO


def stem_of(path: str) -> str:
    """The file's name without folder and without the suffix of a schema.

    >>> stem_of("a/orders-value.schema.json")
    'orders-value'
    """
    name = posixpath.basename(path)
    for suffix in (*TYPE_BY_SUFFIX, PLAIN_JSON):
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name
