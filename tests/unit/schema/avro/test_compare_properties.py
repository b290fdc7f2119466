"""What holds for any pair of schemas, and agreement with two implementations that are not ours."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import avro.compatibility
import avro.schema
import fastavro
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.judgement import check_compatibility, search_for_witness
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro
from strategies.avro.data import avro_data
from strategies.avro.edits import avro_pairs
from strategies.avro.schemas import avro_records, avro_schemas

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


@given(avro_schemas())
def test_a_schema_reads_itself(text: str):
    assert find_differences(parse_avro(text), parse_avro(text)) == []


@given(avro_pairs())
def test_full_is_backward_and_forward(pair: tuple[str, str]):
    candidate, earlier = (parse_avro(text) for text in pair)
    verdicts = {
        level: check_compatibility(candidate, [Earlier(earlier)], level).is_compatible for level in CompatibilityLevel
    }
    assert verdicts[CompatibilityLevel.FULL] == (
        verdicts[CompatibilityLevel.BACKWARD] and verdicts[CompatibilityLevel.FORWARD]
    )
    assert verdicts[CompatibilityLevel.NONE]
    assert verdicts[CompatibilityLevel.BACKWARD] == (not find_differences(candidate, earlier))
    assert verdicts[CompatibilityLevel.FORWARD] == (not find_differences(earlier, candidate))


@given(avro_records())
def test_a_field_with_a_default_may_come_and_go(text: str):
    more = json.loads(text)
    more["fields"].append({"name": "added", "type": "string", "default": ""})
    assert find_differences(parse_avro(json.dumps(more)), parse_avro(text)) == []
    assert find_differences(parse_avro(text), parse_avro(json.dumps(more))) == []


@given(avro_pairs())
def test_the_verdict_does_not_depend_on_what_was_compared_before(pair: tuple[str, str]):
    reader, writer = (parse_avro(text) for text in pair)
    first = find_differences(reader, writer)
    find_differences(writer, reader)
    assert find_differences(reader, writer) == first


@pytest.mark.filterwarnings("ignore:Unknown local-timestamp")  # Apache's library does not know these; no matter here
@given(avro_pairs())
def test_apache_avro_for_python_finds_the_same(pair: tuple[str, str]):
    reader, writer = (parse_avro(text) for text in pair)
    assume(not _differs_in_apache_python(reader))
    checker = avro.compatibility.ReaderWriterCompatibilityChecker()
    theirs = checker.get_compatibility(avro.schema.parse(pair[0]), avro.schema.parse(pair[1]))
    ours = find_differences(reader, writer)
    is_compatible = theirs.compatibility is avro.compatibility.SchemaCompatibilityType.compatible
    assert is_compatible == (ours == [])
    assert {found.name.upper() for found in theirs.incompatibilities} == {found.error_type for found in ours}


def _differs_in_apache_python(reader: AvroSchema) -> bool:
    """It compares an alias as written, without namespace, with the writer's full name; the specification resolves it.

    It also takes the direct name where a field matches twice, which Java refuses (no pair here has such a field).
    """
    return any(node.namespace and node.aliases for node in reader.named.values())


@pytest.mark.slow
@given(avro_pairs(), st.data())
def test_what_is_compatible_decodes(pair: tuple[str, str], data: st.DataObject):
    reader, writer = (parse_avro(_without_logical_types(text)) for text in pair)
    assume(not find_differences(reader, writer))
    datum = data.draw(avro_data(writer))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, json.loads(writer.text), datum)
    body.seek(0)
    try:
        fastavro.schemaless_reader(body, json.loads(writer.text), json.loads(reader.text))
    except UnicodeDecodeError:
        assume(False)  # noqa: FBT003 - bytes resolve to string whatever they hold; not all of them are UTF-8


def _without_logical_types(text: str) -> str:
    """Logical types have no part in resolution, and values that their Python types cannot hold."""
    return json.dumps(_strip(json.loads(text)))


def _strip(node: object) -> object:
    if isinstance(node, list):
        return [_strip(item) for item in node]
    if isinstance(node, dict):
        return {key: _strip(value) for key, value in node.items() if key not in ("logicalType", "precision", "scale")}
    return node


@given(avro_pairs())
def test_every_difference_but_the_name_of_a_record_has_a_witness(pair: tuple[str, str]):
    reader, writer = (parse_avro(text) for text in pair)
    for difference in find_differences(reader, writer):
        found = search_for_witness(reader, writer, difference)
        if not found:
            assert found.reason.startswith("only names of records differ, and decoders that go by structure")
