"""Records of every version of a subject that a running registry has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from counterfoil.contracts.testkit import Stream
from counterfoil.contracts.testkit.session import ContractSession
from counterfoil.schema import Schema
from counterfoil.sdk import AvroDeserializer, Registry
from strategies.contracts.agreement_files import CONTRACT, SCHEMA
from strategies.contracts.kit_project import write_project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from local_services import RegistryProcess


def test_all_live_versions_are_used_in_turn(
    live_registry: RegistryProcess, unique_name: Callable[[str], str], tmp_path: Path, monkeypatch
):
    topic, client = unique_name("orders"), Registry(live_registry.url)
    versions = [json.loads(SCHEMA) for _ in range(3)]
    for number, each in enumerate(versions):
        each["fields"].append({"name": f"added{number}", "type": ["null", "string"], "default": None})
        client.register(f"{topic}-value", Schema(json.dumps(each)))
    client.delete_version(f"{topic}-value", 1)  # softly: records with it may be in the topic
    write_project(tmp_path, **{"orders.odcs.yaml": CONTRACT.replace("orders.placed", topic)})
    monkeypatch.setenv("COUNTERFOIL_REGISTRY_URL", live_registry.url)
    stream = Stream(ContractSession(str(tmp_path)))
    records = stream.examples(topic, n=6, schema="all-live")
    read = AvroDeserializer(stream.registry)
    added = [next(name for name in read(each.value) if name.startswith("added")) for each in records]
    assert added == ["added0", "added1", "added2"] * 2
    assert len({each.schema_id for each in records}) == 3
    (one,) = stream.examples(topic, n=1, schema=f"{topic}-value@2")
    assert "added1" in one.decoded
