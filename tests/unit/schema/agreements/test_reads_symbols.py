"""Symbols that a consumer does not know: what it expects, and what its language does with them."""

from __future__ import annotations

import pytest

from counterfoil.schema import parse_schema
from counterfoil.schema.agreements import RULE_BY_ID
from counterfoil.schema.agreements.findings import Offer, ReadFinding
from strategies.contracts.read_judgements import judged_change
from strategies.contracts.reads import AVRO, JSON, PROTOBUF, enum, facts, found, reader, record

STATUS = 'syntax = "%s"; message Order { %s E e = 1; } enum E { A = 0; B = 1; %s }'
OPEN, CLOSED = (STATUS % (syntax, label, "%s") for syntax, label in (("proto3", ""), ("proto2", "optional")))
LISTED = '{"type": "object", "properties": {"e": {"enum": ["A", "B"%s]}}}'
ADDED = {
    "Avro": (AVRO, record(e=enum("A", "B")), record(e=enum("A", "B", "C"))),
    "Avro with a default": (AVRO, record(e=enum("A", "B", default="A")), record(e=enum("A", "B", "C", default="A"))),
    "Protobuf": (PROTOBUF, OPEN % "", OPEN % "C = 2;"),
    "closed Protobuf": (PROTOBUF, CLOSED % "", CLOSED % "C = 2;"),
    "JSON": (JSON, LISTED % "", LISTED % ', "C"'),
}
NO, NOTICE, YES = "no", "notice", "yes"
ANSWERS = {
    "Avro": {"": NO, "fail": NO, "default": NO, "pass": NO},
    "Avro with a default": {"": NOTICE, "fail": NO, "default": YES, "pass": YES},
    "Protobuf": {"": NOTICE, "fail": NO, "default": YES, "pass": YES},
    "closed Protobuf": {"": NO, "fail": NO, "default": NO, "pass": NO},
    "JSON": {"": NO, "fail": NO, "default": YES, "pass": YES},
}


def answer(findings: list[ReadFinding]) -> str:
    assert all(each.symbol == "C" for each in findings)
    if any(RULE_BY_ID[each.rule].is_breaking for each in findings):
        return NO
    return NOTICE if findings else YES


@pytest.mark.parametrize("paths", [["e"], []])
@pytest.mark.parametrize("mode", ["", "fail", "default", "pass"])
@pytest.mark.parametrize("kind", ADDED)
def test_a_new_symbol_is_judged_by_what_the_consumer_says_and_by_its_language(
    kind: str, mode: str, paths: list[str]
) -> None:
    assert answer(found(*ADDED[kind], *paths, mode=mode)) == ANSWERS[kind][mode]


@pytest.mark.parametrize("mode", ["", "fail", "default", "pass"])
@pytest.mark.parametrize("kind", ADDED)
def test_a_declared_schema_decides_what_a_decoder_refuses(kind: str, mode: str) -> None:
    """A validator refuses the symbol where the consumer declares the JSON schema with which it reads."""
    language, was, now = ADDED[kind]
    by_schema = reader("e", mode=mode, declared=was, language=language)
    findings = list(judged_change(None, Offer(parse_schema(now, language)), [by_schema]))
    assert answer(findings) == (NO if kind == "JSON" else ANSWERS[kind][mode])


def test_one_of_two_new_symbols_can_be_taken_back() -> None:
    was, both, one = (record(e=enum("A", *more)) for more in ((), ("X", "Y"), ("X",)))
    assert facts(found(AVRO, was, both, "e")) == {("e", "X"), ("e", "Y")}
    assert facts(found(AVRO, was, one, "e")) == {("e", "X")}
