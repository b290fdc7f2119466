"""The elements of Protobuf schemas: the judge is protoc with its descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from hypothesis import given

from counterfoil.schema.elements import declared_types, find_elements
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.paths import parse_path, resolve_path
from counterfoil.schema.rest.inspection import ElementKind, ElementRow
from counterfoil.schema.texts import print_pointer
from strategies.cases.each_case import check_each
from strategies.languages.rule_files import rule_schemas
from strategies.protobuf.classes import compiled
from strategies.protobuf.schemas import protobuf_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

    from counterfoil.schema.parsed import ParsedSchema

_LABELS = {
    FieldDescriptorProto.LABEL_OPTIONAL: "",
    FieldDescriptorProto.LABEL_REQUIRED: "required",
    FieldDescriptorProto.LABEL_REPEATED: "repeated",
}


class Judge:
    """The fields of a file by their pointers, as protoc compiles it: number, label, oneof and type."""

    def __init__(self, text: str) -> None:
        self._file: FileDescriptorProto = compiled({"judged.proto": text}).file[-1]

    def fields(self) -> Mapping[str, tuple[int, str, str]]:
        found = {}
        for message in self._file.message_type:
            found.update(self._in_message(message, f"/{message.name}", f".{self._file.package}".rstrip(".")))
        return found

    def types(self) -> set[str]:
        """Return the full names of all messages and enums."""
        package = f"{self._file.package}." if self._file.package else ""
        enums = {package + enum.name for enum in self._file.enum_type}
        return enums.union(*(self._types_in(message, package) for message in self._file.message_type))

    def _types_in(self, message: DescriptorProto, prefix: str) -> set[str]:
        name = prefix + message.name
        inner = [each for each in message.nested_type if not each.options.map_entry]
        return {name, *(f"{name}.{enum.name}" for enum in message.enum_type)}.union(
            *(self._types_in(each, f"{name}.") for each in inner)
        )

    def _in_message(
        self, message: DescriptorProto, pointer: str, scope: str
    ) -> Iterator[tuple[str, tuple[int, str, str]]]:
        scope = f"{scope}.{message.name}"
        entries = {f"{scope}.{each.name}": each for each in message.nested_type if each.options.map_entry}
        for field in message.field:
            is_map = field.type_name in entries
            words = self._map_words(entries[field.type_name]) if is_map else self._words(field)
            label = "" if is_map else _LABELS[field.label]
            yield (
                f"{pointer}/{field.name.lower()}",
                (field.number, f"{label} {words}".strip(), self._oneof(message, field)),
            )
        for each in message.nested_type:
            if not each.options.map_entry:
                yield from self._in_message(each, f"{pointer}/{each.name}", scope)

    def _oneof(self, message: DescriptorProto, field: FieldDescriptorProto) -> str:
        is_written = field.HasField("oneof_index") and not field.proto3_optional
        return message.oneof_decl[field.oneof_index].name if is_written else ""

    def _map_words(self, entry: DescriptorProto) -> str:
        return f"map<{self._words(entry.field[0])}, {self._words(entry.field[1])}>"

    def _words(self, field: FieldDescriptorProto) -> str:
        return field.type_name.removeprefix(".") or FieldDescriptorProto.Type.Name(field.type)[len("TYPE_") :].lower()


def _said(row: ElementRow) -> tuple[int | None, str, str]:
    oneof = row.label.removeprefix("oneof ") if row.label.startswith("oneof ") else ""
    label = "required " if row.required else ""
    return row.number, f"{label}{row.type}", oneof


def _fields_of(schema: ParsedSchema) -> Mapping[str, tuple[int | None, str, str]]:
    """Return the numbered fields of the file's messages; those of references and extensions are left out."""
    rows = (row for row in find_elements(schema) if row.number is not None and not row.path.startswith("["))
    return {row.pointer.rpartition("/")[0] + "/" + row.pointer.rpartition("/")[2].lower(): _said(row) for row in rows}


def _check_fields(text: str) -> None:
    judge = Judge(text)
    schema = parse_schema(text, SchemaType.PROTOBUF, validation=Validation.FILE)
    expected, found = judge.fields(), _fields_of(schema)
    assert found.keys() >= expected.keys()
    assert {pointer: found[pointer] for pointer in expected} == dict(expected)
    named = {row.path for row in declared_types(schema) if row.kind is ElementKind.TYPE and row.type != "service"}
    assert named == judge.types()


@given(protobuf_schemas(is_alone=True))
def test_the_fields_and_types_are_those_of_descriptors(text: str):
    _check_fields(text)


@given(protobuf_schemas())
def test_each_path_leads_to_the_pointer_of_its_row(text: str):
    _check_paths(parse_schema(text, SchemaType.PROTOBUF, validation=Validation.LENIENT))


def test_each_path_of_the_examples_of_rules_leads_to_its_pointer():
    """Of an invalid file two fields may have one number, of which paths lead to the later one."""
    cases = rule_schemas(SchemaType.PROTOBUF)
    check_each((case for case in cases if not case[0].startswith("invalid-protobuf-file")), _check_paths)


def _check_paths(schema: ParsedSchema) -> None:
    for row in find_elements(schema):
        assert print_pointer(resolve_path(schema, parse_path(row.path)).pointer) == row.pointer, row.path


ORDER = """syntax = "proto3";
package shop;

// An order.
message Order {
  int64 id = 1; // Its number.
  // Where it goes,
  // and who pays.
  Address billing = 2;
  Address shipping = 3 [deprecated = true];
  map<string, Line> lines = 4;
  repeated int32 counts = 5;
  oneof payment {
    Card card = 6;
    string cash = 7;
  }
  optional int32 note = 8 [json_name = "remark"];
  Status status = 9;
  Order parent = 10;
  reserved 20, 30 to 40;
  enum Status { NEW = 0; PAID = 1 [deprecated = true]; }
}
message Address { string city = 1; }
message Line { int64 price = 1; }
message Card { string last4 = 1; }
message Unused { Address where = 1; }
service Shop { rpc Place (Order) returns (stream Line); }
"""


