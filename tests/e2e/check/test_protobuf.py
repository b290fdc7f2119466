"""``counterfoil check`` and ``diff`` over Protobuf files, through the installed command."""

from __future__ import annotations

import pytest

LINE = 'syntax = "proto3";\npackage shop;\nmessage Line {\n  string sku = 1;\n  int32 price = 2;\n}\n'


def order(*fields, imports=()):
    lines = [f'import "{path}";' for path in imports]
    return "\n".join(['syntax = "proto3";', "package shop;", *lines, "message Order {", *fields, "}", ""])


@pytest.fixture
def shop(workshop):
    """A repository with an order that imports its lines, and a well-known type."""
    paths = ("shop/line.proto", "google/protobuf/timestamp.proto")
    workshop.write("protos/shop/line.proto", LINE)
    fields = ["  int64 total = 1;", "  repeated Line lines = 2;", "  google.protobuf.Timestamp at = 3;"]
    workshop.write("protos/shop/order.proto", order(*fields, imports=paths))
    workshop.commit()
    workshop.fields, workshop.paths = fields, paths
    return workshop


def test_a_changed_kind_names_rule_place_witness_and_cure(counterfoil, shop):
    text = order("  string total = 1;", *shop.fields[1:], imports=shop.paths)
    shop.write("protos/shop/order.proto", text)
    result = counterfoil("check", "--format", "json", "--format", "text=out.txt", folder=shop.folder)
    assert (result.code, result.rules) == (1, ["field-scalar-kind-changed"]), result
    (finding,) = result.report["findings"]
    assert (finding["path"], finding["line"], finding["column"]) == ("protos/shop/order.proto", 6, 3)
    assert (finding["subject"], finding["element"]) == ("shop.Order", "Order.total")
    assert finding["text"] == "this schema has string in field total = 1, the earlier one int64"
    assert "protobuf" in finding["witness"]["confirmedBy"]
    assert finding["witness"]["writer"].startswith("main@")
    assert "number of its own" in finding["advice"]
    shown = (shop.folder / "out.txt").read_text()
    assert "shop.Order  protos/shop/order.proto:6:3\n" in shown
    assert "         witness: {" in shown
    assert {one["path"]: one["status"] for one in result.report["files"]} == {
        "protos/shop/line.proto": "unchanged",
        "protos/shop/order.proto": "compared",
    }


def test_a_new_field_is_compatible_in_both_directions(counterfoil, shop):
    shop.write("protos/shop/order.proto", order(*shop.fields, "  string note = 4;", imports=shop.paths))
    result = counterfoil("check", "--level", "FULL", "-v", folder=shop.folder)
    assert (result.code, "shop.Order  protos/shop/order.proto  compatible (FULL)" in result.out) == (0, True), result


def test_policies_decide_and_are_printed(counterfoil, shop):
    shop.write("protos/shop/order.proto", order("  int64 amount = 1;", *shop.fields[1:], imports=shop.paths))
    assert counterfoil("check", folder=shop.folder).code == 0  # bytes hold no names
    result = counterfoil("check", "--policy", "wire_json", "--format", "json", folder=shop.folder)
    assert (result.code, set(result.rules)) == (1, {"field-same-name", "field-same-json-name"})
    assert {one["policy"] for one in result.report["files"]} == {"WIRE_JSON"}
    assert " under WIRE_JSON (exit 1)" in counterfoil("check", "--policy", "WIRE_JSON", folder=shop.folder).out


@pytest.mark.parametrize(
    ("text", "said", "line", "column"),
    [
        ('syntax = "proto3";\nmessage {\n}\n', "the message's name", 2, 9),
        ('syntax = "proto3";\nmessage A {\n  Nowhere x = 1;\n}\n', "Nowhere", 3, 3),
        ('syntax = "proto3";\nimport "shop/bad.proto";\n', "bad.proto → protos/shop/bad.proto", 2, 8),
        (b'syntax = "proto3";\n// \xff\n', "not UTF-8", 2, 4),
    ],
)
def test_a_file_that_is_no_schema_is_located(counterfoil, shop, text, said, line, column):  # noqa: PLR0917 (four are the case)
    shop.write("protos/shop/bad.proto", text)
    result = counterfoil("check", "protos/shop/bad.proto", "--format", "json", folder=shop.folder)
    assert (result.code, result.rules) == (1, ["schema-invalid"]), result
    (finding,) = result.report["findings"]
    assert said in finding["text"]
    assert (finding["line"], finding["column"]) == (line, column), finding


def test_a_missing_import_is_reported_at_its_place_and_the_rest_is_judged(counterfoil, shop):
    paths = [*shop.paths, "elsewhere/rules.proto"]
    shop.write("protos/shop/order.proto", order("  bool total = 1;", *shop.fields[1:], imports=paths))
    result = counterfoil("check", "--format", "json", "--confirm", "0", folder=shop.folder)
    missing = result.report["findings"][0]
    assert result.rules == ["missing-import"], result
    assert (missing["severity"], missing["line"], missing["column"]) == ("warning", 5, 8)
    assert "'elsewhere/rules.proto'" in missing["text"]
    assert counterfoil("check", "--policy", "SOUND", folder=shop.folder).code == 1


