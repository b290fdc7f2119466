"""A cache of records, each valid until any server writes one with a key that begins as the request for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.domain.changes import Written
    from counterfoil.registry.domain.stored_kinds import Key
    from counterfoil.registry.service.storage import Record, Storage

_T = TypeVar("_T")
_Place = tuple[str, "Key"]
_MAX_RECORDS: Final = 200_000


class KnownRecords:
    """Reads records of ``storage`` by kind and the beginning of their keys, and caches the values in them.

    The cache is as current as the storage's last call of its observers, as every request has waited for it.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: RecentValues[_Place, Sequence[Any]] = RecentValues(_MAX_RECORDS)
        self._being_read: dict[_Place, object] = {}
        storage.observe(self._note)

    async def under(self, kind: str, prefix: Key, read: Callable[[Record], _T]) -> Sequence[_T]:
        """Return the values of the records of a kind whose keys begin with ``prefix``, sorted by key.

        ``read`` is the same function for all requests of a kind.
        """
        known: Sequence[_T] | None = self._known.get((kind, prefix))
        return (await self.each_under(kind, [prefix], read))[0] if known is None else known

    async def each_under(
        self, kind: str, prefixes: Sequence[Key], read: Callable[[Record], _T]
    ) -> Sequence[Sequence[_T]]:
        """Return what :meth:`under` returns for each prefix; what is not cached is read at once."""
        found: dict[Key, Sequence[_T] | None] = {each: self._known.get((kind, each)) for each in prefixes}
        if missing := [each for each, values in found.items() if values is None]:
            found |= await self._read(kind, missing, read)
        return [found[each] or () for each in prefixes]

    async def _read(self, kind: str, prefixes: list[Key], read: Callable[[Record], _T]) -> dict[Key, Sequence[_T]]:
        reading = object()
        self._being_read |= {(kind, each): reading for each in prefixes}
        found: dict[Key, Sequence[_T]] = {}
        try:
            for prefix, records in zip(prefixes, await self._storage.records_under(kind, prefixes), strict=True):
                values = found[prefix] = tuple(map(read, records))
                if self._being_read.get((kind, prefix)) is reading:  # otherwise it was written to in the meantime
                    self._known.put((kind, prefix), values, weight=1 + len(values))
        finally:
            for prefix in prefixes:
                if self._being_read.get((kind, prefix)) is reading:
                    del self._being_read[kind, prefix]
        return found

    def _note(self, written: Written | None, /) -> None:
        """Remove what a write may have changed."""
        if written is None:
            self._known = RecentValues(_MAX_RECORDS)
            self._being_read.clear()
            return
        for change in written.changes:
            if change.kind is ChangeKind.RECORD and change.document is not None:
                kind, key = change.document["kind"], tuple(change.document["key"])
                for length in range(len(key) + 1):
                    self._known.drop((kind, key[:length]))
                    self._being_read.pop((kind, key[:length]), None)
