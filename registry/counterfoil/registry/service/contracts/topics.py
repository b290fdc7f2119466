"""Statistics of topics, which those who read records report: the server itself reads none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.topics import TOPIC_STATISTICS
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import DEFAULT_CONTEXT, TOP_LEVEL
from counterfoil.schema.errors import TopicStatsNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.topic_stats import SchemaCount, TopicStats


class Topics:
    """The use cases of topic statistics. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self, storage: Storage, *, records: ContractRecords, scopes: Scopes, now_ms: Callable[[], int]
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._now_ms = now_ms
        self._turns = Turns(storage.catch_up)

    async def all(self) -> list[TopicStats]:
        """Return the latest statistics of every topic in every environment, sorted by topic."""
        return [await self._completed(each) for each in await self._records.all(TOPIC_STATISTICS)]

    async def stats(self, topic: str, environment: str = "") -> TopicStats:
        """Return the latest statistics of a topic, with the versions of its schema ids.

        Raises ``TopicStatsNotFound``.
        """
        held = (await self._records.find(TOPIC_STATISTICS, (topic, environment))).value
        if held is None:
            where = f" in {environment[:80]}" if environment else ""
            raise TopicStatsNotFound(f"Nothing is stored about the records of topic {topic[:80]!r}{where}")
        return await self._completed(held)

    async def _completed(self, held: TopicStats) -> TopicStats:
        """Return statistics with the versions of the schema ids."""
        schemas = tuple([await self._named(held.topic, each) for each in held.schemas])
        subject = f"{held.topic}-value"
        versions = [each.version for each in schemas if each.subject == subject and each.version is not None]
        return replace(held, schemas=schemas, oldest_version=min(versions, default=None))

    async def put(self, given: TopicStats) -> TopicStats:
        """Store statistics of a topic in an environment, instead of those before."""
        await self._turns.take(partial(self._put, given), written=given.topic)
        return await self.stats(given.topic, given.environment)

    async def _put(self, given: TopicStats) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        now = self._now_ms()
        stored = replace(given, counted_ts=min(given.counted_ts or now, now), oldest_version=None)
        held = await self._records.find(TOPIC_STATISTICS, TOPIC_STATISTICS.key(given))
        if held.value != stored:
            await self._storage.commit(TOPIC_STATISTICS.write(stored, revision=held.revision))

    async def _named(self, topic: str, count: SchemaCount) -> SchemaCount:
        """Return a count with the version that has the schema id, of the topic's subject if several subjects have."""
        uses = await self._storage.uses(DEFAULT_CONTEXT, count.schema_id)
        if not uses:
            return count
        own = [each for each in uses if each.subject.name == f"{topic}-value"]
        chosen = (own or list(uses))[0]
        return replace(count, subject=str(chosen.subject), version=chosen.version)
