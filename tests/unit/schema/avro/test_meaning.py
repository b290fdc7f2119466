"""Avro records that are read without complaint and mean something else: every pair of logical types, and promotions."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

import fastavro
import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.judgement import confirm_unguarded, search_unguarded
from counterfoil.schema.languages.avro.compare.meaning import Meaning, meaning_of
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.sample_values import SampleValues
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import LogicalType
from counterfoil.schema.witness import Witness
from strategies.cases.each_case import check_each

Json = Any
SOUND = CompatibilityPolicy.SOUND


def fixed(size: int, **more: Json) -> Json:
    return {"type": "fixed", "name": "F", "size": size, **more}


def logical(kind: str, name: str, **more: Json) -> Json:
    return {"type": kind, "logicalType": name, **more}


LONGS = [
    logical("long", f"{kind}-{unit}")
    for kind in ("timestamp", "local-timestamp")
    for unit in ("millis", "micros", "nanos")
]
DIGITS = [(9, 2), (12, 2), (9, 4), (6, 0), (4, 2)]
LOGICAL = {
    "int": [logical("int", "date"), logical("int", "time-millis")],
    "long": [*LONGS, logical("long", "time-micros")],
    "string": [logical("string", "uuid")],
    "bytes": [
        *(logical("bytes", "decimal", precision=precision, scale=scale) for precision, scale in DIGITS),
        logical("bytes", "big-decimal"),
    ],
    "fixed(12)": [
        fixed(12, logicalType="duration"),
        *(fixed(12, logicalType="decimal", precision=precision, scale=scale) for precision, scale in DIGITS),
    ],
    "fixed(16)": [
        fixed(16, logicalType="uuid"),
        fixed(16, logicalType="decimal", precision=20, scale=2),
        fixed(16, logicalType="decimal", precision=20, scale=4),
    ],
}
PLAIN = {"fixed(12)": fixed(12), "fixed(16)": fixed(16)}
PAIRS = [pair for annotated in LOGICAL.values() for pair in product(annotated, annotated)]
PROMOTED = [*product(LOGICAL["int"], LOGICAL["long"])]


def is_the_same(writer: Json, reader: Json) -> bool:
    """By the specification: the same logical type, a decimal's precision at least as large."""
    digits = [each.get("precision", 0) for each in (writer, reader)]
    rest = [{key: value for key, value in each.items() if key != "precision"} for each in (writer, reader)]
    return rest[0] == rest[1] and digits[0] <= digits[1]


def named(pair: tuple[Json, Json]) -> str:
    words = [
        f"{each['type']}-{each['logicalType']}-{each.get('precision', '')}-{each.get('scale', '')}".strip("-")
        for each in pair
    ]
    return " as ".join(words)


def parsed(schema: Json) -> Any:
    return parse_avro(json.dumps(schema))


def record_of(schema: Json) -> Json:
    return {"type": "record", "name": "R", "fields": [{"name": "value", "type": ["null", schema]}]}


@pytest.mark.slow
def test_every_pair_of_logical_types_of_one_base_type():
    check_each(((named(pair), pair) for pair in (*PAIRS, *PROMOTED)), check_pair_of_logical_types)


def check_pair_of_logical_types(pair: tuple[Json, Json]):
    writer, reader = (parsed(record_of(schema)) for schema in pair)
    assert find_differences(reader, writer) == []
    found = find_differences(reader, writer, policy=SOUND)
    confirmation = confirm_unguarded(reader, writer, 100)
    if is_the_same(*pair):
        assert (found, confirmation.round_tripped) == ([], 100)
        return
    assert confirmation.counter_witness is not None
    assert " is read as " in confirmation.counter_witness.step
    assert confirmation.counter_witness.step.startswith("field value, branch ")
    assert [each.rule for each in found] in (["logical-type-misread"], ["decimal-misread"])
    assert isinstance(search_unguarded(reader, writer, found[0]), Witness)


@pytest.mark.parametrize("kind", LOGICAL)
def test_a_logical_type_that_one_side_alone_gives_changes_no_value(kind: str):
    plain = parsed(record_of(PLAIN.get(kind, kind)))
    for annotated in (parsed(record_of(each)) for each in LOGICAL[kind]):
        for reader, writer in ((plain, annotated), (annotated, plain)):
            assert find_differences(reader, writer, policy=SOUND) == []
            assert confirm_unguarded(reader, writer, 100).round_tripped == 100


SHOWN = {
    # writer, reader: what the first record shows
    "scale": (DIGITS[0], DIGITS[2], "12.34 is read as 0.1234"),
    "precision": (DIGITS[0], DIGITS[4], "9999999.99 is read as 1.000E+7"),
}


@pytest.mark.parametrize("case", SHOWN)
def test_the_record_of_a_misread_decimal_is_an_everyday_one(case: str):
    *digits, text = SHOWN[case]
    writer, reader = (parsed(logical("bytes", "decimal", precision=one, scale=two)) for one, two in digits)
    witness = confirm_unguarded(reader, writer, 100).counter_witness
    assert witness
    assert witness.step == text


