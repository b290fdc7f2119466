"""Several processes on one port: requests under way, a killed worker, measures, stopping, and what cannot start."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.serving.server import listen
from counterfoil.registry.serving.workers import Boards, PlaceOnBoards, Workers
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.telemetry import Telemetry
from counterfoil.schema.exit_codes import ExitCode
from local_services import RegistryProcess, wait_until
from strategies.registry.served import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.serving.server import Seat
    from local_services import PostgresClient

WORKERS = 3
WRITERS = 6
KILLS = 4
COUNTED = re.compile(r'counterfoil_requests_total\{method="GET",route="/mode",status="200"\} (\d+)')
DURATIONS = re.compile(r'counterfoil_request_seconds_count\{route="/mode"\} (\d+)')


@pytest.fixture
def registry(postgres_url: str, tmp_path: Path) -> Iterator[RegistryProcess]:
    settings = {"COUNTERFOIL_WORKERS": str(WORKERS)}
    with RegistryProcess(store=postgres_url, settings=settings, log=tmp_path / "registry.log") as running:
        wait_until(lambda: len(workers_of(running)) == WORKERS, what="the workers")
        yield running


def workers_of(registry: RegistryProcess) -> list[int]:
    return children_of(registry.pid)


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=120) as reply:
        return reply.read()


def register(url: str, subject: str, schema: Any) -> dict[str, Any]:
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    request = urllib.request.Request(f"{url}/subjects/{subject}/versions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def counted(registry: RegistryProcess) -> int:
    """How many times ``/mode`` was asked for, as whichever worker takes the connection says."""
    measures = get(f"{registry.url}/metrics").decode()
    (requests,), (durations,) = COUNTED.findall(measures), DURATIONS.findall(measures)
    assert requests == durations
    return int(requests)


def test_connections_are_dealt_out_and_measures_added_up(registry: RegistryProcess) -> None:
    before = {pid: cpu_ticks(pid) for pid in workers_of(registry)}
    for _ in range(300):
        get(f"{registry.url}/mode")
    wait_until(lambda: counted(registry) == 300, what="all requests to be counted")
    for _ in range(20):  # whoever answers
        assert counted(registry) == 300
    used = [cpu_ticks(pid) - ticks for pid, ticks in before.items()]
    assert all(ticks > 0 for ticks in used), used


def test_gauges_are_those_of_all_workers(registry: RegistryProcess) -> None:
    for number in range(5):
        register(registry.url, f"s{number}", {"type": "fixed", "name": "F", "size": number + 1})

    def gauges() -> dict[str, str]:
        lines = get(f"{registry.url}/metrics").decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    def are_complete() -> bool:
        found = gauges()
        connections = found["counterfoil_pool_connections_max"]
        return found.get("counterfoil_subjects") == "5.0" and connections == f"{10.0 * WORKERS}"

    for _ in range(WORKERS * 3):  # each worker may answer
        wait_until(are_complete, what="the subjects to be counted, and the connections of all workers")
        assert gauges()["counterfoil_store_up"] == "1.0"


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_what_is_written_to_one_worker_is_known_to_all_at_once(registry: RegistryProcess) -> None:
    for number in range(20):
        answer = register(registry.url, f"s{number}", {"type": "fixed", "name": "F", "size": number + 1})
        for _ in range(3):
            assert json.loads(get(f"{registry.url}/schemas/ids/{answer['id']}"))["subject"] == f"s{number}"


def test_a_killed_worker_is_replaced_and_nothing_that_was_answered_is_lost(
    registry: RegistryProcess, tmp_path: Path
) -> None:
    """Workers are killed under load; each time all of them are there again, and no sum goes down."""
    acknowledged: dict[str, dict[str, Any]] = {}
    refused: list[bytes] = []
    stop = threading.Event()
    writers = [
        threading.Thread(target=write, args=(registry.url, n, acknowledged, refused, stop)) for n in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    sums = []
    try:
        for turn in range(KILLS):
            for _ in range(10):
                get_patiently(f"{registry.url}/mode")
            sums.append(counted_patiently(registry))
            enough = len(acknowledged) + 20
            wait_until(lambda enough=enough: len(acknowledged) >= enough, what="registrations")
            victim = workers_of(registry)[turn % WORKERS]
            os.kill(victim, signal.SIGKILL)
            wait_until(
                lambda victim=victim: victim not in (now := workers_of(registry)) and len(now) == WORKERS,
                what="another worker",
            )
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert refused == []
    assert sums == sorted(sums)
    log = (tmp_path / "registry.log").read_text()
    assert log.count("another one takes its place") == log.count("killed by SIGKILL") == KILLS
    ids = set()
    for subject, answer in acknowledged.items():
        stored = json.loads(get_patiently(f"{registry.url}/subjects/{subject}/versions/{answer['version']}"))
        assert (stored["id"], stored["schema"]) == (answer["id"], answer["schema"])
        ids.add(answer["id"])
    assert len(ids) == len(acknowledged)


def write(
    url: str, writer: int, acknowledged: dict[str, dict[str, Any]], refused: list[bytes], stop: threading.Event
) -> None:
    """Register one new schema after another; a connection that breaks is made anew, and the schema sent again."""
    number = 0
    while not stop.is_set():
        number += 1
        subject = f"w{writer}-{number}"
        schema = {"type": "record", "name": f"R{writer}_{number}", "fields": []}
        while not stop.is_set():
            try:
                acknowledged[subject] = register(url, subject, schema)
                break
            except urllib.error.HTTPError as error:
                refused.append(error.read())
                return
            except (urllib.error.URLError, http.client.HTTPException, OSError):
                continue


def get_patiently(url: str) -> bytes:
    """The answer; asked again where the worker that had the connection was killed."""
    for _ in range(50):
        try:
            return get(url)
        except urllib.error.HTTPError:
            raise
        except (urllib.error.URLError, http.client.HTTPException, OSError):
            continue
    raise AssertionError(f"no answer from {url}")


def counted_patiently(registry: RegistryProcess) -> int:
    measures = get_patiently(f"{registry.url}/metrics").decode()
    return sum(map(int, COUNTED.findall(measures)))


def test_sighup_ends_no_worker_that_has_no_files_to_read_again(registry: RegistryProcess) -> None:
    before = workers_of(registry)
    os.kill(registry.pid, signal.SIGHUP)
    assert get(f"{registry.url}/subjects") == b"[]"
    assert workers_of(registry) == before
    assert registry.stop() == 0


def test_an_ordered_stop_answers_what_is_under_way_and_is_a_success(registry: RegistryProcess) -> None:
    with socket.create_connection(("127.0.0.1", registry.port), timeout=120) as connection:
        body = json.dumps({"schema": '"int"'}).encode()
        head = b"POST /subjects/s/versions HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
        connection.sendall(head % len(body))
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")  # so that it is under way
        connection.sendall(body[:5])
        pids = workers_of(registry)
        os.kill(registry.pid, signal.SIGTERM)
        wait_until(lambda: not is_listening(registry.port), what="the end of listening")
        connection.sendall(body[5:])
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert registry.stop() == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_worker_that_becomes_ready_during_a_stop_is_no_failure() -> None:
    """A worker ends its start before it stops, and its parent has closed the port by then."""
    reader, writer = os.pipe()

    def ready_when_stopped(_settings: ServerSettings, seat: Seat) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        os.write(writer, b"1")
        signal.sigwait({signal.SIGTERM})
        seat.announce("")

    settings = ServerSettings(workers=1, store="postgresql://127.0.0.1/none", stop_timeout_s=10)
    with listen("127.0.0.1", 0) as listener:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                Workers(settings, [listener], serve=ready_when_stopped).run()
                code = 0
            finally:
                os._exit(code)
        assert os.read(reader, 1) == b"1"
        os.kill(pid, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(reader)
    os.close(writer)


def is_listening(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
    except OSError:
        return False


def test_workers_end_when_their_parent_is_killed(postgres_url: str, tmp_path: Path) -> None:
    settings = {"COUNTERFOIL_WORKERS": "2"}
    with RegistryProcess(store=postgres_url, settings=settings, log=tmp_path / "registry.log") as registry:
        pids = workers_of(registry)
        os.kill(registry.pid, signal.SIGKILL)
        wait_until(lambda: not any(is_running(pid) for pid in pids), what="the end of the workers")
        assert not is_listening(registry.port)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("store", "said"),
    [("sqlite://", "a registry in memory"), ("sqlite:///x.db", "a SQLite file belongs to one process")],
)
def test_a_store_of_one_process_is_refused(store: str, said: str) -> None:
    status, [line] = refusal(workers="2", store=store)
    assert status == ExitCode.USAGE
    assert said in line


def test_workers_that_do_not_start_are_given_up_with_their_reason(postgres: PostgresClient) -> None:
    status, lines = refusal(workers="2", store=postgres.url("no_such_database"))
    assert status == ExitCode.PRECONDITION
    assert "did not start" in lines[-1]
    assert "no_such_database" in lines[-1]
    assert not any("Traceback" in line for line in lines)


def test_a_port_in_use_is_named(registry: RegistryProcess) -> None:
    status, lines = refusal(workers="2", store=registry.store, port=str(registry.port))
    assert status == ExitCode.PRECONDITION
    assert str(registry.port) in lines[-1]


# --- the memory that they share


def test_boards_show_the_last_that_was_written() -> None:
    boards = Boards(2)
    assert boards.read(0) == b""
    for content in (b"one", b"a longer one" * 100, b"", b"x"):
        boards.write(0, content)
        assert boards.read(0) == content
        assert boards.read(1) == b""
    boards.write(0, b"y" * 600_000)  # does not fit
    assert boards.read(0) == b"x"


def test_boards_are_never_read_half_written() -> None:
    boards = Boards(1)
    contents = {bytes([letter]) * size for letter, size in zip(b"abcdefgh", range(1000, 400_000, 50_000), strict=False)}
    child = os.fork()
    if child == 0:
        while True:
            for content in contents:
                boards.write(0, content)
    try:
        wait_until(lambda: boards.read(0) != b"", what="the first write")
        for _ in range(2000):
            assert boards.read(0) in contents
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_successor_goes_on_counting_where_the_one_before_was() -> None:
    boards = Boards(2)
    first, other = (Telemetry(board=PlaceOnBoards(boards, place)) for place in (0, 1))
    for telemetry in (first, first, other):
        telemetry.record("GET", "/mode", 200, 0.001)
        telemetry.show()
    successor = Telemetry(board=PlaceOnBoards(boards, 0), begun_with=boards.read(0))
    successor.record("GET", "/mode", 200, 0.001)
    assert COUNTED.findall(successor.exposition().decode()) == ["4"]
    assert DURATIONS.findall(other.exposition().decode()) == ["4"]


def test_what_one_has_answered_another_one_answers_as_well() -> None:
    boards = Boards(2)
    first, other = (Telemetry(board=PlaceOnBoards(boards, place)) for place in (0, 1))
    for number in range(1, 4):
        first.record("GET", "/mode", 200, 0.001)
        assert COUNTED.findall(first.exposition().decode()) == [str(number)]
        assert COUNTED.findall(other.exposition().decode()) == [str(number)]


def test_all_workers_read_the_access_file_again_at_sighup(postgres_url: str, tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text("anonymous: [{allow: READ, on: '*'}]\n")
    settings = {"COUNTERFOIL_WORKERS": "2", "COUNTERFOIL_AUTH_FILE": str(access)}
    with RegistryProcess(store=postgres_url, settings=settings, log=tmp_path / "registry.log") as running:
        wait_until(lambda: len(workers_of(running)) == 2, what="the workers")
        before = workers_of(running)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            register(running.url, "s", "string")
        access.write_text("anonymous: [{allow: WRITE, on: '*'}]\n")
        os.kill(running.pid, signal.SIGHUP)

        def is_permitted_by_all() -> bool:
            try:
                return all(register(running.url, "s", "string")["id"] for _ in range(20))
            except urllib.error.HTTPError:
                return False

        wait_until(is_permitted_by_all, what="the new rules in all workers")
        assert workers_of(running) == before
