"""Real services for tests: one broker, one registry, one Spark session a run, each started when asked for."""

from __future__ import annotations

import os
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from counterfoil.converter.java import check_java
from local_services import KafkaBroker, RegistryProcess, jar_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Examples are drawn from a fixed seed in CI, so that a red run can be run again; a slow machine is no failure.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def broker() -> Iterator[KafkaBroker]:
    """A real Kafka broker. Tests take names of their own from ``unique_name``."""
    with KafkaBroker() as running:
        yield running


@pytest.fixture(scope="session")
def live_registry() -> Iterator[RegistryProcess]:
    """``counterfoil serve`` on a SQLite file. Tests take subjects of their own from ``unique_name``."""
    with RegistryProcess() as running:
        yield running


@pytest.fixture
def unique_name() -> Callable[[str], str]:
    """A function from a stem to a topic or subject name that no other test uses."""
    return lambda stem: f"{stem}-{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session in local[2] with the Kafka and Avro modules."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    check_java()  # says what to install where there is none
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("counterfoil-tests")
        .config("spark.jars", ",".join(str(jar) for jar in sorted(jar_folder("spark").glob("*.jar"))))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.task.maxFailures", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
