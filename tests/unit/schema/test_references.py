"""The references of a registered schema, and theirs: once each, in an order in which they can be read."""

import pytest

from counterfoil.schema.languages.table import resolved_references
from counterfoil.schema.model import Reference, Schema, SchemaType


def found_names(schema, texts):
    requested = []

    def fetch(reference):
        requested.append(reference.subject)
        return texts[reference.subject]

    found = resolved_references(schema, fetch)
    assert sorted(requested) == sorted(each.reference.subject for each in found)
    return [each.reference.name for each in found]


def test_a_schema_stands_after_those_that_it_needs():
    texts = {"b": Schema("b", references=(Reference("C", "c", 1),)), "c": Schema("c")}
    assert found_names(Schema("a", references=(Reference("B", "b", 1), Reference("C", "c", 1))), texts) == ["C", "B"]


@pytest.mark.parametrize(
    ("language", "names"),
    [(SchemaType.AVRO, ["one"]), (SchemaType.JSON, ["one", "two"]), (SchemaType.PROTOBUF, ["one", "two"])],
)
def test_a_version_with_two_names_is_there_for_each_name_of_a_file(language, names):
    references = (Reference("one", "a", 1), Reference("two", "a", 1))
    assert found_names(Schema("s", language, references=references), {"a": Schema("a", language)}) == names
