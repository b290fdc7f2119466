"""Words, places, comments and literals of a file."""

from __future__ import annotations

import pytest

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.read.parser import parse_file
from counterfoil.schema.languages.protobuf.read.syntax_tree import Aggregate, ListValue, ScalarLiteral, ValueKind
from counterfoil.schema.languages.protobuf.read.tokens import Cursor, parse_int, read_string, read_value
from counterfoil.schema.texts import Position

HEAD = 'syntax = "proto3";\n'


def _words(text: str) -> list[str]:
    cursor = Cursor(text)
    found = []
    while cursor.word:
        found.append(cursor.advance())
    return found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.b.C c=0x1F;", ["a.b.C", "c", "=", "0x1F", ";"]),
        ("/* a */ x // b\n y /**/", ["x", "y"]),
        ("/* * / ** */ x", ["x"]),
        ("'it\\'s' \"a\\\\\" b", ["'it\\'s'", '"a\\\\"', "b"]),
        ("-1.5e-7 1e+5 -inf", ["-1.5e-7", "1e+5", "-inf"]),
        ("map<string,.a.B>m", ["map", "<", "string", ",", ".a.B", ">", "m"]),
        ("", []),
        (" \t\r\n\f\v", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert _words(text) == words


def test_positions_count_lines_and_columns_from_one() -> None:
    cursor = Cursor("a\n  b\r\n\tc é d")
    places = []
    while cursor.word:
        places.append((cursor.word, str(cursor.position())))
        cursor.advance()
    assert places == [("a", "1:1"), ("b", "2:3"), ("c", "3:2"), ("é", "3:4"), ("d", "3:6")]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r'"a\n\t\\\""', 'a\n\t\\"'),
        (r"'\x41\101\7'", "AA\x07"),
        (r'"\303\251"', "é"),
        (r'"\u00e9\U0001F600"', "é😀"),
        (r'"\377a"', "\udcffa"),
        ('"a" \'b\'\n"c"', "abc"),
        (r'"\q"', "q"),
        ('""', ""),
    ],
)
def test_strings(text: str, content: str) -> None:
    assert read_string(Cursor(text)) == content


@pytest.mark.parametrize("text", [r'"\U00110000"', r'"\ud800"'])
def test_an_escape_that_is_no_character_is_refused(text: str) -> None:
    with pytest.raises(SchemaParseError, match="no character"):
        read_string(Cursor(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("12", 12), ("-7", -7), ("0x1f", 31), ("0X1F", 31), ("-0x10", -16), ("010", 8), ("0", 0), ("00", 0)),
        *(("09", 9), ("1.0", None), ("a", None), ("", None), ("1" * 40, None)),
    ],
)
def test_whole_numbers(text: str, value: int | None) -> None:
    assert parse_int(text) == value


def test_values_in_braces() -> None:
    value = read_value(Cursor("{ a: 1, b { c: [x, 'y'] }; [d.e/f.g] < h: -inf > }"))
    assert isinstance(value, Aggregate)
    assert [entry.name for entry in value.entries] == ["a", "b", "[d.e/f.g]"]
    inner = value.entries[1].value
    assert isinstance(inner, Aggregate)
    assert inner.entries[0].value == ListValue(
        (ScalarLiteral(ValueKind.WORD, "x"), ScalarLiteral(ValueKind.STRING, "y"))
    )


@pytest.mark.parametrize(
    ("text", "doc", "trailing"),
    [
        ("// one\n  int32 a = 1;", "one", ""),
        ("// one\n// two\n  int32 a = 1;", "one\ntwo", ""),
        ("// far\n\n// near\n int32 a = 1;", "near", ""),
        ("// detached\n\n int32 a = 1;", "", ""),
        ("/* block */ int32 a = 1;", "block", ""),
        ("/** first\n   * second\n   */\n int32 a = 1;", "first\nsecond", ""),
        ("int32 a = 1; // behind", "", "behind"),
        ("int32 a = 1 [deprecated = true]; /* behind */", "", "behind"),
        ("int32 b = 2; // of b\n // of a\n int32 a = 1;", "of a", ""),
        ("int32 b = 2; // of b\n int32 a = 1;", "", ""),
    ],
)
def test_comments_belong_to_the_declaration_they_stand_at(text: str, doc: str, trailing: str) -> None:
    file = parse_file(f"{HEAD}message A {{\n {text}\n}}")
    field = next(field for field in file.messages[0].fields if field.name == "a")
    assert (field.doc, field.trailing_doc) == (doc, trailing)


def test_every_declaration_has_its_comment() -> None:
    file = parse_file(
        "// file\n" + HEAD + "// m\nmessage M {\n// o\noneof o { int32 a = 1; }\n// n\nmessage N {}\n}\n"
        "// e\nenum E {\n// k\nK = 0; // t\n}\n// s\nservice S {\n// r\nrpc R (M) returns (M);\n}\n"
    )
    message, enum, service = file.messages[0], file.enums[0], file.services[0]
    assert [file.doc, message.doc, message.oneofs[0].doc, message.messages[0].doc] == ["file", "m", "o", "n"]
    assert [enum.doc, enum.constants[0].doc, enum.constants[0].trailing_doc] == ["e", "k", "t"]
    assert [service.doc, service.rpcs[0].doc] == ["s", "r"]


@pytest.mark.parametrize(
    ("text", "problem", "expected", "position"),
    [
        ("message A { int32 a = 1 }", "unexpected '}'", "';'", Position(2, 25)),
        ("message A { int32 a = x; }", "unexpected 'x'", "the field's number, a whole number of 32 bits", None),
        ("message A { int32 a = 3000000000; }", "unexpected '3000000000'", None, Position(2, 23)),
        ("message A {", "the text ends too early", "a field's type or '}'", Position(2, 12)),
        ("message A { /* x", "this comment has no end", "'*/'", Position(2, 13)),
        ('option a = "x', "this string has no end", 'a closing "', Position(2, 12)),
        ('syntax = "proto3";', "'syntax' is not the first declaration", None, Position(2, 1)),
        ("message A { oneof o { optional int32 a = 1; } }", "'optional' in a oneof", "a field without a label", None),
        ("message A { repeated map<int32, int32> m = 1; }", "a map with a label", "no label before 'map'", None),
        ("package a; package b;", "the file has two packages", "one 'package'", None),
        ("import x;", "unexpected 'x'", "the path of the imported file, in quotes", Position(2, 8)),
        ("service S { int32 a = 1; }", "unexpected 'int32'", "'rpc', 'option' or '}'", None),
    ],
)
def test_an_error_says_what_where_and_what_would_be_right(
    text: str, problem: str, expected: str | None, position: Position | None
) -> None:
    with pytest.raises(SchemaParseError) as caught:
        parse_file(HEAD + text)
    assert caught.value.problem == problem
    if expected is not None:
        assert caught.value.expected == expected
    if position is not None:
        assert caught.value.position == position
        assert f"line {position.line}, column {position.column}" in caught.value.message


def test_a_field_without_a_label_is_refused_in_proto2_only() -> None:
    with pytest.raises(SchemaParseError, match="the field has no label: 'int32'"):
        parse_file("message A { int32 a = 1; }")
    assert parse_file(HEAD + "message A { int32 a = 1; }").messages[0].fields[0].label is None


@pytest.mark.parametrize("text", ['syntax = "proto4";', 'edition = "1999";'])
def test_an_unknown_version_of_the_language_is_refused(text: str) -> None:
    with pytest.raises(SchemaParseError, match="not a known version"):
        parse_file(text)
