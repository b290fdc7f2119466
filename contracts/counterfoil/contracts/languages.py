"""The language of a schema file, by the end of its name."""

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
"""The suffixes of schema files, and the language of each."""

PLAIN_JSON: Final = ".json"
"""The suffix of files with any content, which are schemas only if they are named explicitly."""


def has_schema_suffix(path: str) -> bool:
    """Return whether the file's name has the suffix of a schema.

    >>> has_schema_suffix("shop/order.proto"), has_schema_suffix("package.json")
    (True, False)
    """
    return path.endswith(tuple(TYPE_BY_SUFFIX))


def is_plain_json(path: str) -> bool:
    """Return whether the file is JSON without the suffix of a schema."""
    return path.endswith(PLAIN_JSON) and not has_schema_suffix(path)


def language_of(path: str) -> SchemaType:
    """Return the language of the schema in a file.

    Plain JSON is JSON Schema, and a file without a known suffix is Avro.
    """
    for suffix, schema_type in TYPE_BY_SUFFIX.items():
        if path.endswith(suffix):
            return schema_type
    return SchemaType.JSON if is_plain_json(path) else SchemaType.AVRO


def stem_of(path: str) -> str:
    """Return the file's name without folder and without the suffix of a schema.

    >>> stem_of("a/orders-value.schema.json")
    'orders-value'
    """
    name = posixpath.basename(path)
    for suffix in (*TYPE_BY_SUFFIX, PLAIN_JSON):
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name
