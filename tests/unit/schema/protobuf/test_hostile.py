"""Texts and descriptors made to break a parser: each is read or refused with our own error, in bounded time."""

from __future__ import annotations

from base64 import b64decode, b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.errors import InvalidSchema, SchemaParseError
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from strategies.protobuf.schemas import protobuf_schemas

HEAD = 'syntax = "proto3";'
DEEP = 10_000
MANY = 100_000
pytestmark = pytest.mark.timeout(300)  # every case takes a second or two
"""Generous for a loaded machine: every case below takes a second or two at most."""

REFUSED = {
    "messages": HEAD + "message A {" * DEEP + "}" * DEEP,
    "messages without an end": HEAD + "message A {" * DEEP,
    "values in braces": HEAD + "option (a) = " + "{a:" * DEEP + "1" + "}" * DEEP + ";",
    "values in angles": HEAD + "option (a) = {" + "a<" * DEEP + ">" * DEEP + "};",
    "values in brackets": HEAD + "option (a) = " + "[" * DEEP + "]" * DEEP + ";",
    "maps": HEAD + "message A {" + "map<int32," * DEEP + "int32" + ">" * DEEP + " x = 1;}",
    "groups": "message A {" + "optional group G = 1 {" * DEEP + "}" * DEEP + "}",
    "slashes": HEAD + "/ " * 1_000_000,
    "a string without an end": HEAD + 'option a = "' + '\\"' * 1_000_000,
    "a long number": HEAD + "message A { int32 a = " + "1" * 1_000_000 + "; }",
    "spaces": HEAD + " " * 3_000_000 + "x",
    "ten million characters": HEAD + "message A {" + "int32 a = 1;" * 1_000_000 + "}",
    "line ends": HEAD + "\n" * 1_000_000 + "x",
    "zeros": "\0" * 1000,
    "dots": HEAD + "message A {" + "a." * MANY + "b c = 1; }",
    "base64 of nothing": "A" * 3_000_000,
    "base64 of noise": "CgA=" * MANY,
    "half a surrogate pair": HEAD + "message A {} // \ud800",
    "a byte order mark": "\ufeff" + HEAD,
}
READ = {
    "a hundred levels": HEAD + "message A {" * 100 + "}" * 100,
    "semicolons": HEAD + ";" * MANY,
    "fields": HEAD + "message A {" + "".join(f"int32 a{n} = {n};" for n in range(1, 20_000)) + "}",
    "equal fields": HEAD + "message A {" + "int32 a = 1;" * 20_000 + "}",
    "constants": HEAD + "enum A {" + "B = 1;" * 5_000 + "}",
    "comments": HEAD + "message A {" + "/*x*/ int32 a = 1; // y\n" * 10_000 + "}",
    "a long comment": HEAD + "/*" + "*" * 3_000_000 + "/ message A {}",
    "many strings": HEAD + "option a = " + '"a" ' * MANY + ";",
    "a long name": HEAD + "message " + "a" * 3_000_000 + "{}",
    "a long option": HEAD + "option " + "(a)." * MANY + "b = 1;",
    "reserved": HEAD + "message A { reserved " + "1," * 30_000 + "2; }",
    "imports": HEAD + 'import "a";' * 5_000,
    "a long package": HEAD + "package " + "a." * 5_000 + "b; message A {" + "B x = 1;" * 200 + "} message B {}",
    "messages side by side": HEAD + "".join(f"message A{n} {{}}" for n in range(5_000)),
}


def _read(text: str) -> None:
    schema = parse_protobuf(text)
    assert schema.canonical()
    assert schema.normalized()


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_in_bounded_time(case: str) -> None:
    with pytest.raises(SchemaParseError):
        _read(REFUSED[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", READ)
def test_it_is_read_in_bounded_time(case: str) -> None:
    _read(READ[case])


def test_the_deepest_file_has_every_text_and_a_descriptor() -> None:
    schema = parse_protobuf(HEAD + "message A {" * 90 + "}" * 90)
    assert parse_protobuf(schema.canonical()).canonical() == schema.canonical()
    assert parse_protobuf(schema.serialized()).canonical() == schema.canonical()


def test_messages_and_values_share_the_limit_of_depth() -> None:
    def nested(messages: int, values: int) -> str:
        option = "option (a) = " + "{a:" * values + "1" + "}" * values + ";"
        return HEAD + "message A {" * messages + option + "}" * messages

    schema = parse_protobuf(nested(50, 50))
    assert parse_protobuf(schema.canonical()).canonical() == schema.canonical()
    with pytest.raises(SchemaParseError, match="nested more than 100"):
        parse_protobuf(nested(50, 51))


def test_a_descriptor_without_what_it_needs_is_refused() -> None:
    data = "CgdkZWZhdWx0IiIKAUESHQoBYRgBIAEoBUIPuj4MEggKBG42BW9wZRABII8BUgFhYgZwcm90bzM="
    with pytest.raises(SchemaParseError, match="the descriptor declares what no file can"):
        parse_protobuf(data)


@pytest.mark.slow
def test_a_long_chain_of_imports_is_followed() -> None:
    references = [
        ResolvedReference(
            Reference(f"{n}.proto", f"s{n}", 1), f'{HEAD} import "{n + 1}.proto"; message M{n} {{ M{n + 1} m = 1; }}'
        )
        for n in range(2_000)
    ]
    last = ResolvedReference(Reference("2000.proto", "s2000", 1), f"{HEAD} message M2000 {{}}")
    schema = parse_protobuf(f'{HEAD} import "0.proto"; message A {{ M0 m = 1; }}', [*references, last])
    assert len(schema.imports) == 2_001
    assert not schema.warnings()


TOKENS = st.sampled_from(
    (
        *("{", "}", "(", ")", "[", "]", "<", ">", "=", ";", ",", '"', "'", "/*", "//", "\\", "message ", "group "),
        *("map<", "optional ", "-", "0x", "1e+5", "reserved ", "oneof ", "extend ", "option (a) = {", "default = "),
    )
)


def _poke(text: str, place: int, cut: int, put: str) -> str:
    at = place % (len(text) + 1)
    return text[:at] + put + text[at + cut :]


def _use_all(text: str) -> None:
    schema = parse_protobuf(text, validation=Validation.LENIENT)
    canonical = schema.canonical()
    assert parse_protobuf(canonical, validation=Validation.LENIENT).canonical() == canonical
    schema.normalized()
    schema.warnings()
    schema.serialized()


@given(protobuf_schemas(), st.integers(0, 100_000), st.integers(0, 9), TOKENS)
def test_a_damaged_text_gives_our_own_error_or_a_schema(text: str, place: int, cut: int, put: str) -> None:
    with suppress(InvalidSchema):
        _use_all(_poke(text, place, cut, put))


@given(protobuf_schemas(), st.integers(0, 100_000), st.integers(0, 4), st.binary(max_size=3))
def test_a_damaged_descriptor_gives_our_own_error_or_a_schema(text: str, place: int, cut: int, put: bytes) -> None:
    data = b64decode(parse_protobuf(text).serialized())
    at = place % (len(data) + 1)
    with suppress(InvalidSchema):
        _use_all(b64encode(data[:at] + put + data[at + cut :]).decode())


@given(st.text(max_size=60))
def test_any_text_gives_our_own_error_or_a_schema(text: str) -> None:
    with suppress(InvalidSchema):
        _use_all(text)
