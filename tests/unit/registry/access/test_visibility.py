"""Answers are made of what the caller may read: no text and no name of anything else is in one, on either lane."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil.registry.access.resources import AccessOperation, subject_resource
from counterfoil.registry.access.rights import Rights
from counterfoil.registry.access.rules import EVERYTHING, AccessRule, administrator, allow, deny, parse_pattern
from counterfoil.schema.contexts import parse_subject
from strategies.access.callers import NamedCallers, Rules, access
from strategies.contracts.stories import LINK, expectation, promise, schema
from strategies.languages.marked_schemas import enum, full, record
from strategies.registry.driver import InProcessRegistry, Reply

ALICE, ADMIN = "alice", "admin"
NAMES = ("alpha", "bravo", "charlie", ":.ctx:alpha", ":.ctx:delta", ":.ctx:echo")
ALIASES = ("foxtrot", "golf")
_REQUESTS = 60


# Each subject has a text with a mark of its own, or the text of another subject, or refers to one.
CONTENTS = st.lists(
    st.one_of(st.none(), st.tuples(st.sampled_from(["same", "refers"]), st.integers(0, 5))), min_size=6, max_size=6
)
PATTERNS = st.sampled_from([*NAMES, "*", "a*", "*lph*", ":.ctx:*", ":*:alpha", "context:.ctx", "registry"])
RULES = st.builds(
    lambda allows, operations, text: (allow if allows else deny)(f"User:{ALICE}", operations, parse_pattern(text)),
    st.sampled_from([True, True, False]),
    st.frozensets(
        st.sampled_from(
            [AccessOperation.READ, AccessOperation.DESCRIBE, AccessOperation.WRITE, AccessOperation.DESCRIBE_CONFIGS]
        ),
        min_size=1,
    ),
    PATTERNS,
)


class World:
    """Two registries with the same content, with and without the fast lane, and what is in them."""

    def __init__(self, rules: list[AccessRule]) -> None:
        self.rules = Rules([*rules, administrator(f"User:{ADMIN}")])
        self.rights = Rights(rules, {f"User:{ALICE}", "User:*"})
        self.registries = [
            InProcessRegistry(access=access(self.rules, NamedCallers([ALICE, ADMIN])), fast_lane=fast)
            for fast in (True, False)
        ]
        self.marks: dict[str, set[str]] = {}  # the subjects whose text it is
        self.held: dict[str, str] = {}  # the mark of each subject
        self.refers: dict[str, str] = {}
        self.targets: dict[str, str] = {}  # of aliases
        self.guids: list[str] = []

    async def done(self, method: str, path: str, body: Any = None) -> Reply:
        replies = [await each.send(method, path, ADMIN, body) for each in self.registries]
        assert replies[0].status < 300, (path, replies[0].text)
        return replies[0]

    async def fill(self, contents: list[tuple[str, int] | None], aliases: list[int]) -> None:
        for number, (name, content) in enumerate(zip(NAMES, contents, strict=True)):
            other = NAMES[content[1]] if content else ""
            mark, body = f"Mark{number}", {"schema": enum(f"Mark{number}")}
            if content and other in self.held:
                if content[0] == "same" and other not in self.refers:
                    mark = self.held[other]
                    body = {"schema": enum(mark)}
                elif content[0] == "refers":
                    reference = {"name": self.held[other], "subject": full(other), "version": 1}
                    body = {"schema": record(mark, self.held[other]), "references": [reference]}
                    self.refers[name] = other
            self.held[name] = mark
            self.marks.setdefault(mark, set()).add(name)
            self.guids.append((await self.done("POST", f"/subjects/{name}/versions", body)).json["guid"])
            await self.done("PUT", f"/config/{name}", {"compatibility": "NONE"})
        for alias, target in zip(ALIASES, aliases, strict=True):
            self.targets[alias] = NAMES[target]
            await self.done("PUT", f"/config/{alias}", {"alias": full(NAMES[target])})

    def may(self, operation: AccessOperation, name: str) -> bool:
        return self.rights.allows(operation, subject_resource(parse_subject(name)))

    def readable(self) -> set[str]:
        """The subjects whose texts the caller may see: those it may read, and all that these refer to."""
        found = {name for name in self.held if self.may(AccessOperation.READ, name)}
        while more := {self.refers[name] for name in found if name in self.refers} - found:
            found |= more
        return found

    def hidden_marks(self) -> set[str]:
        readable = self.readable()
        return {mark for mark, holders in self.marks.items() if not holders & readable}

    def hidden_names(self) -> set[str]:
        """The names, without contexts, that no answer may have: none of its subjects may be known.

        Who may see the config of an alias sees whose alias it is.
        """
        known = {name for name in (*NAMES, *ALIASES) if self.may(AccessOperation.DESCRIBE, name)} | self.readable()
        known |= {target for alias, target in self.targets.items() if self.may(AccessOperation.DESCRIBE_CONFIGS, alias)}
        plain = {parse_subject(name).name for name in known}
        return {name for name in ("alpha", "bravo", "charlie", "delta", "echo", *ALIASES) if name not in plain}

    def requests(self) -> list[tuple[str, str, Any]]:
        found: list[tuple[str, str, Any]] = [
            ("GET", path, None)
            for path in (
                "/subjects",
                "/subjects?deleted=true",
                "/subjects?offset=1&limit=2",
                "/subjects?as_of=8",
                "/contexts/ctx/subjects",
                "/schemas?subjectPrefix=:*:&aliases=true",
                "/schemas?subjectPrefix=:*:&latestOnly=true&limit=2",
                "/contexts",
                "/changes?limit=500",
                "/associations/resources/-/-",
                "/sketches/v1/subjects",
            )
        ]
        for name in (*NAMES, *ALIASES):
            body = {"schema": enum(f"Mark{len(name)}")}
            found += [
                ("GET", f"/subjects/{name}/versions", None),
                ("GET", f"/subjects/{name}/versions/1", None),
                ("GET", f"/subjects/{name}/versions/latest?format=resolved", None),
                ("GET", f"/subjects/{name}/versions/1/schema", None),
                ("GET", f"/subjects/{name}/versions/1/referencedby", None),
                ("GET", f"/subjects/{name}/changes", None),
                ("GET", f"/subjects/{name}/metadata?key=a&value=b", None),
                ("GET", f"/config/{name}?defaultToGlobal=true", None),
                ("POST", f"/subjects/{name}", {"schema": enum("Mark0")}),
                ("POST", f"/compatibility/subjects/{name}/versions?verbose=true", body),
            ]
        for number in (1, 2, 3, 9):
            for context in ("", "/contexts/ctx"):
                for end in ("", "/schema", "/subjects", "/versions", "?includeSubjects=true", "?subject=alpha"):
                    found.append(("GET", f"{context}/schemas/ids/{number}{end}", None))
        for guid in dict.fromkeys(self.guids):
            found += [("GET", f"/schemas/guids/{guid}", None), ("GET", f"/schemas/guids/{guid}/ids", None)]
        return found


def plain(reply: Reply) -> tuple[int, str]:
    """Return what two registries with the same content answer alike: all but times."""
    return reply.status, re.sub(r'"(ts|time)":("[^"]*"|\d+)', "", reply.text)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(RULES, max_size=5),
    CONTENTS,
    st.lists(st.integers(0, 5), min_size=2, max_size=2),
    st.randoms(use_true_random=False),
)
def test_no_answer_has_what_its_caller_may_not_read(
    rules: list[AccessRule], contents: list[tuple[str, int] | None], aliases: list[int], random: Any
) -> None:
    async def story() -> None:
        world = World(rules)
        await world.fill(contents, aliases)
        marks, names = world.hidden_marks(), world.hidden_names()
        fast, slow = world.registries
        for method, path, body in random.sample(world.requests(), _REQUESTS):
            await fast.send(method, path, ADMIN, body)
            answers = [plain(await each.send(method, path, ALICE, body)) for each in (fast, fast, slow)]
            assert len(set(answers)) == 1, (path, answers)
            text = answers[0][1]
            asked = f"{path} {json.dumps(body)}"
            assert not [mark for mark in marks if mark in text and mark not in asked], (path, text)
            assert not [name for name in names if name in text and name not in asked], (path, text)

    asyncio.run(story())


@given(st.lists(RULES, max_size=5))
@settings(max_examples=8, deadline=None)
def test_lists_are_what_single_requests_show(rules: list[AccessRule]) -> None:
    async def story() -> None:
        world = World(rules)
        await world.fill([None] * 6, [0, 1])
        registry = world.registries[0]
        listed = (await registry.send("GET", "/subjects", ALICE)).json
        assert listed == sorted(name for name in NAMES if world.may(AccessOperation.DESCRIBE, name))
        paged = [
            (await registry.send("GET", f"/subjects?offset={at}&limit=1", ALICE)).json for at in range(len(listed))
        ]
        assert paged == [[name] for name in listed]
        shown = (await registry.send("GET", "/schemas?subjectPrefix=:*:", ALICE)).json
        assert sorted({each["subject"] for each in shown}) == sorted(
            name for name in NAMES if world.may(AccessOperation.READ, name)
        )

    asyncio.run(story())


def play(story: Any, *rules: AccessRule, **options: Any) -> None:
    control = access(Rules([*rules, administrator(f"User:{ADMIN}")]), NamedCallers([ALICE, ADMIN]))
    asyncio.run(story(InProcessRegistry(access=control, **options)))


def reader(text: str, *operations: AccessOperation) -> AccessRule:
    return allow(f"User:{ALICE}", operations or [AccessOperation.READ], parse_pattern(text))


async def registered(registry: InProcessRegistry, *names: str) -> None:
    for number, name in enumerate(names):
        reply = await registry.send("POST", f"/subjects/{name}/versions", ADMIN, {"schema": enum(f"Mark{number}")})
        assert reply.status == 200


def test_a_context_without_rights_is_as_if_absent() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, ":.a:s", ":.b:s")
        found = (await registry.send("GET", "/subjects/s/versions/1", ALICE)).json
        assert found["subject"] == ":.b:s"
        assert (await registry.send("GET", "/subjects/s/versions/1", ADMIN)).json["subject"] == ":.a:s"
        looked_up = await registry.send("POST", "/subjects/s", ALICE, {"schema": enum("Mark0")})
        assert (looked_up.status, "Mark0" in looked_up.text) == (403, False)
        assert (await registry.send("POST", "/subjects/s", ALICE, {"schema": enum("Mark1")})).status == 200
        assert (await registry.send("GET", "/contexts", ALICE)).json == [".", ".b"]

    play(story, reader(":.b:*"))


def test_tags_do_not_bring_a_text_along_from_another_context() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, ":.a:s")
        reply = await registry.send("POST", "/subjects/s/versions/1/tags", ALICE, {})
        assert (reply.status, "Mark0" in reply.text) == (404, False)
        assert (await registry.send("POST", "/subjects/s/versions/1/tags", ADMIN, {})).status == 200

    play(story, reader("s", AccessOperation.WRITE))


def test_an_alias_does_not_show_whose_it_is() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "secret", "mine")
        assert (await registry.send("PUT", "/config/mine", ALICE, {"alias": "secret"})).status == 403
        await registry.send("PUT", "/config/mine", ADMIN, {"alias": "secret"})
        for method, path in (
            ("GET", "versions/1"),
            ("GET", "versions"),
            ("DELETE", "versions/1"),
            ("POST", "versions"),
        ):
            body = {"schema": '"int"'} if method == "POST" else None
            reply = await registry.send(method, f"/subjects/mine/{path}", ALICE, body)
            assert (reply.status, "secret" in reply.text) == (403, False), reply.text

    play(story, reader("mine", AccessOperation.WRITE, AccessOperation.DELETE, AccessOperation.ALTER_CONFIGS))


def test_what_is_referred_to_may_be_read_by_those_who_may_read_the_referrer() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "base")
        reference = {"name": "Mark0", "subject": "base", "version": 1}
        body = {"schema": record("Top", "Mark0"), "references": [reference]}
        assert (await registry.send("POST", "/subjects/top/versions", ALICE, body)).status == 403
        assert (await registry.send("GET", "/subjects/base/versions/1", ALICE)).status == 403
        assert (await registry.send("POST", "/subjects/top/versions", ADMIN, body)).status == 200
        await registry.send("POST", "/subjects/base/versions?force=true", ADMIN, {"schema": '"int"'})
        for _ in range(2):
            assert (await registry.send("GET", "/subjects/base/versions/1", ALICE)).status == 200
            assert (await registry.send("GET", "/subjects/base/versions/latest", ALICE)).status == 403
            assert (await registry.send("GET", "/subjects/base/versions/2", ALICE)).status == 403
        await registry.send("DELETE", "/subjects/top", ADMIN)
        assert (await registry.send("GET", "/subjects/base/versions/1", ALICE)).status == 403

    play(story, reader("top", AccessOperation.WRITE))


def test_a_referrer_that_may_not_be_known_is_not_named() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "base")
        reference = {"name": "Mark0", "subject": "base", "version": 1}
        body = {"schema": record("Top", "Mark0"), "references": [reference]}
        await registry.send("POST", "/subjects/hidden/versions", ADMIN, body)
        reply = await registry.send("DELETE", "/subjects/base", ALICE)
        assert (reply.code, "hidden" in reply.text) == (42206, False)
        assert "hidden" in (await registry.send("DELETE", "/subjects/base", ADMIN)).text

    play(story, reader("base", AccessOperation.DELETE))


def test_secrets_of_keys_are_for_those_who_may_unwrap() -> None:
    keks = "/dek-registry/v1/keks"
    secrets = {"token.id": "hvs.abc", "namespace": "team", "client.secret": "abc"}

    async def story(registry: InProcessRegistry) -> None:
        body = {"name": "k", "kmsType": "test", "kmsKeyId": "k", "kmsProps": secrets}
        assert (await registry.send("POST", keks, ADMIN, body)).json["kmsProps"] == secrets
        masked = {"token.id": "***", "namespace": "team", "client.secret": "***"}
        assert (await registry.send("GET", f"{keks}/k", ALICE)).json["kmsProps"] == masked
        assert (await registry.send("PUT", f"{keks}/k", ALICE, {"doc": "d"})).json["kmsProps"] == masked
        assert (await registry.send("GET", f"{keks}/k", ADMIN)).json["kmsProps"] == secrets

    play(story, reader("kek:k", AccessOperation.WRITE))


def test_changes_are_left_out_whole_and_counting_goes_on() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "mine", "other", "mine2")
        await registry.send("PUT", "/config/mine", ADMIN, {"compatibility": "NONE"})
        await registry.send("PUT", "/config", ADMIN, {"compatibility": "NONE"})
        await registry.send("POST", "/dek-registry/v1/keks", ADMIN, {"name": "k", "kmsType": "t", "kmsKeyId": "k"})
        page = (await registry.send("GET", "/changes", ALICE)).json
        assert [(each["seq"], each["subject"]) for each in page["changes"]] == [(1, "mine"), (3, "mine2"), (4, "mine")]
        assert page["next"] == 7  # the key of the audit is stored with the first encryption key
        own = (await registry.send("GET", "/subjects/mine/changes", ALICE)).json["changes"]
        assert [each["kind"] for each in own] == ["version-registered", "settings-changed"]

    play(story, reader("mine*"))


@pytest.mark.parametrize("operation", [AccessOperation.READ, AccessOperation.DESCRIBE])
def test_a_caller_with_a_right_on_the_registry_shares_the_list_of_all(operation: AccessOperation) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "a", ":.c:b")
        lists = [await registry.send("GET", "/subjects", caller) for caller in (ADMIN, ALICE, ADMIN)]
        assert [each.json for each in lists] == [[":.c:b", "a"]] * 3

    play(story, allow(f"User:{ALICE}", [operation], EVERYTHING))


def test_a_stream_shows_what_rules_permit_now_and_ends_with_the_credentials() -> None:
    callers = NamedCallers([ALICE, ADMIN])
    rules = Rules([reader("mine"), administrator(f"User:{ADMIN}")])

    async def story() -> None:
        registry = InProcessRegistry(access=access(rules, callers), heartbeat_s=0.05)
        sent: list[bytes] = []
        news = asyncio.Event()

        async def receive() -> Any:
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))
            news.set()

        async def until(text: bytes) -> None:
            async with asyncio.timeout(120):
                while text not in b"".join(sent):
                    news.clear()
                    await news.wait()

        headers = [(b"authorization", b"Bearer alice"), (b"accept", b"text/event-stream")]
        path = {"method": "GET", "path": "/changes/", "raw_path": b"/changes/", "query_string": b""}
        scope = {"type": "http", **path, "headers": headers, "client": ("10.0.0.1", 1)}
        stream = asyncio.create_task(registry.app(scope, receive, send))
        await until(b"retry")
        await registered(registry, "other", "mine")
        await until(b'"mine"')
        assert b'"other"' not in b"".join(sent)
        rules.set([reader("other2"), administrator(f"User:{ADMIN}")])
        await registered(registry, "other2", "mine2")
        await until(b'"other2"')
        assert b'"mine2"' not in b"".join(sent)
        callers.revoke(ALICE)
        async with asyncio.timeout(120):
            await stream
        assert (await registry.send("GET", "/changes", ALICE)).status == 401

    asyncio.run(story())


def test_the_text_of_another_teams_contract_is_not_told_to_who_publishes_the_same_name() -> None:
    base = "/contracts/v1"

    async def publish(registry: InProcessRegistry, caller: str, application: str, unit: str) -> Reply:
        contract = {"content": promise(unit=unit), "schemas": {LINK: {"schema": enum("Mark0")}}}
        body = {"application": application, "version": "1", "contracts": [contract]}
        return await registry.send("POST", f"{base}/publish", caller, body)

    async def story(registry: InProcessRegistry) -> None:
        assert (await publish(registry, ADMIN, "theirs", "USD.cent")).status == 200
        reply = await publish(registry, ALICE, "mine", "EUR.cent")
        assert (reply.status, "USD.cent" in reply.text) == (409, False)
        assert "USD.cent" in (await publish(registry, ADMIN, "mine", "EUR.cent")).text
        assert (await registry.send("GET", f"{base}/contracts/orders/versions/2.1.0", ALICE)).status == 403
        assert (await registry.send("GET", f"{base}/contracts", ALICE)).json == []

    play(story, reader("application:mine", AccessOperation.WRITE), reader("orders*", AccessOperation.WRITE))


def test_reasons_that_the_caller_may_not_read_are_counted() -> None:
    base = "/contracts/v1"

    async def story(registry: InProcessRegistry) -> None:
        promised = {"content": promise(), "schemas": {LINK: {"schema": schema()}}}
        for application, contract in (("shop", promised), ("billing", {"content": expectation("total")})):
            body = {"application": application, "version": "1", "contracts": [contract]}
            assert (await registry.send("POST", f"{base}/publish", ADMIN, body)).status == 200
        check = {"subject": "orders-value", "schema": {"schema": schema(total=None)}}
        whole = (await registry.send("POST", f"{base}/check", ADMIN, check)).json
        assert (whole["deployable"], whole["reasons"][0]["consumer"]) == (False, "billing")
        reply = await registry.send("POST", f"{base}/check", ALICE, check)
        assert (reply.json["deployable"], reply.json["reasons"], "billing" in reply.text) == (False, [], False)
        assert reply.json["notices"][0].endswith("more are about what User:alice may not read")
        assert (await registry.send("GET", f"{base}/subjects/orders-value/consumers", ALICE)).json == []

    play(story, reader("orders-value"))


BASE = "/contracts/v1"


async def two_contracts(registry: InProcessRegistry) -> None:
    """Publish a contract of another team, and let the caller's application read it before it exists."""
    content, schemas = promise(subject="secret"), {LINK: {"schema": schema()}}
    publications = (
        (ALICE, "mine", {"content": expectation("total")}),
        (ADMIN, "theirs", {"content": content, "schemas": schemas}),
    )
    for caller, application, contract in publications:
        body = {"application": application, "version": "1", "contracts": [contract]}
        reply = await registry.send("POST", f"{BASE}/publish", caller, body)
        assert reply.status == 200, reply.text


