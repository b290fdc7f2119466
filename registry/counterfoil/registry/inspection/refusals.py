"""Refused registrations: what was sent, and why it was refused. They are kept beside the store, and never in the way.

A refusal that cannot be kept is not kept, and the answer to the registration is the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Protocol

from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Requester
from counterfoil.registry.subjects.compatibility import RefusedVersion
from counterfoil.registry.subjects.levels import Scopes
from counterfoil.registry.subjects.versions import SchemaRequest
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, IncompatibleSchema, InvalidSchema, NotFound, RegistryError
from counterfoil.schema.rest.inspection import ReferenceName
from counterfoil.schema.rest.search_index import RefusalRow, RefusalRows, RefusedText

MAX_ROWS: Final = 100
MAX_COUNTED: Final = 1_000
MAX_REFUSALS: Final = 10_000
"""The largest number of refusals that are kept."""

KEPT_MS: Final = 30 * 24 * 3600 * 1000
"""The time for which they are kept, in milliseconds."""

_MAX_TEXT_BYTES: Final = 256 * 1024
"""The largest text of which all is kept; of a larger one, its beginning and its hash."""

_HEAD_CHARS: Final = 4 * 1024
_MAX_MESSAGES: Final = 100
_MAX_MESSAGE_CHARS: Final = 2_000
_MAX_REQUEST_IDS: Final = 20
_MAX_REFERENCES: Final = 200
_MEMORY_BYTES: Final = 16 * 1024 * 1024
_ENTRY_BYTES: Final = 1_000
_LOGGER: Final = logging.getLogger("counterfoil.registry")


@dataclass(frozen=True, slots=True)
class KeptRefusal:
    """A refusal as it is kept; ``digest`` is equal for a text that is refused again under its subject, for one error.

    ``request_ids`` are those of the requests that were refused, the newest first; ``seq`` is the number of the last
    change at the first of them. ``references`` have subjects with their contexts.
    """

    row: RefusalRow
    schema_type: str
    schema: str
    seq: int
    references: tuple[ReferenceName, ...] = ()
    messages: tuple[str, ...] = ()
    digest: str = ""
    request_ids: tuple[str, ...] = ()

    def again(self, other: KeptRefusal) -> KeptRefusal:
        """Return this refusal after the same text was refused again, with the messages of the newer of both."""
        newer, older = (other, self) if other.row.last >= self.row.last else (self, other)
        ids = tuple(dict.fromkeys([*newer.request_ids, *older.request_ids]))[:_MAX_REQUEST_IDS]
        first, count = min(newer.row.first, older.row.first), newer.row.count + older.row.count
        return replace(self, row=replace(newer.row, first=first, count=count), messages=newer.messages, request_ids=ids)

    @property
    def place(self) -> str:
        """Where it is in the list of all, the newest last: the time of the last request, and the digest."""
        return f"{self.row.last:015d}-{self.digest}"


class RefusalRecords(Protocol):
    """Where refusals are kept: the newest :data:`MAX_REFUSALS`, for :data:`KEPT_MS`."""

    async def add(self, refusal: KeptRefusal) -> None:
        """Keep a refusal; where one with its digest is kept, that one is counted again."""

    async def find(self, request_id: str) -> Sequence[KeptRefusal]:
        """Return the refusals of requests with an id, the newest first: clients choose ids, and may repeat one."""

    async def newest(self, before: str, limit: int, subject: QualifiedSubject | None) -> Sequence[KeptRefusal]:
        """Return at most ``limit`` refusals before a place, the newest first; of one subject if one is given.

        They may be without what was sent, and without messages, so that a list does not read large texts.
        """

    async def close(self) -> None:
        """Keep what was added, if that is possible soon."""


class RefusalMemory:
    """Refusals in memory, with so many bytes at most; ``now_ms`` is the clock (epoch ms)."""

    def __init__(self, now_ms: Callable[[], int], *, max_bytes: int = _MEMORY_BYTES) -> None:
        self._now_ms = now_ms
        self._max_bytes = max_bytes
        self._bytes = 0
        self._known: OrderedDict[str, KeptRefusal] = OrderedDict()

    async def add(self, refusal: KeptRefusal) -> None:
        """Keep a refusal, or count it again."""
        known = self._known.get(refusal.digest)
        if known is not None:
            self._drop(refusal.digest)
            refusal = known.again(refusal)
        newest = next(reversed(self._known.values()), None)
        if newest is not None and newest.row.last >= refusal.row.last:  # each has a place of its own in the order
            refusal = replace(refusal, row=replace(refusal.row, last=newest.row.last + 1))
        self._known[refusal.digest] = refusal
        self._bytes += _size_bytes(refusal)
        self._expire()
        while len(self._known) > MAX_REFUSALS or self._bytes > self._max_bytes:
            self._drop(next(iter(self._known)))

    async def find(self, request_id: str) -> Sequence[KeptRefusal]:
        """Return the refusals of requests with an id, the newest first."""
        self._expire()
        return [each for each in reversed(self._known.values()) if request_id in each.request_ids]

    async def newest(self, before: str, limit: int, subject: QualifiedSubject | None) -> Sequence[KeptRefusal]:
        """Return refusals before a place, the newest first."""
        self._expire()
        wanted = (
            each
            for each in reversed(self._known.values())
            if (subject is None or each.row.subject == str(subject)) and (not before or each.place < before)
        )
        return list(islice(wanted, limit))

    async def close(self) -> None:
        """Do nothing: what is in memory ends with it."""

    def __len__(self) -> int:
        return len(self._known)

    def known(self) -> list[KeptRefusal]:
        """Return all, the oldest first."""
        return list(self._known.values())

    def take(self) -> list[KeptRefusal]:
        """Remove all, and return them, the oldest first."""
        found = self.known()
        self._known.clear()
        self._bytes = 0
        return found

    def _expire(self) -> None:
        """Remove what is too old; the oldest stands first, since what is counted again moves to the end."""
        while self._known and next(iter(self._known.values())).row.last < self._now_ms() - KEPT_MS:
            self._drop(next(iter(self._known)))

    def _drop(self, digest: str) -> None:
        self._bytes -= _size_bytes(self._known.pop(digest))


class RefusalLog:
    """Keeps the refusals of registrations; with ``records`` None nothing is kept."""

    def __init__(self, storage: Storage, records: RefusalRecords | None, *, now_ms: Callable[[], int]) -> None:
        self._storage = storage
        self._records = records
        self._now_ms = now_ms

    async def note(
        self, subject: QualifiedSubject, request: SchemaRequest, error: RegistryError, *, by: Requester
    ) -> None:
        """Keep the refusal of a registration, if it is one and can be kept."""
        request_id = by.author.request_id
        if self._records is None or request_id is None or not isinstance(error, (IncompatibleSchema, InvalidSchema)):
            return
        try:
            await self._records.add(await self._refusal(subject, request, error, request_id, by=by))
        except Exception as failure:  # noqa: BLE001 - the answer to the registration is the same
            _LOGGER.warning("a refusal could not be kept", extra={"cause": f"{type(failure).__name__}: {failure}"})

    async def _refusal(
        self, subject: QualifiedSubject, request: SchemaRequest, error: RegistryError, request_id: str, *, by: Requester
    ) -> KeptRefusal:
        if isinstance(error, RefusedVersion):
            error = error.shown_to(_knows_nobody)  # whoever reads the subject may not know all of its consumers
        text = request.text or ""
        references = tuple(
            ReferenceName(each.name, str(parse_subject(each.subject, context=subject.context)), each.version)
            for each in request.references[:_MAX_REFERENCES]
        )
        now = self._now_ms()
        message = error.message[:_MAX_MESSAGE_CHARS]
        row = RefusalRow(request_id, str(subject), int(error.code), message, now, now, by=by.author.principal)
        reasons = error.reasons if isinstance(error, IncompatibleSchema) else ()
        return KeptRefusal(
            row,
            request.schema_type,
            _bounded(text),
            await self._storage.last_change(),
            references,
            tuple(each[:_MAX_MESSAGE_CHARS] for each in reasons[:_MAX_MESSAGES]),
            _digest(row, request),
            (request_id,),
        )


class RefusalPages:
    """The use cases of refusals; whoever may read a subject, and what a text refers to, sees those about it."""

    def __init__(self, records: RefusalRecords | None, *, scopes: Scopes) -> None:
        self._records = records
        self._scopes = scopes

    async def rows(
        self, *, subject: QualifiedSubject | None = None, after: str = "", limit: int = MAX_ROWS, viewer: Viewer
    ) -> RefusalRows:
        """Return refusals, the newest first, after one of them; of one subject if one is given."""
        viewer.filters()
        if self._records is None:
            return RefusalRows(())
        wanted = None if subject is None else await self._scopes.aliased(subject)
        limit = min(limit, MAX_ROWS)
        found: list[KeptRefusal] = []
        before = _place(after)
        while True:
            page = await self._records.newest(before, limit + 1, wanted)
            for each in page:
                if _may_see(viewer, each):
                    if len(found) == limit:
                        return RefusalRows(tuple(one.row for one in found), found[-1].place)
                    found.append(each)
            if len(page) <= limit:
                return RefusalRows(tuple(one.row for one in found))
            before = page[-1].place

    async def one(self, request_id: str, *, viewer: Viewer) -> RefusedText:
        """Return the refusal of a request; raise ``NotFound``, also for one that the caller may not see."""
        viewer.filters()
        for each in () if self._records is None else await self._records.find(request_id):
            if _may_see(viewer, each):
                row = replace(each.row, request_id=request_id)
                return RefusedText(row, each.schema_type, each.schema, each.seq, each.references, each.messages)
        raise NotFound(f"There is no refused registration of a request {request_id[:80]!r}")

    async def count(self, subject: QualifiedSubject, *, viewer: Viewer) -> int:
        """Return the number of refusals of a subject, of the newest :data:`MAX_COUNTED`."""
        count, before = 0, ""
        if self._records is None:
            return count
        for _ in range(MAX_COUNTED // MAX_ROWS):
            page = await self._records.newest(before, MAX_ROWS, subject)
            count += sum(_may_see(viewer, each) for each in page)
            if len(page) < MAX_ROWS:
                break
            before = page[-1].place
            await asyncio.sleep(0)
        return count


def _may_see(viewer: Viewer, refusal: KeptRefusal) -> bool:
    """Return whether a caller may read the subject, and what the text refers to: messages may name its versions."""
    names = {refusal.row.subject, *(each.subject for each in refusal.references)}
    return all(viewer.may_read(parse_subject(name)) for name in names)


def _place(after: str) -> str:
    """Return the place after which a page begins; raise ``BadRequest`` for a text that is no ``next`` of a page."""
    digits, _, digest = after.partition("-")
    if after and not (digits.isascii() and digits.isdigit() and digest.isalnum()):
        raise BadRequest(f"after is {after[:80]!r}; expected the `next` of a page")
    return after


def _bounded(text: str) -> str:
    """Return a text, or the beginning and the hash of a large one."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= _MAX_TEXT_BYTES:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:_HEAD_CHARS]}\n… ({size} bytes in all, SHA-256 {digest})"


def _digest(row: RefusalRow, request: SchemaRequest) -> str:
    facts = [
        row.subject,
        row.error_code,
        request.schema_type,
        request.text,
        [[each.name, each.subject, each.version] for each in request.references],
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _size_bytes(refusal: KeptRefusal) -> int:
    """Return about how much memory a refusal takes."""
    texts = (refusal.schema, refusal.row.message, *refusal.messages, *refusal.request_ids)
    references = sum(len(each.name) + len(each.subject) + 200 for each in refusal.references)
    return _ENTRY_BYTES + references + sum(4 * len(each) if not each.isascii() else len(each) for each in texts)


def _knows_nobody(_: str) -> bool:
    return False
