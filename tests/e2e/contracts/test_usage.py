"""``counterfoil usage``: who reads a subject and its fields, and what is in a topic."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.schema.rest.observations import SchemaCount, TopicStats
from counterfoil.sdk import Registry, operations
from strategies.contracts.stories import LINK, expectation, promise, schema


@pytest.fixture
def registry(live_registry):
    """A client of a registry that other tests use, too."""
    with Registry(live_registry.url) as client:
        yield client


@pytest.fixture
def topic(registry, unique_name):
    """A topic, whose name has a dot, with a declared consumer, billing."""
    name = unique_name("orders.placed")
    registry.register(f"{name}-value", Schema(schema()))
    producer = NewContract(promise(contract=name), {LINK: Schema(schema())})
    registry.call(operations.publish(NewPublication(f"{name}-shop", "1", (producer,))))
    consumer = NewContract(expectation("order_id", contract=name, name="billing"))
    registry.call(operations.publish(NewPublication("billing", name, (consumer,))))
    return name


@pytest.fixture
def run(counterfoil, live_registry):
    """A function that runs the command against the registry."""
    return lambda *words: counterfoil(*words, settings={"COUNTERFOIL_REGISTRY_URL": live_registry.url})


def see(registry, topic, application, *paths, **more):
    """Report reads of the topic's values."""
    read = {"subject": f"{topic}-value", "messages": 1, "sampled": 1, "paths": dict.fromkeys(paths, 1)}
    registry.call(operations.post_usage({"application": application, "reads": [read], **more}))


def test_fields_are_printed_with_who_reads_them_and_those_that_nobody_reads(run, registry, topic):
    nobody = run("usage", f"{topic}-value")
    assert nobody.code == 0, nobody
    assert [line.split()[:2] for line in nobody.out.splitlines()[3:6]] == [
        ["order_id", "billing"],
        ["status", "nobody"],
        ["total", "nobody"],
    ]
    assert "warning" not in nobody.out
    see(registry, topic, "audit", "total")
    found = run("usage", topic, "--format", "text", "--format", "json=u.json", "--format", "markdown=u.md").out
    assert "audit was seen to read" in found
    assert "billing declares that it reads" in found
    assert "2 consumers; 3 fields, 1 without a known reader" in found.splitlines()[-1]
    field = run("usage", f"{topic}.total", "--format", "json").report
    assert (field["subject"], field["path"]) == (f"{topic}-value", "total")
    assert [(each["path"], each["consumers"][0]["application"]) for each in field["fields"]] == [("total", "audit")]
    unused = run("usage", topic, "--unused", "--format", "json").report
    assert [each["path"] for each in unused["fields"]] == ["status"]
    see(registry, topic, "mirror", "*", to="2020-01-01T00:00:00Z")
    stale = run("usage", topic, "--stale", "--format", "json").report
    assert [each["application"] for each in stale["consumers"]] == ["mirror"]


CONTAINERS = {
    "AVRO": """{"type": "record", "name": "R", "fields": [{"name": "lines", "type": {"type": "array", "items":
        {"type": "record", "name": "L", "fields": [{"name": "sku", "type": "string"},
        {"name": "more", "type": ["null", "L"]}]}}}, {"name": "attrs", "type": {"type": "map", "values": "L"}}]}""",
    "PROTOBUF": """syntax = "proto3"; message R { repeated L lines = 1; map<string, L> attrs = 2; }
        message L { string sku = 1; L more = 2; }""",
    "JSON": """{"type": "object", "properties": {"lines": {"type": "array", "items": {"$ref": "#/definitions/L"}},
        "attrs": {"type": "object", "additionalProperties": {"$ref": "#/definitions/L"}}}, "definitions": {"L":
        {"type": "object", "properties": {"sku": {"type": "string"}, "more": {"$ref": "#/definitions/L"}}}}}""",
}


@pytest.mark.parametrize("language", CONTAINERS)
def test_a_field_that_no_schema_has_is_not_one_that_nobody_reads(run, registry, unique_name, language):
    name = unique_name("places")
    registry.register(f"{name}-value", Schema(CONTAINERS[language], SchemaType(language)))
    registry.register(f"{name}-key", Schema(schema()))
    for path in ("lines", "lines[].sku", "lines[].more.more.sku", "attrs{}.sku", "$key.order_id", "$key"):
        found = run("usage", f"{name}.{path}")
        assert (found.code, "nobody" in found.out) == (0, True), (path, found)
    for path, near in (
        ("nosuch", "lines"),
        ("line", "lines"),
        ("lines.sku", "lines[].sku"),
        ("lines[].skuu", "sku"),
        ("lines[].more.sky", "sku"),
        ("attrs{}.nosuch", "sku"),
        ("sku", "lines[].sku"),
        ("$key.order_ids", "order_id"),
        ("$header.trace", "Headers have no schema"),
    ):
        for more in ((), ("--unused",), ("--format", "json")):
            found = run("usage", f"{name}.{path}", *more)
            assert (found.code, found.out, near in found.err) == (4, "", True), (path, found)


