"""Finding a schema among the versions of a subject."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.equivalence import may_match
from counterfoil.registry.domain.merging import merged_metadata, merged_rule_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.domain.config import Config
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.domain.versions import History, VersionEntry
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.requests import SchemaRequest


@dataclass(frozen=True, slots=True)
class Match:
    """The version that holds what was asked for; ``exact`` when content and fingerprint are the very same."""

    entry: VersionEntry
    content: Content
    exact: bool


class Matcher:
    """Compares a schema with stored ones."""

    def __init__(self, reader: SchemaReader) -> None:
        self._reader = reader

    async def find(self, context: str, candidate: Candidate, entries: Iterable[VersionEntry]) -> Match | None:
        """The version among ``entries`` that holds the candidate: the very content first, else one that says the same.

        The newest wins.
        """
        newest_first = sorted(entries, key=lambda entry: -entry.version)
        for entry in newest_first:
            if entry.guid == candidate.content.guid:
                return Match(entry, await self._reader.content(entry.guid), exact=True)
        for entry in newest_first:
            content = await self._reader.content(entry.guid)
            if may_match(candidate.content, content, entry.version) and candidate.parsed.is_equivalent(
                await self._reader.parsed(context, content)
            ):
                return Match(entry, content, exact=False)
        return None


async def completed(request: SchemaRequest, config: Config, history: History, reader: SchemaReader) -> SchemaRequest:
    """``request`` with metadata and rules as a registration would store them.

    What it leaves out comes from the latest version; the config's defaults go under it, its overrides over it.
    """
    metadata, rule_set = request.metadata, request.rule_set
    if history.latest is not None and (metadata is None or rule_set is None):
        latest = await reader.content(history.latest.guid)
        metadata = latest.metadata if metadata is None else metadata
        rule_set = latest.rule_set if rule_set is None else rule_set
    metadata, rule_set = merged_metadata(config, metadata), merged_rule_set(config, rule_set)
    if metadata is request.metadata and rule_set is request.rule_set:
        return request
    return replace(request, metadata=metadata, rule_set=rule_set)
