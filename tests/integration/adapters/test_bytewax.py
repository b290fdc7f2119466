"""Bytewax's own operators and ours, on a real broker and a real registry."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from bytewax import operators as op
from bytewax.connectors.kafka import KafkaSinkMessage, KafkaSource
from bytewax.connectors.kafka import operators as kop
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main
from confluent_kafka import Consumer, Producer

from counterfoil.schema.wire import VALUE_HEADER
from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry, SerdeError, SubjectUnresolved
from counterfoil.sdk.adapters import bytewax as cop
from counterfoil.sdk.adapters.dead_letters import ERROR, ERROR_FIELD, ERROR_TEXT, SOURCE

RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}'


@dataclass
class Place:
    """A broker and a registry, and a topic of the test."""

    brokers: list[str]
    registry: Registry
    topic: str

    def written(self, topic, count):
        """Return the records of a topic."""
        consumer = Consumer({"bootstrap.servers": self.brokers[0], "group.id": topic, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        try:
            return consumer.consume(count, 60)
        finally:
            consumer.close()

    def produce(self, *records):
        producer = Producer({"bootstrap.servers": self.brokers[0]})
        for key, value, *headers in records:
            producer.produce(self.topic, key=key, value=value, headers=headers)
        assert producer.flush(60) == 0

    def source(self, flow, step="in", topic=None):
        return kop.input(step, flow, brokers=self.brokers, topics=[topic or self.topic], tail=False)


@pytest.fixture
def place(broker, live_registry, unique_name):
    topic = unique_name("rides")
    for each in (topic, f"{topic}.dead-letters", f"{topic}.copy"):
        broker.create_topic(each)
    with Registry(live_registry.url) as registry:
        yield Place([broker.bootstrap_servers], registry, topic)


def test_bytewaxs_own_operators_take_the_serializers_and_errors_name_id_and_subject(place):
    key, value = AvroSerializer(place.registry, '"string"'), AvroSerializer(place.registry, RIDE)
    flow = Dataflow("write")
    rides = [KafkaSinkMessage(f"ride {n}", {"fare": float(n)}, topic=place.topic) for n in range(3)]
    messages = op.input("rides", flow, TestingSource(rides))
    kop.output(
        "out",
        kop.serialize("serialize", messages, key_serializer=key, val_serializer=value),
        brokers=place.brokers,
        topic=place.topic,
    )
    run_main(flow)
    place.produce((None, b"{}"), (None, b"\0\x7f\xff\xff\xff\x00"))
    oks, errs = [], []
    flow = Dataflow("read")
    read = kop.deserialize(
        "deserialize",
        place.source(flow).oks,
        key_deserializer=AvroDeserializer(place.registry),
        val_deserializer=AvroDeserializer(place.registry),
    )
    op.output("oks", read.oks, TestingSink(oks))
    op.output("errs", read.errs, TestingSink(errs))
    kop.output(
        "dead", cop.dead_letters("explain", read.errs), brokers=place.brokers, topic=f"{place.topic}.dead-letters"
    )
    run_main(flow)
    assert [(each.key, each.value) for each in oks] == [(f"ride {n}", {"fare": float(n)}) for n in range(3)]
    unframed, unknown = (each.err.str() for each in errs)
    assert f"subject='{place.topic}-value'" in unframed
    assert "2147483647" in unknown
    letters = place.written(f"{place.topic}.dead-letters", 2)
    assert [each.value() for each in letters] == [b"{}", b"\0\x7f\xff\xff\xff\x00"]
    assert unknown in dict(letters[1].headers())[ERROR_TEXT].decode()


@pytest.mark.parametrize("id_location", ["prefix", "header"])
def test_messages_go_through_with_headers_tombstones_and_null_keys(place, id_location):
    write = AvroSerializer(place.registry, RIDE, id_location=id_location)
    given = [
        KafkaSinkMessage("one", {"fare": 1.5}, headers=[("trace", b"7"), (VALUE_HEADER, b"stale")]),
        KafkaSinkMessage(None, {"fare": 2.5}),
        KafkaSinkMessage("three", None),
        KafkaSinkMessage("four", {"fare": "much"}),
    ]
    failed = []
    flow = Dataflow("write")
    written = cop.serialize(
        "serialize",
        op.input("rides", flow, TestingSource(given)),
        topic=place.topic,
        key_serializer=AvroSerializer(place.registry, '"string"'),
        val_serializer=write,
    )
    kop.output("out", written.oks, brokers=place.brokers, topic=place.topic)
    op.output("errs", written.errs, TestingSink(failed))
    run_main(flow)
    assert [each.msg for each in failed] == given[3:]
    assert failed[0].error.subject == f"{place.topic}-value"
    assert [each.value() is None for each in place.written(place.topic, 3)] == [False, False, True]

    place.produce((b"no frame", b"{}", ("trace", b"9")), (None, b"{}"))
    oks, errs = [], []
    flow = Dataflow("read")
    read = cop.deserialize(
        "deserialize",
        place.source(flow).oks,
        key_deserializer=AvroDeserializer(place.registry),
        val_deserializer=AvroDeserializer(place.registry),
    )
    op.output("oks", read.oks, TestingSink(oks))
    op.output("errs", read.errs, TestingSink(errs))
    kop.output(
        "dead", cop.dead_letters("explain", read.errs), brokers=place.brokers, topic=f"{place.topic}.dead-letters"
    )
    run_main(flow)
    assert [(each.key, each.value) for each in oks] == [("one", {"fare": 1.5}), (None, {"fare": 2.5}), ("three", None)]
    assert dict(oks[0].headers)["trace"] == b"7"
    assert [each.error.field for each in errs] == ["key", "value"]
    letters = place.written(f"{place.topic}.dead-letters", 2)
    assert [(each.key(), each.value()) for each in letters] == [(b"no frame", b"{}"), (None, b"{}")]
    headers = dict(letters[0].headers())
    assert headers["trace"] == b"9"
    assert (headers[ERROR], headers[ERROR_FIELD]) == (b"NotFramed", b"key")
    assert headers[SOURCE].decode() == f"{place.topic}/0/3"


def test_a_message_without_a_topic_is_an_error_that_says_so(place):
    failed = []
    flow = Dataflow("write")
    written = cop.serialize(
        "serialize",
        op.input("rides", flow, TestingSource([KafkaSinkMessage(None, {"fare": 1.5})])),
        val_serializer=AvroSerializer(place.registry, RIDE),
    )
    op.output("oks", written.oks, TestingSink([]))
    op.output("errs", written.errs, TestingSink(failed))
    run_main(flow)
    assert isinstance(failed[0].error, SubjectUnresolved)


def test_a_source_message_is_copied_to_another_topic_with_a_new_schema_id(place):
    first = AvroSerializer(place.registry, RIDE, id_location="header")
    headers = []
    ctx = type("Ctx", (), {"topic": place.topic, "field": "value", "headers": headers})
    place.produce((None, first({"fare": 1.5}, ctx), *headers))
    flow = Dataflow("copy")
    read = cop.deserialize("read", place.source(flow).oks, val_deserializer=AvroDeserializer(place.registry))
    written = cop.serialize(
        "write", read.oks, topic=f"{place.topic}.copy", val_serializer=AvroSerializer(place.registry, RIDE)
    )
    kop.output("out", written.oks, brokers=place.brokers, topic=f"{place.topic}.copy")
    op.output("errs", op.merge("all", read.errs, written.errs), TestingSink([]))
    run_main(flow)
    [copy] = place.written(f"{place.topic}.copy", 1)
    assert copy.value()[:1] == b"\0"
    assert VALUE_HEADER not in dict(copy.headers() or [])
    assert place.registry.version(f"{place.topic}.copy-value").id


def test_several_workers_share_one_deserializer(place, broker, unique_name):
    topic = unique_name("shared")
    broker.create_topic(topic, partitions=4)
    write = AvroSerializer(place.registry, RIDE).bind(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(400):
        producer.produce(topic, value=write({"fare": float(number)}), partition=number % 4)
    assert producer.flush(60) == 0
    oks = []
    flow = Dataflow("read")
    source = op.input("in", flow, KafkaSource(place.brokers, [topic], tail=False, batch_size=20))
    read = cop.deserialize("read", source, val_deserializer=AvroDeserializer(place.registry))
    op.output("oks", read.oks, TestingSink(oks))
    op.output("errs", read.errs, TestingSink([]))
    cluster_main(flow, [], 0, worker_count_per_proc=4)
    assert sorted(each.value["fare"] for each in oks) == [float(number) for number in range(400)]


def test_an_error_survives_being_sent_to_another_process():
    import pickle

    failed = cop.Failed(None, KafkaSinkMessage(None, b"{}"), SerdeError("no frame", topic="rides", field="value"))
    again = pickle.loads(pickle.dumps(failed))
    assert again.error.topic == "rides"
