"""Earlier versions of a subject whose records a topic still has, by the statistics that were posted about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.topics import TOPIC_STATISTICS
from counterfoil.schema.contexts import DEFAULT_CONTEXT, parse_subject
from counterfoil.schema.reads.model import Offer
from counterfoil.schema.reads.retained import RetainedRecords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.reads.retained import EarlierOffering
    from counterfoil.schema.reads.sides import Offering


class RetainedVersions:
    """Finds the versions that a topic still has."""

    def __init__(self, storage: Storage, *, records: ContractRecords, reader: SchemaReader) -> None:
        self._storage = storage
        self._records = records
        self._reader = reader

    async def of(self, subject: QualifiedSubject, topic: str, environment: str | None) -> list[VersionEntry]:
        """Return the versions of a subject that the records of a topic may have, ascending, deleted ones included.

        Statistics of all records name them; those of a sample only say which is the oldest at least. Statistics without
        an environment count in each; for None, those of all environments do.
        """
        counted = [
            each
            for each in await self._records.all(TOPIC_STATISTICS, (topic,))
            if environment is None or each.environment in {"", environment}
        ]
        ids = {one.schema_id for each in counted for one in each.schemas}
        if not ids or subject.context != DEFAULT_CONTEXT:
            return []
        entries = (await self._storage.history(subject)).entries
        present = {each.version for each in entries if each.schema_id in ids}
        if not all(each.is_complete for each in counted):
            present.update(each.version for each in entries if present and each.version >= min(present))
        return [each for each in entries if each.version in present]

    async def records(self, offerings: Iterable[Offering], environment: str | None) -> RetainedRecords:
        """Return the records that the topics of offerings still have; each is read once for all its readers."""
        earlier: dict[tuple[str, ...], list[EarlierOffering]] = {}
        for each in offerings:
            if each.identity not in earlier:
                earlier[each.identity] = await self._earlier(each, environment)
        return RetainedRecords(earlier)

    async def _earlier(self, offered: Offering, environment: str | None) -> list[EarlierOffering]:
        """Return what is offered with the schema of each version whose records the topic still has."""
        subject = parse_subject(offered.subject)
        found = []
        for entry in await self.of(subject, offered.promise.topic, environment):
            content = await self._reader.content(entry.guid)
            parsed = await self._reader.parsed(subject.context, content)
            offer = Offer(parsed, offered.promise, key=offered.offer.key_schema)
            before = replace(offered, offer=offer, identity=(*offered.identity, str(entry.guid)))
            where = f"records of version {entry.version} of {subject} are still in topic {offered.promise.topic}"
            found.append((before, where))
        return found
