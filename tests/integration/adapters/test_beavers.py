"""Beavers with Arrow tables, on a real broker and a real registry: order of time, tombstones, dead letters."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer

from counterfoil.sdk import AvroDeserializer, AvroSerializer, NotFramed, Registry, SerializationContext
from counterfoil.sdk.adapters.dead_letters import dead_letter
from strategies.machine.late_modules import late_module

dags = late_module("beavers.dag")
kafka = late_module("beavers.kafka")
adapter = late_module("counterfoil.sdk.adapters.beavers")

FIELDS = '[{"name": "vendor", "type": "int"}, {"name": "fare", "type": "double"}]'
RIDE = f'{{"type": "record", "name": "Ride", "fields": {FIELDS}}}'
TABLE = pa.schema([("vendor", pa.int32()), ("fare", pa.float64())])
TIME_0_MS = 1_700_000_000_000
DEADLINE_S = 120


@dataclass
class World:
    """A broker and a registry, and what dags of the test received."""

    bootstrap: str
    registry: Registry
    tables: list[pa.Table] = field(default_factory=list)

    def write(self, topic, rows, **options):
        """Write rows of (time, key, value), where a value that is bytes is written as it is."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        key, value = AvroSerializer(self.registry, '"string"'), AvroSerializer(self.registry, RIDE, **options)
        for at, name, ride in rows:
            headers = []
            data = ride
            if not isinstance(ride, bytes):
                data = value(ride, SerializationContext(topic, "value", headers))
            producer.produce(
                topic, key=key.bind(topic, "key")(name), value=data, headers=headers, timestamp=TIME_0_MS + at
            )
        assert producer.flush(DEADLINE_S) == 0

    def run(self, dag, sources, sinks, *, until):
        driver = adapter.create_driver(
            dag,
            {"bootstrap.servers": self.bootstrap},
            {"bootstrap.servers": self.bootstrap, "group.id": "beavers", "enable.auto.commit": False},
            sources,
            sinks,
            batch_size=4,
        )
        deadline = time.monotonic() + DEADLINE_S
        while not until():
            assert time.monotonic() < deadline
            driver.run_cycle(0.1)
        driver._producer_manager._producer.flush(DEADLINE_S)
        return driver


@pytest.fixture
def world(broker, live_registry):
    with Registry(live_registry.url) as registry:
        yield World(broker.bootstrap_servers, registry)


def ride(number):
    return {"vendor": number % 2, "fare": float(number)}


def collecting(dag, name, schema, received):
    """Return a source node of the dag whose tables go to ``received``."""
    source = dag.pa.source_table(schema, name=name)
    dag.state(lambda table: received.append(table) if len(table) else None).map(source)
    return source


def test_topics_are_replayed_in_the_order_of_time_in_batches_that_are_held_back(world, broker, unique_name):
    topics = [unique_name("early"), unique_name("late")]
    for topic in topics:
        broker.create_topic(topic, partitions=2)
    # the two topics alternate in blocks of ten seconds
    for start, topic in enumerate(topics):
        world.write(topic, [(1000 * (10 * (2 * b + start) + s), f"{b}", ride(s)) for b in range(3) for s in range(10)])
    columns = adapter.Columns(key="block", timestamp="at")
    keys = AvroDeserializer(world.registry)
    schema = pa.schema([("block", pa.string()), ("at", pa.timestamp("ms", "UTC")), *TABLE])
    dag, received = dags.Dag(), []
    sources = {}
    for topic in topics:
        collecting(dag, topic, schema, received)
        values = AvroDeserializer(world.registry, reader=RIDE)
        reader = adapter.TableReader(value=values, schema=TABLE, key=keys, columns=columns)
        sources[topic] = kafka.SourceTopic.from_earliest(topic, reader)
    world.run(dag, sources, {}, until=lambda: sum(map(len, received)) == 60)
    assert {table.schema for table in received} == {schema}
    times = [at for table in received for at in table.column("at").to_pylist()]
    assert times == sorted(times)
    assert len(received) > 10


