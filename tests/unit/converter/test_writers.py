"""Decisions about schema ids that are registered while a bridge runs, and the answers to executors."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge.file import parse_bridge_file
from counterfoil.converter.bridge.resolve import ResolvedBridge, resolve
from counterfoil.converter.engines.lookup import Form, Outcome, WriterLookup
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.run import writers
from counterfoil.converter.run.writers import UnknownIds, WriterDecisions, WriterService
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.model import Schema
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.sdk import Registry

FILE = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\nfields: {id: {from: ride}}\ndrop: [note]\n"
NOTE = {"name": "note", "type": ["null", "string"], "default": None}


def schema(*more: dict[str, Any], ride: str = "int") -> Schema:
    return Schema(json.dumps({"type": "record", "name": "R", "fields": [{"name": "ride", "type": ride}, NOTE, *more]}))


def optional(name: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", "int"], "default": None}


@pytest.fixture
def stored() -> InMemoryRegistry:
    return InMemoryRegistry(level=CompatibilityLevel.NONE)


@pytest.fixture
def registry(stored: InMemoryRegistry) -> Iterator[Registry]:
    with stored.client(sleep=lambda _s: None) as client:
        target = {"type": "record", "name": "T", "fields": [{"name": "id", "type": "long"}, optional("tip")]}
        client.register("out-value", Schema(json.dumps(target)))
        client.register("in-value", schema())
        yield client


@pytest.fixture
def running(registry: Registry) -> ResolvedBridge:
    return resolve(parse_bridge_file(FILE), registry)


@pytest.mark.parametrize(
    ("added", "outcome", "text"),
    [
        (schema(optional("seats")), Outcome.CONVERT, "the next start needs a change of the bridge: seats: "),
        (schema(optional("tip")), Outcome.STOP, "changes how the target is filled"),
        (schema(ride="string"), Outcome.STOP, "cannot be read as version 1"),
    ],
)
def test_a_new_version_is_converted_if_the_running_plan_reads_it(
    registry: Registry, running: ResolvedBridge, added: Schema, outcome: Outcome, text: str
) -> None:
    adopted: list[ResolvedBridge] = []
    new = registry.register("in-value", added).id
    decision = WriterDecisions(running, registry, UnknownIds.STOP, adopt=adopted.append).decide(new)
    assert (decision.outcome, [each.newest_id for each in adopted]) == (
        outcome,
        [new] if outcome is Outcome.CONVERT else [],
    )
    assert text in decision.text
    lenient = WriterDecisions(running, registry, UnknownIds.DEAD_LETTERS).decide(new)
    assert lenient.outcome is (outcome if outcome is Outcome.CONVERT else Outcome.DEAD_LETTER)


def test_a_registry_that_does_not_answer_ends_the_run(
    stored: InMemoryRegistry, registry: Registry, running: ResolvedBridge
) -> None:
    stored.answer_next(*[NoReply("no connection")] * 20)
    decision = WriterDecisions(running, registry, UnknownIds.DEAD_LETTERS, patience_s=0).decide(77)
    assert decision.outcome is Outcome.STOP
    assert "schema id 77 cannot be looked up" in decision.text


def test_only_the_holder_of_the_secret_can_sign() -> None:
    lookup, other = (WriterLookup("127.0.0.1", 1, secret) for secret in ("a", "b"))
    request = lookup.request(Form.JAVA, 7)
    assert lookup.is_signed(request[:5], request[5:])
    assert not other.is_signed(request[:5], request[5:])
    assert "secret" not in repr(lookup)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n\r\n", WriterLookup("", 0, "guess").request(Form.JAVA, 7)])
def test_connections_without_a_signed_request_get_no_answer_and_print_nothing(
    sent: bytes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(writers._Requests, "timeout", 0.05)
    lines: list[str] = []
    service = WriterService(lines.append)
    local: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda _name, _default=None: "127.0.0.1"))
    with service.serving(local):
        lookup = service.lookup()
        with socket.create_connection((lookup.host, lookup.port), 10) as connection:
            connection.sendall(sent)
            assert connection.recv(1) == b""
    assert (lines, *capfd.readouterr()) == ([], "", "")
    with pytest.raises(BridgeError, match="is not running"):
        service.lookup()
