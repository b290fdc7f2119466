"""``counterfoil bridge`` as a user runs it: live registry, real broker, real Spark, a process that is killed."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from counterfoil.converter import __main__ as converter_program
from counterfoil.converter.errors import BrokerRefused
from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.kafka.origins import ERROR, PLAN, SOURCE, VIA
from counterfoil.converter.run.checkpoint import Checkpoint
from counterfoil.converter.spark.versions import spark_line
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.bridges import BridgeState, NewBridge
from counterfoil.sdk import InvalidSettings, Registry, operations
from local_services import SparkCluster, free_port, wait_until
from strategies.bridges.program import BridgeProgram, end
from strategies.kafka.records import produce
from strategies.kafka.secured import PLAIN_PASSWORD, SCRAM_PASSWORD
from strategies.machine.small_disks import can_mount, filled, small_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from local_services import KafkaClient, RegistryProcess
    from strategies.kafka.secured import SecuredKafka

INSTALLED = Path(sys.executable).with_name("counterfoil")
PARTITIONS = 2
RECORDS = 60_000
NO_PARTNER_EVERY = 500
TOMBSTONE_EVERY = 700

FIRST_WRITER: dict[str, Any] = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "vendor", "type": {"type": "enum", "name": "Vendor", "symbols": ["CMT", "VERIFONE", "HELIX"]}},
        {"name": "pickup_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "distance_km", "type": "double"},
    ],
}
SECOND_WRITER: dict[str, Any] = {
    **FIRST_WRITER,
    "fields": [
        *FIRST_WRITER["fields"],
        {"name": "passengers", "type": ["null", "int"], "default": None},
        {"name": "driver_note", "type": "string", "default": ""},
    ],
}
TARGET: dict[str, Any] = {
    "type": "record",
    "name": "TaxiRide",
    "fields": [
        {"name": "vendor_id", "type": "int"},
        {"name": "pickup", "type": "string"},
        {"name": "distance_miles", "type": "double"},
        {"name": "passengers", "type": "int"},
    ],
}


@dataclass
class Bench(BridgeProgram):
    """A bridge file, its topics and subjects, and the command."""

    source: str
    target: str
    ids: tuple[int, int]
    produced: int = 0

    @property
    def file(self) -> Path:
        return self.folder / "bridge.yaml"

    @property
    def dead(self) -> str:
        return f"{self.source}.dead"

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.broker.bootstrap_servers, timeout_s=120)

    def write_file(self, *, extra: str = "", drop: str = "[driver_note]") -> None:
        self.file.write_text(
            f"bridge: {self.source}\n"
            f"source: {{topic: {self.source}}}\n"
            f"target: {{topic: {self.target}, version: 1}}\n"
            "fields:\n"
            "  vendor_id: {from: vendor, lookup: {CMT: 1, VERIFONE: 2}, else: error}\n"
            "  pickup: {format: pickup_at, as: 'yyyy-MM-dd HH:mm:ss', zone: UTC}\n"
            "  distance_miles: {expr: distance_km / 1.609344}\n"
            "  passengers: {from: passengers, null: 0}\n"
            f"drop: {drop}\n"
            f"errors: {{topic: {self.dead}, stop_above: 5%}}\n{extra}"
        )

    def produce(self, count: int) -> None:
        schemas = [fastavro.parse_schema(each) for each in (FIRST_WRITER, SECOND_WRITER)]
        records = (
            {
                "value": None if number % TOMBSTONE_EVERY == 1 else self._value(number, schemas),
                "key": f"k{number % 97}".encode(),
                "partition": number % PARTITIONS,
            }
            for number in range(self.produced, self.produced + count)
        )
        self.produced += count
        produce(self.broker.bootstrap_servers, self.source, records)

    def _value(self, number: int, schemas: list[Any]) -> bytes:
        which = number % 5 == 0
        ride = {
            "vendor": "HELIX" if number % NO_PARTNER_EVERY == 2 else "CMT" if number % 3 else "VERIFONE",
            "pickup_at": 1_700_000_000_000 + number * 1000,
            "distance_km": number / 7,
            **({"passengers": None if number % 2 else number % 6, "driver_note": "x" * 60} if which else {}),
        }
        body = io.BytesIO()
        fastavro.schemaless_writer(body, schemas[which], ride)
        return b"\x00" + self.ids[which].to_bytes(4, "big") + body.getvalue()

    def submit(
        self, cluster: SparkCluster, *arguments: str, settings: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a sub-command as the documentation submits it; COUNTERFOIL_JARS names the folder of the connectors."""
        program = [Path(converter_program.__file__), *arguments]
        return subprocess.run(
            [cluster.home / "bin" / "spark-submit", "--master", cluster.url, *settings, *program],
            env={**self.environment(), **cluster.environment, "PYSPARK_PYTHON": sys.executable},
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip

    def written(self) -> int:
        """Return how many records are on the outputs; the topic of dead letters may not be there yet."""
        there = [topic for topic in (self.target, self.dead) if self.cluster.partition_count(topic)]
        return sum(end for topic in there for _, end in self.cluster.watermarks(topic).values())


@pytest.fixture
def bench(
    warm_counterfoil: Path,
    broker: KafkaClient,
    live_registry: RegistryProcess,
    unique_name: Callable[[str], str],
    tmp_path: Path,
) -> Bench:
    source, target = unique_name("rides-v2"), unique_name("rides")
    for topic in (source, target):
        broker.create_topic(topic, partitions=PARTITIONS)
    with Registry(live_registry.url) as registry:
        registry.register(f"{target}-value", Schema(json.dumps(TARGET)))
        ids = [
            registry.register(f"{source}-value", Schema(json.dumps(each))).id for each in (FIRST_WRITER, SECOND_WRITER)
        ]
    made = Bench(warm_counterfoil, broker, live_registry, tmp_path, source, target, (ids[0], ids[1]))
    made.write_file()
    return made


def assert_the_registry_lets_it_advance(bench: Bench) -> None:
    """The reports of ``run`` and ``verify`` meet the gates."""
    with Registry(bench.registry.url) as registry:
        reports = registry.call(operations.bridge(bench.source)).reports
        assert reports.progress is not None
        assert (reports.progress.lag, len(reports.progress.partitions)) == (0, PARTITIONS)
        assert reports.progress.epoch > 1
        assert reports.verification is not None
        assert (reports.verification.records, reports.verification.has_passed) == (bench.produced, True)
        for state in (BridgeState.SHADOW, BridgeState.RUNNING, BridgeState.CAUGHT_UP):
            assert registry.call(operations.change_bridge_state(bench.source, state, by="ann")).state is state


def assert_the_check_names_what_is_missing(bench: Bench) -> None:
    """One topic is missing; the rest of the check has been done, and is in all three reports."""
    checked, cases = bench.folder / "check.json", bench.folder / "check.xml"
    code, said, complained = bench.run(
        "check", str(bench.file), "--master", "local[2]", "--sample", "2000",
        "--format", "text", "--format", f"json={checked}", "--format", f"junit={cases}",
    )  # fmt: skip
    assert code == ExitCode.BROKEN, complained
    assert f"there is no topic {bench.source}.progress for progress" in said
    assert "java and reference agree" in said
    assert "engine java, the fastest that covers the plan" in said
    assert f"id {bench.ids[0]}" in said
    found = json.loads(checked.read_text())
    assert found["throughput"]["source_records"] == RECORDS
    assert found["throughput"]["records_per_s"] > 0
    sizes = found["trial"]["sizes"]
    assert sizes["converted_max"] >= sizes["converted_median"] > 0
    assert '<testcase name="progress topic"' in cases.read_text()


def assert_the_status_is_known_from_anywhere(bench: Bench) -> None:
    """From the topic of progress by the bridge's name, and from the checkpoint by the file."""
    topic = f"{bench.source}.progress"
    code, said, _ = bench.run("status", bench.source, "--progress-topic", topic, "--format", "json")
    assert code == ExitCode.OK
    run = json.loads(said)["run"]
    assert (run["state"], run["lag"], run["engine"], run["origin"]) == ("finished", 0, "java", f"topic {topic}")
    assert run["read"] == run["converted"] + run["tombstones"] + sum(run["deadLetters"].values()) + run["repeats"]
    assert run["writtenBytes"] > run["converted"] > 0
    code, said, _ = bench.run("status", str(bench.file), COUNTERFOIL_BOOTSTRAP_SERVERS="", COUNTERFOIL_REGISTRY_URL="")
    assert (code, "run           finished" in said, "position      lag 0" in said) == (ExitCode.OK, True, True)


def assert_the_page_shows_the_runs(bench: Bench, verification: Path) -> None:
    """The page has the plan, both runs, dead letters with hidden values, and the verification."""
    out = bench.folder / "page.html"
    code, said, complained = bench.run(
        "report", str(bench.file), "--verification", str(verification), "--out", str(out)
    )  # fmt: skip
    assert (code, said) == (ExitCode.OK, f"wrote {out}\n"), complained
    page = out.read_text()
    for fact in ("distance_miles", "Throughput of each batch", "lookup-missing", "each exactly once", "(hidden)"):
        assert fact in page
    assert "HELIX" not in page
    bench.run("report", str(bench.file), "--show-values", "--out", str(out))
    assert "HELIX" in out.read_text()


def kill_a_run(bench: Bench, *command: str) -> None:
    """Kill a run of the installed program, which has written a sixth of the records."""
    enough = bench.written() + RECORDS // 6
    killed = bench.start(*command, program=INSTALLED)
    try:
        wait_until(lambda: killed.poll() is not None or bench.written() > enough, what="a sixth")
        assert killed.poll() in {None, ExitCode.OK}, killed.communicate()
    finally:
        end(killed)
        killed.communicate()
    bench.cluster.settled_watermarks(bench.target)


def test_from_plan_to_verify_with_a_kill_in_between(bench: Bench):
    bench.produce(RECORDS)
    bench.write_file(extra=f"progress: {{topic: {bench.source}.progress}}\n")
    with Registry(bench.registry.url) as registry:
        registry.call(operations.register_bridge(NewBridge(plan=bench.file.read_text(), owner="rides")))

    code, said, _ = bench.run("status", str(bench.file))
    assert (code, f"bridge        {bench.source}\nmigration     planned\n") == (ExitCode.OK, said)

    code, said, _ = bench.run("plan", str(bench.file))
    assert code == ExitCode.OK
    assert "distance_miles" in said
    assert f"versions 1 (id {bench.ids[0]}), 2 (id {bench.ids[1]})" in said

    assert_the_check_names_what_is_missing(bench)
    bench.broker.create_topic(f"{bench.source}.progress", settings={"cleanup.policy": "compact"})

    command = (
        "run", str(bench.file), "--master", "local[2]", "--max-offsets-per-trigger", "40000", "--metrics-port", "0",
    )  # fmt: skip
    checkpoint = Checkpoint(bench.folder / "checkpoints" / bench.source)
    kill_a_run(bench, *command)
    while checkpoint.unfinished_batch(bench.source) is None:  # the batch was quicker than its kill
        bench.produce(RECORDS)
        kill_a_run(bench, *command)
    assert bench.written() < bench.produced
    code, said, _ = bench.run("status", str(bench.file), COUNTERFOIL_BOOTSTRAP_SERVERS="")
    assert "run           interrupted: no driver uses the checkpoint" in said

    code, said, complained = bench.run(*command)
    assert code == ExitCode.OK, complained
    assert "was left unfinished" in said
    assert "finished: " in said
    assert re.search(r"measures for Prometheus: http://127.0.0.1:\d+/metrics", said)
    assert complained == ""
    assert bench.written() == bench.produced

    assert_the_status_is_known_from_anywhere(bench)

    report = bench.folder / "verify.json"
    code, said, complained = bench.run(
        "verify", str(bench.file), "--sample", "all", "--format", "text", "--format", f"json={report}"
    )
    assert code == ExitCode.OK, said + complained
    assert f"good: {bench.produced:,} records, each exactly once and in order" in said
    totals = json.loads(report.read_text())["totals"]
    whole = range(bench.produced)
    dead = sum(1 for number in whole if number % NO_PARTNER_EVERY == 2 and number % TOMBSTONE_EVERY != 1)
    assert (totals["source"], totals["dead_letters"], totals["missing"]) == (len(whole), dead, 0)
    assert (totals["repeated"], totals["recomputed"]) == (0, len(whole))
    assert json.loads(report.read_text())["dead_by_code"] == {"lookup-missing": dead}
    assert_the_registry_lets_it_advance(bench)
    assert_the_page_shows_the_runs(bench, report)


def test_a_continuous_run_ends_politely_on_sigterm(bench: Bench):
    bench.produce(200)
    running = bench.start(
        "run", str(bench.file), "--continuous", "--trigger", "0.2", "--master", "local[2]", "--engine", "reference"
    )
    try:
        wait_until(lambda: running.poll() is not None or bench.written() == 200, what="200 records")
        assert running.poll() is None, running.communicate()
        os.kill(running.pid, signal.SIGTERM)
        said, complained = running.communicate(timeout=600)
    finally:
        end(running)
    assert running.returncode == ExitCode.OK, complained
    assert "SIGTERM: stopping after the current batch" in said
    assert "stopped on request: 200 records" in said
    assert complained == ""


if can_mount():

    def test_a_full_disk_is_reported_with_its_path(bench: Bench):
        bench.produce(100)
        folder = bench.folder / "disk"
        folder.mkdir()
        command = ("run", str(bench.file), "--checkpoint", str(folder / "checkpoint"), "--master", "local[2]")
        with small_disk(folder, size_mb=4) as disk:
            with filled(disk):
                code, _, complained = bench.run(*command)
            assert code == ExitCode.PRECONDITION, complained
            assert f"{folder}/checkpoint/counterfoil.lock cannot be written: No space left on device" in complained

            running = bench.start(*command, "--continuous", "--trigger", "0.2")
            try:
                wait_until(lambda: running.poll() is not None or bench.written() == 100, what="100 records")
                assert running.poll() is None, running.communicate()
                with filled(disk):
                    bench.produce(100)
                    said, complained = running.communicate(timeout=600)
            finally:
                end(running)
            assert running.returncode == ExitCode.BROKEN, said + complained
            assert f"No space left on device: the disk of {folder}/checkpoint (the checkpoint) is full" in complained
            assert "nothing is lost, the next start continues from the last finished batch" in complained

            code, said, complained = bench.run(*command)
            assert code == ExitCode.OK, complained
        assert bench.written() == 200


def test_a_bridge_runs_on_a_cluster_of_two_workers_and_by_spark_submit(bench: Bench):
    bench.produce(1000)
    checkpoint = ("--checkpoint", str(bench.folder / "checkpoint"))
    bench.write_file(drop="rest", extra="delivery: exactly-once\n")
    with SparkCluster(bench.folder) as cluster:
        code, said, complained = bench.run(
            "run", str(bench.file), "--master", cluster.url, *checkpoint, **cluster.environment
        )
        assert code == ExitCode.OK, said + complained
        assert "engine java, the fastest that covers the plan" in said
        assert "finished: 1,000 records" in said

        bench.produce(500)
        refused = bench.submit(cluster, "run", str(bench.file), *checkpoint)
        assert "spark.task.maxFailures is 4 in this Spark session and must be 1" in refused.stdout, refused.stderr
        assert "give spark-submit --conf spark.task.maxFailures=1" in refused.stdout
        assert refused.returncode == ExitCode.PRECONDITION

        required = ("--conf", "spark.task.maxFailures=1", "--conf", "spark.speculation=false")
        submitted = bench.submit(cluster, "run", str(bench.file), *checkpoint, settings=required)
        assert submitted.returncode == ExitCode.OK, submitted.stdout + submitted.stderr
        assert "finished: 500 records" in submitted.stdout
    executors = [folder for number in range(2) for folder in (bench.folder / f"worker-{number}").glob("app-*/*")]
    assert len(executors) == 4, "two executors for each of two runs"
    code, said, complained = bench.run("verify", str(bench.file), "--sample", "all")
    assert code == ExitCode.OK, said + complained
    assert "good: 1,500 records, each exactly once and in order" in said


def test_a_plan_with_something_open_is_not_run(bench: Bench):
    bench.write_file(drop="[]")
    code, said, _ = bench.run("plan", str(bench.file), "--format", "json")
    assert code == ExitCode.BROKEN
    assert "driver_note" in " ".join(json.loads(said)["problems"])
    for command in ("check", "run"):
        code, said, complained = bench.run(command, str(bench.file))
        assert code == ExitCode.BROKEN
        assert "driver_note" in said + complained
    code, said, complained = bench.run("check", str(bench.file), "--json")
    assert (code, said, "driver_note" in complained) == (ExitCode.BROKEN, "", True)


def test_json_is_all_that_is_printed(bench: Bench):
    bench.broker.create_topic(bench.dead, partitions=PARTITIONS)
    bench.produce(2 * NO_PARTNER_EVERY)

    def printed(*words: str, code: ExitCode = ExitCode.OK) -> str:
        ended, said, complained = bench.run(words[0], str(bench.file), *words[1:], "--json")
        assert ended == code, said + complained
        return said

    assert json.loads(printed("check"))["trial"]
    batches = [json.loads(line) for line in printed("run", "--master", "local[2]").splitlines()]
    assert batches[-1]["read"] == bench.produced
    assert json.loads(printed("status"))["run"]["state"] == "finished"
    assert json.loads(printed("verify"))["totals"]["source"] == bench.produced
    assert json.loads(printed("replay", code=ExitCode.BROKEN))
    assert json.loads(printed("report", "--out", "page.html"))


def test_prepare_prints_the_archive_as_json(bench: Bench):
    cache = bench.folder / "cache"
    done = subprocess.run(
        [INSTALLED, "bridge", "prepare", "--json"],
        env={**bench.environment(), "COUNTERFOIL_CACHE": str(cache), "SPARK_SUBMIT_OPTS": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    archive = Path(json.loads(done.stdout)["archive"])
    assert (archive.parent, archive.stat().st_size) == (cache, json.loads(done.stdout)["bytes"])


def test_what_cannot_be_reached_is_reported_in_one_line(bench: Bench, unique_name: Callable[[str], str]):
    nobody = f"127.0.0.1:{free_port()}"
    code, _, complained = bench.run("plan", str(bench.file), COUNTERFOIL_REGISTRY_URL=f"http://{nobody}")
    assert code == ExitCode.UNREACHABLE
    assert complained.count("\n") == 1
    code, _, complained = bench.run("run", str(bench.file), "--bootstrap-servers", nobody)
    assert code == ExitCode.UNREACHABLE
    assert f"No Kafka broker answered at {nobody}" in complained
    assert complained.count("\n") == 1
    code, _, complained = bench.run("run", str(bench.file), "--jars", str(bench.folder))
    assert code == ExitCode.PRECONDITION
    assert "lacks spark-sql-kafka" in complained
    code, _, complained = bench.run("run", str(bench.file), "--real-time")
    assert code == ExitCode.PRECONDITION
    assert "Bridges do not support the real-time trigger of Spark" in complained
    code, _, complained = bench.run("run", str(bench.file), JAVA_HOME=str(bench.folder))
    assert code == ExitCode.PRECONDITION
    line = spark_line()
    assert f"Spark {line.line} needs Java {line.javas[0]} or newer" in complained
    bench.file.write_text(f"bridge: b\nsource: {{topic: {unique_name('none')}}}\ntarget: {{topic: {bench.target}}}\n")
    code, _, complained = bench.run("plan", str(bench.file))
    assert code == ExitCode.CANNOT_SAY
    assert "has no subject" in complained


def test_topics_that_do_not_fit_stop_a_run_before_it_writes(bench: Bench):
    wider = f"{bench.target}-wider"
    bench.broker.create_topic(wider, partitions=PARTITIONS + 1)
    with Registry(bench.registry.url) as registry:
        registry.register(f"{wider}-value", Schema(json.dumps(TARGET)))
    bench.target = wider
    bench.write_file()
    bench.produce(5)
    code, _, complained = bench.run("run", str(bench.file))
    assert code == ExitCode.BROKEN
    assert "partition: same needs equally many partitions" in complained
    assert bench.cluster.partition_count(bench.dead) is None
    assert not (bench.folder / "checkpoints").exists()


def test_rights_that_the_broker_does_not_grant_are_named_by_topic(bench: Bench):
    bench.produce(20)
    grants = [(bench.source, AclOperation.DESCRIBE), (bench.target, AclOperation.READ)]
    rules = [
        AclBinding(
            ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation,
            AclPermissionType.ALLOW,
        )
        for topic, operation in grants
    ]  # fmt: skip
    for created in bench.broker.admin.create_acls(rules).values():
        created.result(60)
    wait_until(lambda: bench.cluster.rights([bench.target])[bench.target] == {"READ", "DESCRIBE"}, what="the ACLs")
    lacking = [
        f"to describe the settings of topic {bench.source}: the right DESCRIBE_CONFIGS is missing",
        f"to read from topic {bench.source}: the right READ is missing",
        f"to describe the settings of topic {bench.target}: the right DESCRIBE_CONFIGS is missing",
        f"to write to topic {bench.target}: the right WRITE is missing",
    ]
    code, said, _ = bench.run("check", str(bench.file))
    assert code == ExitCode.BROKEN
    assert [line for line in said.splitlines() if "right" in line] == [
        f"error: the broker refuses {each}" for each in lacking
    ]
    code, _, complained = bench.run("run", str(bench.file))
    assert code == ExitCode.BROKEN
    assert all(each in complained for each in lacking)
    code, _, complained = bench.run("verify", str(bench.file))
    assert code == ExitCode.REFUSED
    assert f"The broker refuses to read from topic {bench.source} (right READ)" in complained


def test_a_secured_cluster_is_reached_by_every_client(bench: Bench, secured_kafka: SecuredKafka):
    """Requests, Spark's source and sink, producers in tasks and the topic of progress, by login and by certificate."""
    progress = f"{bench.source}.progress"
    bench.write_file(extra=f"delivery: exactly-once\nprogress: {{topic: {progress}}}\n")
    bench.produce(2000)
    scram, tls = (
        {"COUNTERFOIL_BOOTSTRAP_SERVERS": "", "COUNTERFOIL_KAFKA_CONFIG": str(file)}
        for file in (
            secured_kafka.scram_file(bench.folder / "scram.properties"),
            secured_kafka.tls_file(bench.folder / "tls.properties"),
        )
    )
    outputs = []

    def run(*arguments: str, **environment: str) -> str:
        code, said, complained = bench.run(*arguments, **environment)
        outputs.append(said + complained)
        assert code == ExitCode.OK, said + complained
        return said

    file, command = str(bench.file), ("run", str(bench.file), "--master", "local[2]", "--create-topics")
    assert "finished: 2,000 records" in run(*command, **scram)
    assert "run           finished" in run("status", bench.source, "--progress-topic", progress, **scram)

    bench.produce(1000)
    bench.write_file(extra="delivery: restart-filter\n")
    assert "finished: 1,000 records" in run(*command, **tls)
    assert "good: 3,000 records, each exactly once and in order" in run("verify", file, "--sample", "all", **tls)

    plain = [f"--client-setting={name}={value}" for name, value in secured_kafka.plain_settings().items()]
    plain += ["--bootstrap-servers", secured_kafka.login]
    assert "complete, plan" in run("plan", file, "--sample", bench.source, *plain)
    page = bench.folder / "page.html"
    run("report", file, "--out", str(page), *plain)
    code, said, complained = bench.run("replay", file, *plain)
    assert (code, "6 failed again (lookup-missing 6)" in said) == (ExitCode.BROKEN, True), said + complained

    wrong = {**secured_kafka.plain_settings(), "sasl.password": "wrong"}
    with pytest.raises(BrokerRefused, match="The broker refuses the login: "):
        Cluster(secured_kafka.login, wrong, timeout_s=2)
    with pytest.raises(InvalidSettings, match=r"group\.id cannot be given to both Kafka clients of a bridge"):
        Cluster(secured_kafka.login, {"group.id": "mine"})

    kept = [each for each in (bench.folder / "checkpoints").rglob("*") if each.is_file()]
    texts = [page.read_text(), *outputs, *(each.read_text(errors="replace") for each in kept)]
    assert any("spark.log" in each.name for each in kept)
    for secret in (SCRAM_PASSWORD, SCRAM_PASSWORD.replace('"', '\\"'), PLAIN_PASSWORD, "PRIVATE KEY"):
        assert not any(secret in text for text in texts), secret


def test_a_replay_that_is_killed_goes_on_where_it_was(bench: Bench):
    """The dead letters are written as a run writes them, so that no Spark is needed."""
    letters = 36_000  # those of a partition are one transaction: one is committed, and then one is open
    bench.broker.create_topic(bench.dead, partitions=PARTITIONS)
    bench.produce(letters)

    def letter(record: Any) -> dict[str, Any]:
        origin = f"{bench.source}/{record.partition()}/{record.offset()}/{record.timestamp()[1]}/{bench.ids[0]}"
        about = {SOURCE: origin, PLAN: "0" * 16, VIA: bench.source, ERROR: "lookup-missing"}
        headers = [(name, text.encode()) for name, text in about.items()]
        whole = {"key": record.key(), "value": record.value(), "partition": record.partition()}
        return {**whole, "headers": headers}

    source = bench.cluster.read(bench.source, bench.cluster.watermarks(bench.source))
    produce(bench.broker.bootstrap_servers, bench.dead, map(letter, source))
    bench.write_file(extra="delivery: exactly-once\n")
    text = bench.file.read_text()
    bench.file.write_text(text.replace("VERIFONE: 2}", "VERIFONE: 2, HELIX: 6}"))

    cluster = bench.cluster
    killed = bench.start("replay", str(bench.file), program=INSTALLED)
    try:
        wait_until(lambda: killed.poll() is not None or cluster.watermarks(bench.target)[0][1] > 0, what="a commit")
        assert killed.poll() is None, killed.communicate()
    finally:
        end(killed)
        killed.communicate()
    code, said, complained = bench.run("replay", str(bench.file))
    assert code == ExitCode.OK, said + complained
    again = int(re.search(r": ([\d,]+) converted, none failed again", said)[1].replace(",", ""))  # type: ignore[index]
    assert 0 < again < letters, "the first replay committed one partition, and not the other"
    code, said, complained = bench.run("verify", str(bench.file), "--sample", "all")
    assert code == ExitCode.OK, said + complained
    assert f"good: {letters:,} records, each exactly once" in said


def test_a_verification_of_nothing_cannot_say(bench: Bench):
    bench.broker.create_topic(bench.dead, partitions=PARTITIONS)
    code, said, _ = bench.run("verify", str(bench.file))
    assert code == ExitCode.CANNOT_SAY
    assert "holds no records" in said
