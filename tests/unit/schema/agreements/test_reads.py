"""The judgement of a change by its consumers: every rule, in every language, and what was so before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements import Contract, DataProduct, Expectation, ExpectedRead, Promise
from counterfoil.schema.agreements.documents import read_agreement
from counterfoil.schema.agreements.findings import Activity, Offer, Reader, ReaderOrigin, SchemaFacts
from counterfoil.schema.agreements.judge import newly_read
from counterfoil.schema.agreements.rules import RULES
from counterfoil.schema.paths import parse_path, print_path
from counterfoil.schema.texts import Position
from strategies.contracts.agreement_files import APPLICATION, CONTRACT, SCHEMA
from strategies.contracts.read_judgements import judged_change


def promise_of(text: str = CONTRACT) -> Promise:
    agreement = read_agreement(text).agreement
    assert isinstance(agreement, Contract)
    return agreement.promises[0]


def reader_of(text: str = APPLICATION) -> Reader:
    agreement = read_agreement(text).agreement
    assert isinstance(agreement, DataProduct)
    return Reader(agreement.id, agreement.expectations[0])


def reading(*paths: str) -> Reader:
    reads = tuple(ExpectedRead(parse_path(path), Position(1, 1)) for path in paths)
    return Reader("ui", Expectation("orders", "orders", "1", Position(1, 1), reads))


EARLIER = Offer(parse_schema(SCHEMA), promise_of())
CLOSED = CONTRACT.replace("value: open", "value: closed")

CHANGES = [
    ("consumer-field-missing", "total_cents", {"schema": ("total_cents", "total")}),
    ("consumer-type-narrowed", "total_cents", {"schema": ('_cents", "type": "long"}', '_cents", "type": "double"}')}),
    ("consumer-nullable", "order_id", {
        "schema": ('"order_id", "type": "string"', '"order_id", "type": ["null", "string"]'),
        "consumer": ("          - order_id\n", "          - {path: order_id, required: true}\n"),
    }),
    ("consumer-enum-unknown", "status", {
        "schema": ('"PAID"]', '"PAID", "LOST"]'), "consumer": ("value: default", "value: fail"),
    }),
    ("expectation-broken", "total_cents", {"contract": ("{minimum: 0, excl", "{minimum: -5, excl")}),
    ("expectation-unbacked", "total_cents", {"contract": ("minimum: 0, ", "")}),
    ("unit-changed", "total_cents", {"contract": ("EUR.cent", "EUR")}),
    ("enum-meaning-changed", "status", {"contract": ("payment captured", "payment started")}),
    ("pii-tag-removed", "email", {"contract": ("tags: [pii, pii.email]", "tags: [contact]")}),
    ("key-changed", "$key", {"contract": ("field: order_id", "field: email")}),
    ("header-missing", "$header.trace_id", {"contract": ("name: trace_id", "name: span_id")}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "element", "edits"), CHANGES, ids=[each[0] for each in CHANGES])
def test_a_change_is_found_at_its_path_and_nothing_else(rule: str, element: str, edits: dict[str, tuple[str, str]]):
    def edited(name: str, text: str) -> str:
        old, new = edits.get(name, ("", ""))
        assert old in text
        return text.replace(old, new, 1)

    later = Offer(parse_schema(edited("schema", SCHEMA)), promise_of(edited("contract", CONTRACT)))
    found = judged_change(EARLIER, later, [reader_of(edited("consumer", APPLICATION))])
    new = [each for each in found if not each.is_preexisting]
    assert {(each.rule, print_path(each.element)) for each in new} == {(rule, element)}
    assert all(each.position is not None for each in new)


def test_a_value_added_to_a_closed_enum_is_found() -> None:
    added = CLOSED.replace("{value: PAID,", "{value: LOST}\n          - {value: PAID,")
    before, after = Offer(EARLIER.schema, promise_of(CLOSED)), Offer(EARLIER.schema, promise_of(added))
    assert [(each.rule, each.is_breaking) for each in judged_change(before, after, [])] == [
        ("enum-symbol-added-closed", True)
    ]
    assert judged_change(EARLIER, Offer(EARLIER.schema, promise_of(added.replace("closed", "open"))), []) == ()


def test_a_consumer_that_newly_reads_personal_data_is_found() -> None:
    promise = promise_of()
    (found,) = newly_read(reading("status"), reading("status", "email"), promise)
    assert (found.rule, print_path(found.element), found.application) == ("pii-newly-read", "email", "ui")
    assert newly_read(reading("email"), reading("email"), promise) == ()
    everything = replace(reading(), expectation=replace(reading().expectation, reads=None))
    assert [print_path(each.element) for each in newly_read(reading("status"), everything, promise)] == ["email"]


def test_every_rule_has_a_change_that_shows_it() -> None:
    others = {"enum-symbol-added-closed", "pii-newly-read", "consumer-incompatible", "key-schema-changed"}
    others |= {"consumer-enum-kept", "consumer-undecided"}
    assert {rule.id for rule in RULES} == {each[0] for each in CHANGES} | others


def test_only_what_the_change_makes_worse_breaks() -> None:
    unread = reading("gone")
    (found,) = judged_change(EARLIER, Offer(parse_schema(SCHEMA.replace("email", "mail")), None), [unread])
    assert (found.rule, found.is_preexisting, found.is_breaking) == ("consumer-field-missing", True, False)
    (alone,) = judged_change(None, EARLIER, [unread])
    assert alone.is_breaking


def test_a_field_that_nobody_reads_may_go() -> None:
    later = Offer(parse_schema(SCHEMA.replace('{"name": "order_id", "type": "string"},', "")), None)
    assert judged_change(Offer(EARLIER.schema), later, [reading("status", "items[].sku")]) == ()
    whole = replace(reading(), expectation=replace(reading().expectation, reads=None))
    assert [each.rule for each in judged_change(Offer(EARLIER.schema), later, [whole])] == ["consumer-incompatible"]


PROTOBUF = 'syntax = "proto3"; message Order { int64 total = 1; optional string note = 2; repeated Line lines = 3; %s }'
TEXT = '{"type": "string"}'
LINE = "message Line { string sku = 1; } oneof payment { string card = 6; int32 cash = 7; }"
JSON = '{"title": "Order", "type": "object", "required": ["total"], "properties": {"total": {"type": %s}, "note": %s}}'


@pytest.mark.parametrize(
    ("language", "earlier", "later", "path"),
    [
        (SchemaType.PROTOBUF, PROTOBUF % LINE, PROTOBUF.replace("int64", "string") % LINE, "total"),
        (SchemaType.PROTOBUF, PROTOBUF % LINE, PROTOBUF % LINE.replace("string sku", "bool sku"), "lines[].sku"),
        (SchemaType.JSON, JSON % ('"integer"', TEXT), JSON % ('"string"', TEXT), "total"),
    ],
)
def test_a_changed_type_breaks_those_who_read_it_in_every_language(language, earlier, later, path) -> None:
    before, after = Offer(parse_schema(earlier, language)), Offer(parse_schema(later, language))
    found = judged_change(before, after, [reading(path), reading("note")])
    assert {(each.rule, print_path(each.element)) for each in found} == {("consumer-type-narrowed", path)}


@pytest.mark.parametrize(
    ("change", "paths", "broken"),
    [
        (("int64 total = 1", "int64 total = 9"), ["total", "note"], {"total"}),
        (("string sku = 1", "string sku = 4"), ["total", "lines[].sku"], {"lines[].sku"}),
        (("Line lines = 3", "Line lines = 8"), ["total", "lines[].sku"], {"lines[].sku"}),
        (("string card = 6", "string card = 5"), ["payment<card>", "payment<cash>"], {"payment<card>"}),
        (("optional string note = 2", "optional string note = 4"), ["total"], set()),
    ],
)
def test_a_field_with_another_number_is_another_field(change, paths, broken) -> None:
    text = PROTOBUF % LINE
    assert change[0] in text
    before = Offer(parse_schema(text, SchemaType.PROTOBUF))
    after = Offer(parse_schema(text.replace(*change), SchemaType.PROTOBUF))
    found = judged_change(before, after, [reading(*paths)])
    assert {(each.rule, print_path(each.element)) for each in found} == {
        ("consumer-field-missing", each) for each in broken
    }


def test_who_reads_the_whole_message_reads_each_of_its_fields_by_number() -> None:
    text = PROTOBUF % LINE
    before = Offer(parse_schema(text, SchemaType.PROTOBUF))
    after = Offer(parse_schema(text.replace("total = 1", "total = 9"), SchemaType.PROTOBUF))
    whole = replace(reading(), expectation=replace(reading().expectation, reads=None))
    [found] = judged_change(before, after, [whole])
    assert (found.rule, found.text) == (
        "consumer-field-missing",
        "total is written as field 9, and the consumer reads field 1",
    )


KEY_SCHEMA = '{"type": "record", "name": "K", "fields": [{"name": "id", "type": "%s"}, {"name": "shop", "type": "%s"}]}'


@pytest.mark.parametrize(
    ("paths", "is_broken"), [(["$key.id"], True), (["$key.shop", "status"], False), (["$key"], True)]
)
def test_who_reads_the_key_must_be_able_to_read_the_new_one(paths, is_broken) -> None:
    before = Offer(EARLIER.schema, key=parse_schema(KEY_SCHEMA % ("string", "string")))
    after = Offer(EARLIER.schema, key=parse_schema(KEY_SCHEMA % ("long", "string")))
    found = judged_change(before, after, [reading(*paths)])
    assert [(each.rule, print_path(each.element)) for each in found] == (
        [("consumer-type-narrowed", paths[0])] if is_broken else []
    )
    whole = replace(reading(), expectation=replace(reading().expectation, reads=None))
    [finding] = judged_change(before, after, [whole])
    assert (finding.rule, print_path(finding.element)) == ("consumer-incompatible", "$key.id")
    assert judged_change(before, before, [reading("$key.id"), whole]) == ()


@pytest.mark.parametrize(
    ("changed", "rules"),
    [
        (KEY_SCHEMA % ("string", "long"), ["key-schema-changed"]),
        (KEY_SCHEMA.replace("K", "Key") % ("string", "string"), ["key-schema-changed"]),
        (KEY_SCHEMA.replace(" ", "") % ("string", "string"), []),  # the canonical text is the same, and so is the id
        (None, []),
    ],
)
def test_another_schema_of_the_keys_is_a_warning_for_everyone(changed: str | None, rules: list[str]) -> None:
    known = parse_schema(KEY_SCHEMA % ("string", "string"))
    before = Offer(EARLIER.schema, promise_of(), key=known)
    after = Offer(EARLIER.schema, promise_of(), key=None if changed is None else parse_schema(changed))
    found = judged_change(before, after, [reading("status")])
    assert [(each.rule, print_path(each.element), each.is_breaking) for each in found] == [
        (rule, "$key", False) for rule in rules
    ]
    other = promise_of(CONTRACT.replace("subject: orders.placed-key", "subject: orders.key"))
    moved = judged_change(before, Offer(EARLIER.schema, other, key=after.key_schema), [])
    assert "key-schema-changed" not in {each.rule for each in moved}  # that of the subject says more


@pytest.mark.parametrize(
    ("paths", "elements"),
    [(["status"], {""}), (["$key.id"], {"$key"}), (["status", "$key.id"], {"", "$key"}), (["$header.trace_id"], set())],
)
def test_values_and_keys_in_another_language_are_not_read(paths: list[str], elements: set[str]) -> None:
    key = parse_schema(KEY_SCHEMA % ("string", "string"))
    before = Offer(EARLIER.schema, promise_of(), key=key)
    message = 'syntax = "proto3"; message Order { string status = 1; %s }'
    after = Offer(
        parse_schema(message % "", SchemaType.PROTOBUF),
        promise_of(),
        key=parse_schema(message % "string id = 2;", SchemaType.PROTOBUF),
    )
    found = [each for each in judged_change(before, after, [reading(*paths)]) if each.application is not None]
    incompatible = [each for each in found if each.rule == "consumer-incompatible"]
    assert {print_path(each.element) for each in incompatible} == elements
    assert all("PROTOBUF, and the consumer reads AVRO" in each.text and each.is_breaking for each in incompatible)
    known = replace(reading(*paths), schema=EARLIER.schema)
    assert [each.rule for each in judged_change(None, after, [known])].count("consumer-incompatible") == (
        "" in elements
    )


@pytest.mark.parametrize(
    ("language", "earlier", "later"),
    [
        (SchemaType.PROTOBUF, "int32 total = 1;", "int64 total = 1;"),
        (SchemaType.PROTOBUF, "bool total = 1;", "int32 total = 1;"),
        (SchemaType.AVRO, '"string"', '"bytes"'),
    ],
)
def test_who_would_read_another_value_is_broken(language: SchemaType, earlier: str, later: str) -> None:
    texts = {
        SchemaType.PROTOBUF: 'syntax = "proto3"; message Order { %s }',
        SchemaType.AVRO: '{"type": "record", "name": "Order", "fields": [{"name": "total", "type": %s}]}',
    }
    before, after = (Offer(parse_schema(texts[language] % each, language)) for each in (earlier, later))
    [found] = judged_change(before, after, [reading("total")])
    assert (found.rule, print_path(found.element), found.is_breaking) == ("consumer-type-narrowed", "total", True)
    assert judged_change(before, before, [reading("total")]) == ()


@pytest.mark.parametrize(
    ("language", "text", "path", "types", "may_be_missing"),
    [
        (SchemaType.AVRO, SCHEMA, "total_cents", {"integer", "number"}, False),
        (SchemaType.AVRO, SCHEMA, "email", {"string"}, True),
        (SchemaType.AVRO, SCHEMA, "placed_at", {"timestamp"}, False),
        (SchemaType.AVRO, SCHEMA, "items[].sku", {"string"}, False),
        (SchemaType.PROTOBUF, PROTOBUF % LINE, "total", {"integer", "number"}, False),
        (SchemaType.PROTOBUF, PROTOBUF % LINE, "note", {"string"}, True),
        (SchemaType.PROTOBUF, PROTOBUF % LINE, "payment<card>", {"string"}, True),
        (SchemaType.JSON, JSON % ('"number"', TEXT), "total", {"number"}, False),
        (SchemaType.JSON, JSON % ('"number"', TEXT), "note", {"string"}, True),
    ],
)
def test_facts_of_fields_are_those_of_the_schema(language, text, path, types, may_be_missing) -> None:
    facts = SchemaFacts(parse_schema(text, language)).at(parse_path(path))
    assert facts is not None
    assert (facts.types, facts.may_be_missing) == ((frozenset(types),), may_be_missing)


def test_a_reader_that_was_not_seen_for_long_is_stale_and_then_gone() -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)
    seen = {days: replace(reading(), last_seen=now - timedelta(days=days)).activity(now) for days in (6, 8, 31)}
    assert seen == {6: Activity.ACTIVE, 8: Activity.STALE, 31: Activity.GONE}
    assert reading().activity(now) is Activity.ACTIVE
    assert replace(reading(), origin=ReaderOrigin.GROUP).activity(now) is Activity.GONE
