"""What must hold of every schema language, whatever its rules are.

A language is one entry in ``LANGUAGES``: how its schemas, and pairs of them, are drawn, and how a field that may be
absent is added to one. The examples are the same on each run; COUNTERFOIL_EXAMPLES asks for so many others.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from counterfoil.schema.compatibility.policies import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.judgement import check_compatibility, confirm_compatible
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from strategies.avro.edits import avro_pairs, edited
from strategies.avro.schemas import avro_documents, avro_records, avro_schemas
from strategies.json_schema.pairs import URI_BY_DRAFT, changed, random_object, schema_pairs
from strategies.json_schema.schemas import json_schema_texts, json_schemas
from strategies.protobuf.edits import protobuf_histories, protobuf_pairs, protobuf_records, with_an_optional_field
from strategies.protobuf.schemas import protobuf_schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.parsed import ParsedSchema

VALUES = 200
EXAMPLES = settings(derandomize="COUNTERFOIL_EXAMPLES" not in os.environ)
TRANSITIVE = [level for level in CompatibilityLevel if level.is_transitive]


@dataclass(frozen=True)
class Language:
    """One schema language, as these tests need it.

    ``pairs`` draws reader and writer; ``histories`` a few versions of one schema, newest first; ``extended`` adds a
    field that a writer need not have written to one of ``records``.
    """

    schema_type: SchemaType
    texts: st.SearchStrategy[str]
    pairs: st.SearchStrategy[tuple[str, str]]
    histories: st.SearchStrategy[list[str]]
    records: st.SearchStrategy[str]
    extended: Callable[[str], str]

    def parse(self, text: str) -> ParsedSchema:
        return parse_schema(text, self.schema_type)

    def differences(
        self, reader: str, writer: str, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Any]:
        return language_for(self.schema_type).find_differences(self.parse(reader), self.parse(writer), policy=policy)


@st.composite
def avro_histories(draw: st.DrawFn) -> list[str]:
    document = draw(avro_documents(distinct_unions=True))
    versions = [document, *(draw(edited(document, max_edits=2)) for _ in range(draw(st.integers(1, 4))))]
    texts = [json.dumps(version) for version in versions]
    return [text for text in texts if _is_avro(text)]


def _is_avro(text: str) -> bool:
    try:
        parse_schema(text)
    except InvalidSchema:
        return False
    return True


def avro_with_a_defaulted_field(text: str) -> str:
    document = json.loads(text)
    document["fields"].append({"name": "added", "type": "string", "default": ""})
    return json.dumps(document)


def json_pairs() -> st.SearchStrategy[tuple[str, str]]:
    """One pair for each number, dumped."""
    pairs = st.integers(0, 2**32).map(lambda number: next(schema_pairs(Random(number), 20)))
    return pairs.map(lambda pair: (json.dumps(pair[0]), json.dumps(pair[1])))


@st.composite
def json_histories(draw: st.DrawFn) -> list[str]:
    random = Random(draw(st.integers(0, 2**32)))
    document = {"$schema": URI_BY_DRAFT[7], **random_object(random, 7)}
    versions = [document, *(changed(random, document, 7) for _ in range(draw(st.integers(1, 3))))]
    return [json.dumps(version) for version in versions]


def json_records() -> st.SearchStrategy[str]:
    """Closed objects: an open one may hold anything under a name that was not declared before."""
    properties = st.dictionaries(st.sampled_from("abcd"), json_schemas(), max_size=3)
    return properties.map(
        lambda inner: json.dumps(
            {"$schema": URI_BY_DRAFT[7], "type": "object", "properties": _plain(inner), "additionalProperties": False}
        )
    )


def _plain(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: {"type": schema.get("type", "string")} for name, schema in properties.items()}


def json_with_an_optional_property(text: str) -> str:
    document = json.loads(text)
    document["properties"]["added"] = {"type": "string"}
    return json.dumps(document)


LANGUAGES = [
    Language(
        SchemaType.AVRO, avro_schemas(), avro_pairs(), avro_histories(), avro_records(), avro_with_a_defaulted_field
    ),
    Language(
        SchemaType.PROTOBUF,
        protobuf_schemas(),
        protobuf_pairs(),
        protobuf_histories(),
        protobuf_records(),
        with_an_optional_field,
    ),
    Language(
        SchemaType.JSON,
        json_schema_texts(),
        json_pairs(),
        json_histories(),
        json_records(),
        json_with_an_optional_property,
    ),
]
each_language = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.schema_type.lower())


@pytest.mark.slow
@each_language
@given(data=st.data())
@EXAMPLES
def test_a_schema_is_compatible_with_itself(language: Language, data: st.DataObject):
    text = data.draw(language.texts)
    assert {policy: list(language.differences(text, text, policy)) for policy in CompatibilityPolicy} == {
        policy: [] for policy in CompatibilityPolicy
    }


@each_language
@given(data=st.data())
@EXAMPLES
def test_full_is_backward_and_forward(language: Language, data: st.DataObject):
    candidate, earlier = map(language.parse, data.draw(language.pairs))
    reports = {
        level: check_compatibility(candidate, [Earlier(earlier)], level)
        for level in CompatibilityLevel
        if level is not CompatibilityLevel.NONE
    }
    backward, forward, full = (reports[CompatibilityLevel(name)] for name in ("BACKWARD", "FORWARD", "FULL"))
    assert full.is_compatible == (backward.is_compatible and forward.is_compatible)
    assert {failure.direction: failure.differences for failure in full.failures} == {
        failure.direction: failure.differences for failure in (*backward.failures, *forward.failures)
    }


@pytest.mark.slow
@each_language
@given(data=st.data())
@EXAMPLES
def test_transitive_is_every_version_of_the_history(language: Language, data: st.DataObject):
    candidate, *history = map(language.parse, data.draw(language.histories.filter(bool)))
    for level in TRANSITIVE:
        report = check_compatibility(candidate, [Earlier(each) for each in history], level)
        single = CompatibilityLevel(level.removesuffix("_TRANSITIVE"))
        verdicts = [check_compatibility(candidate, [Earlier(each)], single).is_compatible for each in history]
        assert report.is_compatible == all(verdicts)
        assert report.checked == (len(history) if all(verdicts) else verdicts.index(False) + 1)


@each_language
@given(data=st.data())
@EXAMPLES
def test_a_field_that_may_be_absent_may_be_added(language: Language, data: st.DataObject):
    text = data.draw(language.records)
    extended = language.extended(text)
    for policy in (CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND):
        assert list(language.differences(extended, text, policy)) == [], policy


@pytest.mark.slow
@each_language
@given(data=st.data())
@EXAMPLES
def test_what_is_sound_is_read(language: Language, data: st.DataObject):
    """SOUND, since STRICT answers as the reference does where a value proves it wrong."""
    reader, writer = map(language.parse, data.draw(language.pairs))
    assume(not language_for(language.schema_type).find_differences(reader, writer, policy=CompatibilityPolicy.SOUND))
    confirmation = confirm_compatible(reader, writer, VALUES)
    assert confirmation.counter_witness is None
    assert confirmation.round_tripped == VALUES or confirmation.reason


@each_language
@given(data=st.data())
@EXAMPLES
def test_canonical_and_normalised_texts_are_their_own(language: Language, data: st.DataObject):
    text = data.draw(language.texts)
    canonical = language.parse(text).canonical()
    assert language.parse(canonical).canonical() == canonical
    normalized = _normalized(language.parse(text))
    assert language.parse(normalized).normalized() == normalized


@pytest.mark.slow
@each_language
@given(data=st.data())
@EXAMPLES
def test_canonical_and_normalised_texts_have_the_same_verdicts(language: Language, data: st.DataObject):
    reader, writer = data.draw(language.pairs)
    found = _rules_and_types(language.differences(reader, writer))
    canonical = [language.parse(text).canonical() for text in (reader, writer)]
    assert _rules_and_types(language.differences(*canonical)) == found
    normalized = [_normalized(language.parse(text)) for text in (reader, writer)]
    assert _rules_and_types(language.differences(*normalized)) == found


@pytest.mark.slow
@each_language
@given(data=st.data())
@EXAMPLES
def test_the_verdict_does_not_depend_on_what_was_requested_before(language: Language, data: st.DataObject):
    texts = data.draw(language.pairs)
    reader, writer = map(language.parse, texts)
    compare = language_for(language.schema_type).find_differences
    first = list(compare(reader, writer))
    compare(writer, reader)
    assert list(compare(reader, writer)) == first == list(language.differences(*texts))


@each_language
@given(data=st.data())
@EXAMPLES
def test_a_report_names_reader_and_writer_by_direction(language: Language, data: st.DataObject):
    candidate, earlier = map(language.parse, data.draw(language.pairs))
    for failure in check_compatibility(candidate, [Earlier(earlier)], CompatibilityLevel.FULL).failures:
        sides = (candidate, earlier) if failure.direction is Direction.BACKWARD else (earlier, candidate)
        assert (failure.reader, failure.writer) == sides


def _normalized(schema: ParsedSchema) -> str:
    """The normal form of a schema that has one: a default may hold what is no field, and has then no order."""
    try:
        return schema.normalized()
    except InvalidSchema:
        reject()


def _rules_and_types(differences: Sequence[Any]) -> list[tuple[str, str]]:
    """Paths may differ: a normal form orders what has no order."""
    return sorted((each.rule, each.error_type) for each in differences)
