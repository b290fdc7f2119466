"""The gate: who is let in, and what the others are answered, on every lane."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.identity import TrustedProxy, UnprovenCaller, UnprovenReason, parse_networks
from counterfoil.registry.access.resources import ROLES, AccessOperation
from counterfoil.registry.access.rules import ANONYMOUS, EVERYTHING, allow, deny, parse_pattern
from counterfoil.registry.in_process import exchange
from counterfoil.registry.telemetry import Telemetry
from strategies.access.callers import NamedCallers, Rules, access, rules_of_teams
from strategies.access.matrix import seed
from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BASIC = 'Basic realm="counterfoil", charset="UTF-8"'
BEARER = 'Bearer realm="counterfoil"'


def play(story: Callable[[InProcessRegistry], Awaitable[Any]], control: Any = None, **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(access=control or access(), **settings)))


async def lines(registry: InProcessRegistry, headers: list[tuple[bytes, bytes]], path: bytes = b"/subjects") -> Any:
    """Return the status and the lines ``WWW-Authenticate`` of a response, each by itself."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path.decode(), "raw_path": path, "query_string": b""}
    await registry.app({**scope, "headers": headers, "client": ("10.0.0.1", 1)}, receive, send)
    return sent[0]["status"], [value.decode() for name, value in sent[0]["headers"] if name == b"www-authenticate"]


def test_who_sends_nothing_is_told_how() -> None:
    async def story(registry: InProcessRegistry) -> None:
        reply = await registry.send("GET", "/subjects", X_Request_ID="mine")
        assert (reply.status, reply.json) == (401, {"error_code": 401, "message": "Unauthorized"})
        assert (reply.media_type, reply.headers["x-request-id"]) == (MEDIA_TYPE, "mine")
        assert await lines(registry, []) == (401, [BASIC, BEARER])
        assert await lines(registry, [(b"sec-fetch-dest", b"empty"), (b"sec-fetch-site", b"none")]) == (401, [BEARER])
        json_reply = await registry.send("GET", "/subjects", Accept="application/json")
        assert json_reply.media_type == "application/json"
        assert (await registry.send("GET", "/subjects", Accept="text/html")).status == 401

    play(story)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"Bearer no", ', error="invalid_token", error_description="not accepted"'),
        (b"bearer no", ', error="invalid_token", error_description="not accepted"'),
        (b"Bearer expired", ', error="invalid_token", error_description="expired"'),
        (b"Basic bm86bm8=", ""),
        (b"Digest x", ""),
        (b"", ""),
    ],
)
def test_what_is_wrong_is_refused(sent: bytes, error: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert await lines(registry, [(b"authorization", sent)]) == (401, [BASIC, BEARER + error])

    play(story)
    play(story, access(lets_anonymous_in=True))


def test_two_headers_are_a_mistake() -> None:
    async def story(registry: InProcessRegistry) -> None:
        twice = [(b"authorization", b"Bearer admin"), (b"authorization", b"Bearer admin")]
        assert await lines(registry, twice) == (400, [])

    play(story)


@pytest.mark.parametrize(
    ("refusal", "status", "code", "after"),
    [
        (UnprovenCaller(UnprovenReason.THROTTLED, 6), 429, 429, "6"),
        (UnprovenCaller(UnprovenReason.THROTTLED), 429, 429, "1"),
        (UnprovenCaller(UnprovenReason.UNAVAILABLE, 30), 503, 50001, "30"),
    ],
)
def test_later_is_not_no(refusal: UnprovenCaller, status: int, code: int, after: str) -> None:
    callers = NamedCallers()

    async def story(registry: InProcessRegistry) -> None:
        callers.refusal = refusal
        reply = await registry.send("GET", "/subjects", "admin")
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (status, code, after)
        assert "www-authenticate" not in reply.headers

    play(story, access(callers=callers))


def test_refused_credentials_are_counted_by_address_and_right_ones_by_caller() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for caller in ("wrong", "expired", None):
            assert (await registry.send("GET", "/subjects", caller)).status == 401
        for caller in ("wrong", None):
            reply = await registry.send("GET", "/subjects", caller)
            assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, 429, "1")
            assert "www-authenticate" not in reply.headers
        for _ in range(3):  # the address is out of attempts, the caller has its own
            assert (await registry.send("GET", "/subjects", "admin")).status == 200
        assert (await registry.send("GET", "/subjects", "admin")).status == 429
        assert (await registry.send("GET", "/health/live")).status == 200

    play(story, rate_limit=1, rate_burst=3)


