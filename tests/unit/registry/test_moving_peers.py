"""Copies of running registries, of whatever make, and back into running ones."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given

from counterfoil.registry.moving.errors import (
    Clashes,
    MovingError,
    NotTheSame,
    PeerRefused,
    PeerUnreachable,
    UnreadableContent,
)
from counterfoil.registry.moving.importing import Import
from counterfoil.registry.moving.peer import Peer
from counterfoil.registry.moving.peer_source import PeerSource
from counterfoil.registry.moving.peer_target import PeerTarget
from counterfoil.registry.moving.progress import Progress
from counterfoil.registry.moving.source import facts_of
from counterfoil.registry.moving.spool import read_once
from counterfoil.registry.moving.store_target import StoreTarget
from counterfoil.registry.moving.target import State
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.sdk.settings import RegistrySettings
from registry_driver import InProcessRegistry
from registry_histories import HISTORIES, ITEM, REFERRING, all_answers, live
from registry_peers import Filter, apicurio, karapace, old_confluent, ours, peer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.moving.importing import Outcome

QUIET = Progress()
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


async def copied(source: Filter, target: Any, *, progress: Progress = QUIET, **options: Any) -> Outcome:
    """Copy through the REST API; ``target`` is a registry in this process, asked over REST, or a storage."""
    async with peer_of(source, prefix=source.prefix) as peer:
        with TemporaryDirectory() as folder:
            facts = await read_once(PeerSource(peer), Path(folder), progress)
            if isinstance(target, MemoryStorage):
                return await Import(facts, StoreTarget(target), progress).run(**options)
            async with peer_of(target) as other:
                return await Import(facts, PeerTarget(other, progress), progress, width=4).run(**options)


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


def test_modes_are_put_back_and_that_is_said() -> None:
    async def check() -> None:
        first, second, said = await filled(), InProcessRegistry(), Said()
        await first.register(":.c:other", '"int"')
        await second.put("/mode/:.c:", {"mode": "READONLY"})
        await copied(ours(first), ours(second), progress=Progress(said), verify=True)
        assert (await second.get("/mode")).json == {"mode": "READWRITE"}
        assert (await second.get("/mode/:.c:")).json == {"mode": "READONLY"}
        assert "mode of the default context: IMPORT for now (nothing was set)" in said.text
        assert "mode of the default context: nothing again" in said.text
        assert "mode of context '.c': READONLY again" in said.text

    asyncio.run(check())


class Failing(Filter):
    """Refuses the registration number ``after``, and all after it."""

    after = 2

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            self.after -= 1
            if self.after < 0:
                return httpx.Response(422, json={"error_code": 42201, "message": "no"})
        return await super().handle_async_request(request)


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


def test_schemas_that_cannot_be_read_are_told_apart() -> None:
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

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE" and "/subjects" in str(request.url):
            return httpx.Response(200, json=2)
        return await super().handle_async_request(request)


def test_what_reads_back_otherwise_is_told() -> None:
    async def check() -> None:
        first, second = await filled(), InProcessRegistry()
        lying = Lying(second, fields=frozenset(), plain_avro=False, by_id=True)
        with pytest.raises(NotTheSame, match="version 2 of subject 'cart' is unfinished"):
            await copied(ours(first), lying, verify=True)

    asyncio.run(check())


class Flaky(httpx.AsyncBaseTransport):
    """Gives ``answers`` first, one for each request, then those of ``inner``; an exception is raised."""

    def __init__(self, inner: httpx.AsyncBaseTransport, answers: Sequence[httpx.Response | Exception]) -> None:
        self.inner = inner
        self.answers = list(answers)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not self.answers:
            return await self.inner.handle_async_request(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_requests_are_made_again_with_growing_pauses() -> None:
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    async def check() -> None:
        trouble = [
            httpx.ConnectError("no route"),
            httpx.Response(429, headers={"Retry-After": "7"}),
            httpx.Response(503),
            httpx.ReadTimeout("slow"),
        ]
        transport = Flaky(ours(await filled()), trouble)
        settings = RegistrySettings.of("http://registry.test/", retries=4)
        async with Peer(settings, transport=transport, pause=pause) as peer:
            assert await peer.get("/subjects/cart/versions") == [1]
        assert 0.1 <= waited[0] <= 0.2
        assert waited[1] == 7
        assert 0.4 <= waited[2] <= 0.8 <= waited[3] * 2

    asyncio.run(check())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.ConnectError("refused"), PeerUnreachable),
        (httpx.ReadTimeout(""), PeerUnreachable),
        (httpx.Response(401, text="who are you"), PeerRefused),
        (httpx.Response(403, json={"message": "not you"}), PeerRefused),
        (httpx.Response(500, text="<html>"), PeerRefused),
        (httpx.Response(429), PeerRefused),
        (httpx.Response(404, text="<html>nothing here</html>"), PeerRefused),
        (httpx.Response(200, text="<html>hello</html>"), PeerRefused),
    ],
)
def test_a_registry_that_does_not_answer_well_is_told(answer: Any, error: type[MovingError]) -> None:
    async def check() -> None:
        transport = Flaky(httpx.MockTransport(lambda _: httpx.Response(500)), [answer] * 20)
        async with peer_of(transport, retries=2) as peer:
            with pytest.raises(error):
                await PeerSource(peer).subjects()

    asyncio.run(check())


def test_the_next_url_is_asked_when_one_does_not_answer() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(200 if request.url.host == "b.test" else 503, json=[])

    async def at_once(seconds: float) -> None:
        del seconds

    async def check() -> None:
        settings = RegistrySettings.of("http://a.test,http://b.test/", retries=1)
        async with Peer(settings, transport=httpx.MockTransport(answer), pause=at_once) as peer:
            assert await peer.get("/subjects") == []

    asyncio.run(check())
    assert asked == ["a.test", "b.test"]


@pytest.mark.parametrize(
    ("url", "settings_", "header"),
    [
        ("http://name:p%40ss@registry.test", {}, "Basic bmFtZTpwQHNz"),
        ("http://registry.test", {"auth": ("name", "p:w")}, "Basic bmFtZTpwOnc="),
        ("http://registry.test", {"auth": "t0ken"}, "Bearer t0ken"),
        ("http://name:x@registry.test", {"auth": "t0ken"}, "Bearer t0ken"),
    ],
)
def test_it_says_who_it_is(url: str, settings_: dict[str, str], header: str) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=[])

    async def check() -> None:
        settings = RegistrySettings.of(url, **settings_)
        async with Peer(settings, transport=httpx.MockTransport(answer)) as peer:
            assert peer.url == "http://registry.test"
            await peer.get("/subjects")

    asyncio.run(check())
    assert seen[0].headers["authorization"] == header


def test_long_listings_are_read_page_by_page() -> None:
    names = [f"s{number:04}" for number in range(2500)]
    asked: list[str] = []

    def paged(request: httpx.Request) -> httpx.Response:
        query = request.url.params
        asked.append(query["offset"])
        return httpx.Response(200, json=names[int(query["offset"]) :][: int(query["limit"])])

    def unpaged(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=names[:2000])

    async def check() -> None:
        async with peer_of(httpx.MockTransport(paged)) as peer:
            assert await peer.pages("/subjects") == names
        assert asked == ["0", "1000", "2000"]
        async with peer_of(httpx.MockTransport(unpaged)) as peer:
            assert await peer.pages("/subjects") == names[:2000]

    asyncio.run(check())


def test_a_dry_run_asks_and_writes_nothing() -> None:
    async def check() -> None:
        first, second = await filled(), InProcessRegistry()
        target = ours(second)
        async with peer_of(ours(first)) as peer, peer_of(target) as other:
            source = PeerSource(peer)
            survey = await Import(lambda: facts_of(source), PeerTarget(other, QUIET), QUIET).survey()
        assert survey.is_clear
        assert survey.counts[State.ABSENT] == 9  # six versions, a context, two configs
        assert not [each for each in target.log if not each.startswith("GET")]
        assert json.loads((await second.get("/subjects")).text) == []

    asyncio.run(check())


def test_a_running_registry_that_is_written_to_meanwhile_is_read_again() -> None:
    class Busy(Filter):
        """Is written to when its config is read, for the first time."""

        written = 0

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/config" and not self.written:
                self.written = 1
                await self.registry.register("item", '"bytes"')
            return await super().handle_async_request(request)

    async def check() -> None:
        first, storage, said = await filled(), MemoryStorage(), Said()
        await first.put("/config/item", {"compatibility": "NONE"})
        busy = Busy(first, fields=frozenset(), plain_avro=False, by_id=True)
        await copied(busy, storage, progress=Progress(said), verify=True)
        assert "was written to meanwhile; reading it again" in said.text
        assert await all_answers(InProcessRegistry(storage)) == await all_answers(first)

    asyncio.run(check())
