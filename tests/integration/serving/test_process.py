"""The registry as a process: start, stop, crash, and a store that cannot be used."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from counterfoil.registry.store.protocol import FORMAT
from counterfoil.registry.store.sqlite.storage import APPLICATION_ID
from counterfoil.schema.exit_codes import ExitCode
from local_services import INSTALLED, RegistryProcess, wait_until
from local_services.process import PATIENCE_S
from strategies.registry.served import refusal

ROUNDS = 3
WRITERS = 4


def post(url: str, schema: Any) -> dict[str, Any]:
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=120) as reply:
        return json.load(reply)


def test_it_prints_where_it_listens_and_ends_well() -> None:
    process = subprocess.Popen(
        [INSTALLED, "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COUNTERFOIL_STORE": "sqlite://"},
    )
    try:
        line = process.stdout.readline().strip()
        prefix = "counterfoil registry listening on "
        assert line.startswith(f"{prefix}http://127.0.0.1:")
        url, _, pages = line.removeprefix(prefix).partition(", pages at ")
        assert pages == f"{url}/ui/"
        assert post(f"{url}/subjects/s/versions", "int")["id"] == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.stdout.close()


def test_sighup_does_not_end_a_server_that_has_no_files_to_read_again() -> None:
    with RegistryProcess(store="sqlite://") as registry:
        os.kill(registry.pid, signal.SIGHUP)
        assert get(f"{registry.url}/subjects") == []
        assert registry.stop() == 0


def test_sighup_does_not_end_a_server_that_starts(tmp_path: Path) -> None:
    """It is sent all the time, from the moment at which the command runs until the server listens."""
    process = subprocess.Popen(
        [INSTALLED, "serve", "--port", "0", "--store", f"sqlite:///{tmp_path}/registry.db"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        status = Path(f"/proc/{process.pid}/status")
        wait_until(lambda: ignores_hangups(status) or process.poll() is not None, what="the command to run")
        listening = threading.Event()
        line: list[str] = []
        reading = threading.Thread(target=lambda: (line.append(process.stdout.readline()), listening.set()))
        reading.start()
        sent = 0
        while not listening.wait(0.002):
            process.send_signal(signal.SIGHUP)
            sent += 1
        reading.join()
        assert sent > 3
        url = line[0].removeprefix("counterfoil registry listening on ").partition(",")[0]
        assert get(f"{url}/subjects") == []
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.stdout.close()


def ignores_hangups(status: Path) -> bool:
    """Return whether a process ignores SIGHUP, which is the first signal of the mask."""
    mask = next(line for line in status.read_text().splitlines() if line.startswith("SigIgn:"))
    return bool(int(mask.split()[1], 16) & 1)


def test_further_orders_to_stop_make_no_failure_of_a_stop() -> None:
    """The installed program, which gets them until it has ended: this process has to learn of its end itself."""
    with RegistryProcess(store="sqlite://", program=INSTALLED) as registry:
        status = Path(f"/proc/{registry.pid}/stat")
        while status.read_text().rpartition(")")[2].split()[0] != "Z":
            os.kill(registry.pid, signal.SIGTERM)
        assert registry.stop() == 0


def test_a_stop_loses_no_answered_write_and_the_lock_is_free_again(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/registry.db"
    with RegistryProcess(store=store) as registry:
        for number in range(20):
            post(f"{registry.url}/subjects/s{number}/versions", {"type": "fixed", "name": "F", "size": number + 1})
        assert registry.stop() == 0
    with RegistryProcess(store=store) as registry:
        assert len(get(f"{registry.url}/subjects")) == 20


def test_every_answered_registration_survives_a_crash(tmp_path: Path) -> None:
    """The process is killed in the middle of writing, several times; ids are never given out twice."""
    acknowledged: dict[str, dict[str, Any]] = {}
    moments = random.Random(20)
    with RegistryProcess(store=f"sqlite:///{tmp_path}/registry.db") as registry:
        for turn in range(ROUNDS):
            before = len(acknowledged)
            writers = [
                threading.Thread(target=write, args=(registry.url, f"{turn}-{writer}", acknowledged))
                for writer in range(WRITERS)
            ]
            for writer in writers:
                writer.start()
            enough = before + moments.randrange(20, 200)
            wait_until(lambda enough=enough: len(acknowledged) >= enough, what="registrations")
            registry.kill()
            for writer in writers:
                writer.join()
            registry.restart()
            check(registry.url, acknowledged)


def write(url: str, writer: str, acknowledged: dict[str, dict[str, Any]]) -> None:
    """Register one new schema after another until the registry is gone."""
    number = 0
    while True:
        number += 1
        subject = f"s-{writer}-{number % 7}"
        schema = {"type": "record", "name": "R", "fields": [{"name": f"f_{writer.replace('-', '_')}_{number}",
                  "type": "int", "default": 0}]}  # fmt: skip
        try:
            answer = post(f"{url}/subjects/{subject}/versions", schema)
        except (urllib.error.URLError, OSError, json.JSONDecodeError, TimeoutError):
            return
        acknowledged[f"{subject} {answer['version']}"] = answer


def check(url: str, acknowledged: dict[str, dict[str, Any]]) -> None:
    """Everything that was answered is there, under the id that was answered; a new schema gets a new id."""
    for place, answer in acknowledged.items():
        subject, version = place.split()
        stored = get(f"{url}/subjects/{subject}/versions/{version}")
        assert (stored["id"], stored["schema"]) == (answer["id"], answer["schema"])
    ids = [answer["id"] for answer in acknowledged.values()]
    assert len(set(ids)) == len(ids)
    fresh = post(f"{url}/subjects/after-{len(ids)}/versions", {"type": "fixed", "name": "After", "size": len(ids)})
    assert fresh["id"] > max(ids)
    acknowledged[f"after-{len(ids)} {fresh['version']}"] = fresh


def test_a_second_process_on_one_file_is_refused(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/registry.db"
    with RegistryProcess(store=store) as registry:
        status, [line] = refusal(store=store)
        assert status == ExitCode.PRECONDITION
        assert str(tmp_path / "registry.db") in line
        assert str(registry.pid) in line


def a_text_file(path: Path) -> None:
    path.write_text("this is no database, whatever its name says, and it is long enough to look like one" * 20)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")


def a_newer_store(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_text_file, "not a database"),
        (a_folder, "is a folder"),
        (a_foreign_database, "another program"),
        (a_newer_store, "newer counterfoil"),
    ],
)
def test_a_file_that_is_no_store_is_named(tmp_path: Path, make: Any, said: str) -> None:
    path = tmp_path / "registry.db"
    make(path)
    status, [line] = refusal(store=f"sqlite:///{path}")
    assert status == ExitCode.PRECONDITION
    assert said in line
    assert str(path) in line


@pytest.mark.parametrize("store", ["sqlite:////no/such/folder/registry.db", "mysql://host/db", "sqlite://host/x.db"])
def test_a_store_that_cannot_be_is_named(store: str) -> None:
    status, lines = refusal(store=store)
    assert status == ExitCode.PRECONDITION
    assert len(lines) == 1


def test_an_address_in_use_is_named() -> None:
    with RegistryProcess(store="sqlite://") as registry:
        status, [line] = refusal(port=str(registry.port))
        assert status == ExitCode.PRECONDITION
        assert str(registry.port) in line
