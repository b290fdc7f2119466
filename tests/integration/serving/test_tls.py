"""The server's TLS, from outside: versions, files that are replaced while it runs, and what it does not start with."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509

from counterfoil.schema.exit_codes import ExitCode
from local_services import free_port, wait_until
from strategies.access.certificates import Authority
from strategies.registry.served import refusal
from strategies.registry.served_with_tls import Serving, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def refused(files: tuple[Path, Path], **settings: str) -> str:
    """What a server prints that does not start with these files."""
    status, [*_, line] = refusal(tls_certificate=str(files[0]), tls_key=str(files[1]), **settings)
    assert status == ExitCode.PRECONDITION
    return line


def test_requests_are_answered_over_tls_and_refused_without_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with serving(tmp_path, authority, authority.issue("server", days=30)) as server:
        assert server.ask("/subjects") == (200, "[]")
        with server.connect() as connection:
            assert connection.version() == "TLSv1.3"
            assert connection.compression() is None
        offering = server.context()
        offering.set_alpn_protocols(["h2", "http/1.1"])
        with server.connect(offering) as connection:
            assert connection.selected_alpn_protocol() == "http/1.1"
        older = server.context()
        older.maximum_version = ssl.TLSVersion.TLSv1_2
        assert server.ask("/subjects", context=older)[0] == 200
        older.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            older.minimum_version = older.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(ssl.SSLError):
            server.connect(older)
        with socket.create_connection(("127.0.0.1", server.port), timeout=120) as plain:
            plain.sendall(b"GET /subjects HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert not plain.recv(1000).startswith(b"HTTP/")
        with server.connect() as connection:  # an answer outside of the application, after which the client reads on
            connection.sendall(b"nonsense\r\n\r\n")
            assert b" 400 " in connection.recv(1000)
        assert "WARNING" not in server.log.read_text()
        assert server.measure("counterfoil_tls_files_valid") == 1
        assert 29 * 86400 < server.measure("counterfoil_tls_expires_seconds") < 30 * 86400


def test_clients_that_send_slowly_are_cut_off(tmp_path: Path) -> None:
    """Neither a handshake nor a request waits for longer than the setting; the usual limit of a handshake is 10 s."""
    authority, wait_s = Authority(tmp_path), 2
    with serving(tmp_path, authority, authority.issue("server", days=30), read_timeout_s=str(wait_s)) as server:
        hello = ssl.MemoryBIO()
        with pytest.raises(ssl.SSLWantReadError):
            server.context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="127.0.0.1").do_handshake()
        for sent in (b"", hello.read()[:100]):
            with socket.create_connection(("127.0.0.1", server.port), timeout=120) as client:
                client.sendall(sent)
                assert is_ended(client)

        def is_answered_late() -> bool:
            """A request that drips; false if this client was too slow for the handshake."""
            try:
                with server.connect() as client:
                    client.sendall(b"GET /subjects HTTP/1.1\r\nhost: localhost\r\n")
                    client.settimeout(wait_s / 10)
                    for _ in range(600):
                        with suppress(TimeoutError):
                            return client.recv(1000).startswith(b"HTTP/1.1 408 ")
                        client.sendall(b"x: y\r\n")
            except OSError:
                pass
            return False

        def is_served() -> bool:
            """A usual request; false if this client was too slow for the handshake."""
            with suppress(OSError):
                return server.ask("/subjects") == (200, "[]")
            return False

        wait_until(is_answered_late, what="the refusal of a slow request")
        wait_until(is_served, what="the response to a usual request")


def is_ended(client: socket.socket) -> bool:
    """Whether the server ends this connection without a word."""
    try:
        return client.recv(1000) == b""
    except ConnectionResetError:
        return True


def test_files_are_replaced_under_load_without_a_failed_request(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue("server")
    with serving(tmp_path, authority, files) as server:
        kept = http.client.HTTPSConnection("127.0.0.1", server.port, context=server.context(), timeout=120)
        kept.request("GET", "/subjects")
        assert kept.getresponse().read() == b"[]"
        stop, failures, answered = threading.Event(), [], []

        def load() -> None:
            while not stop.is_set():
                try:
                    answered.append(server.ask("/subjects")[0])
                except OSError as error:
                    failures.append(error)

        clients = [threading.Thread(target=load) for _ in range(3)]
        for each in clients:
            each.start()
        serials = {server.serial()}
        for _ in range(3):
            before = server.serial()
            authority.issue("server")
            server.read_again()
            wait_until(lambda before=before: server.serial() != before, what="the new certificate")
            serials.add(server.serial())
        stop.set()
        for each in clients:
            each.join()
        kept.request("GET", "/subjects")  # connections live on
        assert kept.getresponse().read() == b"[]"
        kept.close()
    assert failures == []
    assert set(answered) == {200}
    assert len(serials) == 4


def test_files_that_cannot_be_used_leave_those_before_in_force(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    with serving(tmp_path, authority, (certificate, key)) as server:
        assert "expires soon" in server.log.read_text()  # the certificate is valid for a day
        before, old = server.serial(), key.read_bytes()
        authority.issue("server")
        new, key_of_new = certificate.read_bytes(), key.read_bytes()
        key.write_bytes(old)  # the certificate is replaced, its key not yet
        server.read_again()
        wait_until(lambda: server.measure("counterfoil_tls_files_valid") == 0, what="the measure")
        assert server.serial() == before
        assert f"{key} is not the key of the certificate in {certificate}" in server.log.read_text()
        certificate.write_bytes(new[: len(new) // 2])
        server.read_again()
        wait_until(lambda: "no certificate in PEM form" in server.log.read_text(), what="the message")
        certificate.unlink()
        server.read_again()
        wait_until(lambda: "there is no such file" in server.log.read_text(), what="the message")
        assert server.serial() == before
        certificate.write_bytes(new)
        key.write_bytes(key_of_new)
        wait_until(lambda: server.serial() != before, what="the new files, without a signal")
        assert server.measure("counterfoil_tls_files_valid") == 1


def test_workers_have_the_same_files_and_ports(tmp_path: Path, postgres_url: str) -> None:
    authority, plain_port = Authority(tmp_path), free_port()
    settings = {"redirect_port": str(plain_port), "public_url": "https://registry.example/r/", "hsts_max_age_s": "60"}
    files = authority.issue("server")
    with serving(tmp_path, authority, files, store=postgres_url, workers="2", **settings) as server:
        page = {"Accept": "text/html,*/*", "Host": "evil.localhost"}
        for headers, status, address in [
            (page, 308, "https://registry.example/r/subjects?deleted=true"),
            ({**page, "Authorization": "Basic YTpi"}, 403, None),
            ({}, 403, None),
        ]:
            connection = http.client.HTTPConnection("127.0.0.1", plain_port, timeout=120)
            connection.request("GET", "/subjects?deleted=true", headers=headers)
            reply = connection.getresponse()
            assert (reply.status, reply.getheader("location")) == (status, address)
            assert reply.getheader("strict-transport-security") is None
            assert "registry.example/r/subjects" not in reply.read().decode()
            connection.close()
        secure = http.client.HTTPSConnection("127.0.0.1", server.port, context=server.context(), timeout=120)
        for _ in range(3):  # the last responses come from memory
            secure.request("GET", "/subjects")
            reply = secure.getresponse()
            assert (reply.read(), reply.getheader("strict-transport-security")) == (b"[]", "max-age=60")
        secure.close()
        before = server.serial()
        authority.issue("server")
        server.read_again()

        def are_all_new() -> bool:
            return before not in {server.serial() for _ in range(20)}  # whichever worker accepts

        wait_until(are_all_new, what="the new certificate in all workers")
        assert server.measure("counterfoil_tls_files_valid") == 1
        assert json.loads(server.ask("/subjects")[1]) == []


def test_a_key_with_a_password(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue("server", password=b"geheim")
    word = tmp_path / "word"
    word.write_text("geheim\n")
    with serving(tmp_path, authority, files, tls_key_password_file=str(word)) as server:
        assert server.ask("/subjects")[0] == 200
    assert "set COUNTERFOIL_TLS_KEY_PASSWORD" in refused(files)
    assert "the password is wrong" in refused(files, tls_key_password="other")
    assert "geheim" not in refused(files, tls_key_password="geheim", tls_key_password_file=str(word))


def test_a_server_does_not_start_with_files_that_cannot_be_used(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, _ = authority.issue("server")
    _, other = authority.issue("other")
    assert "is not the key of the certificate" in refused((certificate, other))
    assert "there is no such file" in refused((certificate, tmp_path / "nowhere"))
    assert "no certificate in PEM form" in refused((other, other))
    assert "cannot be used; expected" in refused((certificate, certificate))


ACCESS = """
admins: ["User:cert:alice"]
users: {alice: "$2b$04$abcdefghijklmnopqrstuu7VQ2pXyvLUnrHMUSLbAhPmJ4cBYVdFm"}
rules: [{allow: READ, to: "User:cert:Svc.Bob", on: "*"}]
"""
RULES = "RULE:CN=([^,]+),OU=People.*/$1/L, SAN-URI:RULE:spiffe:\\/\\/example\\/svc\\/(.*)/Svc.$1/"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server that demands certificates, and knows callers by them."""
    folder = tmp_path_factory.mktemp("strict")
    authority = Authority(folder)
    access = folder / "access.yaml"
    access.write_text(ACCESS)
    access.chmod(0o600)
    authority.revoke()
    (folder / "clients.pem").write_bytes(authority.file.read_bytes())
    settings = {"tls_client_ca": folder / "clients.pem", "tls_crl_file": authority.revocations, "auth_file": access}
    words = {"tls_client_certificates": "required", "tls_principal_rules": RULES, "tls_principal_prefix": "cert:"}
    given = {name: str(value) for name, value in {**settings, **words, "log_requests": "true"}.items()}
    with serving(folder, authority, authority.issue("server", days=30), **given) as server:
        yield server


