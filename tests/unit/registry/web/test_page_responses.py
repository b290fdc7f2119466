"""The responses of pages: headers, static files, the way from the root, errors as pages."""

from __future__ import annotations

import asyncio
import html
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.pages.static import assets
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.errors import StoreUnavailable
from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
GUARDS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
HTML = "text/html; charset=utf-8"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def run(story: Callable[[InProcessRegistry], Awaitable[Any]], *, storage: Any = None, **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(storage, **settings)))


def asked(path: str, method: str = "GET", headers: dict[str, str] | None = None, **settings: Any) -> Reply:
    async def story(registry: InProcessRegistry) -> Reply:
        return await registry.ask(method, path, None, BROWSER if headers is None else headers)

    found: Reply = run(story, **settings)
    return found


# --- the way from the root


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "application/vnd.schemaregistry.v1+json, */*"])
def test_the_root_is_an_empty_object_for_programs(accept: str | None) -> None:
    found = asked("/", headers={} if accept is None else {"Accept": accept})
    assert (found.status, found.json) == (200, {})
    assert "json" in found.media_type


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({}, "/ui/"),
        ({"public_path": "/registry/"}, "/registry/ui/"),
        ({"public_url": "https://kafka.example/schemas"}, "/schemas/ui/"),
        ({"public_url": "https://kafka.example/schemas", "public_path": "/other"}, "/other/ui/"),
    ],
)
def test_the_root_leads_a_browser_to_the_pages(settings: dict[str, str], place: str) -> None:
    found = asked("/", **settings)
    assert (found.status, found.headers["location"], found.body) == (303, place, b"")


def test_without_pages_the_root_is_the_same_for_everybody_and_there_is_nothing_below_ui() -> None:
    assert asked("/", ui="off").json == {}
    assert [asked(path, ui="off").code for path in ("/ui", "/ui/", "/ui/help", "/ui/static/x/style.css")] == [404] * 4


# --- headers


