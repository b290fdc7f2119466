"""Connections over raw sockets: slow clients, too many of them, large heads, what is no HTTP, wishes for upgrades."""

from __future__ import annotations

import gzip
import json
import select
import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

import pytest

from local_services import RegistryProcess, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

READ_TIMEOUT_S = 0.5
MAX_CONNECTIONS = 8
MAX_HEADER_BYTES = 4000
MAX_BODY_BYTES = 100_000
KEEP_ALIVE_S = 2
PATIENCE_S = 120


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryProcess]:
    settings = {
        "COUNTERFOIL_READ_TIMEOUT_S": str(READ_TIMEOUT_S),
        "COUNTERFOIL_MAX_CONNECTIONS": str(MAX_CONNECTIONS),
        "COUNTERFOIL_MAX_HEADER_BYTES": str(MAX_HEADER_BYTES),
        "COUNTERFOIL_MAX_BODY_BYTES": str(MAX_BODY_BYTES),
        "COUNTERFOIL_KEEP_ALIVE_S": str(KEEP_ALIVE_S),
    }
    with RegistryProcess(store="sqlite://", settings=settings) as running:
        yield running


class Client:
    """A connection of which every byte is ours."""

    def __init__(self, registry: RegistryProcess) -> None:
        self.socket = socket.create_connection(("127.0.0.1", registry.port), timeout=PATIENCE_S)
        self.received = b""

    def send(self, data: bytes) -> Client:
        self.socket.sendall(data)
        return self

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next answer: status, headers, body."""
        while b"\r\n\r\n" not in self.received:
            self._receive()
        head, _, rest = self.received.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", "0"))
        self.received = rest
        while len(self.received) < size:
            self._receive()
        body, self.received = self.received[:size], self.received[size:]
        return int(status.split()[1]), headers, body

    def _receive(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"closed after {self.received!r}")
        self.received += data

    def ends(self) -> bool:
        """Whether the server closes the connection, without another byte."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def refused(client: Client, status: int) -> bool:
    """Whether the answer has this status and the API's body, and the connection ends with it."""
    found, headers, body = client.answer()
    assert found == status, body
    assert json.loads(body)["error_code"] == status
    assert headers["connection"] == "close"
    assert len(headers["x-request-id"]) == 36
    assert headers["x-content-type-options"] == "nosniff"
    return client.ends()


