"""The accelerator and the generated Python code have one meaning, and the accelerator is used when it should be."""

from __future__ import annotations

import datetime as dt
import io
import json
import logging
import resource
import sys
from collections import UserDict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from random import Random
from uuid import UUID

import fastavro
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.sdk.errors import DecodeError, IncompatibleReader, InvalidSettings
from counterfoil.sdk.serde import accelerator as tier
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from strategies.avro.codec_outcomes import damaged, of_each_tier, outcome
from strategies.avro.codec_schemas import record, schema_of
from strategies.avro.codec_tiers import ACCELERATED, HAS_ACCELERATOR
from strategies.avro.data import avro_data
from strategies.avro.edits import avro_pairs
from strategies.avro.schemas import avro_schemas

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
DAMAGED = 20

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC))
    | st.decimals(allow_nan=True, places=2)
    | st.uuids(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abcdef") | st.just("-type"), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(UserDict, st.dictionaries(st.sampled_from("abcdef"), inner, max_size=3))
    ),
    max_leaves=6,
)


CHAIN = schema_of(record({"name": "next", "type": ["null", "R"]}))


def agree(codecs, *arguments):
    """Return the outcome that every tier has."""
    outcomes = {name: outcome(lambda codec=codec: codec(*arguments)) for name, codec in codecs.items()}
    (first, *others) = outcomes.values()
    assert others in ([], [first])
    return first


# --- one meaning ---------------------------------------------------------------------------------------------------


@RELAXED
@given(avro_pairs(), st.booleans(), st.integers(0, 2**32), st.data())
def test_the_tiers_read_the_same_from_valid_and_damaged_bytes(pair, whole, seed, data):
    reader, writer = map(parse_avro, pair)
    try:
        decoders = of_each_tier(lambda: compile_decoder(writer, reader, whole=whole))
    except IncompatibleReader:
        assume(False)  # noqa: FBT003 - there is nothing to read
    written = compile_encoder(writer)(data.draw(avro_data(writer)))
    agree(decoders, written, 0)
    random = Random(seed)
    for _ in range(DAMAGED):
        agree(decoders, damaged(random, written), random.choice((0, 0, 0, 1)))


@RELAXED
@given(avro_schemas(distinct_unions=True), st.integers(0, 2**32), st.data())
def test_fastavro_reads_the_same_from_damaged_bytes_where_both_can(text, seed, data):
    schema = parse_avro(text)
    assume(schema.root.kind != "bytes")  # written without its length at the top, which fastavro does not know
    assume('"decimal"' not in text)  # fastavro rounds numbers of more digits than the precision
    parsed, random = fastavro.parse_schema(json.loads(text)), Random(seed)
    decoders = of_each_tier(lambda: compile_decoder(schema))
    written = compile_encoder(schema)(data.draw(avro_data(schema)))
    for _ in range(DAMAGED):
        bytes_ = damaged(random, written)
        ours = agree(decoders, bytes_, 0)
        try:
            theirs = fastavro.schemaless_reader(io.BytesIO(bytes_), parsed, None)
        except Exception:  # noqa: BLE001 - it raises whatever Python raised
            continue
        assert ours[0] == "DecodeError" or ours[1] == repr(theirs)


@pytest.mark.slow
@RELAXED
@given(avro_schemas(), st.booleans(), VALUES)
def test_the_tiers_write_the_same_for_any_object(text, strict, value):
    schema = parse_avro(text)
    agree(of_each_tier(lambda: compile_encoder(schema, strict=strict)), value, b"prefix")


@RELAXED
@given(avro_schemas(), st.booleans(), st.integers(0, 2**32), st.data())
def test_the_tiers_write_the_same_for_values_with_a_part_replaced(text, strict, seed, data):
    schema = parse_avro(text)
    value = data.draw(avro_data(schema))
    encoders = of_each_tier(lambda: compile_encoder(schema, strict=strict))
    agree(encoders, value)
    agree(encoders, replaced(Random(seed), value, data.draw(VALUES)))


