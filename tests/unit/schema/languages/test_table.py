"""The table of schema languages: complete, consistent in itself, and light to import."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema.entity import TagEdit
from counterfoil.schema.languages.table import SCHEMA_LANGUAGES, language_for
from counterfoil.schema.marks import FieldTags
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.languages.language import SchemaLanguage
    from counterfoil.schema.parsed import ParsedSchema

TEXTS = {
    SchemaType.AVRO: '{"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]}',
    SchemaType.PROTOBUF: 'syntax = "proto3"; message A { int32 x = 1; }',
    SchemaType.JSON: '{"title": "A", "type": "object", "properties": {"x": {"type": "integer"}}}',
}
CALLS: dict[str, Callable[[SchemaLanguage, ParsedSchema], object]] = {
    "find_differences": lambda language, schema: language.find_differences(schema, schema),
    "find_changes": lambda language, schema: language.find_changes(schema, schema),
    "confirm_compatible": lambda language, schema: language.confirm_compatible(schema, schema, 1),
    "table_column": lambda language, schema: language.table_column(schema),
    "find_tags": lambda language, schema: language.find_tags(schema),
    "edit_tags": lambda language, schema: language.edit_tags(schema, TagEdit()),
    "places": lambda language, schema: language.places(schema, FieldTags({}, {})),
}


def schema_in(schema_type: SchemaType) -> ParsedSchema:
    return parse_schema(TEXTS[schema_type], schema_type)


@pytest.mark.parametrize("schema_type", SchemaType)
def test_the_table_has_every_language(schema_type: SchemaType) -> None:
    assert language_for(schema_type).schema_type is schema_type


def test_a_file_suffix_stands_for_one_language() -> None:
    suffixes = [suffix for language in SCHEMA_LANGUAGES for suffix in language.file_suffixes]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize("schema_type", SchemaType)
@pytest.mark.parametrize("call", CALLS)
def test_every_method_takes_schemas_of_its_own_language_only(call: str, schema_type: SchemaType) -> None:
    CALLS[call](language_for(schema_type), schema_in(schema_type))
    for other in set(SchemaType) - {schema_type}:
        with pytest.raises(TypeError, match=f"must be of the language {schema_type}, not {other}"):
            CALLS[call](language_for(schema_type), schema_in(other))


@pytest.mark.parametrize("schema_type", SchemaType)
def test_an_outline_names_what_the_parsed_schema_is_called(schema_type: SchemaType) -> None:
    outline = language_for(schema_type).outline(TEXTS[schema_type])
    assert outline is not None
    assert outline.name == schema_in(schema_type).name == "A"


def test_the_table_loads_no_language() -> None:
    program = "import sys, counterfoil.schema.languages.table; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = [name for name in done.stdout.split() if name.startswith("counterfoil.schema.languages.")]
    assert [name for name in loaded if name.count(".") > 3] == []