def test_the_addresses_of_refused_credentials_are_those_behind_listed_proxies() -> None:
    proxies = TrustedProxy(parse_networks(["10.0.0.1"]))
    control = replace(access(), proxies=lambda: proxies)

    async def story(registry: InProcessRegistry) -> None:
        for number, status in ((1, 401), (2, 401), (1, 429)):
            headers = [(b"authorization", b"Bearer wrong"), (b"x-forwarded-for", b"192.0.2.%d" % number)]
            assert (await lines(registry, headers))[0] == status

    play(story, control, rate_limit=1)


def test_requests_are_counted_by_method_and_outcome() -> None:
    callers = NamedCallers()
    telemetry = Telemetry()

    async def story() -> None:
        registry = InProcessRegistry(access=access(callers=callers), telemetry=telemetry)
        await registry.send("POST", "/subjects/own.s/versions", "owner", {"schema": '"int"'})
        for caller in ("admin", "wrong", "expired", None, "nobody"):
            await registry.send("GET", "/subjects/own.s/versions/1", caller)
        await registry.send("POST", "/subjects/own.s/versions", "reader", {"schema": '"int"'})
        await registry.send("PUT", "/config", "reader", {"compatibility": "NONE"})
        await registry.send("GET", "/health/live")

    asyncio.run(story())
    measures = telemetry.exposition().decode().splitlines()
    for line in (
        'counterfoil_auth_total{method="token",outcome="accepted"} 5.0',
        'counterfoil_auth_total{method="other",outcome="wrong"} 1.0',
        'counterfoil_auth_total{method="other",outcome="expired"} 1.0',
        'counterfoil_auth_total{method="none",outcome="missing"} 1.0',
        'counterfoil_auth_cache_total{hit="true"} 0.0',
        'counterfoil_auth_cache_total{hit="false"} 7.0',
        'counterfoil_denied_total{operation="READ"} 1.0',
        'counterfoil_denied_total{operation="WRITE"} 1.0',
        'counterfoil_denied_total{operation="ALTER_CONFIGS"} 1.0',
        'counterfoil_denied_total{operation="PURGE"} 0.0',
    ):
        assert line in measures, "\n".join(measures)
    assert not [line for line in measures if "own.s" in line or "User:" in line]
    [rules] = [line for line in measures if line.startswith("counterfoil_rules_info{")]
    assert f'hash="{access().policy().digest}"' in rules


def test_servers_with_equal_rules_have_equal_digests() -> None:
    first = Rules([deny("User:a", [AccessOperation.READ], EVERYTHING), allow("User:b", ROLES["owner"], EVERYTHING)])
    turned = Rules([allow("User:b", ROLES["owner"], EVERYTHING), deny("User:a", [AccessOperation.READ], EVERYTHING)])
    other = Rules([allow("User:a", [AccessOperation.READ], EVERYTHING), allow("User:b", ROLES["owner"], EVERYTHING)])
    assert first().digest == turned().digest
    assert len({first().digest, other().digest, Rules()().digest, Rules((), b"/metrics")().digest}) == 4

    async def story(registry: InProcessRegistry) -> None:
        for caller, shown in ((None, None), ("nobody", access().policy().digest)):
            assert (await registry.send("GET", "/health/ready", caller)).json.get("rules") == shown

    play(story)


def test_responses_say_that_they_depend_on_credentials() -> None:
    """Whether they come from memory, with an entity tag, compressed, or are a refusal; not without access control."""

    async def varied(registry: InProcessRegistry, path: str, *headers: tuple[bytes, bytes]) -> set[str]:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        await registry.app({**scope, "headers": list(headers), "client": ("10.0.0.1", 1)}, receive, send)
        lines = [value.decode() for name, value in sent[0]["headers"] if name == b"vary"]
        return {each.strip() for line in lines for each in line.split(",")}

    paths = ("/subjects/own.s/versions/1", "/schemas/ids/1", "/subjects", "/auth/v1/whoami", "/nowhere")
    packed = (b"accept-encoding", b"gzip")

    async def story(registry: InProcessRegistry) -> None:
        await seed(registry)
        for path in (*paths, *paths):
            for headers in ([], [(b"authorization", b"Bearer reader")], [(b"authorization", b"Bearer reader"), packed]):
                assert "Authorization" in await varied(registry, path, *headers), path

    play(story)
    for path in paths:
        assert "Authorization" not in asyncio.run(varied(InProcessRegistry(), path))


