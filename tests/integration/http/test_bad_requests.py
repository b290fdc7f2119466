"""Every route of the table with everything that a sender can get wrong: typed refusals, nothing of the server's own.

Beside ``test_bad_input.py``, which goes into bodies and schemas: here it is numbers, words, names, queries and
headers, each tried on all routes that have such a thing.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.app import ROUTES
from counterfoil.registry.http.route import ApiRoute, ConfluentRoute
from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

API_ROUTES = [route for route in ROUTES if isinstance(route, ApiRoute)]
CONFLUENT_ROUTES = [route for route in ROUTES if isinstance(route, ConfluentRoute)]
BODY = b'{"schema":"\\"int\\""}'
BOTH_LANES = pytest.mark.parametrize("fast_lane", [True, False])


def run(story: Callable[[InProcessRegistry], Awaitable[Any]], **settings: Any) -> Any:
    async def main() -> Any:
        registry = InProcessRegistry(**settings)
        await registry.register("s", '"int"')
        kek = {"name": "k", "kmsType": "local-kms", "kmsKeyId": "k"}
        assert (await registry.post("/dek-registry/v1/keks", kek)).status == 200
        dek = {"subject": "s", "encryptedKeyMaterial": "eA=="}
        assert (await registry.post("/dek-registry/v1/keks/k/deks", dek)).status == 200
        return await story(registry)

    return asyncio.run(main())


def path_of(route: ApiRoute, **values: str) -> str:
    path = route.path_format
    for name, value in {
        "subject": "s",
        "version": "1",
        "id": "1",
        "context": "c",
        "guid": "0" * 32,
        "name": "k",
        **values,
    }.items():
        path = path.replace(f"{{{name}}}", value)
    return path


async def ask(registry: InProcessRegistry, route: ApiRoute, path: str, **headers: str) -> Reply:
    body = BODY if route.method in {"POST", "PUT"} else None
    return await registry.ask(route.method, path, body, {"Content-Type": MEDIA_TYPE, **headers} if body else headers)


def is_typed(reply: Reply) -> bool:
    """Whether this is a success, or an error of the sender with the API's body, which says something."""
    if reply.status in {200, 204, 207}:
        return True
    value = reply.json
    return 400 <= reply.status < 500 and value.keys() == {"error_code", "message"} and len(value["message"]) > 5


def routes_with(part: str) -> list[ApiRoute]:
    return [route for route in API_ROUTES if f"{{{part}}}" in route.path_format]


def named(route: ApiRoute) -> str:
    return f"{route.method} {route.path_format}"


# --- numbers and words


