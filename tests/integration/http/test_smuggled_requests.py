"""Requests that try to be more than they are, over raw sockets: none gets what its plain form does not get.

Sources: RFC 9112 (messages, sections 2.2, 5.1, 5.2 and 6.3), RFC 9110 (upgrades, section 7.8).
"""

from __future__ import annotations

import base64
import json
import re
import socket
from typing import TYPE_CHECKING

import pytest

from counterfoil.registry.access.identities.hashes import hash_password
from local_services import RegistryProcess
from strategies.registry.served import ask

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "a-mark-of-the-secret"
PASSWORD = "a password of ana"
ANA, BEN = (
    "authorization: Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode() for name in ("ana", "ben")
)
EVE = "authorization: Bearer guessed"
SECRET = "/subjects/secret.s/versions/1"
ACCESS = """
users: {{ana: '{hash}', ben: '{hash}'}}
admins: [User:ana, "User:proxy:root"]
open: [metrics]
rules: [{{allow: admin, to: User:ben, on: "own.*"}}]
{proxy}
"""
PROXY = 'proxy: {addresses: [127.0.0.1], user_header: x-forwarded-user, prefix: "proxy:"}'
QUICK = {"COUNTERFOIL_READ_TIMEOUT_S": "1", "COUNTERFOIL_KEEP_ALIVE_S": "1"}
"""What ends connections soon whose requests are not whole, or that are kept for another one."""
_LIMIT = 10_000_000


