"""The examples of the adapters run as they are, as programs of their own, with a real broker and registry."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge import load_bridge_file, resolve
from counterfoil.converter.check.preflight import ready_topics
from counterfoil.converter.engines.choice import choose_engine
from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.run.checkpoint import Checkpoint
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry
from local_services import quixstreams_environment
from local_services.process import Service, wait_until
from strategies.bridges.driver import run_bridge
from strategies.kafka.records import NOT_FRAMED, committed, end_offset, read, write

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RIDES = EXAMPLES / "rides" / "rides.csv"
COUNT = 12
RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "total_amount", "type": "double"}]}'


class Scene:
    """Topics of one test, and the programs that run with them."""

    def __init__(self, broker: Any, url: str, topic: str, folder: Path) -> None:
        self.broker = broker
        self.topic = topic
        self.folder = folder
        self.registry = Registry(url)
        self.services = ExitStack()
        self.environment = {"BROKER": broker.bootstrap_servers, "REGISTRY": url, "TOPIC": topic, "GROUP": topic}

    def create(self, *suffixes: str) -> None:
        """Create the topic and those with these suffixes."""
        for suffix in ("", *suffixes):
            self.broker.create_topic(self.topic + suffix)

    def run(
        self,
        program: str,
        *arguments: object,
        folder: Path = EXAMPLES,
        code: int = 0,
        environment: Mapping[str, str] = os.environ,
    ) -> str:
        """Run a program to its end and return what it printed."""
        path = folder / program
        done = subprocess.run(
            [sys.executable, path.name, *map(str, arguments)],
            cwd=path.parent, env={**environment, **self.environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def start(self, folder: str, *command: str) -> Path:
        """Start a program that does not end by itself, and return the file with what it prints."""
        log = self.folder / f"{'-'.join(command).replace('/', '_')}.log"
        words = ["bash", "-c", 'cd "$0" && exec "$@"', str(EXAMPLES / folder)]
        tool = str(Path(sys.executable).with_name(command[0]))
        service = Service(folder, [*words, tool, *command[1:]], log=log, environment=self.environment)
        self.services.callback(service.stop)
        return log

    def values(self, suffix: str, count: int) -> list[Any]:
        """Return the first values of a topic."""
        deserialize = AvroDeserializer(self.registry)
        return [deserialize.read(message) for message in read(self.broker, self.topic + suffix, count)]

    def produce_rides(self) -> None:
        """Write rides with the amounts 1, 2, 3, and so on, and a message without a frame."""
        serialize = AvroSerializer(self.registry, RIDE).bind(self.topic)
        rides = [(b"key", serialize({"total_amount": number}), None) for number in range(1, COUNT + 1)]
        write(self.broker, self.topic, *rides, (b"bad", NOT_FRAMED, None))

    def check_dead_letter(self) -> None:
        """Check that the message without a frame was sent away with its reason."""
        [letter] = read(self.broker, f"{self.topic}.dead-letters", 1)
        assert letter.value() == NOT_FRAMED
        assert dict(letter.headers())["counterfoil.error"] == b"NotFramed"


@pytest.fixture
def scene(broker, live_registry, unique_name, tmp_path):
    made = Scene(broker, live_registry.url, unique_name("rides"), tmp_path)
    with made.services, made.registry:
        yield made


def with_confluents_imports(folder: Path) -> Path:
    """Return a copy of the example with Confluent's import lines."""
    for path in (EXAMPLES / "confluent_kafka").glob("*.py"):
        text = path.read_text().replace("counterfoil.sdk.confluent", "confluent_kafka.schema_registry")
        (folder / path.name).write_text(text)
    return folder


@pytest.mark.parametrize("direction", ["ours to theirs", "theirs to ours"])
def test_the_taxi_program_differs_from_confluents_by_its_import_lines(scene, tmp_path, direction):
    scene.create()
    ours, theirs = EXAMPLES / "confluent_kafka", with_confluents_imports(tmp_path)
    writer, reader = (ours, theirs) if direction == "ours to theirs" else (theirs, ours)
    assert scene.run("taxi_producer.py", RIDES, COUNT, folder=writer) == ""
    printed = scene.run("taxi_consumer.py", COUNT, folder=reader).splitlines()
    assert len(printed) == COUNT
    assert printed[0].startswith("1: 1.5 miles for 9.3")
    assert sorted(scene.registry.subjects(prefix=scene.topic)) == [f"{scene.topic}-key", f"{scene.topic}-value"]


