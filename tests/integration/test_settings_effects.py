"""Each setting has an effect that a user would notice; one that is added without a test of it here fails."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import logging
import os
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from access_callers import access
from certificates import Authority
from counterfoil.registry.access_control import ServerAccess
from counterfoil.registry.app import create_app
from counterfoil.registry.audit.file import AuditFile
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.auth.certificates import InvalidPrincipalRules
from counterfoil.registry.auth.errors import InvalidAccessFile
from counterfoil.registry.domain.audit.events import AuditEvent, EventKind, Place
from counterfoil.registry.domain.writes.effects import RecordEvents
from counterfoil.registry.domain.writes.plan import Plan
from counterfoil.registry.service.access.administration import TokenRequest
from counterfoil.registry.serving.connections import limited_protocol
from counterfoil.registry.serving.tls import ServingTls, TlsNotUsable, tls_files
from counterfoil.registry.settings import SETTINGS, ServerSettings
from counterfoil.registry.settings_reading import SettingsNotUsable, resolve
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.errors import InvalidAccess, StoreUnavailable
from local_services import ServiceError, free_port, wait_until
from local_services.process import Service
from registry_driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

COUNTERFOIL = str(Path(sys.executable).with_name("counterfoil"))
SCHEMA = json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}" for number in range(300)]})

UNLIKE_ANY_DEFAULT_S = 25
"""A wait that no default of a setting ends: the shortest, read_timeout_s, is longer."""


@contextmanager
def served(folder: Path, *, host: str = "127.0.0.1", **settings: str) -> Iterator[tuple[int, Service]]:
    """A server with these settings: its port and process."""
    port = free_port()
    given = {"host": host, "port": str(port), "store": "sqlite://", **settings}
    environment = {f"COUNTERFOIL_{name.upper()}": value for name, value in given.items()}
    service = Service("the registry", [COUNTERFOIL, "serve"], log=folder / "log", environment=environment)
    service.wait_ready(lambda: is_answered(host, port))
    try:
        yield port, service
    finally:
        service.stop()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=UNLIKE_ANY_DEFAULT_S)


@contextmanager
def request_under_way(port: int) -> Iterator[socket.socket]:
    """A connection with a request whose body does not end, in the server's hands."""
    with connected(port) as connection:
        connection.sendall(b"POST /subjects/s HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        assert is_answered("127.0.0.1", port)
        yield connection


def is_answered(host: str, port: int) -> bool:
    try:
        return ask(host, port, "GET", "/subjects")[0] == 200
    except OSError:
        return False


def ask(host: str, port: int, method: str, path: str, **options: Any) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host, port, timeout=120)
    try:
        connection.request(method, path, **options)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def in_process(story: Callable[[InProcessRegistry], Any], storage: Any = None, **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(storage, **settings)))


def status_of(method: str, path: str, *, headers: dict[str, str] | None = None, **settings: Any) -> int:
    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        return (await registry.ask(method, path, headers=headers)).status

    return in_process(story, **settings)


# --- one function a setting


def host_has_an_effect(folder: Path) -> None:
    with served(folder, host="127.0.0.2") as (port, _):
        assert ask("127.0.0.2", port, "GET", "/subjects")[0] == 200
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def port_has_an_effect(folder: Path) -> None:
    with served(folder) as (port, _):  # a port of our choice
        assert port != 8081
        assert ask("127.0.0.1", port, "GET", "/subjects")[0] == 200


def store_has_an_effect(folder: Path) -> None:
    file = folder / "registry.db"
    with served(folder, store=f"sqlite:///{file}"):
        assert file.exists()


def workers_has_an_effect(folder: Path) -> None:
    """What several workers do is in ``test_registry_workers.py``."""
    with pytest.raises(ServiceError, match="2 workers need a PostgreSQL store"), served(folder, workers="2"):
        pass


def max_body_bytes_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> int:
        return (await registry.register("s", SCHEMA)).status

    assert in_process(story) == 200
    assert in_process(story, max_body_bytes=200) == 413


def max_header_bytes_has_an_effect(folder: Path) -> None:
    with served(folder, max_header_bytes="500") as (port, _):
        assert ask("127.0.0.1", port, "GET", "/subjects", headers={"x": "y" * 600})[0] == 431


def max_connections_has_an_effect(folder: Path) -> None:
    with served(folder, max_connections="3") as (port, _), ExitStack() as stack:
        held = [stack.enter_context(connected(port)) for _ in range(4)]
        assert held[3].recv(1000).startswith(b"HTTP/1.1 503 ")


