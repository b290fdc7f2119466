"""A bridge on a standalone cluster whose executors have a Python without this package; Spark's pages and history."""

from __future__ import annotations

import json
import signal
import site
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema.exit_codes import ExitCode
from local_services import SparkCluster, free_port, wait_until
from local_services.process import Service
from strategies.bridges.fares import Fares, java_of, make_fares
from strategies.bridges.program import DEADLINE_S, end

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import KafkaClient, RegistryProcess

INSTALLED = Path(sys.executable).with_name("counterfoil")
SECRET = "correct-horse-battery"


@pytest.fixture
def fares(
    broker: KafkaClient, live_registry: RegistryProcess, unique_name: Callable[[str], str], tmp_path: Path
) -> Fares:
    return make_fares(INSTALLED, broker, live_registry, unique_name, tmp_path)


def bare_python(folder: Path) -> Path:
    """Return a Python of this version without any package."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "bare"], check=True)
    return folder / "bare/bin/python"


def archived_python(folder: Path) -> Path:
    """Return an archive of an environment that has the packages of this one."""
    bare_python(folder)
    (packages,) = (folder / "bare/lib").glob("python*/site-packages")
    lines = [f"import site; site.addsitedir({each!r})" for each in site.getsitepackages()]
    (packages / "packages.pth").write_text("\n".join(lines))
    archive = folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as made:
        made.add(folder / "bare", ".")
    return archive


def answer(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=30) as page:
            text: str = page.read().decode()
    except OSError:
        return ""
    return text


def test_with_java_executors_need_no_package_and_with_the_reference_an_archive(fares: Fares):
    fares.produce(0, 100)
    events, page = fares.folder / "events", free_port()
    events.mkdir()
    with SparkCluster(fares.folder) as cluster:
        on_cluster = ("--master", cluster.url, "--executor-memory", "600m", "--total-executor-cores", "1")
        bare = ("--conf", f"spark.pyspark.python={bare_python(fares.folder)}")
        history = [
            f"spark.eventLog.dir={events.as_uri()}", "spark.eventLog.enabled=true", "spark.eventLog.compress=false",
            "spark.ui.enabled=true", f"spark.ui.port={page}", f"spark.hadoop.fs.s3a.secret.key={SECRET}",
            "spark.app.name=fares of the cluster",
        ]  # fmt: skip
        given = [part for setting in history for part in ("--conf", setting)]
        run = ("run", str(fares.file), "--continuous", "--trigger", "0.2", "--driver-memory", "700m", *on_cluster)
        running = fares.start(*run, *bare, *given, "--engine", "java", **cluster.environment)
        try:
            wait_until(lambda: running.poll() is not None or fares.written() == 100, what="100 records")
            assert running.poll() is None, running.communicate()
            queries = answer(f"http://127.0.0.1:{page}/StreamingQuery/")
            java = java_of(running)
            arguments = Path(f"/proc/{java}/cmdline").read_bytes().split(b"\0")
            running.send_signal(signal.SIGTERM)
            said, complained = running.communicate(timeout=DEADLINE_S)
        finally:
            end(running)
        assert running.returncode == ExitCode.OK, said + complained
        assert f"bridge {fares.source}" in queries
        assert b"-Xmx700m" in arguments
        assert not any(SECRET.encode() in each for each in arguments)
        assert_history(cluster, events, fares.folder)

        fares.produce(100, 50)
        reference = ("run", str(fares.file), "--engine", "reference", *on_cluster)
        code, said, complained = fares.run(*reference, *bare, **cluster.environment)
        assert code == ExitCode.BROKEN, said + complained
        assert "the Python of the executors has no module" in complained
        assert "spark.archives" in complained

        archive = f"spark.archives={archived_python(fares.folder)}#environment"
        shipped = ("--conf", archive, "--conf", "spark.pyspark.python=./environment/bin/python")
        code, said, complained = fares.run(*reference, *shipped, **cluster.environment)
        assert code == ExitCode.OK, said + complained
        assert "finished: 50 records" in said
    code, said, complained = fares.run("verify", str(fares.file), "--sample", "all")
    assert code == ExitCode.OK, said + complained
    assert "good: 150 records, each exactly once and in order" in said


def assert_history(cluster: SparkCluster, events: Path, folder: Path) -> None:
    """The history server of Spark shows the run, which has ended, and no log of events has the secret."""
    assert not [log for log in events.rglob("*") if log.is_file() and SECRET in log.read_text(errors="replace")]
    port = free_port()
    options = f"-Dspark.history.fs.logDirectory={events.as_uri()} -Dspark.history.ui.port={port}"
    server = Service(
        "Spark's history server",
        [str(cluster.home / "bin/spark-class"), "org.apache.spark.deploy.history.HistoryServer"],
        log=folder / "history.log",
        environment={**cluster.environment, "SPARK_HISTORY_OPTS": options, "SPARK_DAEMON_MEMORY": "256m"},
    )
    try:
        address = f"http://127.0.0.1:{port}/api/v1/applications"
        server.wait_ready(lambda: "fares of the cluster" in answer(address))
        (found,) = json.loads(answer(address))
        assert found["attempts"][-1]["completed"]
        environment = json.loads(answer(f"{address}/{found['id']}/environment"))
        settings = dict(environment["sparkProperties"])
        assert settings["spark.executor.memory"] == "600m"
        assert settings["spark.cores.max"] == "1"
        assert settings["spark.driver.memory"] == "700m"
    finally:
        server.stop()
