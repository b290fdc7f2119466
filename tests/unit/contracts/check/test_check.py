"""The check as a function: files and earlier versions in, findings out."""

from __future__ import annotations

import json

import pytest

from counterfoil.contracts.advice import FILE_RULE_BY_ID, advice_for
from counterfoil.contracts.baselines import Removed, TreeBaseline
from counterfoil.contracts.check.check import check_files, exit_code_of
from counterfoil.contracts.findings import CheckReport, FailOn, FileOutcome, Finding, Status, fingerprint
from counterfoil.contracts.project import ReadSchema, SchemaFile, SchemaTree
from counterfoil.contracts.reports import TextStyle, text_report
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.languages.rules import RULE_BY_ID
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.reports import Severity


def tree(label="head", **texts):
    files = [SchemaFile(f"{name}.avsc", text.encode()) for name, text in texts.items()]
    return SchemaTree(files, label=label, validation=Validation.LENIENT)


def record(name="Order", **kinds):
    fields = [{"name": field, "type": kind} for field, kind in kinds.items()]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def check(head, *states, level=None, policy=None, confirm=0):
    baseline = TreeBaseline(head, states, label="base", is_wanted=lambda _: True)
    return check_files(head, head.paths, baseline=baseline, level=level, policy=policy, confirm=confirm)


class FakeBaseline:
    """A baseline with fixed answers."""

    label = "fake"
    note = ""
    names_subjects = False

    def __init__(self, history, level=None, subject=None, policy=None):
        self._history = history
        self._policy = policy
        self._level = level
        self._subject = subject
        self.asked_transitive = []

    def subject(self, path):
        del path
        return self._subject

    def level(self, path):
        del path
        return self._level

    def policy(self, path):
        del path
        return self._policy

    def history(self, path, *, is_transitive):
        del path
        self.asked_transitive.append(is_transitive)
        return self._history

    def removed(self):
        return (Removed("gone.avsc", ""),)


def test_both_directions_are_reported_with_their_reader():
    report = check(tree(o=record(a="string")), tree("base", o=record(a="int")), level=CompatibilityLevel.FULL)
    directions = [(one.direction, one.evidence.reader, one.evidence.writer) for one in report.findings]
    assert sorted(directions) == [("BACKWARD", "o.avsc", "base"), ("FORWARD", "base", "o.avsc")]
    assert len({one.fingerprint for one in report.findings}) == 2


def test_the_sides_are_called_what_they_are():
    report = check(tree(o=record(a="int", b="int")), tree("base", o=record(a="int")))
    assert report.findings[0].text == (
        "this schema needs field b, which the earlier schema's record Order does not have, and it has no default"
    )


def test_the_baselines_level_counts_unless_another_is_given():
    earlier = ReadSchema("v1", "o", schema=parse_schema(record(a="int")))
    fake = FakeBaseline([earlier], level=CompatibilityLevel.FORWARD_TRANSITIVE)
    report = check_files(tree(o=record()), ["o.avsc"], baseline=fake)
    assert [one.level for one in report.files if one.status is Status.COMPARED] == ["FORWARD_TRANSITIVE"]
    assert report.is_broken(FailOn.ERROR)
    report = check_files(tree(o=record()), ["o.avsc"], baseline=fake, level=CompatibilityLevel.BACKWARD)
    assert not report.is_broken(FailOn.ERROR)
    assert fake.asked_transitive == [True, False]


def test_a_file_whose_schema_the_baseline_cannot_name_is_skipped():
    report = check_files(tree(o=record()), ["o.avsc"], baseline=FakeBaseline(None), level=CompatibilityLevel.NONE)
    assert [one.status for one in report.files] == [Status.SKIPPED]
    assert report.checked == 0


def test_subjects_name_findings():
    earlier = ReadSchema("v1", "o", schema=parse_schema(record(a="int")))
    fake = FakeBaseline([earlier], subject="orders-value")
    report = check_files(tree(o=record(a="string")), ["o.avsc"], baseline=fake, level=CompatibilityLevel.BACKWARD)
    assert report.findings[0].subject == "orders-value"


def test_the_element_is_reported_in_names():
    item = {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "int"}]}
    earlier = record(items={"type": "array", "items": item})
    report = check(tree(o=earlier.replace('"int"', '"string"')), tree("base", o=earlier))
    assert [one.element for one in report.findings] == ["items[].sku"]


