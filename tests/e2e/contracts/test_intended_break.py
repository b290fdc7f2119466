"""An intended break: refused, approved with a converter that passes its trial, and deployed in the right order."""

from __future__ import annotations

import pytest

from strategies.contracts.intended_break import (
    AFTER,
    BACK,
    BEFORE,
    BILLING,
    CONTRACT,
    CONVERTER,
    MIGRATION,
    SCHEMA,
    product,
)


@pytest.fixture
def shop(workshop):
    """A repository with version 1 of a contract and its consumer, committed."""
    for path, text in BEFORE.items():
        workshop.write(path, text)
    workshop.commit()
    return workshop


@pytest.fixture
def check(counterfoil, shop):
    """A function from changed files to the outcome of a check with consumers."""

    def run(files, *options):
        for path, text in files.items():
            shop.write(path, text)
        given = ("--consumers", "consumers", *(options or ("--format", "json")))
        return counterfoil("check", *given, folder=shop.folder)

    return run


def test_a_break_is_approved_with_a_converter_that_passes(check):
    without = check({SCHEMA: AFTER[SCHEMA], CONTRACT: AFTER[CONTRACT].replace(MIGRATION, "")})
    assert (without.code, {one["approval"] for one in without.report["findings"]}) == (1, {None})
    read = [one for one in without.report["findings"] if one["rule"] == "consumer-field-missing"]
    assert (
        "If the break is intended, publish a new major version of orders.placed with a migration." in read[0]["advice"]
    )

    approved = check(AFTER)
    report = approved.report
    assert approved.code == 0, approved
    errors = [one for one in report["findings"] if one["severity"] == "error"]
    assert {one["approval"]["migration"] for one in errors} == {CONVERTER}
    assert {one["approval"]["until"] for one in errors} == {"2999-03-31"}
    [lossy] = [one for one in report["findings"] if one["rule"] == "migration-lossy"]
    assert "shop is dropped" in lossy["text"]


BROKEN = {
    "a record that the converter refuses": (
        {CONVERTER: BACK.replace('{expr: "round(total * 100)"}', "{from: total, cast: long}")},
        "it cannot be converted",
    ),
    "a record that breaks a promise": (
        {CONVERTER: BACK.replace("total * 100", "total * 1000")},
        "total_cents is 1000000000, and >= 0 and <= 100000000 is expected",
    ),
    "a field without a value": (
        {CONVERTER: BACK.replace('  total_cents: {expr: "round(total * 100)"}\n', "  order_id: {from: order_id}\n")},
        "the converter is not complete: total_cents",
    ),
    "no converter": (
        {CONTRACT: AFTER[CONTRACT].replace("_v2_v1", "_lost")},
        "there is no file ../converters/orders_lost",
    ),
    "no bridge file": ({CONVERTER: "bridge: [x]\n"}, "is no bridge file"),
    "another topic": (
        {CONVERTER: BACK.replace("orders.placed.v2", "rides")},
        "expected orders.placed to orders.placed.v2",
    ),
    "a day that is over": ({CONTRACT: AFTER[CONTRACT].replace("2999", "2020")}, "the migration ended on 2020-03-31"),
    "no last day": ({CONTRACT: AFTER[CONTRACT].replace(', sunset: "2999-03-31"', "")}, "has no sunset"),
}


@pytest.mark.parametrize(("files", "words"), BROKEN.values(), ids=BROKEN)
def test_a_migration_that_does_not_do_is_a_finding(check, files, words):
    outcome = check({**AFTER, **files})
    assert outcome.code == 1, outcome
    assert all(one["approval"] is None for one in outcome.report["findings"])
    [failed] = [one for one in outcome.report["findings"] if one["rule"] == "migration-failed"]
    assert words in failed["text"], failed
    assert (failed["path"], failed["line"]) == (
        CONTRACT,
        AFTER[CONTRACT].splitlines().index(MIGRATION.splitlines()[3]) + 1,
    )


