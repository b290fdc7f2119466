"""What surrounds every answer: entity tags, packed bodies, methods, the time limit."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.app import ROUTES
from counterfoil.registry.http.replies import entity_tag, is_matched
from counterfoil.registry.http.request import Packing, accepts_gzip, unpacking
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.errors import BadRequest, RequestTooLarge, UnsupportedMediaType
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


LARGE = {"type": "enum", "name": "E", "symbols": [f"S{number}" for number in range(500)]}
PACKED = gzip.compress(
    b'{"schema":"1"}', mtime=0
)  # without the time, so that the tests have the same names in every process


def run(story: Callable[[InProcessRegistry], Awaitable[Any]], **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(**settings)))


# --- entity tags


@pytest.mark.parametrize("fast_lane", [True, False])
@pytest.mark.parametrize("path", ["/schemas/ids/1", "/schemas/ids/1/schema", "/schemas/guids/{guid}"])
def test_what_hardly_changes_is_not_sent_twice(path: str, *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        guid = (await registry.register("s", '"int"')).json["guid"]
        where = path.format(guid=guid)
        for method in ("GET", "HEAD", "GET"):
            first = await registry.ask(method, where)
            tag = first.headers["etag"]
            assert (first.status, tag[:3], tag[-1]) == (200, 'W/"', '"')
            for known in (tag, tag.removeprefix("W/"), "*", f'"x", {tag} , "y"'):
                again = await registry.ask(method, where, headers={"If-None-Match": known})
                assert (again.status, again.text, again.headers["etag"]) == (304, "", tag)
                assert "content-length" not in again.headers
                assert "content-type" not in again.headers
            for unknown in ('"x"', 'W/"x"', tag[:-2] + '"', ""):
                assert (await registry.ask(method, where, headers={"If-None-Match": unknown})).status == 200

    run(story, fast_lane=fast_lane)


@pytest.mark.parametrize("fast_lane", [True, False])
def test_a_tag_changes_with_what_it_stands_for(*, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> list[str]:
        await registry.register("s", '"int"')
        tags = [(await registry.get("/schemas/ids/1")).headers["etag"] for _ in range(2)]
        await registry.register("a", '"int"')  # now the lowest subject that holds the id
        changed = await registry.ask("GET", "/schemas/ids/1", headers={"If-None-Match": tags[0]})
        assert (changed.status, changed.json["subject"]) == (200, "a")
        return [*tags, changed.headers["etag"]]

    first, second, third = run(story, fast_lane=fast_lane)
    assert first == second != third


def test_errors_and_what_changes_often_have_no_tag() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", '"int"')
        for path in ("/schemas/ids/7", "/subjects", "/subjects/s/versions/latest", "/config"):
            reply = await registry.ask("GET", path, headers={"If-None-Match": "*"})
            assert reply.status != 304
            assert "etag" not in reply.headers

    run(story)


@given(st.binary(), st.binary())
def test_tags_tell_bodies_apart(one: bytes, other: bytes) -> None:
    assert is_matched(entity_tag(one), entity_tag(other)) == (one == other)


# --- packed answers


@pytest.mark.parametrize("fast_lane", [True, False])
def test_large_answers_are_packed_for_who_accepts_it(*, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", LARGE)
        plain = await registry.get("/schemas/ids/1")
        assert "content-encoding" not in plain.headers
        for _ in range(2):
            packed = await registry.ask("GET", "/schemas/ids/1", headers={"Accept-Encoding": "deflate, gzip"})
            assert packed.headers["content-encoding"] == "gzip"
            assert packed.headers["vary"] == "accept-encoding"
            assert packed.headers["etag"] == plain.headers["etag"]
            assert int(packed.headers["content-length"]) == len(packed.body) < len(plain.body) / 2
            assert gzip.decompress(packed.body) == plain.body
        for refusing in ("br", "gzip;q=0", "identity", ""):
            reply = await registry.ask("GET", "/schemas/ids/1", headers={"Accept-Encoding": refusing})
            assert reply.body == plain.body
        known = {"Accept-Encoding": "gzip", "If-None-Match": plain.headers["etag"]}
        assert (await registry.ask("GET", "/schemas/ids/1", headers=known)).status == 304
        head = await registry.ask("HEAD", "/schemas/ids/1", headers={"Accept-Encoding": "gzip"})
        assert (head.status, head.body) == (200, b"")

    run(story, fast_lane=fast_lane)


def test_small_answers_and_errors_are_not_packed_and_nothing_is_when_that_is_off() -> None:
    async def story(registry: InProcessRegistry) -> list[bool]:
        await registry.register("s", LARGE)
        asked = [("GET", "/subjects"), ("GET", "/nowhere" + "x" * 3000), ("GET", "/schemas/ids/1")]
        replies = [await registry.ask(*each, headers={"Accept-Encoding": "gzip"}) for each in asked]
        return ["content-encoding" in reply.headers for reply in replies]

    assert run(story) == [False, False, True]
    assert run(story, gzip_min_bytes=1) == [True, False, True]
    assert run(story, gzip_min_bytes=0) == [False, False, False]


def test_a_very_large_answer_is_packed() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", {**LARGE, "doc": "x" * 200_000})
        reply = await registry.ask("GET", "/subjects/s/versions/1", headers={"Accept-Encoding": "gzip"})
        assert json.loads(gzip.decompress(reply.body))["version"] == 1

    run(story)


def test_the_head_of_a_stream_does_not_wait_for_its_first_event() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def stream() -> None:
        packed = Packing(min_bytes=1).wrap(send)
        await packed({"type": "http.response.start", "status": 200, "headers": []})
        assert [message["type"] for message in sent] == ["http.response.start"]
        await packed({"type": "http.response.body", "body": b"event", "more_body": True})
        assert sent[1]["body"] == b"event"

    asyncio.run(stream())


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        (b"gzip", True),
        (b"GZIP", True),
        (b"x-gzip", True),
        (b"br, gzip;q=0.1", True),
        (b"*;q=0.5", True),
        (b"*, gzip;q=0", False),
        (b"gzip;q=nonsense", False),
        (b";;,,", False),
        (b"gzipped", False),
    ],
)
def test_who_accepts_gzip(header: bytes, accepted: bool) -> None:  # noqa: FBT001 (a column of the table)
    assert accepts_gzip(header) is accepted


# --- packed requests


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP", "identity, gzip"])
def test_a_packed_body_is_unpacked(coding: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        body = gzip.compress(json.dumps({"schema": '"int"'}).encode())
        for _ in range(2):
            reply = await registry.ask("POST", "/subjects/s/versions", body, {"Content-Encoding": coding})
            assert (reply.status, reply.json["id"]) == (200, 1)

    run(story)


@pytest.mark.parametrize(
    ("body", "coding", "status"),
    [
        (b"no gzip at all", "gzip", 400),
        (PACKED[:-9], "gzip", 400),
        (PACKED + b"rest", "gzip", 400),
        (b"{}", "br", 415),
        (b"{}", "gzip, gzip", 415),
        (gzip.compress(b" " * 100_000, mtime=0), "gzip", 413),
        (b"", "gzip", 422),
        (gzip.compress(b"", mtime=0), "gzip", 422),
    ],
)
def test_packed_bodies_that_cannot_be(body: bytes, coding: str, status: int) -> None:
    async def story(registry: InProcessRegistry) -> None:
        reply = await registry.ask("POST", "/subjects/s/versions", body, {"Content-Encoding": coding})
        assert (reply.status, reply.code) == (status, status)

    run(story, max_body_bytes=10_000)


@given(
    st.lists(st.binary(max_size=300), min_size=1, max_size=4),
    st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=5),
)
def test_members_and_pieces_of_any_size_are_unpacked(members: list[bytes], sizes: list[int]) -> None:
    whole, packed = b"".join(members), b"".join(map(gzip.compress, members))
    pieces = []
    while packed:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(packed[:size])
        packed = packed[size:]

    async def unpacked(max_bytes: int) -> bytes:
        messages = iter([*((piece, True) for piece in pieces), (b"", False)])

        async def receive() -> dict[str, Any]:
            body, more = next(messages)
            return {"type": "http.request", "body": body, "more_body": more}

        unpack = unpacking(receive, b"gzip", max_bytes=max_bytes)
        return b"".join([(await unpack())["body"] for _ in range(len(pieces) + 1)])

    assert asyncio.run(unpacked(len(whole))) == whole
    if whole:
        with pytest.raises(RequestTooLarge):
            asyncio.run(unpacked(len(whole) - 1))


@given(st.binary(min_size=1, max_size=200))
def test_no_bytes_at_all_upset_the_unpacking(data: bytes) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def unpack() -> None:
        await unpacking(receive, b"gzip", max_bytes=1000)()

    with pytest.raises((BadRequest, RequestTooLarge)):
        asyncio.run(unpack())


@given(st.binary(max_size=30))
def test_no_name_of_a_coding_upsets_it(name: bytes) -> None:
    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is to be received yet")

    with contextlib.suppress(UnsupportedMediaType):
        unpacking(receive, name, max_bytes=1)


# --- methods


@pytest.mark.slow
def test_head_is_there_wherever_get_is() -> None:
    async def story(registry: InProcessRegistry) -> None:
        guid = (await registry.register("s", LARGE)).json["guid"]
        values = {"{id}": "1", "{subject}": "s", "{version}": "1", "{guid}": guid, "{context}": "."}
        paths = {route.path_format for route in ROUTES if route.method == "GET"}
        for path in paths:
            for name, value in values.items():
                path = path.replace(name, value)  # noqa: PLW2901 (step by step)
            got, head = await registry.get(path), await registry.ask("HEAD", path)
            assert head.status == got.status
            assert head.text == ""
            if got.status == 200 and path != "/metrics":
                assert head.headers["content-length"] == got.headers["content-length"]

    run(story)


def test_options_and_405_say_what_there_is() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for path, allowed in [
            ("/config", "DELETE, GET, HEAD, OPTIONS, PUT"),
            ("/subjects/s", "DELETE, OPTIONS, POST"),
            ("/subjects/a%2Fb/versions/", "GET, HEAD, OPTIONS, POST"),
            ("/contexts/c/mode", "DELETE, GET, HEAD, OPTIONS, PUT"),
            ("/metrics", "GET, HEAD, OPTIONS"),
        ]:
            options = await registry.ask("OPTIONS", path)
            assert (options.status, options.text, options.headers["allow"]) == (204, "", allowed)
            refused = await registry.ask("PATCH", path)
            assert (refused.status, refused.code, refused.headers["allow"]) == (405, 405, allowed)
        nowhere = await registry.ask("OPTIONS", "/nowhere")
        assert (nowhere.status, nowhere.code) == (404, 404)

    run(story)


# --- the time limit


class HangingStorage(MemoryStorage):
    """A storage whose reading of versions never ends, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.was_cancelled = False

    async def history(self, subject: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return await super().history(subject)


def test_what_takes_too_long_is_answered_all_the_same() -> None:
    async def story() -> tuple[Reply, Reply, bool]:
        storage = HangingStorage()
        registry = InProcessRegistry(storage, request_timeout_s=0.1)
        late = await registry.get("/subjects/s/versions")
        return late, await registry.get("/config"), storage.was_cancelled

    late, other, was_cancelled = asyncio.run(story())
    assert (late.status, late.code) == (504, 504)
    assert "0.1 s" in late.json["message"]
    assert other.status == 200
    assert was_cancelled
