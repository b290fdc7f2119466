"""Requests that could be understood in two ways, byte by byte: directly, and through nginx with both recipes.

Each is answered as its plain form is, or refused; none is answered as if somebody else had sent it, and no second
request comes out of the body of a first one.

Source: RFC 9112, sections 2.2 (line ends), 3.2 (forms of the target), 5.2 (obs-fold), 6.3 and 11.2 (the length of a
message, request smuggling); RFC 9110, sections 7.8 (Upgrade) and 10.1.1 (Expect).
"""

from __future__ import annotations

import base64
import json
import re
import socket
import ssl
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import bcrypt
import pytest

from local_services import RegistryProcess
from local_services.nginx import Nginx
from strategies.access.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = "the secret of the proxy"
CERTIFICATES = "counterfoil-certificates.conf"
ACCESS = """\
users: {{alice: '{alice}', bob: '{bob}'}}
proxy:
  addresses: [127.0.0.1/32]
  user_header: x-forwarded-user
  groups_header: x-forwarded-groups
  secret_header: x-proxy-secret
  secret_file: proxy-secret
  prefix: "cert:"
rules:
  - {{allow: owner, to: User:alice, on: "*"}}
  - {{allow: owner, to: "User:cert:alice", on: "*"}}
  - {{allow: owner, to: Group:cert:admins, on: "*"}}
  - {{allow: reader, to: User:bob, on: "pay.*"}}
"""
PATIENCE_S = 120
KEEP_ALIVE_S = 1  # what is kept open ends soon, so that all that comes back can be read
MARK = "MarkOfTheSecret"


def basic(name: str, password: str = "pw") -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


ALICE, BOB, WRONG = basic("alice"), basic("bob"), basic("alice", "wrong")
FORGED = f"X-Forwarded-User: alice\r\nX-Forwarded-Groups: admins\r\nX-Proxy-Secret: {SECRET}"


@dataclass
class Way:
    """A way to the registry: an address from which to connect, and where to; with ``authority``, over TLS."""

    name: str
    port: int
    address: str = "127.0.0.1"
    authority: Authority | None = None

    def connect(self) -> socket.socket:
        raw = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S, source_address=(self.address, 0))
        if self.authority is None:
            return raw
        return ssl.create_default_context(cafile=str(self.authority.file)).wrap_socket(raw, server_hostname="127.0.0.1")

    def told(self, *sent: bytes | str) -> Told:
        """Return all that comes back on a new connection until it ends."""
        found = b""
        with self.connect() as connection, suppress(ConnectionError, ssl.SSLError):
            with suppress(ConnectionError, ssl.SSLError):  # refused before all was sent; the answer is there
                for each in sent:
                    connection.sendall(each.encode("latin-1") if isinstance(each, str) else each)
            while data := connection.recv(65536):
                found += data
        return Told(found)

    def ask(self, line: str, *headers: str, body: str = "") -> Told:
        """Return the answer to a request in its plain form, the last one on its connection."""
        length = [f"Content-Length: {len(body)}"] if body else []
        return self.told("\r\n".join([line, "Host: localhost", "Connection: close", *headers, *length, "", body]))


