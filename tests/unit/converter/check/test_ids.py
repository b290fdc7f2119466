"""``bridge check`` looks up schema ids as the run does, and names what a stored plan does otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge import parse_bridge_file, resolve, resolve_with
from counterfoil.converter.check.command import id_findings
from counterfoil.converter.check.preflight import PreflightCheck, PreflightSeverity, plan_findings, state_findings
from counterfoil.converter.check.sampling import Sampled
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointIdentity
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.wire import frame
from counterfoil.sdk.testing import InMemoryRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from counterfoil.sdk import Registry

FILE = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"
KEYED = f"{FILE}key: convert\n"


def schema(name: str) -> Schema:
    return Schema(json.dumps({"type": "record", "name": name, "fields": [{"name": "id", "type": "int"}]}))


def proto(body: str) -> Schema:
    return Schema(f'syntax = "proto3"; message User {{ {body} }}', SchemaType.PROTOBUF)


@pytest.fixture
def registry() -> Iterator[Registry]:
    with InMemoryRegistry().client(sleep=lambda _s: None) as client:
        for subject in ("in-value", "out-value", "in-key", "out-key"):
            client.register(subject, schema("R"))
        yield client


def records(*frames: tuple[bytes | None, bytes | None]) -> list[Sampled]:
    return [Sampled(0, offset, key, value) for offset, (key, value) in enumerate(frames)]


def test_an_id_of_another_subject_is_an_error_as_the_run_would_end_there(registry: Registry) -> None:
    other = registry.register("else-value", schema("Other")).id
    bridge = resolve(parse_bridge_file(FILE), registry)
    taken = records((None, frame(bridge.newest_id, b"\x02")), (None, frame(other, b"\x02")), (None, None), (b"x", b"y"))
    (finding,) = id_findings(bridge, taken, registry, policy="stop")
    assert (finding.severity, finding.check) == (PreflightSeverity.ERROR, PreflightCheck.IDS)
    assert f"the next run ends at such a record: schema id {other} belongs to else-value" in finding.text
    (lenient,) = id_findings(bridge, taken, registry, policy="dead-letters")
    assert lenient.severity is PreflightSeverity.WARNING
    assert "its records are dead letters" in lenient.text


def test_an_id_that_the_registry_does_not_have_is_a_warning(registry: Registry) -> None:
    bridge = resolve(parse_bridge_file(FILE), registry)
    (finding,) = id_findings(bridge, records((None, frame(99, b"\x02"))), registry, policy="stop")
    assert (finding.severity, finding.text[:38]) == (
        PreflightSeverity.WARNING,
        "schema id 99 is not in the registry; i",
    )


def test_keys_are_looked_at_where_they_are_converted(registry: Registry) -> None:
    other = registry.register("else-value", schema("Other")).id
    taken = records((frame(other, b"\x02"), None))
    assert not id_findings(resolve(parse_bridge_file(FILE), registry), taken, registry, policy="stop")
    (finding,) = id_findings(resolve(parse_bridge_file(KEYED), registry), taken, registry, policy="stop")
    assert f"key: schema id {other} belongs to else-value" in finding.text


class Access:
    """Opens one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def open(self) -> Any:
        from contextlib import nullcontext

        return nullcontext(self._registry)


RULES = "fields: {full_name: {join: [first, last]}}\n"


def test_a_bridge_that_was_begun_keeps_its_plan_and_what_changes_is_named(registry: Registry) -> None:
    registry.register("users-value", proto("string first = 1; string last = 2;"))
    registry.register("people-value", proto("string full_name = 1; string nick = 2;"))
    file = parse_bridge_file(f"bridge: p\nsource: {{topic: users}}\ntarget: {{topic: people}}\n{RULES}")
    access: Any = Access(registry)
    new = resolve_with(file, access)
    assert not new.problems
    assert not plan_findings(new)
    assert new.earlier is not None
    earlier = new.earlier.hash
    begun = resolve_with(file, access, lambda: earlier)
    assert begun.plan.hash == new.earlier.plan.hash != new.plan.hash
    (finding,) = plan_findings(begun)
    assert (finding.severity, finding.check) == (PreflightSeverity.WARNING, PreflightCheck.STORED)
    assert "nick is filled from last by its number alone" in finding.text
    assert resolve_with(file, access, lambda: new.hash).plan.hash == new.plan.hash


def test_a_checkpoint_of_another_plan_is_an_error_as_the_run_would_not_begin(
    registry: Registry, tmp_path: Path
) -> None:
    bridge = resolve(parse_bridge_file(FILE), registry)
    checkpoint = Checkpoint(tmp_path / "state")
    assert not state_findings(bridge, checkpoint)
    assert not checkpoint.folder.exists()
    checkpoint.claim(CheckpointIdentity.of(bridge), force=False)
    assert not state_findings(bridge, checkpoint)
    other = resolve(parse_bridge_file(f"{FILE}fields: {{id: {{const: 1}}}}\ndrop: [id]\n"), registry)
    (finding,) = state_findings(other, checkpoint)
    assert (finding.severity, finding.check) == (PreflightSeverity.ERROR, PreflightCheck.CHECKPOINT)
    assert "was made with plan" in finding.text


def test_a_question_about_numbers_is_answered_once(registry: Registry) -> None:
    registry.register("users-value", proto("string first = 1; string last = 2;"))
    registry.register("people-value", proto("string given = 1; string family = 2;"))
    text = "bridge: p\nsource: {topic: users}\ntarget: {topic: people}\n"
    asked, answered = (resolve(parse_bridge_file(each), registry) for each in (text, f"{text}numbers: same\n"))
    (problem,) = asked.problems
    assert "given from first (number 1), family from last (number 2)" in problem
    assert not answered.problems
    assert answered.earlier is None
    assert asked.earlier is not None
    assert (asked.earlier.problems, asked.earlier.hash) == ((), answered.hash)
    (first, second) = asked.earlier.changes
    assert first == "given is filled from first by its number alone; numbers: same keeps that"
    assert second.startswith("family is filled from last")
