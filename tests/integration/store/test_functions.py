"""PostgreSQL's functions of several versions, side by side in one database: each server calls its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.postgres.connections import Functions, own_functions, parse_address
from counterfoil.registry.store.postgres.storage import PostgresStorage, prepare
from counterfoil.registry.store.protocol import FORMAT
from counterfoil.registry.store.upgrading import upgrade, upgrade_sql
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import StoreUnavailable
from strategies.registry.write_plans import SOFT, append, delete

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import PostgresClient

ORDERS = parse_subject("orders")
OLD_TIME = 42


def source() -> str:
    from importlib import resources

    return resources.files("counterfoil.registry.store.postgres").joinpath("commit.sql").read_text("utf-8")


def other_functions(time: int = OLD_TIME) -> Functions:
    """Functions of another version, whose registrations all have the same time."""
    text = source()
    assert "(effect ->> 'ts')::bigint, noted.ts)" in text
    return Functions(text.replace("(effect ->> 'ts')::bigint, noted.ts)", f"{time}::bigint, noted.ts)"))


async def appended_at(storage: PostgresStorage, subject: str, text: str) -> tuple[int, int]:
    """Append a version, and return its number and time."""
    appended = await append(storage, parse_subject(subject), text)
    [use] = await storage.uses(".", appended.schema_id)
    return appended.version, use.ts


@pytest.fixture
def run(postgres_url: str) -> Callable[..., Any]:
    """Run a coroutine function with a storage for each set of functions, all on one database."""

    def run_with(story: Callable[..., Any], *versions: Functions) -> Any:
        async def main() -> Any:
            address = parse_address(postgres_url)
            storages = []
            for functions in versions:
                await prepare(address, functions)
                storages.append(PostgresStorage(address, functions=functions))
            try:
                return await story(*storages)
            finally:
                for storage in storages:
                    await storage.close()

        return asyncio.run(main())

    return run_with


@pytest.fixture
def change(postgres: PostgresClient, postgres_url: str) -> Callable[..., list[Any]]:
    """Run statements by hand; the rows of the query that comes after them."""

    def run_by_hand(statements: str, query: str = "SELECT 1") -> list[Any]:
        with ThreadPoolExecutor(1) as thread:  # whoever calls may have an event loop of its own
            database = postgres_url.rpartition("/")[2]
            return thread.submit(postgres.run, f"{statements};;{query}", database=database).result()

    return run_by_hand


@pytest.fixture
def names(change: Callable[..., list[Any]]) -> Callable[[], list[str]]:
    """The names of all functions in the database."""
    query = "SELECT proname FROM pg_proc WHERE pronamespace = 'counterfoil'::regnamespace"
    return lambda: sorted(name for (name,) in change("SELECT 1", query))


def test_no_function_calls_one_without_its_version() -> None:
    functions = own_functions()
    plain = {name.rpartition("_")[0] for name in functions.names}
    assert {functions.named(name) for name in plain} == set(functions.names)
    assert other_functions().names != functions.names
    assert Functions(source()).names == functions.names
    code = "\n".join(line.partition("--")[0] for line in functions.creation.splitlines())
    for name in plain:
        assert f" {name}(" not in code
        assert f"({name}(" not in code


def test_servers_of_two_versions_work_side_by_side(run: Any, names: Any) -> None:
    """Each one's writes are carried out by its own functions, whichever server was started last."""

    async def story(old: PostgresStorage, new: PostgresStorage) -> None:
        assert names() == sorted([*own_functions().names, *other_functions().names])
        for turn in range(4):
            assert await appended_at(old, "old", f"old {turn}") == (turn + 1, OLD_TIME)
            version, ts = await appended_at(new, "new", f"new {turn}")
            assert version == turn + 1
            assert ts > OLD_TIME
        await prepare(parse_address(old._address.dsn), other_functions())  # the old version is started once more
        assert (await appended_at(new, "new", "again"))[1] > OLD_TIME
        assert await new.last_change() == 9

    run(story, other_functions(), own_functions())


