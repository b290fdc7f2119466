"""The answers of ``/inspect/v1`` beside their values: rules with examples, links, reads in the audit, the past."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.rules import parse_pattern
from counterfoil.registry.audit.events import AuditEvent, EventKind
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.http.answers import refusal_link
from counterfoil.registry.inspection.rules import rule_page, rule_rows
from counterfoil.registry.judges.judging import JudgementThreads
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.errors import JudgementEnded, NotFound
from counterfoil.schema.languages.rules import RULE_BY_ID
from counterfoil.schema.model import SchemaType
from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).parents[3] / "rules"
"""The folders of the rules, from which the examples are made."""


def test_each_rule_has_the_example_of_its_folder() -> None:
    for rule in RULE_BY_ID.values():
        page = rule_page(rule.id)
        folder = EXAMPLES / rule.page.split("/")[1] / rule.id
        assert page.example is not None
        for name, text in (("previous", page.example.previous), ("current", page.example.current)):
            [path] = folder.glob(f"{name}.*")
            assert text == path.read_text(), path
        assert (page.why, page.fix) == (rule.why, rule.fix)
        assert page.example.finding


def test_rules_are_found_by_language_policy_and_words() -> None:
    everything = rule_rows().rules
    assert [each.id for each in everything] == list(RULE_BY_ID)
    for language in SchemaType:
        for policy in CompatibilityPolicy:
            found = rule_rows(schema_type=language, policy=policy).rules
            assert found == tuple(
                each for each in everything if each.schema_type == language and policy in each.policies
            )
    found = rule_rows(query="ENUM symbols LACKS").rules
    assert "missing-enum-symbols" in [each.id for each in found]
    assert len(found) < 5
    with pytest.raises(NotFound, match="no compatibility rule 'none'"):
        rule_page("none")


class HeardEvents(AuditRecords):
    """Audit records that are listed when they happen."""

    def __init__(self, storage: MemoryStorage) -> None:
        super().__init__(storage, reads=[parse_pattern("own.*")])
        self.heard: list[AuditEvent] = []

    def record(self, event: AuditEvent) -> None:
        self.heard.append(event)


def test_reads_of_texts_are_in_the_audit() -> None:
    async def story() -> list[AuditEvent]:
        storage = MemoryStorage()
        audit = HeardEvents(storage)
        registry = InProcessRegistry(storage, access=access(), audit=audit)
        made = await registry.send("POST", "/subjects/own.s/versions", "admin", {"schema": '"int"'})
        guid = made.json["guid"]
        for path in (
            "subjects/own.s/versions/1",
            "subjects/own.s/elements",
            f"layout/{guid}",
            "diff?from=own.s@1&to=own.s@1",
        ):
            reply = await registry.send("GET", f"/inspect/v1/{path}", "reader")
            assert reply.status == 200, reply.text
        await registry.send("GET", "/inspect/v1/subjects/own.s", "reader")
        await registry.send("POST", "/inspect/v1/verdict", "reader", {"from": "own.s@1", "to": {"schema": '"int"'}})
        return audit.heard

    actions = {each.facts["action"] for each in asyncio.run(story()) if each.kind is EventKind.SCHEMA_READ}
    assert actions == {
        "GET /inspect/v1/subjects/{subject}/versions/{version}",
        "GET /inspect/v1/subjects/{subject}/elements",
        "GET /inspect/v1/layout/{guid}",
        "GET /inspect/v1/diff",
        "POST /inspect/v1/verdict",
    }


def test_the_past_has_no_records_and_says_so_where_it_cannot_answer() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        await registry.register("a", '"int"')
        await registry.put("/config/b", {"alias": "a"})
        page = (await registry.get("/inspect/v1/subjects/a?as_of=1")).json
        assert "aliases" not in page
        assert (await registry.get("/inspect/v1/subjects/a")).json["aliases"] == ["b"]
        for path in ("ids/1", "references/a/1", "refusals", "rules"):
            reply = await registry.get(f"/inspect/v1/{path}?as_of=1")
            assert (reply.status, "as_of is not possible" in reply.json["message"]) == (400, True), path

    asyncio.run(story())


def test_a_refused_registration_links_to_its_page() -> None:
    assert refusal_link("/x/ui/refusals/", b"a b/\xe9") == '</x/ui/refusals/a%20b%2F%E9>; rel="describedby"'


class EndingJudges(JudgementThreads):
    """Judges that end each judgement before it has a result."""

    def start(self, work: Callable[..., Any], *given: object) -> asyncio.Future[Any]:
        del work, given
        self.ended += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.set_exception(JudgementEnded("it took too long"))
        return future


def test_a_judgement_that_is_ended_leaves_a_page_without_what_it_would_say() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        whole = InProcessRegistry(storage)
        for number in range(4):
            fields = [{"name": f"f{each}", "type": "int", "default": 0, "doc": "d" * 99} for each in range(80 + number)]
            await whole.register("s", {"type": "record", "name": "R", "fields": fields})
        registry = InProcessRegistry(storage, judges=EndingJudges())
        steps = (await registry.get("/inspect/v1/subjects/s")).json["versions"]
        assert [each.get("strictBackward") for each in steps] == [None] * 4
        assert "cannot be compared" in steps[1]["change"]
        page = (await registry.get("/inspect/v1/subjects/s/versions/4")).json
        assert page["elements"]["elements"] == []
        assert "too large" in page["warnings"][0]
        assert (await registry.get("/inspect/v1/diff?from=s@1&to=s@2")).code == 50011

    asyncio.run(story())


def test_what_a_client_has_is_not_sent_again_to_a_caller_who_gets_the_same() -> None:
    """A tag is that of what the caller gets: another caller's, or one without the right, is of no use."""

    async def story() -> None:
        registry = InProcessRegistry(access=access())
        for subject in ("own.s", "foreign.s"):
            await registry.send("POST", f"/subjects/{subject}/versions", "admin", {"schema": '"int"'})
        paths = (
            "",
            "/subjects",
            "/subjects/own.s",
            "/subjects/own.s/versions/1",
            "/ids/1",
            "/rules",
            "/search?q=foreign",
        )
        for path in [f"/inspect/v1{each}" for each in paths]:
            first = await registry.send("GET", path, "reader")
            tag = first.headers["etag"]
            again = await registry.send("GET", path, "reader", If_None_Match=tag)
            assert (first.status, again.status, again.body, again.headers["etag"]) == (200, 304, b"", tag), path
            other = await registry.send("GET", path, "admin", If_None_Match=tag)
            same = (await registry.send("GET", path, "admin")).body == first.body
            assert (other.status == 304) == same, path
        assert not same
        tag = (await registry.send("GET", "/inspect/v1/subjects/foreign.s", "admin")).headers["etag"]
        for each in (tag, "*"):
            reply = await registry.send("GET", "/inspect/v1/subjects/foreign.s", "reader", If_None_Match=each)
            assert reply.status in {403, 404}
        tag = (await registry.send("GET", "/inspect/v1/subjects/own.s", "reader")).headers["etag"]
        await registry.send("POST", "/subjects/own.s/versions", "admin", {"schema": '"long"'})
        assert (await registry.send("GET", "/inspect/v1/subjects/own.s", "reader", If_None_Match=tag)).status == 200

    asyncio.run(story())
