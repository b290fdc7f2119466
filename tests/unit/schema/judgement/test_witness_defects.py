"""A search that fails is a finding without a record and a logged defect, and never ends an answer."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

import pytest

from counterfoil.contracts.cli.options import defects_on_stderr
from counterfoil.schema.compatibility.findings import Difference, NoWitness
from counterfoil.schema.judgement import confirm_compatible, confirm_unguarded, search_for_witness, search_unguarded
from counterfoil.schema.languages.avro.compare.rules import TYPE_MISMATCH
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType


@dataclass(frozen=True)
class Foreign:
    """A schema of a class that no search knows, which is a defect of whoever made it."""

    schema_type: SchemaType
    text: str = "a text of its own"
    referenced_chars: int = 0


DIFFERENCE = Difference(TYPE_MISMATCH, {"reader": "int", "writer": "string"}, "")
each_language = pytest.mark.parametrize("language", SchemaType)


def text_of(language: SchemaType) -> str:
    return {
        SchemaType.AVRO: '"int"',
        SchemaType.PROTOBUF: 'syntax = "proto3"; message M { int32 a = 1; }',
        SchemaType.JSON: json.dumps({"type": "string"}),
    }[language]


@each_language
def test_a_search_that_fails_is_no_witness_and_is_logged(language: SchemaType, caplog: pytest.LogCaptureFixture):
    reader, writer = Foreign(language), parse_schema(text_of(language), language)
    with caplog.at_level(logging.ERROR):
        found = search_for_witness(reader, writer, DIFFERENCE)
    assert found == NoWitness(
        0, "the search failed with AttributeError, which is a defect of counterfoil and stands in its log"
    )
    assert not search_for_witness(reader, writer, DIFFERENCE)
    record = caplog.records[0]
    assert (record.name, record.levelname) == ("counterfoil.schema.witness", "ERROR")
    assert "a text of its own" in caplog.text  # the schemas, to repeat it with
    assert writer.text in caplog.text
    assert "Traceback" in caplog.text


@each_language
def test_a_confirmation_that_fails_confirms_nothing_and_is_logged(
    language: SchemaType, caplog: pytest.LogCaptureFixture
):
    reader, writer = Foreign(language), parse_schema(text_of(language), language)
    confirmation = confirm_compatible(reader, writer, 10)
    assert (confirmation.round_tripped, confirmation.counter_witness) == (0, None)
    assert "AttributeError" in confirmation.reason
    assert "Traceback" in caplog.text


@each_language
def test_what_tests_call_lets_defects_out(language: SchemaType):
    reader, writer = Foreign(language), parse_schema(text_of(language), language)
    with pytest.raises(AttributeError):
        search_unguarded(reader, writer, DIFFERENCE)
    with pytest.raises(AttributeError):
        confirm_unguarded(reader, writer, 10)


def test_on_the_terminal_a_defect_is_one_line_and_its_traceback_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(logging.getLogger("counterfoil"), "propagate", False)  # a package may have set up the root
    for name in ("counterfoil", "counterfoil.schema"):  # so may a server that ran in this process
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
    with defects_on_stderr():
        search_for_witness(Foreign(SchemaType.AVRO), parse_schema('"int"'), DIFFERENCE)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    (line,) = [each for each in said.splitlines() if each.startswith("counterfoil: ")]
    assert line.startswith("counterfoil: A search for a record failed with AttributeError")
    file = Path(line.rpartition(" ")[2].rstrip(")"))
    kept = file.read_text()
    file.unlink()
    assert "Traceback" in kept
    assert "a text of its own" in kept
