"""The registry's behaviour, story by story: policies, tags and rules, and what surrounds the answers."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from strategies.registry.driver import InProcessRegistry
from strategies.registry.stories import Tell, record, teller

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["memory", "sqlite"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """Run a story against an empty registry, over either storage."""
    return teller(request.param, tmp_path)


POLICIES = {
    # policy: what is there, what is sent, whether it is taken
    "STRICT": ("string", "string", True),
    "LENIENT": ("bytes", "string", True),
    "LOGICAL": ("int", "double", False),  # Avro reads it, a table does not take it
    "SOUND": ("bytes", "string", False),  # not all bytes are UTF-8
}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_of_a_config_is_applied(tell: Any, policy: str) -> None:
    was, now, taken = POLICIES[policy]

    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.put("/config/s", {"compatibilityPolicy": policy.lower()})).status == 200
        assert (await registry.get("/config/s")).json["compatibilityPolicy"] == policy
        await registry.register("s", record("R", ("f1", was)))
        reply = await registry.register("s", record("R", ("f1", now)))
        assert (reply.status, reply.code) == ((200, None) if taken else (409, 40901))

    tell(story)


def test_a_schema_with_warnings_is_refused_under_sound(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        unusable = record("R", ("f1", {"type": "enum", "name": "E", "symbols": ["A"]}))
        unusable["fields"][0]["default"] = "B"
        assert (await registry.register("plain", unusable)).status == 200
        await registry.put("/config", {"compatibilityPolicy": "SOUND"})
        refused = await registry.register("s", unusable)
        assert refused.code == 42201
        assert "The default 'B' of field f1 is no value of its type" in refused.json["message"]
        tested = await registry.post(
            "/compatibility/subjects/s/versions?verbose=true", {"schema": json.dumps(unusable)}
        )
        assert tested.json["is_compatible"] is False

    tell(story)


def test_a_difference_below_a_message_that_is_lost_whole_is_answered_under_sound(tell: Any) -> None:
    """The search for a record of the inner difference meets the loss of the message around it."""
    writer = 'syntax = "proto3"; message B { C a = 5; } message C { int64 v = 1; }'
    reader = (
        'edition = "2023"; message B { D a = 5 [features.message_encoding = DELIMITED]; } message D { uint32 v = 1; }'
    )

    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config", {"compatibilityPolicy": "SOUND"})
        await registry.register("s", writer, schemaType="PROTOBUF")
        body = {"schema": reader, "schemaType": "PROTOBUF"}
        tested = await registry.post("/compatibility/subjects/s/versions?verbose=true", body)
        assert (tested.status, tested.json["is_compatible"]) == (200, False)
        assert any("enclosed as a group" in message for message in tested.json["messages"])

    tell(story)


def tags(path: str, *names: str) -> list[dict[str, Any]]:
    kind = "sr_field" if path.endswith(".f1") else "sr_record"
    return [{"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": [*names]}]


def test_tags_are_written_into_the_text_and_make_a_version(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        schema = record("R", ("f1", "string"))
        first = await registry.register("s", schema, schemaTagsToAdd=tags("R.f1", "PII", "A"))
        assert first.json["metadata"] == {"properties": {"confluent:version": "1"}}
        assert '"confluent:tags":["PII","A"]' in first.json["schema"]
        second = await registry.post("/subjects/s/versions/1/tags", {"tagsToAdd": tags("R", "B"), "tagsToRemove": []})
        assert (second.status, second.json["version"]) == (200, 2)
        third = await registry.post("/subjects/s/versions/latest/tags", {"tagsToRemove": tags("R.f1", "A")})
        found = (await registry.get(f"/schemas/ids/{third.json['id']}?findTags=*")).json["schemaTags"]
        assert found == [*tags("R", "B"), *tags("R.f1", "PII")]
        wider = record("R", ("f1", "string"), ("f2", "int", 1))
        fourth = await registry.register("s", wider, propagateSchemaTags=True)
        kept = (await registry.get(f"/subjects/s/versions/{fourth.json['version']}?findTags=*")).json["schemaTags"]
        assert kept == found

    tell(story)


def test_tags_of_what_is_not_there_are_refused_and_leave_nothing(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        schema = record("R", ("f1", "string"))
        refused = await registry.register("s", schema, schemaTagsToAdd=tags("Q.f1", "PII"))
        assert refused.code == 42201
        assert "no sr_field 'Q.f1'" in refused.json["message"]
        assert (await registry.register("s", "", schemaTagsToAdd=tags("R.f1", "PII"))).code == 42201
        assert (await registry.get("/subjects")).json == []
        await registry.register("s", schema)
        assert (await registry.post("/subjects/s/versions/2/tags", {"tagsToAdd": tags("R", "A")})).code == 40402
        wrong = {"tagsToAdd": tags("R", "A"), "newVersion": 7}
        assert (await registry.post("/subjects/s/versions/1/tags", wrong)).code == 42201
        both = {"ruleSet": {"domainRules": []}, "rulesToRemove": ["r"]}
        assert (await registry.post("/subjects/s/versions/1/tags", both)).code == 42210
        assert (await registry.post("/subjects/s/versions/1/tags", {"tagsToAdd": [{"tags": ["A"]}]})).code == 400
        assert (await registry.get("/subjects/s/versions")).json == [1]

    tell(story)


def test_rules_are_merged_and_removed_with_tags(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        rules = {"domainRules": [{"name": name, "type": "CEL", "kind": "CONDITION"} for name in ("a", "b")]}
        await registry.register("s", record("R", ("f1", "string")), ruleSet=rules)
        body = {"rulesToMerge": {"domainRules": [{"name": "c", "type": "CEL"}]}, "rulesToRemove": ["a"]}
        reply = await registry.post("/subjects/s/versions/1/tags", body)
        assert [rule["name"] for rule in reply.json["ruleSet"]["domainRules"]] == ["b", "c"]

    tell(story)


def test_inline_tags_are_found(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        tagged = {**record("R", ("f1", "string")), "namespace": "n", "confluent:tags": ["A", "B"]}
        tagged["fields"][0]["confluent:tags"] = ["PII"]
        await registry.register("s", tagged)
        one = (await registry.get("/subjects/s/versions/1?findTags=B")).json["schemaTags"]
        assert one == [{"schemaEntity": {"entityPath": "n.R", "entityType": "sr_record"}, "tags": ["A", "B"]}]
        assert len((await registry.get("/schemas/ids/1?findTags=*")).json["schemaTags"]) == 2
        assert "schemaTags" not in (await registry.get("/subjects/s/versions/1")).json

    tell(story)


def test_every_answer_is_in_its_envelope(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for method, path in (
            ("GET", "/subjects"),
            ("GET", "/nothing/here"),
            ("PUT", "/subjects"),
            ("HEAD", "/subjects"),
        ):
            reply = await registry.ask(method, path)
            assert re.fullmatch(r"[0-9a-f-]{36}", reply.headers["x-request-id"])
            assert reply.headers["cache-control"] == "no-cache, no-store, must-revalidate"
        echoed = await registry.ask("GET", "/subjects", headers={"X-Request-ID": "mine"})
        assert echoed.headers["x-request-id"] == "mine"
        assert (await registry.ask("GET", "/nothing/here")).code == 404
        assert (await registry.ask("PUT", "/subjects")).code == 405
        head = await registry.ask("HEAD", "/subjects/")
        assert (head.status, head.text) == (200, "")

    tell(story)


def test_the_description_is_whole() -> None:
    async def story() -> None:
        description = (await InProcessRegistry().get("/openapi.json")).json
        wanted = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(description)))
        assert wanted <= description["components"]["schemas"].keys()
        operations = [operation for path in description["paths"].values() for operation in path.values()]
        assert len({operation["operationId"] for operation in operations}) == len(operations) > 35
        assert all(operation["summary"] for operation in operations)

    asyncio.run(story())


def test_health_and_measures(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.get("/health/live")).json == {"status": "live"}
        ready = (await registry.get("/health/ready")).json
        assert ready["status"] == "ready"
        assert {step["step"] for step in ready["steps"]} == {"store", "server"}
        await registry.get("/subjects/s/versions/7")
        measures = (await registry.get("/metrics")).text
        assert (
            'counterfoil_requests_total{method="GET",route="/subjects/{subject}/versions/{version}",status="404"} 1.0'
            in measures
        )

    tell(story)


def test_a_stopping_server_is_not_ready() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        registry.app.lifecycle.stopping = True
        reply = await registry.get("/health/ready")
        assert reply.status == 503
        assert {"step": "server", "state": "waiting", "on": "the requests under way, before it stops"} in reply.json[
            "steps"
        ]

    asyncio.run(story())