def replaced(random, value, other):
    """Return the value with one of its parts replaced."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice([*value])
        return {**value, key: replaced(random, value[key], other)}
    if isinstance(value, list) and value and random.random() < 0.9:
        place = random.randrange(len(value))
        return [*value[:place], replaced(random, value[place], other), *value[place + 1 :]]
    return other


@pytest.mark.parametrize("depth", [10, 149, 150, 151, 400])
def test_deep_values_are_the_same_in_every_tier(depth):
    value = None
    for _ in range(depth):
        value = {"next": value}
    encoders, decoders = of_each_tier(lambda: compile_encoder(CHAIN)), of_each_tier(lambda: compile_decoder(CHAIN))
    assert agree(encoders, value)[0] == "value"
    data = b"\x02" * (depth - 1) + b"\x00"
    assert {name: decode(data) for name, decode in decoders.items()} == dict.fromkeys(decoders, value)


# --- a hostile or careless program ---------------------------------------------------------------------------------

each_tier = pytest.mark.usefixtures("each_tier")


@each_tier
def test_endless_depth_is_an_error():
    with pytest.raises(DecodeError, match="nested too deeply"):
        compile_decoder(CHAIN)(b"\x02" * 100_000)


@each_tier
def test_a_dict_that_changes_while_it_is_written_is_written_as_it_was_or_is():
    entries = {}

    class Clearing(UserDict):
        def keys(self):
            entries.clear()
            return super().keys()

    branches = ["null", record({"name": "a", "type": "int"}), record({"name": "b", "type": "int"}, name="S")]
    schema = schema_of({"type": "map", "values": branches})
    encode = compile_encoder(schema)
    entries.update({f"k{number}": Clearing(a=1) for number in range(5)})
    assert compile_decoder(schema)(encode(entries)) in ({}, {f"k{number}": {"a": 1} for number in range(5)})


@each_tier
def test_an_interrupt_inside_a_value_ends_the_call():
    class Interrupting(UserDict):
        def keys(self):
            raise KeyboardInterrupt

    schema = schema_of([record({"name": "a", "type": "int"}), record({"name": "b", "type": "int"}, name="S")])
    with pytest.raises(KeyboardInterrupt):
        compile_encoder(schema)(Interrupting(a=1))


@each_tier
def test_data_that_changes_later_does_not_change_the_value():
    schema = schema_of(record({"name": "raw", "type": "bytes"}, {"name": "text", "type": "string"}))
    data = bytearray(compile_encoder(schema)({"raw": b"abc", "text": "abc"}))
    for mutable in (data, memoryview(data)):
        value = compile_decoder(schema)(mutable)
        data[:] = bytes(len(data))
        assert value == {"raw": b"abc", "text": "abc"}
        data[:] = compile_encoder(schema)(value)


@each_tier
def test_mutable_defaults_are_not_shared():
    reader = schema_of(
        record(
            {"name": "a", "type": {"type": "array", "items": {"type": "array", "items": "int"}}, "default": [[1]]},
            {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "int"}}, "default": {"k": [1]}},
        )
    )
    decode = compile_decoder(schema_of(record()), reader)
    first = decode(b"")
    first["a"][0].append(2)
    first["m"]["k"].append(2)
    assert decode(b"") == {"a": [[1]], "m": {"k": [1]}}


# --- threads and memory --------------------------------------------------------------------------------------------

ORDER = schema_of(
    record(
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "tags", "type": {"type": "map", "values": ["null", "string", "int"]}},
        {"name": "next", "type": ["null", "R"], "default": None},
    )
)


def order(number):
    return {
        "id": UUID(int=number),
        "at": dt.datetime(2024, 1, 1, 0, 0, 0, number, tzinfo=dt.UTC),
        "total": Decimal(number).scaleb(-2),
        "tags": {"a": None, "b": "text", "c": number},
        "next": {"id": UUID(int=1), "at": dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "total": Decimal("0.00"), "tags": {}}
        | {"next": None},
    }


@each_tier
def test_eight_threads_share_one_encoder_and_one_decoder():
    encode, decode = compile_encoder(ORDER), compile_decoder(ORDER, whole=True)

    def there_and_back(first):
        return all(decode(encode(order(number))) == order(number) for number in range(first, first + 300))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(there_and_back, range(8)))


@pytest.mark.slow
@each_tier
def test_memory_does_not_grow_with_messages_errors_and_schemas():
    encode, decode = compile_encoder(ORDER), compile_decoder(ORDER, whole=True)
    data = encode(order(7))

    def work(times):
        for number in range(times):
            decode(encode(order(7)))
            outcome(lambda: decode(data[:-1]))
            outcome(lambda: encode({"id": 7}))
            if number % 100 == 0:
                compile_encoder(ORDER), compile_decoder(ORDER)

    work(1000)
    before = resident_kb()
    work(8000)
    assert resident_kb() - before < 4000, "a leak of half a kilobyte a message would be as much"


def resident_kb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


# --- which tier is used --------------------------------------------------------------------------------------------


@pytest.fixture
def without_accelerator(monkeypatch):
    """A process in which the accelerator cannot be imported."""
    monkeypatch.setitem(sys.modules, "counterfoil_accelerator", None)
    monkeypatch.delenv(tier.REQUIRED, raising=False)
    monkeypatch.delenv(tier.USED, raising=False)
    tier._load.cache_clear()
    yield
    tier._load.cache_clear()


@pytest.mark.usefixtures("without_accelerator")
def test_without_the_accelerator_python_code_is_used_and_the_log_says_so_once(caplog):
    with caplog.at_level(logging.DEBUG, logger="counterfoil.sdk.serde"):
        for _ in range(3):
            encode, decode = compile_encoder(ORDER), compile_decoder(ORDER)
    assert decode(encode(order(3))) == order(3)
    assert [one.message for one in caplog.records if "generated Python code" in one.message] == [caplog.messages[0]]
    assert "counterfoil-accelerator" in caplog.messages[0]


@pytest.mark.usefixtures("without_accelerator")
def test_a_required_accelerator_that_is_missing_is_an_error(monkeypatch):
    monkeypatch.setenv(tier.REQUIRED, "1")
    for compiled in (compile_encoder, compile_decoder):
        with pytest.raises(InvalidSettings, match="counterfoil-accelerator cannot be imported") as caught:
            compiled(ORDER)
        assert caught.value.setting == tier.REQUIRED


@pytest.mark.usefixtures("without_accelerator")
def test_an_accelerator_of_another_interface_is_not_used(monkeypatch):
    class Other:
        INTERFACE = 0

    monkeypatch.setitem(sys.modules, "counterfoil_accelerator", Other)
    assert compile_decoder(ORDER)(compile_encoder(ORDER)(order(3))) == order(3)
    monkeypatch.setenv(tier.REQUIRED, "1")
    with pytest.raises(InvalidSettings, match="has interface 0; this version of counterfoil needs"):
        compile_encoder(ORDER)


@pytest.mark.parametrize("name", [tier.USED, tier.REQUIRED])
def test_an_unknown_value_of_the_variables_is_an_error(monkeypatch, name):
    monkeypatch.setenv(name, "perhaps")
    with pytest.raises(InvalidSettings, match="is 'perhaps'; expected"):
        compile_encoder(ORDER)


def test_the_accelerator_is_used_where_it_is_installed(each_tier):
    for codec in (compile_encoder(ORDER), compile_decoder(ORDER)):
        assert (type(codec).__name__ == "builtin_function_or_method") is (each_tier == ACCELERATED)
    assert HAS_ACCELERATOR or each_tier != ACCELERATED


def test_a_plan_that_the_accelerator_does_not_know_is_refused(each_tier):
    if each_tier == ACCELERATED:
        accelerator = tier.find_accelerator()
        for nodes in ([("matrix",)], [("array", 1, 1)], [("record", [("a", 7)], {}, [], 0)]):
            with pytest.raises(ValueError, match="does not know"):
                accelerator.Decoder(nodes, 0, whole=True, max_empty_items=1, max_weight=1, fallback=print)
