"""Looking a schema up by its content among the versions of a subject, or by its metadata."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.access.rights import everything
from counterfoil.registry.subjects.reading import PARSED_AT_ONCE, in_context
from counterfoil.registry.subjects.versions import (
    may_match,
    merged_metadata,
    merged_rule_set,
    parse_schema_type,
    subject_not_found,
)
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import InvalidSchema, SchemaNotFound
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from counterfoil.registry.access.rights import Shown
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.registry.subjects.levels import Scopes
    from counterfoil.registry.subjects.reading import SchemaReader
    from counterfoil.registry.subjects.versions import Candidate, Content, SchemaRequest, SubjectHistory, VersionEntry
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.rest.subjects import Config


# Finding a schema among the versions of a subject.

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


async def completed(
    request: SchemaRequest, config: Config, history: SubjectHistory, reader: SchemaReader
) -> SchemaRequest:
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


# Looking a schema up by its content, or by its metadata.


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored version. ``exact``: found by identical content, so that its times are not needed."""

    subject: QualifiedSubject
    entry: VersionEntry
    content: Content
    exact: bool = False


class SchemaLookup:
    """The use cases of looking up."""

    def __init__(self, storage: Storage, *, scopes: Scopes, reader: SchemaReader, matcher: Matcher) -> None:
        self._storage = storage
        self._scopes = scopes
        self._reader = reader
        self._matcher = matcher

    async def by_content(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        normalize: bool,
        deleted: bool,
        shown: Shown = everything,
    ) -> Stored:
        """Return the version of ``subject`` with the schema, if the subject is ``shown`` to the caller.

        A name without a context is also looked up in other contexts. Raises ``InvalidSchema``, ``SubjectNotFound`` if
        no version is visible, else ``SchemaNotFound``.
        """
        found = None
        if shown(subject):
            found = await self._in_subject(subject, request, normalize=normalize, deleted=deleted)
        if found is None and subject.is_default:
            found = await self._elsewhere(subject, request, normalize=normalize, deleted=deleted, shown=shown)
        if found is not None:
            return found
        history = await self._storage.history(subject)
        if not history.visible(deleted=deleted):
            raise subject_not_found(subject, history)
        raise SchemaNotFound(f"Subject {str(subject)!r} does not hold this schema")

    async def _elsewhere(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool, deleted: bool, shown: Shown
    ) -> Stored | None:
        for context in await self._storage.contexts():
            other = in_context(subject, context)
            if other == subject or not shown(other) or not (await self._storage.history(other)).entries:
                continue
            if not all(shown(parse_subject(each.subject, context=context)) for each in request.references):
                continue
            try:
                found = await self._in_subject(other, request, normalize=normalize, deleted=deleted)
            except InvalidSchema:
                continue
            if found is not None:
                return found
        return None

    async def _in_subject(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool, deleted: bool
    ) -> Stored | None:
        if request.is_blank:
            parse_schema_type(request.schema_type)
            return None
        config = await self._scopes.config(subject)
        normalize = normalize or bool(config.normalize)
        found = await self._match(subject, request, normalize=normalize, deleted=deleted)
        if found is not None:
            return found
        history = await self._storage.history(subject)
        fuller = await completed(request, config, history, self._reader)
        if fuller == request:
            return None
        return await self._match(subject, fuller, normalize=normalize, deleted=deleted)

    async def _match(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool, deleted: bool
    ) -> Stored | None:
        reading = await self._reader.read(
            subject.context, request, validation=Validation.LOOKUP, normalize=normalize, deleted=True
        )
        entries = (await self._storage.history(subject)).visible(deleted=deleted)
        match = await self._matcher.find(subject.context, reading.candidate, entries)
        return None if match is None else Stored(subject, match.entry, match.content, match.exact)

    async def by_metadata(self, subject: QualifiedSubject, wanted: Mapping[str, str], *, deleted: bool) -> Stored:
        """Return the highest version whose metadata has all properties of ``wanted``.

        If that is empty, any metadata.
        """
        history = await self._storage.history(subject)
        entries = history.visible(deleted=deleted)
        if not entries:
            raise subject_not_found(subject, history)
        for entry in reversed(entries):
            content = await self._reader.content(entry.guid)
            if content.metadata is not None and wanted.items() <= dict(content.metadata.properties).items():
                return Stored(subject, entry, content)
        raise SchemaNotFound(f"No version of subject {str(subject)!r} has this metadata")
