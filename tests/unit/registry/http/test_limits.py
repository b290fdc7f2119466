"""Limits of requests and event streams: by caller or address, and never of health."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from counterfoil.registry.access.gate import OpenStreams, RateLimits, RequestLimits
from counterfoil.registry.access.identity import CallerIdentity, TrustedProxy, parse_networks
from counterfoil.registry.access.rights import CALLER, NOBODY, Caller


class World:
    """An application behind limits, and a clock."""

    def __init__(self, *, proxies: Any = None, **limits: int) -> None:
        self.now_s = 0.0
        limited = RequestLimits(clock=lambda: self.now_s, **{"a_second": 0, "writes_a_second": 0, **limits})
        self.app = RateLimits(self.passed, limited, proxies=lambda: proxies)

    async def passed(self, _: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    def ask(
        self,
        method: str = "GET",
        path: str = "/subjects",
        *,
        of: str = "",
        address: str = "10.0.0.1",
        forwarded: tuple[str, ...] = (),
    ) -> Any:
        """The status of a request, and its Retry-After."""
        caller = Caller.of(CallerIdentity(of), ()) if of else NOBODY
        scope = {"type": "http", "method": method, "raw_path": path.encode(), "client": (address, 1), CALLER: caller}
        scope["headers"] = [(b"x-forwarded-for", each.encode()) for each in forwarded]
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, None, send))  # type: ignore[arg-type]  # nothing reads a body
        return sent[0]["status"], dict(sent[0]["headers"]).get(b"retry-after")


def test_a_caller_has_a_burst_and_then_a_rate() -> None:
    world = World(a_second=2, burst=3)
    assert [world.ask(of="User:a")[0] for _ in range(4)] == [200, 200, 200, 429]
    assert world.ask(of="User:a") == (429, b"1")
    assert world.ask(of="User:b")[0] == 200
    world.now_s += 0.5
    assert [world.ask(of="User:a", address="10.0.0.2")[0] for _ in range(2)] == [200, 429]


def test_without_a_caller_the_address_counts_and_a_network_of_ipv6_is_one() -> None:
    world = World(a_second=1)
    assert [world.ask(address=each)[0] for each in ("10.0.0.1", "10.0.0.2", "10.0.0.1")] == [200, 200, 429]
    assert [world.ask(address=each)[0] for each in ("2001:db8::1", "2001:db8::2")] == [200, 429]


def test_writes_have_a_limit_of_their_own_and_health_has_none() -> None:
    world = World(writes_a_second=1)
    assert [world.ask("POST")[0] for _ in range(2)] == [200, 429]
    assert [world.ask()[0] for _ in range(5)] == [200] * 5
    world = World(a_second=1, writes_a_second=5)
    assert [world.ask("POST")[0] for _ in range(2)] == [200, 429]
    assert [world.ask(path="/health/live")[0] for _ in range(5)] == [200] * 5


PROXY = TrustedProxy(parse_networks(["10.0.0.1", "10.0.0.2"]))


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (("192.0.2.1",), ("192.0.2.2",), False),
        (("192.0.2.1",), ("192.0.2.1",), True),
        (("192.0.2.9, 192.0.2.1",), ("192.0.2.8, 192.0.2.1",), True),  # what is further left was sent by the client
        (("192.0.2.1, 10.0.0.2",), ("192.0.2.2, 10.0.0.2",), False),  # two proxies in a row
        (("192.0.2.9", "192.0.2.1"), ("192.0.2.1",), True),  # several headers are one
        (("2001:db8::1",), ("2001:db8::ffff",), True),
        (("unknown",), (), True),  # both are the proxy's own
    ],
)
def test_behind_a_listed_proxy_the_client_is_the_rightmost_that_is_no_proxy(
    first: tuple[str, ...], second: tuple[str, ...], *, is_same: bool
) -> None:
    world = World(a_second=1, proxies=PROXY)
    assert world.ask(forwarded=first)[0] == 200
    assert world.ask(forwarded=second)[0] == (429 if is_same else 200)


def test_what_others_than_a_proxy_write_counts_for_nothing() -> None:
    world = World(a_second=1, proxies=PROXY)
    statuses = [world.ask(address="10.0.0.3", forwarded=(f"192.0.2.{number}",))[0] for number in range(3)]
    assert statuses == [200, 429, 429]
    assert world.ask(of="User:a", address="10.0.0.3")[0] == 200


def test_streams_of_callers_behind_a_proxy_are_counted_by_client() -> None:
    streams, clients = OpenStreams(1), []
    for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1"):
        headers = [(b"x-forwarded-for", address.encode())]
        clients.append({"type": "http", "client": ("10.0.0.1", 1), "headers": headers, CALLER: NOBODY})
    with (
        streams.another(clients[0], PROXY) as first,
        streams.another(clients[1], PROXY) as second,
        streams.another(clients[2], PROXY) as third,
    ):
        assert (first, second, third) == (True, True, False)


def stream_of(caller: str) -> dict[str, Any]:
    return {"type": "http", "client": ("10.0.0.1", 1), CALLER: Caller.of(CallerIdentity(caller), ())}


def test_streams_are_counted_while_they_are_open() -> None:
    streams, a, b = OpenStreams(1), stream_of("User:a"), stream_of("User:b")
    with streams.another(a) as first, streams.another(a) as second, streams.another(b) as other:
        assert (first, second, other) == (True, False, True)
    with streams.another(a) as again:
        assert again


def test_streams_have_no_limit_without_a_gate_and_where_it_is_zero() -> None:
    for streams, scope in [(OpenStreams(0), stream_of("User:a")), (OpenStreams(1), {"client": ("10.0.0.1", 1)})]:
        with streams.another(scope) as first, streams.another(scope) as second:
            assert (first, second) == (True, True)
