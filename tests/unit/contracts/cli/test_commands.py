"""``counterfoil init``, ``lint`` and ``generate`` in a folder: what they write and print, and their exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from counterfoil.contracts.cli.generate import generate
from counterfoil.contracts.cli.lint import lint
from counterfoil.contracts.cli.run import run
from counterfoil.contracts.cli.start import init
from counterfoil.contracts.project.documents import read_project
from strategies.contracts.agreement_files import APPLICATION, BRIDGE, CONTRACT, SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "orders.odcs.yaml": CONTRACT,
    "billing.odps.yaml": APPLICATION.replace("pinned, value: false", "readerSchema, value: schemas/reader.avsc"),
    "schemas/order.avsc": SCHEMA,
    "schemas/reader.avsc": SCHEMA,
    "schemas/refund.avsc": '{"type": "record", "name": "Refund", "fields": [{"name": "of", "type": "shop.Money"}]}',
    "schemas/money.avsc": '{"type": "record", "name": "Money", "namespace": "shop", "fields": []}',
    "proto/rides-value.proto": 'syntax = "proto3"; message Ride { string id = 1; }',
    "json/claim.schema.json": '{"title": "Claim", "type": "object"}',
    "converters/orders.yaml": BRIDGE,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with schemas of three languages, a contract and a consumer, which is the current folder."""
    for path, text in FILES.items():
        place = tmp_path / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_maps_every_schema_file_and_lint_accepts_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(init, ["--registry", "http://localhost:8081", "--owner", "shop"]) == 0
    assert "maps 6 schema files in 5 entries" in capsys.readouterr().out
    project = read_project((folder / "counterfoil.yaml").read_text())
    found = {path: project.mapping(path) for path in FILES if not path.endswith(".yaml")}
    assert {path: each and (each.subject, each.line.is_part) for path, each in found.items()} == {
        "schemas/order.avsc": ("orders.placed-value", False),
        "schemas/reader.avsc": (None, True),
        "schemas/money.avsc": (None, True),
        "schemas/refund.avsc": ("refund-value", False),
        "proto/rides-value.proto": ("rides-value", False),
        "json/claim.schema.json": ("claim-value", False),
    }
    assert (project.settings.registry, project.settings.owner) == ("http://localhost:8081", "shop")
    assert run(lint, []) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings; 9 files checked (exit 0)\n"


def test_init_does_not_replace_a_file(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(init, []) == 0
    assert run(init, []) == 14
    assert "counterfoil.yaml exists; --force replaces it" in capsys.readouterr().err
    assert run(init, ["--print"]) == 0
    assert capsys.readouterr().out == (folder / "counterfoil.yaml").read_text()


def test_init_without_schemas_cannot_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert run(init, []) == 4
    assert not (tmp_path / "counterfoil.yaml").exists()


def test_lint_exit_codes_and_json(folder: Path, capsys: pytest.CaptureFixture[str]):
    contract = folder / "orders.odcs.yaml"
    contract.write_text(CONTRACT.replace("EUR.cent", "euros").replace("team:\n  name: checkout\n", ""))
    assert run(lint, ["--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["summary"] == {"checked": 8, "errors": 1, "warnings": 1, "notices": 0}
    assert [(each["rule"], each["path"], each["line"]) for each in document["findings"]] == [
        ("owner-missing", "orders.odcs.yaml", 1),
        ("unit-unknown", "orders.odcs.yaml", 43),
    ]
    assert run(lint, ["--rules", "owner-missing"]) == 0
    assert run(lint, ["--rules", "owner-missing", "--fail-on", "warning"]) == 1
    assert run(lint, ["--rules", "owner-mising"]) == 2
    assert run(lint, ["schemas"]) == 0
    assert run(lint, ["nowhere"]) == 14
    (folder / "empty").mkdir()
    assert run(lint, ["empty"]) == 4
    assert run(lint, ["empty", "--allow-empty"]) == 0


def test_a_generated_contract_passes_lint_and_check_tells_a_difference(folder: Path):
    arguments = ["contract", "schemas/refund.avsc", "--owner", "shop", "--fields", "--out", "refund.odcs.yaml"]
    assert run(generate, [*arguments, "--check"]) == 1
    assert run(generate, arguments) == 0
    assert run(generate, [*arguments, "--check"]) == 0
    assert run(lint, ["refund.odcs.yaml", "--fail-on", "warning"]) == 0
    assert "url: ./schemas/refund.avsc" in (folder / "refund.odcs.yaml").read_text()


def test_a_generated_consumer_reads_what_the_contract_has(folder: Path, capsys: pytest.CaptureFixture[str]):
    out = ["--id", "ui", "--owner", "web", "--out", "ui.odps.yaml"]
    assert run(generate, ["consumer", "orders.odcs.yaml", *out, "--reads", "items[].sku", "--reads", "status"]) == 0
    assert run(lint, ["ui.odps.yaml", "--fail-on", "warning"]) == 0
    assert "- items[].sku\n" in (folder / "ui.odps.yaml").read_text()
    assert run(generate, ["consumer", "orders.odcs.yaml", *out, "--reads", "items[].sk"]) == 2
    assert "has no field 'sk'; it has sku" in capsys.readouterr().err
    assert run(generate, ["consumer", "billing.odcs.yaml", *out]) == 14
    (folder / "latin.odcs.yaml").write_bytes(b"id: caf\xe9")
    assert run(generate, ["consumer", "latin.odcs.yaml", *out]) == 14
    assert run(generate, ["consumer", "orders.odcs.yaml", *out, "--out", "latin.odcs.yaml", "--check"]) == 1
