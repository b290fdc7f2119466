"""Each setting has an effect that a user would notice; one that is added without a test of it here fails."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.settings import SETTINGS
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.errors import StoreUnavailable
from local_services import ServiceError, free_port
from local_services.process import Service
from registry_driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COUNTERFOIL = str(Path(sys.executable).with_name("counterfoil"))
SCHEMA = json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}" for number in range(300)]})

UNLIKE_ANY_DEFAULT_S = 25
"""A wait that no default of a setting ends: the shortest, read_timeout_s, is longer."""


@contextmanager
def served(folder: Path, *, host: str = "127.0.0.1", **settings: str) -> Iterator[tuple[int, Service]]:
    """A server with these settings: its port and process."""
    port = free_port()
    given = {"host": host, "port": str(port), "store": "sqlite://", **settings}
    environment = {f"COUNTERFOIL_{name.upper()}": value for name, value in given.items()}
    service = Service("the registry", [COUNTERFOIL, "serve"], log=folder / "log", environment=environment)
    service.wait_ready(lambda: is_answered(host, port))
    try:
        yield port, service
    finally:
        service.stop()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=UNLIKE_ANY_DEFAULT_S)


@contextmanager
def request_under_way(port: int) -> Iterator[socket.socket]:
    """A connection with a request whose body does not end, in the server's hands."""
    with connected(port) as connection:
        connection.sendall(b"POST /subjects/s HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        assert is_answered("127.0.0.1", port)
        yield connection


def is_answered(host: str, port: int) -> bool:
    try:
        return ask(host, port, "GET", "/subjects")[0] == 200
    except OSError:
        return False


def ask(host: str, port: int, method: str, path: str, **options: Any) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host, port, timeout=120)
    try:
        connection.request(method, path, **options)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def in_process(story: Callable[[InProcessRegistry], Any], storage: Any = None, **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(storage, **settings)))


def status_of(method: str, path: str, *, headers: dict[str, str] | None = None, **settings: Any) -> int:
    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        return (await registry.ask(method, path, headers=headers)).status

    return in_process(story, **settings)


# --- one function a setting


def host_has_an_effect(folder: Path) -> None:
    with served(folder, host="127.0.0.2") as (port, _):
        assert ask("127.0.0.2", port, "GET", "/subjects")[0] == 200
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def port_has_an_effect(folder: Path) -> None:
    with served(folder) as (port, _):  # a port of our choice
        assert port != 8081
        assert ask("127.0.0.1", port, "GET", "/subjects")[0] == 200


def store_has_an_effect(folder: Path) -> None:
    file = folder / "registry.db"
    with served(folder, store=f"sqlite:///{file}"):
        assert file.exists()


def workers_has_an_effect(folder: Path) -> None:
    """What several workers do is in ``test_registry_workers.py``."""
    with pytest.raises(ServiceError, match="2 workers need a PostgreSQL store"), served(folder, workers="2"):
        pass


def max_body_bytes_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> int:
        return (await registry.register("s", SCHEMA)).status

    assert in_process(story) == 200
    assert in_process(story, max_body_bytes=200) == 413


def max_header_bytes_has_an_effect(folder: Path) -> None:
    with served(folder, max_header_bytes="500") as (port, _):
        assert ask("127.0.0.1", port, "GET", "/subjects", headers={"x": "y" * 600})[0] == 431


def max_connections_has_an_effect(folder: Path) -> None:
    with served(folder, max_connections="3") as (port, _), ExitStack() as stack:
        held = [stack.enter_context(connected(port)) for _ in range(4)]
        assert held[3].recv(1000).startswith(b"HTTP/1.1 503 ")


def read_timeout_s_has_an_effect(folder: Path) -> None:
    with served(folder, read_timeout_s="0.2") as (port, _), connected(port) as slow:
        slow.sendall(b"GET ")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")


def request_timeout_s_has_an_effect(_: Path) -> None:
    class Hanging(MemoryStorage):
        async def history(self, subject: Any) -> Any:
            await asyncio.Event().wait()
            return await super().history(subject)

    async def story(registry: InProcessRegistry) -> int:
        return (await registry.get("/subjects/s/versions")).status

    assert in_process(story, Hanging(), request_timeout_s=0.1) == 504


