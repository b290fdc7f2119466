"""The audit file of a server: each event once, no secrets, kills, full disks, renamed files."""

from __future__ import annotations

import asyncio
import base64
import errno
import http.client
import json
import os
import signal
import sqlite3
import threading
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.registry.access.identities.hashes import hash_password
from counterfoil.registry.audit.events import AuditEvent, EventKind
from counterfoil.registry.audit.file import AuditFile
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.exit_codes import ExitCode
from local_services import wait_until
from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry
from strategies.registry.served import ask, served

MIB = 1024 * 1024
ANYBODY = "anonymous: [{allow: DESCRIBE, on: '*'}]\n"  # by whose requests a test sees that a server is ready
REJECTED = AuditEvent(EventKind.AUTH_FAILED, {"reason": "wrong"})


def opened(path: Path, *, max_bytes: int = MIB, refuses: bool = False) -> AuditFile:
    return AuditFile(str(path), max_bytes=max_bytes, refuses=refuses)


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def verified(capsys: pytest.CaptureFixture[str], *paths: Path) -> tuple[int, str]:
    code = run(root_command(), ["audit", "verify", *map(str, paths)])
    return code, capsys.readouterr().out


def test_each_event_is_recorded_once_for_its_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"

    async def story() -> None:
        storage, log = MemoryStorage(), opened(path)
        registry = InProcessRegistry(storage, access=access(), audit=AuditRecords(storage, file=log))
        for _ in range(2):  # the second one writes nothing
            await registry.send("POST", "/subjects/own.s/versions", "owner", {"schema": '"int"'}, X_Request_ID="r1")
        await registry.send("PUT", "/config/own.s", "admin", {"compatibility": "NONE"})
        await registry.send("DELETE", "/subjects/own.s", "admin")
        await registry.send("DELETE", "/subjects/own.s?permanent=true", "admin")
        await registry.send("GET", "/subjects", "wrong")
        await registry.send("GET", "/subjects", None)
        await registry.send("DELETE", "/subjects/other", "reader")
        await registry.send("GET", "/subjects", "admin")
        await asyncio.to_thread(log.close)

    asyncio.run(story())
    found = events(path)
    assert [(each["event"], each.get("caller", {}).get("principal")) for each in found] == [
        ("server.started", None),
        ("schema.register", "User:owner"),
        ("settings.change", "User:admin"),
        ("schema.delete", "User:admin"),
        ("schema.purge", "User:admin"),
        ("settings.change", "User:admin"),  # the subject's settings went with it
        ("auth.failed", None),
        ("auth.failed", None),
        ("access.denied", "User:reader"),
    ]
    registered, denied = found[1], found[-1]
    assert {
        name: registered[name] for name in ("action", "resource", "version", "change", "request_id", "outcome")
    } == {
        "action": "POST /subjects/{subject}/versions",
        "resource": "own.s",
        "version": 1,
        "change": 1,
        "request_id": "r1",
        "outcome": "success",
    }
    assert [each["reason"] for each in found if each["event"] == "auth.failed"] == ["wrong", "missing"]
    assert (denied["status"], denied["operation"], denied["resource"]) == (403, "DELETE", "Subject: other")
    assert verified(capsys, path) == (ExitCode.OK, "9 lines: whole\n")
    assert path.stat().st_mode & 0o777 == 0o600


def test_edited_files_are_found_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"
    log = opened(path)
    for _ in range(3):
        log.record(REJECTED)
    log.close()
    assert run(root_command(), ["audit", "show", "--event", "auth.failed", str(path)]) == ExitCode.OK
    assert capsys.readouterr().out.count("auth.failed") == 3
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], *lines[2:]]))
    code, text = verified(capsys, path)
    assert code == ExitCode.BROKEN
    assert f"{path}:2: it is line 3 of" in text
    path.write_bytes(b"".join(lines).replace(b'"wrong"', b'"right"', 1))
    assert f"{path}:2: its hash differs: it was edited" in verified(capsys, path)[1]


def line_count(folder: Path) -> int:
    """Return the number of lines in all files of a folder; 0 while one is being renamed."""
    try:
        return sum(each.read_bytes().count(b"\n") for each in folder.iterdir())
    except FileNotFoundError:
        return 0


def moved(path: Path, target: Path) -> bool:
    """Rename a file; return whether it was there."""
    with suppress(FileNotFoundError):
        path.rename(target)
    return target.exists()


def test_files_are_renamed_and_the_chain_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"
    first, second = opened(path, max_bytes=2000), opened(path, max_bytes=2000)  # two processes
    for _ in range(40):
        for log in (first, second):
            log.record(REJECTED)
    wait_until(lambda: line_count(tmp_path) == 82, what="all lines: until then the files are renamed by themselves")
    assert len(list(tmp_path.iterdir())) > 1
    wait_until(lambda: moved(path, tmp_path / "audit.jsonl.29991231"), what="a file to rename, as logrotate does")
    for log in (first, second):
        log.record(REJECTED)
        log.close()
    files = [*sorted(each for each in tmp_path.iterdir() if each != path), path]
    assert len(files) > 2
    assert verified(capsys, *files) == (ExitCode.OK, "84 lines: whole\n")


def test_a_file_that_cannot_be_renamed_grows_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path, _target: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "rename", refused)
    path = tmp_path / "audit.jsonl"
    log = opened(path, max_bytes=2000)
    for _ in range(40):
        log.record(REJECTED)
        wait_until(lambda: line_count(tmp_path) > 0, what="a line")
    wait_until(lambda: log.failures > 0, what="a rename that fails")
    log.record(REJECTED)
    log.close()
    assert not log.refuses_writes
    assert verified(capsys, path) == (ExitCode.OK, "42 lines: whole\n")


