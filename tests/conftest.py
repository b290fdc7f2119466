"""Real services for tests: a broker, a PostgreSQL, a registry, a Spark session, each started once a run when needed."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import shutil
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadGroupScheduling

from counterfoil.converter.spark.java import check_java
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.postgres.connections import parse_address
from counterfoil.registry.store.postgres.storage import PostgresStorage
from local_services import (
    RUN_FOLDER,
    KafkaBroker,
    KafkaClient,
    PostgresClient,
    PostgresServer,
    RegistryProcess,
    connector_jars,
    stop_services_of,
)
from local_services.spark_classes import java_options
from strategies.access.certified_registry import CertifiedRegistry, start_certified_registry
from strategies.access.guarded_registry import GuardedRegistry, start_guarded_registry
from strategies.avro.codec_tiers import TIERS, use_tier
from strategies.kafka.secured import SecuredKafka, secured_listeners
from strategies.machine import warm_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from counterfoil.registry.store.protocol import Storage

ROOT = Path(__file__).parents[1]

# A property test runs a few examples, and the number in COUNTERFOIL_EXAMPLES in `make test-long`. In CI they are drawn
# from a fixed seed, so that a failing run can be repeated. A slow machine is no failure.
QUICK_EXAMPLES = 8
settings.register_profile(
    "default",
    max_examples=int(os.environ.get("COUNTERFOIL_EXAMPLES") or QUICK_EXAMPLES),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options())


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of the run, in which its processes share the services that one of them started."""
    if not hasattr(config, "workerinput"):
        folder = Path(tempfile.mkdtemp(prefix="counterfoil-tests-"))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        os.environ[RUN_FOLDER] = str(folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End every service of the run that still runs, also after an interrupt."""
    if not hasattr(config, "workerinput") and (folder := os.environ.pop(RUN_FOLDER, None)):
        stop_services_of(Path(folder))
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Leave the tests and their modules out of every search for garbage: half a million objects that stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the slowest tests to the start, so that all processes end together."""
    items.sort(key=_turn)


ONE_PROCESS = {
    "one Spark session for bridges": {
        *(
            f"tests/integration/bridges/test_{name}.py"
            for name in ("languages", "new_ids", "restart", "run", "transactions")
        ),
        "tests/integration/adapters/test_pyspark.py",
        "tests/e2e/docs/test_examples.py::test_the_converter_of_the_streaming_course",
    },
    "one Spark of commands": {
        *(f"tests/integration/bridges/test_{name}.py" for name in ("bad_input", "commands", "hammer")),
        *(
            f"tests/e2e/docs/test_snippets.py::test_the_snippets_of_a_page_run_as_they_are_written[{page}]"
            for page in ("docs/bridge.md", "docs/migrating-a-topic.md")
        ),
    },
    "the demo": {"tests/e2e/docs/test_demo.py"},
    "one Spark session for engines": {
        *(
            f"tests/contract/engines/test_{name}.py"
            for name in ("agree", "cast_rows", "java", "java_messages", "java_objects", "java_patterns", "limits")
        ),
        "tests/integration/commands/test_sketch.py",
        "tests/integration/commands/test_test.py",
        "tests/e2e/docs/test_examples.py::test_fares_are_doubled_in_columns_by_spark",
    },
    "one browser": {
        *(
            f"tests/e2e/pages/test_{name}.py"
            for name in ("accessibility", "hostile_texts", "jobs", "live_changes", "loading", "media", "proxies")
        ),
    },
    "one answer of Java": {f"tests/differential/test_avro_java_{name}.py" for name in ("checker", "decoder")},
}
"""Files and single tests that share what is expensive to start, by the name of the group; the longest group is first.

The run begins with these groups, each in a process of its own as long as there are some: a group that began late would
run alone at the end.
"""

SHARING = ('scope="module"', "\n@cache")
"""What the text of a file contains whose tests share something that each process makes once."""

LONG_FILES = {"tests/e2e/docs/test_snippets.py", "tests/e2e/deploy/test_image.py"}
STARTING = ("tests/e2e/", "tests/integration/")


class _Scheduling(LoadGroupScheduling):
    """What ``--dist loadgroup`` is to be: tests of one group run in one process, and others wherever there is time.

    pytest-xdist 3.8 writes the group of a test to an attribute that pytest 9.2 no longer reads, so that its own mark
    has no effect. The groups begin in the order of their first tests.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _group_of(nodeid)


@cache
def _group_of(nodeid: str) -> str:
    """Return the group of a test: one of those above, its file if that is for one process, or itself."""
    file = nodeid.partition("::")[0]
    if group := next((name for name, members in ONE_PROCESS.items() if {file, nodeid} & members), None):
        return group
    return file if _is_whole(file) else nodeid


@cache
def _is_whole(file: str) -> bool:
    """Return whether all tests of a file are for one process."""
    return file.startswith("tests/unit/") or any(each in (ROOT / file).read_text() for each in SHARING)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Scheduling | None:
    """Return the scheduling that keeps what is expensive to start in one process."""
    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # by the number of their tests
    return _Scheduling(config, log)


def _turn(item: pytest.Item) -> int:
    """Return when a test is run: the lower, the earlier. The groups are followed by what starts Spark or programs."""
    group = _group_of(item.nodeid)
    if group in ONE_PROCESS:
        return [*ONE_PROCESS].index(group)
    file = item.nodeid.partition("::")[0]
    fixtures = getattr(item, "fixturenames", ())
    if "spark" in fixtures:
        return len(ONE_PROCESS)
    if "broker" in fixtures or file in LONG_FILES:
        return len(ONE_PROCESS) + 1
    is_slow = file.startswith(STARTING) or item.get_closest_marker("slow")
    return len(ONE_PROCESS) + (2 if is_slow else 3)


def of_the_run(name: str, start: Callable[[], str]) -> str:
    """Return what ``start`` returned in the first process of the run that called this with ``name``."""
    folder = Path(os.environ[RUN_FOLDER])
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = folder / f"{name}.started"
        if not known.exists():
            known.write_text(start())
        return known.read_text()


@pytest.fixture(scope="session")
def warm_counterfoil() -> Path:
    """Return a program that is used in place of ``counterfoil``: its commands with Spark share one Java process."""
    return warm_commands.install(Path(tempfile.mkdtemp(dir=os.environ[RUN_FOLDER])))


@pytest.fixture(params=TIERS)
def each_tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once for every tier of the Avro codec that is installed, and return the tier's name."""
    use_tier(monkeypatch.setenv, request.param)
    return request.param


@pytest.fixture(scope="module")
def open_folder() -> Path:
    """Return a folder that every user of the machine may enter; pytest's own are closed whenever a run begins."""
    folder = Path(tempfile.mkdtemp(dir=os.environ[RUN_FOLDER]))
    folder.chmod(0o755)
    return folder


def _kafka() -> tuple[Path, dict[str, str]]:
    """Return the folder of the run's broker, and the addresses of its listeners."""
    folder = Path(os.environ[RUN_FOLDER]) / "kafka"

    def start() -> str:
        folder.mkdir()
        started = KafkaBroker(folder=folder, listeners=secured_listeners(folder))
        return json.dumps({**started.addresses, "CLIENT": started.bootstrap_servers})

    return folder, json.loads(of_the_run("kafka", start))


@pytest.fixture(scope="session")
def broker() -> KafkaClient:
    """Return a real Kafka broker, one for all processes of the run. Tests use own names from ``unique_name``."""
    return KafkaClient(_kafka()[1]["CLIENT"])


@pytest.fixture(scope="session")
def secured_kafka(broker: KafkaClient) -> SecuredKafka:
    """Return the listeners of the broker that require a login or a certificate."""
    folder, addresses = _kafka()
    secured = SecuredKafka(addresses["LOGIN"], addresses["TLS"], folder)
    secured.add_user(broker)
    return secured


@pytest.fixture(scope="session")
def postgres() -> PostgresClient:
    """Return a real PostgreSQL, one for all processes of the run. Tests use own databases: ``postgres_url``."""
    folder = Path(os.environ[RUN_FOLDER])
    return PostgresClient(int(of_the_run("postgres", lambda: str(PostgresServer(folder=folder).port))))


@pytest.fixture
def postgres_url(postgres: PostgresClient) -> Iterator[str]:
    """Yield the URL of an empty database, which is removed after the test."""
    name = f"test_{uuid.uuid4().hex[:10]}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def emptied_postgres(postgres: PostgresClient) -> Callable[[], Storage]:
    """Return a function that returns a storage on one database, which is emptied by each call."""
    url = postgres.create_database(f"emptied_{uuid.uuid4().hex[:10]}")
    open_store(url)
    tables = ["versions", "schema_refs", "schema_ids", "contents", "subjects", "settings", "contexts"]
    tables += ["changes", "records"]
    deletions = "".join(f"DELETE FROM counterfoil.{table};;" for table in tables)
    statement = f"{deletions}UPDATE counterfoil.stamps SET change = 0, settings = 0"

    def emptied() -> Storage:
        with ThreadPoolExecutor(1) as thread:  # the test runs an event loop of its own
            thread.submit(postgres.run, statement, database=url.rpartition("/")[2]).result()
        return PostgresStorage(parse_address(url))

    return emptied


@pytest.fixture(scope="session")
def guarded_registry() -> GuardedRegistry:
    """Return a registry that demands credentials, with an issuer of tokens: one for all processes of the run."""
    folder = Path(os.environ[RUN_FOLDER]) / "guarded"
    return GuardedRegistry(**json.loads(of_the_run("guarded", lambda: json.dumps(start_guarded_registry(folder)))))


@pytest.fixture(scope="session")
def certified_registry() -> CertifiedRegistry:
    """Return a registry with TLS that demands client certificates: one for all processes of the run."""
    folder = Path(os.environ[RUN_FOLDER]) / "certified"
    started = of_the_run("certified", lambda: json.dumps(start_certified_registry(folder)))
    return CertifiedRegistry(**json.loads(started))


@pytest.fixture(scope="session")
def live_registry() -> Iterator[RegistryProcess]:
    """Yield ``counterfoil serve`` on a SQLite file. Tests use own subjects from ``unique_name``."""
    with RegistryProcess() as running:
        yield running


@pytest.fixture
def unique_name() -> Callable[[str], str]:
    """Return a function that makes of a stem a topic or subject name that no other test uses."""
    return lambda stem: f"{stem}-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def topic(broker: KafkaClient, unique_name: Callable[[str], str]) -> str:
    """Return the name of a new topic with one partition."""
    name = unique_name("rides")
    broker.create_topic(name)
    return name


@pytest.fixture
def bridge_topics(broker: KafkaClient, unique_name: Callable[[str], str]) -> tuple[str, str]:
    """Return the names of a new source and a new target of a bridge, each with two partitions."""
    source, target = unique_name("rides-v2"), unique_name("rides")
    for name in (source, target):
        broker.create_topic(name, partitions=2)
    return source, target


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Yield a Spark session in local[2] with the Kafka and Avro modules."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    check_java()  # prints what to install if it is missing
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("counterfoil-tests")
        .config("spark.jars", ",".join(str(jar) for jar in sorted(connector_jars().glob("*.jar"))))
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


@pytest.fixture
def spark_and_folder(spark: Any, tmp_path: Path) -> tuple[Any, Path]:
    """Return the Spark session, and a folder for the checkpoint of a bridge."""
    return spark, tmp_path
