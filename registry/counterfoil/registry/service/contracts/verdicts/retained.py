"""Earlier versions of a subject whose records a topic still has, by the statistics that were posted about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.topics import TOPIC_STATISTICS
from counterfoil.schema.contexts import DEFAULT_CONTEXT, parse_subject
from counterfoil.schema.reads.model import Offer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.verdicts.sides import Judge, Offering, Reading
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.reads.model import ReadFinding

_Earlier = tuple["Offering", str]
"""What is offered with the schema of an earlier version, and the end of the sentences about it."""

_UNBACKED = "expectation-unbacked"
"""The rule about what nothing promises, such as an enum's values in records whose field was a text."""


@dataclass(frozen=True, slots=True)
class RetainedRecords:
    """The records that topics still have: by the identity of what is offered, that with the schemas of each version."""

    earlier: Mapping[tuple[str, ...], Sequence[_Earlier]] = field(default_factory=dict)

    def findings(
        self, judge: Judge, known: Sequence[Offering], offered: Offering, reading: Reading
    ) -> list[ReadFinding]:
        """Return why a reader that reads old records again cannot read those of earlier versions.

        ``known`` are the offerings that the reader was built for.
        """
        found: dict[object, ReadFinding] = {}
        for before, where in self.earlier.get(offered.identity, ()) if reading.reads_again else ():
            for each in judge(known, before, reading):
                if each.application is not None and (each.rule.startswith("consumer-") or each.rule == _UNBACKED):
                    former = each.former and each.former._replace(text=f"{each.former.text}; {where}")
                    found.setdefault(each.identity, replace(each, text=f"{each.text}; {where}", former=former))
        return list(found.values())


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
        earlier: dict[tuple[str, ...], list[_Earlier]] = {}
        for each in offerings:
            if each.identity not in earlier:
                earlier[each.identity] = await self._earlier(each, environment)
        return RetainedRecords(earlier)

    async def _earlier(self, offered: Offering, environment: str | None) -> list[_Earlier]:
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