@pytest.mark.parametrize("path", ["/ui", "/ui/", "/ui/help", "/ui/subjects", "/ui/rules", "/ui/changes", "/ui/none"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_every_page_limits_what_a_browser_does_with_it(path: str, method: str) -> None:
    found = asked(path, method)
    assert found.headers["content-type"] == HTML
    assert {name: found.headers[name] for name in GUARDS} == GUARDS
    assert bool(found.body) == (method == "GET")
    if found.status == 200:
        assert found.headers["cache-control"] == "private, no-cache"
        assert found.headers["etag"].startswith('W/"')
    assert int(found.headers["content-length"]) > 500


def test_the_answers_of_the_api_keep_their_headers() -> None:
    found = asked("/subjects", headers={})
    assert found.headers["cache-control"] == "no-cache, no-store, must-revalidate"
    assert "content-security-policy" not in found.headers
    assert found.headers["x-content-type-options"] == "nosniff"


def test_pages_depend_on_credentials_where_some_are_demanded() -> None:
    async def story(registry: InProcessRegistry) -> Reply:
        return await registry.send("GET", "/ui/subjects", "reader")

    found = run(story, access=access())
    assert (found.status, found.headers["vary"]) == (200, "Authorization")


# --- static files


def test_static_files_are_immutable_below_the_hash_of_this_version() -> None:
    own = assets()
    for name, file in own.files.items():
        found = asked(f"/ui/static/{own.hash}/{name}")
        assert (found.status, found.body) == (200, file.body)
        assert found.headers["content-type"] == file.media_type
        assert "immutable" in found.headers["cache-control"]
        assert {header: found.headers[header] for header in GUARDS} == GUARDS


def test_static_files_of_another_version_are_answered_and_asked_for_again() -> None:
    found = asked("/ui/static/0123/style.css")
    assert (found.status, found.headers["cache-control"]) == (200, "private, no-cache")
    again = asked("/ui/static/0123/style.css", headers={"If-None-Match": found.headers["etag"]})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", found.headers["etag"])


@pytest.mark.parametrize("name", ["none.css", "..%2Fbase.html", "%2e%2e", "", "style.css%00", "a%FF"])
def test_there_are_no_other_static_files(name: str) -> None:
    found = asked(f"/ui/static/0123/{name}")
    assert found.status in {400, 404}
    assert found.headers["content-type"] == HTML


# --- errors as pages


def shown(found: Reply) -> tuple[int, int, str]:
    """Return the status, the code and the request id that an error page shows."""
    text = re.sub(r"<[^>]+>", "", found.text)
    status = re.search(r"status (\d+)", text)
    code = re.search(r"code (\d+)", text)
    request = re.search(r"request (\S+)", text)
    assert status is not None, text
    assert code is not None, text
    assert request is not None, text
    return int(status[1]), int(code[1]), request[1]


class LostStorage(MemoryStorage):
    """A store that cannot be reached."""

    async def last_change(self, until_ts: int | None = None) -> int:
        del until_ts
        raise StoreUnavailable("The store cannot be reached", status=503)


ERRORS: list[tuple[str, dict[str, str], dict[str, Any], int, int]] = [
    ("GET /ui/none", {}, {}, 404, 404),
    ("GET /ui/subjects/absent", {}, {}, 404, 40401),
    ("GET /ui/subjects/absent/versions/1", {}, {}, 404, 40401),
    ("GET /ui/subject?name=absent&version=1", {}, {}, 404, 40401),
    ("GET /ui/subjects/a/versions/none", {}, {}, 422, 42202),
    ("GET /ui/subjects/%FF", {}, {}, 400, 400),
    ("GET /ui/ids/99", {}, {}, 404, 40403),
    ("GET /ui/guids/none", {}, {}, 404, 404),
    ("GET /ui/rules/none", {}, {}, 404, 404),
    ("GET /ui/refusals/none", {}, {}, 404, 404),
    ("GET /ui/changes?kind=none", {}, {}, 400, 400),
    ("GET /ui/changes?before=-1", {}, {}, 400, 400),
    ("GET /ui/changes?from=tomorrow", {}, {}, 400, 400),
    ("GET /ui/subjects?as_of=never", {}, {}, 400, 400),
    ("GET /ui/rules?as_of=0", {}, {}, 400, 400),
    ("POST /ui/help", {}, {}, 405, 405),
    ("DELETE /ui/subjects/a", {}, {}, 405, 405),
    ("POST /ui/try", {"Content-Type": "text/plain"}, {}, 415, 415),
    ("POST /ui/decode", {}, {}, 415, 415),
    ("GET /ui/help", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, {}, 403, 403),
    ("POST /ui/try", {**FORM, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, {}, 403, 403),
    ("POST /ui/try", {**FORM, "Host": "r.example", "Origin": "https://evil.example"}, {}, 403, 403),
    ("GET /ui/help", {}, {"access": access()}, 401, 401),
    ("GET /ui/help", {"Authorization": "Basic d3Jvbmc6d3Jvbmc="}, {"access": access()}, 401, 401),
    ("GET /ui/changes", {}, {"storage": LostStorage()}, 503, 50001),
]
"""A request, its headers, the settings of the registry, and the status and code of the error."""


@pytest.mark.parametrize(("request_line", "headers", "settings", "status", "code"), ERRORS)
def test_errors_are_pages_with_status_code_and_request_id(
    request_line: str, headers: dict[str, str], settings: dict[str, Any], status: int, code: int
) -> None:
    method, path = request_line.split(" ", 1)
    found = asked(path, method, {**headers, "X-Request-ID": "my-request"}, **settings)
    assert found.status == status, found.text
    assert shown(found) == (status, code, "my-request")
    assert {name: found.headers[name] for name in GUARDS} == GUARDS
    assert found.headers["x-request-id"] == "my-request"
    assert found.headers["cache-control"] == "no-cache, no-store, must-revalidate"


def test_an_error_says_what_the_api_says() -> None:
    async def story(registry: InProcessRegistry) -> tuple[Reply, Reply]:
        return await registry.get("/subjects/a%3Cb/versions/7"), await registry.get("/ui/subjects/a%3Cb/versions/7")

    of_api, of_page = run(story)
    assert of_api.status == of_page.status
    assert of_api.json["message"] in html.unescape(of_page.text)
    assert "a<b" not in of_page.text


def test_a_browser_is_asked_for_credentials() -> None:
    found = asked("/ui/", access=access())
    assert (found.status, found.headers["www-authenticate"].partition(" ")[0]) in {(401, "Basic"), (401, "Bearer")}


def test_other_methods_are_named() -> None:
    assert asked("/ui/try", "DELETE").headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert asked("/ui/try", "OPTIONS").status == 204


def test_a_form_that_is_too_large_is_refused() -> None:
    async def story(registry: InProcessRegistry) -> Reply:
        return await registry.ask("POST", "/ui/try", b"schema=" + b"x" * 2000, FORM)

    assert shown(run(story, max_body_bytes=1000))[:2] == (413, 413)


@pytest.mark.parametrize("body", [b"schema=%FF", b"&".join(b"a%d=1" % number for number in range(200))])
def test_a_form_that_cannot_be_read_is_refused(body: bytes) -> None:
    async def story(registry: InProcessRegistry) -> Reply:
        return await registry.ask("POST", "/ui/try", body, FORM)

    assert shown(run(story))[:2] == (400, 400)


def test_requests_beyond_a_limit_are_pages_that_try_again() -> None:
    async def story(registry: InProcessRegistry) -> list[Reply]:
        return [await registry.get("/ui/help") for _ in range(3)]

    last = run(story, rate_limit=1)[-1]
    assert shown(last)[:2] == (429, 429)
    assert f'content="{last.headers["retry-after"]}"' in last.text


def test_links_from_elsewhere_are_followed() -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert asked("/ui/help", headers={**BROWSER, **link}).status == 200


def test_an_error_of_the_api_stays_as_it_is() -> None:
    found = asked("/uix", headers={})
    assert json.loads(found.body)["error_code"] == 404
