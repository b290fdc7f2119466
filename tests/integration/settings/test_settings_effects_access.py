"""Each setting of access has an effect that a user would notice: of logins, TLS, hosts and rates."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import ssl
import threading
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.administration import TokenRequest
from counterfoil.registry.access.control import ServerAccess
from counterfoil.registry.access.file.values import InvalidAccessFile
from counterfoil.registry.access.identities.certificates import InvalidPrincipalRules
from counterfoil.registry.app import create_app
from counterfoil.registry.serving.server import limited_protocol
from counterfoil.registry.serving.tls import ServingTls, TlsNotUsable, tls_files
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST
from counterfoil.schema.errors import InvalidAccess
from local_services import wait_until
from strategies.access.callers import access
from strategies.access.certificates import Authority
from strategies.registry.driver import InProcessRegistry
from strategies.registry.served import REGISTRATION, ask, connected, in_process, refusal, served, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path


def test_auth_file_has_an_effect(tmp_path: Path) -> None:
    """What the file declares is in the unit tests; how it is read again in ``access/test_in_force.py``."""
    access = tmp_path / "access.yaml"
    access.write_text("anonymous: [{allow: READ, on: '*'}]\n")
    with served(tmp_path, auth_file=str(access)) as (port, service):
        assert ask("127.0.0.1", port, "POST", "/subjects/s/versions", **REGISTRATION)[0] == 403
        access.write_text("anonymous: [{allow: WRITE, on: '*'}]\n")
        os.kill(service.pid, signal.SIGHUP)
        wait_until(
            lambda: ask("127.0.0.1", port, "POST", "/subjects/s/versions", **REGISTRATION)[0] == 200,
            what="the new rules",
        )


def test_strict_files_has_an_effect(tmp_path: Path) -> None:
    """Which files are meant is in ``test_key_files.py``; of the access file, and of files that it names, here."""
    hashes = tmp_path / "users"
    hashes.write_text("alice:$2b$04$abcdefghijklmnopqrstuuoDFSdPbwZEfnbVgtXMbhMlHGZqmpRbS\n")
    access = tmp_path / "access.yaml"
    access.write_text("htpasswd: users\nadmins: [User:alice]\n")
    for mode, is_refused in ((0o644, True), (0o640, False)):
        hashes.chmod(mode)
        settings = ServerSettings(store="sqlite://", auth_file=str(access), strict_files=True)
        if is_refused:
            with pytest.raises(InvalidAccessFile, match="strict_files is set"):
                ServerAccess(MemoryStorage(), settings)
        else:
            ServerAccess(MemoryStorage(), settings)
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN PRIVATE KEY-----\n")
    key.chmod(0o644)
    status, lines = refusal("--strict-files", "--audit-key-file", str(key))
    assert (status, "holds a private key, and others can read it" in lines[-1]) == (14, True), lines


def test_require_auth_has_an_effect() -> None:
    status, lines = refusal("--require-auth")
    assert status == 2
    assert lines[-1].startswith("counterfoil: require_auth is set, and there is no authentication")


async def with_access(
    processor_time: Callable[[], float] = time.thread_time, **settings: Any
) -> tuple[ServerAccess, Callable[[str], Coroutine[Any, Any, int]]]:
    """Return the access of a registry with the user root, and the status of a request with a password of root."""
    storage = MemoryStorage()
    access = ServerAccess(storage, ServerSettings(store="sqlite://", **settings), processor_time=processor_time)
    await access.administration.require("root", b"right", by=NO_REQUEST)
    await access.start()
    registry = InProcessRegistry(storage, server=access)

    async def status(password: str) -> int:
        login = base64.b64encode(f"root:{password}".encode()).decode()
        return (await registry.ask("GET", "/subjects", None, {"Authorization": f"Basic {login}"})).status

    return access, status


def test_password_checks_has_an_effect() -> None:
    async def threads(number: int) -> int:
        before = set(threading.enumerate())
        _, status = await with_access(password_checks=number)
        assert set(await asyncio.gather(*(status(f"wrong{each}") for each in range(4)))) == {401}
        return sum(each.name.startswith("passwords") for each in set(threading.enumerate()) - before)

    assert asyncio.run(threads(1)) == 1
    assert asyncio.run(threads(3)) > 1


def test_wrong_passwords_percent_has_an_effect() -> None:
    """A wrong password seems to take a minute here, so that the next check waits unless there is no limit."""

    async def answers(percent: int) -> int:
        minutes = count(step=60)
        _, status = await with_access(lambda: next(minutes), wrong_passwords_percent=percent)
        assert await status("wrong") == 401
        async with asyncio.timeout(1):
            return await status("also wrong")

    assert asyncio.run(answers(100)) == 401
    with pytest.raises(TimeoutError):
        asyncio.run(answers(50))


def test_auth_cache_s_has_an_effect() -> None:
    """Who is remembered is not affected by wrong passwords of others."""

    async def after_wrong_ones(**settings: Any) -> int:
        _, status = await with_access(**settings)
        assert await status("right") == 200
        wrong = [status(f"wrong{each}") for each in range(10)]
        return (await asyncio.gather(*wrong, status("right")))[-1]  # at once: as time passes, more are allowed

    assert asyncio.run(after_wrong_ones()) == 200
    assert asyncio.run(after_wrong_ones(auth_cache_s=0.0)) == 429


def test_token_max_days_has_an_effect() -> None:
    async def story() -> None:
        access, _ = await with_access(token_max_days=3)
        await access.administration.put_service("ci", description=None, is_disabled=None, by=NO_REQUEST)
        request = TokenRequest("Service:ci", "t", None, days=4)
        with pytest.raises(InvalidAccess, match="days is 4; expected 1 to 3"):
            await access.administration.create_token(request, permit=lambda _: None, by=NO_REQUEST)

    asyncio.run(story())


def test_denied_reads_has_an_effect() -> None:
    async def codes(**settings: Any) -> int | None:
        return (await InProcessRegistry(access=access(), **settings).send("GET", "/subjects/a/versions", "nobody")).code

    assert asyncio.run(codes()) == 40301
    assert asyncio.run(codes(denied_reads="404")) == 40401


def tls_handshake(folder: Path, client: ssl.SSLContext | None = None, **settings: str) -> ssl.SSLObject:
    """A TLS connection to a server with these settings, in memory; the server's side of it. Clients check nothing."""
    authority = Authority(folder)
    certificate, key = authority.issue("server")
    files = {"tls_certificate": str(certificate), "tls_key": str(key), **settings}
    if client is None:
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ServingTls(tls_files(ServerSettings(**files))).context
    ends = [context.wrap_bio(to_server, to_client, server_side=True), client.wrap_bio(to_client, to_server)]
    for end in [ends[1], *ends] * 2:
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
    return ends[0]


