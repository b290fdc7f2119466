"""A bridge on each PySpark that the package allows: it converts, and goes on after a driver that was killed.

All other tests of the converter run on the one in .venv; `make test-spark` runs them on another one.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from packaging.specifiers import SpecifierSet

from counterfoil.converter.spark.versions import SPARK_LINES
from counterfoil.schema.model import Schema
from counterfoil.sdk import AvroSerializer, Registry
from local_services import TESTED_SPARKS, spark_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import KafkaClient, RegistryProcess

ROOT = Path(__file__).resolve().parents[3]
RECORDS = 300
BRIDGE = """\
bridge: {source}-to-{target}
source: {{topic: {source}}}
target: {{topic: {target}}}
fields: {{miles: {{expr: kilometres / 1.609344}}, taken: {{format: at, as: "yyyy-MM-dd HH:mm:ss", zone: UTC}}}}
"""


def _record(**kinds: object) -> str:
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    return json.dumps({"type": "record", "name": "Ride", "fields": fields})


def test_the_table_the_range_of_the_package_and_what_is_installed_for_tests_are_the_same_versions():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    allowed = {
        each.removeprefix("pyspark").removeprefix("[sql]")
        for name in ("converter", "pyspark")
        for each in extras[name]
        if each.startswith("pyspark")
    }
    (range_of_package,) = map(SpecifierSet, allowed)
    major, minor = map(int, SPARK_LINES[-1].line.split("."))
    assert range_of_package == SpecifierSet(f">={SPARK_LINES[0].line},<{major}.{minor + 1}")
    in_venv = re.search(r"^pyspark==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]
    files = {path.stem for path in (ROOT / "deploy/local_services/spark").glob("*.txt")}
    assert files | {in_venv} == set(TESTED_SPARKS)
    connectors = (ROOT / "deploy/local_services/spark_connectors.xml").read_text()
    for each in SPARK_LINES:
        assert f'name="{each.connector}" rev="{each.tested}" conf="{each.tested}->default"' in connectors


@pytest.mark.long
@pytest.mark.parametrize("version", [each for each in TESTED_SPARKS if each != importlib.metadata.version("pyspark")])
def test_a_bridge_runs_and_goes_on_after_a_crash(
    version: str,
    broker: KafkaClient,
    live_registry: RegistryProcess,
    unique_name: Callable[[str], str],
    tmp_path: Path,
):
    source, target = unique_name("rides-v2"), unique_name("rides")
    for topic in (source, target):
        broker.create_topic(topic, partitions=2)
    with Registry(live_registry.url) as registry:
        registry.register(f"{target}-value", Schema(_record(miles="double", taken="string")))
        time = {"type": "long", "logicalType": "timestamp-millis"}
        serialize = AvroSerializer(registry, _record(kilometres="double", at=time)).bind(source)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(RECORDS):
            value = {"kilometres": float(number), "at": 1_782_907_200_000 + number}
            producer.produce(source, key=str(number).encode(), value=serialize(value))
        producer.flush()
    (tmp_path / "bridge.yaml").write_text(BRIDGE.format(source=source, target=target))
    environment = {
        **spark_environment(version),
        "COUNTERFOIL_REGISTRY_URL": live_registry.url,
        "COUNTERFOIL_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
    }

    def bridge(command: str, *arguments: str) -> str:
        program = [Path(sys.executable).with_name("counterfoil"), "bridge", command, "bridge.yaml", *arguments]
        done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run = ("run", "--master", "local[2]", "--max-offsets-per-trigger", str(RECORDS // 2), "--checkpoint", "checkpoint")
    bridge(*run)
    imported = subprocess.run(
        [sys.executable, "-c", "import pyspark; print(pyspark.__version__)"],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert imported == version

    # A driver that is killed after a batch was written, and before that was noted, leaves a batch without its commit.
    commits = sorted((int(path.name), path) for path in (tmp_path / "checkpoint").rglob("commits/[0-9]*"))
    last = commits[-1][1]
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    again = bridge(*run)
    assert f"batch 1 was left unfinished: {RECORDS // 2} of its {RECORDS // 2} offsets are written already" in again
    has_fault = (
        "Spark stopped after the replayed batch, as version 4.1 does (SPARK-55271); starting it once more" in again
    )
    assert has_fault == version.startswith("4.1.")
    assert f"{RECORDS // 2} records in 1 batch, 0 converted" in again
    assert f"written before the restart {RECORDS // 2}" in again
    assert f"good: {RECORDS} records, each exactly once and in order" in bridge("verify", "--sample", "all")
