"""``counterfoil diff``: two schemas by name, and what changed between them."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.reports.json_schema import report_json_schema
from strategies.contracts.agreement_files import APPLICATION, CONTRACT, SCHEMA


@pytest.fixture
def changed(workshop, order):
    """A repository in which the schema lost, gained, renamed and retyped a field since its last commit."""
    fields = {"id": "string", "total": "long", "gone": "int", "name": "string"}
    workshop.write("schemas/order.avsc", order(**fields))
    workshop.commit()
    customer = {"type": "string", "aliases": ["name"]}
    workshop.write("schemas/order.avsc", order(id="string", total="double", customer=customer, new="int"))
    return workshop


def test_text(counterfoil, changed):
    result = counterfoil("diff", "HEAD:schemas/order.avsc", "schemas/order.avsc", folder=changed.folder)
    assert result.code == 0
    lines = [line.partition("  (")[0] for line in result.out.splitlines()]
    assert lines == [
        "- gone: field removed: int",
        "~ total: type changed: long → double",
        "~ customer: field renamed: name → customer",
        "~ customer: aliases changed: none → name",
        "+ new: field added: int",
        "5 changes from HEAD:schemas/order.avsc to schemas/order.avsc",
    ]
    assert "(HEAD:schemas/order.avsc:14:3)" in result.out


def test_json(counterfoil, changed):
    result = counterfoil(
        "diff", "HEAD:./order.avsc", "order.avsc", "--format", "json", folder=changed.folder / "schemas"
    )
    report = result.report
    assert (result.code, list(report)) == (0, ["schemaVersion", "kind", "earlier", "later", "changes", "verdict"])
    assert report["later"] == {"operand": "order.avsc", "name": "shop.Order"}
    assert report["changes"][1] == {
        "kind": "type-changed",
        "element": "total",
        "earlier": "long",
        "later": "double",
        "text": "type changed: long → double",
        "earlierPosition": {"line": 12, "column": 12},
        "laterPosition": {"line": 12, "column": 12},
        "breaks": [
            {
                "direction": "FORWARD",
                "rule": "type-mismatch",
                "element": "total",
                "text": "the earlier schema expects long, this one writes double",
                "allowed": True,
            }
        ],
    }


def test_equal_schemas(counterfoil, changed):
    result = counterfoil("diff", "schemas/order.avsc", "schemas/order.avsc", folder=changed.folder)
    assert (result.code, result.out) == (0, "0 changes from schemas/order.avsc to schemas/order.avsc\n")
    assert counterfoil("diff", "-q", "schemas/order.avsc", "schemas/order.avsc", folder=changed.folder).out == ""


def test_files_outside_of_git_and_their_references(counterfoil, tmp_path):
    (tmp_path / "item.avsc").write_text('{"type": "record", "name": "Item", "fields": []}')
    (tmp_path / "one.avsc").write_text('{"type": "array", "items": "Item"}')
    (tmp_path / "two.avsc").write_text('{"type": "map", "values": "Item"}')
    assert "array<record Item> → map<record Item>" in counterfoil("diff", "one.avsc", "two.avsc").out


@pytest.mark.parametrize(
    ("base", "code", "said"),
    [
        ("nowhere.avsc", 14, "nowhere.avsc"),
        ("HEAD:nowhere.avsc", 14, "nowhere.avsc"),
        ("nowhere:schemas/order.avsc", 14, "no commit, file or folder 'nowhere'"),
        ("orders-value@3", 2, "--registry"),
        ("bad.avsc", 14, "bad.avsc:2:1"),
        ("bad.odcs.yaml", 2, "bad.odcs.yaml is a contract or product file"),
    ],
)
def test_what_cannot_be_read(counterfoil, changed, base, code, said):
    changed.write("bad.avsc", '{"type":\n}')
    changed.write("bad.odcs.yaml", "kind: DataContract")
    result = counterfoil("diff", base, "schemas/order.avsc", folder=changed.folder)
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert result.err.count("\n") == 1


def test_every_kind_of_report_is_written_to_files(counterfoil, changed):
    counterfoil(
        "diff",
        "HEAD:schemas/order.avsc",
        "schemas/order.avsc",
        "--format",
        "json=a.json",
        "--format",
        "text=a.txt",
        folder=changed.folder,
    )
    assert len(json.loads((changed.folder / "a.json").read_text())["changes"]) == 5
    assert (changed.folder / "a.txt").read_text().count("\n") == 6


@pytest.fixture
def folders(changed, order):
    """Since the last commit, one file was changed, one added, one removed, and one stayed as it is."""
    for name in ("same.avsc", "old.avsc"):
        changed.write(f"schemas/deep/{name}", order(id="string"))
    before = (changed.folder / "schemas" / "order.avsc").read_text()
    changed.commit()
    changed.write("schemas/order.avsc", before.replace('"new"', '"newer"'))
    (changed.folder / "schemas" / "deep" / "old.avsc").unlink()
    changed.write("schemas/deep/more.avsc", order(id="string"))
    return changed


@pytest.mark.parametrize(
    ("base", "head", "below"),
    [("HEAD:schemas", "schemas", ""), ("HEAD:", ".", "schemas/"), ("HEAD:./", "./", "schemas/")],
)
def test_folders_are_compared_file_by_file(counterfoil, folders, base, head, below):
    result = counterfoil("diff", base, head, folder=folders.folder)
    assert (result.code, result.err) == (0, "")
    assert [line.partition("  (")[0] for line in result.out.splitlines()] == [
        f"+ {below}deep/more.avsc: file added",
        f"- {below}deep/old.avsc: file removed",
        f"~ {below}order.avsc",
        "  - new: field removed: int",
        "  + newer: field added: int",
        f"3 changed files from {base} to {head}",
    ]
    report = counterfoil("diff", base, head, "--format", "json", folder=folders.folder).report
    assert [(file["path"], file["status"], len(file["changes"])) for file in report["files"]] == [
        (f"{below}deep/more.avsc", "added", 0),
        (f"{below}deep/old.avsc", "removed", 0),
        (f"{below}order.avsc", "changed", 2),
    ]
    written = counterfoil("diff", base, head, "--format", "markdown", folder=folders.folder).out
    assert f"- `{below}deep/more.avsc`: file added\n" in written
    assert "| `newer` | field added: int |" in written


def test_folders_outside_of_git(counterfoil, tmp_path):
    for name, kind in (("a", "int"), ("b", "long")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.avsc").write_text(f'{{"type": "array", "items": "{kind}"}}')
    out = counterfoil("diff", "a", "b").out
    assert out.splitlines() == [
        "~ x.avsc",
        "  ~ []: type changed: int → long  (b/x.avsc:1:28)  breaks FORWARD, allowed (type-mismatch)",
        "1 changed file from a to b",
    ]
    assert counterfoil("diff", "a", "a").out == "0 changed files from a to a\n"


def test_a_folder_is_compared_with_folders_alone(counterfoil, folders):
    result = counterfoil("diff", "schemas", "schemas/order.avsc", folder=folders.folder)
    assert (result.code, result.out) == (2, "")
    assert "schemas is a folder, and schemas/order.avsc is none; compare two folders, or two files" in result.err
    folders.write("schemas/bad.avsc", '{"type":\n}')
    folders.commit()
    result = counterfoil("diff", "HEAD:schemas", "schemas", folder=folders.folder)
    assert (result.code, result.out) == (14, "")
    assert "HEAD:schemas/bad.avsc:2:1" in result.err


@pytest.fixture
def contracts(workshop):
    """Since the last commit, a contract promises less, a consumer reads more, and a third file is new."""
    workshop.write("c/orders.odcs.yaml", CONTRACT)
    workshop.write("c/billing.odps.yaml", APPLICATION)
    workshop.write("c/order.avsc", SCHEMA)
    workshop.commit()
    workshop.write("c/orders.odcs.yaml", CONTRACT.replace("value: EUR.cent", "value: EUR").replace("2.1.0", "2.2.0"))
    workshop.write("c/billing.odps.yaml", APPLICATION.replace("- order_id", "- order_id\n          - email"))
    workshop.write("c/more.odcs.yaml", CONTRACT.replace("id: orders.placed", "id: more"))
    return workshop


def test_contract_files_are_compared(counterfoil, contracts):
    result = counterfoil("diff", "main:c/orders.odcs.yaml", "c/orders.odcs.yaml", folder=contracts.folder)
    assert (result.code, result.out.splitlines()) == (
        0,
        [
            "~ version changed: 2.1.0 → 2.2.0  (c/orders.odcs.yaml:5:10)",
            "~ OrderPlaced.total_cents: unit changed: EUR.cent → EUR  (c/orders.odcs.yaml:45:37)",
            "2 changes from main:c/orders.odcs.yaml to c/orders.odcs.yaml",
        ],
    ), result
    product = counterfoil("diff", "main:c/billing.odps.yaml", "./c/billing.odps.yaml", folder=contracts.folder)
    assert product.out.startswith("+ orders.email: read added  (./c/billing.odps.yaml:"), product
    here = counterfoil("diff", "main:./billing.odps.yaml", "billing.odps.yaml", folder=contracts.folder / "c")
    assert here.out.endswith("1 change from main:./billing.odps.yaml to billing.odps.yaml\n"), here


def test_contract_files_of_folders_are_compared_beside_schemas(counterfoil, contracts):
    for base, head, below in (("main:c", "c", ""), ("main:", ".", "c/")):
        result = counterfoil("diff", base, head, folder=contracts.folder)
        assert [line.partition("  (")[0] for line in result.out.splitlines()] == [
            f"~ {below}billing.odps.yaml",
            "  + orders.email: read added",
            f"+ {below}more.odcs.yaml: file added",
            f"~ {below}orders.odcs.yaml",
            "  ~ version changed: 2.1.0 → 2.2.0",
            "  ~ OrderPlaced.total_cents: unit changed: EUR.cent → EUR",
            f"3 changed files from {base} to {head}",
        ], result
    report = counterfoil("diff", "main:c", "c", "--format", "json", folder=contracts.folder).report
    Draft202012Validator(report_json_schema()).validate(report)
    assert report["files"][0]["changes"][0]["kind"] == "read-added"


@pytest.mark.parametrize(
    ("operands", "code", "said"),
    [
        ("c/orders.odcs.yaml c/billing.odps.yaml", 14, "one is a contract and one a product"),
        ("c/orders.odcs.yaml c/order.avsc", 2, "c/order.avsc is not; compare two of the same kind"),
        ("c/nothing.odcs.yaml c/orders.odcs.yaml", 14, "there is no file 'c/nothing.odcs.yaml'"),
        ("main:c/nothing.odcs.yaml c/orders.odcs.yaml", 14, "main has no file 'c/nothing.odcs.yaml'"),
        ("nowhere:c/orders.odcs.yaml c/orders.odcs.yaml", 14, "no commit, file or folder 'nowhere'"),
        ("c/bad.odcs.yaml c/orders.odcs.yaml", 14, "c/bad.odcs.yaml:6:1 is no valid contract or product file"),
    ],
)
def test_contract_files_that_cannot_be_compared(counterfoil, contracts, operands, code, said):
    contracts.write("c/bad.odcs.yaml", CONTRACT.replace("status:", "statsu:"))
    result = counterfoil("diff", *operands.split(), folder=contracts.folder)
    assert (result.code, result.out, said in result.err) == (code, "", True), result


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("diff main:a.avsc b.avsc", 14, "'main:a.avsc' is no file here, and no REF:PATH: this folder is in no git"),
        ("diff HTTP://registry b.avsc", 2, "'HTTP://registry' is an address; name a schema as SUBJECT@VERSION"),
        ("encode --schema main:a.avsc {}", 14, "this folder is in no git repository"),
        ("check --against HTTPS://registry", 2, "'HTTPS://registry' is an address; to compare with a registry"),
    ],
)
def test_what_an_operand_may_be_is_said_outside_of_a_repository(counterfoil, tmp_path, command, code, said):
    result = counterfoil(*command.split(), folder=tmp_path)
    assert (result.code, said in result.err) == (code, True), result


def test_a_test_without_contracts_says_so(counterfoil, tmp_path):
    result = counterfoil("test", folder=tmp_path)
    assert (result.code, result.out.splitlines()[0]) == (
        4,
        "There is no contract with a topic here, so no record was tested.",
    )
