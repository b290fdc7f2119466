"""``counterfoil test`` on a real broker and a real registry, and its two engines on one topic."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from counterfoil.contracts.check.agreements import read_file
from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.contracts.testing.plan import RecordTestPlan, Writers
from counterfoil.contracts.testing.promises import topic_test
from counterfoil.contracts.testing.sources import SampleChoice, batches_of, choose_sample, open_topic
from counterfoil.contracts.testing.tester import DistributedTest, TopicTester, wanted_of
from counterfoil.contracts.testing.verdict import findings_of
from counterfoil.converter.spark.start import SparkScanner
from counterfoil.sdk import AvroSerializer, Registry, SerializationContext
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_services import KafkaClient, RegistryProcess

RECORDS = 200
START_MS = 1_700_000_000_000
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "total", "type": "long"}],
}
CONTRACT = """
apiVersion: v3.2.0
kind: DataContract
id: orders
version: 1.0.0
status: active
servers:
  - {server: staging, type: kafka, environment: test, host: "%(host)s", format: avro}
schema:
  - name: Order
    physicalName: %(topic)s
    logicalType: object
    customProperties:
      - {property: messageKey, value: {field: id}}
    quality:
      - {id: even, type: custom, engine: cel, implementation: "message.total %% 2 == 0 || message.total < 150"}
      - {id: twice, type: library, metric: duplicateValues, arguments: {properties: [id], window: PT1M}, mustBe: 0}
      - {id: volume, type: library, metric: rowCount, arguments: {window: PT1M}, mustBeLessThan: 1000}
    properties:
      - {name: id, logicalType: string, required: true, unique: true}
      - {name: total, logicalType: integer, required: true, logicalTypeOptions: {maximum: 189}}
"""


@pytest.fixture(scope="session")
def topic(broker: KafkaClient, live_registry: RegistryProcess) -> str:
    """A topic of two partitions: 200 records, a tombstone, two that cannot be decoded, and an aborted transaction.

    Ten records fail the range, twenty-five the rule, and four have an id that another one has, in another partition.
    """
    name = f"orders-{uuid4().hex[:10]}"
    broker.create_topic(name, partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    with Registry(live_registry.url) as registry:
        serialize = AvroSerializer(registry, json.dumps(SCHEMA))
        for number in range(RECORDS):
            ident = f"o{number - 1 if number in (51, 53, 55, 57) else number}"
            value = serialize({"id": ident, "total": number}, SerializationContext(name, "value"))
            producer.produce(name, value, key=ident, partition=number % 2, timestamp=START_MS + number * 1000)
        for value in (None, b"no frame", b"\x00\x7f\xff\xff\xffx"):
            producer.produce(name, value, key="o", partition=0, timestamp=START_MS + 300_000)
        assert producer.flush(30) == 0
        aborted = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name, "log_level": 0})
        aborted.init_transactions(30)
        aborted.begin_transaction()
        aborted.produce(name, b"never committed", partition=1)
        aborted.flush(30)
        aborted.abort_transaction(30)
    return name


@pytest.fixture
def folder(topic: str, broker: KafkaClient, live_registry: RegistryProcess, tmp_path: Path, monkeypatch) -> Path:
    """The current folder, with the contract of the topic."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTERFOIL_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("COUNTERFOIL_REGISTRY_URL", live_registry.url)
    (tmp_path / "orders.odcs.yaml").write_text(CONTRACT % {"topic": topic, "host": broker.bootstrap_servers})
    return tmp_path