@dataclass
class Told:
    """What was answered on a connection."""

    data: bytes
    statuses: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.statuses = [int(each) for each in re.findall(rb"HTTP/1\.[01] ([2-5]\d\d) ", self.data)]

    @property
    def status(self) -> int | None:
        """The last status; None if the connection ended without an answer."""
        return self.statuses[-1] if self.statuses else None

    @property
    def caller(self) -> str | int | None:
        """Whom the registry took the client of ``whoami`` for, or the status."""
        found = re.search(rb'"principal":\s*"([^"]+)"', self.data)
        return found[1].decode() if found else self.status

    def __repr__(self) -> str:
        return repr(self.data[:2000])


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Way]]:
    folder = tmp_path_factory.mktemp("smuggling")
    authority = Authority(folder)
    hashes = {name: bcrypt.hashpw(b"pw", bcrypt.gensalt(4)).decode() for name in ("alice", "bob")}
    (folder / "access.yaml").write_text(ACCESS.format(**hashes))
    (folder / "proxy-secret").write_text(SECRET)
    with ExitStack() as stack:
        settings = {
            "COUNTERFOIL_AUTH_FILE": str(folder / "access.yaml"),
            "COUNTERFOIL_KEEP_ALIVE_S": str(KEEP_ALIVE_S),
            "COUNTERFOIL_READ_TIMEOUT_S": "2",
        }
        registry = stack.enter_context(RegistryProcess(store="sqlite://", settings=settings))
        certificate, key = authority.issue("server")
        replaced = {
            "server_name registry.example;": f"server_name x; keepalive_timeout {KEEP_ALIVE_S}s; lingering_timeout 1s;",
            "127.0.0.1:8081": f"127.0.0.1:{registry.port}",
            "/etc/counterfoil/tls/server.crt": str(certificate),
            "/etc/counterfoil/tls/server.key": str(key),
        }
        plain = stack.enter_context(Nginx("counterfoil.conf", replaced))
        replaced["/etc/counterfoil/tls/clients.pem"] = str(authority.file)
        snippets = {"counterfoil-secret.conf": f'set $counterfoil_secret "{SECRET}";\n'}
        naming = stack.enter_context(Nginx(CERTIFICATES, replaced, snippets=snippets))
        made = [
            Way("directly", registry.port, "127.0.0.9"),
            Way("from the address of the proxy", registry.port),
            Way("through nginx", plain.port, authority=authority),
            Way("through nginx that names callers", naming.port, authority=authority),
        ]
        text = json.dumps({"schema": json.dumps({"type": "enum", "name": MARK, "symbols": ["A"]})})
        assert made[0].ask(post("secret"), f"Authorization: {ALICE}", body=text).status == 200
        yield {each.name: each for each in made}


def post(subject: str) -> str:
    return f"POST /subjects/{subject}/versions HTTP/1.1"


WAYS = ("directly", "from the address of the proxy", "through nginx", "through nginx that names callers")


@pytest.fixture(params=WAYS)
def way(ways: dict[str, Way], request: pytest.FixtureRequest) -> Way:
    return ways[request.param]


def wrong_ones(cases: dict[str, tuple[Told, Callable[[Told], bool]]]) -> dict[str, Told]:
    """Return the cases whose answer is not as it should be."""
    return {name: told for name, (told, is_right) in cases.items() if not is_right(told)}


WHO = "GET /auth/v1/whoami HTTP/1.1"


def test_the_plain_forms(way: Way) -> None:
    assert way.ask(WHO, f"Authorization: {ALICE}").caller == "User:alice"
    assert way.ask(WHO).caller == 401
    assert way.ask(WHO, f"Authorization: {WRONG}").caller == 401
    assert way.ask("GET /subjects/secret/versions/1 HTTP/1.1", f"Authorization: {BOB}").status == 403
    assert MARK in repr(way.ask("GET /subjects/secret/versions/1 HTTP/1.1", f"Authorization: {ALICE}"))


ALMOST_IDENTITIES = {
    "two headers, the right one first": f"Authorization: {ALICE}\r\nAuthorization: {WRONG}",
    "two headers, the right one last": f"Authorization: {WRONG}\r\nAuthorization: {ALICE}",
    "two equal headers": f"Authorization: {ALICE}\r\nauthorization: {ALICE}",
    "two in one header": f"Authorization: {ALICE}, {ALICE}",
    "a space before the colon": f"Authorization : {ALICE}",
    "a name that ends with another character": f"Authorization\x0b: {ALICE}",
    "another spelling of the name": f"Authorisation: {ALICE}\r\nProxy-Authorization: {ALICE}",
    "an underscore": f"X_Authorization: {ALICE}\r\nHTTP_AUTHORIZATION: {ALICE}",
    "a header within a bare carriage return": f"X-A: b\rAuthorization: {ALICE}",
    "a header within a folded line": f"X-A: b\r\n Authorization: {ALICE}",
    "a header within a folded line after a tab": f"X-A: b\r\n\tAuthorization: {ALICE}",
    "a first line that is folded": f" Authorization: {ALICE}",
    "a NUL in the name": f"Author\x00ization: {ALICE}",
    "a NUL in the value": f"X-A: \x00\r\nAuthorization\x00: {ALICE}",
    "credentials in the query of the referrer": f"Referer: http://{ALICE}@localhost/?access_token={ALICE}",
    "a cookie": f"Cookie: authorization={ALICE}; token={ALICE}",
    "a method that should replace the first": "X-HTTP-Method-Override: OPTIONS\r\nX-Method-Override: OPTIONS",
    "a path that should replace the first": "X-Original-URL: /health/live\r\nX-Rewrite-URL: /health/live",
    "the headers of the proxy": FORGED,
    "the headers of the proxy without its secret": FORGED.rpartition("\r\n")[0],
    "the headers of the proxy, twice": f"{FORGED}\r\n{FORGED}",
    "the headers of the proxy with underscores": FORGED.replace("-", "_"),
    "the headers of the proxy in capitals, named as those of the connection": (
        f"{FORGED.upper()}\r\nConnection: X-Forwarded-User, X-Proxy-Secret, X-Forwarded-For"
    ),
    "the headers of the proxy with a space before the colon": FORGED.replace(":", " :"),
    "the headers of the proxy in a folded line": "X-A: b\r\n " + FORGED.replace("\r\n", "\r\n "),
    "the headers of the proxy after a bare carriage return": "X-A: b\r" + FORGED.replace("\r\n", "\r"),
    "a wish for another protocol": f"{FORGED}\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nHTTP2-Settings: AAMAAABk",
    "a wish for a web socket": f"{FORGED}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13",
    "an address": "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1;by=127.0.0.1",
    "an expectation": f"Expect: 100-continue\r\n{FORGED}",
    "another expectation": f"Expect: authorization\r\n{FORGED}",
}


