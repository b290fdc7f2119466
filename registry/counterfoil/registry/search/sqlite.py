"""An index in a SQLite file beside the store's, or in memory.

Statements run in threads, so that the event loop goes on. The file is in WAL mode: it is read while it is written. A
commit does not wait for the disk (``synchronous=NORMAL``): what a power failure takes away is read from the journal
again, since the state is written with the rows that it is about.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.registry.judges.judging import give_way
from counterfoil.registry.search.dialects import FORMAT, REFUSAL_TABLES
from counterfoil.registry.search.protocol import IndexUnusable
from counterfoil.registry.search.sqlite_dialect import SqliteDialect
from counterfoil.registry.search.texts import words_of_doc
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

_T = TypeVar("_T")

APPLICATION_ID: Final = 0x43464C53
"""Marks a file as an index of this project (SQLite's ``application_id``)."""

ENDING: Final = ".search"
"""What the name of an index has after that of its store."""

_READERS: Final = 2
_CACHE_KIB: Final = 4096
_STATEMENT_S: Final = 5.0
_STEPS: Final = 20_000
"""The steps of SQLite's machine between two looks at the clock."""

_BUSY_MS: Final = 200
_STATE: Final = "CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 1), document TEXT NOT NULL)"
_REFUSALS: Final = "; ".join(SqliteDialect(has_parts=False).refusal_tables)
_PASSING: Final = ("locked", "busy", "full", "I/O")
"""Parts of the messages about a state that passes, in which the file is as good as before."""

_FILES: Final = ("", "-wal", "-shm", "-journal")


@lru_cache(maxsize=1024)
def _translated(statement: str) -> str:
    """Return a statement with SQLite's own signs for arguments.

    >>> _translated("a = $1 AND json_extract(b, '$[0]') = $12")
    "a = ?1 AND json_extract(b, '$[0]') = ?12"
    """
    return re.sub(r"\$(\d+)", r"?\1", statement)


def has_trigrams() -> bool:
    """Return whether this Python's SQLite finds parts of names: FTS5 with trigrams, from 3.34 on."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5 (a, tokenize='trigram', content='', detail=none)")
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True


class _Connection:
    """One connection with a thread of its own, in which its statements run one after the other.

    So a statement whose task was cancelled has ended before the transaction is undone, or the connection closed.
    """

    def __init__(self, path: Path | None) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="counterfoil-search")
        self._path = path
        self._ends_s = float("inf")
        self.raw: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Open the connection; raise ``IndexUnusable`` if that is not possible."""
        try:
            self.raw = await asyncio.get_running_loop().run_in_executor(self._thread, _connect, self._path)
        except (sqlite3.Error, OSError) as error:
            raise IndexUnusable(str(error)) from error
        self.raw.set_progress_handler(self._is_late, _STEPS)

    async def close(self) -> None:
        """Close the connection, after its running statement."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        if self.raw is not None:
            with suppress(sqlite3.Error):
                self.raw.close()

    def _is_late(self) -> bool:
        return time.monotonic() > self._ends_s

    async def run(self, work: Callable[[sqlite3.Connection], _T], *, limit_s: float = _STATEMENT_S) -> _T:
        """Return the result of ``work``; raise ``IndexUnusable``, or ``StoreTimeout`` after a while."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(self._run, work, limit_s))

    def _run(self, work: Callable[[sqlite3.Connection], _T], limit_s: float) -> _T:
        self._ends_s = time.monotonic() + limit_s
        if self.raw is None:
            raise IndexUnusable("the index is not open")
        try:
            return work(self.raw)
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise StoreTimeout(f"The search index did not answer within {limit_s:g} s; search for more") from None
            if any(sign in str(error) for sign in _PASSING):
                raise StoreUnavailable(f"The file of the search index cannot be used now: {error}") from error
            raise IndexUnusable(str(error)) from error
        except sqlite3.Error as error:
            raise IndexUnusable(str(error)) from error

    # --- a transaction's statements

    async def rows(self, statement: str, *arguments: object) -> Sequence[Any]:
        """Return the rows of a statement."""
        return await self.run(lambda raw: raw.execute(_translated(statement), arguments).fetchall())

    async def rows_of_all(self, statements: Sequence[tuple[str, tuple[object, ...]]]) -> list[Sequence[Any]]:
        """Return the rows of several statements, in one turn of a thread."""
        return await self.run(
            lambda raw: [raw.execute(_translated(statement), given).fetchall() for statement, given in statements]
        )

    async def each(self, statement: str, arguments: Sequence[Sequence[object]]) -> None:
        """Carry out a statement once for each row of arguments."""
        if arguments:
            await self.run(lambda raw: raw.executemany(_translated(statement), arguments), limit_s=float("inf"))

    async def each_of_all(self, work: Sequence[tuple[str, Sequence[Sequence[object]]]]) -> None:
        """Carry out several statements, each once for each row of its arguments, in one turn of a thread."""

        def done(raw: sqlite3.Connection) -> None:
            for statement, arguments in work:
                if arguments:
                    raw.executemany(_translated(statement), arguments)

        await self.run(done, limit_s=float("inf"))

    async def script(self, statements: Sequence[str]) -> None:
        """Carry out statements without arguments, one after the other."""

        def work(raw: sqlite3.Connection) -> None:
            for statement in statements:
                raw.execute(statement)

        await self.run(work, limit_s=float("inf"))


class SqliteIndexDatabase:
    """An index in the file ``path``, which is made when it is missing; None is memory.

    ``has_parts`` is whether full-text tables are used; by default if SQLite has them.
    """

    def __init__(self, path: Path | None, *, has_parts: bool | None = None) -> None:
        self._path = path
        self.dialect = SqliteDialect(has_parts=has_trigrams() if has_parts is None else has_parts)
        self._writer: _Connection | None = None
        self._readers: asyncio.Queue[_Connection] = asyncio.Queue()
        self._all: list[_Connection] = []
        self._lock = asyncio.Lock()

    async def prepare(self) -> None:
        """Make what every index has; remove an index of another format, and a file that is none."""
        if self._writer is not None:
            return
        try:
            await self._open()
        except IndexUnusable:
            await self.remove()
            await self._open()

    async def _open(self) -> None:
        try:
            writer = await self._connected()
            await writer.run(_prepare)
            if self._path is not None:
                await writer.run(lambda _: give_way())  # nobody waits for what it writes
            if self._path is None:
                self._readers.put_nowait(writer)
            else:
                for _ in range(_READERS):
                    self._readers.put_nowait(await self._connected())
        except IndexUnusable:
            await self._disconnect()
            raise
        self._writer = writer

    async def _connected(self) -> _Connection:
        found = _Connection(self._path)
        self._all.append(found)
        await found.open()
        return found

    async def _disconnect(self) -> None:
        closing, self._all = self._all, []
        self._writer, self._readers = None, asyncio.Queue()
        for each in closing:
            await each.close()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[_Connection]:
        """Return a transaction that only reads; in memory, where there is one connection, single statements."""
        if self._writer is None:
            raise IndexUnusable("the index is not open")
        if self._path is None:
            yield self._writer
            return
        readers = self._readers
        connection = await readers.get()
        try:
            await connection.run(lambda raw: raw.execute("BEGIN"))
            try:
                yield connection
            finally:
                with suppress(IndexUnusable):
                    await connection.run(_roll_back)
        finally:
            readers.put_nowait(connection)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[_Connection | None]:
        """Return a transaction that writes; None while another process has one."""
        async with self._lock:
            writer = self._writer
            if writer is None:
                raise IndexUnusable("the index is not open")
            if not await writer.run(_begun):
                yield None
                return
            try:
                yield writer
                await writer.run(lambda raw: raw.execute("COMMIT"), limit_s=float("inf"))
            except BaseException:
                with suppress(IndexUnusable):
                    await asyncio.shield(writer.run(_roll_back))
                raise

    @property
    def is_shared(self) -> bool:
        """Whether it is a file."""
        return self._path is not None

    def noting(self) -> AbstractAsyncContextManager[_Connection | None]:
        """Return a transaction that writes refusals: a file has one writer at a time, whatever it writes."""
        return self.writing()

    async def remove(self) -> None:
        """Remove the file, or what is in memory."""
        await self._disconnect()
        if self._path is None:
            return
        for ending in _FILES:
            path = self._path.with_name(self._path.name + ending)
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise IndexUnusable(f"{path} cannot be removed: {error.strerror}") from error

    async def size_bytes(self) -> int:
        """Return the size of the index."""
        async with self.reading() as found:
            [(pages, free, size)] = await found.rows(
                "SELECT p.page_count, f.freelist_count, s.page_size "
                "FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s"
            )
        return int((pages - free) * size)

    async def close(self) -> None:
        """Close all connections."""
        await self._disconnect()


def _connect(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        with suppress(FileExistsError):  # its user alone may read it, as the store
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, mode=0o600))
    connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
    connection.create_function("unhexed", 1, bytes.fromhex, deterministic=True)
    connection.create_function("doc_words", 1, _doc_words, deterministic=True)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA mmap_size = 0")
    return connection


def _doc_words(text: str) -> str:
    """Return the words of a documentation text as a text for the full-text table."""
    return " ".join(words_of_doc(text))


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the table of the state in a new file; raise ``IndexUnusable`` for a file with another content.

    From an index of another format all is removed but the refusals.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID and (application, version) != (0, 0):
        raise IndexUnusable("it is no index of this project")
    if application and version != FORMAT:
        _drop_all_but_refusals(connection)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    connection.executescript(
        f"BEGIN IMMEDIATE; {_STATE}; {_REFUSALS}; PRAGMA application_id = {APPLICATION_ID}; "
        f"PRAGMA user_version = {FORMAT}; COMMIT;"
    )


def _drop_all_but_refusals(connection: sqlite3.Connection) -> None:
    """Remove the tables of an index: virtual ones first, which have tables of their own."""
    connection.execute("BEGIN IMMEDIATE")
    while rows := connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN (?, ?)"
        " ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC LIMIT 1",
        REFUSAL_TABLES,
    ).fetchall():
        connection.execute('DROP TABLE "{}"'.format(rows[0][0].replace('"', '""')))
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _begun(connection: sqlite3.Connection) -> bool:
    """Begin a transaction that writes; return False if another process has one."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise
    return True


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
