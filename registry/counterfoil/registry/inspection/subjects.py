"""Subjects in a list, one subject with its versions and what belongs to it, and the registry as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from counterfoil.registry.access.resources import REGISTRY, AccessOperation
from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.changes.as_of import EVER
from counterfoil.registry.inspection.belongings import Belongings, SubjectBelongings
from counterfoil.registry.inspection.refusals import RefusalPages
from counterfoil.registry.inspection.rules_in_force import rules_in_force, scope_levels
from counterfoil.registry.inspection.steps import VersionSteps
from counterfoil.registry.judges.judging import Pauses
from counterfoil.registry.search.searching import Searching
from counterfoil.registry.store.changes import JournalChangeKind
from counterfoil.registry.store.name_ranges import Ranges, SubjectRange, intersection, of_prefix
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.catalog import Catalog
from counterfoil.registry.subjects.levels import Scopes, level_of
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import (
    Content,
    SubjectHistory,
    SubjectSummary,
    VersionEntry,
    last_of,
    subject_not_found,
)
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, SubjectPrefix, parse_subject
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.rest.inspection import (
    IndexState,
    ReferenceName,
    RegistryInspection,
    SubjectInspection,
    SubjectRow,
    SubjectRows,
    VersionName,
    VersionStep,
)
from counterfoil.schema.rest.versions import Visibility
from counterfoil.schema.steps import StepFacts

MAX_ROWS: Final = 100
"""The largest number of rows of a page: of subjects, and of versions of one."""

_MAX_SCANNED: Final = 2_000
"""The largest number of subjects of which a page leaves out those that the caller may not know, one by one."""

_MAX_REFERRERS: Final = 200
_REFERRED_VERSIONS: Final = 500
"""The newest versions of a subject for which schemas that refer to them are looked for."""


class SubjectPages:
    """The use cases of the list of subjects, and of one. ``belongings`` is None for the past, which has no records."""

    def __init__(
        self,
        storage: Storage,
        *,
        reader: SchemaReader,
        scopes: Scopes,
        catalog: Catalog,
        steps: VersionSteps,
        belongings: SubjectBelongings | None,
        refusals: RefusalPages,
        search: Searching,
    ) -> None:
        self._storage = storage
        self._reader = reader
        self._scopes = scopes
        self._catalog = catalog
        self._steps = steps
        self._belongings = belongings
        self._refusals = refusals
        self._search = search

    async def registry(self, *, viewer: Viewer) -> RegistryInspection:
        """Return the registry as a whole; only those who may know all of it get numbers."""
        contexts = [name for name in await self._catalog.contexts() if viewer.may_see_context(name)]
        index = await self._search.state()
        if not viewer.may(AccessOperation.DESCRIBE, REGISTRY):
            return RegistryInspection(None, None, tuple(contexts), IndexState(index.state, is_scanned=index.is_scanned))
        last = await self._storage.last_change()
        if self._belongings is None:
            return RegistryInspection(None, None, tuple(contexts), index, last)
        totals = await self._storage.totals()
        return RegistryInspection(totals.subjects, totals.versions, tuple(contexts), index, last)

    # --- the list

    async def rows(
        self,
        prefix: SubjectPrefix,
        *,
        deleted: bool = False,
        after: str = "",
        limit: int = MAX_ROWS,
        viewer: Viewer,
    ) -> SubjectRows:
        """Return the subjects with a prefix after one of them, sorted by context and name.

        With ``deleted`` those are among them of which all versions are soft-deleted.
        """
        visibility = Visibility.WITH_DELETED if deleted else Visibility.ACTIVE
        ranges = await self._ranges(prefix, after=after, viewer=viewer)
        found, last = await self._shown(ranges, visibility, min(limit, MAX_ROWS), viewer=viewer)
        return SubjectRows(tuple(await asyncio.gather(*map(self._row, found))), last)

    async def _ranges(self, prefix: SubjectPrefix, *, after: str, viewer: Viewer) -> list[SubjectRange]:
        """Return where the subjects of a page are: with the prefix, after the last one, visible to the caller."""
        visible = viewer.visible(AccessOperation.DESCRIBE)
        contexts = [prefix.context]
        if prefix.context is None:
            contexts = [DEFAULT_CONTEXT, *await self._storage.contexts()]
        start = parse_subject(after) if after else None
        ranges: list[SubjectRange] = []
        for context in sorted({each for each in contexts if each is not None}):
            if start is not None and context < start.context:
                continue
            wanted: Ranges = (of_prefix(prefix.name),)
            if start is not None and context == start.context:
                wanted = intersection(wanted, ((start.name + "\x01", None),))
            if visible is not None:
                wanted = intersection(wanted, visible.names(context).ranges)
            ranges += [SubjectRange(context, *each) for each in wanted]
        return ranges

    async def _shown(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int, *, viewer: Viewer
    ) -> tuple[list[SubjectSummary], str]:
        """Return the first subjects in ranges that the caller may know, and the one to continue after, if any.

        Where many are left out, a page has fewer of them, so that one request does not read all subjects.
        """
        visible = viewer.visible(AccessOperation.DESCRIBE)
        found: list[SubjectSummary] = []
        scanned = 0
        while ranges:
            page = await self._storage.summaries(ranges, visibility, limit + 1)
            for each in page:
                if visible is None or visible.shows(each.subject):
                    if len(found) == limit:
                        return found, str(found[-1].subject)
                    found.append(each)
            scanned += len(page)
            if len(page) <= limit:
                break
            if scanned >= _MAX_SCANNED:
                return found, str(page[-1].subject)
            ranges = _after(ranges, page[-1].subject)
        return found, ""

    async def _row(self, summary: SubjectSummary) -> SubjectRow:
        config = await self._scopes.config(summary.subject)
        latest = summary.latest
        return SubjectRow(
            str(summary.subject),
            summary.subject.context,
            summary.schema_type.value,
            summary.versions,
            latest.version,
            latest.schema_id,
            latest.ts,
            level_of(config).value,
            config.compatibility_policy or CompatibilityPolicy.STRICT.value,
            latest.deleted,
        )

    # --- one subject

    async def subject(
        self,
        subject: QualifiedSubject,
        *,
        named: QualifiedSubject | None = None,
        after: int = 0,
        limit: int = MAX_ROWS,
        viewer: Viewer,
    ) -> SubjectInspection:
        """Return a subject that the caller may read, with its versions after one; ``named`` is the alias in the path.

        Raises ``SubjectNotFound`` if it has no version at all.
        """
        history = await self._storage.history(subject)
        if not history.entries:
            raise subject_not_found(subject, history)
        shown = [each for each in history.entries if each.version > after][:limit]
        latest = await self._reader.content(last_of(history).guid)
        levels = await scope_levels(self._storage, subject, viewer=viewer)
        belongings = Belongings()
        if self._belongings is not None:
            belongings = await self._belongings.of(subject, viewer=viewer)
        is_alias = named is not None and named != subject
        steps = await self.steps(subject, history, shown)
        await asyncio.sleep(0)  # each part of the page has held the event loop for a while
        referrers = await self.referrers(subject, history.entries, viewer=viewer)
        await asyncio.sleep(0)
        return SubjectInspection(
            str(named if is_alias else subject),
            subject.context,
            latest.schema_type.value,
            await name_of_type(self._reader, subject, latest),
            steps,
            len(history.entries),
            len(history.entries) - len(history.active),
            rules_in_force(levels),
            reference_names(subject, latest),
            referrers,
            belongings.readers,
            belongings.things,
            belongings.topics,
            belongings.aliases,
            str(subject) if is_alias else "",
            belongings.owner,
            await self._refusals.count(subject, viewer=viewer),
            next=shown[-1].version if shown and shown[-1].version < history.entries[-1].version else 0,
        )

    async def steps(
        self,
        subject: QualifiedSubject,
        history: SubjectHistory,
        shown: Sequence[VersionEntry],
        *,
        are_compared: bool = True,
    ) -> tuple[VersionStep, ...]:
        """Return versions of a history with what changed from the one before, and who registered them.

        They are without the changes if the versions must not be compared.
        """
        facts = await self._steps.of(subject, history.entries, shown) if are_compared else {}
        authors = await self._authors(subject, shown) if shown else {}
        return tuple(_step(each, facts.get(each.version), by=authors.get(each.version)) for each in shown)

    async def _authors(self, subject: QualifiedSubject, shown: Sequence[VersionEntry]) -> dict[int | None, str | None]:
        """Return who registered each of some consecutive versions; whoever reads a subject may know it."""
        versions = range(shown[0].version, shown[-1].version + 1)
        changes = await self._storage.changes_of(subject, EVER, versions=versions, kind=JournalChangeKind.REGISTERED)
        return {each.version: each.author for each in changes}

    async def referrers(
        self, subject: QualifiedSubject, entries: Sequence[VersionEntry], *, viewer: Viewer
    ) -> tuple[VersionName, ...]:
        """Return the versions that refer to one of some versions of a subject, of subjects that the caller may know."""
        if self._belongings is None:
            return ()
        found: dict[tuple[str, int], VersionName] = {}
        pauses = Pauses()
        for each in entries[-_REFERRED_VERSIONS:]:
            await pauses.pause_if_due()
            for use in await self._storage.referrers(subject, each.version):
                if len(found) < _MAX_REFERRERS and viewer.may_read(use.subject):
                    name = VersionName(str(use.subject), use.version, use.schema_id, use.deleted)
                    found[name.subject, name.version] = name
        return tuple(found[key] for key in sorted(found))


async def name_of_type(reader: SchemaReader, subject: QualifiedSubject, content: Content) -> str:
    """Return the full name of a content's top-level type; empty if it has none, or cannot be parsed any more."""
    try:
        return (await reader.parsed(subject.context, content)).name or ""
    except InvalidSchema:
        return ""


def reference_names(subject: QualifiedSubject, content: Content) -> tuple[ReferenceName, ...]:
    """Return the references of a version's content, with the names of subjects qualified by their contexts."""
    return tuple(
        ReferenceName(each.name, str(parse_subject(each.subject, context=subject.context)), each.version)
        for each in content.references
    )


def _step(entry: VersionEntry, facts: StepFacts | None, *, by: str | None) -> VersionStep:
    step = VersionStep(entry.version, entry.schema_id, str(entry.guid), entry.ts, by, entry.deleted)
    if facts is None:
        return step
    return replace(
        step,
        added=facts.added,
        removed=facts.removed,
        changed=facts.changed,
        change=facts.change,
        strict_backward=facts.strict_backward,
        strict_forward=facts.strict_forward,
        sound_backward=facts.sound_backward,
        sound_forward=facts.sound_forward,
    )


def _after(ranges: Sequence[SubjectRange], last: QualifiedSubject) -> list[SubjectRange]:
    """Return the part of sorted ranges that is after a subject in them."""
    return [
        each._replace(low=max(each.low, last.name + "\x01")) if each.context == last.context else each
        for each in ranges
        if each.context > last.context
        or (each.context == last.context and (each.high is None or each.high > last.name + "\x01"))
    ]
