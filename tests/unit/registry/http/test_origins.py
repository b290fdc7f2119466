"""Pages of other origins are refused, unless they are named."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def run(story: Callable[[InProcessRegistry], Awaitable[Any]], **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(**settings)))


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
        ({"Host": "proxy.example", "Origin": "https://proxy.example", "Sec-Fetch-Site": "same-origin"}, 403),
        ({"Host": "registry:8081"}, 200),  # a name without a dot is no name on the Internet
        ({}, 200),
        ({"Host": "evil.example:8081"}, 403),
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

    run(story, host="0.0.0.0")


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

    run(story, cors_origins=("https://ui.example", "https://other.example"), host="0.0.0.0")


OPEN_PLACES = [
    ({"host": "127.0.0.1"}, 403),
    ({"host": "::1"}, 403),
    ({"host": "127.0.0.1", "allowed_hosts": ("evil.example",)}, 200),
    ({"host": "127.0.0.1", "allowed_hosts": ("*",)}, 200),
    ({"host": "127.0.0.1", "public_url": "https://Evil.example/registry"}, 200),
    ({"host": "127.0.0.1", "cors_origins": ("*",)}, 200),
    ({"host": "0.0.0.0"}, 200),  # this server is for others than its own machine
    ({"host": "registry.example"}, 200),
]


@BOTH_LANES
@pytest.mark.parametrize(("settings", "status"), OPEN_PLACES, ids=str)
def test_an_open_server_on_loopback_is_not_read_by_another_name(
    settings: dict[str, Any], status: int, *, fast_lane: bool
) -> None:
    """Reads are refused as well: the page is of the same origin by its name, and would see what it reads."""

    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", '"int"')
        for path in ("/subjects", "/schemas/ids/1", "/schemas/ids/1"):
            for name in ("evil.example", "EVIL.example:8081"):
                reply = await registry.ask("GET", path, headers={"Host": name})
                assert reply.status == status
                assert ("--allowed-hosts" in reply.text) is (status == 403)
            for own in ({"Host": "localhost:8081"}, {"Host": "127.0.0.1"}, {"Host": "registry:8081"}, {}):
                assert (await registry.ask("GET", path, headers=own)).status == 200
        assert (await registry.ask("OPTIONS", "/subjects", headers={"Host": "evil.example"})).status == 204

    run(story, fast_lane=fast_lane, **settings)


@pytest.mark.parametrize("headers", [sent("cross-site"), sent(origin="null"), sent(origin="https://evil.example")])
def test_any_page_passes_where_any_origin_is_named(headers: dict[str, str]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.ask("PUT", "/config", b'{"normalize": true}', headers)).status == 200

    run(story, cors_origins=("*",))


@pytest.mark.slow
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
