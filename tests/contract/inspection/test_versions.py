"""Versions, elements, laid-out texts, ids and references, on every store."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from counterfoil.schema.rest.inspection import (
    ELEMENT_INSPECTION,
    ELEMENT_ROWS,
    ID_INSPECTION,
    REFERENCE_GRAPH,
    SOURCE_WINDOW,
    VERSION_INSPECTION,
    ElementRows,
    VersionInspection,
    VersionName,
)
from counterfoil.schema.rest.object_forms import ReplyJson

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry

ORDERS = "/inspect/v1/subjects/orders"


def record(*names: str, kind: str = "string", doc: str = "") -> dict[str, Any]:
    default: Any = "" if kind == "string" else 0
    fields = [{"name": name, "type": kind, "default": default, "doc": doc} for name in names]
    return {"type": "record", "name": "Order", "fields": fields}


async def version_page(registry: InProcessRegistry, path: str) -> VersionInspection:
    reply = await registry.get(path)
    assert reply.status == 200, reply.text
    return VERSION_INSPECTION.read(ReplyJson(reply.json))


async def element_page(registry: InProcessRegistry, path: str) -> ElementRows:
    reply = await registry.get(path)
    assert reply.status == 200, reply.text
    return ELEMENT_ROWS.read(ReplyJson(reply.json))


def test_a_version_has_its_facts_and_its_neighbours(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders", record("a"))
        metadata = {"tags": {"Order.a": ["PII"]}, "properties": {"owner": "x", "key": "y"}, "sensitive": ["key"]}
        rule = {"name": "r", "kind": "TRANSFORM", "mode": "WRITE", "type": "CEL", "tags": ["PII"], "expr": "1"}
        parts = {"metadata": metadata, "ruleSet": {"domainRules": [rule]}}
        await registry.register("orders", record("a", "b"), **parts)
        await registry.register("orders", record("a", "b", "c"), **parts)
        await registry.register(":.eu:copy", record("a", "b"), **parts)
        await registry.delete("/subjects/orders/versions/3")
        page = await version_page(registry, f"{ORDERS}/versions/2")
        assert (page.previous, page.following, page.latest) == (1, 3, 2)
        assert [(each.path, each.since) for each in page.elements.elements] == [("a", 1), ("b", 2)]
        assert page.uses == (VersionName(":.eu:copy", 1, 1),)
        assert [(each.key, each.value, each.is_sensitive) for each in page.metadata] == [
            ("key", "", True),
            ("owner", "x", False),
        ]
        assert [(each.name, each.mode, each.tags) for each in page.rules] == [("r", "WRITE", ("PII",))]
        assert page.tags == ("PII",)
        assert page.text_chars == len((await registry.get("/subjects/orders/versions/2/schema")).text)
        deleted = await version_page(registry, f"{ORDERS}/versions/3")
        assert (deleted.step.is_deleted, deleted.step.added, deleted.following) == (True, 1, None)
        assert (await version_page(registry, f"{ORDERS}/versions/latest")).version == 2
        assert (await version_page(registry, f"{ORDERS}/versions/2?as_of=2")).following is None
        for version, code in (("4", 40402), ("x", 42202)):
            assert (await registry.get(f"{ORDERS}/versions/{version}")).code == code

    tell(story)


def test_elements_are_paged_by_key(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        names = [f"f{number}" for number in range(450)]
        await registry.register("orders", record(*names))
        path, found, after = f"{ORDERS}/versions/1", [], ""
        while True:
            page = await version_page(registry, f"{path}?after={quote(after)}")
            assert page.elements.total == 450
            found += [each.path for each in page.elements.elements]
            after = page.elements.next
            if not after:
                break
        assert found == names
        some = await element_page(registry, f"{ORDERS}/elements?prefix=f44")
        assert [each.path for each in some.elements] == ["f44", *(f"f44{number}" for number in range(10))]
        assert (some.total, some.next) == (11, "")
        assert (await registry.get(f"{path}?after=field:none")).status == 400
        assert (await element_page(registry, f"{ORDERS}/elements?prefix=none")).elements == ()

    tell(story)


def test_a_large_schema_is_shown_in_windows(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        names = [f"field{number}" for number in range(3000)]
        made = await registry.register("orders", record(*names, doc="d" * 100))
        assert made.status == 200
        first = await version_page(registry, f"{ORDERS}/versions/1")
        assert first.text_chars > 256 * 1024
        assert len(first.elements.elements) == 200
        assert first.elements.total == 3000
        last = await element_page(registry, f"{ORDERS}/elements?after={quote('field:field2900')}")
        assert [each.path for each in last.elements] == names[2901:]
        window = SOURCE_WINDOW.read(ReplyJson((await registry.get(f"/inspect/v1/layout/{first.guid}?lines=1501")).json))
        assert [each.number for each in window.lines] == list(range(1501, 2001))
        assert window.total > 3000

    tell(story)


def test_a_laid_out_text_is_the_stored_one(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = (await registry.register("orders", record("a", "b"))).json
        reply = await registry.get(f"/inspect/v1/layout/{made['guid']}")
        window = SOURCE_WINDOW.read(ReplyJson(reply.json))
        text = "\n".join("".join(token.text for token in line.tokens) for line in window.lines)
        assert json.loads(text) == json.loads((await registry.get("/subjects/orders/versions/1/schema")).text)
        assert window.total == len(window.lines)
        for guid in ("0" * 32, "x", "b040db4b-fdae-23ea-4a07-95f3973b98c9"):
            for path in ("layout", "guids"):
                assert (await registry.get(f"/inspect/v1/{path}/{guid}")).code == 40403
        assert (await registry.get(f"/inspect/v1/layout/{made['guid']}?lines=0")).status == 400

    tell(story)


def test_the_life_of_an_element(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config/orders", {"compatibility": "NONE"})
        for schema in (
            record("a"),
            record("a", "b"),
            record("a"),
            record("b", kind="int"),
            record("b", "a", kind="int"),
        ):
            assert (await registry.register("orders", schema)).status == 200
        life = ELEMENT_INSPECTION.read(ReplyJson((await registry.get(f"{ORDERS}/elements?path=b")).json))
        found = [(each.version, each.element and each.element.type) for each in life.steps]
        assert found == [(2, "string"), (3, "int")]
        await registry.delete("/subjects/orders/versions/2")
        await registry.register("orders", record("a", doc="new"))
        life = ELEMENT_INSPECTION.read(ReplyJson((await registry.get(f"{ORDERS}/elements?path=b")).json))
        assert [(each.version, each.is_deleted) for each in life.steps][:1] == [(2, True)]
        assert life.steps[-1].element is None
        assert (await registry.get(f"{ORDERS}/elements?path=none")).status == 404

    tell(story)


def test_an_id_has_its_versions_in_each_context(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a", '"string"')
        await registry.register("b", '"int"')
        await registry.register("c", '"int"')
        await registry.register(":.eu:d", '"int"')
        await registry.delete("/subjects/c")
        found = ID_INSPECTION.read(ReplyJson((await registry.get("/inspect/v1/ids/2")).json))
        assert found.uses == (VersionName("b", 1, 2), VersionName("c", 1, 2, is_deleted=True))
        in_eu = ID_INSPECTION.read(ReplyJson((await registry.get("/inspect/v1/ids/1?context=.eu")).json))
        assert (in_eu.uses, in_eu.context) == ((VersionName(":.eu:d", 1, 1),), ".eu")
        of_guid = ID_INSPECTION.read(ReplyJson((await registry.get(f"/inspect/v1/guids/{found.guid}")).json))
        assert of_guid.uses == (*found.uses, *in_eu.uses)
        for path in ("ids/9", "ids/2?context=.none"):
            assert (await registry.get(f"/inspect/v1/{path}")).code == 40403
        assert (await registry.get("/inspect/v1/ids/x")).status == 404

    tell(story)


def test_references_are_those_of_a_plain_walk(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        chance = random.Random(7)
        edges: set[tuple[int, int]] = set()
        for number in range(14):
            targets = chance.sample(range(number), min(number, chance.randint(0, 3)))
            edges |= {(number, target) for target in targets}
            fields = [{"name": f"f{each}", "type": f"R{each}"} for each in targets]
            schema = {"type": "record", "name": f"R{number}", "fields": fields}
            references = [{"name": f"R{each}", "subject": f"s{each}", "version": 1} for each in targets]
            reply = await registry.register(f"s{number}", schema, references=references)
            assert reply.status == 200, reply.text
        for start in range(14):
            for direction, depth in (("out", 1), ("out", 2), ("in", 2), ("both", 3), ("out", 5)):
                path = f"/inspect/v1/references/s{start}/1?direction={direction}&depth={depth}"
                graph = REFERENCE_GRAPH.read(ReplyJson((await registry.get(path)).json))
                found = {(int(each.subject[1:]), int(each.to_subject[1:]), each.depth) for each in graph.edges}
                expected, is_cut = set(), False
                for way in ("out", "in"):
                    if direction in {way, "both"}:
                        walked, rest = walk(edges, start, depth, is_back=way == "in")
                        expected |= walked
                        is_cut = is_cut or rest
                assert found == expected, path
                assert graph.is_cut == is_cut, path

    tell(story)


def walk(
    edges: set[tuple[int, int]], start: int, depth: int, *, is_back: bool
) -> tuple[set[tuple[int, int, int]], bool]:
    """Return the edges with their depths, and whether there are more behind them."""
    found, level, seen = set(), {start}, {start}
    for number in range(1, depth + 1):
        reached = [each for each in edges if each[is_back] in level]
        found |= {(*each, number) for each in reached}
        level = {each[not is_back] for each in reached} - seen
        seen |= level
    return found, any(each[is_back] in level for each in edges)


def test_referrers_are_shown_on_both_pages(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("money", {"type": "record", "name": "Money", "fields": []})
        schema = {"type": "record", "name": "Order", "fields": [{"name": "total", "type": "Money"}]}
        reference = {"name": "Money", "subject": "money", "version": 1}
        await registry.register("orders", schema, references=[reference])
        money = (await registry.get("/inspect/v1/subjects/money")).json
        assert [(each["subject"], each["version"]) for each in money["referrers"]] == [("orders", 1)]
        orders = (await registry.get(ORDERS)).json
        assert orders["references"] == [reference]
        assert (await version_page(registry, "/inspect/v1/subjects/money/versions/1")).referrers == (
            VersionName("orders", 1, 2),
        )
        graph = (await registry.get("/inspect/v1/references/orders/1?depth=6")).status
        assert graph == 400

    tell(story)
