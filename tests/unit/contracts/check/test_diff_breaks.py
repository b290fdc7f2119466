"""What a change breaks in ``counterfoil diff``: the judgement of the check, at the changes."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.contracts.reports.diff import BreakTerms, find_breaks
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.judgement import check_compatibility
from counterfoil.schema.languages.table import find_changes, parse_schema
from counterfoil.schema.model import SchemaType
from strategies.avro.edits import avro_pairs
from strategies.json_schema.pairs import schema_pairs
from strategies.protobuf.edits import protobuf_pairs

LEVELS = (CompatibilityLevel.BACKWARD, CompatibilityLevel.FORWARD, CompatibilityLevel.FULL, CompatibilityLevel.NONE)
PROTO = 'syntax = "proto3"; package p; '


def json_pair(seed):
    [(earlier, later)] = schema_pairs(random.Random(seed), 1)
    return json.dumps(earlier), json.dumps(later)


pairs = st.one_of(
    st.tuples(avro_pairs(), st.just(SchemaType.AVRO)),
    st.tuples(protobuf_pairs(), st.just(SchemaType.PROTOBUF)),
    st.tuples(st.builds(json_pair, st.integers(0, 2**32)), st.just(SchemaType.JSON)),
)


@pytest.mark.slow
@given(pair=pairs, level=st.sampled_from(LEVELS), policy=st.sampled_from(CompatibilityPolicy))
def test_nothing_that_the_check_finds_is_left_out(pair, level, policy):
    texts, language = pair
    was, now = (parse_schema(text, language) for text in texts)
    changes = find_changes(was, now)
    found = find_breaks(was, now, changes, BreakTerms(level, policy))
    assert len(found.by_change) == len(changes)
    assert found.is_compatible is check_compatibility(now, [Earlier(was)], level, policy=policy).is_compatible
    both = check_compatibility(now, [Earlier(was)], CompatibilityLevel.FULL, policy=policy)
    expected = {(failure.direction, each.rule) for failure in both.failures for each in failure.differences}
    assert {(each.direction, each.rule) for of in (*found.by_change, found.others) for each in of} == expected
    assert (found.forbidden > 0) is not found.is_compatible


def fields(*made):
    return json.dumps({"type": "record", "name": "A", "fields": [*made]})


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def enum(*symbols):
    return fields(field("e", {"type": "enum", "name": "E", "symbols": [*symbols]}))


def members(**given):
    return json.dumps({"type": "object", "additionalProperties": False, "properties": given})


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (fields(field("a", "int")), fields(field("a", "long")), ["FORWARD"]),
        (fields(field("a", "int")), fields(field("a", "string")), ["BACKWARD FORWARD"]),
        (fields(field("a", "int")), fields(field("a", "int", doc="x")), [""]),
        (fields(field("a", "int", doc="w")), fields(field("a", "long", doc="x")), ["FORWARD", ""]),
        (fields(field("a", "int")), fields(field("a", "int"), field("b", "int")), ["BACKWARD"]),
        (fields(field("a", "int")), fields(field("a", "int"), field("b", "int", default=1)), [""]),
        (enum("X", "Y"), enum("X", "Z"), ["BACKWARD", "FORWARD"]),
        (fields(field("u", ["null", "int"])), fields(field("u", ["null", "string"])), ["BACKWARD", "FORWARD"]),
        (members(a={"type": "string"}), members(a={"type": "integer"}), ["BACKWARD FORWARD"]),
        (members(a={"type": "string"}), members(a={"type": "string", "maxLength": 3}), ["BACKWARD"]),
        (f"{PROTO}message M {{ int32 a = 1; }}", f"{PROTO}message M {{ string a = 1; }}", ["BACKWARD FORWARD"]),
        (f"{PROTO}message M {{ int32 a = 1; }}", f"{PROTO}message M {{ int32 b = 1; }}", [""]),
    ],
)
def test_a_break_is_at_its_change(was, now, expected):
    language = SchemaType.PROTOBUF if was.startswith("syntax") else SchemaType.AVRO
    language = SchemaType.JSON if "additionalProperties" in was else language
    earlier, later = parse_schema(was, language), parse_schema(now, language)
    found = find_breaks(earlier, later, find_changes(earlier, later), BreakTerms())
    assert sorted(" ".join(sorted({each.direction.name for each in of})) for of in found.by_change) == sorted(expected)
    assert found.others == ()
    assert all(each.is_allowed is (each.direction.name == "FORWARD") for of in found.by_change for each in of)
