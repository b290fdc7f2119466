"""Schema ids that are registered while a bridge runs: converted, or decided as ``--unknown-ids`` says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge import parse_bridge_file, resolve
from counterfoil.converter.check.preflight import prepare_topics
from counterfoil.converter.engines.choice import choose_engine
from counterfoil.converter.engines.reference import ReferenceEngine, key_converter
from counterfoil.converter.errors import RunFailed
from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.run.checkpoint import Checkpoint
from counterfoil.converter.run.writers import WriterService, decisions_for
from counterfoil.converter.verify.verification import RecomputedSample, TopicVerification
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema
from counterfoil.schema.wire import frame
from counterfoil.sdk import AvroSerializer, MessageField, Registry
from strategies.bridges.driver import run_bridge
from strategies.kafka.records import produce

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.converter.bridge import ResolvedBridge
    from counterfoil.converter.engines.protocol import Conversion
    from local_services import KafkaClient, RegistryProcess

NOBODYS = 999_999_999


def schema(**kinds: Any) -> Schema:
    fields = [
        {"name": name, "type": kind, **({"default": None} if isinstance(kind, list) else {})}
        for name, kind in kinds.items()
    ]
    return Schema(json.dumps({"type": "record", "name": "Ride", "fields": fields}))


FIRST = schema(ride="int", note=["null", "string"])
STOPS = {"type": "record", "name": "Stop", "fields": [{"name": "next", "type": ["null", "Stop"]}]}
SECOND = schema(ride="int", note=["null", "string"], tip=["null", "double"], stops=["null", STOPS])
TARGET = schema(id="long")


@dataclass
class Route:
    """A source with one version, its bridge as it was resolved then, and what runs it."""

    registry: Registry
    cluster: Cluster
    spark: Any
    bridge: ResolvedBridge
    checkpoint: Checkpoint
    lines: list[str]

    def produce(self, schemas: list[Schema], count: int) -> None:
        """Write ``count`` rides to two partitions, with the schemas in turn."""
        topic = self.bridge.file.source_topic
        keys, values = (
            [AvroSerializer(self.registry, each).bind(topic, field) for each in schemas]
            for field in (MessageField.KEY, MessageField.VALUE)
        )
        rides = ({"ride": number, "note": "x", "tip": 2.5} for number in range(count))
        turns = [number % len(schemas) for number in range(count)]
        self.write([(values[turn](ride), keys[turn](ride)) for turn, ride in zip(turns, rides, strict=True)])

    def write(self, records: list[tuple[bytes, bytes | None]]) -> None:
        """Write values with their keys."""
        made = (
            {"value": value, "key": key, "partition": number // 3 % 2} for number, (value, key) in enumerate(records)
        )
        produce(self.cluster.bootstrap_servers, self.bridge.file.source_topic, made)

    def run(self, bridge: ResolvedBridge, engine: str, policy: str = "stop") -> Any:
        writers = WriterService(self.lines.append)
        writers.use(decisions_for(bridge, self.registry, self.checkpoint, policy=policy))
        conversion = replace(bridge.conversion(), lookup=writers.lookup)
        keys = replace(keys_of(bridge), lookup=writers.key_lookup)
        chosen = choose_engine(engine, conversion, keys).engine
        servers, folder = self.cluster.bootstrap_servers, self.checkpoint.folder
        outcome, lines = run_bridge(self.spark, servers, bridge, folder, engine=chosen, writers=writers)
        self.lines += lines
        return outcome

    def verify(self, bridge: ResolvedBridge) -> Any:
        reference = ReferenceEngine(bridge.conversion())
        return TopicVerification(
            bridge.file,
            self.cluster,
            recompute=lambda value: reference.convert_value(value).value,
            sample=RecomputedSample(size=None),
            convert_key=key_converter(ReferenceEngine(keys_of(bridge))),
        ).run()


def keys_of(bridge: ResolvedBridge) -> Conversion:
    """The conversion of keys, without ids that are registered later."""
    conversion = bridge.key_conversion()
    assert conversion is not None
    return conversion


@pytest.fixture
def route(
    broker: KafkaClient,
    live_registry: RegistryProcess,
    bridge_topics: tuple[str, str],
    request: pytest.FixtureRequest,
    spark_and_folder: tuple[Any, Path],
) -> Any:
    (source, target), (spark, folder) = bridge_topics, spark_and_folder
    file = parse_bridge_file(
        f"bridge: {source}\nsource: {{topic: {source}}}\ntarget: {{topic: {target}}}\ndelivery: {request.param}\n"
        "fields: {id: {from: ride}}\ndrop: rest\nerrors: {stop_above: never}\n"
        "key: {fields: {id: {from: ride}}, drop: rest}\n"
    )
    cluster = Cluster(broker.bootstrap_servers)
    with Registry(live_registry.url) as registry:
        for half in ("key", "value"):
            registry.register(f"{target}-{half}", TARGET)
            registry.register(f"{source}-{half}", FIRST)
        prepare_topics(file, cluster, create_target=False)
        yield Route(registry, cluster, spark, resolve(file, registry), Checkpoint(folder / "checkpoint"), [])


@pytest.mark.parametrize(
    ("route", "engine"),
    [("exactly-once", "java"), ("at-least-once", "reference")],
    indirect=["route"],
)
def test_a_version_registered_after_the_start_is_converted(route: Route, engine: str) -> None:
    source = route.bridge.file.source_topic
    new = {route.registry.register(f"{source}-{half}", SECOND).id for half in ("key", "value")}.pop()  # one id for both
    route.produce([FIRST, SECOND], 600)
    route.write([(frame(NOBODYS, b"\x02\x00"), None)])
    outcome = route.run(route.bridge, engine)
    totals = outcome.totals
    assert (totals.converted, totals.dead_by_code) == (600, {"unknown-schema-id": 1}), route.lines
    for half in ("key", "value"):
        name = f"schema id {new} (version 2 of {source}-{half})"
        assert f"{name} was registered after the start; it is converted" in route.lines
    assert f"schema id {NOBODYS} is not in the registry; its records are dead letters" in route.lines

    newest = resolve(route.bridge.file, route.registry)
    report = route.verify(newest)
    assert report.is_good, report.lines()
    route.produce([SECOND], 10)
    assert route.run(newest, engine).totals.converted == 10


@pytest.mark.parametrize("route", ["restart-filter"], indirect=True)
def test_an_id_that_the_plan_cannot_convert_ends_the_run_or_becomes_dead_letters(route: Route) -> None:
    foreign = route.registry.register(f"{route.bridge.file.source_topic}-other", schema(other="string")).id
    route.produce([FIRST], 30)
    route.write([(frame(foreign, b"\x02x"), None)])
    reason = f"schema id {foreign} belongs to {route.bridge.file.source_topic}-other"
    with pytest.raises(RunFailed, match=reason) as failure:
        route.run(route.bridge, "java")
    assert failure.value.exit_code is ExitCode.BROKEN
    assert "--unknown-ids dead-letters" in str(failure.value)
    totals = route.run(route.bridge, "java", "dead-letters").totals
    assert (totals.dead_by_code, totals.repeats + totals.converted) == ({"unknown-schema-id": 1}, 30)
    report = route.verify(route.bridge)
    assert report.is_good, report.lines()