def test_the_record_that_failed_is_printed(check):
    outcome = check({**AFTER, CONVERTER: BACK.replace("total * 100", "total * 1000")}, "--format", "text")
    assert '"total": 1000000.0' in outcome.out, outcome


def test_recorded_records_are_converted_too(check, shop):
    for path, text in AFTER.items():
        shop.write(path, text)
    recorded = ("--recorded", "recorded", "--format", "json")
    shop.write("recorded/orders.placed.v2.jsonl", '{"value": {"order_id": "a", "total": 2000000.5, "shop": "x"}}\n')
    outcome = check({}, *recorded)
    [failed] = [one for one in outcome.report["findings"] if one["rule"] == "migration-failed"]
    assert failed["witness"]["datum"] == {"order_id": "a", "total": 2000000.5, "shop": "x"}
    shop.write("recorded/orders.placed.v2.jsonl", '{"value": {"order_id": "a", "total": 12.34, "shop": "x"}}\n')
    assert check({}, *recorded).code == 0


def test_a_break_for_readers_of_the_new_version_is_not_approved(check):
    new = product("search", "2", "{path: lost}")
    outcome = check({**AFTER, "consumers/search.odps.yaml": new})
    assert outcome.code == 1
    [left] = [one for one in outcome.report["findings"] if one["severity"] == "error" and one["approval"] is None]
    assert left["path"] == "consumers/search.odps.yaml"
    assert BILLING not in {one["path"] for one in outcome.report["findings"]}


def test_what_is_staged_counts(check, shop):
    check(AFTER)
    shop.git("add", ".")
    staged = ("--staged", "--format", "json")
    assert check({CONVERTER: "bridge: [x]\n"}, *staged).code == 0
    shop.git("rm", "--quiet", "--cached", "--force", CONVERTER)
    outcome = check({}, *staged)
    assert (outcome.code, "there is no file" in outcome.out) == (1, True), outcome


def test_recorded_records_that_cannot_be_read(check, shop):
    assert check(AFTER, "--recorded", "nowhere").code == 14
    shop.write("recorded/orders.placed.v2.jsonl", "{\n")
    mistaken = check({}, "--recorded", "recorded")
    assert (mistaken.code, "orders.placed.v2.jsonl:1 is no line of JSON" in mistaken.err) == (14, True), mistaken
    shop.write("recorded/orders.placed.v2.jsonl", '{"value": {"order_id": 5, "total": 1.0, "shop": ""}}\n')
    outcome = check({}, "--recorded", "recorded")
    assert (outcome.code, "a recorded value of orders.placed.v2 is not read: order_id" in outcome.out) == (1, True)


def test_a_header_that_is_no_longer_promised_is_not_approved(check, shop):
    header = "    customProperties:\n      - {property: headers, value: [{name: trace_id, required: true}]}\n"
    shop.write(CONTRACT, BEFORE[CONTRACT].replace("    properties:\n", f"{header}    properties:\n"))
    shop.write(BILLING, BEFORE[BILLING] + "          - $header.trace_id\n")
    shop.commit()
    outcome = check(AFTER, "--against", "HEAD", "--format", "json")
    left = [one["rule"] for one in outcome.report["findings"] if one["severity"] == "error" and not one["approval"]]
    assert (outcome.code, left) == (1, ["header-missing"]), outcome


def test_a_schema_of_two_contracts_is_not_approved_for_one_of_them(check, shop):
    other = BEFORE[CONTRACT].replace("id: orders.placed", "id: orders.copied").replace("orders.placed\n", "copies\n")
    shop.write("contracts/copies.odcs.yaml", other)
    shop.commit()
    outcome = check(AFTER, "--against", "HEAD", "--format", "json")
    left = [one["rule"] for one in outcome.report["findings"] if one["severity"] == "error" and not one["approval"]]
    assert (outcome.code, left) == (1, ["reader-field-missing-default"]), outcome