def test_level_none_asks_nothing_but_validity():
    head = tree(o=record(a="string"), bad="{")
    report = check(head, tree("base", o=record(a="int"), gone='"int"'), level=CompatibilityLevel.NONE)
    assert [(one.rule, one.path) for one in report.findings] == [("schema-invalid", "bad.avsc")]


def test_schemas_nested_too_deep_are_a_finding():
    deep = '{"type": "array", "items": ' * 150 + '"int"' + "}" * 150
    report = check(tree(o=deep.replace("int", "long")), tree("base", o=deep))
    assert all(one.rule in {"schema-invalid", "type-mismatch"} for one in report.findings)


BREAKING = [rule.id for rule in RULE_BY_ID.values() if rule.breaks]


def test_every_rule_that_can_fail_has_advice():
    rules = {*FILE_RULE_BY_ID, *BREAKING} - {"schema-new"}
    assert [rule for rule in rules if not (advice_for(rule) and advice_for(rule, Direction.FORWARD))] == []


def test_advice_of_the_forward_direction_leaves_deployed_readers_alone():
    for rule in BREAKING:
        if RULE_BY_ID[rule].schema_type is not None:
            assert advice_for(rule, Direction.FORWARD) != advice_for(rule, Direction.BACKWARD)


def test_advice_calls_the_sides_what_they_are():
    for rule in BREAKING:
        assert "the writer" not in advice_for(rule, Direction.BACKWARD)
        assert "the reader" not in advice_for(rule, Direction.BACKWARD).replace("the readers", "")


def test_a_rule_that_nobody_knows_has_no_advice():
    assert advice_for("somebody-elses-rule", Direction.BACKWARD) == ""


def finding(severity):
    return Finding("r", severity, "s", "p", "t", "f")


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        (Severity.ERROR, FailOn.ERROR, ExitCode.BROKEN),
        (Severity.ERROR, FailOn.WARNING, ExitCode.BROKEN),
        (Severity.ERROR, FailOn.NEVER, ExitCode.OK),
        (Severity.WARNING, FailOn.ERROR, ExitCode.OK),
        (Severity.WARNING, FailOn.WARNING, ExitCode.BROKEN),
        (Severity.NOTICE, FailOn.WARNING, ExitCode.OK),
    ],
)
def test_fail_on(severity, fail_on, code):
    outcome = FileOutcome("p", "s", Status.COMPARED, CompatibilityLevel.BACKWARD, CompatibilityPolicy.STRICT)
    report = CheckReport("base", (outcome,), (finding(severity),))
    assert exit_code_of(report, fail_on=fail_on, is_empty_fine=False) is code


def test_zero_checks_are_no_answer():
    assert exit_code_of(CheckReport("base"), fail_on=FailOn.ERROR, is_empty_fine=False) is ExitCode.CANNOT_SAY
    assert exit_code_of(CheckReport("base"), fail_on=FailOn.ERROR, is_empty_fine=True) is ExitCode.OK
    broken = CheckReport("base", (), (finding(Severity.ERROR),))
    assert exit_code_of(broken, fail_on=FailOn.ERROR, is_empty_fine=True) is ExitCode.BROKEN


def test_a_fingerprint_depends_on_every_fact_and_on_their_borders():
    assert fingerprint("a", "b", "c") == fingerprint("a", "b", "c")
    assert len({fingerprint("a", "b", "c"), fingerprint("a", "bc"), fingerprint("ab", "c"), fingerprint("x", "b")}) == 4
    assert len(fingerprint("a", "\udce9")) == 12


def proto_tree(label="head", **texts):
    files = [SchemaFile(f"{name}.proto", f'syntax = "proto3";\n{text}'.encode()) for name, text in texts.items()]
    return SchemaTree(files, label=label, validation=Validation.STRICT)


TWICE = "message M {\n  int32 a = 1;\n  int32 b = 1;\n}\n"


@pytest.mark.parametrize("policy", CompatibilityPolicy)
def test_what_a_language_forbids_is_a_warning_and_an_error_under_sound(policy):
    head, before = proto_tree(m=TWICE), proto_tree("base", m="message M {\n  int32 a = 1;\n}\n")
    baseline = TreeBaseline(head, [before], label="base", is_wanted=lambda _: True)
    report = check_files(head, head.paths, baseline=baseline, policy=policy)
    (warning,) = [one for one in report.findings if one.rule == "duplicate-field-number"]
    assert warning.severity is (Severity.ERROR if policy is CompatibilityPolicy.SOUND else Severity.WARNING)
    assert (str(warning.position), warning.element) == ("4:3", "M.b")


