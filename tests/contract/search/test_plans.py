"""Each statement of a search finds its rows by an index: none reads a whole table, however small the result is."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import Rights, Visible
from counterfoil.registry.access.rules import allow, parse_pattern
from counterfoil.registry.search.following import Following
from counterfoil.registry.search.index import SearchIndex
from counterfoil.registry.search.questions import SearchExtent, SearchQuestion
from counterfoil.registry.search.searching import Searching
from counterfoil.schema.contexts import parse_subject
from strategies.search.indexed import indexed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from counterfoil.registry.search.protocol import IndexDatabase

QUERIES = ("email", "em", "e", "customer email", "tag:pii", "type:string", "doc:the", "prop:owner email", "lang:avro")
LARGE = ("words", "hits", "subjects", "fingerprints", "unreadable", "filled", "docs", "parts", "scopes")


IN_SQLITE = r"SCAN (?:TABLE )?(\w+)\b(?! VIRTUAL TABLE INDEX 0:M)"
IN_POSTGRES = r"Seq Scan on (\w+)"


class Recorded:
    """A transaction that keeps the statements that are carried out in it, with the arguments of the last time."""

    def __init__(self, transaction: Any, kept: dict[str, Sequence[Any]]) -> None:
        self._transaction = transaction
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)

    async def rows(self, statement: str, *arguments: Any) -> Any:
        self._kept[statement] = arguments
        return await self._transaction.rows(statement, *arguments)

    async def rows_of_all(self, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> Any:
        self._kept.update(statements)
        return await self._transaction.rows_of_all(statements)

    async def each(self, statement: str, arguments: Sequence[Sequence[Any]]) -> None:
        self._kept.update((statement, each) for each in arguments)
        await self._transaction.each(statement, arguments)

    async def each_of_all(self, work: Sequence[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        self._kept.update((statement, each) for statement, rows in work for each in rows)
        await self._transaction.each_of_all(work)


class RecordingDatabase:
    """A database of an index that keeps the statements."""

    def __init__(self, database: IndexDatabase) -> None:
        self._database = database
        self.kept: dict[str, Sequence[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Any]:
        async with self._database.reading() as found:
            yield Recorded(found, self.kept)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Any]:
        async with self._database.writing() as found:
            yield None if found is None else Recorded(found, self.kept)


def record(name: str, doc: str) -> str:
    fields = [{"name": "email", "type": "string", "doc": doc, "confluent:tags": ["PII"]}]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def statements_of_searches(url: str) -> dict[str, Sequence[Any]]:
    """Return the statements of many searches, and of changes that are followed, with arguments."""
    rules = [allow("User:a", [AccessOperation.READ], parse_pattern("orders*"))]
    visible = Visible(Rights(rules, {"User:a"}), AccessOperation.READ)

    async def main() -> dict[str, Sequence[Any]]:
        async with indexed(url) as opened:
            database: Any = RecordingDatabase(opened.index.database)
            index = SearchIndex(database)
            await opened.follow()  # what follows are changes, and no first building
            following = Following(index, opened.storage, opened.cases.reader)
            for version in range(2):
                doc = f"The address, as typed in {version}."
                metadata = {"properties": {"owner": f"team-{version}"}}
                for subject in ("orders", "rides"):
                    await opened.register(subject, record("Customer", doc), metadata=metadata)
                await following.until_current()
            await opened.registry.delete("/subjects/rides")
            await opened.registry.delete("/subjects/rides?permanent=true")
            await following.until_current()
            for few in (0, 500):
                searching = Searching(opened.storage, index, few_subjects=few)
                for who in (None, visible):
                    for within in SearchExtent:
                        for query in (*QUERIES, "emial", "0" * 64):
                            page = await searching.search(SearchQuestion(query, within=within, limit=1), visible=who)
                            if page.next:
                                question = SearchQuestion(query, within=within, limit=1, after=page.next)
                                await searching.search(question, visible=who)
                    await searching.namesakes(parse_subject("others"), "email", visible=who)
            kept: dict[str, Sequence[Any]] = database.kept
            return kept

    return asyncio.run(main())


def tables_read_whole(plan: str, pattern: str) -> list[str]:
    """Return the tables of an index that a plan reads from their beginning to their end."""
    return [name for name in re.findall(pattern, plan) if name.rstrip("0123456789").rstrip("_") in LARGE]


def check(plans: dict[str, str], pattern: str) -> None:
    assert len(plans) > 20
    found = {statement: plan for statement, plan in plans.items() if tables_read_whole(plan, pattern)}
    assert set(found) <= {statement for statement in plans if is_small(statement)}, "\n\n".join(found.values())


def is_small(statement: str) -> bool:
    """Return whether a statement reads the list of what cannot be read, which is to be short."""
    return "unreadable_" in statement


def test_sqlite(tmp_path: Any):
    url = f"sqlite:///{tmp_path}/registry.db"

    async def planned(statements: dict[str, Sequence[Any]]) -> dict[str, str]:
        async with indexed(url) as opened:
            await opened.index.database.prepare()
            async with opened.index.database.reading() as found:
                return {
                    statement: "\n".join(
                        row[3] for row in await found.rows(f"EXPLAIN QUERY PLAN {statement}", *arguments)
                    )
                    for statement, arguments in statements.items()
                }

    plans = asyncio.run(planned(statements_of_searches(url)))
    check(plans, IN_SQLITE)


def literal(value: Any) -> str:
    """Return a value as SQL."""
    if value is None or type(value) is int:
        return "NULL" if value is None else str(value)
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    if isinstance(value, list):
        kind = {int: "bigint", bytes: "bytea"}.get(type(value[0]), "text") if value else ""
        return f"ARRAY[{', '.join(map(literal, value))}]::{kind}[]" if value else "'{}'"
    return "'" + str(value).replace("'", "''") + "'"


def test_postgres(postgres_url: str):
    async def planned(statements: dict[str, Sequence[Any]]) -> dict[str, str]:
        connection = await asyncpg.connect(postgres_url)
        try:
            await connection.execute("SET enable_seqscan = off")  # else it reads small tables as a whole
            plans = {}
            for statement, arguments in statements.items():
                await connection.execute(f"PREPARE asked AS {statement}")
                given = f"({', '.join(map(literal, arguments))})" if arguments else ""
                plan = await connection.fetch(f"EXPLAIN EXECUTE asked{given}")
                plans[statement] = "\n".join(row[0] for row in plan)
                await connection.execute("DEALLOCATE asked")
            return plans
        finally:
            await connection.close()

    plans = asyncio.run(planned(statements_of_searches(postgres_url)))
    check(plans, IN_POSTGRES)


def test_a_plan_that_reads_a_whole_table_is_noticed():
    assert tables_read_whole("SCAN hits_123", IN_SQLITE) == ["hits_123"]
    assert tables_read_whole("SCAN parts_123 VIRTUAL TABLE INDEX 0:", IN_SQLITE) == ["parts_123"]
    assert tables_read_whole("SCAN parts_123 VIRTUAL TABLE INDEX 0:M1\nSEARCH hits_1 USING PRIMARY", IN_SQLITE) == []
    assert tables_read_whole("->  Seq Scan on words_5 w  (cost=0.00)", IN_POSTGRES) == ["words_5"]
