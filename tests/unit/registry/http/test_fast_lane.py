"""The fast lane answers as the ordinary route does, to the byte, and hands on whatever it does not know."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.http.replies import entity_tag
from counterfoil.registry.store.memory import MemoryStorage
from strategies.registry.driver import InProcessRegistry, Reply

V1 = "application/vnd.schemaregistry.v1+json"

SCHEMA = {"type": "fixed", "name": "F", "size": 4}
BODY = json.dumps({"schema": json.dumps(SCHEMA)})

REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    # method, path, headers; a POST sends BODY
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
    "an answer that is known": ("GET", "/schemas/ids/1", {"If-None-Match": "*"}),
    "one that is not": ("GET", "/schemas/ids/1", {"If-None-Match": '"x", W/"y"'}),
    "a text that is known": ("GET", "/schemas/ids/1/schema", {"If-None-Match": "*"}),
    "an id's text": ("GET", "/schemas/ids/1/schema", {}),
    "a packed answer": ("GET", "/schemas/ids/1", {"Accept-Encoding": "gzip"}),
    "what stands for no tag": ("GET", "/subjects/s/versions/1", {"If-None-Match": "*"}),
    "a client that tolerates": ("GET", "/schemas/ids/1", {"Confluent-Accept-Unknown-Properties": "true"}),
    "Confluent's Python client": ("GET", "/schemas/ids/1", {"Confluent-Client-Version": "python/2.16.0"}),
    "that client has it": (
        "GET",
        "/schemas/ids/1",
        {"Confluent-Client-Version": "python/2.16.0", "If-None-Match": "*"},
    ),
    "another client of Confluent's": ("GET", "/schemas/ids/1", {"Confluent-Client-Version": "java/8.1.0"}),
    "options": ("OPTIONS", "/schemas/ids/1", {}),
    "a caller's request id": ("GET", "/schemas/ids/1", {"X-Request-ID": "mine"}),
    "the latest version": ("GET", "/subjects/s/versions/latest", {}),
    "a version": ("GET", "/subjects/s/versions/1", {}),
    "a version that is not there": ("GET", "/subjects/s/versions/2", {}),
    "a version's text": ("GET", "/subjects/s/versions/1/schema", {}),
    "versions": ("GET", "/subjects/s/versions", {}),
    "subjects": ("GET", "/subjects", {}),
    "a context in the path": ("GET", "/contexts/:.:/subjects/s/versions/latest", {}),
    "the same registration": ("POST", "/subjects/s/versions", {"Content-Type": V1}),
    "a look-up": ("POST", "/subjects/s", {}),
    "a look-up where nothing is": ("POST", "/subjects/t", {}),
    "a test": ("POST", "/compatibility/subjects/s/versions", {"Content-Type": "application/json"}),
    "a test against one": ("POST", "/compatibility/subjects/s/versions/latest", {}),
    "a body of another type": ("POST", "/subjects/s", {"Content-Type": "text/plain"}),
    "a body and no such answer": ("POST", "/subjects/s", {"Accept": "text/html"}),
}


async def replies(method: str, path: str, headers: dict[str, str]) -> list[Reply]:
    """The answer through the lane, and without it; asked before, so that it is at hand."""
    found = []
    for fast_lane in (True, False):
        registry = InProcessRegistry(fast_lane=fast_lane)
        await registry.register("s", SCHEMA)
        body = BODY.encode() if method == "POST" else None
        await registry.ask(method, path, body, {})
        found.append(await registry.ask(method, path, body, headers))
    return found


@pytest.mark.parametrize("case", REQUESTS)
def test_both_ways_give_the_same_answer(case: str):
    method, path, headers = REQUESTS[case]
    lane, route = asyncio.run(replies(method, path, headers))
    assert (lane.status, comparable(lane.text)) == (route.status, comparable(route.text))
    assert without_stamps(lane) == without_stamps(route)
    if "X-Request-ID" in headers:
        assert lane.headers["x-request-id"] == route.headers["x-request-id"] == "mine"


def without_stamps(reply: Reply) -> dict[str, str]:
    """The headers without what is different each time; an entity tag is that of the body."""
    headers = {**reply.headers, "x-request-id": ""}
    if "etag" in headers and reply.text:
        assert headers["etag"] == entity_tag(reply.text.encode()).decode()
        headers["etag"] = "(of the body)"
    elif "etag" in headers:
        headers["etag"] = "(of a body that was not sent)"
    return headers


def comparable(text: str) -> str:
    """An answer without the time at which the version was stored."""
    head, found, rest = text.partition('"ts":')
    return f"{head}{found}{rest.lstrip('0123456789')}" if found else text


PYTHON = {"Confluent-Client-Version": "python/2.16.0"}


@pytest.mark.parametrize(
    "settings_", [{}, {"fast_lane": False}, {"withhold_new_fields": True}, {"compat_version": "7"}]
)
@pytest.mark.parametrize("path", ["/schemas/ids/1", "/schemas/ids/1?subject=s", "/contexts/.:/schemas/ids/1"])
def test_the_id_is_repeated_to_confluents_python_client_and_to_nobody_else(path: str, settings_: dict[str, Any]):
    async def story() -> list[tuple[Any, str | None, str | None]]:
        registry = InProcessRegistry(**settings_)
        await registry.register("s", SCHEMA)
        others = ({}, {"Confluent-Client-Version": "java/8.1.0"}, {"User-Agent": "python/3.13"})
        found = []
        for headers in (PYTHON, *others, {"Confluent-Client-Version": "Python/3"}, *others, PYTHON):
            for accept in ({}, {"Accept-Encoding": "identity"}):
                reply = await registry.ask("GET", path, headers={**headers, **accept})
                found.append((reply.json.get("id"), reply.headers.get("etag"), reply.headers.get("vary")))
        return found

    answered = asyncio.run(story())
    wanted = [1] * 2 + [None] * 6
    assert [schema_id for schema_id, _, _ in answered] == [*wanted, *wanted, 1, 1]
    assert len({(schema_id, tag) for schema_id, tag, _ in answered}) == 2
    assert {vary for _, _, vary in answered} == {"Confluent-Accept-Unknown-Properties, Confluent-Client-Version"}


def test_the_tag_of_one_kind_of_client_is_not_that_of_another():
    async def story() -> list[int]:
        registry = InProcessRegistry()
        await registry.register("s", SCHEMA)
        tag = (await registry.ask("GET", "/schemas/ids/1", headers=PYTHON)).headers["etag"]
        known = {"If-None-Match": tag}
        asked = [{**PYTHON, **known}, known, {**PYTHON, **known}, known]
        return [(await registry.ask("GET", "/schemas/ids/1", headers=each)).status for each in asked]

    assert asyncio.run(story()) == [304, 200, 304, 200]


DESCRIPTOR = "CgdhLnByb3RvIgMKAU1iBnByb3RvMw=="
"""``syntax = "proto3"; message M {}`` as a descriptor in base64."""


def test_a_descriptor_is_answered_as_one_to_confluents_python_client_alone():
    async def story() -> list[bool]:
        registry = InProcessRegistry()
        body = json.dumps({"schema": DESCRIPTOR, "schemaType": "PROTOBUF"}).encode()
        found = []
        for path in ("/subjects/s/versions", "/subjects/s/versions?normalize=False", "/subjects/s"):
            for headers in (PYTHON, {}, PYTHON, {}):
                reply = await registry.ask("POST", path, body, headers)
                found.append(reply.json["schema"].startswith("Cg"))
        text = (await registry.get("/subjects/s/versions/1")).json["schema"]
        body = json.dumps({"schema": text, "schemaType": "PROTOBUF"}).encode()
        found.append((await registry.ask("POST", "/subjects/s/versions", body, PYTHON)).json["schema"] == text)
        return found

    assert asyncio.run(story()) == [*[True, False] * 6, True]


def test_what_is_written_is_seen_at_once():
    async def story() -> list[Any]:
        registry = InProcessRegistry()
        await registry.register("s", SCHEMA)
        first = await registry.get("/schemas/ids/1")
        await registry.register("a", SCHEMA)
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


class CountingStorage(MemoryStorage):
    """A storage that counts how often a subject's versions are read."""

    read = 0

    async def history(self, subject: Any) -> Any:
        self.read += 1
        return await super().history(subject)