def test_what_was_a_field_or_is_declared_to_be_read_is_one(run, registry, topic):
    registry.call(operations.put_environment(Environment(f"{topic}-live")))
    assert "1 without a known reader" in run("usage", f"{topic}.status", "--env", f"{topic}-live").out
    registry.set_config(f"{topic}-value", "NONE")
    registry.register(f"{topic}-value", Schema(schema(status=None)))
    assert "status" in run("usage", f"{topic}.status").out
    see(registry, topic, "audit", "gone_long_ago", "$header.trace")
    for path in ("gone_long_ago", "$header.trace"):
        assert "audit" in run("usage", f"{topic}.{path}").out, path
    for operand, near in ((f"{topic}s", topic), (f"{topic}-valu", f"{topic}-value")):
        unknown = run("usage", operand)
        assert (unknown.code, unknown.out, "the nearest are" in unknown.err, near in unknown.err) == (4, "", True, True)
    nowhere = run("usage", topic, "--env", f"{topic}-liv")
    assert (nowhere.code, nowhere.out, f"{topic}-live" in nowhere.err) == (4, "", True), nowhere


def test_a_topic_whose_statistics_are_of_environments_is_asked_about_with_one(run, registry, topic):
    nothing = run("usage", "--topic", topic)
    assert nothing.code == 4
    assert f"counterfoil test --topic {topic} --publish stores" in nothing.err
    for name in (f"{topic}-staging", f"{topic}-production"):
        registry.call(operations.put_environment(Environment(name)))
        registry.call(operations.post_topic_stats(TopicStats(topic, name, records=1, schemas=(SchemaCount(1, 1),))))
    asked = run("usage", "--topic", topic)
    assert (asked.code, asked.out) == (4, "")
    assert asked.err == (
        f"counterfoil: Nothing is stored about the records of topic '{topic}', but there is something for "
        f"{topic}-production (--environment {topic}-production) and for "
        f"{topic}-staging (--environment {topic}-staging)\n"
    )
    assert run("usage", "--topic", topic, "--env", f"{topic}-staging").code == 0
    registry.call(operations.post_topic_stats(TopicStats(topic, records=1, schemas=(SchemaCount(1, 1),))))
    assert run("usage", "--topic", topic).code == 0
    other = run("usage", "--topic", topic, "--env", "nowhere")
    assert (other.code, "for no environment (no --environment) and for" in other.err) == (4, True), other


def test_a_topic_is_printed_with_its_schema_ids(run, registry, topic):
    assert run("usage", "--topic", topic).code == 4
    schema_id = registry.version(f"{topic}-value").id
    counts = (SchemaCount(schema_id, 9),)
    registry.call(operations.post_topic_stats(TopicStats(topic, records=10, undecodable=1, schemas=counts)))
    printed = run("usage", "--topic", topic)
    assert printed.code == 0, printed
    assert printed.out.splitlines()[1].split() == [str(schema_id), "9", f"{topic}-value", "1"]
    assert "1 that cannot be read, oldest version 1" in printed.out
    assert run("usage", "--topic", topic, "--format", "json").report["oldestVersion"] == 1
    assert f"| {schema_id} | 9 |" in run("usage", "--topic", topic, "--format", "markdown").out


def test_reads_in_files_are_stored(run, topic, tmp_path):
    batch = {"kind": "usage", "application": "batch", "reads": [{"subject": f"{topic}-value", "paths": {"total": 2}}]}
    lineage = {
        "eventTime": datetime.now(UTC).isoformat(),
        "job": {"namespace": "spark", "name": "nightly"},
        "inputs": [{"namespace": "kafka://broker:9092", "name": topic}, {"namespace": "s3://b", "name": "other"}],
        "outputs": [
            {
                "namespace": "s3://b",
                "name": "out",
                "facets": {
                    "columnLineage": {
                        "fields": {
                            "id": {"inputFields": [{"namespace": "kafka://b", "name": topic, "field": "order_id"}]},
                            "x": {"inputFields": [{"namespace": "s3://b", "name": "other", "field": "x"}]},
                        }
                    }
                },
            }
        ],
    }
    file = tmp_path / "reads.jsonl"
    file.write_text(f"{json.dumps(batch)}\n\n{json.dumps(lineage)}\n")
    stored = run("usage", "--import", file)
    assert (stored.code, stored.out) == (0, "2 entries of 2 batches stored\n"), stored
    found = run("usage", topic, "--format", "json").report["consumers"]
    assert [(each["application"], each["origin"], each["reads"]) for each in found] == [
        ("batch", "observed", ["total"]),
        ("billing", "declared", ["order_id"]),
        ("nightly", "lineage", ["order_id"]),
    ]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"kind": "usage"}',
        '{"job": {}, "inputs": [1]}',
        '{"job": {}, "inputs": [{"namespace": "kafka://b"}]}',
    ],
)
def test_a_file_that_is_none_is_named_with_its_line(run, tmp_path, content):
    file = tmp_path / "reads.jsonl"
    file.write_text(f"\n{content}\n")
    refused = run("usage", "--import", file)
    assert (refused.code, f"{file}:2" in refused.err) == (14, True), refused


def test_a_subject_that_is_unknown_and_options_that_contradict_have_codes_of_their_own(run, topic):
    assert run("usage", "no.such.subject").code == 4
    for words in ((), (topic, "--topic", topic), (topic, "--unused", "--stale"), ("--topic", topic, "--unused")):
        assert run("usage", *words).code == 2
    assert run("usage", f"{topic}-value.a..b").code == 2
    assert run("usage", topic, "--registry", "http://127.0.0.1:1").code == 11
