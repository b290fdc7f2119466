"""What is asked as of an earlier moment is answered as it was then."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.changes.as_of import EVER, AsOf, iso_time, resolve_moment
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST, StoragePlan
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import BadRequest
from strategies.registry.driver import InProcessRegistry, Reply
from strategies.registry.earlier_moments import STORY, Step, carry_out, check_every_moment, steps


@pytest.mark.slow
@given(st.lists(steps, max_size=14))
def test_every_earlier_moment_answers_as_it_did(story: list[Step]) -> None:
    asyncio.run(check_every_moment(story, MemoryStorage()))


@pytest.mark.slow
def test_a_whole_life_can_be_read_again() -> None:
    asyncio.run(check_every_moment(STORY, MemoryStorage()))


def ask(*paths: str, story: list[Step] | None = None) -> list[Reply]:
    """The answers to ``paths`` after ``story``."""

    async def main() -> list[Reply]:
        registry = InProcessRegistry()
        for step in STORY[:2] if story is None else story:
            assert (await carry_out(registry, step)).status in {200, 204}
        return [await registry.get(path) for path in paths]

    return asyncio.run(main())


def test_a_hard_deleted_version_is_reported_with_its_time() -> None:
    story = [*STORY[:2], ("DELETE", "/subjects/s", None), ("DELETE", "/subjects/s?permanent=true", None)]
    versions, version = ask("/subjects/s/versions?as_of=2", "/subjects/s/versions/1?as_of=2", story=story)
    assert versions.json == [1]
    assert (version.status, version.code) == (404, 40403)
    assert "Version 1 of subject 's' was there then, but was deleted for good by change 4 at 20" in version.text


@pytest.mark.parametrize(
    ("moment", "problem"),
    [
        ("3", "names change 3, but the last one so far is 2"),
        ("seq:3", "names change 3, but the last one so far is 2"),
        ("1793534400000", "a time is written 2026-11-01T12:00:00Z or ts:"),
        ("2999-01-01T00:00:00Z", "has not come yet; now it is 20"),
        ("ts:99999999999999", "has not come yet"),
        ("2026-11-01T12:00:00", "a time without Z or an offset"),
        ("2026-11-01", "a time without Z or an offset"),
        ("", "expected the number of a change (42 or seq:42), or a time"),
        ("-1", "expected the number of a change"),
        ("seq:", "expected the number of a change"),
        ("seq:1e3", "expected the number of a change"),
        ("ts:-5", "expected the number of a change"),
        ("9" * 40, "expected the number of a change"),
        ("%C2%B2", "expected the number of a change"),
        ("0001-01-01T00:00:00%2B14:00", ""),
        ("9999-12-31T23:59:59-14:00", "has not come yet"),
        ("yesterday%00", "expected the number of a change"),
    ],
)
def test_a_moment_that_is_none_is_refused(moment: str, problem: str) -> None:
    [reply] = ask(f"/subjects?as_of={moment}")
    if problem:
        assert (reply.status, reply.code) == (400, 400)
        assert problem in reply.json["message"]
    else:
        assert reply.json == []


def test_times_and_numbers_name_the_same_moments() -> None:
    async def main() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        for step in STORY[:2]:
            await carry_out(registry, step)
        [config, version] = await storage.changes(0, 10)
        await registry.delete("/subjects/s")
        moments = {
            "0": [],
            "seq:1": [],
            "2": ["s"],
            "ts:0": [],
            "1970-01-01T00:00:00Z": [],
            f"ts:{config.ts - 1}": [],
        }
        if version.ts < (await storage.changes(2, 1))[0].ts:
            moments[f"ts:{version.ts}"] = ["s"]
            moments[iso_time(version.ts)] = ["s"]
        for moment, there in moments.items():
            assert (await registry.get(f"/subjects?as_of={quote(moment)}")).json == there, moment
        assert (await registry.get(f"/subjects?as_of={quote(iso_time(version.ts + 60_000))}")).status == 400

    asyncio.run(main())


@given(st.integers(0, 4_102_444_800_000))
def test_the_time_of_a_change_names_that_change(ts: int) -> None:
    class Asked(MemoryStorage):
        async def last_change(self, until_ts: int | None = None) -> int:
            return until_ts or 0

        async def changes(self, *_: int) -> Any:
            return [JournalChange(1, 4_102_444_800_000, JournalChangeKind.SETTINGS, parse_subject("s"))]

    assert asyncio.run(resolve_moment(Asked(), iso_time(ts))) == ts
    assert asyncio.run(resolve_moment(Asked(), f"ts:{ts}")) == ts


def test_an_offset_may_come_with_its_plus_not_encoded() -> None:
    encoded, bare = ask("/subjects?as_of=2020-01-01T01:00:00%2B01:00", "/subjects?as_of=2020-01-01T01:00:00+01:00")
    assert (encoded.status, bare.status, bare.json) == (200, 200, [])


def test_where_the_past_cannot_be_requested_it_is_not_answered_with_the_present() -> None:
    for path in ("/schemas/ids/1", "/subjects/s/versions/1/referencedby", "/schemas", "/contexts"):
        [reply] = ask(f"{path}?as_of=1")
        assert (reply.status, reply.code) == (400, 400)
        assert "as_of is not possible for GET " in reply.json["message"]


def test_a_schema_is_tested_against_the_versions_and_the_level_of_then() -> None:
    async def main() -> list[Any]:
        registry = InProcessRegistry()
        await registry.register("s", '"int"')
        await registry.put("/config/s", {"compatibility": "NONE"})
        await registry.register("s", '"string"')
        path = "/compatibility/subjects/s/versions"
        return [
            (await registry.post(f"{path}?as_of={moment}", {"schema": '"string"'})).json["is_compatible"]
            for moment in range(4)
        ]

    assert asyncio.run(main()) == [True, False, True, True]


def test_the_past_takes_no_writes_and_tells_no_ids() -> None:
    async def main() -> None:
        storage = MemoryStorage()
        await InProcessRegistry(storage).register("s", '"int"')
        past = AsOf(storage, 0)
        assert (await past.last_change(), list(await past.changes(0, 10))) == (0, [])
        assert await past.changes_of(parse_subject("s"), EVER) == []
        for asked in (
            past.commit(StoragePlan(), by=NO_REQUEST),
            past.uses(".", 1),
            past.guid_of_id(".", 1),
            past.max_id("."),
            past.scopes(),
            past.records("dek"),
            past.referrers(parse_subject("s"), 1),
        ):
            with pytest.raises(BadRequest, match="as of an earlier moment; ask without as_of"):
                await asked

    asyncio.run(main())
