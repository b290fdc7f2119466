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
from strategies.access.visible import ADMIN, ALICE, play, reader, registered
from strategies.languages.marked_schemas import enum, full, record
from strategies.registry.driver import InProcessRegistry, Reply

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


@pytest.mark.slow
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


@pytest.mark.slow
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
