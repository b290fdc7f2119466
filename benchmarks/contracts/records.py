"""`counterfoil test` on a topic of a million records: records a second of CPU, and memory.

Beside it, in the same run: the loop that people write, confluent-kafka's consumer and Avro deserializer with the same
rules in Python, stopped after a tenth of the records. Both are processes of their own, and the figures are their CPU
seconds without their start, which is measured with a sample of one record. ``RECORDS=n`` sets the number;
``--assert`` exits with 1 if a goal is missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from confluent_kafka import Producer

from counterfoil.schema.model import Schema
from counterfoil.sdk import AvroSerializer, Registry, SerializationContext
from counterfoil.sdk.testing.registries import serving_registry

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy"))
from local_services import KafkaBroker

RECORDS = int(os.environ.get("RECORDS", "1000000"))
GOAL_PER_S = 150_000
TOPIC = "orders.placed"
BIN = Path(sys.executable).parent
SCHEMA = {
    "type": "record",
    "name": "OrderPlaced",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "placed_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "total_cents", "type": "long"},
        {"name": "discount_cents", "type": ["null", "long"], "default": None},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "LOST"]}},
        {"name": "country", "type": "string"},
        {"name": "email", "type": ["null", "string"], "default": None},
        {"name": "weight", "type": "double"},
        {"name": "gift", "type": "boolean"},
        {"name": "lines", "type": "int"},
    ],
}
CONTRACT = """
apiVersion: v3.2.0
kind: DataContract
id: orders.placed
version: 1.0.0
status: active
schema:
  - name: OrderPlaced
    physicalName: orders.placed
    logicalType: object
    properties:
      - {name: order_id, logicalType: string, required: true, logicalTypeOptions: {pattern: "^o-[0-9]+$"}}
      - {name: total_cents, logicalType: integer, required: true, logicalTypeOptions: {minimum: 0, maximum: 100000000}}
      - {name: discount_cents, logicalType: integer, logicalTypeOptions: {minimum: 0}}
      - {name: status, logicalType: string, enum: [{value: NEW}, {value: PAID}]}
      - {name: country, logicalType: string, required: true, enum: [{value: DE}, {value: FR}, {value: NL}]}
      - {name: weight, logicalType: number, logicalTypeOptions: {minimum: 0, exclusiveMaximum: 1000}}
"""
LOOP = """
import re, sys
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

servers, registry, topic, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
deserialize = AvroDeserializer(SchemaRegistryClient({"url": registry}))
context = SerializationContext(topic, MessageField.VALUE)
consumer = Consumer({"bootstrap.servers": servers, "group.id": "loop", "enable.auto.commit": False})
consumer.assign([TopicPartition(topic, 0, 0)])
pattern, failing, read = re.compile("^o-[0-9]+$"), 0, 0
while read < count:
    message = consumer.poll(1.0)
    if message is None or message.error():
        continue
    read += 1
    value = deserialize(message.value(), context)
    discount = value["discount_cents"]
    if not (
        value["order_id"] is not None and pattern.search(value["order_id"])
        and value["total_cents"] is not None and 0 <= value["total_cents"] <= 100_000_000
        and (discount is None or discount >= 0)
        and value["status"] in ("NEW", "PAID")
        and value["country"] in ("DE", "FR", "NL")
        and 0 <= value["weight"] < 1000
    ):
        failing += 1
consumer.close()
print(failing)
"""


def fill(servers: str, url: str) -> None:
    """Write the records, of which one in ten thousand fails."""
    with Registry(url) as registry:
        registry.register(f"{TOPIC}-value", Schema(json.dumps(SCHEMA)))
        serialize = AvroSerializer(registry, json.dumps(SCHEMA))
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
        context = SerializationContext(TOPIC, "value")
        for number in range(RECORDS):
            value = {
                "order_id": f"o-{number}",
                "placed_at": 1_700_000_000_000 + number,
                "total_cents": number % 100_000,
                "discount_cents": None if number % 3 else number % 500,
                "status": "LOST" if number % 10_000 == 77 else ("NEW" if number % 2 else "PAID"),
                "country": ("DE", "FR", "NL")[number % 3],
                "email": None if number % 2 else f"{number}@example.org",
                "weight": number % 999 / 1.5,
                "gift": number % 7 == 0,
                "lines": number % 9,
            }
            while True:
                try:
                    producer.produce(TOPIC, serialize(value, context))
                    break
                except BufferError:
                    producer.poll(0.5)
        assert producer.flush(120) == 0


def run(*arguments: object, folder: Path, expected: int) -> tuple[float, int, str]:
    """Return the CPU seconds of a process, its largest memory in KB, and what it printed."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
        "print(done.stdout + done.stderr)\n"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    head, _, rest = printed.partition("\n")
    code, cpu_s, memory_kb = head.split()
    assert int(code) == expected, rest
    return float(cpu_s), int(memory_kb), rest


def main() -> int:
    with tempfile.TemporaryDirectory() as name, serving_registry() as url, KafkaBroker() as broker:
        folder, servers = Path(name), broker.bootstrap_servers
        broker.create_topic(TOPIC)
        fill(servers, url)
        (folder / "orders.odcs.yaml").write_text(CONTRACT, encoding="utf-8")
        ours = (
            *(BIN / "counterfoil", "test", "orders.odcs.yaml", "--bootstrap-servers", servers, "--registry", url),
            *("--format", "json", "--sample"),
        )
        start_s, _, _ = run(*ours, "oldest", "--limit", 1, folder=folder, expected=0)
        _, quarter_kb, _ = run(*ours, "oldest", "--limit", RECORDS // 4, folder=folder, expected=1)
        whole_s, whole_kb, printed = run(*ours, "all", folder=folder, expected=1)
        assert json.loads(printed)["summary"]["records"] == RECORDS
        loop = (sys.executable, "-c", LOOP, servers, url, TOPIC)
        loop_start_s, _, _ = run(*loop, 1, folder=folder, expected=0)
        loop_s, loop_kb, _ = run(*loop, RECORDS // 10, folder=folder, expected=0)
    per_s, loop_per_s = RECORDS / (whole_s - start_s), RECORDS / 10 / (loop_s - loop_start_s)
    print(f"{'':28}{'records/s of CPU':>18}{'memory':>12}")
    print(f"{'counterfoil test':28}{per_s:>18,.0f}{whole_kb / 1024:>9,.0f} MB")
    print(f"{'confluent-kafka in a loop':28}{loop_per_s:>18,.0f}{loop_kb / 1024:>9,.0f} MB")
    print(f"memory with a quarter of the records: {quarter_kb / 1024:,.0f} MB; start: {start_s:.2f} s of CPU")
    is_missed = per_s < GOAL_PER_S or whole_kb > 1.3 * quarter_kb
    return int(is_missed and "--assert" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
