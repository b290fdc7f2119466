"""What a layout costs for texts that are made to cost much: its size and its work are counted."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import pytest

from counterfoil.schema.languages.laid_out_text import FREE_POINTER_CHARACTERS, POINTERS_A_CHARACTER
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.layout import lay_out
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from counterfoil.schema.parsed import ParsedSchema

MOST_TIMES: Final = 45
"""How many times as long as its text a layout may be: each bracket in a line of its own, with the deepest indent."""


def in_avro(value: str) -> str:
    return f'{{"type": "string", "x": {value}}}'


def numbers(count: int) -> str:
    return in_avro(f"[{','.join('1' for _ in range(count))}]")


def deep(count: int) -> str:
    return in_avro("[" * 190 + ",".join('{"a":1}' for _ in range(count)) + "]" * 190)


def brackets(count: int) -> str:
    return in_avro(f"[{','.join('[' * 150 + ']' * 150 for _ in range(count // 100))}]")


def long_key(count: int) -> str:
    return in_avro(f'{{"{"k" * count}": [{",".join("{}" for _ in range(count))}]}}')


def comments(count: int) -> str:
    return in_avro("/* a */ " * count + "1")


SHAPES = [numbers, deep, brackets, long_key, comments]


def calls_of(schema: ParsedSchema) -> int:
    """Return how many functions are called for a layout, its first and last lines, and the line of an element."""
    total = 0

    def counted(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal total
        total += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        layout = lay_out(schema)
        layout.window(1, 100)
        layout.window(layout.total - 100, 100)
        layout.line_of(("x", 3))
    finally:
        sys.setprofile(None)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("make", SHAPES)
def test_twice_the_text_takes_twice_the_calls(make: Callable[[int], str]):
    small, large = (calls_of(parse_schema(make(count))) for count in (1_000, 2_000))
    assert large <= 2.5 * small


@pytest.mark.parametrize("make", SHAPES)
def test_a_layout_is_not_much_longer_than_its_text(make: Callable[[int], str]):
    text = make(2_000)
    layout = lay_out(parse_schema(text))
    assert len(layout.text) <= MOST_TIMES * len(text)
    assert layout.total <= len(text)


def test_the_pointers_of_lines_are_bounded_by_the_text():
    layout = lay_out(parse_schema(long_key(5_000)))
    characters = sum(len(line.pointer) for line in layout.lines)
    assert characters <= FREE_POINTER_CHARACTERS + POINTERS_A_CHARACTER * len(layout.text)
    assert layout.line_of(("x", "k" * 5_000, 4_999)) == layout.total - 3


def test_types_of_many_messages_are_found_in_proportion_to_them():
    def text(count: int) -> str:
        messages = [f"message M{at} {{ M{(at + 1) % count} a = 1; }}" for at in range(count)]
        return "\n".join(['syntax = "proto3";', *messages])

    small, large = (calls_of(parse_schema(text(count), SchemaType.PROTOBUF)) for count in (200, 400))
    assert large <= 2.5 * small


def test_references_to_one_definition_are_found_in_proportion_to_them():
    def text(count: int) -> str:
        properties = {f"p{at}": {"$ref": "#/definitions/a"} for at in range(count)}
        return json.dumps({"properties": properties, "definitions": {"a": {}}})

    small, large = (calls_of(parse_schema(text(count), SchemaType.JSON)) for count in (200, 400))
    assert large <= 2.5 * small
