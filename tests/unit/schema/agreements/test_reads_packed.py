"""Whether a parser refuses a message for packed numbers of another type: what verdicts say, and what Protobuf does."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from google.protobuf.message import DecodeError

from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements.findings import Offer, Reader
from counterfoil.schema.agreements.model import Expectation, ExpectedRead
from counterfoil.schema.paths import parse_path
from counterfoil.schema.texts import Position
from strategies.contracts.read_judgements import judged_change
from strategies.protobuf.classes import generated_classes

NUMBERS = (
    *("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool"),
    *("fixed32", "sfixed32", "float", "fixed64", "sfixed64", "double"),
)
FRACTIONS = (-2.5, 0.1, 1e30, -1e-30)
TEXT = 'syntax = "proto3"; message M_{0} {{ int32 id = 1; repeated {0} a = 2; }}'


@pytest.fixture(scope="module")
def classes() -> dict[str, Any]:
    return generated_classes({f"{each}.proto": TEXT.format(each) for each in NUMBERS})


def values_of(scalar: str) -> list[Any]:
    """Return numbers of a type: its ends, what is near them, and some between."""
    if scalar in {"float", "double"}:
        return list(FRACTIONS)
    if scalar == "bool":
        return [True, False]
    bits = 64 if scalar.endswith("64") else 32
    is_signed = not scalar.startswith(("u", "fixed"))
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    return [least, least + 1, 0, 1, 127, 128, 300, 2**28, most - 1, most]


@pytest.mark.parametrize("writer", NUMBERS)
def test_a_parser_refuses_packed_numbers_exactly_where_a_verdict_says_so(writer: str, classes: dict[str, Any]):
    values = values_of(writer)
    written = [[one] for one in values] + [list(pair) for pair in permutations(values, 2)]
    messages = [classes[f"M_{writer}"](id=1, a=each).SerializeToString() for each in written]
    for reader in NUMBERS:
        assert _says_refused(reader, writer) is any(_is_refused(classes[f"M_{reader}"], each) for each in messages), (
            reader
        )


def _is_refused(parser: Any, message: bytes) -> bool:
    try:
        parser.FromString(message)
    except DecodeError:
        return True
    return False


def _says_refused(mine: str, theirs: str) -> bool:
    """Return whether a consumer that reads another field alone breaks."""
    own, other = (
        parse_schema(TEXT.format(each).replace(f"M_{each}", "M"), SchemaType.PROTOBUF) for each in (mine, theirs)
    )
    at = Position(1, 1)
    expectation = Expectation("orders", "orders", "1", at, (ExpectedRead(parse_path("id"), at),))
    reader = Reader("ui", expectation, schema=own)
    return any(each.is_breaking for each in judged_change(None, Offer(other), [reader]))