def read_timeout_s_has_an_effect(folder: Path) -> None:
    with served(folder, read_timeout_s="0.2") as (port, _), connected(port) as slow:
        slow.sendall(b"GET ")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")


def request_timeout_s_has_an_effect(_: Path) -> None:
    class Hanging(MemoryStorage):
        async def history(self, subject: Any) -> Any:
            await asyncio.Event().wait()
            return await super().history(subject)

    async def story(registry: InProcessRegistry) -> int:
        return (await registry.get("/subjects/s/versions")).status

    assert in_process(story, Hanging(), request_timeout_s=0.1) == 504


def keep_alive_s_has_an_effect(folder: Path) -> None:
    with served(folder, keep_alive_s="1") as (port, _), connected(port) as idle:
        idle.sendall(b"GET /mode HTTP/1.1\r\nhost: x\r\n\r\n")
        assert idle.makefile("rb").read().startswith(b"HTTP/1.1 200 ")  # all until the end of the connection


def stop_timeout_s_has_an_effect(folder: Path) -> None:
    """Of two servers with a request under way, the one with a short limit ends while the other one still waits."""
    with (
        served(folder, stop_timeout_s="1") as (hasty_port, hasty),
        served(folder, stop_timeout_s="3600") as (patient_port, patient),
        request_under_way(hasty_port),
        request_under_way(patient_port) as waiting,
    ):
        os.kill(patient.pid, signal.SIGTERM)
        hasty.stop()
        waiting.setblocking(False)  # noqa: FBT003 - the method of a socket has no name for it
        with pytest.raises(BlockingIOError):  # still connected, and without an answer
            waiting.recv(1)
        patient.kill()


def gzip_min_bytes_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> str | None:
        await registry.register("s", SCHEMA)
        reply = await registry.ask("GET", "/schemas/ids/1", headers={"Accept-Encoding": "gzip"})
        return reply.headers.get("content-encoding")

    assert in_process(story) == "gzip"
    assert in_process(story, gzip_min_bytes=100_000) is None


def cors_origins_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> str | None:
        reply = await registry.ask("GET", "/subjects", headers={"Origin": "https://a.example"})
        return reply.headers.get("access-control-allow-origin")

    assert in_process(story) is None
    assert in_process(story, cors_origins=("https://a.example",)) == "https://a.example"


def compat_version_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.register("s", '"int"')).json

    assert in_process(story)["version"] == 1
    assert in_process(story, compat_version="7") == {"id": 1}


def withhold_new_fields_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.register("s", '"int"')).json

    assert in_process(story, withhold_new_fields=True) == {"id": 1}


class CountingStorage(MemoryStorage):
    """A storage that counts how often a subject's versions are read."""

    read = 0

    async def history(self, subject: Any) -> Any:
        self.read += 1
        return await super().history(subject)


def reads_of_a_repetition(**settings: Any) -> int:
    storage = CountingStorage()

    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        await registry.get("/subjects/s/versions/latest")
        before = storage.read
        await registry.get("/subjects/s/versions/latest")
        return storage.read - before

    return in_process(story, storage, **settings)


def cache_bytes_has_an_effect(_: Path) -> None:
    assert reads_of_a_repetition() == 0
    assert reads_of_a_repetition(cache_bytes=0) > 0


def fast_lane_has_an_effect(_: Path) -> None:
    assert reads_of_a_repetition(fast_lane=False) > 0


def log_requests_has_an_effect(_: Path) -> None:
    lines: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, handler = logging.getLogger("counterfoil.registry"), Collecting()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        assert status_of("GET", "/subjects") == 200
        assert lines == []
        assert status_of("GET", "/subjects", log_requests=True) == 200
        assert lines == ["request", "request"]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def kafka_cluster_id_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.get("/v1/metadata/id")).json["scope"]

    clusters = {"kafka-cluster": "", "schema-registry-cluster": "counterfoil"}
    assert in_process(story) == {"path": [], "clusters": clusters}
    named = {**clusters, "kafka-cluster": "lkc-1"}
    assert in_process(story, kafka_cluster_id="lkc-1") == {"path": [], "clusters": named}


async def create_kek(registry: InProcessRegistry, name: str, **fields: Any) -> int | None:
    kek = {"name": name, "kmsType": "hcvault", "kmsKeyId": "http://vault/transit/keys/k", **fields}
    reply = await registry.post("/dek-registry/v1/keks", kek)
    return reply.code or reply.status