@pytest.mark.parametrize("readable", [False, True])
def test_no_verdict_shows_the_fields_of_what_the_caller_may_not_read(*, readable: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await two_contracts(registry)
        for name, fits in (("total", True), ("no_such_field", False)):
            body: dict[str, Any] = {"application": "mine", "contract": {"content": expectation(name)}}
            reply = await registry.send("POST", f"{BASE}/check", ALICE, body)
            if readable:
                assert (reply.status, reply.json["deployable"]) == (200, fits), reply.text
            else:
                assert (reply.code, "secret" in reply.text) == (40301, False), reply.text
        body = {"application": "mine", "version": "2", "contracts": [{"content": expectation("total")}]}
        published = await registry.send("POST", f"{BASE}/publish", ALICE, body)
        assert published.status == (200 if readable else 403)

    play(story, reader("application:mine", AccessOperation.WRITE), *([reader("secret")] if readable else []))


@pytest.mark.parametrize("readable", [False, True])
def test_to_read_a_contract_gives_no_right_to_it(*, readable: bool) -> None:
    """Anybody could publish that an application reads a contract of others."""

    async def story(registry: InProcessRegistry) -> None:
        await two_contracts(registry)
        await registry.send("PUT", f"{BASE}/environments/live", ADMIN, {})
        results = [{"check": "decode", "outcome": "passed", "records": 1}]
        verified = {"contract": "orders", "contractVersion": "2.1.0", "environment": "live", "results": results}
        allowed = 200 if readable else 403
        made = await registry.send("POST", f"{BASE}/verifications", ADMIN, verified)
        one = f"{BASE}/verifications/{made.json['id']}"
        for method, path, body in (
            ("GET", f"{BASE}/contracts/orders", None),
            ("GET", one, None),
            ("POST", f"{BASE}/verifications", verified),
        ):
            assert (await registry.send(method, path, ALICE, body)).status == allowed, path
        for path in (f"{BASE}/contracts", f"{BASE}/verifications"):
            assert bool((await registry.send("GET", path, ALICE)).json) == readable, path
        badge = f"{BASE}/badges/orders.svg?environment=live"
        assert (await registry.send("GET", badge, ALICE)).status == 403

    own = (reader("application:mine", AccessOperation.WRITE), reader("environment:live"))
    play(story, *own, *([reader("secret")] if readable else []))


def test_an_application_is_seen_to_read_only_what_its_reporter_may_read() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "mine", "secret")
        same = {"schema": enum("Mark0")}
        made = [
            (await registry.send("POST", f"/subjects/{name}/versions", ADMIN, same)).json for name in ("mine", "secret")
        ]
        alone = await registry.send("POST", "/subjects/secret2/versions", ADMIN, {"schema": enum("Mark9")})
        for read, stored in (
            ({"schemaId": made[0]["id"]}, 1),
            ({"schemaId": alone.json["id"]}, 0),
            ({"schemaId": 99}, 0),
        ):
            batch = {"application": "mine", "reads": [{**read, "messages": 1}]}
            reply = await registry.send("POST", f"{BASE}/usage", ALICE, batch)
            assert (reply.status, reply.json["stored"]) == (200, stored), reply.text
            if not stored:
                assert reply.json["notices"] == [f"the registry has no schema id {read['schemaId']}"]
        batch = {"application": "mine", "reads": [{"subject": "secret", "messages": 1}]}
        assert (await registry.send("POST", f"{BASE}/usage", ALICE, batch)).code == 40301
        uses = (await registry.send("GET", f"{BASE}/usage", ADMIN)).json
        assert [each["subject"] for each in uses] == ["mine"]

    play(story, reader("application:mine", AccessOperation.WRITE), reader("mine"))