@pytest.mark.parametrize(
    ("writer", "reader", "text"),
    [
        (LONGS[0], LONGS[1], "2024-05-01T12:34:56.789Z is read as 1970-01-20T20:16:06.896789Z"),
        (LONGS[0], LONGS[3], "2024-05-01T12:34:56.789Z is read as 2024-05-01T12:34:56.789 local time"),
        (LONGS[1], LONGS[0], "2024-05-01T12:34:56.789Z is read as 1714566896789000 millis after 1970 UTC"),
        (*LOGICAL["int"], "2024-05-01 is read as 00:00:19.844"),
        (LOGICAL["int"][0], LONGS[0], "2024-05-01 is read as 1970-01-01T00:00:19.844Z"),
        (logical("bytes", "big-decimal"), LOGICAL["bytes"][0], "12.34 is read as 674247.72"),
        (LOGICAL["bytes"][0], logical("bytes", "big-decimal"), "12.34 is read as no big-decimal"),
        (LOGICAL["fixed(12)"][0], LOGICAL["fixed(12)"][4], "1 months, 2 days, 3000 ms is read as "),
        ("long", "double", "9007199254740993 is read as 9007199254740992.0"),
        ("long", "float", "16777217 is read as 16777216.0"),
        ("int", "float", "16777217 is read as 16777216.0"),
    ],
)
def test_what_is_read_as_another_value_is_printed(writer: Json, reader: Json, text: str):
    written, read = parsed(writer), parsed(reader)
    witness = confirm_unguarded(read, written, 100).counter_witness
    assert witness
    assert text in witness.step
    assert witness.confirmed_by.startswith("fastavro ")
    (difference,) = find_differences(read, written, policy=SOUND)
    assert isinstance(search_unguarded(read, written, difference), Witness)


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("int", "long"),
        ("int", "double"),
        ("float", "double"),
        ("string", "bytes"),
        (["int", "string"], ["string", "long"]),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"},
        ),
        (["null", LONGS[0]], ["null", LONGS[0], "string"]),
    ],
)
def test_what_the_reader_asks_for_is_no_misreading(writer: Json, reader: Json):
    written, read = parsed(writer), parsed(reader)
    assert find_differences(read, written, policy=SOUND) == []
    assert confirm_unguarded(read, written, 100).round_tripped == 100


def test_a_value_is_followed_through_aliases_collections_and_unions():
    def schema(name: str, digits: tuple[int, int], **more: Json) -> Json:
        amount = logical("bytes", "decimal", precision=digits[0], scale=digits[1])
        item = {"type": "record", "name": "Item", "fields": [{"name": name, "type": amount, **more}]}
        lines = {"type": "map", "values": {"type": "array", "items": ["null", item]}}
        return {"type": "record", "name": "R", "fields": [{"name": "lines", "type": lines}]}

    writer, reader = parsed(schema("fare", (9, 2))), parsed(schema("price", (9, 3), aliases=["fare"]))
    witness = confirm_unguarded(reader, writer, 100).counter_witness
    assert witness
    assert witness.step == "field lines, map value, item, branch record Item, field fare: 12.34 is read as 1.234"


PYTHON = {
    "date": date,
    "time-millis": time,
    "time-micros": time,
    "timestamp-millis": datetime,
    "timestamp-micros": datetime,
    "local-timestamp-millis": datetime,
    "local-timestamp-micros": datetime,
    "decimal": Decimal,
    "uuid": UUID,
}


KNOWN_TO_FASTAVRO = [
    each
    for kind, many in LOGICAL.items()
    for each in many
    if each["logicalType"] in PYTHON and (kind, each["logicalType"]) != ("fixed(16)", "uuid")
]


@pytest.mark.parametrize("schema", KNOWN_TO_FASTAVRO, ids=lambda each: named((each,)))
def test_meanings_are_those_that_fastavro_reads(schema: Json):
    """Where Python has the value: its calendar ends with the year 9999."""
    node = parsed(schema).root
    assert node.logical_type
    samples = SampleValues()
    compared = 0
    for value in (samples.next_of(node) for _ in range(100)):
        out = io.BytesIO()
        bare = {key: each for key, each in schema.items() if key != "logicalType"}
        fastavro.schemaless_writer(out, bare, value)
        try:
            theirs: Any = fastavro.schemaless_reader(io.BytesIO(out.getvalue()), schema, None)
        except (OverflowError, ValueError):
            continue
        if not isinstance(theirs, PYTHON[node.logical_type.name]):
            continue  # it leaves a number that it cannot turn into a date as it is
        assert as_meaning(theirs) == meaning_of(node.logical_type, value)
        compared += 1
    assert compared > 2


def as_meaning(value: Any) -> Meaning:
    match value:
        case datetime(tzinfo=None):
            return Meaning("local time", nanos(value.replace(tzinfo=UTC)), "")
        case datetime():
            return Meaning("instant", nanos(value), "")
        case date():
            return Meaning("date", value.toordinal() - date(1970, 1, 1).toordinal(), "")
        case time():
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return Meaning("time of day", (seconds * 10**6 + value.microsecond) * 1000, "")
        case Decimal():
            return Meaning("number", value, "")
    return Meaning("uuid", value, "")


def nanos(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000


@pytest.mark.parametrize("value", ["", "zebra", "6f1c2a34"])
def test_a_text_that_is_no_uuid_has_no_meaning_of_one(value: str):
    assert meaning_of(LogicalType("uuid"), value).text == "no uuid"