@pytest.mark.parametrize(
    "case", ["the latest version", "a version", "versions", "the same registration", "a look-up", "a test"]
)
def test_what_was_requested_before_is_not_looked_up_again(case: str):
    method, path, headers = REQUESTS[case]
    body = BODY.encode() if method == "POST" else None

    async def story() -> list[int]:
        storage = CountingStorage()
        registry = InProcessRegistry(storage)
        await registry.register("s", SCHEMA)
        reads = []
        for _ in range(3):
            assert (await registry.ask(method, path, body, headers)).status == 200
            reads.append(storage.read)
        return reads

    first, second, third = asyncio.run(story())
    assert first == second == third


def test_a_body_that_comes_in_pieces_and_a_caller_who_disconnects():
    async def story() -> list[int]:
        registry = InProcessRegistry()
        await registry.register("s", SCHEMA)
        half = len(BODY) // 2
        pieces = [(BODY[:half], True), (BODY[half:], False)]
        whole = [{"type": "http.request", "body": part.encode(), "more_body": more} for part, more in pieces]
        statuses = []
        for path, messages in [("/subjects/s", whole), ("/subjects/s", whole), ("/subjects/t", whole)]:
            statuses.append((await registry.ask("POST", path, BODY.encode(), messages=messages)).status)
        gone = [whole[0], {"type": "http.disconnect"}]
        statuses.append((await registry.ask("POST", "/subjects/s", BODY.encode(), messages=gone)).status)
        return statuses

    assert asyncio.run(story()) == [200, 200, 404, 400]