def test_tls_certificate_has_an_effect(tmp_path: Path) -> None:
    """What is served over TLS is in ``serving/test_tls.py``."""
    assert tls_handshake(tmp_path).cipher() is not None
    with pytest.raises(TlsNotUsable, match="no such file"):
        tls_handshake(tmp_path, tls_certificate=str(tmp_path / "nowhere"))


def test_tls_key_has_an_effect(tmp_path: Path) -> None:
    _, other = Authority(tmp_path).issue("other")
    with pytest.raises(TlsNotUsable, match="is not the key of"):
        tls_handshake(tmp_path, tls_key=str(other))


def test_tls_min_version_has_an_effect(tmp_path: Path) -> None:
    older = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert tls_handshake(tmp_path, older).version() == "TLSv1.2"
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        tls_handshake(tmp_path, older, tls_min_version="1.3")


def with_client_ca(folder: Path, **settings: str) -> dict[str, str]:
    return {"tls_client_ca": str(Authority(folder, "clients").file), "tls_client_certificates": "required", **settings}


def test_tls_client_certificates_has_an_effect(tmp_path: Path) -> None:
    """Which certificates are refused is in ``serving/test_tls.py``."""
    older = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls_handshake(tmp_path, **with_client_ca(tmp_path, tls_client_certificates="optional"))
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        tls_handshake(tmp_path, older, **with_client_ca(tmp_path))


def test_tls_client_ca_has_an_effect(tmp_path: Path) -> None:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_cert_chain(*Authority(tmp_path, "others").issue("client"))
    with pytest.raises(ssl.SSLCertVerificationError):
        tls_handshake(tmp_path, client, **with_client_ca(tmp_path))


