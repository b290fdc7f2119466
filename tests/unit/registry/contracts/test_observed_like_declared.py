"""An application that was seen to read fields is judged like one that declares to read them, and nothing more."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from strategies.contracts.stories import BASE, can_deploy, deploy, expectation, promise, publish
from strategies.fleets.drawing import Drawn
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.shapes import printed
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strategies.fleets.shapes import Shape

SEEDS, MANY = range(5), range(1000, 1400)
LINK = "./order.avsc"


async def breaks(language: str, shapes: tuple[Shape, Shape], reads: tuple[str, ...], *, is_seen: bool) -> Any:
    """Return the verdict on a changed schema, and its breaks, where one application reads, or was seen to."""
    registry = InProcessRegistry()
    await registry.put(f"{BASE}/environments/production", {"production": True})
    await registry.put("/config", {"compatibility": "NONE"})
    kind = LANGUAGES[language]
    for number, shape in enumerate(shapes, 1):
        schema = {"schemaType": kind.name, "schema": kind.text(shape)}
        contracts = [{"content": promise(f"2.{number}.0"), "schemas": {LINK: schema}}]
        body = {"application": "shop", "version": f"{number}", "contracts": contracts}
        reply = await registry.post(f"{BASE}/publish", body)
        assert reply.status == 200, reply.text
        if number == 1:
            await registry.post("/subjects/orders-value/versions", schema)
            await deploy(registry, "shop", "1")
            if is_seen:
                seen = {"subject": "orders-value", "messages": 9, "sampled": 9, "paths": dict.fromkeys(reads, 9)}
                body = {"application": "audit", "environment": "production", "reads": [seen]}
                reply = await registry.post(f"{BASE}/usage", body)
                assert reply.json["stored"] == 1, reply.text
            else:
                await publish(registry, "audit", "1", expectation(*reads, name="audit"))
                await deploy(registry, "audit", "1")
    path = f"{BASE}/can-i-deploy?application=shop&version=2&environment=production"
    answer = (await registry.get(path)).json
    assert (await can_deploy(registry, "shop", "2"))[0] is answer["deployable"]
    blocking = [each for each in answer["reasons"] if each["reason"] in {"INCOMPATIBLE", "EXPECTATION_BROKEN"}]
    return answer["deployable"], {(each["rule"], each["path"], each["place"], each["written"]) for each in blocking}


def faults(language: str, seeds: Iterable[int]) -> Iterator[str]:
    for seed in seeds:
        drawn, random = Drawn(seed, language, topics=("orders",)), Random(seed)
        first = drawn.history["orders"][0]
        shapes = (first, drawn.drawing.changed(first))
        reads = tuple(printed(each.path) for each in drawn.reads(random.choice(shapes[:1])))
        declared, seen = [asyncio.run(breaks(language, shapes, reads, is_seen=each)) for each in (False, True)]
        if declared != seen:
            yield f"seed {seed}: {shapes}\nreads {reads}\ndeclared {declared}\nseen {seen}"


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_few_changes_break_who_was_seen_like_who_declares(language: str) -> None:
    assert not (found := [*faults(language, SEEDS)]), "\n\n".join(found)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("language", LANGUAGES)
def test_many_changes_break_who_was_seen_like_who_declares(language: str) -> None:
    assert not (found := [*faults(language, MANY)]), "\n\n".join(found)
