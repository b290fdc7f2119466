"""The JSON that is written and read: exact, or a typed error with the place; with the compiled packages and without."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.sdk.errors import DecodeError, EncodeError, InvalidSettings, SerdeError, ValidationError
from counterfoil.sdk.serde.json import JsonCodec
from counterfoil.sdk.serde.json.text import read_exactly, write_exactly

ANYTHING = parse_json_schema("true")
PREFIX = b"\0\0\0\0\1"
UNCHECKED = JsonCodec(validate=False)


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


class Tone(StrEnum):
    LOUD = "loud"


@dataclasses.dataclass
class Place:
    zone: int
    name: str = "é"


class Pair(NamedTuple):
    left: int
    right: int


def written(value: Any, codec: JsonCodec = UNCHECKED) -> bytes:
    data = codec.encoder(ANYTHING)(value, PREFIX)
    assert data.startswith(PREFIX)
    return data.removeprefix(PREFIX)


def read(body: bytes, codec: JsonCodec = UNCHECKED) -> Any:
    return codec.decoder(ANYTHING, None, b"")(PREFIX + body, len(PREFIX))


@pytest.mark.parametrize("codec", [UNCHECKED, JsonCodec()], ids=["unchecked", "checked"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": [None, True, 1.5, "x"]}, '{"a":1,"b":[null,true,1.5,"x"]}'),
        ({}, "{}"),
        ([], "[]"),
        ("to the airport, ÆØÅ 中 😀", '"to the airport, ÆØÅ 中 😀"'),
        ('"\\\n\x1f\x7f', '"\\"\\\\\\n\\u001f\x7f"'),
        ((1, (2,)), "[1,[2]]"),
        (2**63, "9223372036854775808"),
        (2**64, "18446744073709551616"),
        (-(2**63) - 1, "-9223372036854775809"),
        ([2**200], f"[{2**200}]"),
        (Decimal("12.50"), "12.50"),
        ({"a": Decimal("1E+400"), "b": None}, '{"a":1E+400,"b":null}'),
        (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), '"2026-01-02T03:04:05.000006+00:00"'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (time(3, 4, 5), '"03:04:05"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        ([Colour.RED, Size.BIG, Tone.LOUD], '["red",3,"loud"]'),
        (Place(4), '{"zone":4,"name":"é"}'),
        ([None, Place(4)], '[null,{"zone":4,"name":"é"}]'),
        (1e-7, "1e-7"),
        (-0.0, "-0.0"),
    ],
)
def test_values_have_one_compact_form(value: Any, text: str, codec: JsonCodec):
    assert written(value, codec) == write_exactly(value) == text.encode()


@pytest.mark.parametrize("codec", [UNCHECKED, JsonCodec()], ids=["unchecked", "checked"])
@pytest.mark.parametrize(
    ("value", "path", "got"),
    [
        ({"a": [1, math.nan]}, "a[1]", "nan (float)"),
        ({"a": {"b c": -math.inf}}, "a['b c']", "-inf (float)"),
        ([Decimal("NaN")], "[0]", "Decimal('NaN') (Decimal)"),
        ({"a": b"x"}, "a", "b'x' (bytes)"),
        ({"a": {1: 2}}, "a", "1 (int)"),
        ({"a": {1, 2}}, "a", "{1, 2} (set)"),
        ({"a": "\ud800"}, "a", "'\\ud800' (str)"),
        ({"\udc00": 1}, "", "'\\udc00' (str)"),
        ({"a": Pair(1, 2)}, "a", "Pair(left=1, right=2) (Pair)"),
        ({"a": time(1, tzinfo=UTC)}, "a", "datetime.time(1, 0, tzinfo=datetime.timezone.utc) (time)"),
        ([Place], "[0]", None),
        ([10**5000], "[0]", None),
    ],
)
def test_a_value_without_a_form_in_json_is_an_error_with_its_place(value: Any, path: str, got: str, codec: JsonCodec):
    with pytest.raises(EncodeError) as caught:
        written(value, codec)
    assert caught.value.path == path
    assert caught.value.expected
    assert got is None or caught.value.got == got


@pytest.mark.parametrize("codec", [UNCHECKED, JsonCodec()], ids=["unchecked", "checked"])
def test_a_scalar_of_numpy_is_written_as_it_is_or_an_error_with_its_place(codec: JsonCodec):
    numpy = pytest.importorskip("numpy")
    assert written([numpy.float64(1.5), numpy.str_("é")], codec) == '[1.5,"é"]'.encode()
    for kind in (numpy.bool_, numpy.int64, numpy.uint8, numpy.float32):
        with pytest.raises(EncodeError, match=f"{kind.__name__}\\)$") as caught:
            written({"lines": [kind(1)]}, codec)
        assert caught.value.path == "lines[0]"
    with pytest.raises(EncodeError, match="a finite number"):
        written(numpy.float64("nan"), codec)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [UNCHECKED, JsonCodec()], ids=["unchecked", "checked"])
def test_values_inside_themselves_and_deep_values_are_errors(codec: JsonCodec):
    own: list[Any] = []
    own.append({"a": own})
    deep: Any = None
    for _ in range(100_000):
        deep = [deep]
    for value in (own, deep):
        with pytest.raises(EncodeError, match="inside one another"):
            written(value, codec)
    while deep:  # or Python's destructor would have to go as deep
        deep = deep.pop()


def test_a_number_that_is_not_finite_is_found_in_values_with_and_without_null():
    for value in ({"a": math.nan}, {"n": None, "a": [0.0, math.inf]}, [None, -math.nan]):
        with pytest.raises(EncodeError, match="finite number"):
            written(value)
    assert written([None, 1.7e308, 255, -1]) == b"[null,1.7e+308,255,-1]"


@pytest.mark.slow
@pytest.mark.parametrize("codec", [UNCHECKED, JsonCodec()], ids=["unchecked", "checked"])
@pytest.mark.parametrize(
    ("body", "offset", "problem"),
    [
        (b"", 0, "ends too early"),
        (b'{"a":1', 6, "ends too early"),
        (b"{'a':1}", 1, "property name"),
        (b"1 2", 2, "something follows the value"),
        (b'{"a":1}\0', 7, "something follows the value"),
        (b"NaN", 0, "NaN is no number"),
        (b"[-Infinity]", 0, "-Infinity is no number"),
        (b"1e400", 0, "too large"),
        (b'"a\xff"', 2, "not UTF-8"),
        (b"\xef\xbb\xbf1", 0, "byte order mark"),
        ('"é\n"'.encode(), 3, "control character"),
        (b'["\\ud800"]', 0, "surrogate"),
        (b'{"\\udc00":1}', 0, "surrogate"),
        (b"[" * 100_000, 0, "nested too deep"),
        ('{"a":1}'.encode("utf-16"), 0, "not UTF-8"),
    ],
)
def test_a_body_that_is_no_json_is_an_error_with_its_offset(body: bytes, offset: int, problem: str, codec: JsonCodec):
    with pytest.raises(DecodeError, match=problem) as caught:
        read(body, codec)
    assert caught.value.offset == len(PREFIX) + offset


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"18446744073709551616", 2**64),
        (b"-9223372036854775809", -(2**63) - 1),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b" [1 ,\n2]\r\n\t", [1, 2]),
        (b'"\\ud83d\\ude00\\u00e9"', "😀é"),
        (b"1E2", 100.0),
        (b"null", None),
    ],
)
def test_integers_are_exact_and_the_last_of_equal_names_counts(body: bytes, value: Any):
    assert read(body) == read_exactly(body, 0) == value
    assert type(read(body)) is type(value)


numbers = st.integers() | st.floats() | st.decimals()
others = st.binary(max_size=2) | st.datetimes() | st.dates() | st.uuids() | st.sampled_from([Colour.RED, Place(1)])
leaves = st.none() | st.booleans() | numbers | st.text(max_size=5) | others
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 2), inner, max_size=3)
    ),
    max_leaves=8,
)


def outcome(work: Any, *arguments: Any) -> Any:
    try:
        return work(*arguments)
    except SerdeError as error:
        return type(error), getattr(error, "path", None)


@given(values)
@example([None, math.nan])
@example({"a": None, "b": Decimal("sNaN")})
def test_the_compiled_writer_writes_what_the_walk_writes(value: Any):
    assert outcome(written, value) == outcome(write_exactly, value)


@given(
    st.binary(max_size=12)
    | values.map(lambda value: repr(value).encode())
    | st.text('[]{}",:0123456789eE+-.\\u n', max_size=12).map(str.encode)
)
@example(b'"\\ud800\\u0061"')
@example(b"-")
@example(b"\x0b1")
@example(b"1.e5")
def test_the_compiled_reader_reads_what_the_slow_one_reads(body: bytes):
    ours, exact = outcome(read, body), outcome(read_exactly, body, 0)
    assert ours == exact
    assert type(ours) is type(exact)


@given(values)
def test_what_is_written_is_read_again(value: Any):
    try:
        body = written(value)
    except EncodeError:
        return
    assert written(read(body)) == write_exactly(json.loads(body))


def test_own_functions_for_the_text():
    codec = JsonCodec(json_encode=lambda value: json.dumps(value, sort_keys=True), json_decode=json.loads)
    assert written({"b": 1, "a": 2}, codec) == b'{"a": 2, "b": 1}'
    assert read(b'{"a": 2}', codec) == {"a": 2}
    with pytest.raises(EncodeError, match="json_encode failed: TypeError"):
        written({1, 2}, codec)
    with pytest.raises(DecodeError, match="json_decode failed: JSONDecodeError"):
        read(b"{", codec)


def test_functions_for_the_values_of_a_program():
    codec = JsonCodec(dump=lambda place: {"zone": place.zone}, load=lambda value: Place(value["zone"]))
    assert written(Place(4), codec) == b'{"zone":4}'
    assert read(b'{"zone":4}', codec) == Place(4)
    with pytest.raises(EncodeError, match="AttributeError"):
        written("no place", codec)
    with pytest.raises(DecodeError, match="KeyError"):
        read(b"{}", codec)


# --- models ------------------------------------------------------------------------------------------------------


class Stop(msgspec.Struct):
    lat: float


class Ride(msgspec.Struct):
    id: int
    at: datetime | None = None
    stops: list[Stop] = []


RIDE = parse_json_schema('{"properties": {"id": {"maximum": 5}, "note": {"default": "x"}}}')


def test_a_model_is_written_and_read_directly():
    codec = JsonCodec(model=Ride)
    ride = Ride(1, datetime(2026, 1, 2, tzinfo=UTC), [Stop(1.5)])
    body = codec.encoder(RIDE)(ride, b"")
    assert body == b'{"id":1,"at":"2026-01-02T00:00:00Z","stops":[{"lat":1.5}]}'
    for reader in (None, RIDE):
        assert codec.decoder(RIDE, reader, b"")(body, 0) == ride


def test_a_model_is_validated_on_writing_and_its_types_on_reading():
    codec = JsonCodec(model=Ride)
    with pytest.raises(ValidationError, match="maximum of 5"):
        codec.encoder(RIDE)(Ride(6), b"")
    assert codec.decoder(RIDE, None, b"")(b'{"id":6}', 0) == Ride(6)
    with pytest.raises(ValidationError, match="maximum of 5"):
        JsonCodec(model=Ride, validate="read").decoder(RIDE, None, b"")(b'{"id":6}', 0)
    with pytest.raises(DecodeError, match="Expected `float`, got `str`") as caught:
        codec.decoder(RIDE, None, b"")(b'{"id":6,"stops":[{"lat":1},{"lat":"x"}]}', 0)
    assert caught.value.path == "stops[1].lat"
    with pytest.raises(DecodeError, match="ends too early"):
        codec.decoder(RIDE, None, b"")(b'{"id":6,"stops":[', 0)


def test_a_model_with_a_number_that_is_not_finite_is_an_error():
    codec = JsonCodec(model=Ride)
    with pytest.raises(EncodeError, match="finite") as caught:
        codec.encoder(ANYTHING)(Ride(1, None, [Stop(math.nan)]), b"")
    assert caught.value.path == "stops[0].lat"
    with pytest.raises(EncodeError, match="cannot be written"):
        codec.encoder(ANYTHING)(object(), b"")


@pytest.mark.parametrize("model", [int, "Ride", 5, object, Enum])
def test_a_class_that_is_no_model_is_refused(model: Any):
    with pytest.raises(InvalidSettings, match=r"expected a msgspec\.Struct") as caught:
        JsonCodec(model=model)
    assert caught.value.setting == "model"


@pytest.mark.parametrize("validate", ["reading", 1, 0, "", [], "True"])
def test_when_to_validate_is_one_of_few_words(validate: Any):
    with pytest.raises(InvalidSettings, match="expected 'write'"):
        JsonCodec(validate=validate)


@pytest.mark.slow
def test_without_the_extra_everything_but_models_works():
    """In a fresh interpreter in which the three packages cannot be imported."""
    program = """
