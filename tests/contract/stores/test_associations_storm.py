"""Random requests about associations, many at once, on every storage; afterwards everything still fits together."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from counterfoil.registry.store.protocol import Storage
    from strategies.registry.driver import Reply

ROUNDS, AT_ONCE = 40, 6
TOPICS, SHARED, TYPES = ("t1", "t2", "t3"), ("s1", "s2"), ("key", "value")
SUBJECTS = (*SHARED, *(f":.c1:{topic}-{each}" for topic in TOPICS for each in TYPES))
ROUTINE = {200, 204, 207, 404, 409, 422}


def record(draw: random.Random, name: str) -> str:
    fields = [{"name": field, "type": "int", "default": 0} for field in draw.sample("abcd", draw.randint(1, 3))]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def association(draw: random.Random) -> dict[str, Any]:
    item: dict[str, Any] = {"associationType": draw.choice(TYPES)}
    match draw.randint(0, 3):
        case 0:
            item["schema"] = {"schema": record(draw, "R")}
        case 1:
            item["lifecycle"] = "STRONG"
        case 2:
            item["lifecycle"] = "WEAK"
        case _:
            item["subject"] = draw.choice(SUBJECTS)
    if draw.random() < 0.2:
        item["frozen"] = draw.random() < 0.5
    return item


def items(draw: random.Random, **fields: Any) -> list[dict[str, Any]]:
    made = [{**association(draw), **fields} for _ in range(draw.randint(1, 2))]
    return list({each["associationType"]: each for each in made}.values())


def resource(draw: random.Random, associations: list[dict[str, Any]]) -> dict[str, Any]:
    topic = draw.choice(TOPICS)
    names = {"resourceName": topic, "resourceNamespace": "c1", "resourceId": f"id-{topic}"}
    return {**names, "associations": associations}


async def ask(registry: InProcessRegistry, draw: random.Random) -> Reply:
    """The reply to a random request."""
    subject = draw.choice(SUBJECTS)
    match draw.randint(0, 7):
        case 0:
            return await registry.register(subject, record(draw, "R"))
        case 1:
            outer = {"type": "record", "name": "O", "fields": [{"name": "r", "type": "R"}]}
            references = [{"name": "R", "subject": subject, "version": -1}]
            return await registry.register(draw.choice(SUBJECTS), outer, references=references)
        case 2:
            return await registry.delete(f"/subjects/{subject}{draw.choice(('', '?permanent=true'))}")
        case 3:
            return await registry.delete(f"/subjects/{subject}/versions/latest")
        case 4 | 5:
            return await registry.post("/associations", resource(draw, items(draw)))
        case 6:
            body = resource(draw, items(draw))
            if draw.random() < 0.5:
                return await registry.put(f"/associations/resources/{body['resourceId']}", body)
            query = draw.choice(("", "?cascadeLifecycle=true"))
            return await registry.delete(f"/associations/resources/{body['resourceId']}{query}")
        case _:
            operations = [
                {**each, "opType": draw.choice(("CREATE", "UPSERT", "DELETE")), "cascadeLifecycle": True}
                for each in items(draw)
            ]
            return await registry.post("/associations:batchMutate", {"requests": [resource(draw, operations)]})


async def check(registry: InProcessRegistry) -> int:
    """Check what must always hold; how many associations there are."""
    everything = (await registry.get("/associations/resources/-/-")).json
    by_subject, by_resource = defaultdict(list), defaultdict(list)
    for each in everything:
        by_subject[each["subject"]].append(each)
        by_resource[each["resourceId"]].append(each)
    for subject in SUBJECTS:
        assert (await registry.get(f"/associations/subjects/{subject}")).json == by_subject[subject]
    for topic in TOPICS:
        assert (await registry.get(f"/associations/resources/id-{topic}")).json == by_resource[f"id-{topic}"]
        assert len({each["lifecycle"] for each in by_resource[f"id-{topic}"]}) <= 1
        assert max(Counter(each["associationType"] for each in by_resource[f"id-{topic}"]).values(), default=1) == 1
    for subject, found in by_subject.items():
        if not found:
            continue
        assert (await registry.get(f"/subjects/{subject}/versions/latest")).status == 200, subject
        if "STRONG" in {each["lifecycle"] for each in found}:
            assert len(found) == 1
            assert subject == f":.c1:{found[0]['resourceName']}-{found[0]['associationType']}"
            await check_unreferenced(registry, subject)
    return len(everything)


async def check_unreferenced(registry: InProcessRegistry, subject: str) -> None:
    own = {
        f"{subject}/{version}" for version in (await registry.get(f"/subjects/{subject}/versions?deleted=true")).json
    }
    listed = (await registry.get("/schemas?subjectPrefix=:*:&deleted=true")).json
    for each in listed:
        for reference in each.get("references", ()):
            if reference["subject"] == subject:
                assert f"{each['subject']}/{each['version']}" in own


def test_everything_fits_together_after_a_storm(run: Any):
    async def behaviour(storage: Storage) -> None:
        registry, draw = InProcessRegistry(storage), random.Random(7)
        seen = 0
        for _ in range(ROUNDS):
            seeds = [draw.random() for _ in range(AT_ONCE)]
            replies = await asyncio.gather(*(ask(registry, random.Random(seed)) for seed in seeds))
            assert {reply.status for reply in replies} <= ROUTINE
            assert not any('"error_code":5' in reply.text for reply in replies)
            seen += await check(registry)
        assert seen > ROUNDS  # the storm left something to check

    run(behaviour)