def test_nobody_is_taken_for_somebody_else(way: Way) -> None:
    """Directly from the address of the proxy its secret is right, so that only what is misspelt counts there."""
    is_proxy = way.name == "from the address of the proxy"
    found = {}
    for name, lines in ALMOST_IDENTITIES.items():
        for protocol in ("HTTP/1.1", "HTTP/1.0"):
            told = way.ask(f"GET /auth/v1/whoami {protocol}", *lines.split("\r\n"))
            is_whole_secret = is_proxy and re.search(r"(?im)^x-proxy-secret: ", lines) is not None
            allowed = {400, 401, 417, *(["User:cert:alice"] if is_whole_secret else [])}
            if told.caller not in allowed or len(told.statuses) > 1:
                found[f"{name}, {protocol}"] = told
    assert found == {}, found


def test_credentials_in_another_form_are_those_of_their_sender_or_refused(way: Way) -> None:
    lines = [WHO, "Host: localhost", "Connection: close", f"Authorization: {ALICE}", "", ""]
    forms = {
        "line feeds alone": "\n".join(lines),
        "a line feed alone before the header": "\r\n".join(lines).replace("close\r\n", "close\n"),
        "a folded value": "\r\n".join(lines).replace("Basic ", "Basic\r\n "),
        "spaces around the value": "\r\n".join(lines).replace(ALICE, f"\t  {ALICE} \t"),
        "an empty line first": "\r\n" + "\r\n".join(lines),
        "the absolute form": "\r\n".join(lines).replace("GET /", "GET http://localhost/"),
        "the absolute form with credentials": "\r\n".join(lines).replace("GET /", "GET http://bob:pw@localhost/"),
        "another protocol": "\r\n".join(lines).replace(
            "Connection: close", "Connection: close, Upgrade\r\nUpgrade: h2c"
        ),
        "HTTP/1.0": "\r\n".join(lines).replace("HTTP/1.1", "HTTP/1.0"),
        "two hosts": "\r\n".join(lines).replace("Host: localhost", "Host: localhost\r\nHost: evil"),
        "no host": "\r\n".join(lines).replace("Host: localhost\r\n", ""),
        "headers of the proxy besides": "\r\n".join(lines).replace("Host", f"{FORGED}\r\nHost"),
        "an expectation": "\r\n".join(lines).replace("Host", "Expect: 100-continue\r\nHost"),
    }
    answers = {name: way.told(form) for name, form in forms.items()}
    assert {name: told for name, told in answers.items() if told.caller not in {"User:alice", 400, 417}} == {}
    taken = {name for name, told in answers.items() if told.caller == "User:alice"}
    assert {"spaces around the value", "the absolute form", "HTTP/1.0", "headers of the proxy besides"} <= taken


OPEN = ("/health/live", "http://localhost/health/live", "/health/live?a=b", "/health/ready")
ALMOST_OPEN = (
    "/health/live/../../subjects",
    "/health/live/%2e%2e/%2e%2e/subjects",
    "/health/live/..%2f..%2fsubjects",
    "/subjects/../health/live",
    "/subjects/%2e%2e/health/live",
    "/./subjects",
    "//subjects",
    "//health/live/../../subjects",
    "/health/live/",
    "/health//live",
    "/health/live;/subjects",
    "/health/live%00",
    "/health/live%3f",
    "/health%2flive",
    "/Health/live",
    "/%68ealth/live",
    "/contexts/.a/health/live",
    "/contexts/.a/subjects",
    "/contexts/%2e/subjects",
    "/subjects/",
    "/subjects#/health/live",
    "http://localhost/subjects",
    "http://localhost/health/live/../subjects",
    "http:///health/live",
    "*",
    "health/live",
)


