"""Real services for tests: a broker, a PostgreSQL, a registry, a Spark session, each started once a run when needed."""

from __future__ import annotations

import os
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from counterfoil.converter.java import check_java
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.postgres.address import parse_address
from counterfoil.registry.store.postgres.storage import PostgresStorage
from local_services import KafkaBroker, PostgresServer, RegistryProcess, jar_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.registry.service.storage import Storage

# A property test takes a few examples, and as many as COUNTERFOIL_EXAMPLES names in `make test-long`. In CI they are
# drawn from a fixed seed, so that a failing run can be repeated. A slow machine is no failure.
QUICK_EXAMPLES = 12
settings.register_profile(
    "default",
    max_examples=int(os.environ.get("COUNTERFOIL_EXAMPLES") or QUICK_EXAMPLES),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def broker() -> Iterator[KafkaBroker]:
    """A real Kafka broker. Tests take names of their own from ``unique_name``."""
    with KafkaBroker() as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL. Tests take databases of their own: ``postgres_url``."""
    with PostgresServer() as running:
        yield running


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty database, which goes when the test ends."""
    name = f"test_{uuid.uuid4().hex[:10]}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def emptied_postgres(postgres: PostgresServer) -> Callable[[], Storage]:
    """A function that gives a storage on one and the same database, emptied each time."""
    url = postgres.create_database(f"emptied_{uuid.uuid4().hex[:10]}")
    open_store(url)
    tables = ["versions", "schema_refs", "schema_ids", "contents", "subjects", "settings", "contexts"]
    tables += ["changes", "records"]
    deletions = "".join(f"DELETE FROM counterfoil.{table};;" for table in tables)
    statement = f"{deletions}UPDATE counterfoil.stamps SET change = 0, settings = 0"

    def emptied() -> Storage:
        with ThreadPoolExecutor(1) as thread:  # the test has a loop of its own
            thread.submit(postgres.run, statement, database=url.rpartition("/")[2]).result()
        return PostgresStorage(parse_address(url))

    return emptied


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
