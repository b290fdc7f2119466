"""Comparisons, drafts and decoded bytes, on every store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from counterfoil.schema.rest.comparisons import (
    DECODED_BYTES,
    DRAFT_VERDICT,
    SCHEMA_COMPARISON,
    DraftVerdict,
    FrameKind,
    SchemaComparison,
)
from counterfoil.schema.rest.object_forms import ReplyJson

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry

VERDICT, DIFF = "/inspect/v1/verdict", "/inspect/v1/diff"


def record(**kinds: str) -> str:
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    return json.dumps({"type": "record", "name": "Order", "fields": fields})


async def compared(registry: InProcessRegistry, body: dict[str, Any], path: str = VERDICT) -> SchemaComparison:
    reply = await registry.post(path, body)
    assert reply.status == 200, reply.text
    return SCHEMA_COMPARISON.read(ReplyJson(reply.json))


async def drafted(registry: InProcessRegistry, schema: str, subject: str = "orders", **more: Any) -> DraftVerdict:
    options = {key: more.pop(key) for key in ("policy", "level") if key in more}
    reply = await registry.post(VERDICT, {"draft": {"subject": subject, "schema": schema, **more}, **options})
    assert reply.status == 200, reply.text
    return DRAFT_VERDICT.read(ReplyJson(reply.json))


def answers(found: SchemaComparison) -> dict[tuple[str, str], str]:
    return {(each.policy, each.direction): each.answer.value for each in found.cells}


def test_versions_are_compared_with_the_changes_and_the_versions_that_made_them(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config/orders", {"compatibility": "NONE"})
        for schema in (record(a="int"), record(a="int", b="int"), record(a="string", b="int")):
            await registry.register("orders", schema)
        found = await compared(registry, {"from": "orders@1", "to": "orders@latest"})
        assert {(each.path, each.sign): each.came_in for each in found.changes} == {("a", "~"): 3, ("b", "+"): 2}
        assert answers(found)["STRICT", "backward"] == answers(found)["SOUND", "forward"] == "breaks"
        assert found.findings[0].witness is not None
        assert (found.level, found.policy, found.earlier.version, found.later.version) == ("NONE", "STRICT", 1, 3)
        by_get = SCHEMA_COMPARISON.read(
            ReplyJson((await registry.get(f"{DIFF}?from=orders%401&to=orders%40latest")).json)
        )
        assert by_get == await compared(registry, {"from": "orders@1", "to": "orders@latest"}, DIFF)
        assert by_get.changes == found.changes
        assert by_get.findings[0].witness is None
        then = (await registry.get(f"{DIFF}?from=orders@1&to=orders@latest&as_of=3")).json
        assert then["later"]["version"] == 2

    tell(story)


def test_operands_of_other_subjects_contexts_and_languages(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a@b", record(a="int"))
        await registry.register(":.eu:orders", record(a="long"))
        await registry.register("json", '{"type": "integer"}', schemaType="JSON")
        await registry.put("/config/alias", {"alias": "a@b"})
        found = await compared(registry, {"from": "alias@1", "to": ":.eu:orders@latest"})
        assert (found.earlier.subject, found.later.subject) == ("a@b", ":.eu:orders")
        assert [each.text for each in found.changes] == ["type changed: int → long"]
        other = await compared(registry, {"from": "a@b@1", "to": "json@1"})
        assert "records of one language" in other.note
        texts = {"from": {"schema": '"int"'}, "to": {"schema": '"long"'}}
        assert answers(await compared(registry, texts))["STRICT", "backward"] == "reads"
        for body in ({"from": "orders", "to": "a@b@1"}, {"from": "a@b@1"}, {}, {"from": "a@b@x", "to": "a@b@1"}):
            assert (await registry.post(VERDICT, body)).status == 400, body
        for name, code in (("none@1", 40401), ("a@b@7", 40402)):
            assert (await registry.post(VERDICT, {"from": name, "to": name})).code == code

    tell(story)


def test_a_draft_is_judged_as_its_registration(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders", record(a="int"))
        for schema in (record(a="long"), record(a="string"), record(a="int", b="int"), record(), "{", '"nothing"'):
            for level in ("BACKWARD", "FORWARD", "FULL", "NONE"):
                subject = f"orders-{level}-{abs(hash(schema))}"
                await registry.register(subject, record(a="int"))
                await registry.put(f"/config/{subject}", {"compatibility": level})
                verdict = await drafted(registry, schema, subject)
                what_if = await drafted(registry, schema, level=level)
                made = await registry.register(subject, schema)
                assert (verdict.accepted, what_if.accepted) == (
                    (None, None) if verdict.fault else (made.status == 200, made.status == 200)
                )
                assert (verdict.fault is not None) == (made.status == 422)
                if made.status == 200:
                    number = (await registry.get(f"/subjects/{subject}/versions/latest")).json["version"]
                    assert verdict.next_version == number
                elif made.status == 409:
                    assert all(reason in made.json["message"] for reason in verdict.reasons)
        assert (await registry.get("/subjects/orders/versions")).json == [1]

    tell(story)


def test_a_draft_says_what_is_known_of_it(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders", record(a="int"))
        known = await drafted(registry, record(a="int"))
        assert known.known is not None
        assert (known.known.version, known.accepted, known.next_version) == (1, True, None)
        fault = (await drafted(registry, '{"type": "record",\n "name": }')).fault
        assert fault is not None
        assert (fault.line, fault.column) == (2, 10)
        refused = await drafted(registry, record(a="string"))
        assert refused.advice
        assert refused.comparison is not None
        assert (await drafted(registry, record(a="string"), "new")).next_version == 1
        await registry.put("/mode/orders", {"mode": "READONLY"})
        frozen = await drafted(registry, record(a="long"))
        assert (frozen.accepted, "READONLY" in frozen.reasons[0]) == (False, True)
        assert (await registry.post(VERDICT, {"draft": {"schema": '"int"'}})).status == 400
        before = (await registry.get("/changes")).json["next"]
        assert before == 2

    tell(story)


def test_bytes_are_decoded_by_their_frame_or_their_subject(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", record(a="int"))
        await registry.register(":.eu:orders-value", record(b="string"))

        async def decoded(**body: Any) -> Any:
            reply = await registry.post("/inspect/v1/decode", body)
            assert reply.status == 200, reply.text
            return DECODED_BYTES.read(ReplyJson(reply.json))

        framed = await decoded(text="00 00000001 0e")
        assert (framed.frame, framed.value, framed.writers[0].subject) == (FrameKind.ID, '{"a": 7}', "orders-value")
        elsewhere = await decoded(text="00 00000001 02 61", subject=":.eu:orders-value")
        assert elsewhere.value == '{"b": "a"}'
        bare = await decoded(text="0e", topic="orders")
        assert (bare.frame, bare.value, [each.version for each in bare.candidates]) == (FrameKind.NONE, '{"a": 7}', [1])
        cut = await decoded(text="00 00000001")
        assert cut.fault is not None
        viewed = await decoded(text="00 00000001 0e", reader=":.eu:orders-value@1")
        assert viewed.reader is not None
        assert viewed.reader.fault
        unknown = await decoded(text="00 00000009 0e")
        assert (unknown.id, unknown.writers, unknown.value) == (9, (), None)
        for body, code in (({"text": "x", "form": "hex"}, 400), ({"text": "00", "reader": "none@1"}, 40401)):
            assert (await registry.post("/inspect/v1/decode", body)).code == code

    tell(story)


def test_the_verdict_about_a_long_draft_is_whole(tell: Any) -> None:
    """It is printed beside the event loop, and is the same."""

    async def story(registry: InProcessRegistry) -> None:
        fields = [{"name": f"f{number}", "type": "string", "default": "x" * 100} for number in range(1200)]
        text = json.dumps({"type": "record", "name": "R", "fields": fields})
        reply = await registry.post("/inspect/v1/verdict", {"draft": {"subject": "long", "schema": text}})
        assert (reply.status, reply.media_type) == (200, "application/vnd.schemaregistry.v1+json")
        assert (reply.json["accepted"], reply.json["nextVersion"]) == (True, 1)
        assert len(json.loads(reply.json["canonical"])["fields"]) == 1200

    tell(story)