SLOW = {
    "nothing at all": (b"", b""),
    "a request line that does not end": (b"GET /sub", b"j"),
    "headers without an end": (b"GET /subjects HTTP/1.1\r\nhost: x\r\n", b"x: y\r\n"),
    "empty lines": (b"\r\n", b"\r\n"),
    "a body that does not end": (b"POST /subjects/s HTTP/1.1\r\nhost: x\r\ncontent-length: 90\r\n\r\n{", b" "),
    "chunks": (b"POST /subjects/s HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a body that nobody reads": (b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 90\r\n\r\n{", b" "),
}


@pytest.mark.parametrize("case", SLOW)
def test_a_client_that_sends_slowly_is_cut_off(registry: RegistryProcess, case: str) -> None:
    first, more = SLOW[case]
    with Client(registry) as client:
        if first:
            client.send(first)
        if case == "a body that nobody reads":
            assert client.answer()[0] == 404
        stop = threading.Event()
        dripping = threading.Thread(target=drip, args=(client, more, stop))
        dripping.start()
        try:
            assert refused(client, 408)
        finally:
            stop.set()
            dripping.join()


def drip(client: Client, data: bytes, stop: threading.Event) -> None:
    """Send a little again and again: time alone must count, not whether anything comes."""
    while not stop.wait(READ_TIMEOUT_S / 5):
        try:
            client.send(data)
        except OSError:
            return


def test_an_idle_connection_is_kept_for_longer_than_a_slow_one_and_then_closed(registry: RegistryProcess) -> None:
    with Client(registry) as slow, Client(registry) as idle:
        slow.send(b"GET /sub")
        assert idle.send(b"GET /subjects HTTP/1.1\r\nhost: x\r\n\r\n").answer()[0] == 200
        assert first_to_end(slow, idle) is slow
        assert refused(slow, 408)
        assert idle.ends()


def first_to_end(*clients: Client) -> Client:
    """Return the client to which the server writes, or whose connection it closes, before those of the others."""
    heard, _, _ = select.select([client.socket for client in clients], [], [], PATIENCE_S)
    assert heard, f"waited {PATIENCE_S} s for the end of one of {len(clients)} connections"
    return next(client for client in clients if client.socket in heard)


def test_a_slow_client_keeps_nobody_else_waiting(registry: RegistryProcess) -> None:
    with Client(registry) as slow, Client(registry) as quick:
        slow.send(b"GET /sub")
        for _ in range(20):
            assert quick.send(b"GET /subjects HTTP/1.1\r\nhost: x\r\n\r\n").answer()[0] == 200


def test_a_client_that_takes_no_answer_is_cut_off(registry: RegistryProcess) -> None:
    """The answers of thousands of requests, none of which it reads, do not stay in memory."""
    with Client(registry) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n"

        def is_cut_off() -> bool:
            try:
                client.socket.settimeout(0.1)
                client.send(request)
            except TimeoutError:
                return False
            except OSError:
                return True
            return False

        wait_until(is_cut_off, what="the end of the connection")


def test_connections_above_the_limit_are_refused_and_taken_again_later(registry: RegistryProcess) -> None:
    with ExitStack() as stack:
        wait_until(lambda: all_are_served(registry, 1), what="a free connection")
        held = [stack.enter_context(Client(registry)) for _ in range(MAX_CONNECTIONS)]
        for client in held:
            assert client.send(b"GET /subjects HTTP/1.1\r\nhost: x\r\n\r\n").answer()[0] == 200
        with Client(registry) as one_too_many:
            status, headers, body = one_too_many.answer()
            assert (status, json.loads(body)["error_code"]) == (503, 503)
            assert int(headers["retry-after"]) >= 1
            assert one_too_many.ends()
    wait_until(lambda: all_are_served(registry, MAX_CONNECTIONS), what="free connections")


def all_are_served(registry: RegistryProcess, count: int) -> bool:
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(registry)) for _ in range(count)]
        try:
            statuses = [c.send(b"GET /subjects HTTP/1.1\r\nhost: x\r\n\r\n").answer()[0] for c in clients]
        except OSError:
            return False
        return statuses == [200] * count


@pytest.mark.parametrize(
    "head",
    [
        b"GET /subjects HTTP/1.1\r\nhost: x\r\nx: " + b"y" * MAX_HEADER_BYTES + b"\r\n\r\n",
        b"GET /subjects HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * (MAX_HEADER_BYTES // 5) + b"\r\n",
        b"GET /subjects?" + b"y" * MAX_HEADER_BYTES + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
    ids=["one header", "many headers", "the line"],
)
@pytest.mark.parametrize("piece_bytes", [10**6, 700])
def test_a_head_above_the_limit_is_refused(registry: RegistryProcess, head: bytes, piece_bytes: int) -> None:
    with Client(registry) as client:
        client.send(b"GET /subjects HTTP/1.1\r\nhost: x\r\n\r\n")
        assert client.answer()[0] == 200
        for begin in range(0, len(head), piece_bytes):
            client.send(head[begin : begin + piece_bytes])
        assert refused(client, 431)


def test_a_head_within_the_limit_and_a_large_body_are_taken(registry: RegistryProcess) -> None:
    body = json.dumps({"schema": '"int"' + " " * (MAX_BODY_BYTES - 100)}).encode()
    head = b"POST /subjects/large/versions HTTP/1.1\r\nhost: x\r\nx: " + b"y" * (MAX_HEADER_BYTES - 200)
    with Client(registry) as client:
        for _ in range(2):
            client.send(head + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            assert client.answer()[0] == 200


def test_a_body_above_the_limit_is_answered_and_not_taken_in_for_ever(registry: RegistryProcess) -> None:
    with Client(registry) as client:
        client.send(b"POST /subjects/s HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n%b\r\n" % (50_000, b" " * 50_000)
        for _ in range(3):
            client.send(chunk)
        status, _, body = client.answer()
        assert (status, json.loads(body)["error_code"]) == (413, 413)

        def is_cut_off() -> bool:
            try:
                client.send(chunk)
            except OSError:
                return True
            return False

        wait_until(is_cut_off, what="the end of the connection")


@pytest.mark.parametrize(
    "data",
    [
        b"NONSENSE\r\n\r\n",
        b"GET /subjects HTTP/1.1\r\nhost x\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"CONNECT there:443 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
    ids=repr,
)
def test_what_is_no_http_is_refused(registry: RegistryProcess, data: bytes) -> None:
    with Client(registry) as client:
        client.send(data)
        assert refused(client, 400)


def test_options_for_the_server_as_a_whole(registry: RegistryProcess) -> None:
    with Client(registry) as client:
        status, headers, _ = client.send(b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n").answer()
        assert status == 204
        assert headers["allow"] == "DELETE, GET, HEAD, OPTIONS, POST, PUT"


@pytest.mark.parametrize("wish", [b"h2c", b"websocket"])
@pytest.mark.parametrize("is_split", [False, True])
def test_a_wish_for_another_protocol_is_not_heard_and_loses_nothing(
    registry: RegistryProcess, wish: bytes, *, is_split: bool
) -> None:
    """As Java's HttpClient asks with its first request: the body, and what comes after it, must arrive."""
    body = json.dumps({"schema": '"long"'}).encode()
    head = (
        b"POST /subjects/upgrade/versions HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        b"Upgrade: %b\r\nHTTP2-Settings: AAEAAEAA\r\nX-Request-ID: mine\r\nContent-Length: %d\r\n\r\n"
    ) % (wish, len(body))
    plain = b"GET /subjects/upgrade/versions HTTP/1.1\r\nhost: x\r\n\r\n"
    with Client(registry) as client:
        for _ in range(2):
            data = head + body + plain
            for piece in (data[:100], data[100 : len(head) + 5], data[len(head) + 5 :]) if is_split else (data,):
                client.send(piece)
            status, headers, answered = client.answer()
            assert status == 200, answered
            assert headers["x-request-id"] == "mine"
            assert json.loads(client.answer()[2]) == [1]


def test_a_hundred_requests_at_once_are_answered_in_order(registry: RegistryProcess) -> None:
    with Client(registry) as client:
        client.send(
            b"".join(b"GET /schemas/ids/%d HTTP/1.1\r\nhost: x\r\n\r\n" % (number + 900) for number in range(100))
        )
        for number in range(100):
            status, _, body = client.answer()
            assert status == 404
            assert f"Schema {number + 900} not" in body.decode()


def test_a_small_packed_body_that_becomes_huge_is_refused(registry: RegistryProcess) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < MAX_BODY_BYTES
    head = b"POST /subjects/s HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)
    with Client(registry) as client:
        client.send(head + bomb)
        status, _, body = client.answer()
        assert (status, json.loads(body)["error_code"]) == (413, 413)


# --- answers in one piece ---------------------------------------------------------------------------------------------


SCHEMA = json.dumps({"schema": json.dumps({"type": "enum", "name": "Known", "symbols": ["A"]})}).encode()


def asked(method: str, path: str, *, body: bytes = b"", http: str = "1.1", more: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/{http}\r\nhost: x\r\nx-request-id: mine\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + more + b"\r\n" + body


def told(client: Client, request: bytes) -> tuple[bytes, bytes]:
    """The bytes of an answer: its head without the date, and its body."""
    client.send(request)
    while b"\r\n\r\n" not in client.received:
        client._receive()
    head = client.received.partition(b"\r\n\r\n")[0]
    body = client.answer()[2] if not request.startswith(b"HEAD") else b""
    client.received = b"" if request.startswith(b"HEAD") else client.received
    return b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"date: ")), body


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/schemas/ids/1", b""),
        ("GET", "/subjects/known/versions/latest", b""),
        ("POST", "/subjects/known/versions", SCHEMA),
        ("POST", "/compatibility/subjects/known/versions/latest", SCHEMA),
        ("HEAD", "/schemas/ids/1", b""),
    ],
)
@pytest.mark.parametrize(
    "more",
    [
        b"",
        b"accept-encoding: gzip\r\n",
        b'if-none-match: "other"\r\n',
        b"accept: application/json\r\n",
        b"accept: text/html\r\n",
    ],
)
def test_answers_in_one_piece_have_the_bytes_of_the_others(
    registry: RegistryProcess, method: str, path: str, body: bytes, more: bytes
) -> None:
    with Client(registry) as client:
        told(client, asked("POST", "/subjects/known/versions", body=SCHEMA))
        ordinary = told(client, asked(method, f"{path}?no=lane", body=body, more=more))
        for _ in range(3):
            assert told(client, asked(method, path, body=body, more=more)) == ordinary
        assert b"x-request-id: mine" in ordinary[0]


def test_answers_in_one_piece_keep_to_the_connection(registry: RegistryProcess) -> None:
    get = asked("GET", "/schemas/ids/1")
    with Client(registry) as client:
        told(client, asked("POST", "/subjects/known/versions", body=SCHEMA))
        once = told(client, get)
        client.send(get * 20)
        assert [client.answer()[2] for _ in range(20)] == [once[1]] * 20
        client.send(asked("GET", "/schemas/ids/1", more=b"connection: close\r\n"))
        assert client.answer()[1]["connection"] == "close"
        assert client.ends()
    with Client(registry) as client:
        assert told(client, asked("GET", "/schemas/ids/1", http="1.0"))[1] == once[1]
        assert client.ends()
    with Client(registry) as client:
        answer = client.send(asked("GET", "/metrics")).answer()[2].decode()
        counter = 'counterfoil_requests_total{method="GET",route="/schemas/ids/{id}",status="200"}'
        [count] = [line.removeprefix(counter) for line in answer.splitlines() if line.startswith(counter)]
        assert float(count) > 20