@pytest.fixture
def call(folder: Path, capsys):
    """A function that runs ``counterfoil test`` in this folder."""
    assert folder.exists()

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(root_command(), ["test", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.fixture
def refusing_url() -> Iterator[str]:
    """The address of a server that answers 401."""

    class Refusal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Refusal)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def verification(out: str) -> Any:
    (found,) = json.loads(out)["verifications"]
    return found


def test_all_records_of_a_topic_are_tested(call, broker: KafkaClient):
    code, out, _ = call("--sample", "all", "--format", "json")
    found = verification(out)
    failures = {(each["rule"], each["element"]): each["records"] for each in found["results"]["failures"]}
    assert (code, found["sample"]["isComplete"], found["environment"]) == (1, True, None)
    assert (found["results"]["records"], found["results"]["tombstones"]) == (RECORDS + 3, 1)
    assert failures == {
        ("record-undecodable", ""): 2,
        ("value-outside-range", "total"): 10,
        ("rule-failed", "even"): 25,
    }
    rules = {(each["rule"], each["element"]): each["text"] for each in json.loads(out)["findings"]}
    assert rules["value-repeated", "id"].startswith("4 of 202 records")
    assert "duplicateValues is 4, and must be exactly 0" in rules["quality-failed", "twice"]
    assert "first at partition 0 offset 95 (id" in rules["value-outside-range", "total"]
    groups = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_consumer_groups().result(30).valid
    assert "counterfoil" not in {each.group_id for each in groups}


def test_samples_of_a_topic(call):
    newest = verification(call("--limit", "20", "--format", "json")[1])
    assert newest["sample"]["partitions"][0] == {"partition": 0, "first": 93, "last": 102}
    oldest = verification(call("--sample", "oldest", "--limit", "20", "--format", "json")[1])
    assert [each["first"] for each in oldest["sample"]["partitions"]] == [0, 0]
    code, out, _ = call("--sample", "oldest", "--limit", "20")
    assert (code, "0 errors" in out) == (0, True)
    code, out, _ = call("--sample", "random", "--seed", "3", "--limit", "30", "--server", "staging")
    assert "at 95 % confidence, at most" in out
    since = verification(call("--sample", "since=2023-11-14T22:16:35Z", "--format", "json")[1])
    assert since["sample"]["records"] == 5 + 3
    cut = call("--sample", "spread", "--limit", "50", "--limit-bytes", "10")[1]
    assert "ended by the limit of bytes" in cut
    assert "confidence" not in cut


def test_what_is_missing_away_or_refusing_has_its_own_code(call, topic: str, folder: Path, refusing_url: str):
    assert call("--registry", "http://127.0.0.1:9", "--retries", "0")[0] == 11
    assert call("--registry", refusing_url)[0] == 12
    place = folder / "orders.odcs.yaml"
    place.write_text(place.read_text().replace(topic, "orders-that-nobody-has"))
    code, _, err = call()
    assert code == 14
    assert "there is no topic 'orders-that-nobody-has'" in err
    assert "the contract orders names it (orders.odcs.yaml:10:5)" in err


def test_spark_and_one_process_count_the_same(
    topic: str, broker: KafkaClient, live_registry: RegistryProcess, spark: Any
):
    text = CONTRACT % {"topic": topic, "host": broker.bootstrap_servers}
    contract = read_file("orders.odcs.yaml", text.encode()).reading.agreement
    test = topic_test(contract, contract.promises[0], file="orders.odcs.yaml")
    access = KafkaAccess(broker.bootstrap_servers)
    with Registry(live_registry.url) as registry, open_topic(access, test) as opened:
        sample = choose_sample(opened, SampleChoice.parse("all", limit=1), source=topic)
        tester = TopicTester(RecordTestPlan(test, keys=Writers(lambda: registry)), Writers(lambda: registry))
        for batch in batches_of(opened, sample):
            tester.feed(batch)
        spread = DistributedTest(test, wanted_of(sample), registry).run(SparkScanner(spark), access)
    alone = tester.tally
    assert spread.windows == alone.windows
    assert {**spread.document(), "counts": {}} == {**alone.document(), "counts": {}}
    places = [
        [(each.rule, each.element, each.text.partition("; first")[0]) for each in findings_of(test, tally, sample)]
        for tally in (spread, alone)
    ]
    assert places[0] == places[1]
