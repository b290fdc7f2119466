"""Webhooks: what is sent for which event, when it is tried again, and what of it clients see."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.contracts.events import MAX_WAITING
from counterfoil.registry.contracts.webhooks import MAX_ENDED, RETRY_AFTER_S, Courier, DeliveryAnswer, Sender
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.use_cases import use_cases
from strategies.contracts.stories import BASE, deploy, expectation, live, promise, publish, schema
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.rest.object_forms import Document

HOOKS = f"{BASE}/webhooks"
SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="
OK = DeliveryAnswer(204)
BROKEN = DeliveryAnswer(500, "the answer was 500")


class Receiver(Sender):
    """Receives events in this process, and returns the given responses in order; the last one is repeated."""

    def __init__(self, *answers: DeliveryAnswer) -> None:
        super().__init__(())
        self.answers = list(answers or (OK,))
        self.events: list[Document] = []

    async def send(self, url: str, event: Document, *, key: bytes, ts: int) -> DeliveryAnswer:
        del url, key, ts
        self.events.append(event)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    @property
    def types(self) -> list[str]:
        return [each["type"] for each in self.events]


class World:
    """A registry, and one or two couriers over its storage, with a clock that the test moves."""

    def __init__(self, receiver: Receiver | None = None) -> None:
        storage = MemoryStorage()
        self.registry = InProcessRegistry(storage)
        self.cases = use_cases(storage, now_ms=self.now_ms).contracts
        self.receiver = receiver or Receiver()
        self.couriers = [
            Courier(self.cases.webhooks, self.receiver, looks=self.cases.looks, now_ms=self.now_ms) for _ in range(2)
        ]
        self.late_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.late_ms

    async def hook(self, *events: str, url: str = "https://hooks.example/in") -> str:
        body = {"url": url, "secret": SECRET, "events": list(events)}
        reply = await self.registry.post(HOOKS, body)
        assert reply.status == 200, reply.text
        found: str = reply.json["id"]
        return found

    async def deliver(self, *, after_s: float = 0) -> None:
        self.late_ms += int(after_s * 1000)
        await asyncio.gather(*(each.deliver() for each in self.couriers))

    async def deliveries(self, webhook: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.registry.get(f"{HOOKS}/{webhook}/deliveries")).json
        return found


def test_webhooks_are_kept_without_showing_their_secret() -> None:
    async def story() -> None:
        world = World()
        webhook = await world.hook("contract.published", "contract.published")
        shown = (await world.registry.get(f"{HOOKS}/{webhook}")).json
        assert (shown["url"], shown["events"]) == ("https://hooks.example/in", ["contract.published"])
        assert "secret" not in shown
        assert (await world.registry.get(HOOKS)).json == [shown]
        assert (await world.registry.delete(f"{HOOKS}/{webhook}")).status == 204
        for path in (f"{HOOKS}/{webhook}", f"{HOOKS}/{webhook}/deliveries"):
            assert (await world.registry.get(path)).code == 40466
        assert (await world.registry.delete(f"{HOOKS}/{webhook}")).code == 40466

    asyncio.run(story())


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://hooks.example/in"},
        {"url": "ftp://hooks.example/in"},
        {"url": "https:///in"},
        {"url": "https://user:password@hooks.example/in"},
        {"url": "https://[::1/in"},
        {"url": "https://hooks.example:x/in"},
        {"url": "https://127.0.0.1/in"},
        {"url": "https://[::ffff:10.0.0.1]/in"},
        {"url": "https://[::10.0.0.1]/in"},
        {"url": "https://[64:ff9b::10.0.0.1]/in"},
        {"url": "https://[64:ff9b:1::1]/in"},
        {"url": "https://[2002:a00:1::1]/in"},
        {"url": "https://[fec0::1]/in"},
        {"url": "https://[3fff::1]/in"},
        {"url": "https://[5f00::1]/in"},
        {"url": "https://192.0.0.192/opc"},
        {"url": "https://192.0.0.9/in"},
        {"url": "https://192.88.99.1/in"},
        {"url": "https://100.100.100.200/latest"},
        {"url": "https://169.254.169.254/latest"},
        {"secret": "plain"},
        {"secret": "whsec_short"},
        {"secret": "whsec_c2hvcnQ="},
    ],
)
def test_an_address_or_a_secret_that_cannot_be_used_is_refused(change: dict[str, str]) -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        body = {"url": "https://hooks.example/in", "secret": SECRET, **change}
        assert (await registry.post(HOOKS, body)).code == 42266
        assert (await registry.get(HOOKS)).json == []
        unknown = {"url": "https://hooks.example/in", "secret": SECRET, "events": ["contract.eaten"]}
        assert (await registry.post(HOOKS, unknown)).status == 400

    asyncio.run(story())


def test_each_event_is_sent_once_as_a_cloud_event_to_those_who_want_it() -> None:
    async def story() -> None:
        world = World()
        await live(world.registry, "order_id")
        webhook = await world.hook()
        assert await world.deliveries(webhook) == []
        await publish(world.registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
        await publish(world.registry, "ui", "1", expectation("order_id", name="ui"))
        await deploy(world.registry, "shop", "2")
        body = {"subject": "orders-value", "schema": {"schema": schema(order_id=None)}, "environment": "production"}
        await world.registry.post(f"{BASE}/check", body)
        await world.deliver()
        await world.deliver()
        assert world.receiver.types == [
            "contract.changed",
            "contract.published",
            "consumer.added",
            "deployment.recorded",
            "check.failed",
        ]
        changed, _, added, deployed, _ = world.receiver.events
        assert {key: changed[key] for key in ("specversion", "source", "subject", "datacontenttype")} == {
            "specversion": "1.0",
            "source": "/contracts/v1",
            "subject": "orders",
            "datacontenttype": "application/json",
        }
        assert changed["time"].endswith("Z")
        assert (changed["data"]["version"], added["data"]["application"]) == ("2.2.0", "ui")
        assert (deployed["data"]["environment"], deployed["data"]["version"]) == ("production", "2")
        kept = await world.deliveries(webhook)
        assert [(each["state"], each["attempts"], each["status"]) for each in kept] == [("delivered", 1, 204)] * 5
        assert [each["event"] for each in reversed(kept)] == world.receiver.events

    asyncio.run(story())


def test_a_verification_that_failed_is_reported_once() -> None:
    async def story() -> None:
        world = World()
        await live(world.registry, "order_id")
        await world.hook()
        results = [{"check": "decode", "outcome": "passed"}, {"check": "range", "outcome": "failed", "failed": 2}]
        body = {"contract": "orders", "contractVersion": "2.1.0", "environment": "production", "readTs": 1}
        await world.registry.post(f"{BASE}/verifications", {**body, "results": results[:1]})
        body["readTs"] = 2
        made = [await world.registry.post(f"{BASE}/verifications", {**body, "results": results}) for _ in range(2)]
        await world.deliver()
        [failed] = world.receiver.events
        assert (failed["type"], failed["subject"]) == ("verification.failed", "orders")
        data = failed["data"]
        assert (data["id"], data["contract"], data["contractVersion"]) == (made[0].json["id"], "orders", "2.1.0")
        assert (data["environment"], data["topic"]) == ("production", "")
        assert [each["check"] for each in data["failures"]] == ["range"]

    asyncio.run(story())


def test_nothing_is_stored_for_events_that_nobody_wants() -> None:
    async def story() -> None:
        world = World()
        webhook = await world.hook("check.failed")
        await live(world.registry, "order_id")
        assert await world.deliveries(webhook) == []

    asyncio.run(story())


def test_a_delivery_is_tried_again_with_growing_pauses_and_then_given_up() -> None:
    async def story() -> None:
        world = World(Receiver(BROKEN))
        webhook = await world.hook("deployment.recorded")
        await live(world.registry, "order_id")
        await world.deliver()
        await world.deliver()
        assert len(world.receiver.events) == 2
        [first, _] = await world.deliveries(webhook)
        assert (first["state"], first["attempts"], first["error"]) == ("pending", 1, "the answer was 500")
        for pause in RETRY_AFTER_S:
            await world.deliver(after_s=pause + 1)
        assert len(world.receiver.events) == 2 * (1 + len(RETRY_AFTER_S))
        assert len({each["id"] for each in world.receiver.events}) == 2
        assert {each["state"] for each in await world.deliveries(webhook)} == {"failed"}
        await world.deliver(after_s=10 * RETRY_AFTER_S[-1])
        assert len(world.receiver.events) == 2 * (1 + len(RETRY_AFTER_S))

        world.receiver.answers = [OK]
        again = await world.registry.post(f"{HOOKS}/{webhook}/deliveries/{first['id']}/redeliver", {})
        assert (again.json["state"], again.json["attempts"]) == ("pending", 0)
        await world.deliver(after_s=1)
        assert (world.receiver.events[-1], (await world.deliveries(webhook))[0]["state"]) == (
            first["event"],
            "delivered",
        )
        unknown = await world.registry.post(f"{HOOKS}/{webhook}/deliveries/none/redeliver", {})
        assert unknown.code == 40467

    asyncio.run(story())


def test_a_receiver_that_is_gone_gets_no_more_attempts() -> None:
    async def story() -> None:
        world = World(Receiver(DeliveryAnswer(410, "the answer was 410")))
        webhook = await world.hook("contract.published")
        await publish(world.registry, "shop", "1", (promise(), schema()))
        await world.deliver()
        assert [each["state"] for each in await world.deliveries(webhook)] == ["failed"]

    asyncio.run(story())


def test_another_server_takes_over_what_a_server_left_behind() -> None:
    class Stopped(Receiver):
        async def send(self, url: str, event: Document, *, key: bytes, ts: int) -> DeliveryAnswer:
            await super().send(url, event, key=key, ts=ts)
            if len(self.events) == 1:
                raise asyncio.CancelledError
            return OK

    async def story() -> None:
        world = World(Stopped())
        webhook = await world.hook("contract.published")
        await publish(world.registry, "shop", "1", (promise(), schema()))
        with pytest.raises(asyncio.CancelledError):
            await world.couriers[0].deliver()
        await world.couriers[1].deliver()
        assert len(world.receiver.events) == 1
        world.late_ms += 61_000
        await world.couriers[1].deliver()
        [kept] = await world.deliveries(webhook)
        assert (kept["state"], kept["attempts"], len(world.receiver.events)) == ("delivered", 2, 2)

    asyncio.run(story())


def test_an_error_that_nobody_has_foreseen_ends_neither_the_courier_nor_other_deliveries(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty(Receiver):
        async def send(self, url: str, event: Document, *, key: bytes, ts: int) -> DeliveryAnswer:
            answer = await super().send(url, event, key=key, ts=ts)
            if len(self.events) == 1:
                raise LookupError("no foreseen error")
            return answer

    async def failing_look() -> None:
        raise LookupError("no foreseen error")

    async def story() -> None:
        world = World(Faulty())
        webhook = await world.hook("contract.published", "deployment.recorded")
        await live(world.registry, "order_id")
        courier = Courier(
            world.cases.webhooks, world.receiver, looks=[failing_look], now_ms=world.now_ms, retry_after_s=[0], poll_s=0
        )
        running = asyncio.create_task(courier.run())
        states: list[str] = []
        async with asyncio.timeout(60):
            while states != ["delivered"] * len(states) or not states:
                await asyncio.sleep(0)
                assert not running.done()
                states = [each["state"] for each in await world.deliveries(webhook)]
        running.cancel()
        attempts = [each["attempts"] for each in await world.deliveries(webhook)]
        assert sorted(attempts)[-2:] == [1, 2]

    asyncio.run(story())
    texts = [each.getMessage() for each in caplog.records]
    assert any("a step in the delivery of events has failed" in each for each in texts)
    assert any(each.startswith("delivery ") and each.endswith(" has failed") for each in texts)


@pytest.mark.slow
def test_the_number_of_kept_and_of_waiting_deliveries_is_bounded() -> None:
    async def story() -> None:
        world = World()
        webhook = await world.hook("deployment.recorded")
        await live(world.registry, "order_id")
        await world.deliver()

        async def deploy_often(times: int) -> None:
            for number in range(times):
                await deploy(world.registry, "shop", "1", instance=f"{world.late_ms}-{number}")

        for _ in range(3):
            world.late_ms += 1
            await deploy_often(MAX_ENDED // 2)
            await world.deliver()
        assert len(await world.deliveries(webhook)) == MAX_ENDED
        world.late_ms += 1
        await deploy_often(MAX_WAITING + 1)
        states = [each["state"] for each in await world.deliveries(webhook)]
        assert (states.count("pending"), states.count("failed")) == (MAX_WAITING, 1)

    asyncio.run(story())


def test_a_consumer_that_was_not_seen_for_long_is_reported_once() -> None:
    async def story() -> None:
        world = World()
        await world.registry.register("orders-value", schema())
        await world.hook("consumer.stale", "consumer.added")
        read = {"schemaId": 1, "paths": {"total": 1}}

        async def see() -> None:
            await world.registry.post(f"{BASE}/usage", {"application": "audit", "reads": [read]})

        await see()
        await see()
        await world.cases.usage.note_stale()
        await world.deliver()
        assert world.receiver.types == ["consumer.added"]
        world.late_ms += 8 * 86_400_000
        await world.cases.usage.note_stale()
        await world.cases.usage.note_stale()
        await world.deliver()
        assert world.receiver.types == ["consumer.added", "consumer.stale"]
        assert world.receiver.events[-1]["data"]["subject"] == "orders-value"

    asyncio.run(story())


def test_an_approval_that_ends_soon_and_a_verification_that_failed_are_reported_once() -> None:
    async def story() -> None:
        world = World()
        until = (datetime.now(UTC) + timedelta(days=10)).date().isoformat()
        body = {"fingerprints": ["abce4c91cedc"], "owner": "ana", "reason": "agreed", "until": until}
        assert (await world.registry.post(f"{BASE}/approvals", body)).status == 200
        await live(world.registry, "total")
        await world.hook("approval.expiring", "verification.failed")
        for late_days in (0, 4, 1):
            world.late_ms += late_days * 86_400_000
            for look in (*world.cases.looks, *world.cases.looks):
                await look()
        await world.deliver()
        assert world.receiver.types == ["approval.expiring"]
        assert world.receiver.events[0]["data"]["until"] == until
        result = {"check": "value-missing total", "outcome": "failed", "records": 9, "failed": 2}
        where = {"contract": "orders", "contractVersion": "2.1.0", "environment": "production"}
        for read_ts, outcome in enumerate(("passed", "failed", "failed"), 1):
            results = [{**result, "outcome": outcome}]
            await world.registry.post(f"{BASE}/verifications", {**where, "results": results, "readTs": read_ts})
        await world.deliver()
        assert world.receiver.types[1:] == ["verification.failed"] * 2
        assert world.receiver.events[1]["data"]["failures"] == [result]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("addresses", "problem"),
    [
        (["10.0.0.1"], "which is not in the public network"),
        (["93.184.215.14", "127.0.0.1"], "which is not in the public network"),
        (["::ffff:127.0.0.1"], "which is not in the public network"),
        (["fe80::1%eth0"], "which is not in the public network"),
        (["fd00::1"], "which is not in the public network"),
        (["224.0.0.1"], "which is not in the public network"),
        ([], "has no address"),
    ],
)
def test_no_request_is_made_to_a_name_with_an_address_that_is_not_permitted(
    addresses: Sequence[str], problem: str
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        assert (host, port) == ("hooks.example", 443)
        return addresses

    async def story() -> DeliveryAnswer:
        sender = Sender((), resolve=resolve)
        return await sender.send("https://hooks.example/in", {"id": "1"}, key=b"k", ts=0)

    answer = asyncio.run(story())
    assert (answer.status, answer.is_success) == (0, False)
    assert problem in answer.error
