"""The use cases of sketches and statistics of topics, and their stored documents."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.audit.events import facts_about
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.records import StoredKind
from counterfoil.registry.store.writes import record_write
from counterfoil.registry.subjects.levels import check_writable
from counterfoil.schema.contexts import DEFAULT_CONTEXT, TOP_LEVEL, QualifiedSubject
from counterfoil.schema.errors import SketchNotFound, TopicStatsNotFound
from counterfoil.schema.rest.observations import TOPIC_STATS, TopicStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.contracts.records import ContractRecords
    from counterfoil.registry.judges.judging import LongJudgements
    from counterfoil.registry.store.protocol import Storage, StorageRecord
    from counterfoil.registry.store.writes import Requester
    from counterfoil.registry.subjects.levels import Scopes
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.observations import SchemaCount


# The latest statistics of each topic as stored documents.

TOPIC_STATISTICS: Final[StoredKind[TopicStats]] = StoredKind(
    "topic-stats", TOPIC_STATS, lambda each: (each.topic, each.environment)
)


# Statistics of topics, which those who read records report: the server itself reads none.


class TopicCases:
    """The use cases of topic statistics. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self, storage: Storage, *, records: ContractRecords, scopes: Scopes, now_ms: Callable[[], int]
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

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

    async def put(self, given: TopicStats, *, by: Requester) -> TopicStats:
        """Store statistics of a topic in an environment, instead of those before."""
        await self._turns.take(partial(self._put, given, by=by), written=given.topic)
        return await self.stats(given.topic, given.environment)

    async def _put(self, given: TopicStats, *, by: Requester) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        now = self._now_ms()
        stored = replace(given, counted_ts=min(given.counted_ts or now, now), oldest_version=None)
        held = await self._records.find(TOPIC_STATISTICS, TOPIC_STATISTICS.key(given))
        if held.value != stored:
            await self._storage.commit(TOPIC_STATISTICS.write(stored, revision=held.revision), by=by)

    async def _named(self, topic: str, count: SchemaCount) -> SchemaCount:
        """Return a count with the version that has the schema id, of the topic's subject if several subjects have."""
        uses = await self._storage.uses(DEFAULT_CONTEXT, count.schema_id)
        if not uses:
            return count
        own = [each for each in uses if each.subject.name == f"{topic}-value"]
        chosen = (own or list(uses))[0]
        return replace(count, subject=str(chosen.subject), version=chosen.version)


# Sketches of topics, each stored as a record of its subject, whether or not the subject has versions.

SKETCH_KIND: Final = "sketch"


def sketch_key(subject: QualifiedSubject) -> tuple[str, ...]:
    """Return the record key of a subject's sketch."""
    return subject.context, subject.name


class Sketches:
    """The use cases of stored sketches."""

    def __init__(self, storage: Storage, *, scopes: Scopes, long: LongJudgements) -> None:
        self._storage = storage
        self._scopes = scopes
        self._long = long
        self._turns = WriteTurns(storage.catch_up)

    async def subjects(self) -> list[QualifiedSubject]:
        """Return the subjects that have a sketch, sorted."""
        return sorted(QualifiedSubject(*record.key) for record in await self._storage.records(SKETCH_KIND))

    async def get(self, subject: QualifiedSubject) -> Document:
        """Return the document of a subject's sketch; raise ``SketchNotFound`` if there is none."""
        return (await self._record(subject)).document

    async def put(self, subject: QualifiedSubject, document: Document, *, by: Requester) -> None:
        """Store a sketch; raise ``UnusableSketch`` for a document that is none of this subject."""
        from counterfoil.schema.sketch.document import stored_sketch  # most servers never need it

        checked = await self._long.run(stored_sketch, subject.name, document)
        await self._turns.take(partial(self._put, subject, checked, by=by), written=str(subject))

    async def delete(self, subject: QualifiedSubject, *, by: Requester) -> None:
        """Delete a subject's sketch; raise ``SketchNotFound`` if there is none."""
        await self._turns.take(partial(self._put, subject, None, by=by), written=str(subject))

    async def _put(self, subject: QualifiedSubject, document: Document | None, *, by: Requester) -> None:
        check_writable(await self._scopes.mode(subject), subject)
        found = await self._find(subject)
        if document is None and found is None:
            raise _missing(subject)
        key, revision = sketch_key(subject), 0 if found is None else found.revision
        about = facts_about([subject])
        await self._storage.commit(record_write(SKETCH_KIND, key, document, revision=revision, for_audit=about), by=by)

    async def _find(self, subject: QualifiedSubject) -> StorageRecord | None:
        found = await self._storage.records(SKETCH_KIND, sketch_key(subject))
        return found[0] if found else None

    async def _record(self, subject: QualifiedSubject) -> StorageRecord:
        found = await self._find(subject)
        if found is None:
            raise _missing(subject)
        return found


def _missing(subject: QualifiedSubject) -> SketchNotFound:
    return SketchNotFound(f"There is no sketch of subject {str(subject)[:80]!r}")
