"""Sketches as a client sees them: stored with their subjects, refused, deleted, copied to another registry."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.moving.importing import FactImport, MoveProgress
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.sources import facts_of
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema import parse_schema
from counterfoil.schema.sketch import PartSketch, TopicSketch, WriterSchema, make_sketcher
from counterfoil.schema.sketch.document import sketch_document
from strategies.registry.driver import InProcessRegistry
from strategies.registry.peers import ours, peer_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

QUIET = MoveProgress()
ALL = "/sketches/v1/subjects"
ONE = f"{ALL}/rides-value"


def play(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    asyncio.run(story(InProcessRegistry()))


def document(*fares: float, subject: str = "rides-value") -> dict[str, Any]:
    schema = parse_schema('{"type": "record", "name": "R", "fields": [{"name": "fare", "type": "double"}]}')
    sketcher = make_sketcher(schema, WriterSchema(schema.schema_type, schema.text))
    for fare in fares:
        sketcher.add({"fare": fare}, 0)
    value = PartSketch({"1": sketcher.finish()})
    return sketch_document(TopicSketch("rides", value=value, value_subject=subject))


def test_a_sketch_is_stored_with_its_subject_and_replaced() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.get(ONE)).code == 40490
        assert (await registry.put(ONE, document(1.5))).status == 204
        assert (await registry.put(ONE, document(1.5, 2.5))).status == 204
        assert (await registry.get(ONE)).json == document(1.5, 2.5)
        assert (await registry.put(f"{ALL}/:.test:rides-value", document(7.0))).status == 204
        assert (await registry.get(ALL)).json == ["rides-value", ":.test:rides-value"]
        changes = (await registry.get("/changes?after=0")).json["changes"]
        assert [change["kind"] for change in changes].count("record-changed") == 3
        assert (await registry.delete(ONE)).status == 204
        assert (await registry.delete(ONE)).code == 40490
        assert (await registry.get(ALL)).json == [":.test:rides-value"]

    play(story)


def test_whole_numbers_of_any_size_are_kept() -> None:
    async def story(registry: InProcessRegistry) -> None:
        large = document(1.5)
        large["value"]["schemas"][0]["places"][1]["most"] = 10**400
        assert (await registry.put(ONE, large)).status == 204
        assert (await registry.get(ONE)).json == large

    play(story)


def test_what_is_no_sketch_of_the_subject_is_refused() -> None:
    async def story(registry: InProcessRegistry) -> None:
        other = await registry.put(ONE, document(1.5, subject="other-value"))
        assert (other.code, "expected 'rides-value'" in other.text) == (42290, True)
        negative = document(1.5)
        negative["value"]["schemas"][0]["places"][0]["records"] = -1
        refused = await registry.put(ONE, negative)
        assert (refused.code, "places[0].records is -1; expected an integer from 0" in refused.text) == (42290, True)
        unknown = document(1.5)
        unknown["value"]["schemas"][0]["places"][1]["most"] = float("nan")
        refused = await registry.put(ONE, unknown)
        assert (refused.code, "places[1].most is NaN; expected a number" in refused.text) == (42290, True)
        assert (await registry.put(ONE, {})).code == 42290
        assert 400 <= (await registry.put(ONE, [1])).status < 500
        await registry.put("/mode", {"mode": "READONLY"})
        assert (await registry.put(ONE, document(1.5))).code == 42205

    play(story)


@pytest.mark.slow
def test_sketches_are_carried_over_from_a_store_and_over_the_api() -> None:
    async def carry() -> None:
        storage = MemoryStorage()
        source = InProcessRegistry(storage)
        await source.put(ONE, document(1.5))
        await source.put(f"{ALL}/:.test:rides-value", document(2.5))

        restored, reading = MemoryStorage(), StoreSource(storage, origin="")
        await FactImport(lambda: facts_of(reading), StoreTarget(restored), QUIET).run(verify=True)
        assert (await InProcessRegistry(restored).get(ONE)).json == document(1.5)

        target = InProcessRegistry(MemoryStorage())
        async with peer_of(ours(source), retries=0) as here, peer_of(ours(target), retries=0) as there:
            peer = PeerSource(here)
            await FactImport(lambda: facts_of(peer), PeerTarget(there, QUIET), QUIET).run(verify=True)
            assert not (
                await FactImport(lambda: facts_of(peer), PeerTarget(there, QUIET), QUIET).run(verify=True)
            ).written
        assert (await target.get(ONE)).json == document(1.5)
        assert (await target.get(ALL)).json == ["rides-value", ":.test:rides-value"]

    asyncio.run(carry())
