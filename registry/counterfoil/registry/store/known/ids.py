"""A cache of reads about schema ids, used while the database cannot be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from uuid import UUID

    from counterfoil.registry.domain.changes import Written

Key = (
    tuple[Literal["guid", "uses"], str, int]
    | tuple[Literal["ids"], "UUID"]
    | tuple[Literal["id"], str, "UUID"]
    | tuple[Literal["contexts"]]
)
"""The kinds of reads: the fingerprint or the uses of an id, the ids or the id of a fingerprint, the contexts."""

_MAX_READ: Final = 40_000


class KnownIds:
    """The values that were read last; an observer of the storage, which removes values that a write may have changed.

    While the database responds, nothing is read from here.
    """

    def __init__(self) -> None:
        self._known: RecentValues[Key, Any] = RecentValues(_MAX_READ)
        self._changes = 0

    async def noting(self, key: Key, reading: Awaitable[Any]) -> Any:
        """Return the result of ``reading``, and cache it unless something was written in the meantime."""
        changes = self._changes
        value = await reading
        if value is not None and changes == self._changes:
            self._known.put(key, value, weight=1)
        return value

    def get(self, key: Key) -> Any:
        """Return the value that was read last; None when it is not cached."""
        return self._known.get(key)

    def __call__(self, written: Written | None, /) -> None:
        """Remove what a write may have changed."""
        if written is None:
            self._known = RecentValues(_MAX_READ)
        else:
            for change in written.changes:
                if change.schema_id is not None:
                    self._drop(change.subject.context, change.schema_id, change.guid)
                elif change.subject.is_context:
                    self._known.drop(("contexts",))
        self._changes += 1

    def _drop(self, context: str, schema_id: int, guid: UUID | None) -> None:
        self._known.drop(("guid", context, schema_id))
        self._known.drop(("uses", context, schema_id))
        if guid is not None:
            self._known.drop(("ids", guid))
            self._known.drop(("id", context, guid))
        if context not in (self._known.get(("contexts",)) or ()):
            self._known.drop(("contexts",))
