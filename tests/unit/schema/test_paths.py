"""Field paths: the text form and back, and what paths lead to in the three languages."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.paths import (
    ITEMS,
    KEY,
    VALUES,
    FieldPath,
    InvalidPath,
    PathNotFound,
    Step,
    StepKind,
    branch,
    header,
    item,
    member,
    parse_path,
    print_path,
    resolve_path,
)
from strategies.cases.pointers import pointer as pointer_of

SIGNS = st.text(st.sampled_from('ab.[]{}<>()"\\$~/ \n'), max_size=6)
NAMES = st.one_of(
    st.text(max_size=8),
    SIGNS,
    st.sampled_from(["$key", "$header", "$header.a", "(a is there)", " is there)", "a(b is there)", '"', "0", ""]),
)
INNER = st.one_of(
    st.builds(Step, st.sampled_from([*set(StepKind) - {StepKind.KEY, StepKind.HEADER}]), NAMES),
    st.sampled_from([ITEMS, VALUES]),
)
FIRST = st.one_of(st.just(KEY), st.builds(header, NAMES), INNER)
PATHS = st.one_of(st.just(()), st.builds(lambda first, rest: (first, *rest), FIRST, st.lists(INNER, max_size=5)))


@given(PATHS)
@example((member("$key"), member("$key")))
@example((member("a"), Step(StepKind.DEPENDENCY, "b")))
@example((member("a(b is there)"),))
@example((header("("), Step(StepKind.VALUE, " is there)")))
def test_parsing_what_was_printed_gives_the_same_path(path: FieldPath):
    assert parse_path(print_path(path)) == path


@given(st.one_of(SIGNS, st.text(max_size=12)))
def test_a_text_that_is_a_path_means_what_its_printed_form_means(text: str):
    try:
        path = parse_path(text)
    except InvalidPath as error:
        invalid = error
    else:
        assert parse_path(print_path(path)) == path
        return
    assert repr(text) in str(invalid)
    assert 0 <= invalid.offset <= len(text)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("a.b", (member("a"), member("b"))),
        ("items[].sku", (member("items"), ITEMS, member("sku"))),
        ("pair[1]", (member("pair"), item(1))),
        ("attrs{}", (member("attrs"), VALUES)),
        ("attrs{^x-}", (member("attrs"), Step(StepKind.VALUE, "^x-"))),
        ("payment<Card>.last4", (member("payment"), branch("Card"), member("last4"))),
        ("pay<shop.Card>", (member("pay"), branch("shop.Card"))),
        ("pay<array<map<string>>>", (member("pay"), branch("array<map<string>>"))),
        ('pay<"a>b">', (member("pay"), branch("a>b"))),
        ("$key.id", (KEY, member("id"))),
        ("$key", (KEY,)),
        ("$header.trace_id", (header("trace_id"),)),
        ('$header."trace.id"', (header("trace.id"),)),
        ("(card is there).number", (Step(StepKind.DEPENDENCY, "card"), member("number"))),
        ('a."b.c"', (member("a"), member("b.c"))),
        ('"$key"', (member("$key"),)),
        ("$type", (member("$type"),)),
        ("price (EUR)", (member("price (EUR)"),)),
        ("a/b", (member("a/b"),)),
        ("[][]", (ITEMS, ITEMS)),
    ],
)
def test_the_text_form_of_paths(text: str, path: FieldPath):
    assert print_path(path) == text
    assert parse_path(text) == path


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("a..b", 1, "a name after a dot"),
        ("a[", 1, "a name after a dot"),
        (".a", 0, "expected a name, "),
        ("$header", 7, "the name of a header"),
        ('"a', 0, "a name"),
        ('a."\\x"', 1, "JSON string"),
    ],
)
def test_a_text_that_is_no_path_is_refused_at_the_place_of_the_fault(text: str, offset: int, expected: str):
    with pytest.raises(InvalidPath, match=expected) as raised:
        parse_path(text)
    assert (raised.value.text, raised.value.offset) == (text, offset)


AVRO = """{"type": "record", "name": "shop.Order", "fields": [
  {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "Item", "fields": [
    {"name": "sku", "type": "string"}]}}},
  {"name": "attrs", "type": {"type": "map", "values": ["null", "long"]}},
  {"name": "note", "type": ["null", "Item"]},
  {"name": "payment", "type": ["Item", {"type": "record", "name": "Card", "fields": [
    {"name": "last4", "type": "string"}]}]},
  {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW"]}}]}"""
PROTOBUF = """syntax = "proto3"; package shop;
message Order {
  repeated Item items = 1;
  map<string, Item> attrs = 2;
  oneof payment { Card card = 3; string cash = 4; }
  Item note = 5;
  message Card { string last4 = 1; }
}
message Item { string sku = 1; State state = 2; }
message Open { extensions 10 to 20; }
extend Open { string note = 10; }
service Orders { rpc Find(Item) returns (Order); }
enum State { NEW = 0; }"""
JSON = """{"type": "object", "properties": {
  "items": {"type": "array", "items": {"$ref": "#/definitions/Item"}},
  "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
  "attrs": {"additionalProperties": {"type": "integer"}, "patternProperties": {"^x-": {"type": "string"}}},
  "note": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/Item"}]},
  "payment": {"oneOf": [{"$ref": "#/definitions/Item"}, {"allOf": [{"properties": {"last4": {"type": "string"}}}]}]},
  "a.b": {"dependencies": {"card": {"properties": {"c": {}}}}}},
  "definitions": {"Item": {"properties": {"sku": {"type": "string"}}}}}"""
SCHEMAS = {
    SchemaType.AVRO: parse_schema(AVRO),
    SchemaType.PROTOBUF: parse_schema(PROTOBUF, SchemaType.PROTOBUF),
    SchemaType.JSON: parse_schema(JSON, SchemaType.JSON),
}


@pytest.mark.parametrize(
    ("language", "text", "pointer"),
    [
        ("AVRO", "", ""),
        ("AVRO", "items[].sku", "/fields/0/type/items/fields/0"),
        ("AVRO", "attrs{}", "/fields/1/type/values"),
        ("AVRO", "note.sku", "/fields/0/type/items/fields/0"),
        ("AVRO", "payment<Card>.last4", "/fields/3/type/1/fields/0"),
        ("AVRO", "payment<shop.Card>", "/fields/3/type/1"),
        ("AVRO", "$key.state", "/fields/4"),
        ("PROTOBUF", "", "/Order"),
        ("PROTOBUF", "items[].sku", "/Item/sku"),
        ("PROTOBUF", "attrs{}.state", "/Item/state"),
        ("PROTOBUF", "note.sku", "/Item/sku"),
        ("PROTOBUF", "payment", "/Order/payment"),
        ("PROTOBUF", "payment<card>.last4", "/Order/Card/last4"),
        ("PROTOBUF", "Order.Card.last4", "/Order/Card/last4"),
        ("PROTOBUF", "State.NEW", "/State/NEW"),
        ("PROTOBUF", "Orders.Find", "/Orders/Find"),
        ("PROTOBUF", "[shop.Open].note", "/note"),
        ("JSON", "", ""),
        ("JSON", "items[].sku", "/definitions/Item/properties/sku"),
        ("JSON", "pair[1]", "/properties/pair/items/1"),
        ("JSON", "attrs{}", "/properties/attrs/additionalProperties"),
        ("JSON", "attrs{^x-}", "/properties/attrs/patternProperties/^x-"),
        ("JSON", "note.sku", "/definitions/Item/properties/sku"),
        ("JSON", "payment<1>.last4", "/properties/payment/oneOf/1/allOf/0/properties/last4"),
        ("JSON", '"a.b"(card is there).c', "/properties/a.b/dependencies/card/properties/c"),
        ("JSON", "Item.sku", "/definitions/Item/properties/sku"),
    ],
)
def test_what_a_path_leads_to(language: SchemaType, text: str, pointer: str):
    schema = SCHEMAS[SchemaType(language)]
    assert resolve_path(schema, parse_path(text)).pointer == pointer_of(pointer)


@pytest.mark.parametrize(
    ("language", "text", "reached", "problem"),
    [
        ("AVRO", "items[].skuu", "items[]", "record shop.Item has no field 'skuu'; it has sku"),
        ("AVRO", "items.sku", "items", "the array has no member 'sku'"),
        ("AVRO", "payment<Cash>", "payment", "the union has no branch 'Cash'; it has Item, Card"),
        ("AVRO", "payment.last4", "payment", "the union has no member 'last4'"),
        ("AVRO", "$header.trace", "", "headers have no schema"),
        ("PROTOBUF", "items.sku", "items", "field items is repeated; write [] after it"),
        ("PROTOBUF", "attrs.sku", "attrs", "field attrs is a map; write {} after it"),
        ("PROTOBUF", "note.sk", "note", "message Item has no field 'sk'; it has sku"),
        ("PROTOBUF", "note.sku.x", "note.sku", "field sku, which holds string, has no members"),
        ("PROTOBUF", "payment<cheque>", "payment", "oneof payment has no field 'cheque'; it has card, cash"),
        ("JSON", "itemz", "", "the schema has no property 'itemz'; it has items"),
        ("JSON", "pair[2]", "pair", "the schema has no item '2'"),
        ("JSON", "items{}", "items", "the schema has no value"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_leads(language: str, text: str, reached: str, problem: str):
    with pytest.raises(PathNotFound) as raised:
        resolve_path(SCHEMAS[SchemaType(language)], parse_path(text))
    assert (raised.value.path, raised.value.reached) == (text, reached)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("pointer", "element"),
    [
        ("", ""),
        ("/fields/0", "items"),
        ("/fields/0/type", "items"),
        ("/fields/0/type/items/fields/0/type", "items[].sku"),
        ("/fields/1/type/values/0", "attrs{}<null>"),
        ("/fields/3/type/1/fields/0", "payment<Card>.last4"),
        ("/fields/4/type/symbols", "state"),
        ("/fields/4/type/symbols/0", "state"),
        ("/fields/9/type", ""),
        ("/fields/0/nowhere/1", "items"),
    ],
)
def test_the_path_of_a_place_in_an_avro_text(pointer: str, element: str):
    assert print_path(SCHEMAS[SchemaType.AVRO].path_at(pointer_of(pointer))) == element


@pytest.mark.parametrize(
    ("pointer", "element"),
    [
        ("", ""),
        ("/properties/order/properties/lines/items/properties/price/minimum", "order.lines[].price"),
        ("/required/id", "id"),
        ("/properties/tags/additionalProperties/type", "tags{}"),
        ("/properties/pair/prefixItems/1", "pair[1]"),
        ("/properties/pair/items/1", "pair[1]"),
        ("/properties/pay/oneOf/0/properties/card", "pay<0>.card"),
        ("/$defs/Line/properties/price", "Line.price"),
        ("/patternProperties/^x-/type", "{^x-}"),
        ("/properties/a/not/properties/b", "a.b"),
        ("/properties/items/properties/properties/type", "items.properties"),
        ("/dependentRequired/card", "card"),
        ("/type", ""),
        ("/properties", ""),
    ],
)
def test_the_path_of_a_place_in_a_json_schema(pointer: str, element: str):
    assert print_path(SCHEMAS[SchemaType.JSON].path_at(pointer_of(pointer))) == element


def test_the_path_of_a_place_in_a_protobuf_file():
    places = ("/Order/Card/last4", "/Order/Card/last4/#default", "/#package", "")
    paths = [print_path(SCHEMAS[SchemaType.PROTOBUF].path_at(pointer_of(place))) for place in places]
    assert paths == ["Order.Card.last4", "Order.Card.last4", "", ""]
