"""What normalising changes, and what it refuses."""

from __future__ import annotations

import pytest

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import Reference, ResolvedReference


def _record(field: str, head: str = '"name":"R"') -> str:
    return f'{{"type":"record",{head},"fields":[{{"name":"a",{field}}}]}}'


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        (_record('"type":"double","default":1'), _record('"type":"double","default":1.0')),
        (_record('"type":"float","default":3.14159265358979'), _record('"type":"float","default":3.1415927')),
        (_record('"type":"long","default":1'), _record('"type":"long","default":1')),
        (_record('"type":["double","null"],"default":1'), _record('"type":["double","null"],"default":1.0')),
        (
            _record('"type":{"type":"map","values":"float"},"default":{"b":2,"a":1}'),
            _record('"type":{"type":"map","values":"float"},"default":{"a":1.0,"b":2.0}'),
        ),
        (_record('"type":"int","doc":""'), _record('"type":"int","doc":""')),
        (_record('"type":"int"', '"name":"R","doc":""'), _record('"type":"int"')),
        (_record('"type":"int","order":"ASCENDING"'), _record('"type":"int"')),
        (_record('"type":"int","aliases":["c","b"]'), _record('"type":"int","aliases":["b","c"]')),
        (
            '{"type":"fixed","name":"a.F","size":1,"aliases":["z","b.C","B"]}',
            '{"type":"fixed","name":"F","namespace":"a","size":1,"aliases":["B","z","b.C"]}',
        ),
        (
            '{"type":"bytes","a":1,"scale":0,"precision":3,"logicalType":"decimal"}',
            '{"type":"bytes","logicalType":"decimal","precision":3,"a":1,"scale":0}',
        ),
        (
            '{"type":"bytes","a":1,"scale":1,"precision":3,"logicalType":"decimal"}',
            '{"type":"bytes","logicalType":"decimal","precision":3,"scale":1,"a":1}',
        ),
        (
            '{"type":"int","x":1,"avro.java.string":"String","logicalType":"date"}',
            '{"type":"int","avro.java.string":"String","logicalType":"date","x":1}',
        ),
        (
            '{"type":"int","logicalType":"unknown","a":{"c":[{"e":1,"d":2}],"b":1}}',
            '{"type":"int","a":{"b":1,"c":[{"d":2,"e":1}]},"logicalType":"unknown"}',
        ),
    ],
)
def test_one_spelling_for_one_content(text: str, normalized: str) -> None:
    assert parse_avro(text).normalized() == normalized


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (_record('"type":["null","int"],"default":1'), '"default":1'),
        (_record('"type":{"type":"array","items":["null","int"]},"default":[null,1]'), '"default":[null,1]'),
        (_record('"type":"float","default":1e39'), '"default":1.0E39'),
        (_record('"type":"bytes","default":"ł"'), '"default":"ł"'),
        (_record('"type":"double","default":"NaN"'), '"default":"NaN"'),
        (_record('"type":"double","default":12345678901'), '"default":12345678901'),
    ],
)
def test_defaults_are_never_lost(text: str, kept: str) -> None:
    assert kept in parse_avro(text).normalized()


def test_the_null_namespace_inside_another_goes_as_it_does_in_the_reference() -> None:
    inner = '{"type":"fixed","name":"F","namespace":"","size":1}'
    schema = parse_avro(_record(f'"type":{inner}', '"name":"R","namespace":"a"'))
    assert '"namespace":""' in schema.canonical()
    assert parse_avro(schema.normalized()).named.keys() == {"a.R", "a.F"}


COLLISION = (
    '["null",{"type":"fixed","name":"F","size":1},{"type":"record","name":"a.R","fields":['
    '{"name":"x","type":{"type":"fixed","name":"a.F","size":1}},'
    '{"name":"y","type":{"type":"fixed","name":"G","namespace":"","size":1}},'
    '{"name":"z","type":{"type":"fixed","name":"a.G","size":1}}]}]'
)


@pytest.mark.parametrize(
    ("text", "path", "fragment"),
    [
        ('{"type":"int","x":[12345678901234567890]}', "", '{"type":"int"'),
        (_record('"type":"int","x":9223372036854775808'), "/fields/0", '{"name":"a"'),
        (
            _record('"type":{"type":"record","name":"I","fields":[]},"default":{"no":1}'),
            "/fields/0/default",
            '{"no":1}',
        ),
        (COLLISION, "/2/fields/2/type/name", '"a.G"'),
    ],
    ids=["property", "field-property", "default", "names"],
)
def test_what_has_no_normal_form_is_refused_with_its_place(text: str, path: str, fragment: str) -> None:
    schema = parse_avro(text)
    with pytest.raises(SchemaParseError) as caught:
        schema.normalized()
    place = caught.value.position
    assert caught.value.path == path
    assert place is not None
    assert text[place.column - 1 :].startswith(fragment)


def test_types_of_references_stay_names() -> None:
    item = ResolvedReference(
        Reference("Item", "item", 1), '{"type":"fixed","name":"ns.Item","size":1,"aliases":["b","a"]}'
    )
    schema = parse_avro('{"type":"array","items":"ns.Item","b":1,"a":2}', [item])
    assert schema.normalized() == '{"type":"array","items":"ns.Item","a":2,"b":1}'