def test_open_paths_need_no_rights_of_those_who_send_credentials() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for caller in (None, "nobody", "wrong", "admin"):
            assert (await registry.send("GET", "/metrics", caller)).status == 200

    play(story, access(Rules(rules_of_teams(), b"/metrics")))


def test_badges_can_be_open() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await seed(registry)
        folder = "/contracts/v1/badges"
        for caller in (None, "nobody", "wrong", "admin"):
            for name, status in (("own", 200), ("foreign", 200), ("absent", 404)):
                reply = await registry.send("GET", f"{folder}/{name}.svg", caller)
                assert (reply.status, reply.text[:4]) == (status, "<svg")
        closed = (
            folder,
            f"{folder}//own.svg",
            f"{folder}/x/own.svg",
            f"{folder}/../contracts",
            f"{folder}%2Fown.svg",
            f"/contexts/c{folder}/own.svg",
            "/contracts/v1/contracts",
            "/metrics",
        )
        for path in closed:
            assert (await registry.send("GET", path)).status == 401, path
        assert (await registry.send("GET", f"{folder}/..")).status == 404
        assert (await registry.send("POST", f"{folder}/own.svg")).status == 401

    play(story, access(Rules(rules_of_teams(), b"/contracts/v1/badges/")))


def test_the_body_of_a_refused_request_is_not_read() -> None:
    async def story(registry: InProcessRegistry) -> None:
        def never() -> Any:
            raise AssertionError("the body was read")

        scope = {"type": "http", "method": "POST", "path": "/subjects/own.s", "raw_path": b"/subjects/own.s"}
        sent: list[Any] = []

        async def receive() -> Any:
            never()

        async def send(message: Any) -> None:
            sent.append(message)

        length = (b"content-length", b"10")
        for headers, status in (([length], 401), ([length, (b"authorization", b"Bearer nobody")], 403)):
            sent.clear()
            path = {"raw_path": b"/subjects/own.s/versions", "path": "/subjects/own.s/versions"}
            await registry.app({**scope, **path, "query_string": b"force=true", "headers": headers}, receive, send)
            assert sent[0]["status"] == status

    play(story)


def test_open_paths_are_compared_byte_for_byte() -> None:
    async def story(registry: InProcessRegistry) -> None:
        statuses = {
            path: (await registry.send("GET", path)).status
            for path in (
                "/health/live",
                "/health/live/",
                "//health/live",
                "/health/%6cive",
                "/contexts/health/live",
                "/health/live/../../subjects",
                "/health/LIVE",
                "/metrics",
                "/metrics/",
                "/openapi.json",
                "/nowhere",
            )
        }
        assert [path for path, status in statuses.items() if status != 401] == ["/health/live", "/metrics"]
        assert (await registry.send("POST", "/metrics")).status == 401
        assert (await registry.send("GET", "/nowhere", "nobody")).status == 404

    play(story, access(Rules(rules_of_teams(), b"/metrics")))


def test_the_steps_of_readiness_are_for_those_with_credentials() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.send("GET", "/health/ready")).json == {"status": "ready"}
        assert len((await registry.send("GET", "/health/ready", "nobody")).json["steps"]) == 2
        assert (await registry.send("GET", "/health/ready", "wrong")).status == 401

    play(story)
    reply = asyncio.run(InProcessRegistry().get("/health/ready"))
    assert len(reply.json["steps"]) == 2