@pytest.mark.parametrize("known", [False, True])
def test_a_refused_registration_names_the_consumers_that_its_sender_may_know(*, known: bool) -> None:
    subject = "orders-value"

    async def story(registry: InProcessRegistry) -> None:
        async def texts() -> tuple[str, str]:
            body = {"schema": schema(total=None)}
            refused = await registry.send("POST", f"/subjects/{subject}/versions", ALICE, body)
            path = f"/compatibility/subjects/{subject}/versions?verbose=true"
            tested = await registry.send("POST", path, ALICE, body)
            assert (refused.code, tested.json["is_compatible"]) == (40901, False), refused.text
            return refused.text, tested.text

        await registry.send("POST", f"/subjects/{subject}/versions", ADMIN, {"schema": schema()})
        policy = {"compatibilityPolicy": "CONSUMERS", "compatibility": "FULL"}
        await registry.send("PUT", f"/config/{subject}", ADMIN, policy)
        promised = {"content": promise(), "schemas": {LINK: {"schema": schema()}}}
        for application, contract in (("shop", promised), ("billing", {"content": expectation("total")})):
            body = {"application": application, "version": "1", "contracts": [contract]}
            assert (await registry.send("POST", f"{BASE}/publish", ADMIN, body)).status == 200
        for text in await texts():
            assert ("billing" in text) == known, text
            assert ("1 more are about applications that the caller may not know" in text) != known, text
            assert "the level decides" not in text
        batch = {"application": "unseen", "origin": "group", "reads": [{"subject": subject, "messages": 1}]}
        assert (await registry.send("POST", f"{BASE}/usage", ADMIN, batch)).json["stored"] == 1
        refused, _ = await texts()
        assert ("nothing is known of what unseen reads" in refused) == known, refused
        assert ("nothing is known of what 1 consumer reads" in refused) != known, refused

    applications = ("shop", "billing", "unseen")
    knows = [reader(f"application:{name}", AccessOperation.DESCRIBE) for name in applications] if known else []
    play(story, reader(subject, AccessOperation.WRITE), *knows)