def test_servers_that_start_at_once_make_their_functions_once(postgres_url: str, names: Any) -> None:
    address = parse_address(postgres_url)

    async def main() -> None:
        versions = [own_functions(), other_functions()] * 4
        await asyncio.gather(*(prepare(address, functions) for functions in versions))

    asyncio.run(main())
    assert names() == sorted([*own_functions().names, *other_functions().names])


def test_functions_without_a_version_stay_until_the_upgrade(
    run: Any, names: Any, change: Any, postgres_url: str
) -> None:
    """As those of versions that had no digest in their names, and whose servers still run."""

    async def nothing(_: PostgresStorage) -> None:
        pass

    run(nothing, own_functions())
    change("CREATE FUNCTION counterfoil.commit(plans jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT plans'")
    run(nothing, own_functions())
    assert names() == sorted([*own_functions().names, "commit"])
    assert upgrade(postgres_url).sentence.endswith(
        f"has format {FORMAT} already; removed 1 database function of other versions"
    )
    assert names() == own_functions().names
    assert upgrade(postgres_url).sentence.endswith(f"has format {FORMAT} already")


def test_the_statements_of_an_upgrade_remove_functions_too(
    run: Any, names: Any, change: Any, postgres_url: str
) -> None:
    async def nothing(*_: PostgresStorage) -> None:
        pass

    run(nothing, other_functions())
    change(upgrade_sql(postgres_url, FORMAT))
    assert names() == own_functions().names


def test_an_upgrade_before_the_last_old_server_has_ended_fails_no_write(
    run: Any, names: Any, postgres_url: str
) -> None:
    """Its functions are removed under its writes, again and again: it makes them anew, and goes on."""

    async def story(old: PostgresStorage, new: PostgresStorage) -> None:
        written = 0
        writes: asyncio.Queue[int] = asyncio.Queue()
        is_over = asyncio.Event()

        async def write(storage: PostgresStorage, subject: str) -> None:
            nonlocal written
            number = 0
            while not is_over.is_set():
                number += 1
                await append(storage, parse_subject(subject), f"{subject} {number}")
                written += 1
                writes.put_nowait(number)

        async def remove() -> None:
            for _ in range(5):
                await asyncio.to_thread(upgrade, postgres_url)
                while not writes.empty():
                    writes.get_nowait()
                async with asyncio.timeout(120):
                    for _ in range(20):
                        await writes.get()
            is_over.set()

        writers = [write(storage, f"s{number}") for number, storage in enumerate([old, new] * 4)]
        await asyncio.gather(remove(), *writers)
        assert await new.last_change() == written
        assert names() == sorted([*own_functions().names, *other_functions().names])

    run(story, other_functions(), own_functions())


def test_removed_functions_are_not_made_again_for_a_newer_format(run: Any, names: Any, change: Any) -> None:
    """They were not written for its tables."""

    async def story(old: PostgresStorage) -> None:
        await append(old, ORDERS)
        mark = f"INSERT INTO counterfoil.store_format VALUES ({FORMAT + 1})"
        change(mark)
        await append(old, ORDERS, "while its functions are there")
        change(own_functions().removal_of_others)
        with pytest.raises(StoreUnavailable, match="newer counterfoil"):
            await delete(old, SOFT, ORDERS, 1)
        assert names() == []

    run(story, other_functions())


def test_a_function_that_was_dropped_by_hand_is_made_again(run: Any, names: Any, change: Any) -> None:
    async def story(storage: PostgresStorage) -> None:
        await append(storage, ORDERS)
        change(f"DROP FUNCTION counterfoil.{own_functions().named('touch')}")
        await delete(storage, SOFT, ORDERS, 1)
        assert [entry.deleted for entry in (await storage.history(ORDERS)).entries] == [True]
        assert names() == own_functions().names

    run(story, own_functions())
