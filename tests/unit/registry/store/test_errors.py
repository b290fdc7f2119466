"""Whatever a database raises is answered as the store's failure; what that says of a write is right."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest

from counterfoil.registry.http.answers import error_answer
from counterfoil.registry.store.committing import GroupCommit, WriteLimits, WriteTurns
from counterfoil.registry.store.postgres.connections import (
    FOREIGN,
    LOST,
    NotConnected,
    is_server_verified,
    of_read,
    of_write,
    parse_address,
)
from counterfoil.registry.store.sqlite import reads as sqlite_errors
from counterfoil.registry.store.writes import StaleWrite, StoreNotUsable
from counterfoil.schema.errors import RegistryError, SchemaTooLarge, StoreTimeout, StoreUnavailable

UNCERTAIN = "may have been carried out"


def every_kind(root: type[BaseException]) -> list[type[BaseException]]:
    """A class and all that are derived from it."""
    return [root, *(kind for each in root.__subclasses__() for kind in every_kind(each))]


KINDS = sorted(
    {kind for root in (asyncpg.PostgresError, asyncpg.InterfaceError) for kind in every_kind(root)}
    | {kind for kind in every_kind(OSError) if kind.__module__ == "builtins"}
    | {asyncpg.InternalClientError},
    key=lambda kind: kind.__name__,
)


def made(kind: type[BaseException]) -> BaseException:
    return kind("it said this")


def is_a_store_failure(error: object) -> bool:
    return isinstance(error, (StoreUnavailable, StoreTimeout)) and error_answer(error).headers["retry-after"] == "1"


def test_whatever_postgres_raises_is_a_failure_of_the_store() -> None:
    assert len(KINDS) > 200
    for kind in KINDS:
        error = made(kind)
        assert isinstance(error, FOREIGN), kind
        read, write = of_read(error), of_write(error)
        assert is_a_store_failure(read) or isinstance(read, StaleWrite), (kind, read)
        assert is_a_store_failure(write) or isinstance(write, (StaleWrite, SchemaTooLarge)), (kind, write)
        never_begun = of_write(NotConnected(error))
        assert is_a_store_failure(never_begun), (kind, never_begun)
        assert UNCERTAIN not in str(never_begun)


def test_a_write_is_uncertain_where_its_answer_was_lost_alone() -> None:
    for kind in KINDS:
        told = of_write(made(kind))
        answered = issubclass(kind, asyncpg.PostgresError) and not issubclass(kind, LOST)
        assert (UNCERTAIN in str(told)) is not answered, (kind, told)
        assert UNCERTAIN not in str(of_read(made(kind)))


SQLITE_CODES = sorted(
    name
    for name in dir(sqlite3)
    if name.startswith(("SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_CORRUPT"))
    or name in {"SQLITE_FULL", "SQLITE_NOTADB", "SQLITE_LOCKED", "SQLITE_NOMEM", "SQLITE_PERM", "SQLITE_TOOBIG"}
)


@pytest.mark.parametrize("name", SQLITE_CODES)
def test_whatever_sqlite_raises_is_a_failure_of_the_store(name: str) -> None:
    error = sqlite3.OperationalError("it said this")
    error.sqlite_errorcode = getattr(sqlite3, name)
    told = sqlite_errors.at_run_time(error)
    assert is_a_store_failure(told)
    assert "see what it says" not in told.message
    assert isinstance(told, StoreTimeout) is name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    assert (UNCERTAIN in told.message) is name.endswith("FSYNC")


def test_what_cannot_be_read_is_no_fault_of_the_caller() -> None:
    @sqlite_errors.intact
    def read(error: Exception | None = None) -> str:
        if error is not None:
            raise error
        return "whole"

    assert read() == "whole"
    for error in (ValueError("x"), KeyError("x"), TypeError("x"), RegistryError("x", status=422, code=42201)):
        with pytest.raises(StoreUnavailable, match="damaged"):
            read(error)
    with pytest.raises(StoreTimeout, match="late"):
        read(StoreTimeout("late"))


# --- writes that wait -------------------------------------------------------------------------------------------------


def test_a_write_that_waits_too_long_is_dismissed_and_one_underway_is_uncertain() -> None:
    async def main() -> None:
        carried_out: list[Any] = []
        goes_on = asyncio.Event()

        async def transact(plans: list[Any]) -> list[Any]:
            await goes_on.wait()
            carried_out.extend(plans)
            return [None] * len(plans)

        group = GroupCommit(transact, announce=lambda *_: None, limits=WriteLimits(max_waiting=2, timeout_s=0.05))
        underway = asyncio.create_task(group.commit("underway"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(group.commit(name)) for name in ("one", "two")]
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="2 writes wait"):
            await group.commit("three")
        with pytest.raises(StoreTimeout, match=UNCERTAIN):
            await underway
        for each in waiting:
            with pytest.raises(StoreTimeout, match="it was not begun"):
                await each
        goes_on.set()
        assert await group.commit("afterwards") is None
        assert carried_out == ["underway", "afterwards"]
        await group.close()

    asyncio.run(main())


def test_a_turn_is_given_on_whatever_happens() -> None:
    async def main() -> None:

        async def caught_up() -> None:
            """Nobody else writes."""

        turns = WriteTurns(caught_up)
        failures: list[Exception] = [StaleWrite("x"), StoreUnavailable("y")]

        async def attempt() -> str:
            if failures:
                raise failures.pop(0)
            return "done"

        with pytest.raises(StoreUnavailable):
            await turns.take(attempt, written="s")
        failures.append(StaleWrite("x"))
        assert await turns.take(attempt, written="s") == "done"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("dsn", "environment", "is_verified"),
    [
        ("postgresql://db.example/r", {}, False),
        ("postgresql://u:p@db.example:5432/r?sslmode=verify-ca", {}, False),
        ("postgresql://db.example/r?sslmode=verify-full", {}, True),
        ("postgresql://db.example/r", {"PGSSLMODE": "verify-full"}, True),
        ("postgresql://db.example/r?sslmode=prefer", {"PGSSLMODE": "verify-full"}, False),
        ("postgresql://u@localhost:5432/r", {}, True),
        ("postgresql://[::1]:5432/r", {}, True),
        ("postgresql://127.0.0.1,db.example/r", {}, False),
        ("postgresql:///r?host=/var/run/postgresql", {}, True),
        ("postgresql://%2Fvar%2Frun/r", {}, True),
        ("postgresql:///r", {}, True),
        ("postgresql:///r", {"PGHOST": "db.example"}, False),
        ("postgresql:///r?host=db.example", {}, False),
    ],
)
def test_whether_postgres_is_certainly_the_server_that_is_meant(
    dsn: str, environment: dict[str, str], *, is_verified: bool
) -> None:
    assert is_server_verified(dsn, environment) is is_verified


@pytest.mark.parametrize("password", ["s3/cret", "s3?cret", "s3#cret", "s3@x/cret"])
def test_a_password_that_is_not_escaped_is_refused_and_not_shown(password: str) -> None:
    with pytest.raises(StoreNotUsable, match="write it as %40") as refused:
        parse_address(f"postgresql://me:{password}@db:5432/registry")
    assert "s3" not in str(refused.value)
    assert parse_address(f"postgresql://me:{quote(password, safe='')}@db:5432/registry").shown == (
        "postgresql://me@db:5432/registry"
    )
    assert parse_address("postgresql://db:5432/registry?user=me@tenant").shown == "postgresql://db:5432/registry"
