"""What changed between contract files and between product files: each fact, with its words and places."""

from __future__ import annotations

import pytest

from counterfoil.schema.agreements.changes import AgreementChange, agreement_changes
from counterfoil.schema.agreements.files import read_agreement
from strategies.contracts.agreement_files import APPLICATION, CONTRACT


def changes(was: str, now: str) -> tuple[AgreementChange, ...]:
    earlier, later = read_agreement(was), read_agreement(now)
    assert (earlier.faults, later.faults) == ((), ())
    assert earlier.agreement is not None
    assert later.agreement is not None
    return agreement_changes(earlier.agreement, later.agreement)


CHANGED = [
    (CONTRACT, "version: 2.1.0", "version: 2.2.0", "version-changed", "", "version changed: 2.1.0 → 2.2.0"),
    (CONTRACT, "status: active", "status: retired", "status-changed", "", "status changed: active → retired"),
    (CONTRACT, "  name: checkout", "  name: shop", "owner-changed", "", "owner changed: checkout → shop"),
    (CONTRACT, "Name: orders.placed", "Name: orders.sent", "topic-changed", "OrderPlaced", ""),
    (CONTRACT, "value: FULL_TRANSITIVE", "value: FULL", "compatibility-changed", "OrderPlaced", ""),
    (CONTRACT, "schemas/order.avsc", "schemas/o.avsc", "schema-file-changed", "OrderPlaced", ""),
    (CONTRACT, "field: order_id", "field: id", "message-key-changed", "OrderPlaced", ""),
    (CONTRACT, "required: true, pattern", "pattern", "header-changed", "OrderPlaced.$header.trace_id", ""),
    (CONTRACT, "message.discount_cents", "message.rebate_cents", "rule-changed", "OrderPlaced", ""),
    (CONTRACT, "EUR.cent", "EUR", "unit-changed", "OrderPlaced.total_cents", "unit changed: EUR.cent → EUR"),
    (CONTRACT, "minimum: 0", "minimum: 1", "range-changed", "OrderPlaced.total_cents", ""),
    (CONTRACT, "value: open", "value: closed", "enum-policy-changed", "OrderPlaced.status", ""),
    (CONTRACT, "payment captured", "payment received", "enum-value-changed", "OrderPlaced.status", ""),
    (CONTRACT, "value: PAID, ", "value: SENT, ", "enum-value-added", "OrderPlaced.status", ""),
    (CONTRACT, ", pii.email]", ", pii.mail]", "tag-added", "OrderPlaced.email", "tag added: pii.mail"),
    (CONTRACT, ", deprecated: true", "", "deprecated-removed", "OrderPlaced.email", ""),
    (CONTRACT, "name: sku", "name: code", "field-added", "OrderPlaced.items[].code", "field added"),
    (CONTRACT, "value: 5, unit", "value: 9, unit", "service-level-changed", "OrderPlaced.placed_at", ""),
    (CONTRACT, "2027-03-31", "2028-03-31", "migration-changed", "1 → 2", ""),
    (CONTRACT, "server: production", "server: live", "server-added", "live", ""),
    (APPLICATION, "version: 4.7.1", "version: 4.7.2", "version-changed", "", ""),
    (APPLICATION, "- order_id", "- email", "read-added", "orders.email", "read added"),
    (APPLICATION, "min: 0", "min: 1", "read-changed", "orders.total_cents", ""),
    (APPLICATION, "value: default", "value: pass", "on-unknown-enum-changed", "orders", ""),
    (APPLICATION, "[billing-main]", "[billing]", "consumer-groups-changed", "orders", ""),
    (APPLICATION, "value: P30D", "value: latest", "reprocesses-from-changed", "orders", ""),
    (APPLICATION, "pinned, value: false", "pinned, value: true", "pinned-added", "orders", "pinned added: true"),
]  # fmt: skip


@pytest.mark.parametrize("case", CHANGED, ids=lambda case: case[3])
def test_a_change_is_named_with_its_place(case):
    text, old, new, kind, element, words = case
    changed = text.replace(old, new, 1)
    assert changed != text
    found = {each.kind: each for each in changes(text, changed)}
    change = found[kind]
    assert change.element == element
    assert not words or change.text == words
    side, position = (changed, change.later_position) if change.later is not None else (text, change.earlier_position)
    sought = new if change.later is not None else old
    assert position is not None
    assert position.line == next(number for number, line in enumerate(side.splitlines(), 1) if sought in line)
    undone = {(each.element, each.earlier, each.later) for each in changes(changed, text)}
    assert undone == {(each.element, each.later, each.earlier) for each in found.values()}
    added = {"field-added", "enum-value-added", "tag-added", "server-added", "read-added"}
    assert len(found) == (2 if kind in added else 1)


def test_another_version_of_a_contract_is_another_input_port():
    (change,) = changes(APPLICATION, APPLICATION.replace('version: "2"', 'version: "3"'))
    assert change.text == "input port changed: orders.placed 2 → orders.placed 3"


@pytest.mark.parametrize("text", [CONTRACT, APPLICATION])
def test_equal_files_and_comments_are_no_change(text):
    assert changes(text, f"# a comment\n\n{text}") == ()


def test_what_a_part_has_is_not_listed_besides_the_part():
    without = (
        CONTRACT.partition("      - name: status\n")[0]
        + "      - name: items"
        + CONTRACT.partition("      - name: items")[2]
    )
    removed = changes(CONTRACT, without)
    assert [(each.kind, each.element) for each in removed] == [
        ("field-removed", "OrderPlaced.status"),
        ("field-removed", "OrderPlaced.email"),
    ]
    assert [each.kind for each in changes(without, CONTRACT)] == ["field-added", "field-added"]
    no_ports = APPLICATION.partition("inputPorts:")[0]
    assert [(each.kind, each.element) for each in changes(no_ports, APPLICATION)] == [("input-port-added", "orders")]