def test_only_the_open_paths_are_open(way: Way) -> None:
    found = {}
    for path in OPEN:
        for method in ("GET", "HEAD"):
            told = way.ask(f"{method} {path} HTTP/1.1")
            if told.statuses != [200]:
                found[f"{method} {path}"] = told
    for path in ALMOST_OPEN:
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE"):
            told = way.ask(f"{method} {path} HTTP/1.1")
            if len(told.statuses) > 1 or told.status not in {400, 401, 405}:
                found[f"{method} {path}"] = told
        told = way.ask(f"OPTIONS {path} HTTP/1.1")
        if told.status not in {200, 204, 400, 404}:
            found[f"OPTIONS {path}"] = told
    for path in (*OPEN, "/subjects"):
        told = way.ask(f"CONNECT {path} HTTP/1.1")
        if told.status not in {400, 401, 405}:
            found[f"CONNECT {path}"] = told
    assert found == {}, found


FORMS_OF_SECRET = (
    "/subjects/secret/versions/1",
    "/subjects/%73ecret/versions/1",
    "/subjects/:.:secret/versions/1",
    "/subjects/%3A.%3Asecret/versions/1",
    "/subjects/:*:secret/versions/1",
    "/contexts/./subjects/secret/versions/1",
    "/contexts/%2e/subjects/secret/versions/1",
    "/contexts/:.:/subjects/secret/versions/1",
    "/contexts/pay.a/subjects/:.:secret/versions/1",
    "/contexts/.pay/subjects/..%2fsecret/versions/1",
    "/subjects/pay.a/../secret/versions/1",
    "/subjects/pay.a/%2e%2e/secret/versions/1",
    "/subjects/pay.a%2f..%2fsecret/versions/1",
    "//subjects/secret/versions/1",
    "/subjects//secret/versions/1",
    "/subjects/secret/versions/1/",
    "/subjects/secret/versions/1?subject=pay.a",
    "/subjects/secret%00pay.a/versions/1",
    "/subjects/secret\xa0/versions/1",
    "http://localhost/subjects/secret/versions/1",
    "/schemas/ids/1",
    "/schemas/ids/1?subject=pay.a",
    "/schemas/ids/1?subject=:.:pay.a",
    "/schemas/ids/01",
    "/schemas/ids/+1",
    "/schemas/ids/1/",
    "//schemas/ids/1",
    "/contexts/./schemas/ids/1",
    "/contexts/%2e/schemas/ids/1",
)


def test_every_form_of_a_path_is_denied_as_the_plain_one(way: Way) -> None:
    found = {}
    for path in FORMS_OF_SECRET:
        alone = way.ask(f"GET {path} HTTP/1.1")
        if alone.status not in {400, 401}:
            found[f"{path} without credentials"] = alone
        for method in ("GET", "HEAD"):
            for protocol in ("HTTP/1.1", "HTTP/1.0"):
                told = way.ask(f"{method} {path} {protocol}", f"Authorization: {BOB}", FORGED)
                if told.status not in {400, 403, 404} or MARK.encode() in told.data:
                    found[f"{method} {path} {protocol}"] = told
    assert found == {}, found


def inner(subject: str) -> str:
    """Return a whole request that somebody would carry out, if they took it for one."""
    lines = [post(subject), "Host: localhost", f"Authorization: {ALICE}", "Content-Type: application/json"]
    body = '{"schema": "\\"int\\""}'
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "Connection: close", "", body])


