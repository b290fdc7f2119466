"""``counterfoil diff``: two schemas by name, and what changed between them."""

from __future__ import annotations

import json

import pytest


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
    assert (result.code, list(report)) == (0, ["schemaVersion", "kind", "earlier", "later", "changes"])
    assert report["later"] == {"operand": "order.avsc", "name": "shop.Order"}
    assert report["changes"][1] == {
        "kind": "type-changed",
        "element": "total",
        "earlier": "long",
        "later": "double",
        "text": "type changed: long → double",
        "earlierPosition": {"line": 12, "column": 12},
        "laterPosition": {"line": 12, "column": 12},
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
        ("nowhere:schemas/order.avsc", 14, "git knows no commit 'nowhere'"),
        ("orders-value@3", 2, "--registry"),
        ("bad.avsc", 14, "bad.avsc:2:1"),
    ],
)
def test_what_cannot_be_read(counterfoil, changed, base, code, said):
    changed.write("bad.avsc", '{"type":\n}')
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
