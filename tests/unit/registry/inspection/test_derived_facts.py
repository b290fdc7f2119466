"""What pages have found out about contents before is what a registry finds that has found out nothing yet."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from counterfoil.registry.inspection.facts import DerivedFacts
from counterfoil.registry.judges.judging import JudgementThreads
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.layout import lay_out
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("a", "b", "c", "d")
KINDS = ("int", "long", "string", ["null", "int"])


class CountingJudges(JudgementThreads):
    """Judges that count what they are given."""

    def __init__(self) -> None:
        super().__init__()
        self.works: list[str] = []

    def start(self, work: Callable[..., Any], *given: object) -> asyncio.Future[Any]:
        self.works.append(work.__name__)
        return super().start(work, *given)


def record(rng: random.Random, *, chars: int = 0) -> str:
    chosen = rng.sample(NAMES, rng.randint(1, len(NAMES)))
    fields = [{"name": name, "type": rng.choice(KINDS), "doc": "d" * chars} for name in chosen]
    return json.dumps({"type": "record", "name": "Order", "fields": fields})


def any_write(rng: random.Random, *, chars: int) -> tuple[str, str, dict[str, Any] | None]:
    """Return a request that changes the subject: mostly a registration, sometimes a deletion or other tags."""
    number = rng.randint(1, 8)
    match rng.randint(0, 6):
        case 0:
            return "DELETE", f"/subjects/orders/versions/{number}", None
        case 1:
            tags = {"tags": {"Order.a": [rng.choice(["PII", "KEY"])]}}
            return "POST", "/subjects/orders/versions", {"schema": record(rng, chars=chars), "metadata": tags}
        case _:
            return "POST", "/subjects/orders/versions", {"schema": record(rng, chars=chars)}


PAGES = (
    "/inspect/v1/subjects/orders",
    "/inspect/v1/subjects/orders/versions/latest",
    "/inspect/v1/subjects/orders/versions/{version}",
    "/inspect/v1/subjects/orders/elements?path=a",
    "/inspect/v1/subjects/orders/elements?path=b",
    "/inspect/v1/diff?from=orders@{version}&to=orders@latest",
    "/inspect/v1/diff?from=orders@{version}&to=orders@{version}",
    "/inspect/v1/subjects/orders/versions/{version}?as_of={seq}",
    "/inspect/v1/diff?from=orders@1&to=orders@latest&as_of={seq}",
    "/inspect/v1/layout/{guid}",
)


@pytest.mark.slow
@pytest.mark.parametrize("chars", [0, 3_000])
def test_what_is_cached_is_what_is_found_anew_after_any_writes(chars: int) -> None:
    async def story(seed: int) -> int:
        rng, storage = random.Random(seed), MemoryStorage()
        warm = InProcessRegistry(storage)
        await warm.put("/config/orders", {"compatibility": "NONE"})
        guid, compared = "", 0
        for _ in range(14):
            method, path, body = any_write(rng, chars=chars)
            made = await (warm.delete(path) if body is None else warm.post(path, body))
            guid = made.json["guid"] if method == "POST" else guid
            last = await storage.last_change()
            for page in PAGES:
                path = page.format(version=rng.randint(1, 9), seq=rng.randint(1, last), guid=guid)
                found = [await registry.get(path) for registry in (warm, InProcessRegistry(storage), warm)]
                assert found[0].status == found[1].status == found[2].status, (seed, path)
                assert found[0].json == found[1].json == found[2].json, (seed, path)
                compared += found[0].status == 200
        return compared

    assert sum(asyncio.run(story(seed)) for seed in range(2)) > 100


def test_one_that_was_shown_before_is_found_without_a_judge() -> None:
    async def story() -> None:
        judges = CountingJudges()
        registry = InProcessRegistry(judges=judges)
        await registry.put("/config/orders", {"compatibility": "NONE"})
        rng = random.Random(3)
        for _ in range(4):
            await registry.post("/subjects/orders/versions", {"schema": record(rng, chars=3_000)})
        for _ in range(2):
            for path in (
                "/ui/subjects/orders",
                "/ui/subjects/orders/versions/4",
                "/ui/subjects/orders/versions/4?view=source",
                "/ui/subjects/orders/versions/4?at=a",
                "/ui/subjects/orders/elements?path=a",
                "/ui/compare?from=orders@1&to=orders@4",
                "/ui/compare?from=orders@1&to=orders@4&proof=full",
                "/ui/compare?from=orders@1&to=orders@4&view=split",
            ):
                assert (await registry.get(path)).status in {200, 303}, path
            first, judges.works = judges.works, judges.works[:0] or []
        assert first == []

    asyncio.run(story())


@pytest.mark.slow
def test_the_next_pages_of_a_large_schema_are_made_with_the_first() -> None:
    async def story() -> None:
        judges, storage = CountingJudges(), MemoryStorage()
        registry = InProcessRegistry(storage, judges=judges)
        fields = [{"name": f"f{each}", "type": "int", "doc": "d" * 120} for each in range(2_000)]
        schema = json.dumps({"type": "record", "name": "R", "fields": fields})
        assert (await registry.post("/subjects/s/versions", {"schema": schema})).status == 200
        after = ""
        judges.works.clear()
        for _ in range(5):
            path = f"/inspect/v1/subjects/s/versions/1?after={quote(after)}"
            page = (await registry.get(path)).json
            assert page == (await InProcessRegistry(storage).get(path)).json
            after = page["elements"]["next"]
        assert judges.works.count("element_windows") == 1
        guid = page["guid"]
        for lines in (1, 501, 1001, 1501):
            path = f"/inspect/v1/layout/{guid}?lines={lines}"
            assert (await registry.get(path)).json == (await InProcessRegistry(storage).get(path)).json
        raw = await registry.get("/ui/subjects/s/versions/1?view=raw")
        assert "f1999" in raw.text or "more characters" in raw.text

    asyncio.run(story())


@pytest.mark.slow
def test_very_large_texts_are_not_compared_for_a_list() -> None:
    async def story() -> None:
        judges = CountingJudges()
        registry = InProcessRegistry(judges=judges)
        for chars in (600_000, 600_001):
            schema = json.dumps({"type": "record", "name": "R", "fields": [], "doc": "d" * chars})
            assert (await registry.post("/subjects/s/versions", {"schema": schema})).status == 200
        judges.works.clear()
        steps = (await registry.get("/inspect/v1/subjects/s")).json["versions"]
        assert "too large to be compared" in steps[1]["change"]
        assert "strictBackward" not in steps[1]
        assert judges.works == []
        compared = (await registry.get("/inspect/v1/diff?from=s@1&to=s@2")).json
        assert [each["kind"] for each in compared["changes"]] == ["doc-changed"]

    asyncio.run(story())


def test_small_schemas_are_compared_in_the_event_loop_and_others_by_a_judge() -> None:
    async def works(schemas: tuple[str, str], **more: str) -> list[str]:
        judges = CountingJudges()
        registry = InProcessRegistry(judges=judges)
        await registry.put("/config/s", {"compatibility": "NONE"})
        for schema in schemas:
            assert (await registry.post("/subjects/s/versions", {"schema": schema, **more})).status == 200
        judges.works.clear()
        assert (await registry.get("/ui/compare?from=s@1&to=s@2")).status == 200
        return judges.works

    rng = random.Random(1)
    small = record(rng), record(rng)
    large = record(rng, chars=9_000), record(rng, chars=9_000)
    assert asyncio.run(works(small)) == []
    assert asyncio.run(works(large)) == ["compare_schemas"]
    assert asyncio.run(works(('{"type": "integer"}', '{"type": "string"}'), schemaType="JSON")) == ["compare_schemas"]


def test_a_page_that_was_proved_in_full_before_shows_it() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        await registry.put("/config/s", {"compatibility": "NONE"})
        for kind in ("int", "long"):
            await registry.post("/subjects/s/versions", {"schema": json.dumps(kind)})
        path = "/ui/compare?from=s@1&to=s@2"
        assert "10 values were written and read" in (await registry.get(path)).text
        assert "200 values were written and read" in (await registry.get(f"{path}&proof=full")).text
        assert (await registry.get(f"{path}&proof=all")).status == 400

    asyncio.run(story())


def test_contents_that_were_deleted_for_good_are_not_told_of() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        await registry.put("/config/s", {"compatibility": "NONE"})
        for kind in ("int", "long"):
            await registry.post("/subjects/s/versions", {"schema": json.dumps(kind)})
        pages = [
            "/ui/subjects/s/versions/1?as_of=3",
            "/ui/subjects/s/versions/1?view=source&as_of=3",
            "/ui/subjects/s/versions/1?view=raw&as_of=3",
            "/ui/compare?from=s@1&to=s@2&as_of=3",
        ]
        assert [(await registry.get(path)).status for path in pages] == [200] * 4
        for more in ("", "?permanent=true"):
            await registry.delete(f"/subjects/s/versions/1{more}")
        assert [(await registry.get(path)).status for path in pages] == [404] * 4

    asyncio.run(story())


async def _addressed(registry: InProcessRegistry, at: str, version: str = "1") -> tuple[int, str]:
    reply = await registry.get(f"/ui/subjects/s/versions/{version}?at={quote(at)}")
    return reply.status, reply.headers.get("location", "")


@pytest.mark.parametrize("doc", [0, 100])
def test_a_place_leads_to_the_page_that_has_it(doc: int) -> None:
    """Each of 450 elements is on the page of elements to which its path leads, and its pointer leads to its line."""

    async def story() -> None:
        registry = InProcessRegistry()
        fields = [{"name": f"f{each}", "type": "int", "doc": "d" * 6 * doc} for each in range(450)]
        schema = json.dumps({"type": "record", "name": "R", "fields": fields})
        await registry.post("/subjects/s/versions", {"schema": schema})
        for number in (0, 1, 199, 200, 399, 400, 449):
            status, where = await _addressed(registry, f"f{number}", "latest")
            assert status == 303
            page = await registry.get(where.partition("#")[0])
            assert f'id="{where.partition("#")[2]}"' in page.text, where
            status, where = await _addressed(registry, f"/fields/{number}")
            window = await registry.get(where.partition("#")[0])
            line = lay_out(parse_schema(schema)).line_of(("fields", number))
            assert where.partition("#")[2] == f"L{line}"
            assert f'id="L{line}"' in window.text
        assert (await _addressed(registry, "f450"))[0] == 404

    asyncio.run(story())


def test_the_caches_of_the_past_are_those_of_what_is_read_first() -> None:
    facts = DerivedFacts()
    past = facts.of_past()
    assert past.tables is facts.tables
    assert past.sources is facts.sources
    assert past.steps is not facts.steps
    assert past.comparisons is not facts.comparisons
