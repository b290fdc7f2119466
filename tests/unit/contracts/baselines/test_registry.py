"""A registry as baseline, over a registry that is a dict."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from counterfoil.contracts.baselines.operands import RegistryBaseline, read_version
from counterfoil.contracts.check.check import check_files, exit_code_of
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.errors import BadRequest, ConfigNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.model import Reference, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.subjects import Config
from counterfoil.schema.rest.versions import RegisteredSchema


@dataclass
class DictRegistry:
    """The part of a registry that a baseline reads; ``asked`` lists the calls."""

    schemas: dict[str, dict[int, Schema]]
    level: CompatibilityLevel | None = CompatibilityLevel.FULL
    policy: str | None = None
    asked: list[str] = field(default_factory=list)

    def versions(self, subject):
        self.asked.append(f"versions {subject}")
        if subject not in self.schemas:
            raise SubjectNotFound(subject)
        return tuple(self.schemas[subject])

    def version(self, subject, number="latest"):
        self.asked.append(f"{subject}@{number}")
        versions = self.schemas[subject]
        found = max(versions) if number == "latest" else number
        if found not in versions:
            raise VersionNotFound(f"{subject}@{found}")
        return RegisteredSchema(subject, found, 1, None, versions[found])

    def config(self, subject=None, *, default_to_global=False):
        self.asked.append(f"config {subject} {default_to_global}")
        if self.level is None:
            raise ConfigNotFound("none")
        return Config(compatibility_level=self.level, compatibility_policy=self.policy)


def record(name, *types):
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def baseline(registry, **options):
    return RegistryBaseline(registry, {"o.avsc": "o-value"}, label="here", **options)


THREE = DictRegistry({"o-value": {1: Schema('"int"'), 2: Schema('"long"'), 5: Schema('"double"')}})


def test_versions_come_newest_first_and_only_on_request():
    labels = [one.label for one in baseline(THREE).history("o.avsc", is_transitive=True)]
    assert labels == ["o-value version 5", "o-value version 2", "o-value version 1"]
    THREE.asked.clear()
    assert [one.content for one in baseline(THREE).history("o.avsc", is_transitive=False)] == [('"double"',)]
    assert THREE.asked == ["versions o-value", "o-value@5"]


def test_one_version_alone_whatever_the_level():
    found = baseline(THREE, version=2).history("o.avsc", is_transitive=True)
    assert [one.label for one in found] == ["o-value version 2"]
    with pytest.raises(VersionNotFound):
        baseline(THREE, version=3).history("o.avsc", is_transitive=True)


def test_unknown_subjects_and_files_without_subject():
    assert baseline(DictRegistry({})).history("o.avsc", is_transitive=True) == ()
    assert baseline(DictRegistry({})).history("x.avsc", is_transitive=True) is None
    assert baseline(DictRegistry({})).level("x.avsc") is None


def test_the_level_in_force_is_requested_once():
    registry = DictRegistry({})
    asking = baseline(registry)
    assert [asking.level("o.avsc"), asking.level("o.avsc")] == [CompatibilityLevel.FULL] * 2
    assert registry.asked == ["config o-value True"]
    assert baseline(DictRegistry({}, level=None)).level("o.avsc") is None


def test_the_policy_in_force():
    registry = DictRegistry({}, policy="sound")
    asking = baseline(registry)
    assert asking.policy("o.avsc") is CompatibilityPolicy.SOUND
    assert asking.level("o.avsc") is CompatibilityLevel.FULL
    assert registry.asked == ["config o-value True"]
    assert asking.policy("x.avsc") is None
    assert baseline(DictRegistry({})).policy("o.avsc") is None
    with pytest.raises(BadRequest, match="SOMETHING"):
        baseline(DictRegistry({}, policy="SOMETHING")).policy("o.avsc")


def test_versions_in_every_language():
    line = Schema('syntax = "proto3"; message Line {}', SchemaType.PROTOBUF)
    order = Schema(
        'syntax = "proto3"; import "line.proto"; message Order { Line line = 1; }',
        SchemaType.PROTOBUF,
        references=(Reference("line.proto", "line", 1),),
    )
    item = Schema('{"$ref": "a.json"}', SchemaType.JSON, references=(Reference("a.json", "a", 1),))
    registry = DictRegistry(
        {"line": {1: line}, "o": {1: order}, "i": {1: item}, "a": {1: Schema("{}", SchemaType.JSON)}}
    )
    assert read_version(registry, "o", 1).schema.name == "Order"
    assert read_version(registry, "i", 1).content == ('{"$ref": "a.json"}', "{}")


def test_references_are_resolved_once_and_in_order_of_need():
    registry = DictRegistry(
        {
            "a": {1: Schema(record("A", "B", "C"), references=(Reference("B", "b", 1), Reference("C", "c", 1)))},
            "b": {1: Schema(record("B", "C"), references=(Reference("C", "c", 1),))},
            "c": {1: Schema(record("C"))},
        }
    )
    found = read_version(registry, "a", "latest")
    assert found.schema
    assert found.label == "a version 1"
    assert found.content[1:] == (record("C"), record("B", "C"))
    assert registry.asked == ["a@latest", "b@1", "c@1"]


def test_one_version_under_two_names_and_one_that_needs_itself():
    references = (Reference("a.json", "a", 1), Reference("b.json", "a", 1), Reference("o.json", "o", 1))
    order = Schema('{"allOf": [{"$ref": "a.json"}, {"$ref": "b.json"}]}', SchemaType.JSON, references=references)
    found = read_version(DictRegistry({"o": {1: order}, "a": {1: Schema("true", SchemaType.JSON)}}), "o", 1)
    assert found.schema
    assert found.content == (order.text, "true", "true", order.text)


@pytest.mark.parametrize("schema", [Schema("{"), Schema("message M {", SchemaType.PROTOBUF), Schema('"Missing"')])
def test_what_cannot_be_read_is_a_problem(schema):
    found = read_version(DictRegistry({"o": {1: schema}}), "o", 1)
    assert found.schema is None
    assert found.problem


def test_a_baseline_of_several_subjects_of_a_file():
    names = {"o.avsc": ("o-value", "p-value"), "q.avsc": ("q-value",), "r.avsc": ()}

    class Named:
        def names(self, path):
            return names[path]

    found = RegistryBaseline.of(THREE, Named(), names, "here")
    assert (found.paths, [each.paths for each in found.further]) == (("o.avsc", "q.avsc"), [("o.avsc",)])
    assert (found.subject("o.avsc"), found.further[0].subject("o.avsc"), found.subject("r.avsc")) == (
        "o-value",
        "p-value",
        None,
    )


def test_versions_that_cannot_be_read_are_no_answer_whatever_is_allowed():
    registry = DictRegistry({"o-value": {1: Schema("{")}})
    tree = SchemaTree(
        [SchemaFile("o-value.avsc", b'"int"'), SchemaFile("x.avsc", b'"int"')], validation=Validation.STRICT
    )
    subjects = Subjects(tree)
    for allows, paths, code in ((True, tree.paths, 4), (True, ["x.avsc"], 4), (False, tree.paths, 4)):
        found = RegistryBaseline.of(registry, subjects, paths, "here")
        report = check_files(tree, paths, baseline=found, allow_unmapped=allows)
        assert exit_code_of(report, fail_on=None, is_empty_fine=False) == code
    found = RegistryBaseline.of(registry, subjects, ["x.avsc"], "here")
    report = check_files(tree, ["x.avsc"], baseline=found, allow_unmapped=True)
    assert exit_code_of(report, fail_on=None, is_empty_fine=True) == 0
