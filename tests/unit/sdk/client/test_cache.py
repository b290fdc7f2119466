"""What both clients remember, for how long, and that one slow call holds up nobody else."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from counterfoil.schema.errors import SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.model import Metadata, Schema
from counterfoil.sdk import AsyncRegistry, CacheSettings, Registry, RegistrySettings, RegistryUnavailable
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import Clock, NoReply, Reply

ONE, TWO, THREE = (Schema(f'{{"type":"enum","name":"E","symbols":["{symbol}"]}}') for symbol in "ABC")
DEADLINE_S = 120


class Blocking:
    """An ``AsyncRegistry`` whose calls block, so that one suite reads the same for both clients."""

    def __init__(self, registry, runner):
        self._registry = registry
        self._runner = runner

    def __getattr__(self, name):
        method = getattr(self._registry, name)

        def call(*args, **kwargs):
            found = method(*args, **kwargs)
            return self._runner.run(found) if asyncio.iscoroutine(found) else found

        return call


@pytest.fixture(params=["sync", "async"])
def world(request):
    """A client on an in-memory registry with a clock of its own; ``calls()`` counts what was asked since last time."""
    memory = InMemoryRegistry()
    found = SimpleNamespace(memory=memory, now_s=0.0)
    settings = RegistrySettings.of("http://memory", retries=0)
    clock = Clock(monotonic=lambda: found.now_s)

    def calls():
        count = len(memory.requests)
        memory.requests.clear()
        return count

    def client(**cache):
        own = replace(settings, cache=CacheSettings(**cache))
        if request.param == "sync":
            return Registry(own, transport=memory, clock=clock)
        return Blocking(AsyncRegistry(own, transport=memory, clock=clock), runner)

    found.calls, found.client = calls, client
    with asyncio.Runner() as runner:
        yield found


def test_a_registration_is_made_once(world):
    registry = world.client()
    first = registry.register("s", ONE)
    assert registry.register("s", ONE) is first
    assert registry.lookup("s", ONE) is first
    assert world.calls() == 1


def test_a_registration_with_other_content_metadata_or_flag_is_another(world):
    registry = world.client()
    registry.set_config("s", "NONE")
    world.calls()
    for schema in (ONE, TWO, replace(ONE, metadata=Metadata(properties={"a": "b"}))):
        registry.register("s", schema)
        registry.register("s", schema)
    registry.register("s", ONE, normalize=True)
    registry.register("t", ONE)
    assert world.calls() == 5


def test_an_id_is_requested_once(world):
    registry = world.client()
    registry.register("s", ONE)
    world.calls()
    assert {registry.schema_by_id(1) for _ in range(3)} == {ONE}
    assert world.calls() == 1


def test_an_id_means_something_else_in_another_context(world):
    registry = world.client()
    registry.register("s", ONE)
    registry.register(":.c:s", TWO)
    assert registry.schema_by_id(1) == ONE
    assert registry.schema_by_id(1, subject=":.c:") == TWO
    assert registry.schema_by_id(1) == ONE


def test_a_guid_is_requested_once(world):
    registry = world.client()
    guid = registry.register("s", ONE).guid
    world.calls()
    assert registry.schema_by_guid(guid) == registry.schema_by_guid(str(guid)) == ONE
    assert world.calls() == 1


def test_what_was_not_used_for_longest_is_forgotten_first(world):
    registry = world.client(capacity=2)
    registry.set_config(None, "NONE")
    for schema in (ONE, TWO, THREE):
        registry.register("s", schema)
    registry.clear_cache()
    world.calls()
    registry.schema_by_id(1)
    registry.schema_by_id(2)
    registry.schema_by_id(1)  # now 2 is the least recently used
    registry.schema_by_id(3)
    assert world.calls() == 3
    registry.schema_by_id(1)
    assert world.calls() == 0
    registry.schema_by_id(2)
    assert world.calls() == 1


def test_the_latest_version_is_remembered_for_a_while(world):
    registry, other = world.client(latest_ttl_s=60), world.client()
    registry.set_config(None, "NONE")
    other.register("s", ONE)
    assert registry.version("s").version == 1
    other.register("s", TWO)
    world.now_s += 59.9
    assert registry.version("s").version == 1
    world.now_s += 0.1
    assert registry.version("s", "latest").version == 2


def test_a_latest_that_is_never_remembered(world):
    registry = world.client(latest_ttl_s=0)
    registry.register("s", ONE)
    world.calls()
    registry.version("s")
    registry.version("s")
    assert world.calls() == 2


def test_ones_own_registration_is_seen_at_once(world):
    registry = world.client()
    registry.set_config(None, "NONE")
    registry.register("s", ONE)
    assert registry.version("s").version == 1
    registry.register("s", TWO)
    assert registry.version("s").version == 2


def test_a_metadata_search_is_remembered_as_latest_is(world):
    registry, other = world.client(), world.client()
    other.register("s", replace(ONE, metadata=Metadata(properties={"k": "v"})))
    assert registry.version_with_metadata("s", {"k": "v"}).version == 1
    other.register("s", replace(ONE, metadata=Metadata(properties={"k": "v", "n": "2"})))
    assert registry.version_with_metadata("s", {"k": "v"}).version == 1
    world.now_s += 60
    assert registry.version_with_metadata("s", {"k": "v"}).version == 2


def test_a_numbered_version_is_not_remembered(world):
    registry = world.client()
    registry.register("s", ONE)
    world.calls()
    registry.version("s", 1)
    registry.version("s", 1)
    assert world.calls() == 2


def test_an_unknown_id_is_remembered_for_a_moment(world):
    registry, other = world.client(missing_ttl_s=5), world.client()
    messages = set()
    for _ in range(3):
        with pytest.raises(SchemaNotFound) as caught:
            registry.schema_by_id(1)
        messages.add((caught.value.message, caught.value.code, caught.value.status))
    assert world.calls() == 1
    assert messages == {("Schema 1 not found", 40403, 404)}
    other.register("s", ONE)
    with pytest.raises(SchemaNotFound):
        registry.schema_by_id(1)
    world.now_s += 5
    assert registry.schema_by_id(1) == ONE


def test_ones_own_registration_makes_an_unknown_id_known(world):
    registry = world.client()
    with pytest.raises(SchemaNotFound):
        registry.schema_by_id(1)
    registry.register("s", ONE)
    assert registry.schema_by_id(1) == ONE


def test_other_failures_are_not_remembered(world):
    registry = world.client()
    with pytest.raises(SubjectNotFound):
        registry.lookup("s", ONE)
    registry.register("s", ONE)
    world.memory.answer_next(NoReply("gone"), Reply(500, {}, b"{}"))
    for _ in range(2):
        with pytest.raises(RegistryUnavailable):
            registry.schema_by_id(1)
    assert registry.schema_by_id(1) == ONE


@pytest.mark.parametrize("outcome", [None, NoReply("the reply was lost")])
def test_a_deletion_forgets_the_subject_whatever_came_back(world, outcome):
    registry = world.client()
    registry.register("s", ONE)
    registry.register("t", ONE)
    registry.version("s")
    registry.version("t")
    if outcome is None:
        registry.delete_version("s", 1)
    else:
        world.memory.answer_next(outcome)
        with pytest.raises(RegistryUnavailable):
            registry.delete_version("s", 1)
        registry.delete_subject("s")
    world.calls()
    with pytest.raises((SubjectNotFound, VersionNotFound)):
        registry.version("s")
    assert registry.register("s", ONE).version == 2
    assert world.calls() == 2
    registry.version("t")
    registry.register("t", ONE)
    assert world.calls() == 0


def test_clearing_the_cache_forgets_everything(world):
    registry = world.client()
    registry.register("s", ONE)
    registry.schema_by_id(1)
    registry.version("s")
    world.calls()
    registry.clear_cache()
    registry.register("s", ONE)
    registry.schema_by_id(1)
    registry.version("s")
    assert world.calls() == 3


# --- one call at a time for each key, in threads -------------------------------------------------------------------


class Gated:
    """A transport that holds back every request for id 1 until the gate opens."""

    def __init__(self, memory):
        self.gate = threading.Event()
        self.arrived = threading.Semaphore(0)
        self._memory = memory

    def send(self, request):
        if request.url.endswith("/schemas/ids/1"):
            self.arrived.release()
            if not self.gate.wait(DEADLINE_S):
                raise NoReply("the test forgot the gate")
        return self._memory.send(request)

    def close(self):
        pass


@pytest.fixture
def filled():
    memory = InMemoryRegistry()
    registry = memory.client()
    registry.set_config(None, "NONE")
    registry.register("s", ONE)
    registry.register("s", TWO)
    memory.requests.clear()
    return memory


def test_threads_that_want_the_same_share_one_call(filled):
    gated = Gated(filled)
    registry = Registry("http://memory", transport=gated)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(registry.schema_by_id, 1) for _ in range(8)]
        assert gated.arrived.acquire(timeout=DEADLINE_S)
        gated.gate.set()
        assert {future.result(DEADLINE_S) for future in waiting} == {ONE}
    assert len(filled.requests) == 1


def test_a_slow_call_does_not_hold_up_other_keys(filled):
    gated = Gated(filled)
    registry = Registry("http://memory", transport=gated)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(registry.schema_by_id, 1)
        assert gated.arrived.acquire(timeout=DEADLINE_S)
        assert pool.submit(registry.schema_by_id, 2).result(DEADLINE_S) == TWO
        assert pool.submit(registry.version, "s").result(DEADLINE_S).id == 2
        assert not slow.done()
        gated.gate.set()
        assert slow.result(DEADLINE_S) == ONE


def test_threads_that_share_a_call_share_its_failure(filled):
    gated = Gated(filled)
    registry = Registry("http://memory", transport=gated, retries=0)
    filled.answer_next(NoReply("gone"))
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(registry.schema_by_id, 1) for _ in range(4)]
        assert gated.arrived.acquire(timeout=DEADLINE_S)
        gated.gate.set()
        results = [future.exception(DEADLINE_S) or future.result() for future in waiting]
    # who came while the call was under way shares its failure; who came later made a call of their own
    assert any(isinstance(result, RegistryUnavailable) for result in results)
    assert all(isinstance(result, RegistryUnavailable) or result == ONE for result in results)
    assert registry.schema_by_id(1) == ONE


def test_an_interrupted_call_leaves_nobody_waiting(filled):
    class Interrupted(Gated):
        def send(self, request):
            super().send(request)
            if len(filled.requests) == 1:
                raise KeyboardInterrupt
            return self._memory.send(request)

    gated = Interrupted(filled)
    registry = Registry("http://memory", transport=gated)
    interrupted = []

    def leading():
        try:
            registry.schema_by_id(1)
        except KeyboardInterrupt:
            interrupted.append(True)

    leader = threading.Thread(target=leading)
    leader.start()
    assert gated.arrived.acquire(timeout=DEADLINE_S)
    with ThreadPoolExecutor(1) as pool:
        follower = pool.submit(registry.schema_by_id, 1)
        gated.gate.set()
        assert follower.result(DEADLINE_S) == ONE
    leader.join(DEADLINE_S)
    assert interrupted == [True]


def test_an_answer_that_was_forgotten_on_its_way_is_not_remembered(filled):
    gated = Gated(filled)
    registry = Registry("http://memory", transport=gated)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(registry.schema_by_id, 1)
        assert gated.arrived.acquire(timeout=DEADLINE_S)
        registry.clear_cache()
        gated.gate.set()
        assert slow.result(DEADLINE_S) == ONE
    registry.schema_by_id(1)
    assert len(filled.requests) == 2


def test_many_threads_with_many_keys_and_little_room_agree(filled):
    registry = Registry(
        replace(RegistrySettings.of("http://memory"), cache=CacheSettings(capacity=1)), transport=filled
    )
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(registry.schema_by_id, [1, 2] * 200))
    assert found == [ONE, TWO] * 200


# --- the same in tasks ---------------------------------------------------------------------------------------------


class AsyncGated:
    """As ``Gated``, for tasks."""

    def __init__(self, memory):
        self.gate = asyncio.Event()
        self.arrived = asyncio.Event()
        self._memory = memory

    async def asend(self, request):
        if request.url.endswith("/schemas/ids/1"):
            self.arrived.set()
            await self.gate.wait()
        return self._memory.send(request)

    async def aclose(self):
        pass


def in_loop(test, memory):
    """Run the coroutine function with a client and its gated transport, with a deadline."""

    async def whole():
        gated = AsyncGated(memory)
        async with asyncio.timeout(DEADLINE_S), AsyncRegistry("http://memory", transport=gated) as registry:
            await test(registry, gated)

    asyncio.run(whole())


def test_tasks_that_want_the_same_share_one_call(filled):
    async def test(registry, gated):
        waiting = [asyncio.create_task(registry.schema_by_id(1)) for _ in range(8)]
        await gated.arrived.wait()
        gated.gate.set()
        assert set(await asyncio.gather(*waiting)) == {ONE}
        assert len(filled.requests) == 1

    in_loop(test, filled)


def test_a_slow_call_does_not_hold_up_other_tasks(filled):
    async def test(registry, gated):
        slow = asyncio.create_task(registry.schema_by_id(1))
        await gated.arrived.wait()
        assert await registry.schema_by_id(2) == TWO
        assert not slow.done()
        gated.gate.set()
        assert await slow == ONE

    in_loop(test, filled)


def test_cancelling_the_caller_who_makes_the_call_leaves_nobody_waiting(filled):
    async def test(registry, gated):
        leader = asyncio.create_task(registry.schema_by_id(1))
        await gated.arrived.wait()
        follower = asyncio.create_task(registry.schema_by_id(1))
        await asyncio.sleep(0)  # lets the follower join
        leader.cancel()
        gated.gate.set()
        assert await follower == ONE
        assert leader.cancelled()

    in_loop(test, filled)


def test_cancelling_one_who_waits_cancels_nobody_else(filled):
    async def test(registry, gated):
        leader = asyncio.create_task(registry.schema_by_id(1))
        await gated.arrived.wait()
        followers = [asyncio.create_task(registry.schema_by_id(1)) for _ in range(2)]
        await asyncio.sleep(0)  # lets them join
        followers[0].cancel()
        gated.gate.set()
        assert (await leader, await followers[1]) == (ONE, ONE)
        assert len(filled.requests) == 1

    in_loop(test, filled)


def test_a_cache_is_bounded_by_the_characters_of_its_values():
    from counterfoil.sdk.client import cache

    kept: cache.Cache[str] = cache.Cache(1000, lambda: 0.0, size_of=len)
    for index in range(40):
        kept.put(index, "a" * 1024 * 1024)
    assert len(kept) == cache.MAX_CHARS // 1024**2
    kept.put("large", "a" * 2 * cache.MAX_CHARS)
    assert len(kept) == 1
    kept.forget()
    for index in range(3):
        kept.put(index, "a" * 1024)
        kept.put(index, "b")
    assert len(kept) == 3


def test_plans_are_bounded_by_the_characters_of_their_schemas():
    from counterfoil.sdk.serde.plans import MAX_CHARS, PlanTable

    table: PlanTable[tuple[str, int], int] = PlanTable()
    for index in range(100):
        assert table.resolve(("a" * 1024 * 1024, index), lambda index=index: index) == index
        assert sum(len(text) for text, _ in table.found) <= MAX_CHARS
    assert [index for _, index in table.found][-8:] == [*range(92, 100)]
    table.put(("a" * 2 * MAX_CHARS, 0), 0)
    assert len(table.found) == 1
