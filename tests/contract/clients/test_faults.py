"""Both clients against real sockets that misbehave: silence, broken connections, garbage, a slow flood, bad TLS."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import multiprocessing
import os
import socket
import ssl
import subprocess
import threading
from dataclasses import replace

import pytest

from counterfoil.schema.errors import RegistryError
from counterfoil.sdk import (
    AsyncRegistry,
    InvalidSettings,
    Registry,
    RegistrySettings,
    RegistryUnavailable,
    RetrySettings,
    TlsSettings,
)

TYPES = b'["AVRO"]'
DEADLINE_S = 120


def http(status="200 OK", body=TYPES, *, headers=()):
    """The bytes of a response that closes its connection."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def read_request(connection):
    """The bytes of one request without a body."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            break
        data += chunk
    return data


def answers(*replies):
    """A behaviour: the given bytes, connection by connection, the last for ever."""
    left = list(replies)

    def behave(connection, requests, _):
        requests.append(read_request(connection))
        connection.sendall(left.pop(0) if len(left) > 1 else left[0])

    return behave


def says_nothing(connection, requests, stopped):
    """A behaviour: reads the request and holds the connection until the test ends."""
    requests.append(read_request(connection))
    stopped.wait(DEADLINE_S)


def hangs_up(connection, requests, _):
    """A behaviour: closes the connection after the request."""
    requests.append(read_request(connection))


def never_ends(connection, requests, stopped):
    """A behaviour: a reply in small pieces, none of which is the last."""
    requests.append(read_request(connection))
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not stopped.is_set():
        connection.sendall(b"1\r\n \r\n")


class Server:
    """A listening socket that treats every connection as its behaviour says."""

    def __init__(self, behave, *, tls=None):
        self.requests = []
        self._behave = behave
        self._tls = tls
        self._stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection:
            secured = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
            with secured:
                self._behave(secured, self.requests, self._stopped)

    def stop(self):
        self._stopped.set()
        self._listener.close()


@pytest.fixture
def serve():
    """Starts a server with a behaviour."""
    started = []

    def start(behave, **options):
        started.append(Server(behave, **options))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(params=["sync", "async"])
def ping(request):
    """Asks a registry whether it is there, with a new client that does not pause between tries."""

    async def awaited(settings):
        async with asyncio.timeout(DEADLINE_S), AsyncRegistry(settings) as client:
            await client.ping()

    def once(url, **options):
        base = url if isinstance(url, RegistrySettings) else RegistrySettings.of(url, **options)
        settings = replace(base, retry=replace(base.retry, first_pause_s=0))
        if request.param == "async":
            return asyncio.run(awaited(settings))
        with Registry(settings) as client:
            return client.ping()

    return once


def test_a_registry_answers(serve, ping):
    server = serve(answers(http()))
    ping(server.url)
    assert server.requests[0].startswith(b"GET /schemas/types HTTP/1.1\r\n")


def test_a_busy_registry_is_requested_again(serve, ping):
    server = serve(answers(http("503 Service Unavailable", b"busy"), http()))
    ping(server.url)
    assert len(server.requests) == 2


@pytest.mark.parametrize("behave", [hangs_up, answers(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[")])
def test_a_broken_connection_is_tried_again(serve, ping, behave):
    server = serve(behave)
    with pytest.raises(RegistryUnavailable, match="the connection broke") as caught:
        ping(server.url, retries=2)
    assert caught.value.attempts == len(server.requests) == 3


def test_silence_ends_with_the_time_out(serve, ping):
    server = serve(says_nothing)
    with pytest.raises(RegistryUnavailable, match=r"it sent nothing for 0.1 s \(2 attempts\)"):
        ping(server.url, timeout_s=0.1, retries=1)


def test_a_reply_without_an_end_ends_with_the_total_time(serve, ping):
    server = serve(never_ends)
    settings = replace(RegistrySettings.of(server.url), retry=RetrySettings(total_s=0.2, retries=0))
    with pytest.raises(RegistryUnavailable, match="not whole in time"):
        ping(settings)


def test_nobody_listens(ping):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(RegistryUnavailable, match="no connection") as caught:
        ping(f"http://127.0.0.1:{port}", retries=1)
    assert caught.value.attempts == 2


def test_a_host_that_has_no_address(ping):
    with pytest.raises(RegistryUnavailable, match="no connection"):
        ping("http://registry.invalid", retries=0)


@pytest.mark.parametrize(
    "url",
    ["http://ex..ample", "http://xn--", f"http://{'a' * 70}.invalid", "http://.", "http://☃.invalid", "http://a\nb"],
)
def test_a_host_that_can_have_no_address(ping, url):
    with pytest.raises(InvalidSettings) as caught:
        ping(url)
    assert caught.value.setting == "url"


def test_an_async_client_outlives_its_event_loop(serve):
    server = serve(keeps_alive)
    client = AsyncRegistry(server.url)
    asyncio.run(client.ping())
    asyncio.run(client.ping())
    asyncio.run(client.close())
    assert len(server.requests) == 2


def test_the_second_url_stands_in(serve, ping):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    server = serve(answers(http()))
    ping(f"http://127.0.0.1:{port},{server.url}", retries=0)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x50",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        http(body=b"not gzip", headers=["Content-Encoding: gzip"]),
        http(body=b"<html>"),
        http(body=b"\xff\xfe"),
        http(body=b""),
        http(body=b'{"a":1}'),
        http("404 Not Found", b"<html>"),
        http("302 Found", b"", headers=["Location: http://127.0.0.1:9/elsewhere"]),
        http("204 No Content", b""),
    ],
)
def test_what_is_no_registry_is_a_typed_error(serve, ping, raw):
    server = serve(answers(raw))
    with pytest.raises(RegistryUnavailable) as caught:
        ping(server.url, retries=0)
    assert server.url in str(caught.value)


def test_a_compressed_reply_is_read(serve, ping):
    server = serve(answers(http(body=gzip.compress(TYPES), headers=["Content-Encoding: gzip"])))
    ping(server.url)


def test_a_refusal_is_distinguished(serve, ping):
    server = serve(answers(http("403 Forbidden", b"<html>")))
    with pytest.raises(RegistryError) as caught:
        ping(server.url)
    assert caught.value.status == 403


def test_credentials_are_sent_and_not_shown(serve, ping):
    server = serve(answers(http("500 Oops", b"<html>")))
    with pytest.raises(RegistryUnavailable) as caught:
        ping(f"http://user:hush@127.0.0.1:{server.port}/base", retries=0)
    assert b"\r\nAuthorization: Basic dXNlcjpodXNo\r\n" in server.requests[0]
    assert server.requests[0].startswith(b"GET /base/schemas/types ")
    assert "hush" not in str(caught.value)
    assert "hush" not in caught.value.url


@pytest.mark.parametrize("name", ["a/b", "a%2Fb", "..", ".", "a b?c#d", "ström", "[x]|{y}^`", "+&="])
def test_a_segment_arrives_encoded_once(serve, name):
    server = serve(answers(http(body=b"[1]")))
    with Registry(server.url) as client:
        assert client.versions(name) == (1,)
    target = server.requests[0].split(b" ")[1].decode()
    first, subjects, segment, versions = target.split("/")
    assert (first, subjects, versions) == ("", "subjects", "versions")
    decoded = bytearray()
    while segment:
        if segment[0] == "%":
            decoded.append(int(segment[1:3], 16))
            segment = segment[3:]
        else:
            decoded += segment[0].encode("ascii")
            segment = segment[1:]
    assert decoded.decode() == name


def test_the_environments_proxy_is_not_used(serve, ping, monkeypatch):
    server = serve(answers(http()))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    ping(server.url)


def test_a_given_proxy_is_used(serve, ping):
    proxy = serve(answers(http()))
    ping(replace(RegistrySettings.of("http://registry.invalid"), proxy=proxy.url))
    assert proxy.requests[0].startswith(b"GET http://registry.invalid/schemas/types HTTP/1.1\r\n")


def test_a_client_that_was_closed_opens_new_connections(serve):
    server = serve(answers(http()))
    client = Registry(server.url)
    client.ping()
    client.close()
    client.close()
    client.ping()
    client.close()
    assert len(server.requests) == 2


def test_a_forked_process_has_connections_of_its_own(serve):
    server = serve(keeps_alive)
    with Registry(server.url) as client:
        client.ping()
        child = multiprocessing.get_context("fork").Process(target=_ping_or_fail, args=(client,))
        child.start()
        child.join(DEADLINE_S)
        assert child.exitcode == 0
        client.ping()
    ports = [port for port, _ in server.requests]
    assert len(ports) == 3
    assert ports[0] == ports[2] != ports[1]


def keeps_alive(connection, requests, _):
    """A behaviour: answers one request after another on the same connection, and notes the peer's port."""
    while (request := read_request(connection)) != b"":
        requests.append((connection.getpeername()[1], request))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(TYPES), TYPES))