def test_what_was_forbidden_before_blocks_nobody():
    before = proto_tree("base", m=TWICE.replace("M {", "M { int64 c = 3;"))
    head = proto_tree(m=TWICE.replace("M {", "M { int64 c = 3; int64 d = 4;"))
    baseline = TreeBaseline(head, [before], label="base", is_wanted=lambda _: True)
    report = check_files(head, head.paths, baseline=baseline, policy=CompatibilityPolicy.SOUND)
    (warning,) = [one for one in report.findings if one.rule == "duplicate-field-number"]
    assert warning.severity is Severity.WARNING
    assert warning.text.endswith("(it was so before this change)")


def test_what_did_not_change_is_not_judged_again():
    head = proto_tree(m=TWICE, n='import "nowhere.proto";\nmessage N {}\n')
    baseline = TreeBaseline(head, [head], label="base", is_wanted=lambda _: True)
    report = check_files(head, head.paths, baseline=baseline, policy=CompatibilityPolicy.SOUND)
    assert [one.status for one in report.files] == [Status.UNCHANGED] * 2
    assert report.findings == ()


def test_a_file_that_cannot_be_read_and_did_not_change_blocks_nobody():
    head = proto_tree(m="message M { Nowhere n = 1; }\n")
    lenient = [SchemaFile("m.proto", head.data("m.proto"))]
    before = SchemaTree(lenient, label="base", validation=Validation.LENIENT)
    baseline = TreeBaseline(head, [before], label="base", is_wanted=lambda _: True)
    (finding,) = check_files(head, head.paths, baseline=baseline).findings
    assert (finding.rule, finding.severity) == ("schema-invalid", Severity.WARNING)


def test_the_baselines_policy_counts_unless_another_is_given():
    earlier = ReadSchema("v1", "m", schema=parse_schema("message M { optional int32 a = 1; }", SchemaType.PROTOBUF))
    head = proto_tree(m="message M { int32 b = 1; }")
    fake = FakeBaseline([earlier], policy=CompatibilityPolicy.WIRE_JSON)
    report = check_files(head, head.paths, baseline=fake)
    assert report.files[0].policy is CompatibilityPolicy.WIRE_JSON
    assert {one.rule for one in report.findings} >= {"field-same-name"}
    report = check_files(head, head.paths, baseline=fake, policy=CompatibilityPolicy.STRICT)
    assert not report.is_broken(FailOn.ERROR)


def json_tree(label="head", **schemas):
    files = [SchemaFile(f"{name}.schema.json", json.dumps(schema).encode()) for name, schema in schemas.items()]
    return SchemaTree(files, label=label, validation=Validation.STRICT)


def test_a_search_without_a_witness_says_how_many_were_tried():
    head, before = (json_tree(s={"type": "string", "pattern": one}) for one in ("^a+$", "^aa*$"))
    (finding,) = check(head, before).findings
    assert (finding.rule, finding.evidence) == ("pattern-changed", None)
    assert "tried" in finding.no_witness
    shown = text_report(CheckReport("base", (), (finding,)), exit_code=ExitCode.BROKEN, style=TextStyle())
    assert f"         {finding.no_witness}\n" in shown


def test_a_base_that_refers_to_nowhere_is_no_base_and_blocks_nobody():
    files = [SchemaFile("s.schema.json", b'{"type": "array", "items": {"$ref": "nowhere.json"}}')]
    before = SchemaTree(files, label="base", validation=Validation.LENIENT)
    report = check(json_tree(s={"type": "array", "items": {"type": "string"}}), before)
    assert [(one.rule, one.severity) for one in report.findings] == [("baseline-invalid", Severity.WARNING)]
    assert "nowhere.json" in report.findings[0].text
    assert [one.status for one in report.files] == [Status.SKIPPED]


def test_a_rule_about_tables_says_nothing_of_a_witness():
    head, base = tree(o=record(a="int")), tree("base", o=record(a="int", b="int"))
    (finding,) = check(head, base, policy=CompatibilityPolicy.LOGICAL).findings
    assert (finding.rule, finding.evidence, finding.no_witness) == ("logical-field-deleted", None, "")


def test_a_renamed_record_says_that_decoders_disagree():
    (finding,) = check(tree(o=record("Purchase", a="int")), tree("base", o=record(a="int"))).findings
    assert (finding.rule, finding.evidence) == ("name-mismatch", None)
    assert finding.no_witness.startswith("no witness found (1 tried): only names of records differ")
    assert "fastavro" in finding.no_witness