def max_keys_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> list[int | None]:
        return [await create_kek(registry, name) for name in ("a", "b")]

    assert in_process(story) == [200, 200]
    assert in_process(story, max_keys=1) == [200, 40972]


def associations_has_an_effect(_: Path) -> None:
    assert status_of("GET", "/associations/subjects/s") == 200
    assert status_of("GET", "/associations/subjects/s", associations=False) == 404


def kms_timeout_s_has_an_effect(_: Path) -> None:
    async def story(registry: InProcessRegistry) -> str:
        await create_kek(registry, "k", kmsKeyId=f"{url}/transit/keys/k", shared=True)
        return (await registry.ask("POST", "/dek-registry/v1/keks/k/test")).text

    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as environment:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment.setenv("VAULT_ADDR", url)
        environment.setenv("VAULT_TOKEN", "token")
        assert "did not answer within 0.2 s" in in_process(story, kms_timeout_s=0.2)


def refusals_of_a_locked_file(folder: Path, *, writes: int, **settings: str) -> list[str]:
    """What is answered to writes that come at once while somebody else holds the lock of the SQLite file."""
    file = folder / "registry.db"
    with served(folder, store=f"sqlite:///{file}", **settings) as (port, _), ExitStack() as stack:
        locker = stack.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
        locker.execute("BEGIN IMMEDIATE")
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=120) for _ in range(writes)]
        for number, connection in enumerate(connections):
            stack.enter_context(closing(connection)).request("PUT", f"/mode/s{number}", body='{"mode": "READONLY"}')
        replies = [connection.getresponse() for connection in connections]
        return [reply.read().decode() for reply in replies if reply.status == 503]


def max_waiting_writes_has_an_effect(folder: Path) -> None:
    refusals = refusals_of_a_locked_file(folder, writes=5, max_waiting_writes="1", write_timeout_s="1")
    assert any("max_waiting_writes" in refusal for refusal in refusals)


def write_timeout_s_has_an_effect(folder: Path) -> None:
    [refusal] = refusals_of_a_locked_file(folder, writes=1, write_timeout_s="0.3")
    assert "write_timeout_s" in refusal


def stale_reads_s_has_an_effect(_: Path) -> None:
    """What is read from memory, and when, is in ``test_registry_stale_reads.py``."""

    class Lost(MemoryStorage):
        async def catch_up(self) -> None:
            if self.contact.error is not None:
                raise self.contact.error

        def last_known(self) -> Any:
            return self

    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        registry.app.storage.contact.note_lost(StoreUnavailable("It is away"))
        return (await registry.get("/subjects/s/versions/latest")).status

    assert in_process(story, Lost()) == 200
    assert in_process(story, Lost(), stale_reads_s=0) == 503


async def activity_of_a_reader(registry: InProcessRegistry) -> str:
    """Return the activity of a reader that was last seen ten days ago."""
    await registry.register("s-value", '"int"')
    seen = (datetime.now(UTC) - timedelta(days=10)).isoformat()
    batch = {"application": "a", "to": seen, "reads": [{"schemaId": 1, "paths": {"*": 1}}]}
    assert (await registry.post("/contracts/v1/usage", batch)).status == 200
    activity: str = (await registry.get("/contracts/v1/subjects/s-value/consumers")).json[0]["activity"]
    return activity


def usage_active_days_has_an_effect(_: Path) -> None:
    assert in_process(activity_of_a_reader) == "stale"
    assert in_process(activity_of_a_reader, usage_active_days=11) == "active"


def usage_stale_days_has_an_effect(_: Path) -> None:
    assert in_process(activity_of_a_reader, usage_stale_days=9) == "gone"


def webhook_networks_has_an_effect(_: Path) -> None:
    """What is sent where is in ``test_webhook_deliveries.py``."""

    async def story(registry: InProcessRegistry) -> int:
        body = {"url": "http://127.0.0.1:9/in", "secret": f"whsec_{'QUJD' * 8}"}
        return (await registry.post("/contracts/v1/webhooks", body)).status

    assert in_process(story) == 422
    assert in_process(story, webhook_networks=("127.0.0.0/8",)) == 200


