from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from counterfoil.converter.errors import MissingPart
from counterfoil.converter.spark.options import SparkOptions
from counterfoil.converter.spark.session import check_session, connector_settings, start_session
from counterfoil.converter.spark.versions import pyspark_version, spark_line
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path


def session(master: str, **settings: str) -> SimpleNamespace:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    configuration = SimpleNamespace(get=named.get)
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, getConf=lambda: configuration))


def test_without_a_folder_the_connectors_are_those_of_the_running_pyspark():
    connector = f"spark-sql-kafka-0-10_{spark_line().scala}"
    assert connector_settings(None) == {"spark.jars.packages": f"org.apache.spark:{connector}:{pyspark_version()}"}


def test_a_folder_without_the_connectors_is_reported_with_what_it_lacks(tmp_path: Path):
    version, scala = pyspark_version(), spark_line().scala
    (tmp_path / f"spark-sql-kafka-0-10_{scala}-3.4.0.jar").touch()
    (tmp_path / "kafka-clients-3.9.0.jar").touch()
    with pytest.raises(MissingPart) as refusal:
        connector_settings(tmp_path)
    assert f"lacks spark-sql-kafka-0-10_{scala}-{version}.jar, spark-token-provider" in str(refusal.value)
    assert "kafka-clients" not in str(refusal.value)
    assert refusal.value.exit_code is ExitCode.PRECONDITION


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[4,1]"])
def test_local_mode_tries_a_task_once(master: str):
    check_session(session(master))


@pytest.mark.parametrize("master", ["local[2,3]", "spark://host:7077", "yarn"])
def test_a_session_that_repeats_tasks_is_refused(master: str):
    with pytest.raises(MissingPart, match=r"spark\.task\.maxFailures is 4"):
        check_session(session(master))
    check_session(session(master, spark__task__maxFailures="1"))


def test_speculation_is_refused_everywhere():
    with pytest.raises(MissingPart, match=r"spark\.speculation is true"):
        check_session(session("local[2]", spark__speculation="true"))


@pytest.mark.parametrize(
    ("master", "variables", "named"),
    [
        ("sc://spark:15002", {}, "--master sc://spark:15002"),
        (None, {"SPARK_REMOTE": "sc://spark:15002"}, "SPARK_REMOTE"),
        ("local[2]", {"SPARK_CONNECT_MODE_ENABLED": "1"}, "SPARK_CONNECT_MODE_ENABLED"),
        (None, {"SPARK_API_MODE": "connect"}, "SPARK_API_MODE"),
    ],
)
def test_spark_connect_is_refused_before_spark_starts(
    master: str | None, variables: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(MissingPart, match=f"do not support Spark Connect, which {named} requests") as refusal:
        start_session(SparkOptions(master), log_file=tmp_path / "spark.log")
    assert refusal.value.exit_code is ExitCode.PRECONDITION
    assert not (tmp_path / "spark.log").exists()