# --- whatever is written, the lane says what the route says

SUBJECTS = ("s", "t", ":.c:s")
SCHEMAS = ('"string"', '"int"', '{"type": "record", "name": "R", "fields": []}')
REFERENCE = {"name": "R", "subject": "s", "version": -1}

WRITES = st.one_of(
    st.builds(
        lambda subject, schema: ("POST", f"/subjects/{subject}/versions", {"schema": schema}),
        st.sampled_from(SUBJECTS),
        st.sampled_from(SCHEMAS),
    ),
    st.builds(
        lambda subject, path, query: ("DELETE", f"/subjects/{subject}{path}{query}", None),
        st.sampled_from(SUBJECTS),
        st.sampled_from(["", "/versions/1", "/versions/latest"]),
        st.sampled_from(["", "?permanent=true"]),
    ),
    st.builds(
        lambda scope, config: ("PUT", f"/config{scope}", config),
        st.sampled_from(["", "/s", "/t", "/:.c:"]),
        st.sampled_from(
            [{"compatibility": "NONE"}, {"compatibility": "FULL"}, {"alias": "t"}, {"alias": ""}, {"normalize": True}]
        ),
    ),
    st.builds(
        lambda scope, mode: ("PUT", f"/mode{scope}?force=true", {"mode": mode}),
        st.sampled_from(["", "/s"]),
        st.sampled_from(["READWRITE", "READONLY", "IMPORT"]),
    ),
    st.builds(
        lambda subject, schema, number: (
            "POST",
            f"/subjects/{subject}/versions",
            {"schema": schema, "id": number, "version": number},
        ),
        st.sampled_from(SUBJECTS),
        st.sampled_from(SCHEMAS),
        st.integers(1, 4),
    ),
)


def readings() -> list[tuple[str, str, Any]]:
    """Requests that change nothing, whose answers the lane may keep."""
    found: list[tuple[str, str, Any]] = [("GET", "/subjects", None)]
    found += [("GET", f"/schemas/ids/{number}", None) for number in range(1, 5)]
    for subject in SUBJECTS:
        found += [("GET", f"/subjects/{subject}/versions{rest}", None) for rest in ("", "/1", "/latest")]
        for schema in SCHEMAS:
            found.append(("POST", f"/subjects/{subject}", {"schema": schema}))
            found.append(("POST", f"/compatibility/subjects/{subject}/versions", {"schema": schema}))
        request = {"schema": '{"type": "array", "items": "R"}', "references": [REFERENCE]}
        found.append(("POST", f"/compatibility/subjects/{subject}/versions", request))
    return found


@pytest.mark.slow
@given(st.lists(WRITES, min_size=1, max_size=12))
def test_after_any_writes_the_lane_answers_as_the_route_does(writes: list[tuple[str, str, Any]]):
    async def ask(registry: InProcessRegistry, request: tuple[str, str, Any]) -> tuple[int, str]:
        method, path, body = request
        reply = await registry.ask(method, path, None if body is None else json.dumps(body).encode())
        return reply.status, reply.text

    async def story() -> None:
        storage = MemoryStorage()
        lane, route = InProcessRegistry(storage), InProcessRegistry(storage, fast_lane=False)
        for write in writes:
            if write[0] == "POST":  # the same registration again answers the same, and from then on changes nothing
                for _ in range(2):
                    await ask(lane, write)
                assert await ask(lane, write) == await ask(route, write), write
            else:
                await ask(lane, write)
            for reading in readings():
                assert await ask(lane, reading) == await ask(route, reading), reading

    asyncio.run(story())