@pytest.fixture(scope="module", params=["", PROXY], ids=["no proxy", "proxy"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server on which ana may do everything, and ben nothing with what is secret."""
    access = tmp_path_factory.mktemp("smuggled") / "access.yaml"
    access.write_text(ACCESS.format(hash=hash_password(PASSWORD.encode()), proxy=request.param))
    access.chmod(0o600)
    with RegistryProcess(settings={"COUNTERFOIL_AUTH_FILE": str(access), **QUICK}) as running:
        body = json.dumps({"schema": json.dumps({"type": "enum", "name": "E", "doc": MARK, "symbols": ["A"]})})
        name, _, value = ANA.partition(": ")
        headers = {name: value, "Content-Type": "application/json"}
        assert (
            ask("127.0.0.1", running.port, "POST", "/subjects/secret.s/versions", body=body, headers=headers)[0] == 200
        )
        for path in (SECRET, "/schemas/ids/1"):  # twice, so that they are answered from memory
            for _ in range(2):
                assert MARK in ask("127.0.0.1", running.port, "GET", path, headers=headers)[1].decode()
        yield running.port


def exchanged(port: int, sent: bytes) -> bytes:
    """All that the server sends until it closes the connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(sent)
            while len(received) < _LIMIT and (data := connection.recv(65536)):
                received += data
        except ConnectionError:
            pass
    return received


def statuses(received: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.[01] (\d{3}) ", received)]


def request(target: str, *lines: str, method: str = "GET", version: str = "1.1", end: str = "\r\n") -> bytes:
    head = [f"{method} {target} HTTP/{version}", "host: localhost", *lines, "connection: close", "", ""]
    return end.join(head).encode("latin-1")


TARGETS = [
    "//subjects/secret.s/versions/1",
    "/subjects/secret.s/versions/1/",
    "/subjects//secret.s/versions/1",
    "/./subjects/secret.s/versions/1",
    "/%2e%2e/subjects/secret.s/versions/1",
    "/health/live/../../subjects/secret.s/versions/1",
    "/health/live/%2e%2e/%2e%2e/subjects/secret.s/versions/1",
    "/health/live%2f..%2f..%2fsubjects",
    "/health/live;/subjects",
    "/health/live/",
    "/health//live",
    "/metrics/../subjects/secret.s/versions/1",
    "/metrics%2f..%2fsubjects",
    "/metrics/",
    "/contexts/metrics",
    "/contexts/health/live",
    "/contexts/../health/live",
    "/contexts/%2e%2e/subjects/secret.s/versions/1",
    "/contexts/./subjects/secret.s/versions/1",
    "/contexts/:.:/subjects/secret.s/versions/1",
    "/contexts/own./subjects/:.:secret.s/versions/1",
    "/contexts/own/schemas/ids/1?subject=:.:secret.s",
    "/contexts/own/schemas/ids/1?subject=:*:secret.s",
    "/schemas/ids/1?subject=own.s",
    "/schemas/ids/01",
    "/schemas/ids/%31",
    "/subjects/own.%2e%2fsecret.s/versions/1",
    "/subjects/own.x%2f..%2fsecret.s/versions/1",
    "/subjects/:.:secret.s/versions/1",
    "/subjects/:*:secret.s/versions/1",
    "/subjects/secret%2es/versions/1",
    "/%73ubjects/secret.s/versions/1",
    f"http://localhost{SECRET}",
    f"http://localhost/health/live/../..{SECRET}",
    f"http://ana:{PASSWORD.replace(' ', '%20')}@localhost{SECRET}",
    f"{SECRET}?access_token={ANA.rpartition(' ')[2]}",
    f"/health/live?/../{SECRET}",
    f"{SECRET}#/health/live",
    f"/health/live#{SECRET}",
    "*",
]


@pytest.mark.parametrize("target", TARGETS)
def test_no_spelling_of_a_path_shows_what_is_secret(port: int, target: str) -> None:
    is_health = target.startswith(("/health/live?", "/health/live#"))
    for credentials in ((), (EVE,), (BEN,)):
        for method in ("GET", "HEAD"):
            received = exchanged(port, request(target, *credentials, method=method))
            [status] = statuses(received)
            assert MARK.encode() not in received
            assert status < 500
            assert status in {400, 401} or is_health or credentials == (BEN,), (credentials, method, status)


@pytest.mark.parametrize(
    "lines",
    [
        [ANA, EVE],
        [EVE, ANA],
        [ANA, ANA],
        [ANA.replace(": ", " : ")],
        [ANA.replace("Basic ", "Basic\r\n ")],
        [f"{ANA}, {EVE.partition(': ')[2]}"],
        [f"x-a: b\r\n {ANA}"],
        [ANA.replace("authorization", "proxy-authorization")],
        [ANA.replace("authorization", "authorization_")],
        [ANA.replace("authorization: ", "cookie: authorization=")],
        ["x-forwarded-user: root", "x-forwarded-user: root"],
        ["x_forwarded_user: root"],
        ["x-forwarded-user : root"],
        ["x-forwarded-user: root", EVE],
        ["x-forwarded-user: root\x00"],
        ["x-forwarded-user: root\nx-a: b", "x-forwarded-user: nobody"],
        ["x-forwarded-for: 127.0.0.1", "x-real-ip: 127.0.0.1", "forwarded: for=127.0.0.1"],
        ["x-original-url: /health/live", "x-rewrite-url: /health/live"],
        ["confluent-identity-pool-id: root", "target-sr-cluster: lsrc"],
        ["connection: upgrade, authorization", "upgrade: h2c"],
        ["connection: upgrade", "upgrade: h2c", ANA, EVE],
        ["connection: upgrade", "upgrade: websocket"],
        ["expect: 100-continue"],
    ],
)
def test_no_header_makes_a_caller_of_a_stranger(port: int, lines: list[str]) -> None:
    for version in ("1.1", "1.0"):
        received = exchanged(port, request(SECRET, *lines, version=version))
        assert MARK.encode() not in received
        assert {status for status in statuses(received) if status != 100} <= {400, 401, 403}, received[:300]


@pytest.mark.parametrize("method", ["get", "Get", "GET\t", "TRACE", "CONNECT", "PATCH", "PROPFIND"])
def test_no_method_is_taken_for_another(port: int, method: str) -> None:
    received = exchanged(port, request(SECRET, BEN, method=method))
    assert MARK.encode() not in received
    assert set(statuses(received)) <= {400, 403, 404, 405}
    override = request(SECRET, BEN, "x-http-method-override: DELETE", "x-method-override: DELETE", method="POST")
    assert set(statuses(exchanged(port, override))) <= {403, 404, 405}


def test_lines_that_end_without_a_carriage_return_get_what_others_get(port: int) -> None:
    for credentials, expected in (((), {400, 401}), ((EVE,), {400, 401}), ((BEN,), {400, 403}), ((ANA,), {200, 400})):
        assert set(statuses(exchanged(port, request(SECRET, *credentials, end="\n")))) <= expected


INNER = request(SECRET)
FRAMINGS = {
    "both lengths": (["content-length: 4", "transfer-encoding: chunked"], b"0\r\n\r\n" + INNER),
    "both, the other way": (["transfer-encoding: chunked", f"content-length: {len(INNER) + 5}"], b"0\r\n\r\n" + INNER),
    "two lengths": (["content-length: 0", f"content-length: {len(INNER)}"], INNER),
    "a list of lengths": ([f"content-length: 0, {len(INNER)}"], INNER),
    "a signed length": ([f"content-length: +{len(INNER)}"], INNER),
    "another coding": (["transfer-encoding: xchunked"], INNER),
    "a hidden coding": (["transfer-encoding:\x0bchunked"], b"0\r\n\r\n" + INNER),
    "two codings": (["transfer-encoding: identity", "transfer-encoding: chunked"], b"0\r\n\r\n" + INNER),
    "a longer chunk": (["transfer-encoding: chunked"], b"1\r\nxx\r\n0\r\n\r\n" + INNER),
    "an extension": (["transfer-encoding: chunked"], b'1;a="\r\n"\r\nx\r\n0\r\n\r\n' + INNER),
    "a trailer": (["transfer-encoding: chunked"], b"0\r\n" + ANA.encode() + b"\r\n\r\n" + INNER),
    "an upgrade": (["connection: upgrade", "upgrade: h2c", "content-length: 0"], INNER),
    "no length": ([], INNER),
}


@pytest.mark.parametrize("name", FRAMINGS)
@pytest.mark.parametrize("credentials", [(), (EVE,), (ANA,)], ids=["none", "wrong", "right"])
def test_what_follows_a_request_has_no_part_in_its_credentials(
    port: int, name: str, credentials: tuple[str, ...]
) -> None:
    lines, body = FRAMINGS[name]
    head = ["POST /subjects/secret.s HTTP/1.1", "host: localhost", *credentials, *lines, "", ""]
    received = exchanged(port, "\r\n".join(head).encode("latin-1") + body)
    assert MARK.encode() not in received
    assert 200 not in statuses(received)


def test_an_upgrade_is_refused_and_what_else_its_headers_say_holds(port: int) -> None:
    for lines in (["connection: upgrade, close"], ["connection: upgrade", "connection: Close"]):
        head = [f"GET {SECRET} HTTP/1.1", "host: localhost", ANA, "upgrade: h2c", *lines, "", ""]
        received = exchanged(port, "\r\n".join(head).encode())
        assert statuses(received) == [200]
        assert b"connection: close\r\n" in received.lower()


def test_a_connection_is_not_a_caller(port: int) -> None:
    asked = [f"GET {SECRET} HTTP/1.1", "host: localhost"]
    turns = [("right", ANA), ("none", ""), ("right", ANA), ("wrong", EVE), ("other", BEN), ("none", ""), ("right", ANA)]
    sent = b"".join("\r\n".join([*asked, *([line] if line else []), "", ""]).encode() for _, line in turns)
    expected = {"right": 200, "none": 401, "wrong": 401, "other": 403}
    found = statuses(exchanged(port, sent + request("/health/live")))
    assert found == [*(expected[name] for name, _ in turns), 200]


def test_a_refused_upload_costs_the_server_nothing(port: int) -> None:
    for credentials in ((), (EVE,)):
        length = f"content-length: {10 * 1024 * 1024}"
        sent = request("/subjects/own.s/versions", *credentials, length, method="POST")
        assert statuses(exchanged(port, sent + b"x" * (10 * 1024 * 1024)))[:1] in ([401], [])
    assert ask("127.0.0.1", port, "GET", "/health/live")[0] == 200
