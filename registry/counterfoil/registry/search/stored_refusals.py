"""Refusals in the database of the search index, which all servers of a store share.

Adding one takes no time: it is in memory until a task has stored it. While the database cannot be written, as during a
step of the index in another process, the newest ones wait, and are shown by this server alone.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.inspection.refusals import KEPT_MS, MAX_REFUSALS, KeptRefusal, RefusalMemory, RefusalRecords
from counterfoil.registry.logs import LOGGER
from counterfoil.registry.search.dialects import REFUSAL_TABLES
from counterfoil.registry.search.protocol import IndexUnusable
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable
from counterfoil.schema.rest.inspection import ReferenceName
from counterfoil.schema.rest.search_index import RefusalRow

if TYPE_CHECKING:
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexDatabase, IndexTransaction
    from counterfoil.schema.contexts import QualifiedSubject

MAX_STORED_BYTES: Final = 256 * 1024 * 1024
"""The bytes of all stored refusals, of which the oldest ones make room."""

_WAITING_BYTES: Final = 4 * 1024 * 1024
_MOST_OF_REQUEST: Final = 20
_CLOSE_S: Final = 2.0
_RETRY_S: Final = 0.5
_MAX_RETRY_S: Final = 30.0
_KEY_BYTES: Final = 16
_FAILURES: Final = (IndexUnusable, StoreTimeout, StoreUnavailable)


def refusal_records(index: SearchIndex | None, now_ms: Callable[[], int]) -> RefusalRecords:
    """Return where refusals are kept: in the database of the index, in memory where there is none that is shared."""
    if index is None or not index.database.is_shared:
        return RefusalMemory(now_ms)
    return StoredRefusals(index.database, now_ms)


class StoredRefusals:
    """Refusals in a database; ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        database: IndexDatabase,
        now_ms: Callable[[], int],
        *,
        most: int = MAX_REFUSALS,
        max_bytes: int = MAX_STORED_BYTES,
    ) -> None:
        self._database = database
        self._now_ms = now_ms
        self._most = most
        self._max_bytes = max_bytes
        self._waiting = RefusalMemory(now_ms, max_bytes=_WAITING_BYTES)
        self._being_stored: list[KeptRefusal] = []
        self._storing: asyncio.Task[None] | None = None
        self._problem = ""

    # --- writing

    async def add(self, refusal: KeptRefusal) -> None:
        """Keep a refusal in memory, and have it stored soon."""
        await self._waiting.add(refusal)
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_all())

    async def close(self) -> None:
        """Wait a while until all are stored."""
        if self._storing is not None:
            with suppress(TimeoutError, asyncio.CancelledError):
                await asyncio.wait_for(self._storing, _CLOSE_S)

    async def _store_all(self) -> None:
        pause_s = _RETRY_S
        while len(self._waiting):
            if await self._is_stored():
                pause_s = _RETRY_S
            else:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _MAX_RETRY_S)

    async def _is_stored(self) -> bool:
        """Store all that wait, and return whether that was possible."""
        self._being_stored = self._waiting.take()
        is_stored = False
        try:
            async with self._database.noting() as writing:
                if writing is None:
                    return False
                for each in self._being_stored:
                    await self._put(writing, each)
                await self._remove_old(writing)
            is_stored, self._problem = True, ""
        except _FAILURES as error:
            self._tell(error)
        except Exception:  # noqa: BLE001 - it is tried again, and nothing else depends on it
            LOGGER.exception("refusals cannot be stored; it is tried again")
        finally:
            if not is_stored:
                for each in [*self._being_stored, *self._waiting.take()]:
                    await self._waiting.add(each)
            self._being_stored = []
        return is_stored

    def _tell(self, error: Exception) -> None:
        """Log why refusals cannot be stored or read, once until they can."""
        if not self._problem:
            LOGGER.warning("refusals cannot be stored or read now", extra={"cause": str(error)})
        self._problem = str(error) or type(error).__name__

    async def _put(self, writing: IndexTransaction, refusal: KeptRefusal) -> None:
        table, requests = self._tables
        known = await writing.rows(f"SELECT facts, body FROM {table} WHERE digest = $1", refusal.digest)
        kept = _read(*known[0]).again(refusal) if known else refusal
        facts, body = _facts(kept), _body(kept)
        await writing.rows(
            f"INSERT INTO {table} (digest, last, subject, size, facts, body) VALUES ($1, $2, $3, $4, $5, $6) "
            "ON CONFLICT (digest) DO UPDATE SET last = excluded.last, size = excluded.size, facts = excluded.facts, "
            "body = excluded.body",
            *(kept.digest, kept.row.last, _key(kept.row.subject), len(facts) + len(body), facts, body),
        )
        await writing.each(f"DELETE FROM {requests} WHERE digest = $1", [(kept.digest,)])
        keys = [(_key(each), kept.digest) for each in kept.request_ids]
        await writing.each(f"INSERT INTO {requests} (request, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING", keys)

    async def _remove_old(self, writing: IndexTransaction) -> None:
        """Remove what is too old, and the oldest ones of too many."""
        table, requests = self._tables
        old = await writing.rows(
            "SELECT digest FROM (SELECT digest, last, "
            "row_number() OVER newest AS number, sum(size) OVER newest AS total "
            f"FROM {table} WINDOW newest AS (ORDER BY last DESC, digest DESC)) ranked "
            "WHERE number > $1 OR total > $2 OR last < $3",
            *(self._most, self._max_bytes, self._now_ms() - KEPT_MS),
        )
        digests = [(digest,) for (digest,) in old]
        await writing.each(f"DELETE FROM {requests} WHERE digest = $1", digests)
        await writing.each(f"DELETE FROM {table} WHERE digest = $1", digests)

    # --- reading

    async def find(self, request_id: str) -> Sequence[KeptRefusal]:
        """Return the refusals of requests with an id, the newest first."""
        unstored = self._unstored()
        named = [each for each in unstored if request_id in each.request_ids]
        table, requests = self._tables
        stored = await self._rows(
            f"SELECT facts, body FROM {table} WHERE last >= $1 AND (digest IN (SELECT digest FROM {requests} WHERE "
            f"request = $2) OR {self._among('$3')}) ORDER BY last DESC, digest DESC LIMIT $4",
            self._now_ms() - KEPT_MS,
            _key(request_id),
            self._digests(named),
            _MOST_OF_REQUEST,
        )
        wanted = {each.digest for each in (*named, *stored)}
        return _joined(stored, [each for each in unstored if each.digest in wanted])

    async def newest(self, before: str, limit: int, subject: QualifiedSubject | None) -> Sequence[KeptRefusal]:
        """Return refusals before a place, the newest first, without what was sent if they are stored."""
        waiting = self._unstored()
        table, _ = self._tables
        last, _, digest = before.partition("-")
        of_subject = "" if subject is None else "AND subject = $5"
        given = [] if subject is None else [_key(str(subject))]
        rows = await self._rows(
            f"SELECT facts FROM {table} WHERE last >= $1 AND (last, digest) < ($2, $3) {of_subject} "
            "ORDER BY last DESC, digest DESC LIMIT $4",
            self._now_ms() - KEPT_MS,
            int(last) if before else 2**62,
            digest,
            limit + len(waiting),
            *given,
        )
        known = await self._rows(f"SELECT facts FROM {table} WHERE {self._among('$1')}", self._digests(waiting))
        digests = {each.digest for each in waiting}
        found = [
            *(each for each in rows if each.digest not in digests),
            *(each for each in _joined(known, waiting) if _is_wanted(each, before, subject)),
        ]
        return sorted(found, key=lambda each: each.place, reverse=True)[:limit]

    def _unstored(self) -> list[KeptRefusal]:
        return [*self._being_stored, *self._waiting.known()]

    async def _rows(self, statement: str, *arguments: object) -> list[KeptRefusal]:
        """Return stored refusals; none while they cannot be read."""
        try:
            async with self._database.reading() as found:
                return [_read(*row) for row in await found.rows(statement, *arguments)]
        except IndexUnusable:
            return []  # nothing was stored yet, or the index is being made
        except (StoreTimeout, StoreUnavailable) as error:
            self._tell(error)
            return []

    @property
    def _tables(self) -> tuple[str, str]:
        refusals, requests = (f"{self._database.dialect.schema}{name}" for name in REFUSAL_TABLES)
        return refusals, requests

    def _among(self, argument: str) -> str:
        return self._database.dialect.among("digest", argument)

    def _digests(self, refusals: Iterable[KeptRefusal]) -> object:
        return self._database.dialect.texts([each.digest for each in refusals])