@BOTH_LANES
@pytest.mark.parametrize(
    "text", ["abc", "1.5", "1e3", "99999999999", "-99999999999", "9" * 5000, "%20", "", "0x1", "%D9%A3"]
)
def test_what_is_no_id_is_no_page(text: str, *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in routes_with("id"):
            for _ in range(2):
                reply = await ask(registry, route, path_of(route, id=text))
                assert (reply.status, reply.code) == (404, 404), named(route)

    run(story, fast_lane=fast_lane)


@BOTH_LANES
@pytest.mark.parametrize("text", ["+1", "01", "0000000000000000001"])
def test_other_spellings_of_an_id_are_ids(text: str, *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in routes_with("id"):
            assert (await ask(registry, route, path_of(route, id=text))).status == 200, named(route)

    run(story, fast_lane=fast_lane)


@pytest.mark.parametrize("text", ["0", "-2", "abc", "99999999999", "1.0", "%00", "%20", "9" * 5000])
def test_what_is_no_version_is_reported(text: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in routes_with("version"):
            reply = await ask(registry, route, path_of(route, version=text))
            assert reply.code == (400 if text == "%00" else 42202), (named(route), reply)

    run(story)


@pytest.mark.parametrize("name", ["limit", "offset"])
@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("x", 404),
        ("1.5", 404),
        ("99999999999", 404),
        ("%D9%A3", 404),
        ("", 200),
        ("-7", 200),
        ("%2B1", 200),
        ("0", 200),
    ],
)
def test_pages_are_numbers(name: str, text: str, status: int) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in API_ROUTES:
            if name not in route.query:
                continue
            reply = await ask(registry, route, f"{path_of(route)}?{name}={text}")
            assert reply.status == status, (named(route), reply)

    run(story)


@pytest.mark.parametrize("text", ["1", "yes", "", "nonsense", "%FF", "truetrue", "True", "TRUE", "true&{0}=false"])
def test_flags_are_true_or_false_and_never_an_error(text: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in API_ROUTES:
            for flag in ("deleted", "deletedOnly", "normalize", "verbose", "force", "permanent", "defaultToGlobal"):
                if flag in route.query:
                    reply = await ask(registry, route, f"{path_of(route)}?{flag}={text.format(flag)}")
                    assert is_typed(reply), (named(route), reply)
                    assert reply.code not in {400, 404}, (named(route), reply)

    run(story)


@BOTH_LANES
@pytest.mark.parametrize(
    "query", ["nonsense=1", "nonsense", "=", "&&&", "%FF=%FF", "a=%00", "a" * 5000, "format=nonsense", "?", "%"]
)
def test_queries_that_nobody_knows_change_nothing(query: str, *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in API_ROUTES:
            if route.method != "GET":
                continue
            plain = await ask(registry, route, path_of(route))
            reply = await ask(registry, route, f"{path_of(route)}?{query}")
            assert (reply.status, reply.text) == (plain.status, plain.text), named(route)

    run(story, fast_lane=fast_lane)


# --- names


NAMES = {
    "a slash": ("a%2Fb", "a/b"),
    "a space": ("a%20b", "a b"),
    "a plus": ("a+b", "a+b"),
    "a percent sign": ("100%25", "100%"),
    "escaped twice": ("%2541", "%41"),
    "an emoji": ("%F0%9F%92%A5", "\U0001f4a5"),
    "letters that combine": ("e%CC%81", "e\u0301"),
    "from right to left": ("%D7%A9%D7%9C%D7%95%D7%9D", "שלום"),
    "two dots": ("..", ".."),
    "a question mark": ("a%3Fb", "a?b"),
    "a hash": ("a%23b", "a#b"),
    "quotes": ("%22a%27%3C%3E", "\"a'<>"),
    "a backslash": ("a%5Cb", "a\\b"),
    "a word of the path": ("versions", "versions"),
    "another one": ("latest", "latest"),
    "a context": (":.c:name", ":.c:name"),
    "a context, escaped": ("%3A.c%3Aname", ":.c:name"),
    "the default context": (":.:name", "name"),
    "long": ("x" * 250, "x" * 250),
}


@BOTH_LANES
@pytest.mark.parametrize("case", NAMES)
def test_a_name_comes_back_as_it_was_meant(case: str, *, fast_lane: bool) -> None:
    sent, meant = NAMES[case]

    async def story(registry: InProcessRegistry) -> None:
        registered = await registry.register(sent, '"long"')
        assert registered.status == 200, registered
        for _ in range(2):
            reply = await registry.get(f"/subjects/{sent}/versions/latest")
            assert reply.json["subject"] == meant
        assert meant in (await registry.get("/subjects")).json
        assert (await registry.put(f"/config/{sent}", {"compatibility": "NONE"})).status == 200
        assert (await registry.get(f"/config/{sent}")).json["compatibilityLevel"] == "NONE"
        assert (await registry.get(f"/subjects/{sent}/versions/")).json == [1]
        assert (await registry.delete(f"/subjects/{sent}")).json == [1]

    run(story, fast_lane=fast_lane)


@pytest.mark.parametrize(
    "name", ["%00", "%ff", "%C3", "%0A", "%7F", "%1b[31m", "a%00b", "%ED%A0%80", "%F8%88%80%80%80"]
)
def test_names_that_cannot_be_are_refused_everywhere(name: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for part in ("subject", "context", "guid"):
            for route in routes_with(part):
                reply = await ask(registry, route, path_of(route, **{part: name}))
                assert reply.code == 400, (named(route), reply)

    run(story)


@pytest.mark.parametrize("name", ["a%3Ab", "%ff", "%00", "a:b"])
def test_contexts_that_cannot_be_are_refused_everywhere(name: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in API_ROUTES:
            reply = await ask(registry, route, f"/contexts/{name}{path_of(route)}")
            assert (reply.status, reply.code) == (400, 400), named(route)

    run(story)


# --- headers and bodies


@BOTH_LANES
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Accept": "text/html"}, 406),
        ({"Accept": "application/json;q=0, */*;q=0"}, 406),
        ({"Accept": "\xff\xfe"}, 406),
        ({"Accept": "," * 50}, 406),
        ({"Accept-Encoding": "\xff;q=\xff"}, 200),
        ({"If-None-Match": "\xff" * 50}, 200),
        ({"X-Request-ID": "x" * 5000}, 200),
        ({"X-Request-ID": " "}, 200),
        ({"Origin": "null"}, 403),
        ({"Origin": "\xff" * 500}, 403),
        ({"Sec-Fetch-Site": "\xff"}, 403),
    ],
    ids=repr,
)
def test_odd_headers(headers: dict[str, str], status: int, *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for _ in range(2):
            reply = await registry.ask("GET", "/schemas/ids/1", headers=headers)
            assert reply.status == status, reply
            assert is_typed(reply)
            assert len(reply.headers["x-request-id"]) == 36

    run(story, fast_lane=fast_lane)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("text/plain", 415),
        ("application/xml", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/x-www-form-urlencoded", 415),
        ("nonsense", 415),
        ("\xff", 415),
        (";", None),
        ("", None),
        ("application/octet-stream", None),
        ("application/vnd.schemaregistry+json;charset=latin-1", None),
    ],
)
def test_bodies_of_types_that_are_not_read(content_type: str, status: int | None) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in API_ROUTES:
            if route.method in {"POST", "PUT"}:
                reply = await registry.ask(route.method, path_of(route), BODY, {"Content-Type": content_type})
                assert is_typed(reply), (named(route), reply)
                assert reply.code == status if status else reply.code != 415, (named(route), reply)

    run(story)


@pytest.mark.parametrize("body", [b"", b"null", b" \r\n", b"\xef\xbb\xbf"])
def test_a_missing_body_is_reported_by_all_that_need_one(body: bytes) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for route in CONFLUENT_ROUTES:
            if route.body is not None:
                reply = await registry.ask(route.method, path_of(route), body)
                assert reply.code in ({400} if body.startswith(b"\xef") else {422}), (named(route), reply)

    run(story)


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_body_above_the_limit_is_refused_by_all_that_read_one(*, is_declared: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        body = json.dumps({"schema": "x" * 500}).encode()
        headers = {} if is_declared else {"Content-Length": "not known"}
        for route in CONFLUENT_ROUTES:
            if route.body is not None or (is_declared and route.method in {"POST", "PUT"}):
                reply = await registry.ask(route.method, path_of(route), body, headers)
                assert (reply.status, reply.code) == (413, 413), (named(route), reply)

    run(story, max_body_bytes=200)


def test_a_body_that_breaks_off_registers_nothing() -> None:
    """The part that has arrived may well be JSON by itself."""

    async def story(registry: InProcessRegistry) -> None:
        messages = [{"type": "http.request", "body": BODY, "more_body": True}, {"type": "http.disconnect"}]
        await registry.ask("POST", "/subjects/broken/versions", BODY, messages=messages)
        assert (await registry.get("/subjects")).json == ["s"]

    run(story)
    run(story, fast_lane=False)


def test_what_does_not_exist_is_reported_with_every_method() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for path in (
            "/nowhere",
            "/subjects/a/b/c/d",
            "/exporters",
            "//subjects",
            "/subjects/../config",
            "/%2e%2e/x",
            "/;",
        ):
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
                reply = await registry.ask(method, path, b"{}")
                assert reply.code in {404, 405}, (method, path, reply)

    run(story)