def test_a_denial_says_what_the_caller_may_do() -> None:
    async def story(registry: InProcessRegistry) -> None:
        reply = await registry.send("POST", "/subjects/own.s/versions", "reader", {"schema": '"int"'})
        assert reply.json["message"] == (
            "User is denied operation Write on Subject: own.s; User:reader may DESCRIBE, READ, DESCRIBE_CONFIGS there; "
            "`counterfoil auth can User:reader WRITE own.s` explains it"
        )
        for method, path, command in (
            ("DELETE", "/subjects/%3A.c%3Ait's", "User:reader DELETE ':.c:it'\"'\"'s'"),
            ("GET", "/dek-registry/v1/keks/k", "User:reader READ kek:k"),
            ("DELETE", "/contexts/.c", "User:reader ALTER_CONFIGS context:.c"),
        ):
            message = (await registry.send(method, path, "reader")).json["message"]
            assert message.endswith(f"; `counterfoil auth can {command}` explains it"), message
        await registry.send("PUT", "/config/own.alias", "admin", {"alias": "foreign.s"})
        denied = (await registry.send("GET", "/subjects/own.alias/versions", "reader")).json["message"]
        assert denied == "User is denied operation Describe on Subject: own.alias; User:reader has no rights there"
        reply = await registry.send("PUT", "/config", "owner", {"compatibility": "NONE"})
        assert reply.json["message"] == "User is denied operation on this server."
        narrow = await registry.send("POST", "/subjects/own.s/versions", "scoped", {"schema": '"int"'})
        assert (narrow.status, narrow.code) == (403, 40301)
        assert narrow.headers["www-authenticate"] == f'{BEARER}, error="insufficient_scope"'

    play(story)


def test_rules_hold_from_the_next_request() -> None:
    rules = Rules(rules_of_teams())

    async def story(registry: InProcessRegistry) -> None:
        await registry.send("POST", "/subjects/own.s/versions", "admin", {"schema": '"int"'})
        everyone = allow("User:*", ROLES["reader"], EVERYTHING)
        for now, status in (
            (rules_of_teams(), 403),
            ((everyone,), 200),
            ((everyone, deny("User:nobody", [AccessOperation.DESCRIBE], parse_pattern("own.s"))), 403),
            ((everyone, deny("User:*", [AccessOperation.DESCRIBE], parse_pattern("own.*"))), 403),
            ((everyone,), 200),
        ):
            rules.set(now)
            for path in ("/schemas/ids/1", "/subjects/own.s/versions/1"):
                for _ in range(2):
                    assert (await registry.send("GET", path, "nobody")).status == status
            tagged = await registry.send("GET", "/schemas/ids/1", "nobody", If_None_Match="*")
            assert tagged.status == (304 if status == 200 else 403)
            assert (await registry.send("GET", "/subjects", "nobody")).json == (["own.s"] if status == 200 else [])

    play(story, access(rules))


def test_anonymous_callers_have_what_rules_give_to_them_by_name() -> None:
    rules = Rules([*rules_of_teams(), allow(ANONYMOUS, ROLES["reader"], parse_pattern("own.*"))])

    async def story(registry: InProcessRegistry) -> None:
        for subject in ("own.s", "foreign.s"):
            await registry.send("POST", f"/subjects/{subject}/versions", "admin", {"schema": '"int"'})
        assert (await registry.send("GET", "/subjects")).json == ["own.s"]
        assert (await registry.send("GET", "/subjects/own.s/versions/1")).status == 200
        assert (await registry.send("GET", "/subjects/foreign.s/versions/1")).status == 403
        assert (await registry.send("GET", "/config")).status == 403

    play(story, access(rules, lets_anonymous_in=True))


def test_without_access_control_nothing_is_asked() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        status, headers, _ = await exchange(registry.app, "GET", "/subjects", {"Authorization": "Basic nonsense"}, None)
        assert status == 200
        assert "www-authenticate" not in headers

    asyncio.run(story())


def test_changes_name_their_author_to_those_who_may_read_what_was_changed() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.send("POST", "/subjects/own.s/versions", "owner", {"schema": '"int"'})
        await registry.send("PUT", "/config/own.s", "admin", {"compatibility": "NONE"})
        for path in ("/changes", "/subjects/own.s/changes"):
            for caller, authors in (("reader", ["User:owner", "User:admin"]), ("auditor", [None])):
                changes = (await registry.send("GET", path, caller)).json["changes"]
                assert [each.get("by") for each in changes] == authors

    play(story)


def test_without_access_control_changes_name_no_author() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        await registry.post("/subjects/s/versions", {"schema": '"int"'})
        [change] = (await registry.get("/changes")).json["changes"]
        assert "by" not in change

    asyncio.run(story())
