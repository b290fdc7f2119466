"""Copies of running registries, of whatever make, and back into running ones."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given

from counterfoil.registry.moving.backup import read_once
from counterfoil.registry.moving.facts import (
    Clashes,
    MovingError,
    NotTheSame,
    PeerRefused,
    PeerUnreachable,
    UnreadableContent,
)
from counterfoil.registry.moving.importing import FactImport, FactState, MoveProgress
from counterfoil.registry.moving.peer.connection import PeerRefusal
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.sources import facts_of
from counterfoil.registry.moving.store_facts import StoreTarget
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.rest.versions import Deletion
from counterfoil.sdk import operations
from counterfoil.sdk.transport import NoReply, Reply
from strategies.registry.driver import InProcessRegistry
from strategies.registry.histories import HISTORIES, ITEM, REFERRING, all_answers, live
from strategies.registry.peers import Filter, apicurio, json_reply, karapace, old_confluent, ours, peer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.moving.importing import ImportOutcome
    from counterfoil.sdk.transport import Request

QUIET = MoveProgress()
PROTO = 'syntax = "proto3";\nmessage M { string a = 1; }\n'


class Said:
    """A stream that keeps what is written to it."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing to do."""


async def copied(source: Filter, target: Any, *, progress: MoveProgress = QUIET, **options: Any) -> ImportOutcome:
    """Copy through the REST API; ``target`` is a registry in this process, asked over REST, or a storage."""
    async with peer_of(source, prefix=source.prefix) as peer:
        with TemporaryDirectory() as folder:
            facts = await read_once(PeerSource(peer), Path(folder), progress)
            if isinstance(target, MemoryStorage):
                return await FactImport(facts, StoreTarget(target), progress).run(**options)
            async with peer_of(target) as other:
                return await FactImport(facts, PeerTarget(other, progress), progress, width=4).run(**options)


async def filled() -> InProcessRegistry:
    """A registry with schemas of all types, references and settings, all in the default context."""
    registry = InProcessRegistry()
    await registry.register("item", ITEM)
    reference = {"name": "ns.Item", "subject": "item", "version": 1}
    await registry.register("cart", REFERRING, references=[reference])
    await registry.register("a%20cart%2F2", REFERRING, references=[reference])
    await registry.register("json", {"type": "object", "properties": {"a": {"type": "number"}}}, schemaType="JSON")
    await registry.register("proto", PROTO, schemaType="PROTOBUF")
    await registry.put("/config/cart", {"compatibility": "NONE"})
    await registry.register("cart", '"string"')
    await registry.delete("/subjects/cart/versions/2")
    await registry.put("/config/cart", {"compatibility": "FORWARD"})
    await registry.put("/config", {"compatibility": "FULL"})
    return registry


MAKES: dict[str, Callable[[InProcessRegistry], Filter]] = {
    "karapace": karapace,
    "apicurio": apicurio,
    "old confluent": old_confluent,
    "ours": ours,
}


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("way", ["store", "url"])
def test_a_copy_of_any_make_has_the_same_ids_versions_and_schemas(make: str, way: str) -> None:
    async def check() -> None:
        first, storage = await filled(), MemoryStorage()
        second = InProcessRegistry(storage)
        outcome = await copied(MAKES[make](first), storage if way == "store" else ours(second), verify=True)
        assert outcome.verified == outcome.same + outcome.written.total()
        if make == "apicurio":  # it does not list what is soft-deleted
            await second.put("/mode?force=true", {"mode": "IMPORT"})
            schema = {"schema": '"string"', "id": 5, "version": 2}
            await second.post("/subjects/cart/versions", schema)
            await second.put("/mode?force=true", {"mode": None})
            await second.delete("/subjects/cart/versions/2")
        expected = await all_answers(first, with_times=False)
        assert await all_answers(second, with_times=False) == expected
        again = await copied(MAKES[make](first), storage if way == "store" else ours(second), verify=True)
        assert not again.written or make == "apicurio"

    asyncio.run(check())


@pytest.mark.slow
@given(HISTORIES)
def test_a_copy_over_the_api_answers_as_the_original(history: list[Any]) -> None:
    async def check() -> None:
        first, second = InProcessRegistry(), InProcessRegistry()
        await live(first, history)
        for scope in ("", "/:.x:", "/a", "/:.x:a"):  # what an alias hides is told, and not copied
            await first.put(f"/config{scope}", {"alias": None})
        await copied(ours(first), ours(second), verify=True)
        expected, found = [await all_answers(each, with_times=False) for each in (first, second)]
        paths = [path for path in expected if path.startswith(("/subjects", "/schemas"))]
        assert {path: found[path] for path in paths} == {path: expected[path] for path in paths}
        assert not (await copied(ours(first), ours(second), verify=True)).written

    asyncio.run(check())


