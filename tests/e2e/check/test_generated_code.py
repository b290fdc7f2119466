"""``counterfoil check --generated-code``: names and types that programs with generated code depend on."""

from __future__ import annotations

import pytest

PROTO = """syntax = "proto3";
package shop;
option java_package = "com.shop";
message Order {
  string id = 1;
  repeated string tags = 2;
  enum State { NEW = 0; PAID = 1; }
  State state = 3;
}
"""
AVRO = """{"type": "record", "name": "Order", "namespace": "shop", "fields": [
 {"name": "id", "type": "string"},
 {"name": "total", "type": "int"}
]}
"""


def _findings(counterfoil, workshop, *arguments):
    report = counterfoil("check", "--level", "NONE", "--format", "json", *arguments, folder=workshop.folder).report
    return [(one["rule"], one["line"]) for one in report["findings"] if one["severity"] == "error"]


@pytest.mark.parametrize(
    ("schema", "change", "expected"),
    [
        ("proto", ("string id = 1", "string key = 1"), ("generated-name-changed", 5)),
        ("proto", ("PAID = 1", "SETTLED = 1"), ("generated-name-changed", 7)),
        ("proto", ("string id = 1", "bytes id = 1"), ("generated-type-changed", 5)),
        ("proto", ("repeated string", "string"), ("generated-type-changed", 6)),
        ("proto", ("com.shop", "com.store"), ("generated-package-changed", 3)),
        ("proto", ("package shop;", "package store;"), ("generated-package-changed", 2)),
        ("avsc", ('"name": "total"', '"name": "sum", "aliases": ["total"]'), ("generated-name-changed", 3)),
        ("avsc", ('"type": "int"', '"type": "long"'), ("generated-type-changed", 3)),
        ("avsc", ('"namespace": "shop"', '"namespace": "store"'), ("generated-package-changed", 1)),
    ],
)
def test_each_rule_at_its_line(counterfoil, workshop, schema, change, expected):
    path, text = f"a.{schema}", PROTO if schema == "proto" else AVRO
    workshop.write(path, text)
    workshop.commit()
    workshop.write(path, text.replace(*change))
    assert _findings(counterfoil, workshop, "--generated-code", "package") == [expected]
    assert _findings(counterfoil, workshop) == []


def test_what_adds_to_generated_code_is_no_finding(counterfoil, workshop):
    workshop.write("a.proto", PROTO)
    workshop.commit()
    workshop.write(
        "a.proto", PROTO.replace("  enum", "  int32 size = 4;\n  enum") + "message Other { string id = 1; }\n"
    )
    assert _findings(counterfoil, workshop, "--generated-code", "file") == []


def test_a_moved_file_is_a_finding_of_files_alone(counterfoil, workshop):
    workshop.write("a.proto", PROTO)
    workshop.commit()
    (workshop.folder / "a.proto").unlink()
    workshop.write("shop/a.proto", PROTO.replace("tags = 2;", "tags = 2;\n  string note = 4;"))
    assert _findings(counterfoil, workshop, "--generated-code", "package") == []
    found = _findings(counterfoil, workshop, "--generated-code", "file")
    assert [rule for rule, _ in found] == ["generated-file-moved"]
    workshop.write("shop/a.proto", PROTO)
    assert _findings(counterfoil, workshop, "--generated-code", "file") == found