def _rows() -> dict[str, ElementRow]:
    return {row.path: row for row in find_elements(parse_schema(ORDER, SchemaType.PROTOBUF))}


def test_the_first_message_has_no_name_in_paths_and_others_have():
    assert [*_rows()] == [
        *("id", "billing", "billing.city", "shipping", "shipping.city", "lines", "lines{}.price", "counts"),
        *("payment", "card", "card.last4", "cash", "note", "status", "parent"),
        *("Unused.where", "Unused.where.city", "Shop.Place"),
    ]


def test_facts_of_fields_are_in_their_rows():
    rows = _rows()
    assert rows["id"].doc == "Its number."
    assert rows["billing"].doc == "Where it goes,\nand who pays."
    assert rows["shipping"].is_deprecated
    assert (rows["lines"].type, rows["lines"].types) == ("map<string, shop.Line>", ("shop.Line",))
    assert (rows["counts"].type, rows["counts"].constraints) == ("repeated int32", ("packed",))
    assert (rows["card"].label, rows["card"].number, rows["card"].depth) == ("oneof payment", 6, 1)
    assert rows["payment"].constraints == ("at most one of card, cash",)
    assert rows["note"].constraints == ("presence is known", "in JSON: remark")
    assert rows["id"].constraints == ("not set means the zero value",)
    assert rows["status"].symbols == ("NEW", "PAID")
    assert rows["Shop.Place"].type == "method (shop.Order) returns (stream shop.Line)"


def test_declared_types_are_followed_by_their_constants():
    rows = declared_types(parse_schema(ORDER, SchemaType.PROTOBUF))
    assert [(row.path, row.type) for row in rows] == [
        ("shop.Order", "message"),
        ("shop.Order.Status", "enum"),
        ("shop.Order.Status.NEW", "shop.Order.Status"),
        ("shop.Order.Status.PAID", "shop.Order.Status"),
        *((f"shop.{name}", "message") for name in ("Address", "Line", "Card", "Unused")),
        ("shop.Shop", "service"),
    ]
    assert rows[0].constraints == ("10 fields", "reserved 20, 30 to 40")
    assert rows[0].doc == "An order."
    assert (rows[3].number, rows[3].is_deprecated) == (1, True)


@pytest.mark.parametrize(
    ("written", "default"),
    [
        ("optional string a = 1 [default = 'x\"y'];", '"x\\"y"'),
        ("optional int32 a = 1 [default = -7];", "-7"),
        ("optional int32 a = 1 [default = 0x1F];", '"0x1F"'),
        ("optional double a = 1 [default = inf];", '"inf"'),
        ("optional bool a = 1 [default = true];", "true"),
        ("optional E a = 1 [default = B];", '"B"'),
        ("optional string a = 1 [default = '7'];", '"7"'),
        ("optional string a = 1;", None),
    ],
)
def test_defaults_are_json(written: str, default: str | None):
    text = f'syntax = "proto2"; message M {{ {written} }} enum E {{ A = 0; B = 1; }}'
    (row,) = find_elements(parse_schema(text, SchemaType.PROTOBUF))
    assert row.default == default


def test_tags_are_those_of_options_then_those_of_the_metadata():
    text = (
        'syntax = "proto3"; package p; import "confluent/meta.proto"; '
        'message M { string a = 1 [(confluent.field_meta).tags = "PII"]; }'
    )
    schema = parse_schema(text, SchemaType.PROTOBUF)
    (row,) = find_elements(schema, tags_by_path={"p.M.*": ("KEY", "PII"), "**.b": ("NO",)})
    assert row.tags == ("PII", "KEY")


def test_elements_of_a_reference_name_it_and_those_that_are_built_in_are_left_out():
    money = 'syntax = "proto3"; package shop; message Money { int64 amount = 1; }'
    reference = ResolvedReference(Reference("money.proto", "money-value", 3), money)
    text = (
        'syntax = "proto3"; import "money.proto"; import "google/protobuf/timestamp.proto"; '
        "message A { shop.Money price = 1; google.protobuf.Timestamp at = 2; }"
    )
    schema = parse_schema(text, SchemaType.PROTOBUF, references=[reference])
    rows = [(row.path, row.type, row.reference, row.pointer) for row in find_elements(schema)]
    assert rows == [
        ("price", "shop.Money", "", "/A/price"),
        ("price.amount", "int64", "money.proto", ""),
        ("at", "google.protobuf.Timestamp", "", "/A/at"),
    ]
    assert [(row.path, row.reference) for row in declared_types(schema)] == [("A", ""), ("shop.Money", "money.proto")]


def test_a_first_message_whose_field_has_the_name_of_a_type_begins_with_its_own_name():
    schema = parse_schema(
        'syntax = "proto3"; message A { int32 B = 1; } message B { int32 c = 1; }', SchemaType.PROTOBUF
    )
    assert [row.path for row in find_elements(schema)] == ["A.B", "B.c"]
    _check_paths(schema)


def test_extensions_are_under_what_they_extend():
    text = 'syntax = "proto2"; package p; message A { extensions 100 to 200; } extend A { optional int32 x = 100; }'
    schema = parse_schema(text, SchemaType.PROTOBUF)
    (row,) = find_elements(schema)
    assert (row.path, row.number, row.constraints) == ("[p.A].x", 100, ("extension of p.A", "presence is known"))
    _check_paths(schema)