def test_tls_crl_file_has_an_effect(tmp_path: Path) -> None:
    with pytest.raises(TlsNotUsable, match="lists of revoked certificates"):
        tls_handshake(tmp_path, **with_client_ca(tmp_path, tls_crl_file=str(tmp_path / "clients.pem")))


def test_tls_principal_rules_has_an_effect() -> None:
    """Whom certificates name is in ``serving/test_tls.py``."""
    with pytest.raises(InvalidPrincipalRules, match="is no rule"):
        create_app(ServerSettings(store="sqlite://", tls_principal_rules="RULE:x"))


def test_tls_principal_prefix_has_an_effect(tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text("issuers: [{issuer: 'http://127.0.0.1:1', audience: [a]}]\n")
    settings = {"store": "sqlite://", "auth_file": str(access), "tls_principal_rules": "DEFAULT"}
    create_app(ServerSettings(**settings, tls_principal_prefix="cert:"))
    with pytest.raises(InvalidAccessFile, match="set tls_principal_prefix"):
        create_app(ServerSettings(**settings))


def statuses(requests: int, method: str = "GET", **settings: int) -> list[int]:
    async def story(registry: InProcessRegistry) -> list[int]:
        return [(await registry.ask(method, "/mode/s")).status for _ in range(requests)]

    return in_process(story, **settings)


def test_rate_limit_has_an_effect() -> None:
    assert 429 in statuses(20, rate_limit=1)
    assert 429 not in statuses(20)


def test_rate_burst_has_an_effect() -> None:
    assert 429 not in statuses(20, rate_limit=1, rate_burst=20)


def test_write_rate_limit_has_an_effect() -> None:
    assert 429 in statuses(20, "DELETE", write_rate_limit=1)
    assert 429 not in statuses(20, write_rate_limit=1)


def test_stream_limit_has_an_effect(tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text("anonymous: [{allow: READ, on: '*'}]\n")
    with served(tmp_path, auth_file=str(access), stream_limit="1") as (port, _), connected(port) as first:
        first.sendall(b"GET /changes HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")
        assert first.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert ask("127.0.0.1", port, "GET", "/changes", headers={"Accept": "text/event-stream"})[0] == 429


def test_allowed_hosts_has_an_effect() -> None:
    headers = {"Host": "registry.example"}
    assert status_of("GET", "/subjects", headers=headers) == 403
    assert status_of("GET", "/subjects", headers=headers, allowed_hosts=("registry.example",)) == 200


def test_public_url_has_an_effect() -> None:
    headers = {"Host": "127.0.0.1", "Origin": "https://registry.example"}
    assert status_of("GET", "/subjects", headers=headers) == 403
    assert status_of("GET", "/subjects", headers=headers, public_url="https://registry.example/") == 200


def test_redirect_port_has_an_effect() -> None:
    """The port itself is in ``serving/test_tls.py``; what arrives without TLS is redirected or refused."""
    given: dict[str, Any] = {"redirect_port": 80, "public_url": "https://registry.example/"}
    assert status_of("GET", "/subjects", **given) == 403
    assert status_of("GET", "/subjects", headers={"Accept": "text/html"}, **given) == 308


def test_hsts_max_age_s_has_an_effect() -> None:
    """The header is in ``serving/test_tls.py``."""
    usual, strict = (limited_protocol(ServerSettings(hsts_max_age_s=each)) for each in (0, 60))
    assert usual.on_headers_complete is not strict.on_headers_complete


def test_cors_origins_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> str | None:
        reply = await registry.ask("GET", "/subjects", headers={"Origin": "https://a.example"})
        return reply.headers.get("access-control-allow-origin")

    assert in_process(story) is None
    assert in_process(story, cors_origins=("https://a.example",)) == "https://a.example"


def test_refusals_has_an_effect() -> None:
    async def kept(**settings: Any) -> int:
        registry = InProcessRegistry(**settings)
        await registry.register("s", "{")
        return len((await registry.get("/inspect/v1/refusals")).json["refusals"])

    assert asyncio.run(kept()) == 1
    assert asyncio.run(kept(refusals="off")) == 0