def keep_alive_s_has_an_effect(folder: Path) -> None:
    with served(folder, keep_alive_s="1") as (port, _), connected(port) as idle:
        idle.sendall(b"GET /mode HTTP/1.1\r\nhost: x\r\n\r\n")
        assert idle.makefile("rb").read().startswith(b"HTTP/1.1 200 ")  # all until the end of the connection


def stop_timeout_s_has_an_effect(folder: Path) -> None:
    """Of two servers with a request under way, the one with a short limit ends while the other one still waits."""
    with (
        served(folder, stop_timeout_s="1") as (hasty_port, hasty),
        served(folder, stop_timeout_s="3600") as (patient_port, patient),
        request_under_way(hasty_port),
        request_under_way(patient_port) as waiting,
    ):
        os.kill(patient.pid, signal.SIGTERM)
        hasty.stop()
        waiting.setblocking(False)  # noqa: FBT003 - the method of a socket has no name for it
        with pytest.raises(BlockingIOError):  # still connected, and without an answer
            waiting.recv(1)
        patient.kill()


def gzip_min_bytes_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> str | None:
        await registry.register("s", SCHEMA)
        reply = await registry.ask("GET", "/schemas/ids/1", headers={"Accept-Encoding": "gzip"})
        return reply.headers.get("content-encoding")

    assert in_process(story) == "gzip"
    assert in_process(story, gzip_min_bytes=100_000) is None


def cors_origins_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> str | None:
        reply = await registry.ask("GET", "/subjects", headers={"Origin": "https://a.example"})
        return reply.headers.get("access-control-allow-origin")

    assert in_process(story) is None
    assert in_process(story, cors_origins=("https://a.example",)) == "https://a.example"


def compat_version_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.register("s", '"int"')).json

    assert in_process(story)["version"] == 1
    assert in_process(story, compat_version="7") == {"id": 1}


def withhold_new_fields_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.register("s", '"int"')).json

    assert in_process(story, withhold_new_fields=True) == {"id": 1}


class CountingStorage(MemoryStorage):
    """A storage that counts how often a subject's versions are read."""

    read = 0

    async def history(self, subject: Any) -> Any:
        self.read += 1
        return await super().history(subject)


def reads_of_a_repetition(**settings: Any) -> int:
    storage = CountingStorage()

    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        await registry.get("/subjects/s/versions/latest")
        before = storage.read
        await registry.get("/subjects/s/versions/latest")
        return storage.read - before

    return in_process(story, storage, **settings)


def cache_bytes_has_an_effect(_: Path) -> None:
    assert reads_of_a_repetition() == 0
    assert reads_of_a_repetition(cache_bytes=0) > 0


def fast_lane_has_an_effect(_: Path) -> None:
    assert reads_of_a_repetition(fast_lane=False) > 0


def log_requests_has_an_effect(_: Path) -> None:
    lines: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, handler = logging.getLogger("counterfoil.registry"), Collecting()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        assert status_of("GET", "/subjects") == 200
        assert lines == []
        assert status_of("GET", "/subjects", log_requests=True) == 200
        assert lines == ["request", "request"]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def kafka_cluster_id_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.get("/v1/metadata/id")).json["scope"]

    clusters = {"kafka-cluster": "", "schema-registry-cluster": "counterfoil"}
    assert in_process(story) == {"path": [], "clusters": clusters}
    named = {**clusters, "kafka-cluster": "lkc-1"}
    assert in_process(story, kafka_cluster_id="lkc-1") == {"path": [], "clusters": named}


async def create_kek(registry: InProcessRegistry, name: str, **fields: Any) -> int | None:
    kek = {"name": name, "kmsType": "hcvault", "kmsKeyId": "http://vault/transit/keys/k", **fields}
    reply = await registry.post("/dek-registry/v1/keks", kek)
    return reply.code or reply.status


