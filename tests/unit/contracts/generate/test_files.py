"""``counterfoil generate fixtures``, ``vectors``, ``strategy`` and ``docs``, and ``--check``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from counterfoil.contracts.cli.generate import generate
from counterfoil.contracts.cli.run import run
from counterfoil.contracts.generate.library import ContractLibrary
from counterfoil.contracts.records.lines import checked_line, read_headers
from counterfoil.contracts.testing.record import RecordCheck, RecordParts
from strategies.contracts.kit_project import write_project

if TYPE_CHECKING:
    from pathlib import Path

CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: {name}
version: 1.0.0
status: active
description: {{purpose: "One | row"}}
schema:
  - name: {name}
    physicalName: {name}
    authoritativeDefinitions: [{{type: schema, url: {file}}}]
    properties:
      - {{name: n, logicalType: integer, description: "How <many>", logicalTypeOptions: {{minimum: 2, maximum: 5}}}}
"""
PROTOBUF = """syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto";
message Ride { int32 n = 1; optional string note = 2; google.protobuf.Timestamp at = 3; repeated Ride inner = 4;
  oneof pay { string card = 5; double cash = 6; } map<string, bytes> more = 7; enum K { A = 0; B = 1; } K k = 8; }
"""
JSON = json.dumps(
    {
        "title": "Claim",
        "type": "object",
        "required": ["n"],
        "properties": {
            "n": {"type": "integer"},
            "at": {"type": "string", "format": "date-time"},
            "state": {"enum": ["NEW", "PAID"]},
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"sku": {"type": ["string", "null"]}}},
            },
        },
    }
)
OTHERS = {
    "rides.odcs.yaml": CONTRACT.format(name="rides", file="ride.proto"),
    "ride.proto": PROTOBUF,
    "claims.odcs.yaml": CONTRACT.format(name="claims", file="claim.schema.json"),
    "claim.schema.json": JSON,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with contracts of three languages, which is the current folder."""
    write_project(tmp_path, **OTHERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fixtures_are_records_that_produce_reads_and_that_keep_the_contract(folder: Path):
    assert run(generate, ["fixtures", "orders.placed", "--count", "30", "--out", "f.jsonl"]) == 0
    found = ContractLibrary(str(folder)).find("orders.placed")
    lines = [json.loads(line) for line in (folder / "f.jsonl").read_text().splitlines()]
    assert len(lines) == 30
    assert lines[0]["value"]["email"] is None
    for line in lines[1:]:
        headers = {name: (text or b"").decode() for name, text in read_headers(checked_line(line))}
        value = found.examples.decode(found.examples.encode(found.examples.value(line["value"])))
        assert RecordCheck(found.promise).violations(RecordParts(value, line["key"], headers)) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["fixtures", "orders.placed", "--seed", "7"],
        ["vectors", "orders.placed", "rides", "claim.schema.json", "--count", "4"],
        ["strategy", "rides"],
        ["docs", "claims"],
    ],
    ids=lambda words: words[0],
)
def test_check_fails_for_a_file_with_another_text_alone(folder: Path, arguments, capsys):
    command = [*arguments, "--out", "made"]
    assert run(generate, [*command, "--check"]) == 1
    assert run(generate, command) == 0
    assert run(generate, [*command, "--check"]) == 0
    (folder / "made").write_text((folder / "made").read_text() + "\n")
    assert run(generate, [*command, "--check"]) == 1
    assert "made differs from what this command would write" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["orders.placed", "rides", "claims"])
def test_the_values_of_a_generated_strategy_keep_the_contract(folder: Path, name: str):
    assert run(generate, ["strategy", name, "--out", "made.py"]) == 0
    module: dict[str, object] = {}
    exec((folder / "made.py").read_text(), module)
    found = ContractLibrary(str(folder)).find(name)
    seen = []
    values: Any = module[name.replace(".", "_")]

    @given(values)
    def check(value):
        plain = found.examples.decode(found.examples.encode(value))
        broken = RecordCheck(found.promise).violations(RecordParts(plain, headers=None, has_key=False))
        assert [each for each in broken if each.rule != "discount_fits"] == []
        seen.append(value)

    check()
    assert seen


def test_the_page_says_what_fields_mean_who_owns_them_and_who_reads_them(folder: Path, capsys):
    assert run(generate, ["docs", "orders.placed"]) == 0
    page = capsys.readouterr().out
    assert "| `owner` | checkout |" in page
    assert r"| `total_cents` | long |  | \>= 0 and \< 100000000 | EUR.cent |  |" in page
    assert "| `email` | string, optional | Deprecated. |  |  | confidential, pii, pii.email |" in page
    assert r"| `billing` | 4.7.1 | finance | order\_id, total\_cents, status, items\[\].sku," in page
    assert run(generate, ["docs", "claims", "--out", "claims.html"]) == 0
    html = (folder / "claims.html").read_text()
    assert "<td>How &lt;many&gt;</td><td>&gt;= 2 and &lt;= 5</td>" in html
    assert "No consumer here declares that it reads it." in html


def test_what_is_missing_is_named(folder: Path, capsys):
    (folder / "bare.odcs.yaml").write_text(CONTRACT.format(name="bare", file="gone.avsc"))
    assert run(generate, ["vectors", "nothing"]) == 14
    assert "there is no contract 'nothing' here; known: bare, claims, orders.placed, rides" in capsys.readouterr().err
    assert run(generate, ["fixtures", "bare"]) == 14
    assert (
        "bare.odcs.yaml has no schema file for bare: add it under authoritativeDefinitions" in capsys.readouterr().err
    )
    assert run(generate, ["docs", "orders.placed", "--check"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["contract", "ride.proto"],
        ["consumer", "rides.odcs.yaml", "--id", "me"],
        ["fixtures", "orders.placed"],
        ["vectors", "rides"],
        ["strategy", "rides"],
        ["docs", "claims", "--format", "html"],
    ],
    ids=lambda words: words[0],
)
def test_a_dash_for_the_file_is_standard_output(folder: Path, arguments, capsys):
    before = set(folder.iterdir())
    assert run(generate, arguments) == 0
    printed = capsys.readouterr().out
    assert run(generate, [*arguments, "--out", "-"]) == 0
    assert (capsys.readouterr().out, bool(printed)) == (printed, True)
    assert run(generate, [*arguments, "--out", "-", "--check"]) == 2
    assert set(folder.iterdir()) == before
