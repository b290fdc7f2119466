"""Clients over TLS, against real servers: certificates that are replaced, and an address for tokens of its own."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.sdk import (
    AsyncRegistry,
    ClientCredentials,
    InvalidSettings,
    Registry,
    RegistrySettings,
    RegistryUnavailable,
    TlsSettings,
)
from strategies.access.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def https_server(files: tuple[Path, Path], *, client_authority: Path | None = None) -> Iterator[tuple[str, list[Any]]]:
    """A server that answers every request: its URL, and for each request its client's name and its credentials."""
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            peer = self.connection.getpeercert() if client_authority else None
            seen.append((peer and peer["serialNumber"], self.headers.get("Authorization")))
            is_grant = self.path == "/token"
            body = json.dumps({"access_token": "granted"} if is_grant else ["AVRO"]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")  # so that each request is a new connection
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815 (the names that the server looks for)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*files)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # refused certificates are not printed
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_certificate_that_is_replaced_is_used_by_the_next_connection(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("client")
    tls = TlsSettings(ca_file=str(authority.file), certificate_file=str(certificate), key_file=str(key))
    with (
        https_server(authority.issue("server"), client_authority=authority.file) as (url, seen),
        Registry(RegistrySettings(urls=(url,), tls=tls)) as registry,
    ):
        registry.ping()
        registry.ping()
        old_key = key.read_bytes()
        authority.issue("client")
        new_key = key.read_bytes()
        key.write_bytes(old_key)  # the certificate is replaced, its key not yet
        registry.ping()
        key.write_bytes(new_key)
        os.utime(key, ns=(1, 1))
        registry.ping()
    serials = [serial for serial, _ in seen]
    assert serials[0] == serials[1] == serials[2] != serials[3]


def test_without_a_certificate_there_is_no_connection(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with https_server(authority.issue("server"), client_authority=authority.file) as (url, seen):
        settings = RegistrySettings.of(
            RegistrySettings(urls=(url,), tls=TlsSettings(ca_file=str(authority.file))), retries=0
        )
        with Registry(settings) as registry, pytest.raises(RegistryUnavailable):
            registry.ping()
    assert seen == []


@pytest.mark.parametrize("is_async", [False, True])
def test_the_address_of_tokens_has_its_own_authority(tmp_path: Path, *, is_async: bool) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    with (
        https_server(ours.issue("registry")) as (url, seen),
        https_server(theirs.issue("login")) as (login, grants),
    ):
        auth = ClientCredentials(
            token_url=f"{login}/token", client_id="c", client_secret="s", tls=TlsSettings(ca_file=str(theirs.file))
        )
        settings = RegistrySettings(urls=(url,), auth=auth, tls=TlsSettings(ca_file=str(ours.file)))

        async def ask() -> None:
            async with AsyncRegistry(settings) as registry:
                await registry.ping()
                await registry.ping()

        if is_async:
            asyncio.run(ask())
        else:
            with Registry(settings) as registry:
                registry.ping()
                registry.ping()
    assert [credentials for _, credentials in seen] == ["Bearer granted"] * 2
    assert len(grants) == 1


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    settings = RegistrySettings(urls=("https://127.0.0.1:1",), tls=TlsSettings(ca_file=str(tmp_path / "nowhere.pem")))
    with Registry(settings) as registry, pytest.raises(InvalidSettings, match=r"nowhere\.pem cannot be used"):
        registry.ping()