def test_time_stamps_go_into_a_store() -> None:
    async def check() -> None:
        first, storage = await filled(), MemoryStorage()
        await copied(ours(first), storage, verify=True)
        assert await all_answers(InProcessRegistry(storage)) == await all_answers(first)

    asyncio.run(check())


def test_modes_are_put_back_and_that_is_printed() -> None:
    async def check() -> None:
        first, second, said = await filled(), InProcessRegistry(), Said()
        await first.register(":.c:other", '"int"')
        await second.put("/mode/:.c:", {"mode": "READONLY"})
        await copied(ours(first), ours(second), progress=MoveProgress(said), verify=True)
        assert (await second.get("/mode")).json == {"mode": "READWRITE"}
        assert (await second.get("/mode/:.c:")).json == {"mode": "READONLY"}
        assert "mode of the default context: IMPORT for now (nothing was set)" in said.text
        assert "mode of the default context: nothing again" in said.text
        assert "mode of context '.c': READONLY again" in said.text

    asyncio.run(check())


class Failing(Filter):
    """Refuses the registration number ``after``, and all after it."""

    after = 2

    async def asend(self, request: Request) -> Reply:
        if request.method == "POST":
            self.after -= 1
            if self.after < 0:
                return json_reply(422, {"error_code": 42201, "message": "no"})
        return await super().asend(request)


@pytest.mark.slow
def test_modes_are_put_back_after_a_failure_and_the_next_run_completes() -> None:
    async def check() -> None:
        first, second = await filled(), InProcessRegistry()
        failing = Failing(second, fields=frozenset(), plain_avro=False, by_id=True)
        with pytest.raises(PeerRefused, match="was refused: 422 no"):
            await copied(ours(first), failing)
        assert (await second.get("/mode")).json == {"mode": "READWRITE"}
        assert 0 < len((await second.get("/subjects")).json) < 5
        outcome = await copied(ours(first), ours(second), verify=True)
        assert outcome.same
        assert await all_answers(second, with_times=False) == await all_answers(first, with_times=False)

    asyncio.run(check())


@pytest.mark.slow
def test_modes_of_the_source_are_set_last() -> None:
    async def check() -> None:
        first, second = await filled(), InProcessRegistry()
        await first.put("/mode/cart", {"mode": "READONLY"})
        await first.put("/mode", {"mode": "READONLY"})
        await copied(ours(first), ours(second), verify=True)
        assert await all_answers(second, with_times=False) == await all_answers(first, with_times=False)

    asyncio.run(check())


def test_clashes_are_listed_before_anything_is_written() -> None:
    async def check() -> None:
        first, second = await filled(), InProcessRegistry()
        await second.register("x", '"int"')
        await second.register("proto", '"long"')
        await second.put("/config/cart", {"compatibility": "BACKWARD"})
        target = ours(second)
        with pytest.raises(Clashes) as refusal:
            await copied(ours(first), target)
        assert (
            len(refusal.value.problems) == 5
        )  # item, cart 1, a cart/2 and json by id, proto by content, config of cart
        assert not [each for each in target.log if not each.startswith("GET")]

    asyncio.run(check())


def test_what_cannot_be_carried_over_is_listed() -> None:
    async def check() -> None:
        first = await filled()
        await first.register("hidden", '"bytes"')
        await first.put("/config/hidden", {"alias": "cart"})
        with pytest.raises(UnreadableContent) as refusal:
            await copied(ours(first), MemoryStorage())
        assert refusal.value.problems[0] == (
            "version 1 of subject 'hidden' is hidden: the subject is an alias of 'cart'"
        )
        outcome = await copied(ours(first), MemoryStorage(), skip_unreadable=True, verify=True)
        assert outcome.left_out == len(refusal.value.problems)

    asyncio.run(check())


class Odd(Filter):
    """Gives texts and references that mean nothing."""

    def _thinned(self, path: str, value: Any) -> Any:
        thin = super()._thinned(path, value)
        if path.startswith("/subjects/item/versions/"):
            return {**thin, "schema": '{"type": "nothing"}'}
        return {**thin, "schemaType": "XML"} if path.startswith("/subjects/json/versions/") else thin


