"""Successful reads of the subjects that ``audit_reads`` names: each is an event in the file, and no others are."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.rules import parse_pattern
from counterfoil.registry.app import create_app
from counterfoil.registry.audit.events import AuditEvent, EventKind
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.settings_reading import SettingsNotUsable
from counterfoil.registry.store.memory import MemoryStorage
from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from counterfoil.registry.audit.file import AuditFile


class Lines:
    """Takes the events that a file would have."""

    refuses_writes = False
    failures = 0
    head = None

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)

    def taken(self) -> list[tuple[str, int, str | None]]:
        """The reads since the last call: subject, version and caller."""
        events, self.events = self.events, []
        return [
            (each.facts["resource"], each.facts["version"], each.facts.get("caller", {}).get("principal"))
            for each in events
            if each.kind is EventKind.SCHEMA_READ
        ]


class World:
    """A registry that records reads of ``patterns``, with three subjects that have one text and one with its own."""

    def __init__(self, *patterns: str, control: Any = None) -> None:
        self.lines = Lines()
        file: AuditFile = self.lines  # type: ignore[assignment]  # it has what AuditRecords uses
        storage = MemoryStorage()
        records = AuditRecords(storage, file=file, reads=[parse_pattern(each) for each in patterns])
        self.registry = InProcessRegistry(storage, access=control, audit=records)
        self.guid = ""

    async def fill(self, caller: str | None = None) -> None:
        for subject in ("open.a", "own.b", ":.own:c"):
            made = await self.registry.send("POST", f"/subjects/{subject}/versions", caller, {"schema": '"int"'})
            assert made.status == 200
            self.guid = made.json["guid"]
        await self.registry.send("POST", "/subjects/open.a/versions", caller, {"schema": '"long"'})
        self.lines.taken()


def test_the_texts_that_responses_have_are_reads() -> None:
    async def story() -> None:
        world = World("own.*")
        await world.fill()
        schema = {"schema": '"int"'}
        for method, path, body, expected in (
            ("GET", "/subjects/own.b/versions/1", None, ["own.b"]),
            ("GET", "/subjects/own.b/versions/latest/schema", None, ["own.b"]),
            ("POST", "/subjects/own.b", schema, ["own.b"]),
            ("GET", "/schemas/ids/1", None, ["own.b"]),  # it is the text of both subjects
            ("GET", "/schemas/ids/1/schema", None, ["own.b"]),
            ("GET", f"/schemas/guids/{world.guid}", None, ["own.b"]),
            ("GET", "/schemas", None, ["own.b"]),
            ("GET", "/schemas?subjectPrefix=open", None, []),
            ("GET", "/schemas?limit=1", None, []),
            ("GET", "/schemas?offset=2", None, ["own.b"]),
            ("GET", "/schemas/ids/2", None, []),
            ("GET", "/subjects/open.a/versions/1", None, []),
            ("GET", "/subjects/own.b/versions/9", None, []),
            ("GET", "/subjects/own.b/versions", None, []),
            ("GET", "/subjects", None, []),
            ("GET", "/config/own.b?defaultToGlobal=true", None, []),
            ("POST", "/subjects/own.b/versions", schema, []),
        ):
            for _ in range(3):  # responses from memory count as well
                await world.registry.send(method, path, None, body)
                assert [subject for subject, _, _ in world.lines.taken()] == expected, (method, path)

    asyncio.run(story())


def test_callers_are_named_and_refused_reads_are_none() -> None:
    async def story() -> None:
        world = World("registry", control=access())
        await world.fill("admin")
        for caller, path, expected in (
            ("reader", "/subjects/own.b/versions/1", [("own.b", 1, "User:reader")]),
            ("reader", "/schemas/ids/1", [("own.b", 1, "User:reader")]),
            ("reader", "/subjects/open.a/versions/1", []),
            ("wrong", "/subjects/own.b/versions/1", []),
            ("admin", "/subjects/:.own:c/versions/1", [(":.own:c", 1, "User:admin")]),
        ):
            for _ in range(2):
                await world.registry.send("GET", path, caller)
                assert world.lines.taken() == expected, (caller, path)
        tagged = await world.registry.send("GET", "/schemas/ids/2", "admin")
        reply = await world.registry.send("GET", "/schemas/ids/2", "admin", If_None_Match=tagged.headers["etag"])
        assert reply.status == 304
        assert world.lines.taken() == [("open.a", 2, "User:admin")] * 2

    asyncio.run(story())


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], []),
        (["context:.own"], [":.own:c"]),
        ([":.own:*"], [":.own:c"]),
        (["*"], ["open.a", "own.b"]),
        (["registry"], ["open.a", "own.b", ":.own:c"]),
    ],
)
def test_subjects_are_selected_as_rules_select_them(patterns: list[str], expected: list[str]) -> None:
    async def story() -> list[str]:
        world = World(*patterns)
        await world.fill()
        for subject in ("open.a", "own.b", ":.own:c"):
            await world.registry.get(f"/subjects/{subject}/versions/1")
        return [subject for subject, _, _ in world.lines.taken()]

    assert asyncio.run(story()) == expected


def test_events_of_reads_are_in_the_file_alone() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        records = AuditRecords(storage, reads=[parse_pattern("*")])
        records.record(AuditEvent(EventKind.SCHEMA_READ))
        await records.write_minute()
        assert json.dumps([each.event for each in await storage.audit_events((0, 0), 9, 9)]) == "[]"  # type: ignore[arg-type]  # a place is a pair

    asyncio.run(story())


@pytest.mark.parametrize(("pattern", "said"), [("", "a name is missing"), ("kek:a", "kek:a is no subject")])
def test_what_is_no_pattern_of_subjects_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(SettingsNotUsable, match=f"audit_reads: .*{said}"):
        create_app(ServerSettings(store="sqlite://", audit_reads=(pattern,)))