def test_the_taxi_producer_prints_the_refusal_of_a_changed_schema(scene, tmp_path):
    scene.create()
    scene.run("confluent_kafka/taxi_producer.py", RIDES, 1)
    for path in (EXAMPLES / "confluent_kafka").glob("*.py"):
        changed = path.read_text().replace('"total_amount", "type": "float"', '"total_amount", "type": "string"')
        (tmp_path / path.name).write_text(changed)
    printed = scene.run("taxi_producer.py", RIDES, 3, folder=tmp_path, code=1)
    assert printed.count("Not produced: ") == 3
    assert "incompatible" in printed
    assert end_offset(scene.broker, scene.topic) == 1


def test_sums_and_offsets_are_in_one_transaction(scene):
    scene.create(".fares", ".dead-letters")
    scene.produce_rides()
    printed = scene.run("confluent_kafka/transaction.py", COUNT + 1).splitlines()
    sums = scene.values(".fares", len(printed))
    assert sum(each["rides"] for each in sums) == COUNT
    assert sum(each["fares"] for each in sums) == sum(range(1, COUNT + 1))
    scene.check_dead_letter()
    wait_until(
        lambda: committed(scene.broker, scene.topic, scene.topic) == COUNT + 1, what="the end of the transaction"
    )


@pytest.mark.parametrize("client", ["aiokafka", "kafka_python", "faststream", "bytewax", "quixstreams"])
def test_fares_are_doubled(scene, client):
    scene.create(".doubled", ".dead-letters")
    scene.produce_rides()
    if client == "faststream":
        scene.start("faststream", "python", "double_fares.py")
    elif client == "bytewax":
        scene.run("bytewax/double_fares.py", "double_fares")
    elif client == "quixstreams":
        scene.run("quixstreams/double_fares.py", COUNT + 1, environment=quixstreams_environment())
    else:
        scene.run(f"{client}/double_fares.py", COUNT + 1)
    fares = scene.values(".doubled", COUNT)
    assert [each["fare"] for each in fares] == [2 * number for number in range(1, COUNT + 1)]
    scene.check_dead_letter()


def test_fares_are_doubled_in_tables_by_beavers(scene):
    scene.create(".doubled", ".dead-letters")
    scene.produce_rides()
    scene.run("beavers/double_fares.py", COUNT)
    assert [each["fare"] for each in scene.values(".doubled", COUNT)] == [2 * number for number in range(1, COUNT + 1)]
    scene.check_dead_letter()


def test_fares_are_doubled_in_columns_by_spark(scene, spark, monkeypatch):
    scene.create(".doubled", ".dead-letters")
    scene.produce_rides()
    for name, value in scene.environment.items():
        monkeypatch.setenv(name, value)
    runpy.run_path(str(EXAMPLES / "pyspark" / "double_fares.py"))["main"](spark)
    assert [each["fare"] for each in scene.values(".doubled", COUNT)] == [2 * number for number in range(1, COUNT + 1)]
    [letter] = read(scene.broker, f"{scene.topic}.dead-letters", 1)
    assert letter.value() == NOT_FRAMED
    assert "magic byte" in dict(letter.headers())["counterfoil.error.text"].decode()


