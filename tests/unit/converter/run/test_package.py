"""What a run reads of a package, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from counterfoil.converter.bridge import ResolvedBridge, parse_bridge_file, resolve
from counterfoil.converter.engines.lookup import Half, LookupOutcome
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.run.package import PLAN, SCHEMAS, JobPackage
from counterfoil.converter.run.writers import decisions_for
from counterfoil.schema.model import Schema
from counterfoil.sdk.client.bundle import write_bundle
from counterfoil.sdk.commands.bundle import make_bundle
from counterfoil.sdk.testing import InMemoryRegistry

if TYPE_CHECKING:
    from pathlib import Path

FILE = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\nfields: {id: {from: ride}}\n"


def record(**fields: str) -> Schema:
    kinds = [{"name": name, "type": kind} for name, kind in fields.items()]
    return Schema(json.dumps({"type": "record", "name": "R", "fields": kinds}))


@pytest.fixture
def packed(tmp_path: Path) -> tuple[JobPackage, ResolvedBridge]:
    """A package, and the bridge that it was made of."""
    with InMemoryRegistry().client() as registry:
        registry.register("in-value", record(ride="int"))
        registry.register("out-value", record(id="int"))
        bridge = resolve(parse_bridge_file(FILE), registry)
        write_bundle(make_bundle(registry, ["in-value", "out-value"], origin="memory"), tmp_path / SCHEMAS)
    (tmp_path / PLAN).write_text(json.dumps({"hash": bridge.hash}))
    return JobPackage(tmp_path), bridge


def test_the_bridge_of_a_package_is_that_of_the_registry(packed: tuple[JobPackage, ResolvedBridge]):
    package, bridge = packed
    found = package.resolve(parse_bridge_file(FILE))
    assert (found.hash, found.version_by_id, found.target_id) == (bridge.hash, bridge.version_by_id, bridge.target_id)


def test_another_plan_is_refused(packed: tuple[JobPackage, ResolvedBridge]):
    package, bridge = packed
    changed = parse_bridge_file(FILE.replace("{from: ride}", "{const: 7}") + "drop: [ride]\n")
    with pytest.raises(BridgeError, match=f"was made for plan {bridge.hash[:16]}, and bridge.yaml has plan"):
        package.resolve(changed)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (SCHEMAS, None, r"schemas\.json"),
        (SCHEMAS, "{}", "cannot be used"),
        (PLAN, None, r"plan\.json cannot be read: No such file"),
        (PLAN, "[]", r"plan\.json is not what 'counterfoil bridge package' writes"),
        (PLAN, "{", r"plan\.json is not what 'counterfoil bridge package' writes"),
    ],
)
def test_a_package_that_is_not_whole_is_refused(
    packed: tuple[JobPackage, ResolvedBridge], name: str, content: str | None, sentence: str
):
    package, _ = packed
    if content is None:
        (package.folder / name).unlink()
    else:
        (package.folder / name).write_text(content)
    with pytest.raises(BridgeError, match=sentence):
        package.resolve(parse_bridge_file(FILE))


def test_without_a_registry_a_new_id_is_a_decision_of_the_user(packed: tuple[JobPackage, ResolvedBridge]):
    bridge = packed[1]
    stop = decisions_for(bridge, None, None, policy="stop")[Half.VALUE].decide(99)
    assert stop.outcome is LookupOutcome.STOP
    assert "schema id 99 is not in the package of the bridge, and no registry is named" in stop.text
    dead = decisions_for(bridge, None, None, policy="dead-letters")[Half.VALUE].decide(99)
    assert dead.outcome is LookupOutcome.DEAD_LETTER