def test_statistics_of_a_topic_name_no_subject_that_the_caller_may_not_know() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "t-value", "secret")
        path = f"{BASE}/topics/t/stats"
        ids = [
            (await registry.send("GET", f"/subjects/{name}/versions/1", ADMIN)).json["id"]
            for name in ("t-value", "secret")
        ]
        stats = {"records": 2, "schemas": [{"schemaId": each, "count": 1} for each in ids]}
        for reply in (
            await registry.send("POST", path, ALICE, stats),
            await registry.send("GET", path, ALICE),
            await registry.send("GET", f"{BASE}/topics", ALICE),
        ):
            [found] = reply.json if isinstance(reply.json, list) else [reply.json]
            assert [(each["schemaId"], each.get("subject")) for each in found["schemas"]] == [
                (ids[0], "t-value"),
                (ids[1], None),
            ]
        whole = (await registry.send("GET", path, ADMIN)).json["schemas"]
        assert [each["subject"] for each in whole] == ["t-value", "secret"]

    play(story, reader("t-value", AccessOperation.WRITE))


def test_a_team_manages_the_migrations_of_its_contracts_and_sees_no_others() -> None:
    path = f"{BASE}/migrations"

    async def story(registry: InProcessRegistry) -> None:
        for name in ("mine", "secret"):
            contract = {"content": promise(contract=name, subject=name), "schemas": {LINK: {"schema": schema()}}}
            body = {"application": f"{name}-app", "version": "1", "contracts": [contract]}
            assert (await registry.send("POST", f"{BASE}/publish", ADMIN, body)).status == 200
            body = {"application": f"{name}-reader", "version": "1", "contracts": []}
            reads = expectation("total", contract="mine", name=f"{name}-reader", major="1")
            body["contracts"] = [{"content": reads}]
            assert (await registry.send("POST", f"{BASE}/publish", ADMIN, body)).status == 200
            await registry.send("PUT", f"{BASE}/environments/{name}-live", ADMIN, {})
            deployed = {"application": f"{name}-reader", "version": "1"}
            await registry.send("POST", f"{BASE}/environments/{name}-live/deployments", ADMIN, deployed)
            migration = {"contract": name, "from": "1", "to": "2", "bridge": "b", "application": "mine-app"}
            made = await registry.send("PUT", f"{path}/of-{name}", ALICE, migration)
            assert made.status == (200 if name == "mine" else 403), made.text
            await registry.send("PUT", f"{path}/of-{name}", ADMIN, migration)
        assert [each["id"] for each in (await registry.send("GET", path, ALICE)).json] == ["of-mine"]
        for more in ("", "/status"):
            assert (await registry.send("GET", f"{path}/of-mine{more}", ALICE)).status == 200
            denied = await registry.send("GET", f"{path}/of-secret{more}", ALICE)
            assert (denied.code, "secret-app" in denied.text) == (40301, False)
        taken = {"contract": "mine", "from": "1", "to": "2", "bridge": "b", "application": "mine-app"}
        reply = await registry.send("PUT", f"{path}/of-secret", ALICE, taken)
        assert (reply.code, "contract 'secret'" in reply.text) == (42260, False), reply.text
        status = (await registry.send("GET", f"{path}/of-mine/status", ALICE)).json
        assert [each["application"] for each in status["consumers"]] == ["mine-reader"]
        assert status["hindrances"] == ["User:alice may not read the bridge, so that it is not shown what is missing"]
        whole = (await registry.send("GET", f"{path}/of-mine/status", ADMIN)).json
        assert [each["application"] for each in whole["consumers"]] == ["mine-reader", "secret-reader"]

    play(
        story,
        reader("mine", AccessOperation.READ),
        reader("mine", AccessOperation.ALTER_CONFIGS),
        reader("application:mine*"),
    )


