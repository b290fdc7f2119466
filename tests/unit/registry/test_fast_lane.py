"""The fast lane answers as the ordinary route does, to the byte, and hands on whatever it does not know."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from registry_driver import InProcessRegistry, Reply

V1 = "application/vnd.schemaregistry.v1+json"

REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    # method, path, headers
    "the plain way": ("GET", "/schemas/ids/1", {}),
    "json is enough": ("GET", "/schemas/ids/1", {"Accept": "application/json"}),
    "anything": ("GET", "/schemas/ids/1", {"Accept": "*/*"}),
    "several types": ("GET", "/schemas/ids/1", {"Accept": f"text/html;q=0.9, {V1};q=0.8"}),
    "nothing that there is": ("GET", "/schemas/ids/1", {"Accept": "text/html"}),
    "an id that nobody has": ("GET", "/schemas/ids/7", {}),
    "a leading zero": ("GET", "/schemas/ids/01", {}),
    "a sign": ("GET", "/schemas/ids/+1", {}),
    "an escaped digit": ("GET", "/schemas/ids/%31", {}),
    "more digits than there are ids": ("GET", "/schemas/ids/99999999999", {}),
    "a slash at the end": ("GET", "/schemas/ids/1/", {}),
    "a query": ("GET", "/schemas/ids/1?fetchMaxId=true", {}),
    "an empty query": ("GET", "/schemas/ids/1?", {}),
    "the head alone": ("HEAD", "/schemas/ids/1", {}),
    "another method": ("DELETE", "/schemas/ids/1", {}),
    "a caller's request id": ("GET", "/schemas/ids/1", {"X-Request-ID": "mine"}),
}


async def replies(method: str, path: str, headers: dict[str, str]) -> list[Reply]:
    """The answer through the lane, and without it; asked twice, so that it is at hand."""
    found = []
    for fast_lane in (True, False):
        registry = InProcessRegistry(fast_lane=fast_lane)
        await registry.register("s", {"type": "fixed", "name": "F", "size": 4})
        await registry.get("/schemas/ids/1")
        found.append(await registry.ask(method, path, headers=headers))
    return found


@pytest.mark.parametrize("case", REQUESTS)
def test_both_ways_give_the_same_answer(case: str):
    method, path, headers = REQUESTS[case]
    lane, route = asyncio.run(replies(method, path, headers))
    assert (lane.status, comparable(lane.text)) == (route.status, comparable(route.text))
    assert {**lane.headers, "x-request-id": ""} == {**route.headers, "x-request-id": ""}
    if "X-Request-ID" in headers:
        assert lane.headers["x-request-id"] == route.headers["x-request-id"] == "mine"


def comparable(text: str) -> str:
    """An answer without the time at which the version was stored."""
    head, found, rest = text.partition('"ts":')
    return f"{head}{found}{rest.lstrip('0123456789')}" if found else text


def test_what_is_written_is_seen_at_once():
    async def story() -> list[Any]:
        registry = InProcessRegistry()
        await registry.register("s", {"type": "fixed", "name": "F", "size": 4})
        first = await registry.get("/schemas/ids/1")
        await registry.register("a", {"type": "fixed", "name": "F", "size": 4})
        again = await registry.get("/schemas/ids/1")
        await registry.ask("DELETE", "/subjects/a")
        await registry.ask("DELETE", "/subjects/a?permanent=true")
        return [first.json["subject"], again.json["subject"], (await registry.get("/schemas/ids/1")).json["subject"]]

    assert asyncio.run(story()) == ["s", "a", "s"]


def test_it_is_measured_as_the_ordinary_route():
    async def story() -> str:
        registry = InProcessRegistry()
        await registry.register("s", '"string"')
        for _ in range(3):
            await registry.get("/schemas/ids/1")
        return (await registry.get("/metrics")).text

    measures = asyncio.run(story())
    assert 'counterfoil_requests_total{method="GET",route="/schemas/ids/{id}",status="200"} 3.0' in measures
    assert 'counterfoil_request_seconds_count{route="/schemas/ids/{id}"} 3.0' in measures