import sys
sys.modules.update(dict.fromkeys(("orjson", "msgspec", "jsonschema_rs")))
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.sdk.errors import EncodeError, InvalidSettings, ValidationError
from counterfoil.sdk.serde.json import JsonCodec

schema = parse_json_schema('{"properties": {"a": {"type": "integer", "maximum": 5}}}')
encode, decode = JsonCodec().encoder(schema), JsonCodec().decoder(schema, None, b"")
print(ascii(encode({"a": 1, "b": "\\xe9", "c": 1e-7}, b"p")), decode(b'p{"a":1.0}', 1))
for work in (
    lambda: encode({"a": 6}, b""),
    lambda: encode({"b": float("nan")}, b""),
    lambda: decode(b'{"a":"x"}', 0),
    lambda: JsonCodec(model=dict),
    lambda: JsonCodec(model=__import__("dataclasses").make_dataclass("Ride", ["a"])),
):
    try:
        print(work())
    except (ValidationError, EncodeError, InvalidSettings) as error:
        print(type(error).__name__, ascii(str(error)))
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    lines = ran.stdout.splitlines()
    assert lines[0] == """b'p{"a":1,"b":"\\xc3\\xa9","c":1e-7}' {'a': 1.0}"""
    assert [line.split()[0] for line in lines[1:]] == [
        "ValidationError",
        "EncodeError",
        "ValidationError",
        "ModelError",
        "InvalidSettings",
    ]
    assert "counterfoil[json]" in lines[-1]
