"""Keys of issuers over HTTP: what a server may answer, and what is not requested."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from counterfoil.registry.access.file.values import Issuer
from counterfoil.registry.access.identities.issuers import FetchFailed, FileOrigin, WebOrigin
from counterfoil.registry.access.identities.jwt import JwtVerifier
from counterfoil.registry.access.identity import UnprovenCaller, UnprovenReason
from strategies.access.token_issuer import AUDIENCE, NOW, claims, public_jwk, token

DISCOVERY = "/.well-known/openid-configuration"
JSON = {"Content-Type": "application/json"}


class Server:
    """An issuer on loopback: ``answers`` has status, headers and body by path; ``paths`` are the requested ones."""

    def __init__(self):
        self.answers = {}
        self.paths = []
        self.wait = threading.Event()
        self.wait.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.paths.append(self.path)
                outer.wait.wait(60)
                status, headers, body = outer.answers.get(self.path, (404, {}, b""))
                try:
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(body)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    return  # the client has closed the connection, which is what some tests are about

            def log_message(self, *_):
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def publish(self, *jwks, cache_control="max-age=600"):
        document = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self.answers[DISCOVERY] = (200, JSON, json.dumps(document).encode())
        body = json.dumps({"keys": list(jwks)}).encode()
        self.answers["/keys"] = (200, {**JSON, "Cache-Control": cache_control}, body)

    def close(self):
        self.wait.set()
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


def fetch(issuer):
    return asyncio.run(WebOrigin(issuer).fetch())


def issuer_of(server, **settings):
    return Issuer(server.url, (AUDIENCE,), **settings)


def test_keys_are_found_by_discovery_and_by_address(server):
    server.publish(public_jwk("ES256", "k1"))
    found = fetch(issuer_of(server))
    assert [key.kid for key in found.keys.keys] == ["k1"]
    assert found.refresh_s == 480
    assert server.paths == [DISCOVERY, "/keys"]
    fetch(issuer_of(server, jwks_url=f"{server.url}/keys"))
    assert server.paths[2:] == ["/keys"]


@pytest.mark.parametrize(
    ("cache_control", "refresh_s"), [("no-store", 240), ("max-age=1", 240), ("max-age=999999", 2880)]
)
def test_the_time_to_the_next_fetch_is_bounded(server, cache_control, refresh_s):
    server.publish(public_jwk("ES256", "k1"), cache_control=cache_control)
    assert fetch(issuer_of(server)).refresh_s == refresh_s


@pytest.mark.parametrize(
    ("path", "answer", "problem"),
    [
        (DISCOVERY, (404, {}, b""), "answered 404"),
        (DISCOVERY, (200, {}, b"<html>"), "is not JSON"),
        (DISCOVERY, (200, {}, b"[" * 100_000), "is not JSON"),
        (DISCOVERY, (200, {}, b'{"issuer": "https://other.example", "jwks_uri": "x"}'), "document of another issuer"),
        ("/keys", (500, {}, b""), "answered 500"),
        ("/keys", (302, {"Location": "/elsewhere"}, b""), "answered 302"),
        ("/keys", (200, {}, b"<html>"), "not JSON"),
        ("/keys", (200, {}, b"{}"), "no list of keys"),
        ("/keys", (200, {}, b" " * (1024 * 1024 + 1)), "more than 1 MiB"),
        ("/keys", (200, {"Content-Encoding": "gzip"}, b"x"), "compression"),
        ("/keys", (200, {"Content-Length": "1000"}, b"{"), "peer closed connection"),
    ],
)
def test_other_answers_are_failures(server, path, answer, problem):
    server.publish(public_jwk("ES256", "k1"))
    server.answers[path] = answer
    if "Content-Length" in answer[1]:
        server.answers[path] = (answer[0], {**answer[1], "Connection": "close"}, answer[2])
    with pytest.raises(FetchFailed, match=problem):
        fetch(issuer_of(server))
    assert "/elsewhere" not in server.paths


def test_a_jwks_uri_without_tls_elsewhere_is_not_requested(server):
    document = {"issuer": server.url, "jwks_uri": "http://keys.example/"}
    server.answers[DISCOVERY] = (200, JSON, json.dumps(document).encode())
    with pytest.raises(FetchFailed, match="no jwks_uri that begins with https"):
        fetch(issuer_of(server))


def test_a_server_that_is_away_or_has_no_ca_file_is_a_failure(server):
    url = server.url
    server.close()
    with pytest.raises(FetchFailed):
        fetch(Issuer(url, (AUDIENCE,)))
    with pytest.raises(FetchFailed, match="No such file"):
        fetch(Issuer(url, (AUDIENCE,), ca_file="/nowhere/ca.pem"))


def test_keys_of_a_file(tmp_path):
    path = tmp_path / "keys.json"
    with pytest.raises(FetchFailed, match="No such file"):
        asyncio.run(FileOrigin(path).fetch())
    path.write_text("[]")
    with pytest.raises(FetchFailed, match="no list of keys"):
        asyncio.run(FileOrigin(path).fetch())
    path.write_text(json.dumps({"keys": [public_jwk("ES256", "k1")]}))
    assert [key.kid for key in asyncio.run(FileOrigin(path).fetch()).keys.keys] == ["k1"]


def test_many_requests_wait_for_one_fetch_and_headers_of_tokens_cause_no_request(server):
    async def story():
        server.publish(public_jwk("ES256", "k1"))
        made = JwtVerifier([issuer_of(server)], clock=lambda: NOW)
        good = token(claims(iss=server.url))
        bait = {"jku": f"{server.url}/bait", "x5u": f"{server.url}/bait"}
        found = await asyncio.gather(*(made.verify(good) for _ in range(50)))
        assert {each.identity.principal for each in found} == {"User:alice"}
        forged = [token(claims(iss=server.url), kind="ES256/2", kid=f"{server.url}/bait", **bait)]
        forged.append(token(claims(iss=f"{server.url}/bait")))
        for each in forged:
            assert await made.verify(each) == UnprovenCaller(UnprovenReason.WRONG)
        assert server.paths == [DISCOVERY, "/keys"]

    asyncio.run(story())


def test_a_start_does_not_wait_for_a_slow_issuer(server):
    async def story():
        server.publish(public_jwk("ES256", "k1"))
        server.wait.clear()
        made = JwtVerifier([issuer_of(server)], clock=lambda: NOW)
        made.start()
        asked = asyncio.create_task(made.verify(token(claims(iss=server.url))))
        await asyncio.sleep(0)
        assert not asked.done()
        server.wait.set()
        assert (await asyncio.wait_for(asked, 60)).identity.principal == "User:alice"
        await made.stop()

    asyncio.run(story())