def _is_wanted(refusal: KeptRefusal, before: str, subject: QualifiedSubject | None) -> bool:
    return (not before or refusal.place < before) and (subject is None or str(subject) == refusal.row.subject)


def _joined(stored: Iterable[KeptRefusal], waiting: Iterable[KeptRefusal]) -> list[KeptRefusal]:
    """Return refusals, the newest first; a stored one that is as new as one in memory has it already."""
    found = {each.digest: each for each in stored}
    for each in waiting:
        known = found.get(each.digest)
        if known is None:
            found[each.digest] = each
        elif known.row.last < each.row.last:
            found[each.digest] = known.again(each)
    return sorted(found.values(), key=lambda each: each.place, reverse=True)


# Refusals as they are stored: facts for lists, and a body. JSON of ASCII, since databases do not store every text.


def _key(text: str) -> str:
    """Return a key for a name of any length and characters."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).hexdigest()


def _facts(refusal: KeptRefusal) -> str:
    return json.dumps(
        {
            "row": asdict(refusal.row),
            "type": refusal.schema_type,
            "seq": refusal.seq,
            "references": [[each.name, each.subject, each.version] for each in refusal.references],
            "digest": refusal.digest,
            "requests": refusal.request_ids,
        }
    )


def _body(refusal: KeptRefusal) -> bytes:
    return zlib.compress(json.dumps([refusal.schema, refusal.messages]).encode())


def _read(facts: str, body: bytes | None = None) -> KeptRefusal:
    given: dict[str, Any] = json.loads(facts)
    schema, messages = ("", []) if body is None else json.loads(zlib.decompress(body))
    return KeptRefusal(
        RefusalRow(**given["row"]),
        given["type"],
        schema,
        given["seq"],
        tuple(ReferenceName(*each) for each in given["references"]),
        tuple(messages),
        given["digest"],
        tuple(given["requests"]),
    )
