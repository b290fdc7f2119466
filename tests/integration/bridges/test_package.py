"""``counterfoil bridge package``: the job that it writes, submitted to a standalone cluster, without a registry."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema
from counterfoil.sdk import Registry
from local_services import SparkCluster
from strategies.bridges.fares import RIDE, Fares, make_fares
from strategies.kafka.records import produce

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import KafkaClient, RegistryProcess

INSTALLED = Path(sys.executable).with_name("counterfoil")
JAVA_8 = 52
"""The version of class files that Java 8 reads, the oldest on which Spark 3.5 runs."""


@pytest.fixture
def fares(
    broker: KafkaClient, live_registry: RegistryProcess, unique_name: Callable[[str], str], tmp_path: Path
) -> Fares:
    return make_fares(INSTALLED, broker, live_registry, unique_name, tmp_path)


def without_registry(fares: Fares, **more: str) -> dict[str, str]:
    return {**fares.environment(), "COUNTERFOIL_REGISTRY_URL": "", "PYSPARK_PYTHON": sys.executable, **more}


def test_a_package_runs_by_spark_submit_without_a_registry_and_refuses_another_plan(fares: Fares):
    fares.produce(0, 40)
    folder, checkpoint = fares.folder / "job", fares.folder / "checkpoint"
    given = ("--checkpoint", str(checkpoint), "--executor-memory", "600m", "--conf", "spark.hadoop.a.password=hunter2")
    code, said, complained = fares.run("package", str(fares.file), "--out", str(folder), *given)
    assert code == ExitCode.OK, said + complained
    assert not [each for each in folder.iterdir() if b"hunter2" in each.read_bytes()]
    with zipfile.ZipFile(folder / "classes.jar") as jar:
        versions = {struct.unpack(">H", jar.read(name)[6:8])[0] for name in jar.namelist()}
        names = {name.split("/")[1].partition("_")[0] for name in jar.namelist()}
    assert max(versions) <= JAVA_8
    assert {"runtime", "plan", "envelope", "checkpoints"} <= names
    moved = Path(shutil.move(folder, fares.folder / "moved"))
    (fares.folder / "other").mkdir()

    with SparkCluster(fares.folder) as cluster:
        variables = without_registry(fares, **cluster.environment, SPARK_SUBMIT=str(cluster.home / "bin/spark-submit"))
        submitted = subprocess.run(
            [moved / "spark-submit.sh", "--master", cluster.url, "--conf", "spark.cores.max=1"],
            env=variables, cwd=fares.folder / "other", capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert submitted.returncode == ExitCode.OK, submitted.stdout + submitted.stderr
        assert "engine java, the fastest that covers the plan" in submitted.stdout
        assert "finished: 40 records" in submitted.stdout
    refuse_ids_that_the_package_does_not_have(fares, moved)
    refuse_another_plan(fares, moved)


def refuse_ids_that_the_package_does_not_have(fares: Fares, folder: Path) -> None:
    """A version that was registered after the package ends the run, and a registry that is named has it converted."""
    newer = {**RIDE, "fields": [*RIDE["fields"], {"name": "tip", "type": ["null", "int"], "default": None}]}
    with Registry(fares.registry.url) as registry:
        schema_id = registry.register(f"{fares.source}-value", Schema(json.dumps(newer))).id
    value = b"\x00" + schema_id.to_bytes(4, "big") + b"\x0a\x00"
    produce(fares.broker.bootstrap_servers, fares.source, [{"value": value, "partition": 0}])
    command = [sys.executable, folder / "main.py", folder, "--master", "local[2]"]
    stopped = subprocess.run(
        command, env=without_registry(fares), cwd=fares.folder, capture_output=True, text=True, check=False
    )
    assert stopped.returncode == ExitCode.BROKEN, stopped.stdout + stopped.stderr
    assert f"schema id {schema_id} is not in the package of the bridge, and no registry is named" in stopped.stderr
    with_registry = {**os.environ, **without_registry(fares), "COUNTERFOIL_REGISTRY_URL": fares.registry.url}
    done = subprocess.run(command, env=with_registry, cwd=fares.folder, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert "was registered after the start; it is converted" in done.stdout
    again = subprocess.run(command, env=with_registry, cwd=fares.folder, capture_output=True, text=True, check=False)
    assert again.returncode == ExitCode.OK, (
        "the checkpoint is still that of the package: " + again.stdout + again.stderr
    )
    fares.file.write_text(f"{fares.file.read_text()}drop: [tip]\n")
    code, said, complained = fares.run("verify", str(fares.file), "--sample", "all")
    assert code == ExitCode.OK, said + complained
    assert "good: 41 records, each exactly once and in order" in said


def refuse_another_plan(fares: Fares, folder: Path) -> None:
    text = (folder / "bridge.yaml").read_text().replace("{from: number, cast: string}", '{const: "7"}')
    (folder / "bridge.yaml").write_text(f"{text}drop: rest\n")
    refused = subprocess.run(
        [sys.executable, folder / "main.py", folder, "--master", "local[2]"],
        env=without_registry(fares), cwd=fares.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == ExitCode.PRECONDITION, refused.stdout + refused.stderr
    assert "was made for plan" in refused.stderr
    assert "make the package anew with 'counterfoil bridge package'" in refused.stderr


def test_a_folder_with_something_else_is_not_overwritten(fares: Fares):
    (fares.folder / "mine").mkdir()
    (fares.folder / "mine/notes.txt").write_text("mine")
    code, _, complained = fares.run("package", str(fares.file), "--out", str(fares.folder / "mine"))
    assert code == ExitCode.PRECONDITION
    assert "is not empty, and is no package of a bridge; name another one" in complained
    assert [each.name for each in (fares.folder / "mine").iterdir()] == ["notes.txt"]