def max_keys_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> list[int | None]:
        return [await create_kek(registry, name) for name in ("a", "b")]

    assert in_process(story) == [200, 200]
    assert in_process(story, max_keys=1) == [200, 40972]


def associations_has_an_effect(_: Path) -> None:
    assert status_of("GET", "/associations/subjects/s") == 200
    assert status_of("GET", "/associations/subjects/s", associations=False) == 404


def kms_timeout_s_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> str:
        await create_kek(registry, "k", kmsKeyId=f"{url}/transit/keys/k", shared=True)
        return (await registry.ask("POST", "/dek-registry/v1/keks/k/test")).text

    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as environment:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment.setenv("VAULT_ADDR", url)
        environment.setenv("VAULT_TOKEN", "token")
        assert "did not answer within 0.2 s" in in_process(story, kms_timeout_s=0.2)


def refusals_of_a_locked_file(folder: Path, *, writes: int, **settings: str) -> list[str]:
    """What is answered to writes that come at once while somebody else holds the lock of the SQLite file."""
    file = folder / "registry.db"
    with served(folder, store=f"sqlite:///{file}", **settings) as (port, _), ExitStack() as stack:
        locker = stack.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
        locker.execute("BEGIN IMMEDIATE")
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=120) for _ in range(writes)]
        for number, connection in enumerate(connections):
            stack.enter_context(closing(connection)).request("PUT", f"/mode/s{number}", body='{"mode": "READONLY"}')
        replies = [connection.getresponse() for connection in connections]
        return [reply.read().decode() for reply in replies if reply.status == 503]


def max_waiting_writes_has_an_effect(folder: Path) -> None:
    refusals = refusals_of_a_locked_file(folder, writes=5, max_waiting_writes="1", write_timeout_s="1")
    assert any("max_waiting_writes" in refusal for refusal in refusals)


def write_timeout_s_has_an_effect(folder: Path) -> None:
    [refusal] = refusals_of_a_locked_file(folder, writes=1, write_timeout_s="0.3")
    assert "write_timeout_s" in refusal


def stale_reads_s_has_an_effect(_: Path) -> None:
    """What is read from memory, and when, is in ``test_registry_stale_reads.py``."""

    class Lost(MemoryStorage):
        async def catch_up(self) -> None:
            if self.contact.error is not None:
                raise self.contact.error

        def last_known(self) -> Any:
            return self

    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        registry.app.storage.contact.note_lost(StoreUnavailable("It is away"))
        return (await registry.get("/subjects/s/versions/latest")).status

    assert in_process(story, Lost()) == 200
    assert in_process(story, Lost(), stale_reads_s=0) == 503


EFFECTS = {name.removesuffix("_has_an_effect"): each for name, each in globals().items() if name.endswith("_effect")}


def test_there_is_an_effect_for_every_setting() -> None:
    assert EFFECTS.keys() == {each.name for each in SETTINGS}


@pytest.mark.parametrize("name", EFFECTS)
def test_the_setting_has_an_effect(name: str, tmp_path: Path) -> None:
    EFFECTS[name](tmp_path)


def test_a_file_of_settings_is_in_force(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    port = free_port()
    file.write_text(f"port: {port}\nstore: 'sqlite://'\ncompat_version: 6\n")
    command = [COUNTERFOIL, "serve", "--settings", str(file)]
    service = Service("the registry", command, log=tmp_path / "log")
    try:
        service.wait_ready(lambda: is_answered("127.0.0.1", port))
        body = json.dumps({"schema": '"int"'})
        assert json.loads(ask("127.0.0.1", port, "POST", "/subjects/s/versions", body=body)[1]) == {"id": 1}
    finally:
        service.stop()


def test_a_wrong_setting_is_one_line_and_no_server(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("prot: 1\n")
    for extra in ({"COUNTERFOIL_SETTINGS": str(file)}, {"COUNTERFOIL_PORT": "x"}):
        done = subprocess.run(
            [COUNTERFOIL, "serve"],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, **extra},
        )
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "Traceback" not in done.stderr
