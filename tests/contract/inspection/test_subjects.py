"""The list of subjects and the page of one, on every store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.inspection import SUBJECT_INSPECTION, SUBJECT_ROWS, SubjectInspection, SubjectRow
from counterfoil.schema.rest.object_forms import ReplyJson

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry

HOSTILE = ["a/b", " ", 'ü"\\', "..", "a%2Fb", "a@b", "<script>", "x" * 300, ":.ctx:a/b", ":.ctx:", "\u202e", "ﬀ"]
ORDERS = "/inspect/v1/subjects/orders"


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, *fields]}


def optional(name: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "type": kind, "default": "" if kind == "string" else 0}


async def rows(registry: InProcessRegistry, query: str = "", limit: int = 100) -> list[SubjectRow]:
    """Return the rows of all pages."""
    found: list[SubjectRow] = []
    after = ""
    while True:
        reply = await registry.get(f"/inspect/v1/subjects?limit={limit}&after={quote(after, safe='')}&{query}")
        assert reply.status == 200, reply.text
        page = SUBJECT_ROWS.read(ReplyJson(reply.json))
        assert len(page.subjects) <= limit
        found += page.subjects
        after = page.next
        if not after:
            return found


async def subject_page(registry: InProcessRegistry, path: str) -> SubjectInspection:
    reply = await registry.get(path)
    assert reply.status == 200, reply.text
    return SUBJECT_INSPECTION.read(ReplyJson(reply.json))


def test_pages_have_each_subject_once_in_order(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        names = [*HOSTILE, *(f"s{number:03}" for number in range(30)), *(f":.eu:s{number}" for number in range(7))]
        for name in names:
            assert (await registry.register(quote(name, safe=""), '"int"')).status == 200, name
        await registry.delete("/subjects/s003")
        subjects = [parse_subject(name) for name in names if name not in {"s003", ":.ctx:"}]
        expected = sorted(subjects)
        for limit in (1, 7, 100):
            found = await rows(registry, limit=limit)
            assert [each.subject for each in found if each.subject != ":.ctx:"] == list(map(str, expected))
        in_eu = [str(each) for each in expected if each.context == ".eu"]
        assert [each.subject for each in await rows(registry, "context=.eu")] == in_eu
        assert [each.subject for each in await rows(registry, "context=:.eu:", 3)] == in_eu
        assert [each.subject for each in await rows(registry, "prefix=s00")] == [
            f"s00{number}" for number in range(10) if number != 3
        ]
        deleted = [each for each in await rows(registry, "prefix=s00&deleted=true&context=.") if each.is_deleted]
        assert [(each.subject, each.versions, each.latest) for each in deleted] == [("s003", 1, 1)]

    tell(story)


def test_a_row_has_the_latest_version_and_the_rules_in_force(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a", '"int"')
        await registry.put("/config/b", {"compatibility": "NONE", "compatibilityPolicy": "SOUND"})
        for text in ('"int"', '"string"', '"long"'):
            await registry.register("b", text)
        await registry.delete("/subjects/b/versions/3")
        found = {each.subject: each for each in await rows(registry)}
        assert (found["a"].level, found["a"].policy, found["a"].versions) == ("BACKWARD", "STRICT", 1)
        b = found["b"]
        assert (b.level, b.policy, b.versions, b.latest, b.schema_type) == ("NONE", "SOUND", 2, 2, "AVRO")
        assert b.id == (await registry.get("/subjects/b/versions/2")).json["id"]

    tell(story)


def test_parameters_that_say_nothing_are_refused(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for query in ("limit=0", "limit=101", "limit=x", "deleted=maybe"):
            assert (await registry.get(f"/inspect/v1/subjects?{query}")).status == 400, query
        for path in ("subjects/none", "subjects/none/versions/1", "subjects/none/elements", "references/none/1"):
            assert (await registry.get(f"/inspect/v1/{path}")).code == 40401, path
        assert (await registry.get("/inspect/v1/subjects?as_of=99")).status == 400

    tell(story)


def test_a_list_is_as_it_was(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a", '"int"')
        await registry.register("b", '"int"')
        await registry.register("a", '"long"')
        await registry.delete("/subjects/b")
        now = await rows(registry)
        assert [(each.subject, each.versions) for each in now] == [("a", 2)]
        then = await rows(registry, "as_of=2", 1)
        assert [(each.subject, each.versions, each.latest) for each in then] == [("a", 1, 1), ("b", 1, 1)]
        page = await subject_page(registry, "/inspect/v1/subjects/a?as_of=2")
        assert [each.version for each in page.versions] == [1]
        assert (await subject_page(registry, "/inspect/v1/subjects/b?as_of=3")).deleted_count == 0

    tell(story)


def test_steps_have_the_changes_and_the_verdicts_of_the_compatibility_route(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config/orders", {"compatibility": "NONE"})
        schemas = [
            record(),
            record(optional("note")),
            record({"name": "needed", "type": "string"}),
            record(optional("note", "int")),
            {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]},
        ]
        for schema in schemas:
            assert (await registry.register("orders", schema)).status == 200
        await registry.delete("/subjects/orders/versions/3")
        page = await subject_page(registry, ORDERS)
        assert [each.is_deleted for each in page.versions] == [False, False, True, False, False]
        assert (page.version_count, page.deleted_count, page.name) == (5, 1, "Order")
        first, second, third, fourth, last = page.versions
        assert (first.change, first.strict_backward, first.sound_forward) == ("", None, None)
        assert (second.added, second.removed, second.changed) == (1, 0, 0)
        assert third.added == third.removed == 1
        assert (fourth.added, fourth.removed, fourth.changed) == (0, 0, 2)
        assert last.change
        numbers = {1: None, 2: 1, 3: 2, 4: 2, 5: 4}  # a deleted version is not what the next one is compared with
        for step in page.versions[1:]:
            body = {"schema": json.dumps(schemas[step.version - 1])}
            found = {}
            for policy in ("STRICT", "SOUND"):
                for level in ("BACKWARD", "FORWARD"):
                    await registry.put("/config/orders", {"compatibility": level, "compatibilityPolicy": policy})
                    path = f"/compatibility/subjects/orders/versions/{numbers[step.version]}"
                    found[policy, level] = (await registry.post(path, body)).json["is_compatible"]
            assert found == {
                ("STRICT", "BACKWARD"): step.strict_backward,
                ("STRICT", "FORWARD"): step.strict_forward,
                ("SOUND", "BACKWARD"): step.sound_backward,
                ("SOUND", "FORWARD"): step.sound_forward,
            }

    tell(story)


def test_many_versions_are_paged(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for number in range(120):
            fields = [optional(f"f{each}") for each in range(number % 7)]
            await registry.register("orders", {**record(*fields), "doc": f"{number}"})
        first = await subject_page(registry, ORDERS)
        assert [each.version for each in first.versions] == list(range(1, 101))
        assert (first.next, first.version_count) == (100, 120)
        second = await subject_page(registry, f"{ORDERS}?after={first.next}")
        assert [each.version for each in second.versions] == list(range(101, 121))
        assert second.next == 0
        for before, step in zip(first.versions, first.versions[1:], strict=False):
            assert step.added == (1 if step.version % 7 != 1 else 0), before
            assert step.strict_backward is True
        assert (await subject_page(registry, f"{ORDERS}?after=118&limit=1")).next == 119
        assert (await subject_page(registry, f"{ORDERS}?after=500")).versions == ()

    tell(story)


def test_an_alias_shows_its_subject_and_a_subject_its_aliases(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders", '"int"')
        await registry.put("/config/old", {"alias": "orders"})
        await registry.put("/config/:.eu:far", {"alias": ":.:orders"})
        page = await subject_page(registry, "/inspect/v1/subjects/old")
        assert (page.subject, page.alias_of) == ("old", "orders")
        assert [each.version for each in page.versions] == [1]
        assert (await subject_page(registry, ORDERS)).aliases == ("old", ":.eu:far")
        await registry.delete("/config/old")
        assert (await subject_page(registry, ORDERS)).aliases == (":.eu:far",)

    tell(story)


def test_names_of_any_kind_have_pages(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for name in HOSTILE:
            path = quote(name, safe="")
            await registry.register(path, record(optional("note")))
            assert (await subject_page(registry, f"/inspect/v1/subjects/{path}")).subject == str(parse_subject(name))
            for rest in ("versions/latest", "elements", "elements?path=note"):
                assert (await registry.get(f"/inspect/v1/subjects/{path}/{rest}")).status == 200, (name, rest)
            operand = quote(f"{name}@latest", safe="")
            reply = await registry.get(f"/inspect/v1/diff?from={operand}&to={operand}")
            assert reply.status == 200, reply.text
            assert reply.json["note"] == "Both texts are equal"

    tell(story)


def test_what_belongs_to_a_subject_is_named(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders", record())
        association = {"subject": "orders", "associationType": "value", "lifecycle": "WEAK"}
        resource = {"resourceName": "t", "resourceNamespace": "x", "resourceId": "1", "resourceType": "topic"}
        await registry.post("/associations", {**resource, "associations": [association]})
        await registry.post("/dek-registry/v1/keks", {"name": "k", "kmsType": "test", "kmsKeyId": "id"})
        dek = {"subject": "orders", "encryptedKeyMaterial": "bWF0ZXJpYWw="}
        await registry.post("/dek-registry/v1/keks/k/deks", dek)
        reads = [{"subject": "orders", "messages": 1, "paths": {"id": 1}}]
        assert (await registry.post("/contracts/v1/usage", {"application": "billing", "reads": reads})).status == 200
        page = await subject_page(registry, ORDERS)
        assert page.topics == ("t",)
        assert [(each.kind, each.name) for each in page.things] == [("key", "k")]
        assert [(each.application, each.activity) for each in page.readers] == [("billing", "active")]
        life = (await registry.get(f"{ORDERS}/elements?path=id")).json
        assert [each["application"] for each in life["readers"]] == ["billing"]

    tell(story)


def test_a_reader_of_a_record_reads_its_fields(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        inner = {"type": "record", "name": "C", "fields": [{"name": "email", "type": "string"}]}
        outer = {
            "type": "record",
            "name": "R",
            "fields": [{"name": "customer", "type": inner}, {"name": "b", "type": "int"}],
        }
        await registry.register("orders", json.dumps(outer))
        for application, path in (("billing", "customer"), ("mail", "customer.email"), ("stock", "b")):
            reads = [{"subject": "orders", "messages": 1, "paths": {path: 1}}]
            assert (
                await registry.post("/contracts/v1/usage", {"application": application, "reads": reads})
            ).status == 200
        for path, readers in (
            ("customer", ["billing", "mail"]),
            ("customer.email", ["billing", "mail"]),
            ("b", ["stock"]),
        ):
            life = (await registry.get(f"{ORDERS}/elements?path={path}")).json
            assert sorted(each["application"] for each in life["readers"]) == readers

    tell(story)
