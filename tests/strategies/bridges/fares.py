"""A bridge of one field between two topics of one partition, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.schema.model import Schema
from counterfoil.sdk import Registry
from strategies.bridges.program import BridgeProgram
from strategies.kafka.records import produce

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from local_services import KafkaClient, RegistryProcess

RIDE: dict[str, Any] = {"type": "record", "name": "Ride", "fields": [{"name": "number", "type": "int"}]}
FARE: dict[str, Any] = {"type": "record", "name": "Fare", "fields": [{"name": "number", "type": "string"}]}


class Fares(BridgeProgram):
    """A bridge of one field, with its topics."""

    source: str
    target: str
    schema_id: int

    @property
    def file(self) -> Path:
        return self.folder / "bridge.yaml"

    def produce(self, first: int, count: int) -> None:
        values = (_varint(number) for number in range(first, first + count))
        prefix = b"\x00" + self.schema_id.to_bytes(4, "big")
        records = [{"value": prefix + value, "partition": 0} for value in values]
        produce(self.broker.bootstrap_servers, self.source, records)

    def written(self) -> int:
        cluster = Cluster(self.broker.bootstrap_servers, timeout_s=120)
        return sum(end for _, end in cluster.watermarks(self.target).values())


def _varint(number: int) -> bytes:
    value, made = number << 1, b""
    while value > 127:
        made += bytes([value & 127 | 128])
        value >>= 7
    return made + bytes([value])


def make_fares(
    program: Path, broker: KafkaClient, registry: RegistryProcess, unique_name: Callable[[str], str], folder: Path
) -> Fares:
    """Return the bridge, with its topics, subjects and file."""
    made = Fares(program, broker, registry, folder)
    made.source, made.target = unique_name("rides"), unique_name("fares")
    for topic in (made.source, made.target):
        broker.create_topic(topic, partitions=1)
    with Registry(registry.url) as client:
        made.schema_id = client.register(f"{made.source}-value", Schema(json.dumps(RIDE))).id
        client.register(f"{made.target}-value", Schema(json.dumps(FARE)))
    made.file.write_text(
        f"bridge: {made.source}\nsource: {{topic: {made.source}}}\ntarget: {{topic: {made.target}}}\n"
        "fields: {number: {from: number, cast: string}}\n"
    )
    return made


def java_of(running: subprocess.Popen[str]) -> int | None:
    """Return the process of the Java that a program has started."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = stat.read_text().partition(" (java) ")
        except OSError:  # has ended meanwhile
            continue
        if rest and int(rest.split()[1]) == running.pid:
            return int(pid)
    return None
