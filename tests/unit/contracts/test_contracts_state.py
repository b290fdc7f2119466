"""Plans and their application, on the real registry in the memory of the process."""

from __future__ import annotations

import json

import pytest

from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.project.document import read_project
from counterfoil.contracts.state.applying import apply_plan
from counterfoil.contracts.state.planning import Planning
from counterfoil.contracts.tree import SchemaFile, SchemaTree
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.errors import OperationNotPermitted, ReferenceExists
from counterfoil.schema.model import Metadata
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.config import Config
from counterfoil.schema.rest.modes import Mode
from counterfoil.sdk.testing import InMemoryRegistry

EACH = "managed-by: shop\nschemas:\n  - {files: '*.avsc', subject: '{stem}'"


@pytest.fixture
def registry():
    with InMemoryRegistry().client() as client:
        yield client


def record(name, **fields):
    members = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "fields": members})


def applied(registry, project, *, prune=False, **schemas):
    """The changes of a plan for files of these names, after it was applied."""
    files = [SchemaFile(f"{name}.avsc", text.encode()) for name, text in schemas.items()]
    tree = SchemaTree(files, validation=Validation.STRICT)
    planning = Planning(tree, tree.paths, project=read_project(project), registry=registry)
    plan = planning.plan(label="here", prune=prune)
    assert tuple(apply_plan(plan, planning.registration, registry)) == plan.changes
    return [(str(change.kind), change.subject) for change in plan.changes]


def test_what_the_project_does_not_determine_stays_in_effect(registry):
    registry.set_config(
        None,
        Config(compatibility_level=CompatibilityLevel.FULL, default_metadata=Metadata(properties={"team": "platform"})),
    )
    assert applied(registry, EACH + "}", order=record("Order")) == [("schema", "order"), ("managed-by", "order")]
    config = registry.config("order", default_to_global=True)
    assert config.compatibility_level is CompatibilityLevel.FULL
    assert config.default_metadata.properties == {"team": "platform", "managed-by": "shop"}


def test_a_subject_is_made_writable_before_anything_else(registry):
    applied(registry, EACH + ", level: FULL}", order=record("Order", id="string"))
    registry.set_mode("order", Mode.READONLY)
    project = EACH + ", level: NONE, policy: SOUND, mode: READWRITE}"
    assert applied(registry, project, order=record("Order", id="int")) == [
        ("mode", "order"), ("policy", "order"), ("level", "order"), ("schema", "order"),
    ]  # fmt: skip
    assert registry.versions("order") == (1, 2)
    assert applied(registry, project, order=record("Order", id="int")) == []


def test_subjects_are_deleted_after_those_that_refer_to_them(registry):
    schemas = {"a": record("a"), "b": record("b", first="a"), "c": record("c", first="a", second="b")}
    applied(registry, EACH + "}", kept=record("Kept"), **schemas)
    with pytest.raises(ReferenceExists):
        registry.delete_subject("a")
    deleted = applied(registry, EACH + "}", kept=record("Kept"), prune=True)
    assert deleted == [("subject", "c"), ("subject", "b"), ("subject", "a")]
    assert registry.subjects() == ("kept",)


def test_every_change_of_a_subject_is_undone_though_one_cannot_be(registry):
    applied(registry, EACH + ", level: FULL}", order=record("Order", id="string"))
    registry.set_mode("frozen", Mode.READONLY)
    before = registry.config("order")

    class Failing:
        def __getattr__(self, name):
            return getattr(registry, name)

        def delete_version(self, *_, **__):
            raise OperationNotPermitted("no version can be deleted")

    project = "schemas:\n  - {files: order.avsc, subject: order, level: NONE, aliases: [frozen]}\n"
    with pytest.raises(OperationNotPermitted):
        applied(Failing(), project, order=record("Order", id="int"))
    assert registry.config("order") == before


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ("{files: b.avsc, subject: b, aliases: [old]}", "'old' is an alias of 'a' and of 'b'"),
        ("{files: b.avsc, subject: old}", "'old' is an alias of 'a' and the subject of a file"),
    ],
)
def test_an_alias_is_of_one_subject(registry, second, problem):
    project = f"schemas:\n  - {{files: a.avsc, subject: a, aliases: [old]}}\n  - {second}\n"
    with pytest.raises(UsageMistake, match=problem):
        applied(registry, project, a=record("A"), b=record("B"))