@pytest.mark.parametrize("refuses", [False, True])
def test_a_full_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str], *, refuses: bool) -> None:
    path, real = tmp_path / "audit.jsonl", tmp_path / "real"

    async def story() -> None:
        path.symlink_to("/dev/full")
        storage, log = MemoryStorage(), opened(path, refuses=refuses)
        registry = InProcessRegistry(storage, audit=AuditRecords(storage, file=log))
        wait_until(lambda: log.failures > 0, what="a failure")
        failures = log.failures
        reply = await registry.post("/subjects/s/versions", {"schema": '"int"'})
        assert reply.status == (503 if refuses else 200)
        wait_until(lambda: log.failures > failures, what="the next attempt")
        assert (await registry.get("/subjects")).status == 200
        assert (await registry.post("/subjects/s", {"schema": '"int"'})).code == (40401 if refuses else None)
        path.unlink()
        path.symlink_to(real)
        wait_until(lambda: real.exists() and b"started" in real.read_bytes(), what="a line")
        wait_until(lambda: not log.refuses_writes, what="writes again")
        assert (await registry.post("/subjects/t/versions", {"schema": '"int"'})).status == 200
        await asyncio.to_thread(log.close)

    asyncio.run(story())
    found = [(each["event"], each.get("lost")) for each in events(real)]
    gap = [] if refuses else [("audit.gap", 1)]
    assert found == [("server.started", None), *gap, ("schema.register", None)]
    assert verified(capsys, real)[0] == ExitCode.OK


def test_a_server_that_is_killed_leaves_its_journal_with_authors_and_a_file_that_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, audit, store = tmp_path / "access.yaml", tmp_path / "audit.jsonl", f"sqlite:///{tmp_path}/registry.db"
    secret = "correct-horse-battery"
    rules.write_text(f"users:\n  ana: '{hash_password(secret.encode())}'\nadmins: [User:ana]\n{ANYBODY}")
    header = {"Authorization": "Basic " + base64.b64encode(f"ana:{secret}".encode()).decode()}
    wrong = {"Authorization": "Basic " + base64.b64encode(b"ana:wr0ng-secret").decode()}
    for turn in range(2):
        with served(tmp_path, auth_file=str(rules), audit_file=str(audit), store=store) as (port, service):
            for number in range(5):
                body = json.dumps({"schema": f'{{"type": "enum", "name": "e{number}", "symbols": ["HIDDEN"]}}'})
                path = f"/subjects/s{turn}{number}/versions"
                sent = {**header, "Content-Type": "application/json"}
                assert ask("127.0.0.1", port, "POST", path, body=body, headers=sent)[0] == 200
            assert ask("127.0.0.1", port, "GET", "/subjects", headers=wrong)[0] == 401
            wait_until(lambda: b"auth.failed" in audit.read_bytes(), what="the lines")
            os.kill(service.pid, signal.SIGKILL)
    assert run(root_command(), ["db", "check", "--store", store]) == ExitCode.OK
    code, text = verified(capsys, audit)
    assert code == ExitCode.OK, text
    written = audit.read_text() + (tmp_path / "log").read_text()
    for each in (secret, "wr0ng-secret", header["Authorization"][6:], wrong["Authorization"][6:], "HIDDEN"):
        assert each not in written


def test_a_server_that_is_killed_at_any_time_has_the_author_of_each_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed between requests, in the middle of one, and while it starts to be busy, again and again on one store."""
    rules, audit, store = tmp_path / "access.yaml", tmp_path / "audit.jsonl", f"sqlite:///{tmp_path}/registry.db"
    rules.write_text(
        f"users:\n  ana: '{bcrypt.hashpw(b'pw', bcrypt.gensalt(4)).decode()}'\nadmins: [User:ana]\n" + ANYBODY
    )
    header = {"Authorization": "Basic " + base64.b64encode(b"ana:pw").decode(), "Content-Type": "application/json"}
    answered: list[str] = []
    settings = {"auth_file": str(rules), "audit_file": str(audit), "store": store}

    def write(port: int, name: str) -> None:
        """Register versions until the server is gone."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with suppress(OSError, http.client.HTTPException):
            for number in count():
                subject = f"{name}-{number}"
                connection.request("POST", f"/subjects/{subject}/versions", '{"schema": "\\"int\\""}', header)
                reply = connection.getresponse()
                reply.read()
                if reply.status == 200:
                    answered.append(subject)

    for turn, after in enumerate((1, 40, 150)):
        with served(tmp_path, **settings) as (port, service):
            before = len(answered)
            writers = [threading.Thread(target=write, args=(port, f"s{turn}{each}")) for each in range(3)]
            for each in writers:
                each.start()
            wait_until(lambda before=before, after=after: len(answered) >= before + after, what="registrations")
            os.kill(service.pid, signal.SIGKILL)
            for each in writers:
                each.join()
    assert run(root_command(), ["db", "check", "--store", store]) == ExitCode.OK
    code, text = verified(capsys, audit)
    assert code == ExitCode.OK, text
    with closing(sqlite3.connect(tmp_path / "registry.db")) as connection:
        journal = connection.execute("SELECT seq, name, author FROM changes ORDER BY seq").fetchall()
    assert {author for _, _, author in journal} == {"User:ana"}
    assert set(answered) <= {name for _, name, _ in journal}
    whole = [line for line in audit.read_text().splitlines() if line.endswith("}")]
    lines = [json.loads(line) for line in whole]
    written = [(line["change"], line["resource"]) for line in lines if line["event"] == "schema.register"]
    assert len(set(written)) == len(written)
    assert set(written) <= {(seq, name) for seq, name, _ in journal}
