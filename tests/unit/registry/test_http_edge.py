"""What surrounds every answer: entity tags, packed bodies, methods, origins, the time limit, older versions' words."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.api.dialects import DIALECT_BY_VERSION
from counterfoil.registry.api.http.conditions import entity_tag, is_matched
from counterfoil.registry.api.http.packing import Packing, accepts_gzip, unpacking
from counterfoil.registry.api.routes.table import ROUTES
from counterfoil.registry.settings import COMPAT_VERSIONS
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.errors import BadRequest, RequestTooLarge, UnsupportedMediaType
from registry_driver import MEDIA_TYPE, InProcessRegistry, Reply

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


# --- origins


BOTH_LANES = pytest.mark.parametrize("fast_lane", [True, False])
HOST = {"Host": "registry.example:8081"}


def sent(site: str = "", origin: str = "", **others: str) -> dict[str, str]:
    """The headers that a browser sends for a page; ``others`` end in what they say of the fetch."""
    found = {"Sec-Fetch-Site": site, "Origin": origin, **{f"Sec-Fetch-{name}": each for name, each in others.items()}}
    return {**HOST, **{name: each for name, each in found.items() if each}}


FOREIGN = [
    sent("cross-site"),
    sent("cross-site", "https://evil.example"),
    sent("same-site"),
    sent("same-site", "https://other.registry.example"),
    sent("a word of a later standard"),
    sent("cross-site", Mode="no-cors", Dest="script"),
    sent("cross-site", Mode="navigate", Dest="object"),
    sent(origin="https://evil.example"),
    sent(origin="http://registry.example:8082"),
    sent(origin="http://registry.example"),
    sent(origin="http://evil.example/registry.example:8081"),
    sent(origin="http://registry.example:8081.evil.example"),
    sent(origin="null"),
    sent("cross-site", "null"),
    {"Origin": "http://registry.example:8081"},  # there is no Host to compare it with
]
OWN = [
    {},
    HOST,
    sent("same-origin"),
    sent("none"),
    sent("same-origin", "https://registry.example"),  # in front of the server, where the host has another name
    sent(origin="http://registry.example:8081"),
    sent(origin="https://Registry.Example:8081"),
    {"Host": "registry.example", "Origin": "https://registry.example:443"},
    {"Host": "registry.example:80", "Origin": "http://registry.example"},
    {"Host": "[::1]:8081", "Origin": "http://[::1]:8081"},
]


def writes_and_reads() -> list[tuple[str, str, bytes | None]]:
    body = json.dumps({"schema": '"int"'}).encode()
    return [
        ("POST", "/subjects/s/versions", body),
        ("POST", "/subjects/s", body),
        ("PUT", "/config", b'{"compatibility": "NONE"}'),
        ("PUT", "/mode/s?force=true", b'{"mode": "IMPORT"}'),
        ("DELETE", "/mode/s", None),
        ("GET", "/schemas/ids/1", None),
        ("GET", "/subjects", None),
        ("GET", "/changes", None),
        ("GET", "/metrics", None),
        ("GET", "/nothing/here", None),
        ("PATCH", "/subjects", None),
    ]


@BOTH_LANES
@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_pages_of_other_origins_are_refused(headers: dict[str, str], *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", '"int"')
        for method, path, body in writes_and_reads():
            if method == "GET":
                await registry.get(path)  # so that it is at hand
            reply = await registry.ask(method, path, body, headers)
            assert (reply.status, reply.code, reply.media_type) == (403, 403, MEDIA_TYPE), (method, path)
            assert "--cors-origins" in reply.json["message"]
            assert "x-request-id" in reply.headers
            assert not [name for name in reply.headers if name.startswith("access-control")]
        assert (await registry.get("/config")).json == {"compatibilityLevel": "BACKWARD"}
        assert (await registry.ask("HEAD", "/subjects", headers=headers)).status == 403
        assert (await registry.ask("OPTIONS", "/subjects", headers=headers)).status == 204

    run(story, fast_lane=fast_lane)


LOCAL = [
    {"Host": f"{host}:8081", "Origin": f"http://{host}:8081"}
    for host in ("localhost", "127.0.0.1", "127.9.9.9", "[::1]", "Registry.LocalHost")
]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        *[(headers, 200) for headers in LOCAL],
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Host": "localhost:8082", "Origin": "http://localhost:8081"}, 403),
        ({"Host": "evil.example:8081", "Origin": "http://evil.example:8081"}, 403),
        ({"Host": "localhost.evil.example", "Origin": "http://localhost.evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example", "Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Host": "10.0.0.7:8081", "Origin": "http://10.0.0.7:8081"}, 403),
        ({"Host": "proxy.example", "Origin": "https://proxy.example", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "evil.example:8081"}, 200),  # no browser writes without an origin
    ],
    ids=str,
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_name_that_was_made_to_point_to_this_machine_is_not_its_own(
    headers: dict[str, str], status: int, host: str
) -> None:
    async def story(registry: InProcessRegistry) -> None:
        reply = await registry.ask("PUT", "/config", b'{"normalize": true}', headers)
        assert reply.status == status

    run(story, host=host)


@BOTH_LANES
@pytest.mark.parametrize("headers", [*OWN, *LOCAL], ids=str)
def test_pages_of_this_server_and_what_is_no_page_are_answered(headers: dict[str, str], *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        body = json.dumps({"schema": '"int"'}).encode()
        for method, path, sent_body in [("POST", "/subjects/s/versions", body), *writes_and_reads()]:
            assert (await registry.ask(method, path, sent_body, headers)).status != 403, (method, path)

    run(story, fast_lane=fast_lane, host="0.0.0.0")


def test_a_link_from_another_page_is_followed_and_a_form_is_not() -> None:
    async def story(registry: InProcessRegistry) -> None:
        link = sent("cross-site", Mode="navigate", Dest="document")
        assert (await registry.ask("GET", "/subjects", headers=link)).status == 200
        assert (await registry.ask("HEAD", "/subjects", headers=link)).status == 200
        form = {**link, "Origin": "https://evil.example"}
        body = json.dumps({"schema": '"int"'}).encode()
        assert (await registry.ask("POST", "/subjects/s/versions", body, form)).status == 403
        assert (await registry.get("/subjects")).json == []

    run(story)


def test_only_the_pages_of_the_origins_that_are_named_pass() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for headers, status in [
            (sent("cross-site", "https://ui.example"), 200),
            (sent("same-site", "https://ui.example"), 200),
            (sent(origin="https://ui.example"), 200),
            (sent("cross-site"), 403),  # it may be a page of any origin
            (sent("cross-site", "https://ui.example.evil.example"), 403),
            (sent("cross-site", "http://ui.example"), 403),
            (sent(origin="null"), 403),
        ]:
            for method, path, body in [("GET", "/subjects", None), ("PUT", "/config", b'{"normalize": true}')]:
                assert (await registry.ask(method, path, body, headers)).status == status, headers

    run(story, cors_origins=("https://ui.example", "https://other.example"))


@pytest.mark.parametrize("headers", [sent("cross-site"), sent(origin="null"), sent(origin="https://evil.example")])
def test_any_page_passes_where_any_origin_is_named(headers: dict[str, str]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.ask("PUT", "/config", b'{"normalize": true}', headers)).status == 200

    run(story, cors_origins=("*",))


@BOTH_LANES
def test_no_answer_is_taken_for_another_content_type(*, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", '"int"')
        tag = (await registry.get("/schemas/ids/1")).headers["etag"]
        for method, path, headers in [
            *[(method, path, {}) for method, path, _ in writes_and_reads()],
            ("GET", "/schemas/ids/1", {"If-None-Match": tag}),
            ("GET", "/schemas/ids/1/schema", {}),
            ("GET", "/openapi.json", {}),
            ("GET", "/health/live", {}),
            ("GET", "/health/ready", {}),
            ("GET", "/subjects", sent("cross-site")),
            ("GET", "/subjects", {"Accept": "text/html"}),
            ("HEAD", "/changes", {"Accept": "text/event-stream"}),
            ("OPTIONS", "/subjects", {}),
            ("DELETE", "/contexts/c", {}),
        ]:
            reply = await registry.ask(method, path, headers=headers)
            assert reply.headers.get("x-content-type-options") == "nosniff", (method, path)

    run(story, fast_lane=fast_lane)


@pytest.mark.parametrize(("origins", "allowed"), [(("https://ui.example",), "https://ui.example"), (("*",), "*")])
def test_pages_of_these_origins_may_ask(origins: tuple[str, ...], allowed: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        origin = {"Origin": "https://ui.example"}
        for path, status in [("/subjects", 200), ("/schemas/ids/9", 404)]:
            reply = await registry.ask("GET", path, headers=origin)
            assert (reply.status, reply.headers["access-control-allow-origin"]) == (status, allowed)
            assert "X-Request-ID" in reply.headers["access-control-expose-headers"]
        wish = {**origin, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type,x-y"}
        asked_first = await registry.ask("OPTIONS", "/config/s", headers=wish)
        assert (asked_first.status, asked_first.headers["access-control-allow-origin"]) == (200, allowed)
        assert "PUT" in asked_first.headers["access-control-allow-methods"]
        assert "x-y" in asked_first.headers["access-control-allow-headers"]
        if origins != ("*",):
            other = await registry.ask("GET", "/subjects", headers={"Origin": "https://evil.example"})
            assert "access-control-allow-origin" not in other.headers

    run(story, cors_origins=origins)


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


# --- older versions


AVRO = {"type": "fixed", "name": "F", "size": 4}
OTHER = {"type": "fixed", "name": "F", "size": 5}
TOLERANT = {"Confluent-Accept-Unknown-Properties": "true"}


async def tell(registry: InProcessRegistry, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """A short story in which versions differ: keys of bodies, codes of errors."""

    async def ask(method: str, path: str, schema: Any = None, **fields: Any) -> Any:
        body = None if schema is None else json.dumps({"schema": json.dumps(schema), **fields}).encode()
        reply = await registry.ask(method, path, body, {"Content-Type": MEDIA_TYPE, **(headers or {})})
        value = reply.json
        if reply.status != 200:
            return [reply.status, reply.code]
        return sorted(value[0] if isinstance(value, list) and value else value)

    registered = await ask("POST", "/subjects/s/versions", AVRO)
    return {
        "register": registered,
        "again": await ask("POST", "/subjects/s/versions", AVRO),
        "look up": await ask("POST", "/subjects/s", AVRO),
        "version": await ask("GET", "/subjects/s/versions/1"),
        "list": await ask("GET", "/schemas?subjectPrefix=s"),
        "by id": await ask("GET", "/schemas/ids/1"),
        "incompatible": await ask("POST", "/subjects/s/versions", OTHER),
        "no config": await ask("GET", "/config/s"),
        "no mode": await ask("GET", "/mode/s"),
        "json": await ask("POST", "/subjects/j/versions", {"type": "string"}, schemaType="JSON"),
        "json's version": await ask("GET", "/subjects/j/versions/1"),
        "associations": await ask("GET", "/associations/subjects/none"),
        "guid": await ask("GET", "/schemas/guids/00000000-0000-0000-0000-000000000000"),
    }


FULL = {
    "register": ["guid", "id", "schema", "schemaType", "version"],
    "again": ["guid", "id", "schema", "schemaType", "version"],
    "look up": ["guid", "id", "schema", "schemaType", "subject", "version"],
    "version": ["deleted", "guid", "id", "schema", "schemaType", "subject", "ts", "version"],
    "list": ["deleted", "guid", "id", "schema", "schemaType", "subject", "ts", "version"],
    "by id": ["deleted", "guid", "schema", "schemaType", "subject", "ts", "version"],
    "incompatible": [409, 40901],
    "no config": [404, 40408],
    "no mode": [404, 40409],
    "json": ["guid", "id", "schema", "schemaType", "version"],
    "json's version": ["deleted", "guid", "id", "schema", "schemaType", "subject", "ts", "version"],
    "associations": [],
    "guid": [404, 40403],
}
SHORT = {
    "register": ["id"],
    "again": ["id"],
    "look up": ["id", "schema", "subject", "version"],
    "version": ["id", "schema", "subject", "version"],
    "list": ["id", "schema", "subject", "version"],
    "by id": ["schema"],
    "incompatible": [409, 409],
    "no config": [404, 40408],
    "no mode": [404, 40409],
    "json": ["id"],
    "json's version": ["id", "schema", "schemaType", "subject", "version"],
    "associations": [404, 404],
    "guid": [404, 404],
}
WITHHELD = {
    **SHORT,
    "by id": ["schema", "subject", "version"],
    "incompatible": [409, 40901],
    "associations": [],
    "guid": [404, 40403],
}
EXPECTED = {
    "8": FULL,
    "7": SHORT,
    "6": SHORT,
    "5": {**SHORT, "no config": [404, 40401], "no mode": [404, 40401]},
}


def test_every_version_is_tried() -> None:
    assert EXPECTED.keys() == DIALECT_BY_VERSION.keys() == set(COMPAT_VERSIONS)


@pytest.mark.parametrize("version", EXPECTED)
@pytest.mark.parametrize("fast_lane", [True, False])
def test_answers_in_the_words_of_a_version(version: str, *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> list[dict[str, Any]]:
        return [await tell(registry), await tell(registry), await tell(registry, TOLERANT)]

    first, second, tolerant = run(story, compat_version=version, fast_lane=fast_lane)
    assert first == second == tolerant == EXPECTED[version]


@pytest.mark.parametrize("fast_lane", [True, False])
def test_new_fields_are_withheld_from_who_does_not_say_that_he_tolerates_them(*, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> list[dict[str, Any]]:
        asked = (None, TOLERANT, {"Confluent-Accept-Unknown-Properties": "false"}, TOLERANT, None)
        return [await tell(registry, headers) for headers in asked]

    assert run(story, withhold_new_fields=True, fast_lane=fast_lane) == [WITHHELD, FULL, WITHHELD, FULL, WITHHELD]
