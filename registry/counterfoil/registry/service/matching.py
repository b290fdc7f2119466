"""Finding a schema among the versions of a subject."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.equivalence import may_match
from counterfoil.registry.domain.merging import merged_metadata, merged_rule_set
from counterfoil.registry.service.reading import PARSED_AT_ONCE
from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.domain.versions import History, VersionEntry
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.rest.config import Config


_MAX_MARKS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Match:
    """The version that matches; ``exact`` if content and fingerprint are identical."""

    entry: VersionEntry
    content: Content
    exact: bool


class Matcher:
    """Compares a schema with stored ones."""

    def __init__(self, reader: SchemaReader) -> None:
        self._reader = reader
        self._marks: RecentValues[UUID, tuple[int, int]] = RecentValues(_MAX_MARKS)

    async def find(self, context: str, candidate: Candidate, entries: Iterable[VersionEntry]) -> Match | None:
        """Return the newest version of ``entries`` with identical content, else the newest equivalent one."""
        newest_first = sorted(entries, key=lambda entry: -entry.version)
        for entry in newest_first:
            if entry.guid == candidate.content.guid:
                return Match(entry, await self._reader.content(entry.guid), exact=True)
        possible = self._possible(candidate, newest_first)
        await self._reader.load([entry.guid for entry in possible])
        for number, entry in enumerate(possible, 1):
            if number % PARSED_AT_ONCE == 0:
                await asyncio.sleep(0)
            content = await self._reader.content(entry.guid)
            if may_match(candidate.content, content, entry.version) and await self._reader.are_equivalent(
                candidate.parsed, await self._parsed(context, content)
            ):
                return Match(entry, content, exact=False)
        return None

    def _possible(self, candidate: Candidate, entries: Sequence[VersionEntry]) -> list[VersionEntry]:
        """Return the versions that may be equivalent according to the cache, so that not all are read each time."""
        if candidate.content.references:
            return list(entries)
        mark = _mark(candidate.parsed)
        self._marks.put(candidate.content.guid, mark, weight=1)
        known = self._marks.get
        return [entry for entry in entries if known(entry.guid) in {None, mark}]

    async def _parsed(self, context: str, content: Content) -> ParsedSchema:
        parsed = await self._reader.parsed(context, content)
        if not content.references:
            self._marks.put(content.guid, _mark(parsed), weight=1)
        return parsed


def _mark(parsed: ParsedSchema) -> tuple[int, int]:
    """Return a value that equivalent schemas without references share: their sorted characters are the same."""
    text = parsed.canonical().encode("utf-8", "surrogatepass")
    return len(text), sum(text)


async def completed(request: SchemaRequest, config: Config, history: History, reader: SchemaReader) -> SchemaRequest:
    """Return ``request`` with metadata and rules as a registration would store them.

    Missing parts come from the latest version; the config's defaults are overridden by it, the config's overrides
    override it.
    """
    metadata, rule_set = request.metadata, request.rule_set
    if history.latest is not None and not request.is_complete and (metadata is None or rule_set is None):
        latest = await reader.content(history.latest.guid)
        metadata = latest.metadata if metadata is None else metadata
        rule_set = latest.rule_set if rule_set is None else rule_set
    metadata, rule_set = merged_metadata(config, metadata), merged_rule_set(config, rule_set)
    if metadata is request.metadata and rule_set is request.rule_set:
        return request
    return replace(request, metadata=metadata, rule_set=rule_set)
