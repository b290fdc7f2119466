"""A SQLite file that cannot be written, or read: typed answers, reads go on, and so does all when the cause is gone."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from local_services import RegistryProcess, wait_until
from strategies.machine.small_disks import can_mount, filled, small_disk
from strategies.registry.invariants import Client, Connection, Story, violations
from strategies.registry.storm import Storm, is_said, is_typed_503, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from strategies.registry.invariants import Reply

READS = [
    "/subjects",
    "/subjects/base/versions",
    "/subjects/base/versions/latest",
    "/subjects/base/versions/1/schema",
    "/subjects/base/versions/1/referencedby",
    "/schemas?subjectPrefix=base",
    "/schemas/ids/1",
    "/schemas/ids/1/schema",
    "/schemas/ids/1/subjects",
    "/schemas/ids/1/versions",
    "/schemas/types",
    "/contexts",
    "/config",
    "/mode",
    "/config/base?defaultToGlobal=true",
    "/health/live",
]
OTHER_READS = [
    ("POST", "/subjects/base", {"schema": record("R", "a")}),
    ("POST", "/compatibility/subjects/base/versions/latest", {"schema": record("R", "a", "b")}),
]
WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/subjects/new/versions", {"schema": record("New", "a")}),
    ("POST", "/subjects/base/versions", {"schema": record("R", "a", "more")}),
    ("DELETE", "/subjects/base/versions/1", None),
    ("DELETE", "/subjects/base", None),
    ("PUT", "/config", {"compatibility": "FULL"}),
    ("PUT", "/config/base", {"compatibility": "NONE"}),
    ("PUT", "/mode/base", {"mode": "READONLY"}),
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "registry.db"


def check_answers(url: str, *, ready: int = 200) -> None:
    """Each read is answered, each write refused as it should be, and the server says how it is."""
    connection = Connection(url)
    try:
        for path in READS:
            assert answer(connection, "GET", path).status == 200, path
        for method, path, body in OTHER_READS:
            assert answer(connection, method, path, body).status == 200, path
        for method, path, body in WRITES:
            assert is_typed_503(reply := answer(connection, method, path, body)), (method, path, reply)
        reply = answer(connection, "GET", "/health/ready")
        assert reply.status == ready
        assert ready == 200 or reply.headers["retry-after"] == "1"
    finally:
        connection.close()


def check_recovery(url: str, story: Story) -> None:
    """Writes succeed again, and nothing that must not be is there; at most a second or two after the cause is gone."""
    client = Client(url, story)
    register_until_taken(client, "a", "afterwards")
    client.close()
    assert violations(url, story) == []


def register_until_taken(client: Client, *fields: str) -> None:
    """Register a version of subject ``base`` again until it is taken."""
    wait_until(
        lambda: getattr(client.register("base", record("R", *fields)), "status", None) == 200,
        what=f"a version with {', '.join(fields)}",
    )


@contextmanager
def running(store: Path, **settings: str) -> Iterator[tuple[RegistryProcess, Story]]:
    """A registry with one schema in subject ``base``, and the story of it."""
    story = Story()
    with RegistryProcess(store=f"sqlite:///{store}", settings=settings) as registry:
        client = Client(registry.url, story)
        register_until_taken(client, "a")
        client.close()
        yield registry, story


# --- no room ----------------------------------------------------------------------------------------------------------


@contextmanager
def limited_file_size(store: Path, registry: RegistryProcess) -> Iterator[None]:
    """The server may not make any file longer than the log of writes is now."""
    longest = max(path.stat().st_size for path in store.parent.iterdir())
    before = resource.prlimit(registry.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(registry.pid, resource.RLIMIT_FSIZE, (longest + 4096, before[1]))
    try:
        yield
    finally:
        resource.prlimit(registry.pid, resource.RLIMIT_FSIZE, before)


def filled_disk(store: Path, _: RegistryProcess) -> AbstractContextManager[None]:
    """The disk of the file has no byte left."""
    return filled(store.parent)


def check_no_room(store: Path, no_room: Callable[[Path, RegistryProcess], Any], said: str) -> None:
    with running(store) as (registry, story):
        with Storm([registry.url] * 4, story=story) as storm:
            wait_until(lambda: story.acknowledged() > 40, what="writes before")
            with no_room(store, registry):
                told = len(storm.refusals) + 20
                wait_until(lambda: len(storm.refusals) >= told, what="refusals")
                check_answers(registry.url)
            enough = story.acknowledged() + 40
            wait_until(lambda: story.acknowledged() > enough, what="writes afterwards")
        assert storm.surprises == []
        assert any(said in reply.json["message"] for reply in storm.refusals)
        check_recovery(registry.url, story)
        registry.kill()
        registry.restart()
        assert violations(registry.url, story) == []


def test_a_limit_on_file_sizes_is_reported_and_the_server_continues(store: Path) -> None:
    check_no_room(store, limited_file_size, "limit on file sizes")


@contextmanager
def frozen_file(store: Path, registry: RegistryProcess) -> Iterator[None]:
    """The file and its log are read-only for everybody, for those who have them open too."""
    del registry
    frozen = [str(store), f"{store}-wal"]
    subprocess.run(["chattr", "+i", *frozen], check=True)
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", *frozen], check=True)


def can_freeze() -> bool:
    """Whether the disk knows read-only files, and we may make them."""
    with tempfile.NamedTemporaryFile() as file:
        frozen = subprocess.run(["chattr", "+i", file.name], capture_output=True, check=False).returncode == 0
        return frozen and subprocess.run(["chattr", "-i", file.name], check=True).returncode == 0


if os.geteuid() == 0 and shutil.which("chattr") and can_freeze():

    def test_a_read_only_file_is_reported_and_the_server_continues(store: Path) -> None:
        check_no_room(store, frozen_file, "is read-only")


if can_mount():

    def test_a_full_disk_is_reported_and_the_server_continues(tmp_path: Path) -> None:
        with small_disk(tmp_path, size_mb=24) as disk:
            check_no_room(disk / "registry.db", filled_disk, "disk is full")


# --- the file itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moved", ["registry.db", "registry.db-wal"])
def test_a_file_that_is_moved_away_takes_no_writes_until_it_is_back(store: Path, moved: str) -> None:
    """They would be acknowledged and go when the process ends."""
    place = store.with_name(moved)
    with running(store) as (registry, story):
        place.rename(store.with_name("elsewhere"))
        check_answers(registry.url, ready=503)
        place.write_bytes(b"something else")
        check_answers(registry.url, ready=503)
        store.with_name("elsewhere").rename(place)
        check_recovery(registry.url, story)


def test_another_program_that_locks_the_file_is_waited_for_beside_the_reads(store: Path) -> None:
    with running(store) as (registry, story):
        locker = sqlite3.connect(store, isolation_level=None)
        locker.execute("BEGIN IMMEDIATE")
        with Storm([registry.url] * 2, story=story) as storm:
            connection = Connection(registry.url)
            while not storm.refusals:
                assert connection.get("/subjects/base/versions/1")["id"] == 1
            locker.close()
            enough = story.acknowledged() + 20
            wait_until(lambda: story.acknowledged() > enough, what="writes afterwards")
        assert {reply.json["error_code"] for reply in storm.refusals} == {50002}
        assert "locked by another program" in storm.refusals[0].json["message"]
        assert storm.surprises == []
        check_recovery(registry.url, story)


def overwritten(content: bytes) -> bytes:
    """All pages but the first few hold noise."""
    return content[:8192] + bytes(range(256)) * (len(content) // 256 - 32)


def cut_off(content: bytes) -> bytes:
    return content[:8192]


@pytest.mark.parametrize("damage", [overwritten, cut_off])
def test_a_damaged_file_is_reported_and_the_server_continues(store: Path, damage: Callable[[bytes], bytes]) -> None:
    with running(store) as (registry, story):
        client = Client(registry.url, story)
        for number in range(100):
            client.register(f"s{number}", record("R", f"f{number}"))
        client.close()
    with RegistryProcess(store=f"sqlite:///{store}") as registry:
        damaged = damage(store.read_bytes())
        with store.open("r+b") as file:
            file.write(damaged)
            file.truncate(len(damaged))
        connection = Connection(registry.url)
        replies = [answer(connection, "GET", path) for path in READS]
        replies += [answer(connection, "GET", f"/schemas/ids/{number}") for number in range(1, 50)]
        replies += [answer(connection, *write) for write in WRITES]
        assert {reply.status for reply in replies} <= {200, 404, 503}
        refusals = [reply for reply in replies if reply.status == 503]
        assert len(refusals) > 20
        assert all(is_typed_503(reply) for reply in refusals), refusals
        assert all("damaged" in reply.json["message"] for reply in refusals), refusals
        assert answer(connection, "GET", "/health/live").status == 200
        connection.close()


def answer(connection: Connection, method: str, path: str, body: Any = None) -> Reply:
    """The answer to a request, which there must be."""
    reply = connection.ask(method, path, body)
    assert reply is not None, f"no answer to {method} {path}"
    return reply


def test_one_flipped_byte_of_a_schema_is_not_served(store: Path) -> None:
    with running(store) as (registry, story):
        client = Client(registry.url, story)
        client.register("s", record("R", "the_field_that_rots"))
        client.close()
    content = store.read_bytes()
    assert content.count(b"the_field_that_rots") == 1
    store.write_bytes(content.replace(b"the_field_that_rots", b"the_field_that_rote"))
    with RegistryProcess(store=f"sqlite:///{store}") as registry:
        connection = Connection(registry.url)
        reply = answer(connection, "GET", "/schemas/ids/2")
        assert is_typed_503(reply)
        assert "damaged" in reply.json["message"]
        assert answer(connection, "GET", "/schemas/ids/1").json["subject"] == "base"
        connection.close()


# --- too much at once -------------------------------------------------------------------------------------------------


def test_writes_beyond_the_bounds_are_refused(store: Path) -> None:
    settings = {"COUNTERFOIL_MAX_WAITING_WRITES": "1", "COUNTERFOIL_WRITE_TIMEOUT_S": "0.5"}
    with running(store, **settings) as (registry, story):
        locker = sqlite3.connect(store, isolation_level=None)
        locker.execute("BEGIN IMMEDIATE")
        with Storm([registry.url] * 6, story=story) as storm:
            limits = ("max_waiting_writes", "write_timeout_s")
            wait_until(lambda: all(is_said(limit, storm) for limit in limits), what="refusals of both kinds")
            locker.close()
            enough = story.acknowledged() + 40
            wait_until(lambda: story.acknowledged() > enough, what="writes afterwards")
        assert storm.surprises == []
        check_recovery(registry.url, story)
