"""The page of a topic: its subjects by association and by name, for those who may read them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def record(field: str) -> dict[str, str]:
    return {"schema": json.dumps({"type": "record", "name": "R", "fields": [{"name": field, "type": "int"}]})}


def association(subject: str) -> dict[str, Any]:
    return {
        "resourceName": "rides",
        "resourceNamespace": "lkc-1",
        "resourceId": "rides-1",
        "resourceType": "topic",
        "associations": [{"subject": subject, "associationType": "value", "lifecycle": "WEAK"}],
    }


def play(story: Callable[[InProcessRegistry], Awaitable[None]], **settings: Any) -> None:
    asyncio.run(story(InProcessRegistry(access=access(), denied_reads="404", **settings)))


async def registered(registry: InProcessRegistry, subject: str, field: str) -> None:
    reply = await registry.send("POST", f"/subjects/{subject}/versions", "admin", record(field))
    assert reply.status == 200, reply.text


def test_an_associated_subject_is_that_of_the_topic() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "rides-value", "by_name")
        await registered(registry, "trips", "by_association")
        await registered(registry, "rides-key", "key_of_rides")
        page = await registry.send("GET", "/ui/topics/rides", "admin")
        assert "by_name" in page.text
        reply = await registry.send("POST", "/associations", "admin", association("trips"))
        assert reply.status == 200, reply.text
        page = await registry.send("GET", "/ui/topics/rides", "admin")
        assert "by_association" in page.text
        assert "key_of_rides" in page.text
        assert "by_name" not in page.text

    play(story)


def test_an_associated_subject_is_hidden_from_those_who_may_not_read_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "trips", "by_association")
        reply = await registry.send("POST", "/associations", "admin", association("trips"))
        assert reply.status == 200, reply.text
        assert (await registry.send("GET", "/ui/topics/rides", "admin")).status == 200
        hidden = await registry.send("GET", "/ui/topics/rides", "reader")
        assert hidden.status == 404
        assert "trips" not in hidden.text

    play(story)


def test_a_subject_leads_to_the_topic_of_its_name() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "rides-value", "id")
        page = await registry.send("GET", "/ui/subjects/rides-value", "admin")
        assert 'href="/ui/topics/rides"' in page.text

    play(story)