FRAMINGS = {
    "TE with CL": "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{inner}",
    "CL with TE": "Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
    "TE of another name": "Transfer-Encoding: xchunked\r\nContent-Length: {length}\r\n\r\n0\r\n\r\n{inner}",
    "TE with a space before the colon": "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n{inner}",
    "TE twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{inner}",
    "TE in a list": "Transfer-Encoding: identity, chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n{inner}",
    "TE that is not the last": "Transfer-Encoding: chunked, identity\r\nContent-Length: 0\r\n\r\n0\r\n\r\n{inner}",
    "TE with a vertical tab": "Transfer-Encoding: \x0bchunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n{inner}",
    "TE in a folded line": "Transfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n{inner}",
    "two lengths": "Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{inner}",
    "two lengths in one": "Content-Length: 0, {length}\r\n\r\n{inner}",
    "a length with a sign": "Content-Length: +{length}\r\n\r\n{inner}",
    "a negative length": "Content-Length: -1\r\n\r\n{inner}",
    "a hexadecimal length": "Content-Length: 0x10\r\n\r\n{inner}",
    "a length with a space": "Content-Length: 1 0\r\n\r\n{inner}",
    "a length that overflows": "Content-Length: 18446744073709551616\r\n\r\n{inner}",
    "a chunk that overflows": "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n{inner}",
    "a chunk with a sign": "Transfer-Encoding: chunked\r\n\r\n-1\r\n{inner}",
    "a chunk with 0x": "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n{inner}",
    "a chunk that ends elsewhere": "Transfer-Encoding: chunked\r\n\r\n1\r\n{{}}\r\n0\r\n\r\n{inner}",
}


@pytest.mark.parametrize("case", FRAMINGS)
@pytest.mark.parametrize("sender", [ALICE, "Bearer nonsense"])
def test_no_second_request_comes_out_of_a_body(ways: dict[str, Way], case: str, sender: str) -> None:
    for number, way in enumerate(ways.values()):
        subject = f"smuggled-{list(FRAMINGS).index(case)}-{number}-{sender == ALICE}"
        first = f"POST /compatibility/subjects/a/versions HTTP/1.1\r\nHost: localhost\r\nAuthorization: {sender}\r\n"
        carried = inner(subject)
        told = way.told(first + FRAMINGS[case].format(inner=carried, length=len(carried)))
        assert len(told.statuses) <= 1, (way.name, told)
        assert told.status in {400, 401, 413, 501}, (way.name, told)
        for _ in range(3):  # the next requests, on the connections that nginx keeps, have their own answers
            assert way.ask(WHO, f"Authorization: {BOB}").caller == "User:bob"
        listed = way.ask("GET /subjects HTTP/1.1", f"Authorization: {ALICE}")
        assert listed.status == 200
        assert subject.encode() not in listed.data


def test_fields_after_a_body_in_chunks_are_no_headers(way: Way) -> None:
    body = '{"schema": "\\"int\\""}'
    lines = [post("trailer"), "Host: localhost", "Connection: close", "Transfer-Encoding: chunked"]
    trailer = [f"{len(body):x}", body, "0", f"Authorization: {ALICE}", *FORGED.split("\r\n"), "", ""]
    told = way.told("\r\n".join([*lines, "Trailer: Authorization, X-Forwarded-User", "", *trailer]))
    assert told.statuses == [401]


def test_a_request_without_credentials_reads_nothing_of_its_body(way: Way) -> None:
    """Ten megabytes after a refusal; the connection ends, or the next request on it has its own answer."""
    size = 10_000_000
    head = f"{post('large')}\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
    next_one = f"{WHO}\r\nHost: localhost\r\nAuthorization: {BOB}\r\nConnection: close\r\n\r\n"
    told = way.told(head, b" " * size, next_one)
    assert told.statuses in ([401], [401, 200]), told
    assert told.caller in {401, "User:bob"}
    expecting = head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
    with way.connect() as connection:
        connection.sendall(expecting.encode())
        answer = connection.recv(65536)
    first = 100 if "nginx" in way.name else 401  # nginx reads the body before it asks the registry
    assert answer.startswith(b"HTTP/1.1 %d " % first), answer


def test_forged_addresses_do_not_help_a_guesser(ways: dict[str, Way]) -> None:
    def guess(way: Way, number: int) -> str | int | None:
        forged = [f"X-Forwarded-For: 10.0.0.{number}", f"Forwarded: for=10.0.0.{number}", f"X-Real-IP: 10.0.0.{number}"]
        return way.ask(WHO, *forged, f"Authorization: {basic('alice', f'guess {number}')}").caller

    for name, address in {"directly": "127.0.0.77", "through nginx": "127.0.0.78"}.items():
        way = ways[name]
        guesser = Way(name, way.port, address, way.authority)
        answers = [guess(guesser, number) for number in range(40)]
        assert set(answers) == {401, 429}, answers
        assert answers[:10] == [401] * 10
        assert (
            Way(name, way.port, "127.0.0.79", way.authority).ask(WHO, f"Authorization: {ALICE}").caller == "User:alice"
        )