def test_what_the_candidate_lacks_is_placed_at_what_is_around_it():
    head = proto_tree(m="message A {}\nmessage M {\n  oneof x {\n    int32 a = 1;\n  }\n}\n")
    before = proto_tree(
        "base", m="message A {}\nmessage M {\n  oneof x {\n    int32 a = 1;\n    int32 b = 2;\n  }\n}\n"
    )
    baseline = TreeBaseline(head, [before], label="base", is_wanted=lambda _: True)
    (finding,) = check_files(head, head.paths, baseline=baseline).findings
    assert (finding.rule, finding.element, finding.position.line) == ("oneof-field-removed", "M.b", 4)


def test_a_compatible_verdict_is_confirmed_by_records_in_each_direction():
    head, base = tree(order=record(id="long", note="string")), tree(order=record(note="string", id="long"))
    assert check(head, base, confirm=20).files[0].confirmed == 20
    assert check(head, base, confirm=20, level=CompatibilityLevel.FULL).files[0].confirmed == 40
    assert check(head, base).files[0].confirmed == 0
    assert check(head, base, confirm=20, level=CompatibilityLevel.NONE).files[0].confirmed == 0


def test_a_record_that_is_not_read_although_the_rules_allow_it_is_a_warning_with_the_rule_of_sound():
    head, base = tree(order=record(note="string")), tree(order=record(note="bytes"))
    report = check(head, base, confirm=20)
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("compatible-yet-unread", Severity.WARNING)
    assert "(bytes-read-as-string)" in finding.text
    assert finding.evidence.datum_json == '{"note": "ÿ"}'
    assert (finding.evidence.writer, finding.evidence.reader) == (base.label, "order.avsc")
    assert not report.is_broken(FailOn.ERROR)
    assert "compatible-yet-unread" in text_report(report, exit_code=ExitCode.OK, style=TextStyle())


def test_what_is_incompatible_is_not_confirmed():
    head, base = tree(order=record(id="int")), tree(order=record(id="string"))
    report = check(head, base, confirm=20)
    assert (report.files[0].confirmed, [finding.rule for finding in report.findings]) == (0, ["type-mismatch"])


def test_under_sound_a_record_that_is_not_read_is_an_error_whoever_finds_it():
    head, base = (
        json_tree(
            label,
            a={
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "if": {"required": ["a"]},
                "else": {"properties": {"id": {"type": kind}}},
            },
        )
        for label, kind in (("head", "string"), ("base", "integer"))
    )
    report = check(head, base, confirm=100, policy=CompatibilityPolicy.SOUND)
    assert report.is_broken(FailOn.ERROR)
    assert report.findings[0].evidence is not None


def test_policies_about_bytes_are_not_applied_to_values_of_protobuf():
    head, base = proto_tree(m="message M { int32 a = 1; }"), proto_tree("base", m="message M { int64 a = 1; }")
    report = check(head, base, confirm=20, policy=CompatibilityPolicy.WIRE)
    assert (report.findings, report.files[0].confirmed) == ((), 0)
    assert [one.rule for one in check(head, base, confirm=20).findings] == ["compatible-yet-unread"]


@pytest.mark.parametrize("policy", [CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON])
def test_policies_about_bytes_are_strict_for_other_languages_and_confirm_as_it_does(policy):
    head, base = tree(order=record(note="string")), tree(order=record(note="bytes"))
    assert [one.rule for one in check(head, base, confirm=20, policy=policy).findings] == ["compatible-yet-unread"]
    head, base = tree(order=record(note="string")), tree(order=record(note="string", id="int"))
    assert check(head, base, confirm=20, policy=policy).files[0].confirmed == 20


def test_a_value_that_is_read_as_another_is_reported_with_the_record_and_where_it_stands():
    def amount(scale):
        return {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}

    head, base = tree(order=record(fare=amount(4))), tree(order=record(fare=amount(2)))
    (finding,) = check(head, base, confirm=20).findings
    assert (finding.rule, finding.severity, finding.element) == (
        "compatible-yet-unread",
        Severity.WARNING,
        "fare",
    )
    assert "field fare: 12.34 is read as 0.1234; this schema takes the value for decimal(9, 4)" in finding.text
    assert finding.position is not None
    assert [one.rule for one in check(head, base, policy=CompatibilityPolicy.SOUND).findings] == ["decimal-misread"]