class Course:
    """The example of the streaming course, with topics of its own."""

    def __init__(self, scene: Scene, spark: Any) -> None:
        self.scene = scene
        self.spark = spark
        self.topics = {"avro": scene.topic, "json": f"{scene.topic}-json"}
        for topic in self.topics.values():
            scene.broker.create_topic(topic)
            scene.broker.create_topic(f"{topic}-v2")
        scene.environment |= {"AVRO_TOPIC": self.topics["avro"], "JSON_TOPIC": self.topics["json"]}
        scene.environment |= {"COUNTERFOIL_REGISTRY_URL": scene.environment["REGISTRY"]}
        scene.environment |= {"COUNTERFOIL_BOOTSTRAP_SERVERS": scene.broker.bootstrap_servers}

    def program(self, name: str, *arguments: object, code: int = 0) -> str:
        return self.scene.run(f"streaming_course/{name}", *arguments, code=code)

    def register(self, version: int, subject: str, *, code: int = 0) -> str:
        file = str(EXAMPLES / "streaming_course" / "schemas" / f"ride_v{version}.schema.json")
        return self.command("schema", "register", file, "--subject", f"{file}={subject}", code=code)

    def command(self, *words: str, code: int = 0) -> str:
        tool = str(Path(sys.executable).with_name("counterfoil"))
        done = subprocess.run(
            [tool, *words], env={**os.environ, **self.scene.environment}, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def bridge(self, variant: str) -> None:
        """Run the bridge of a variant in the session of all tests, and verify every record."""
        path = self.scene.folder / f"{variant}.yaml"
        text = (EXAMPLES / "streaming_course" / f"{variant}_bridge.yaml").read_text()
        path.write_text(text.replace("taxi-rides", self.scene.topic))
        cluster, checkpoint = Cluster(self.scene.broker.bootstrap_servers), Checkpoint(self.scene.folder / variant)
        bridge = resolve(load_bridge_file(path), self.scene.registry)
        ready_topics(bridge.file, cluster, checkpoint, create_target=False)
        engine = choose_engine("auto", bridge.conversion()).engine
        outcome, _ = run_bridge(self.spark, cluster.bootstrap_servers, bridge, checkpoint.folder, engine=engine)
        assert outcome.exit_code is ExitCode.OK
        assert f"{COUNT} records = {COUNT} converted" in self.command("bridge", "verify", str(path), "--sample", "all")


def test_the_converter_of_the_streaming_course(scene, spark):
    course = Course(scene, spark)
    avro, plain = course.topics["avro"], course.topics["json"]

    course.program("avro_producer.py", avro, 1, COUNT)
    before = course.program("avro_consumer.py", COUNT)
    refusal = course.program("avro_producer.py", avro, 2, COUNT, code=1)
    assert refusal.startswith("the registry answered 409: ")
    assert "total_amount" in refusal
    course.program("avro_producer.py", f"{avro}-v2", 2, COUNT)
    course.bridge("avro")
    assert course.program("avro_consumer.py", COUNT) == before

    course.register(1, f"{plain}-value")
    assert "total_amount" in course.register(2, f"{plain}-value", code=1)
    course.register(2, f"{plain}-v2-value")
    course.program("json_producer.py", plain, 1, COUNT)
    before = course.program("json_consumer.py", COUNT)
    course.program("json_producer.py", f"{plain}-v2", 2, COUNT)
    course.bridge("json")
    assert course.program("json_consumer.py", COUNT) == before


def test_fausts_three_applications(scene):
    scene.create(".low_amount", ".high_amount", ".dead-letters")
    programs = ("print_rides", "count_by_vendor", "split_by_amount")
    logs = [
        scene.start(
            "faust",
            "faust",
            "-A",
            program,
            "--datadir",
            str(scene.folder / program),
            "worker",
            "-l",
            "warn",
            "--without-web",
        )
        for program in programs
    ]
    write(scene.broker, scene.topic, (b"bad", NOT_FRAMED, None))
    scene.run("faust/produce.py", RIDES, COUNT)

    low, high = scene.values(".low_amount", 11), scene.values(".high_amount", 1)
    assert (len(low), [each["total_amount"] for each in high]) == (11, [66.36])
    subjects = [f"{scene.topic}.{name}_amount-value" for name in ("high", "low")]
    assert sorted(scene.registry.subjects(prefix=f"{scene.topic}.")) == subjects
    wait_until(lambda: logs[0].read_text().count("miles") == COUNT, what="the printed rides")
    wait_until(lambda: "2: 8 rides" in logs[1].read_text(), what="the counts of vendor 2")
    wait_until(lambda: "1: 4 rides" in logs[1].read_text(), what="the counts of vendor 1")
    scene.check_dead_letter()
    [repartition] = [name for name in scene.broker.admin.list_topics(timeout=30).topics if is_repartition(name, scene)]
    [message] = read(scene.broker, repartition, 1)
    assert message.value()[:1] == b"\0"
    assert AvroDeserializer(scene.registry).read(message)["vendorId"] == message.key().decode()


def is_repartition(name, scene):
    return name.endswith("repartition") and scene.topic in name
