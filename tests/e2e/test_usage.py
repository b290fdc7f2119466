"""``counterfoil usage``: who reads a subject and its fields, and what is in a topic."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from contract_stories import LINK, expectation, promise, schema
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.schema.rest.topic_stats import SchemaCount, TopicStats
from counterfoil.sdk import Registry, operations


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
    assert "2 consumers; 3 fields, 1 read by nobody" in found.splitlines()[-1]
    field = run("usage", f"{topic}.total", "--format", "json").report
    assert (field["subject"], field["path"]) == (f"{topic}-value", "total")
    assert [(each["path"], each["consumers"][0]["application"]) for each in field["fields"]] == [("total", "audit")]
    unused = run("usage", topic, "--unused", "--format", "json").report
    assert [each["path"] for each in unused["fields"]] == ["status"]
    see(registry, topic, "mirror", "*", to="2020-01-01T00:00:00Z")
    stale = run("usage", topic, "--stale", "--format", "json").report
    assert [each["application"] for each in stale["consumers"]] == ["mirror"]


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
        f"{topic}-production (--env {topic}-production) and for {topic}-staging (--env {topic}-staging)\n"
    )
    assert run("usage", "--topic", topic, "--env", f"{topic}-staging").code == 0
    registry.call(operations.post_topic_stats(TopicStats(topic, records=1, schemas=(SchemaCount(1, 1),))))
    assert run("usage", "--topic", topic).code == 0
    other = run("usage", "--topic", topic, "--env", "nowhere")
    assert (other.code, "for no environment (no --env) and for" in other.err) == (4, True), other


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
