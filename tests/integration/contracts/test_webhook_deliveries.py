"""Webhooks over HTTP: what a receiver gets, which addresses no request is sent to, and several servers on one store."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.contracts.events import parse_networks
from counterfoil.registry.contracts.webhooks import DeliveryAnswer, Sender
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import DeliveryState, NewContract, NewPublication
from counterfoil.sdk import Registry, operations
from local_services import RegistryProcess, wait_until
from strategies.contracts.stories import LINK, promise, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = b"a key of webhooks, 32 bytes long"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
EVENTS = 12
LOOPBACK = parse_networks(["127.0.0.0/8"])


class Receiver(ThreadingHTTPServer):
    """An HTTP server on loopback that keeps what it gets; ``status`` and ``location`` are those of its answers.

    If it ``is_silent`` it closes the connection without an answer.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 204
        self.location = ""
        self.is_silent = False
        self.got: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/in?a=1"

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, _, body in self.got]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, {name.lower(): each for name, each in self.headers.items()}, body))
        if self.server.is_silent:
            return
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = threading.Thread(target=receiver.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        receiver.server_close()
        thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def send(receiver: Receiver, *, url: str | None = None, **settings: Any) -> DeliveryAnswer:
    async def story() -> DeliveryAnswer:
        sender = Sender(settings.pop("networks", LOOPBACK), **settings)
        try:
            return await sender.send(url or receiver.url, {"id": "event-1", "data": "ä"}, key=KEY, ts=1_700_000_000)
        finally:
            await sender.close()

    return asyncio.run(story())


def test_a_request_is_signed_and_goes_to_the_address_that_was_checked(receiver: Receiver) -> None:
    async def resolve(host: str, _: int) -> list[str]:
        return ["127.0.0.1"] if host == "hooks.example" else []

    url = f"http://hooks.example:{receiver.server_port}/in?a=1"
    assert send(receiver, url=url, resolve=resolve) == DeliveryAnswer(204)
    [(path, headers, body)] = receiver.got
    assert (path, headers["host"]) == ("/in?a=1", f"hooks.example:{receiver.server_port}")
    assert headers["content-type"].startswith("application/cloudevents+json")
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("event-1", "1700000000")
    signed = b"event-1.1700000000." + body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert json.loads(body) == {"id": "event-1", "data": "ä"}


def test_a_redirect_is_not_followed_and_no_success(receiver: Receiver) -> None:
    receiver.status, receiver.location = 302, receiver.url
    assert send(receiver) == DeliveryAnswer(302, "the answer was 302")
    assert len(receiver.got) == 1


def test_an_address_outside_of_the_networks_gets_nothing(receiver: Receiver) -> None:
    answer = send(receiver, networks=())
    assert (answer.status, "not in the public network" in answer.error) == (0, True)
    listed = parse_networks(["10.0.0.0/8"])
    assert send(receiver, networks=listed).status == 0
    assert receiver.got == []


def test_a_receiver_that_does_not_answer_or_is_not_there_is_a_failure(receiver: Receiver) -> None:
    receiver.is_silent = True
    assert send(receiver).error
    assert send(receiver, url="http://127.0.0.1:1/in").error


def test_several_servers_deliver_each_event_once_and_one_that_starts_delivers_the_rest(
    postgres_url: str, receiver: Receiver
) -> None:
    settings = {"COUNTERFOIL_WORKERS": "2", "COUNTERFOIL_WEBHOOK_NETWORKS": "127.0.0.1"}
    with RegistryProcess(store=postgres_url, settings=settings) as running, Registry(running.url) as client:
        webhook = client.call(operations.create_webhook(receiver.url, secret=SECRET))
        for number in range(EVENTS):
            contract = NewContract(promise(contract=f"orders{number}"), {LINK: Schema(schema())})
            client.call(operations.publish(NewPublication(f"shop{number}", "1", (contract,))))
        wait_until(
            lambda: all(
                each.state is DeliveryState.DELIVERED for each in client.call(operations.deliveries(webhook.id))
            ),
            what="all deliveries",
        )
        assert Counter(each["type"] for each in receiver.events) == {"contract.published": EVENTS}
        assert {each["subject"] for each in receiver.events} == {f"orders{number}" for number in range(EVENTS)}
        receiver.status = 500
        again = client.call(operations.deliveries(webhook.id))[0]
        client.call(operations.redeliver(webhook.id, again.id))
        wait_until(
            lambda: client.call(operations.deliveries(webhook.id))[0].error == "the answer was 500",
            what="an attempt that fails",
        )
    receiver.status = 204
    with RegistryProcess(store=postgres_url, settings=settings) as running, Registry(running.url) as client:
        wait_until(
            lambda: client.call(operations.deliveries(webhook.id))[0].state is DeliveryState.DELIVERED,
            what="the delivery after a restart",
        )
        assert receiver.events[-1]["id"] == again.event["id"]
        client.call(operations.delete_webhook(webhook.id))
        assert client.call(operations.webhooks()) == ()