@pytest.mark.parametrize("id_location", ["prefix", "header"])
def test_tombstones_and_null_keys_go_through_and_bad_messages_are_reported(world, broker, unique_name, id_location):
    topic = unique_name("rides")
    for name in (topic, f"{topic}.copy", f"{topic}.dead-letters"):
        broker.create_topic(name)
    rows = [(1, "one", ride(1)), (2, None, ride(2)), (3, "three", None), (4, "four", b"{}"), (5, "five", ride(5))]
    world.write(topic, rows, id_location=id_location)
    letters, reported = Producer({"bootstrap.servers": world.bootstrap}), []

    def report(message, error):
        reported.append(error)
        letters.produce(f"{topic}.dead-letters", **dead_letter(message, error))

    columns = adapter.Columns(key="name", tombstone="is_deleted")
    schema = pa.schema([("name", pa.string()), ("is_deleted", pa.bool_()), *TABLE])
    dag, received = dags.Dag(), []
    source = collecting(dag, topic, schema, received)
    dag.sink("copy", source)
    reader = adapter.TableReader(
        value=AvroDeserializer(world.registry),
        schema=TABLE,
        key=AvroDeserializer(world.registry),
        columns=columns,
        report=report,
    )
    writer = adapter.TableWriter(
        topic=f"{topic}.copy",
        value=AvroSerializer(world.registry, RIDE),
        key=AvroSerializer(world.registry, '"string"'),
        columns=columns,
    )
    sources = {topic: kafka.SourceTopic.from_earliest(topic, reader)}
    driver = world.run(dag, sources, {"copy": writer}, until=lambda: sum(map(len, received)) == 4)
    assert driver._producer_manager.flush_metrics().produced_error_count == 0
    expected = [
        {"name": "one", "is_deleted": False, **ride(1)},
        {"name": None, "is_deleted": False, **ride(2)},
        {"name": "three", "is_deleted": True, "vendor": None, "fare": None},
        {"name": "five", "is_deleted": False, **ride(5)},
    ]
    assert pa.concat_tables(received).to_pylist() == expected
    assert [type(error) for error in reported] == [NotFramed]
    assert f"subject='{topic}-value'" in str(reported[0])
    assert letters.flush(DEADLINE_S) == 0
    [letter] = read(world, f"{topic}.dead-letters", 1)
    assert letter.value() == b"{}"
    copies = read(world, f"{topic}.copy", 4)
    assert [each.value() is None for each in copies] == [False, False, True, False]
    assert [each.key() is None for each in copies] == [False, True, False, False]
    assert [AvroDeserializer(world.registry).read(each) for each in copies] == [ride(1), ride(2), None, ride(5)]


def test_without_their_column_tombstones_are_left_out_and_without_a_report_errors_are_raised(
    world, broker, unique_name
):
    topic = unique_name("rides")
    broker.create_topic(topic)
    world.write(topic, [(1, "one", None), (2, "two", ride(2)), (3, "three", b"{}")])
    reader = adapter.TableReader(value=AvroDeserializer(world.registry), schema=TABLE)
    messages = read(world, topic, 3)
    assert reader(messages[:2]).to_pylist() == [ride(2)]
    assert reader([]).schema == TABLE
    with pytest.raises(NotFramed, match=f"subject='{topic}-value'"):
        reader(messages)


def test_keys_and_values_that_do_not_fit_the_types_of_columns_are_reported(world, broker, unique_name):
    topic = unique_name("rides")
    broker.create_topic(topic)
    world.write(
        topic, [(1, "1", ride(1)), (2, "x", ride(2)), (3, "3", {"vendor": 300, "fare": 1.0}), (4, "4", ride(4))]
    )
    reported = []
    reader = adapter.TableReader(
        value=AvroDeserializer(world.registry),
        schema=pa.schema([("vendor", pa.int8()), ("fare", pa.float64())]),
        key=AvroDeserializer(world.registry),
        key_type=pa.int64(),
        columns=adapter.Columns(key="number"),
        report=lambda message, error: reported.append((message.offset(), error.field)),
    )
    assert reader(read(world, topic, 4)).to_pylist() == [{"number": 1, **ride(1)}, {"number": 4, **ride(4)}]
    assert reported == [(1, "key"), (2, "value")]


def read(world, topic, count):
    consumer = Consumer(
        {"bootstrap.servers": world.bootstrap, "group.id": f"{topic}.test", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        return consumer.consume(count, DEADLINE_S)
    finally:
        consumer.close()