def test_a_resource_of_others_does_not_show_its_subject() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "secret", "mine")
        resource = {"resourceName": "r", "resourceNamespace": "x", "resourceId": "r", "resourceType": "topic"}
        association = {"associationType": "value", "lifecycle": "WEAK"}
        given = {**resource, "associations": [{**association, "subject": "secret"}]}
        assert (await registry.send("POST", "/associations", ADMIN, given)).status < 300
        own = {**association, "subject": "mine"}
        for method, path, body in (
            ("POST", "/associations", {**resource, "associations": [own]}),
            ("PUT", "/associations/resources/r", {"associations": [own]}),
            ("DELETE", "/associations/resources/r", None),
            (
                "POST",
                "/associations:batchMutate",
                {"requests": [{**resource, "associations": [{**own, "opType": "CREATE"}]}]},
            ),
        ):
            reply = await registry.send(method, path, ALICE, body)
            assert ("40301" in reply.text, "secret" in reply.text) == (True, False), (method, path, reply.text)
        named = await registry.send("POST", "/associations", ALICE, given)
        assert "on Subject: secret" in named.text

    play(story, reader("mine", AccessOperation.ALTER_CONFIGS))


def test_what_is_found_by_an_id_is_not_named_to_who_may_not_know_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await two_contracts(registry)
        live = f"{BASE}/environments/live"
        await registry.send("PUT", live, ADMIN, {})
        deployed = await registry.send("POST", f"{live}/deployments", ADMIN, {"application": "theirs", "version": "1"})
        one, version = f"{live}/deployments/{deployed.json['id']}", f"{BASE}/contracts/orders/versions/2.1.0"
        for method, path in (("GET", one), ("DELETE", one), ("GET", version), ("GET", f"{version}/diff?from=2.1.0")):
            reply = await registry.send(method, path, ALICE)
            assert (reply.code, "theirs" in reply.text) == (40301, False), (path, reply.text)

    play(story, reader("application:mine", AccessOperation.WRITE), reader("environment:live", AccessOperation.WRITE))