def auth_file_has_an_effect(folder: Path) -> None:
    """What the file declares is in the unit tests; how it is read again in ``test_auth_in_force.py``."""
    access = folder / "access.yaml"
    access.write_text("anonymous: [{allow: READ, on: '*'}]\n")
    body = {"body": json.dumps({"schema": SCHEMA}), "headers": {"Content-Type": "application/json"}}
    with served(folder, auth_file=str(access)) as (port, service):
        assert ask("127.0.0.1", port, "POST", "/subjects/s/versions", **body)[0] == 403
        access.write_text("anonymous: [{allow: WRITE, on: '*'}]\n")
        os.kill(service.pid, signal.SIGHUP)
        wait_until(
            lambda: ask("127.0.0.1", port, "POST", "/subjects/s/versions", **body)[0] == 200, what="the new rules"
        )


def require_auth_has_an_effect(folder: Path) -> None:
    command = [COUNTERFOIL, "serve", "--port", "0", "--store", "sqlite://", "--require-auth"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, check=False)
    assert found.returncode == 2
    assert found.stderr.splitlines()[-1].startswith("counterfoil: require_auth is set, and there is no authentication")


async def with_access(**settings: Any) -> tuple[ServerAccess, Callable[[str], Coroutine[Any, Any, int]]]:
    """Return the access of a registry with the user root, and the status of a request with a password of root."""
    storage = MemoryStorage()
    access = ServerAccess(storage, ServerSettings(store="sqlite://", **settings))
    await access.administration.require("root", b"right")
    await access.start()
    registry = InProcessRegistry(storage, server=access)

    async def status(password: str) -> int:
        login = base64.b64encode(f"root:{password}".encode()).decode()
        return (await registry.ask("GET", "/subjects", None, {"Authorization": f"Basic {login}"})).status

    return access, status


def password_checks_has_an_effect(_: Path) -> None:
    async def threads(number: int) -> int:
        before = set(threading.enumerate())
        _, status = await with_access(password_checks=number)
        assert set(await asyncio.gather(*(status(f"wrong{each}") for each in range(4)))) == {401}
        return sum(each.name.startswith("passwords") for each in set(threading.enumerate()) - before)

    assert asyncio.run(threads(1)) == 1
    assert asyncio.run(threads(3)) > 1


def auth_cache_s_has_an_effect(_: Path) -> None:
    """Who is remembered is not affected by wrong passwords of others."""

    async def after_wrong_ones(**settings: Any) -> int:
        _, status = await with_access(**settings)
        assert await status("right") == 200
        wrong = [status(f"wrong{each}") for each in range(10)]
        return (await asyncio.gather(*wrong, status("right")))[-1]  # at once: as time passes, more are allowed

    assert asyncio.run(after_wrong_ones()) == 200
    assert asyncio.run(after_wrong_ones(auth_cache_s=0.0)) == 429


def token_max_days_has_an_effect(_: Path) -> None:
    async def story() -> None:
        access, _ = await with_access(token_max_days=3)
        await access.administration.put_service("ci", description=None, is_disabled=None)
        request = TokenRequest("Service:ci", "t", None, days=4)
        with pytest.raises(InvalidAccess, match="days is 4; expected 1 to 3"):
            await access.administration.create_token(request, permit=lambda _: None)

    asyncio.run(story())


def denied_reads_has_an_effect(_: Path) -> None:
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


def tls_certificate_has_an_effect(folder: Path) -> None:
    """What is served over TLS is in ``test_serving_tls.py``."""
    assert tls_handshake(folder).cipher() is not None
    with pytest.raises(TlsNotUsable, match="no such file"):
        tls_handshake(folder, tls_certificate=str(folder / "nowhere"))


def tls_key_has_an_effect(folder: Path) -> None:
    _, other = Authority(folder).issue("other")
    with pytest.raises(TlsNotUsable, match="is not the key of"):
        tls_handshake(folder, tls_key=str(other))


def tls_min_version_has_an_effect(folder: Path) -> None:
    older = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert tls_handshake(folder, older).version() == "TLSv1.2"
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        tls_handshake(folder, older, tls_min_version="1.3")


def with_client_ca(folder: Path, **settings: str) -> dict[str, str]:
    return {"tls_client_ca": str(Authority(folder, "clients").file), "tls_client_certificates": "required", **settings}


def tls_client_certificates_has_an_effect(folder: Path) -> None:
    """Which certificates are refused is in ``test_serving_tls.py``."""
    older = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls_handshake(folder, **with_client_ca(folder, tls_client_certificates="optional"))
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        tls_handshake(folder, older, **with_client_ca(folder))


def tls_client_ca_has_an_effect(folder: Path) -> None:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_cert_chain(*Authority(folder, "others").issue("client"))
    with pytest.raises(ssl.SSLCertVerificationError):
        tls_handshake(folder, client, **with_client_ca(folder))