def test_a_change_that_the_rules_allow_and_the_runtime_does_not_read_is_a_warning(counterfoil, shop):
    shop.write("protos/shop/order.proto", order("  bool total = 1;", *shop.fields[1:], imports=shop.paths))
    result = counterfoil("check", "--format", "json", folder=shop.folder)
    assert (result.code, result.rules) == (0, ["compatible-yet-unread"]), result
    assert "(integer-narrowed)" in result.report["findings"][0]["text"]


def test_a_moved_file_is_itself(counterfoil, shop):
    shop.git("mv", "protos", "schemas")
    text = order("  string total = 1;", *shop.fields[1:], imports=shop.paths)
    shop.write("schemas/shop/order.proto", text)
    result = counterfoil("check", "--format", "json", folder=shop.folder)
    assert result.rules == ["field-scalar-kind-changed"], result


def test_against_a_file_with_imports_below_its_folder(counterfoil, tmp_path):
    for folder, kind in (("old", "int64"), ("new", "bytes")):
        (tmp_path / folder / "shop").mkdir(parents=True)
        (tmp_path / folder / "shop/line.proto").write_text(LINE)
        fields = (f"  {kind} total = 1;", "  Line line = 2;")
        (tmp_path / folder / "order.proto").write_text(order(*fields, imports=["shop/line.proto"]))
    result = counterfoil("check", "new/order.proto", "--against", "old/order.proto", "--format", "json")
    assert (result.code, result.rules) == (1, ["field-scalar-kind-changed"]), result


def test_diff(counterfoil, shop):
    text = order("  string total = 1;", *shop.fields[1:], "  string note = 4;", imports=shop.paths)
    shop.write("protos/shop/order.proto", text)
    result = counterfoil("diff", "HEAD:protos/shop/order.proto", "protos/shop/order.proto", folder=shop.folder)
    assert result.code == 0, result
    *changes, count = result.out.splitlines()
    breaks = "breaks BACKWARD (field-scalar-kind-changed); FORWARD, allowed (field-scalar-kind-changed)"
    assert sorted(changes) == [
        "+ Order.note: field added: string = 4  (protos/shop/order.proto:9:3)",
        f"~ Order.total: type changed: int64 → string  (protos/shop/order.proto:6:3)  {breaks}",
    ]
    assert count == (
        "2 changes from HEAD:protos/shop/order.proto to protos/shop/order.proto  "
        "(1 is forbidden by BACKWARD under STRICT)"
    )


def test_a_transitive_level_looks_at_every_earlier_file(counterfoil, shop):
    shop.write("protos/shop/order.proto", order("  string total = 7;", *shop.fields[1:], imports=shop.paths))
    shop.commit()
    shop.write("protos/shop/order.proto", order("  bytes total = 1;", *shop.fields[1:], imports=shop.paths))
    assert (
        counterfoil("check", "--level", "BACKWARD", folder=shop.folder).code == 0
    )  # 1 is a new number to the last one
    result = counterfoil("check", "--level", "BACKWARD_TRANSITIVE", "--format", "json", folder=shop.folder)
    assert (result.code, result.rules) == (1, ["field-scalar-kind-changed"]), result
    assert result.report["findings"][0]["against"] == [shop.git("rev-parse", "--short=7", "HEAD^").strip()]


GROUPS = """syntax = "proto2";
package shop;
message Order {
  optional group Total = 1 {
    message Currency { optional string code = 1; }
    optional Currency currency = 1;
    optional group Tax = 2 { optional int32 rate = 1; }
  }
  oneof paid { group Card = 2 { optional string number = 1; } }
  optional bytes salt = 3 [default = "\\001\\377"];
}
"""


def test_valid_proto2_that_registries_refuse_is_judged_in_git(counterfoil, workshop):
    workshop.write("order.proto", GROUPS)
    workshop.commit()
    workshop.write("order.proto", GROUPS.replace("optional int32 rate", "optional string rate"))
    result = counterfoil("check", "--policy", "SOUND", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (1, ["field-scalar-kind-changed"]), result
    assert result.report["findings"][0]["line"] == 7
    workshop.write("order.proto", GROUPS.replace("rate = 1;", "rate = 1; optional int32 more = 2;"))
    assert counterfoil("check", folder=workshop.folder).code == 0
    assert counterfoil("lint", folder=workshop.folder).code == 0


@pytest.mark.parametrize(
    "arguments", [("check", "--against", "registry"), ("schema", "register", "--dry-run"), ("plan",)], ids=" ".join
)
def test_commands_about_a_registry_say_that_it_refuses_the_file(
    counterfoil, workshop, live_registry, unique_name, arguments
):
    name = unique_name("groups")
    workshop.write("order.proto", GROUPS)
    workshop.write(
        "counterfoil.yaml",
        f"registry: {live_registry.url}\nmanaged-by: {name}\nschemas:\n  - {{files: order.proto, subject: {name}}}\n",
    )
    result = counterfoil(*arguments, folder=workshop.folder)
    assert result.code in {1, 2, 12, 14}, result
    assert "which registries refuse" in result.out + result.err