def _ping_or_fail(client):
    client.ping()
    os._exit(0)


# --- TLS -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate of 127.0.0.1 and its key, as files."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


@pytest.fixture
def secured(serve, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return serve(answers(http()), tls=context)


def test_an_unknown_certificate_is_refused(secured, ping):
    with pytest.raises(RegistryUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        ping(secured.url, retries=0)
    assert secured.requests == []


def test_a_certificate_of_a_given_authority_is_taken(secured, ping, certificate):
    ping(replace(RegistrySettings.of(secured.url), tls=TlsSettings(ca_file=str(certificate[0]))))


def test_verification_can_be_turned_off(secured, ping):
    ping(replace(RegistrySettings.of(secured.url), tls=TlsSettings(verify=False)))


def test_a_server_may_ask_for_the_clients_certificate(serve, ping, certificate):
    cert, key = (str(path) for path in certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.load_verify_locations(cert)
    context.verify_mode = ssl.CERT_REQUIRED
    server = serve(answers(http()), tls=context)
    base = replace(RegistrySettings.of(server.url, retries=0), tls=TlsSettings(ca_file=cert))
    with pytest.raises(RegistryUnavailable):
        ping(base)
    ping(replace(base, tls=TlsSettings(ca_file=cert, certificate_file=cert, key_file=key)))


@pytest.mark.parametrize("tls", [TlsSettings(ca_file="/nowhere.pem"), TlsSettings(certificate_file="/nowhere.pem")])
def test_a_file_that_cannot_be_used_is_named(ping, tls):
    with pytest.raises(InvalidSettings, match=r"/nowhere\.pem"):
        ping(replace(RegistrySettings.of("https://registry.invalid"), tls=tls))


def test_an_encrypted_port_requested_without_encryption(secured, ping):
    with pytest.raises(RegistryUnavailable):
        ping(f"http://127.0.0.1:{secured.port}", retries=0)