def tls_crl_file_has_an_effect(folder: Path) -> None:
    with pytest.raises(TlsNotUsable, match="lists of revoked certificates"):
        tls_handshake(folder, **with_client_ca(folder, tls_crl_file=str(folder / "clients.pem")))


def tls_principal_rules_has_an_effect(folder: Path) -> None:
    """Whom certificates name is in ``test_serving_tls.py``."""
    with pytest.raises(InvalidPrincipalRules, match="is no rule"):
        create_app(ServerSettings(store="sqlite://", tls_principal_rules="RULE:x"))
    assert folder


def tls_principal_prefix_has_an_effect(folder: Path) -> None:
    access = folder / "access.yaml"
    access.write_text("issuers: [{issuer: 'http://127.0.0.1:1', audience: [a]}]\n")
    settings = {"store": "sqlite://", "auth_file": str(access), "tls_principal_rules": "DEFAULT"}
    create_app(ServerSettings(**settings, tls_principal_prefix="cert:"))
    with pytest.raises(InvalidAccessFile, match="set tls_principal_prefix"):
        create_app(ServerSettings(**settings))


def statuses(requests: int, method: str = "GET", **settings: int) -> list[int]:
    async def story(registry: InProcessRegistry) -> list[int]:
        return [(await registry.ask(method, "/mode/s")).status for _ in range(requests)]

    return in_process(story, **settings)


def rate_limit_has_an_effect(_: Path) -> None:
    assert 429 in statuses(20, rate_limit=1)
    assert 429 not in statuses(20)


def rate_burst_has_an_effect(_: Path) -> None:
    assert 429 not in statuses(20, rate_limit=1, rate_burst=20)


def write_rate_limit_has_an_effect(_: Path) -> None:
    assert 429 in statuses(20, "DELETE", write_rate_limit=1)
    assert 429 not in statuses(20, write_rate_limit=1)


def stream_limit_has_an_effect(folder: Path) -> None:
    access = folder / "access.yaml"
    access.write_text("anonymous: [{allow: READ, on: '*'}]\n")
    with served(folder, auth_file=str(access), stream_limit="1") as (port, _), connected(port) as first:
        first.sendall(b"GET /changes HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")
        assert first.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert ask("127.0.0.1", port, "GET", "/changes", headers={"Accept": "text/event-stream"})[0] == 429


def allowed_hosts_has_an_effect(_: Path) -> None:
    headers = {"Host": "registry.example"}
    assert status_of("GET", "/subjects", headers=headers) == 403
    assert status_of("GET", "/subjects", headers=headers, allowed_hosts=("registry.example",)) == 200


def public_url_has_an_effect(_: Path) -> None:
    headers = {"Host": "127.0.0.1", "Origin": "https://registry.example"}
    assert status_of("GET", "/subjects", headers=headers) == 403
    assert status_of("GET", "/subjects", headers=headers, public_url="https://registry.example/") == 200


def redirect_port_has_an_effect(_: Path) -> None:
    """The port itself is in ``test_serving_tls.py``; what arrives without TLS is redirected or refused."""
    given: dict[str, Any] = {"redirect_port": 80, "public_url": "https://registry.example/"}
    assert status_of("GET", "/subjects", **given) == 403
    assert status_of("GET", "/subjects", headers={"Accept": "text/html"}, **given) == 308


def hsts_max_age_s_has_an_effect(_: Path) -> None:
    """The header is in ``test_serving_tls.py``."""
    usual, strict = (limited_protocol(ServerSettings(hsts_max_age_s=each)) for each in (0, 60))
    assert usual.on_headers_complete is not strict.on_headers_complete


def audit_file_has_an_effect(folder: Path) -> None:
    """What is in the file is tested in ``test_audit_file.py``."""
    audit = folder / "audit.jsonl"
    with served(folder, audit_file=str(audit)) as (port, _):
        body = {"body": json.dumps({"schema": SCHEMA}), "headers": {"Content-Type": "application/json"}}
        assert ask("127.0.0.1", port, "POST", "/subjects/s/versions", **body)[0] == 200
        wait_until(lambda: b"schema.register" in audit.read_bytes(), what="the event")


def audit_max_bytes_has_an_effect(folder: Path) -> None:
    log = AuditFile(str(folder / "audit.jsonl"), max_bytes=1024, refuses=False)
    for _ in range(20):
        log.record(AuditEvent(EventKind.AUTH_FAILED))
    log.close()
    assert len(list(folder.glob("audit.jsonl.*"))) > 0


