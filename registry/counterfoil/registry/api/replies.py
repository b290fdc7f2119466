"""Answers kept as bytes: what an id stands for hardly ever changes, and is asked for most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from counterfoil.registry.api.answers import JsonBytes
from counterfoil.registry.api.documents import by_id_document
from counterfoil.registry.service.reading import RecentValues
from counterfoil.registry.service.storage import Append
from counterfoil.schema.contexts import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Appended, Plan
    from counterfoil.registry.service.use_cases import UseCases

_OVERHEAD_BYTES: Final = 200


class Replies:
    """The answers to ``GET /schemas/ids/{id}``, as bytes, for ids of the default context.

    An answer names a version that holds the id; a registration drops the answer for its id, any other write drops all,
    and so do the writes of other servers.
    ``memory_bytes`` bounds what is kept.
    """

    def __init__(self, cases: UseCases, *, memory_bytes: int) -> None:
        self._cases = cases
        self._memory_bytes = memory_bytes
        self._writes = 0
        self._kept: RecentValues[int, JsonBytes] = RecentValues(memory_bytes)
        cases.storage.observe(self._note)

    async def kept(self, schema_id: int) -> JsonBytes | None:
        """The answer for an id, where it is at hand and no server has written since; ``StoreUnavailable``."""
        if schema_id not in self._kept:
            return None
        await self._cases.storage.catch_up()
        return self._kept.get(schema_id)

    async def by_id(self, schema_id: int) -> JsonBytes:
        """The answer for an id, without a query."""
        await self._cases.storage.catch_up()
        kept = self._kept.get(schema_id)
        if kept is not None:
            return kept
        writes = self._writes
        found = await self._cases.catalog.by_id(schema_id, "")
        reply = JsonBytes(orjson.dumps(by_id_document(found, text=found.content.text)))
        if writes == self._writes:
            self._kept.put(schema_id, reply, weight=len(reply) + _OVERHEAD_BYTES)
        return reply

    def _note(self, plan: Plan | None, outcome: Appended | None, /) -> None:
        self._writes += 1
        if not isinstance(plan, Append) or outcome is None or plan.schema_id is not None:
            self._kept = RecentValues(self._memory_bytes)
        elif plan.subject.context == DEFAULT_CONTEXT:
            self._kept.drop(outcome.schema_id)
