"""Decisions about schema ids that are registered while a bridge runs, and the answers to executors."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge import ResolvedBridge, parse_bridge_file, resolve
from counterfoil.converter.engines.lookup import (
    LookupOutcome,
    RecipeForm,
    UnknownIdStop,
    WriterLookup,
    recipe_from_driver,
)
from counterfoil.converter.engines.reference import converter_of
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.run.checkpoint import Checkpoint
from counterfoil.converter.run.writers import (
    ServiceAddress,
    UnknownIds,
    WriterDecisions,
    WriterService,
    decisions_for,
    parse_address,
)
from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.model import Schema
from counterfoil.schema.wire import frame
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        (schema(optional("seats")), LookupOutcome.CONVERT, "the next start needs a change of the bridge: seats: "),
        (schema(optional("tip")), LookupOutcome.STOP, "changes how the target is filled"),
        (schema(ride="string"), LookupOutcome.STOP, "cannot be read as version 1"),
    ],
)
def test_a_new_version_is_converted_if_the_running_plan_reads_it(
    registry: Registry, running: ResolvedBridge, added: Schema, outcome: LookupOutcome, text: str
) -> None:
    adopted: list[ResolvedBridge] = []
    new = registry.register("in-value", added).id
    decision = WriterDecisions(running, registry, UnknownIds.STOP, adopt=adopted.append).decide(new)
    assert (decision.outcome, [each.newest_id for each in adopted]) == (
        outcome,
        [new] if outcome is LookupOutcome.CONVERT else [],
    )
    assert text in decision.text
    lenient = WriterDecisions(running, registry, UnknownIds.DEAD_LETTERS).decide(new)
    assert lenient.outcome is (outcome if outcome is LookupOutcome.CONVERT else LookupOutcome.DEAD_LETTER)


def test_a_registry_that_does_not_answer_ends_the_run(
    stored: InMemoryRegistry, registry: Registry, running: ResolvedBridge
) -> None:
    stored.answer_next(*[NoReply("no connection")] * 20)
    decision = WriterDecisions(running, registry, UnknownIds.DEAD_LETTERS, patience_s=0).decide(77)
    assert decision.outcome is LookupOutcome.STOP
    assert "schema id 77 cannot be looked up" in decision.text


def test_only_the_holder_of_the_secret_can_sign() -> None:
    lookup, other = (WriterLookup("127.0.0.1", 1, secret) for secret in ("a", "b"))
    request = lookup.request(RecipeForm.JAVA, 7)
    assert lookup.is_signed(request[:6], request[6:])
    assert not other.is_signed(request[:6], request[6:])
    assert "secret" not in repr(lookup)


def session_at(host: str, bound: str | None = None) -> Any:
    """A session of Spark whose driver has these addresses."""
    settings = {"spark.driver.host": host, "spark.driver.bindAddress": bound}
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default=None: settings[name] or default))


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\n\r\n", WriterLookup("", 0, "guess").request(RecipeForm.JAVA, 7)]
)
def test_connections_without_a_signed_request_get_no_answer_and_print_nothing(
    sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    service = WriterService(lines.append, patience_s=0.05)
    with service.serving(session_at("127.0.0.1")):
        lookup = service.lookup()
        with socket.create_connection((lookup.host, lookup.port), 10) as connection:
            connection.sendall(sent)
            assert connection.recv(1) == b""
    assert (lines, *capfd.readouterr()) == ([], "", "")
    with pytest.raises(BridgeError, match="is not running"):
        service.lookup()


def test_keys_are_decided_by_the_subject_of_keys(registry: Registry, tmp_path: Path) -> None:
    for subject in ("in-key", "out-key"):
        registry.register(subject, schema())
    bridge = resolve(parse_bridge_file(f"{FILE}key: {{drop: rest}}\n"), registry)
    lines: list[str] = []
    service, checkpoint = WriterService(lines.append), Checkpoint(tmp_path)
    service.use(decisions_for(bridge, registry, checkpoint, policy="stop"))
    later = registry.register("in-key", schema(optional("seats"))).id
    with service.serving(session_at("localhost", "127.0.0.1")):
        packed = recipe_from_driver(service.key_lookup(), later)
        assert packed is not None
        assert converter_of(packed).convert(frame(later, b"\x02\x00\x00"))[5:] == b"\x02\x00"
        with pytest.raises(UnknownIdStop, match=f"schema id {later} belongs to in-key, and not to in-value"):
            recipe_from_driver(service.lookup(), later)
    assert lines == [f"schema id {later} (version 2 of in-key) was registered after the start; it is converted"]
    found = checkpoint.identity()
    assert found is not None
    assert found.plan == resolve(bridge.file, registry).hash != bridge.hash


def test_the_service_listens_where_executors_are_sent_to() -> None:
    taken = WriterService(print, ServiceAddress("localhost"))
    with taken.serving(session_at("elsewhere.example", "127.0.0.1")):
        lookup = taken.lookup()
        assert lookup.host == "localhost"
        again = WriterService(print, ServiceAddress("localhost", lookup.port))
        with (
            pytest.raises(BridgeError, match=rf"cannot listen at localhost:{lookup.port} .*--id-service"),
            again.serving(session_at("127.0.0.1")),
        ):
            pass
    with again.serving(session_at("127.0.0.1")):
        assert again.lookup().port == lookup.port
    translated = WriterService(print, ServiceAddress("192.0.2.1"))  # an address of documentation, no machine's own
    with translated.serving(session_at("127.0.0.1", "127.0.0.1")):
        assert translated.lookup().host == "192.0.2.1"
        socket.create_connection(("127.0.0.1", translated.lookup().port), 10).close()


def test_the_service_has_addresses_of_version_6() -> None:
    service = WriterService(print)
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:  # a machine without them
        with pytest.raises(BridgeError, match=r"cannot listen at \[::1\]:0"), service.serving(session_at("[::1]")):
            pass
    else:
        with service.serving(session_at("[::1]")):
            lookup = service.lookup()
            socket.create_connection((lookup.host, lookup.port), 10).close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("7077", ServiceAddress("", 7077)),
        ("driver:0", ServiceAddress("driver", 0)),
        ("[2001:db8::1]:7077", ServiceAddress("[2001:db8::1]", 7077)),
    ],
)
def test_an_address_is_a_port_or_a_host_and_a_port(text: str, address: ServiceAddress) -> None:
    assert parse_address(text) == address
    assert not address.host or str(address) == text


@pytest.mark.parametrize("text", ["", "driver", "driver:", ":7077", "::1:7077", "driver:70770", "driver:7a"])
def test_other_texts_are_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not HOST:PORT, \[IPV6\]:PORT or PORT"):
        parse_address(text)