def test_schemas_that_cannot_be_read_are_distinguished() -> None:
    async def check() -> None:
        first = await filled()
        with pytest.raises(UnreadableContent) as refusal:
            await copied(Odd(first), MemoryStorage())
        problems = refusal.value.problems
        assert len(problems) == 4  # item, json, and the two that refer to item
        assert any("schemaType is 'XML'" in problem for problem in problems)

    asyncio.run(check())


class Lying(Filter):
    """Forgets a soft delete."""

    async def asend(self, request: Request) -> Reply:
        if request.method == "DELETE" and "/subjects" in request.url:
            return json_reply(200, 2)
        return await super().asend(request)


def test_what_reads_back_differently_is_reported() -> None:
    async def check() -> None:
        first, second = await filled(), InProcessRegistry()
        lying = Lying(second, fields=frozenset(), plain_avro=False, by_id=True)
        with pytest.raises(NotTheSame, match="version 2 of subject 'cart' is unfinished"):
            await copied(ours(first), lying, verify=True)

    asyncio.run(check())


class Flaky(Filter):
    """Gives ``outcomes`` first, one for each request, then the answers of the registry; ``NoReply`` is raised."""

    outcomes: Sequence[Reply | NoReply] = ()

    async def asend(self, request: Request) -> Reply:
        if not self.outcomes:
            return await super().asend(request)
        outcome, *self.outcomes = self.outcomes
        if isinstance(outcome, NoReply):
            raise outcome
        return outcome


def flaky(registry: InProcessRegistry, outcomes: Sequence[Reply | NoReply]) -> Flaky:
    transport = Flaky(registry, fields=frozenset(), plain_avro=False, by_id=True)
    transport.outcomes = outcomes
    return transport


def test_every_request_of_a_move_is_repeated_also_a_deletion() -> None:
    async def check() -> None:
        registry = await filled()
        trouble = [NoReply("no route", was_sent=False), Reply(503), NoReply("slow")]
        async with peer_of(flaky(registry, trouble), retries=3) as peer:
            deletion = operations.delete_version("item", 1, deletion=Deletion.SOFT)
            found = await peer.outcome(deletion)
        assert isinstance(found, PeerRefusal)
        assert found.code == 42206  # a reference is in the way: the fourth request was answered

    asyncio.run(check())


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (NoReply("refused", was_sent=False), PeerUnreachable),
        (NoReply("slow"), PeerUnreachable),
        (Reply(401, body=b"who are you"), PeerRefused),
        (json_reply(403, {"message": "not you"}), PeerRefused),
        (Reply(500, body=b"<html>"), PeerRefused),
        (Reply(429), PeerRefused),
        (Reply(404, body=b"<html>nothing here</html>"), PeerRefused),
        (Reply(200, body=b"<html>hello</html>"), PeerRefused),
    ],
)
def test_a_registry_that_does_not_answer_correctly_is_reported(
    outcome: Reply | NoReply, error: type[MovingError]
) -> None:
    async def check() -> None:
        async with peer_of(flaky(InProcessRegistry(), [outcome] * 20), retries=2) as peer:
            with pytest.raises(error, match=r"http://registry\.test"):
                await PeerSource(peer).subjects()

    asyncio.run(check())


def test_a_dry_run_asks_and_writes_nothing() -> None:
    async def check() -> None:
        first, second = await filled(), InProcessRegistry()
        target = ours(second)
        async with peer_of(ours(first)) as peer, peer_of(target) as other:
            source = PeerSource(peer)
            survey = await FactImport(lambda: facts_of(source), PeerTarget(other, QUIET), QUIET).survey()
        assert (survey.clashes, survey.unreadable) == ([], [])
        assert survey.counts[FactState.ABSENT] == 9  # six versions, a context, two configs
        assert not [each for each in target.log if not each.startswith("GET")]
        assert json.loads((await second.get("/subjects")).text) == []

    asyncio.run(check())


def test_a_running_registry_that_is_written_to_meanwhile_is_read_again() -> None:
    class Busy(Filter):
        """Is written to when its config is read, for the first time."""

        written = 0

        async def asend(self, request: Request) -> Reply:
            if urlsplit(request.url).path == "/config" and not self.written:
                self.written = 1
                await self.registry.register("item", '"bytes"')
            return await super().asend(request)

    async def check() -> None:
        first, storage, said = await filled(), MemoryStorage(), Said()
        await first.put("/config/item", {"compatibility": "NONE"})
        busy = Busy(first, fields=frozenset(), plain_avro=False, by_id=True)
        await copied(busy, storage, progress=MoveProgress(said), verify=True)
        assert "was written to meanwhile; reading it again" in said.text
        assert await all_answers(InProcessRegistry(storage)) == await all_answers(first)

    asyncio.run(check())