def who(server: Serving, client: tuple[Path, Path], **headers: str) -> tuple[int, str]:
    """The status of a request, and who sent it by the server's log."""
    request_id = str(uuid.uuid4())
    status, _ = server.ask("/config", context=server.context(client), headers={"X-Request-ID": request_id, **headers})

    def lines() -> list[Any]:
        return [json.loads(line) for line in server.log.read_text().splitlines() if request_id in line]

    wait_until(lambda: bool(lines()), what="the line about the request")
    return status, lines()[0]["principal"]


def is_let_in(server: Serving, client: tuple[Path, Path] | None) -> bool:
    try:
        return server.ask("/health/live", context=server.context(client))[0] == 200
    except (ssl.SSLError, ConnectionError):
        return False


def test_a_connection_needs_a_certificate_of_the_authority(strict: Serving, tmp_path: Path) -> None:
    assert is_let_in(strict, strict.authority.issue("valid"))
    assert not is_let_in(strict, None)
    assert not is_let_in(strict, Authority(tmp_path).issue("valid"))
    assert not is_let_in(strict, strict.authority.issue("expired", days=-1))


def test_callers_have_the_names_in_their_certificates(strict: Serving) -> None:
    authority = strict.authority
    uri = x509.UniformResourceIdentifier
    alice = authority.issue("alice", subject="CN=Alice,OU=People,O=Example")
    bob = authority.issue("bob", names=[uri("spiffe://other/svc/Bob"), uri("spiffe://example/svc/Bob")])
    assert who(strict, alice) == (200, "User:cert:alice")
    assert who(strict, bob) == (200, "User:cert:Svc.Bob")
    assert who(strict, authority.issue("carol")) == (401, "-")  # no rule is about her
    assert who(strict, authority.issue("evil", subject="CN=Alice,OU=Machines\\,OU=People")) == (401, "-")
    wrong = "Basic " + base64.b64encode(b"alice:wrong").decode()
    assert who(strict, alice, Authorization=wrong) == (401, "-")  # the header is stronger


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_revoked_certificate_opens_no_connection(strict: Serving, version: ssl.TLSVersion) -> None:
    certificate, key = strict.authority.issue("revoked")
    context = strict.context((certificate, key))
    context.maximum_version = context.minimum_version = version

    def session(known: ssl.SSLSession | None = None) -> ssl.SSLSession | None:
        """A connection that may resume a session; None if it is refused."""
        try:
            with strict.connect(context, session=known) as connection:
                connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert b" 200 " in connection.recv(1000)
                return connection.session
        except (ssl.SSLError, ConnectionError, AssertionError):
            return None

    known = session()
    assert known is not None
    assert not known.has_ticket
    strict.authority.revoke(certificate)
    strict.read_again()
    wait_until(lambda: session() is None, what="the refusal")
    assert session(known) is None
    assert is_let_in(strict, strict.authority.issue("valid"))
    strict.authority.revoke()
    strict.read_again()
    wait_until(lambda: session() is not None, what="the end of the refusal")


def test_another_authority_of_clients_is_in_force_without_a_restart(strict: Serving, tmp_path: Path) -> None:
    other, clients = Authority(tmp_path, "other"), strict.authority.file.with_name("clients.pem")
    other.revoke()
    lists, before = strict.authority.revocations, clients.read_bytes()
    strict.authority.revoke()
    own_list = lists.read_bytes()
    theirs, ours = other.issue("theirs"), strict.authority.issue("ours")
    assert (is_let_in(strict, theirs), is_let_in(strict, ours)) == (False, True)
    lists.write_bytes(own_list + other.revocations.read_bytes())
    clients.write_bytes(other.file.read_bytes())
    strict.read_again()
    wait_until(lambda: is_let_in(strict, theirs), what="the new authority")
    assert not is_let_in(strict, ours)
    lists.write_bytes(own_list)
    clients.write_bytes(before)
    strict.read_again()
    wait_until(lambda: is_let_in(strict, ours), what="the authority of before")
    assert not is_let_in(strict, theirs)
