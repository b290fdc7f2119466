"""Plans and their application, on the real registry in the memory of the process."""

from __future__ import annotations

import json

import pytest

from counterfoil.contracts.deploy.planning import Planning, apply_plan
from counterfoil.contracts.deploy.plans import text_plan
from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.project.documents import read_project
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.documents import InvalidDocument
from counterfoil.schema.errors import OperationNotPermitted, ReferenceExists, RegistryError
from counterfoil.schema.model import Metadata, Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.schema.rest.subjects import Config, Mode
from counterfoil.sdk import operations
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.contracts.stories import expectation, promise, schema

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


TOPIC = "{topic: orders, namespace: lkc-1, id: t1}"


def test_a_topic_is_associated_once_with_its_subject(registry):
    project = f"managed-by: shop\nschemas:\n  - {{files: order.avsc, subject: orders, associations: [{TOPIC}]}}\n"
    applied(registry, project, order=record("Order"))
    assert applied(registry, project, order=record("Order")) == []
    [held] = registry.call(operations.associations())
    assert (str(held.subject), held.resource.name, held.type, held.lifecycle) == ("orders", "orders", "value", "WEAK")
    with pytest.raises(UsageMistake, match="delete that association first"):
        applied(registry, project.replace("subject: orders", "subject: others"), order=record("Order"))
    pruned = applied(registry, f"{EACH}}}", kept=record("Kept"), prune=True)
    assert ("subject", "orders") not in pruned


def test_a_refused_association_undoes_the_subject(registry):
    strong = TOPIC.replace("id: t1", "id: t1, lifecycle: STRONG")
    project = f"schemas:\n  - {{files: order.avsc, subject: orders, associations: [{strong}]}}\n"
    with pytest.raises(RegistryError):
        applied(registry, project, order=record("Order"))
    assert registry.subjects() == ()


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{files: '*.avsc', subject: '{stem}', associations: [{topic: a, namespace: b, id: c}]}", "of one subject"),
        ("{files: a.avsc, subject: a, associations: [{topic: a, id: c}]}", "namespace"),
        ("{files: a.avsc, subject: a, associations: [{topic: a, namespace: b, id: c, type: values}]}", "values"),
    ],
)
def test_associations_that_are_none(entry, problem):
    with pytest.raises(InvalidDocument, match=problem):
        read_project(f"schemas:\n  - {entry}\n")


def test_a_subject_that_is_read_is_kept_with_what_it_refers_to(registry):
    applied(registry, EACH + "}", line=record("line"), orders=record("orders", line="line"), other=record("other"))
    link = "./order.avsc"
    own = '"customProperties": [{"property": "subject", "value": "orders"}], '
    named = promise().replace('"authoritativeDefinitions"', f'{own}"authoritativeDefinitions"')
    registry.call(operations.publish(NewPublication("shop", "1", (NewContract(named, {link: Schema(schema())}),))))
    registry.call(operations.publish(NewPublication("billing", "1", (NewContract(expectation("total")),))))
    registry.call(operations.put_environment(Environment("production")))
    registry.call(operations.record_deployment("production", "billing", "1"))
    tree = SchemaTree([SchemaFile("new.avsc", record("new").encode())], validation=Validation.STRICT)
    plan = Planning(tree, tree.paths, project=read_project(EACH + "}"), registry=registry).plan(
        label="here", prune=True
    )
    assert [each.subject for each in plan.changes if each.kind == "subject"] == ["other"]
    assert plan.kept == {"orders": ("billing 1 reads it in production",), "line": ("orders refers to it",)}
    assert "= orders: kept, since billing 1 reads it in production" in text_plan(plan)
