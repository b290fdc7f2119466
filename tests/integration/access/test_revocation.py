"""Revocations while requests arrive: three server processes on one PostgreSQL, each with clients that never pause.

Once a revocation has been answered by one of them, no request that begins afterwards is let in by any.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from local_services import wait_until
from local_services.registry import RegistryProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from local_services import PostgresClient

PASSWORD = "the first password"
PATIENCE_S = 120
READS = ("/schemas/ids/1", "/subjects/pay.a/versions/1")


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


ROOT = basic("root", PASSWORD)


@pytest.fixture(scope="module")
def ports(postgres: PostgresClient) -> Iterator[list[int]]:
    """Yield the ports of three servers on one store that demands credentials."""
    name = "revocation_under_load"
    url = postgres.create_database(name)
    with pytest.MonkeyPatch.context() as given, ExitStack() as stack:
        given.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{PASSWORD}\n".encode())))
        assert run(root_command(), ["auth", "init", "--store", url, "--user", "root", "--password-stdin"]) == 0
        servers = [stack.enter_context(RegistryProcess(store=url)) for _ in range(3)]
        found = [each.port for each in servers]
        body = {"schema": '"string"'}
        assert ask(found[0], "POST", "/subjects/pay.a/versions", ROOT, body)[0] == 200
        yield found
    postgres.drop_database(name)


def ask(port: int, method: str, path: str, authorization: str, body: Any = None) -> tuple[int, Any]:
    """Return status and JSON of one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        headers = {"Authorization": authorization, "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
        return reply.status, json.loads(text) if text else None
    finally:
        connection.close()


@dataclass
class Load:
    """Clients that ask all servers without a pause, each on a connection that stays open."""

    ports: list[int]
    authorization: str
    path: str
    stop: threading.Event = field(default_factory=threading.Event)
    answers: list[list[tuple[float, int]]] = field(default_factory=list)
    """Of each client: when a request was begun, and its status."""

    def __enter__(self) -> Self:
        self.answers = [[] for _ in self.ports]
        self.threads = [
            threading.Thread(target=self.run, args=(port, found))
            for port, found in zip(self.ports, self.answers, strict=True)
        ]
        for each in self.threads:
            each.start()
        return self

    def run(self, port: int, found: list[tuple[float, int]]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        while not self.stop.is_set():
            begun = time.monotonic()
            connection.request("GET", self.path, headers={"Authorization": self.authorization})
            reply = connection.getresponse()
            reply.read()
            found.append((begun, reply.status))
        connection.close()

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for each in self.threads:
            each.join()

    def is_let_in_everywhere(self) -> bool:
        return all(any(status == 200 for _, status in found) for found in list(self.answers))

    def late(self, answered: float) -> list[tuple[float, int]]:
        """Return the requests that were begun after ``answered``."""
        return [each for found in self.answers for each in found if each[0] > answered]

    def has_late_ones_everywhere(self, answered: float) -> bool:
        return all(found and found[-1][0] > answered for found in self.answers)


@dataclass
class Grant:
    """What is given to a caller, and how it is taken away: a request of the administrator."""

    authorization: str
    method: str
    path: str
    body: Any = None
    status: int = 401


def new_user(port: int, name: str, operation: str = "READ") -> str:
    done(port, "PUT", f"/auth/v1/users/{name}", {"password": "pass word"})
    return str(done(port, "POST", "/auth/v1/bindings", {"to": f"User:{name}", "allow": operation, "on": "pay.*"})["id"])


def done(port: int, method: str, path: str, body: Any = None) -> Any:
    status, found = ask(port, method, path, ROOT, body)
    assert status < 300, (path, found)
    return found


def token(port: int, name: str) -> Grant:
    new_user(port, name)
    made = done(port, "POST", "/auth/v1/tokens", {"owner": f"User:{name}", "name": "a test"})
    return Grant(f"Bearer {made['token']}", "DELETE", f"/auth/v1/tokens/{made['id']}")


def token_of_a_disabled_user(port: int, name: str) -> Grant:
    sent = token(port, name).authorization
    return Grant(sent, "PUT", f"/auth/v1/users/{name}", {"disabled": True})


def disabled_user(port: int, name: str) -> Grant:
    new_user(port, name)
    return Grant(basic(name, "pass word"), "PUT", f"/auth/v1/users/{name}", {"disabled": True})


def deleted_user(port: int, name: str) -> Grant:
    new_user(port, name)
    return Grant(basic(name, "pass word"), "DELETE", f"/auth/v1/users/{name}")


def other_password(port: int, name: str) -> Grant:
    new_user(port, name)
    return Grant(basic(name, "pass word"), "PUT", f"/auth/v1/users/{name}", {"password": "another one"})


def rule(port: int, name: str) -> Grant:
    binding = new_user(port, name)
    return Grant(basic(name, "pass word"), "DELETE", f"/auth/v1/bindings/{binding}", status=403)


def denial(port: int, name: str) -> Grant:
    new_user(port, name)
    body = {"to": f"User:{name}", "deny": "DESCRIBE", "on": "pay.*"}
    return Grant(basic(name, "pass word"), "POST", "/auth/v1/bindings", body, status=403)


GRANTS = (token, token_of_a_disabled_user, disabled_user, deleted_user, other_password, rule, denial)


@pytest.mark.parametrize("grant", GRANTS, ids=lambda each: each.__name__)
def test_what_was_revoked_is_accepted_by_no_server(ports: list[int], grant: Callable[[int, str], Grant]) -> None:
    for turn in range(3):
        given = grant(ports[turn], f"{grant.__name__}-{turn}")
        with Load(ports, given.authorization, READS[turn % 2]) as load:
            wait_until(load.is_let_in_everywhere, what="the first answers of all servers")
            assert ask(ports[(turn + 1) % 3], given.method, given.path, ROOT, given.body)[0] < 300
            answered = time.monotonic()
            wait_until(lambda load=load, at=answered: load.has_late_ones_everywhere(at), what="later requests")
        assert {status for _, status in load.late(answered)} == {given.status}
        assert ask(ports[turn], "GET", READS[turn % 2], ROOT)[0] == 200
