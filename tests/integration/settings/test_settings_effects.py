"""Each setting has an effect that a user would notice; one that is added without a test of it fails.

Here are those of the process, its connections, its store and its audit; beside it those of requests and of access.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.registry.audit.events import AuditEvent, EventKind, EventPlace
from counterfoil.registry.audit.file import AuditFile
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.settings import SETTINGS
from counterfoil.registry.settings_reading import SettingsNotUsable, resolve
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST, RecordEvents, StoragePlan
from local_services import ServiceError, free_port, start_registry, wait_until
from strategies.registry.served import REGISTRATION, ask, connected, is_answered, refusal, served

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_there_is_an_effect_for_every_setting() -> None:
    files = Path(__file__).parent.glob("test_settings_effects*.py")
    effects = [name for each in files for name in re.findall(r"\ndef test_(\w+)_has_an_effect\(", each.read_text())]
    assert sorted(effects) == sorted(each.name for each in SETTINGS)


@contextmanager
def request_under_way(port: int) -> Iterator[socket.socket]:
    """A connection with a request whose body does not end, in the server's hands."""
    with connected(port) as connection:
        connection.sendall(b"POST /subjects/s HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        assert is_answered("127.0.0.1", port)
        yield connection


def test_host_has_an_effect(tmp_path: Path) -> None:
    with served(tmp_path, host="127.0.0.2") as (port, _):
        assert ask("127.0.0.2", port, "GET", "/subjects")[0] == 200
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def test_port_has_an_effect(tmp_path: Path) -> None:
    with served(tmp_path) as (port, _):  # a port of our choice
        assert port != 8081
        assert ask("127.0.0.1", port, "GET", "/subjects")[0] == 200


def test_store_has_an_effect(tmp_path: Path) -> None:
    file = tmp_path / "registry.db"
    with served(tmp_path, store=f"sqlite:///{file}"):
        assert file.exists()


def test_search_has_an_effect(tmp_path: Path) -> None:
    file, store = tmp_path / "registry.db.search", f"sqlite:///{tmp_path}/registry.db"
    with served(tmp_path, store=store, search="off") as (port, _):
        assert json.loads(ask("127.0.0.1", port, "GET", "/inspect/v1/search?q=a")[1])["index"]["state"] == "off"
        assert not file.exists()
    with served(tmp_path, store=store):
        wait_until(file.exists, what="the file of the index")


def test_workers_has_an_effect(tmp_path: Path) -> None:
    """What several workers do is in ``serving/test_workers.py``."""
    with pytest.raises(ServiceError, match="2 workers need a PostgreSQL store"), served(tmp_path, workers="2"):
        pass


def test_max_header_bytes_has_an_effect(tmp_path: Path) -> None:
    with served(tmp_path, max_header_bytes="500") as (port, _):
        assert ask("127.0.0.1", port, "GET", "/subjects", headers={"x": "y" * 600})[0] == 431


def test_max_connections_has_an_effect(tmp_path: Path) -> None:
    with served(tmp_path, max_connections="3") as (port, _), ExitStack() as stack:
        held = [stack.enter_context(connected(port)) for _ in range(4)]
        assert held[3].recv(1000).startswith(b"HTTP/1.1 503 ")


def test_read_timeout_s_has_an_effect(tmp_path: Path) -> None:
    with served(tmp_path, read_timeout_s="0.2") as (port, _), connected(port) as slow:
        slow.sendall(b"GET ")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_keep_alive_s_has_an_effect(tmp_path: Path) -> None:
    with served(tmp_path, keep_alive_s="1") as (port, _), connected(port) as idle:
        idle.sendall(b"GET /mode HTTP/1.1\r\nhost: x\r\n\r\n")
        assert idle.makefile("rb").read().startswith(b"HTTP/1.1 200 ")  # all until the end of the connection


def test_stop_timeout_s_has_an_effect(tmp_path: Path) -> None:
    """Of two servers with a request under way, the one with a short limit ends while the other one still waits."""
    with (
        served(tmp_path, stop_timeout_s="1") as (hasty_port, hasty),
        served(tmp_path, stop_timeout_s="3600") as (patient_port, patient),
        request_under_way(hasty_port),
        request_under_way(patient_port) as waiting,
    ):
        os.kill(patient.pid, signal.SIGTERM)
        hasty.stop()
        waiting.setblocking(False)  # noqa: FBT003 - the method of a socket has no name for it
        with pytest.raises(BlockingIOError):  # still connected, and without an answer
            waiting.recv(1)
        patient.kill()


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


def test_max_waiting_writes_has_an_effect(tmp_path: Path) -> None:
    refusals = refusals_of_a_locked_file(tmp_path, writes=5, max_waiting_writes="1", write_timeout_s="1")
    assert any("max_waiting_writes" in refusal for refusal in refusals)


def test_write_timeout_s_has_an_effect(tmp_path: Path) -> None:
    [refusal] = refusals_of_a_locked_file(tmp_path, writes=1, write_timeout_s="0.3")
    assert "write_timeout_s" in refusal


def test_audit_file_has_an_effect(tmp_path: Path) -> None:
    """What is in the file is tested in ``audit/test_file.py``."""
    audit = tmp_path / "audit.jsonl"
    with served(tmp_path, audit_file=str(audit)) as (port, _):
        assert ask("127.0.0.1", port, "POST", "/subjects/s/versions", **REGISTRATION)[0] == 200
        wait_until(lambda: b"schema.register" in audit.read_bytes(), what="the event")


def test_audit_on_failure_has_an_effect(tmp_path: Path) -> None:
    for choice, status in (("continue", 200), ("refuse", 503)):
        (tmp_path / choice).mkdir()
        with served(tmp_path / choice, audit_file="/dev/full", audit_on_failure=choice) as (port, service):
            wait_until(lambda log=service.log: b"cannot be written" in log.read_bytes(), what="the failure")
            assert ask("127.0.0.1", port, "POST", "/subjects/s/versions", **REGISTRATION)[0] == status


def test_audit_max_bytes_has_an_effect(tmp_path: Path) -> None:
    log = AuditFile(str(tmp_path / "audit.jsonl"), max_bytes=1024, refuses=False)
    for _ in range(20):
        log.record(AuditEvent(EventKind.AUTH_FAILED))
    log.close()
    assert len(list(tmp_path.glob("audit.jsonl.*"))) > 0


def test_audit_key_file_has_an_effect() -> None:
    """What is signed is tested in ``audit/test_heads.py``."""
    status, lines = refusal("--audit-key-file", "missing.pem")
    assert status == 2
    assert lines[-1] == "counterfoil: missing.pem cannot be read: No such file or directory"


def test_audit_reads_has_an_effect(tmp_path: Path) -> None:
    """Which responses are reads is tested in ``audit/test_reads.py``."""
    audit = tmp_path / "audit.jsonl"
    with served(tmp_path, audit_file=str(audit), audit_reads="watched.*") as (port, _):
        for subject in ("watched.s", "other"):
            assert ask("127.0.0.1", port, "POST", f"/subjects/{subject}/versions", **REGISTRATION)[0] == 200
        for subject in ("other", "watched.s"):
            assert ask("127.0.0.1", port, "GET", f"/subjects/{subject}/versions/1")[0] == 200
        wait_until(lambda: b"schema.read" in audit.read_bytes(), what="the event")
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [each["resource"] for each in lines if each["event"] == "schema.read"] == ["watched.s"]


def test_audit_keep_days_has_an_effect() -> None:
    async def kept(days: int) -> int:
        storage = MemoryStorage()
        old = AuditEvent(EventKind.KEY_TESTED, {}, datetime.now(UTC) - timedelta(days=5))
        await storage.commit(StoragePlan((), (RecordEvents((old,)),)), by=NO_REQUEST)
        await AuditRecords(storage, keep_days=days).write_minute()
        return sum(each.event == "key.tested" for each in await storage.audit_events(EventPlace(0), 9, 9))

    assert (asyncio.run(kept(4)), asyncio.run(kept(6))) == (0, 1)


def test_a_file_of_settings_is_in_force(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    port = free_port()
    file.write_text(f"port: {port}\nstore: 'sqlite://'\ncompat_version: 6\n")
    service = start_registry("--settings", str(file), log=tmp_path / "log")
    try:
        service.wait_ready(lambda: is_answered("127.0.0.1", port))
        body = json.dumps({"schema": '"int"'})
        assert json.loads(ask("127.0.0.1", port, "POST", "/subjects/s/versions", body=body)[1]) == {"id": 1}
    finally:
        service.stop()


def test_a_network_that_is_none_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("port: 1\nwebhook_networks: [10.0.0.0/8, example.org]\n")
    with pytest.raises(SettingsNotUsable, match=r"line 2: .*example\.org"):
        resolve({}, {}, file=str(file))
    with pytest.raises(SettingsNotUsable, match=r"COUNTERFOIL_WEBHOOK_NETWORKS .*has host bits set"):
        resolve({}, {"COUNTERFOIL_WEBHOOK_NETWORKS": "10.0.0.1/8"})


def test_a_wrong_setting_is_one_line_and_no_server(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("prot: 1\n")
    for settings in ({"settings": str(file)}, {"port": "x"}):
        status, lines = refusal(**settings)
        assert status == 2
        assert len(lines) == 1
