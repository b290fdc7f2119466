"""A change of a type that other schemas refer to is one finding, with the schemas that break for this reason alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.contracts.baselines import TreeBaseline
from counterfoil.contracts.check.check import check_files
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.reports import TextStyle, Verbosity, json_report, text_report
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.parsed import Validation
from counterfoil.schema.reports import Severity

if TYPE_CHECKING:
    from counterfoil.contracts.findings import CheckReport, Finding

Texts = dict[str, str]


def tree(label: str, texts: Texts) -> SchemaTree:
    files = [SchemaFile(path, text.encode()) for path, text in texts.items()]
    return SchemaTree(files, label=label, validation=Validation.LENIENT)


def check(now: Texts, *before: Texts, only: list[str] | None = None, confirm: int = 0, **asked: Any) -> CheckReport:
    head = tree("head", now)
    states = [tree(f"state {index}", state) for index, state in enumerate(before)]
    baseline = TreeBaseline(head, states, label="state 0", is_wanted=lambda _: True)
    return check_files(head, only or head.paths, baseline=baseline, confirm=confirm, **asked)


def record(name: str, **fields: Any) -> str:
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": listed}, indent=1)


def avro(kind: str) -> Texts:
    return {
        "money.avsc": record("Money", amount=kind),
        "plain.avsc": record("Plain", id="string", total="Money"),
        "optional.avsc": record("Optional", total=["null", "Money"]),
        "many.avsc": record("Many", totals={"type": "array", "items": "Money"}),
        "nested.avsc": record("Nested", plain="Plain"),
        "other.avsc": record("Other", id="string"),
    }


AVRO_DEPENDANTS = ["many.avsc", "nested.avsc", "optional.avsc", "plain.avsc"]


def protobuf(kind: str) -> Texts:
    head = 'syntax = "proto3";\npackage shop;\n'
    return {
        "money.proto": f"{head}message Money {{\n  {kind} amount = 1;\n}}\n",
        "plain.proto": f'{head}import "money.proto";\nmessage Plain {{\n  string id = 1;\n  Money total = 2;\n}}\n',
        "many.proto": f'{head}import "money.proto";\nmessage Many {{\n  repeated Money totals = 1;\n}}\n',
        "nested.proto": f'{head}import "plain.proto";\nmessage Nested {{\n  Plain plain = 1;\n}}\n',
    }


PROTOBUF_DEPENDANTS = ["many.proto", "nested.proto", "plain.proto"]


def objects(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties}, indent=1)


def json_schemas(kind: str) -> Texts:
    return {
        "money.schema.json": objects(amount={"type": kind}),
        "plain.schema.json": objects(id={"type": "string"}, total={"$ref": "money.schema.json"}),
        "many.schema.json": objects(totals={"type": "array", "items": {"$ref": "money.schema.json"}}),
        "nested.schema.json": objects(plain={"$ref": "plain.schema.json"}),
    }


JSON_DEPENDANTS = ["many.schema.json", "nested.schema.json", "plain.schema.json"]


def broken_with(finding: Finding) -> list[str]:
    return [dependant.path for dependant in finding.also_breaks]


@pytest.mark.parametrize(
    ("now", "before", "dependants", "asked"),
    [
        (avro("int"), avro("string"), AVRO_DEPENDANTS, {}),
        (avro("int"), avro("string"), AVRO_DEPENDANTS, {"level": CompatibilityLevel.FORWARD}),
        (avro("int"), avro("string"), AVRO_DEPENDANTS, {"policy": CompatibilityPolicy.SOUND}),
        (protobuf("int32"), protobuf("string"), PROTOBUF_DEPENDANTS, {"policy": CompatibilityPolicy.SOUND}),
        (protobuf("int32"), protobuf("string"), PROTOBUF_DEPENDANTS, {"policy": CompatibilityPolicy.WIRE}),
        (protobuf("int32"), protobuf("string"), PROTOBUF_DEPENDANTS, {"policy": CompatibilityPolicy.WIRE_JSON}),
        (json_schemas("integer"), json_schemas("string"), JSON_DEPENDANTS, {}),
        (json_schemas("integer"), json_schemas("string"), JSON_DEPENDANTS, {"level": CompatibilityLevel.FORWARD}),
        (json_schemas("integer"), json_schemas("string"), JSON_DEPENDANTS, {"policy": CompatibilityPolicy.SOUND}),
    ],
)
def test_one_change_is_one_finding_at_the_change(now: Texts, before: Texts, dependants: list[str], asked: Any):
    report = check(now, before, **asked)
    (finding,) = report.findings
    assert finding.path.startswith("money.")
    assert broken_with(finding) == dependants
    assert (report.count(Severity.ERROR), report.checked) == (1, len(now))


@pytest.mark.parametrize(
    ("now", "before", "dependants"),
    [
        (avro("int"), avro("string"), AVRO_DEPENDANTS),
        (protobuf("int32"), protobuf("string"), PROTOBUF_DEPENDANTS),
        (json_schemas("integer"), json_schemas("string"), JSON_DEPENDANTS),
    ],
)
def test_columns_of_a_table_have_one_finding_at_the_change(now: Texts, before: Texts, dependants: list[str]):
    report = check(now, before, policy=CompatibilityPolicy.LOGICAL)
    assert {finding.path.partition(".")[0] for finding in report.findings} == {"money"}
    (column,) = (finding for finding in report.findings if finding.rule == "logical-type-mismatch")
    assert broken_with(column) == dependants
    lines = {one.path: one.position and one.position.line for one in column.also_breaks}
    assert all(line is not None and line > 1 for line in lines.values()), lines


def test_records_of_dependants_that_are_not_read_are_part_of_the_finding():
    report = check(protobuf("int32"), protobuf("string"), confirm=20)
    (finding,) = report.findings
    assert (finding.severity, broken_with(finding)) == (Severity.ERROR, PROTOBUF_DEPENDANTS)


def test_a_record_that_is_misread_for_a_reason_of_its_own_stands_by_itself():
    def texts(kind: str) -> Texts:
        return {"part.avsc": record("Part", amount=kind), "whole.avsc": record("Whole", part="Part", own=kind)}

    report = check(texts("string"), texts("bytes"), confirm=20)
    assert [(finding.path, finding.rule) for finding in report.findings] == [
        ("part.avsc", "compatible-yet-unread"),
        ("whole.avsc", "compatible-yet-unread"),
    ]
    before, now = ({**texts(kind), "whole.avsc": record("Whole", part="Part")} for kind in ("bytes", "string"))
    (finding,) = check(now, before, confirm=20).findings
    assert (finding.path, broken_with(finding)) == ("part.avsc", ["whole.avsc"])


def test_each_direction_has_its_dependants():
    report = check(avro("int"), avro("string"), level=CompatibilityLevel.FULL)
    assert [finding.direction for finding in report.findings] == ["BACKWARD", "FORWARD"]
    assert all(broken_with(finding) == AVRO_DEPENDANTS for finding in report.findings)


def test_dependants_have_the_place_of_the_reference():
    (finding,) = check(avro("int"), avro("string")).findings
    plain = next(one for one in finding.also_breaks if one.path == "plain.avsc")
    line = avro("int")["plain.avsc"].splitlines().index('   "type": "Money"') + 1
    assert (plain.subject, plain.element, plain.position and plain.position.line) == (
        "shop.Plain",
        "total.amount",
        line,
    )
    assert plain.against == ("state 0",)


def test_another_finding_of_a_dependant_stands_by_itself():
    now, before = avro("int"), avro("string")
    now["plain.avsc"] = record("Plain", id="long", total="Money")
    report = check(now, before)
    found = {finding.path: finding for finding in report.findings}
    assert sorted(found) == ["money.avsc", "plain.avsc"]
    assert broken_with(found["money.avsc"]) == AVRO_DEPENDANTS
    assert (found["plain.avsc"].element, broken_with(found["plain.avsc"])) == ("id", ["nested.avsc"])


def test_a_type_of_the_same_name_in_another_file_is_another_cause():
    def texts(kind: str) -> Texts:
        return {
            f"{folder}/{path}": text
            for folder in ("a", "b")
            for path, text in avro(kind if folder == "a" else "string").items()
            if path in {"money.avsc", "plain.avsc"}
        }

    (finding,) = check(texts("int"), texts("string")).findings
    assert (finding.path, broken_with(finding)) == ("a/money.avsc", ["a/plain.avsc"])


def test_where_the_cause_is_not_checked_the_findings_appear():
    report = check(avro("int"), avro("string"), only=["many.avsc", "plain.avsc"])
    assert [finding.path for finding in report.findings] == ["many.avsc", "plain.avsc"]


def test_a_definition_that_its_own_file_does_not_use_is_the_cause():
    def texts(kind: str) -> Texts:
        reference = {"$ref": "parts.schema.json#/$defs/Money"}
        return {
            "parts.schema.json": json.dumps(
                {"$defs": {"Money": {"type": "object", "properties": {"a": {"type": kind}}}}}
            ),
            "one.schema.json": objects(total=reference),
            "two.schema.json": objects(totals={"type": "array", "items": reference}),
        }

    (finding,) = check(texts("integer"), texts("string")).findings
    assert (finding.path, finding.element) == ("parts.schema.json", "Money.a")
    assert finding.position is not None
    assert finding.position.column > 1
    assert broken_with(finding) == ["one.schema.json", "two.schema.json"]
    assert finding.evidence is not None


def test_several_earlier_versions_are_distinguished_and_folded():
    report = check(
        avro("int"), avro("string"), avro("long"), avro("string"), level=CompatibilityLevel.BACKWARD_TRANSITIVE
    )
    against = {finding.against: broken_with(finding) for finding in report.findings}
    assert against == {("state 0",): AVRO_DEPENDANTS, ("state 1",): AVRO_DEPENDANTS}


def test_the_same_finding_against_several_versions_names_all_of_them():
    before = [{"x.avsc": record("X", a="string", b=kind)} for kind in ("string", "long", "double")]
    report = check({"x.avsc": record("X", a="int")}, *before, level=CompatibilityLevel.BACKWARD_TRANSITIVE)
    (finding,) = report.findings
    assert finding.against == ("state 0", "state 1", "state 2")


def test_the_text_names_the_first_and_json_all_of_them():
    texts = {f"order{number}.avsc": record(f"Order{number}", total="Money") for number in range(20)}
    report = check(
        {**texts, "money.avsc": record("Money", amount="int")},
        {**texts, "money.avsc": record("Money", amount="long")},
    )
    text = text_report(report, exit_code=ExitCode.BROKEN, style=TextStyle(Verbosity.VERBOSE))
    assert "also breaks 20 schemas: shop.Order0 (order0.avsc:" in text
    assert "and 17 more" in " ".join(text.split())
    assert "unchanged" not in text
    told = json.loads(json_report(report, exit_code=ExitCode.BROKEN))
    assert (told["summary"]["errors"], told["summary"]["checked"]) == (1, 21)
    assert len(told["findings"][0]["alsoBreaks"]) == len(texts)
    assert told["findings"][0]["alsoBreaks"][0] == {
        "subject": "shop.Order0",
        "path": "order0.avsc",
        "line": 8,
        "column": 12,
        "element": "total.amount",
        "against": ["state 0"],
    }