def audit_key_file_has_an_effect(folder: Path) -> None:
    """What is signed is tested in ``test_audit_heads.py``."""
    command = [COUNTERFOIL, "serve", "--port", "0", "--store", "sqlite://", "--audit-key-file", "missing.pem"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, check=False)
    assert found.returncode == 2
    assert found.stderr.splitlines()[-1] == "counterfoil: missing.pem cannot be read: No such file or directory"


def audit_reads_has_an_effect(folder: Path) -> None:
    """Which responses are reads is tested in ``test_audit_reads.py``."""
    audit = folder / "audit.jsonl"
    with served(folder, audit_file=str(audit), audit_reads="watched.*") as (port, _):
        for subject in ("watched.s", "other"):
            body = {"body": json.dumps({"schema": SCHEMA}), "headers": {"Content-Type": "application/json"}}
            assert ask("127.0.0.1", port, "POST", f"/subjects/{subject}/versions", **body)[0] == 200
        for subject in ("other", "watched.s"):
            assert ask("127.0.0.1", port, "GET", f"/subjects/{subject}/versions/1")[0] == 200
        wait_until(lambda: b"schema.read" in audit.read_bytes(), what="the event")
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [each["resource"] for each in lines if each["event"] == "schema.read"] == ["watched.s"]


def audit_keep_days_has_an_effect(_: Path) -> None:
    async def kept(days: int) -> int:
        storage = MemoryStorage()
        old = AuditEvent(EventKind.KEY_TESTED, {}, datetime.now(UTC) - timedelta(days=5))
        await storage.commit(Plan((), (RecordEvents((old,)),)))
        await AuditRecords(storage, keep_days=days).write_minute()
        return sum(each.event == "key.tested" for each in await storage.audit_events(Place(0), 9, 9))

    assert (asyncio.run(kept(4)), asyncio.run(kept(6))) == (0, 1)


def audit_on_failure_has_an_effect(folder: Path) -> None:
    body = {"body": json.dumps({"schema": SCHEMA}), "headers": {"Content-Type": "application/json"}}
    for choice, status in (("continue", 200), ("refuse", 503)):
        with served(folder, audit_file="/dev/full", audit_on_failure=choice) as (port, _):
            wait_until(lambda: b"cannot be written" in (folder / "log").read_bytes(), what="the failure")
            assert ask("127.0.0.1", port, "POST", "/subjects/s/versions", **body)[0] == status


EFFECTS = {name.removesuffix("_has_an_effect"): each for name, each in globals().items() if name.endswith("_effect")}


def test_there_is_an_effect_for_every_setting() -> None:
    assert EFFECTS.keys() == {each.name for each in SETTINGS}


@pytest.mark.parametrize("name", EFFECTS)
def test_the_setting_has_an_effect(name: str, tmp_path: Path) -> None:
    EFFECTS[name](tmp_path)


def test_a_file_of_settings_is_in_force(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    port = free_port()
    file.write_text(f"port: {port}\nstore: 'sqlite://'\ncompat_version: 6\n")
    command = [COUNTERFOIL, "serve", "--settings", str(file)]
    service = Service("the registry", command, log=tmp_path / "log")
    try:
        service.wait_ready(lambda: is_answered("127.0.0.1", port))
        body = json.dumps({"schema": '"int"'})
        assert json.loads(ask("127.0.0.1", port, "POST", "/subjects/s/versions", body=body)[1]) == {"id": 1}
    finally:
        service.stop()


def test_a_network_that_is_none_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("port: 1\nwebhook_networks: [10.0.0.0/8, example.org]\n")
    with pytest.raises(SettingsNotUsable, match=r"line 2: .*example\.org"):
        resolve({}, {}, file=str(file))
    with pytest.raises(SettingsNotUsable, match=r"COUNTERFOIL_WEBHOOK_NETWORKS .*has host bits set"):
        resolve({}, {"COUNTERFOIL_WEBHOOK_NETWORKS": "10.0.0.1/8"})


def test_a_wrong_setting_is_one_line_and_no_server(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("prot: 1\n")
    for extra in ({"COUNTERFOIL_SETTINGS": str(file)}, {"COUNTERFOIL_PORT": "x"}):
        done = subprocess.run(
            [COUNTERFOIL, "serve"],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, **extra},
        )
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "Traceback" not in done.stderr
