"""What has an id or a guid, the laid-out text of a guid, and references as a graph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from typing import Final
from uuid import UUID

from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.inspection.facts import DerivedFacts, weight_of_source
from counterfoil.registry.inspection.subjects import name_of_type
from counterfoil.registry.judges.judging import Pauses
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.catalog import schema_not_found
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import VersionUse
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.element_tables import source_windows
from counterfoil.schema.errors import SchemaNotFound
from counterfoil.schema.rest.inspection import IdInspection, ReferenceEdge, ReferenceGraph, SourceWindow, VersionName

MAX_LINES: Final = 500
"""The largest number of lines of a laid-out text on one page."""

_WINDOWS_AHEAD: Final = 4
"""The windows of a large text that are laid out at once: reading it takes longer."""

MAX_DEPTH: Final = 5
"""The largest depth of references that a request may have."""

_MAX_USES: Final = 500
_MAX_EDGES: Final = 500


class ReferenceDirection(StrEnum):
    """Which references are followed."""

    OUT = "out"
    """Those of the version, to what it refers to."""
    IN = "in"
    """Those of others to the version."""
    BOTH = "both"


class IdentifierPages:
    """The use cases of ids, guids, laid-out texts and references."""

    def __init__(self, storage: Storage, *, reader: SchemaReader, facts: DerivedFacts) -> None:
        self._storage = storage
        self._reader = reader
        self._sources = facts.sources

    # --- ids and guids

    async def by_id(self, schema_id: int, *, context: str = "", viewer: Viewer) -> IdInspection:
        """Return what has an id in a context, the default one for an empty text.

        Raises ``SchemaNotFound``, also if the caller may read no subject that has it.
        """
        name = context_name(context)
        viewer.filters()
        uses = [each for each in await self._storage.uses(name, schema_id) if viewer.may_read(each.subject)]
        guid = await self._storage.guid_of_id(name, schema_id) if uses else None
        if guid is None:
            raise schema_not_found(schema_id)
        return await self._inspection(guid, uses, schema_id=schema_id, context=name)

    async def by_guid(self, guid: UUID, *, viewer: Viewer) -> IdInspection:
        """Return what has a guid; raise ``SchemaNotFound``, also if the caller may read no subject that has it."""
        return await self._inspection(guid, await self._readable_uses(guid, viewer=viewer))

    async def _inspection(
        self, guid: UUID, uses: Sequence[VersionUse], *, schema_id: int | None = None, context: str = ""
    ) -> IdInspection:
        content = await self._reader.content(guid)
        name = await name_of_type(self._reader, uses[0].subject, content)
        return IdInspection(
            str(guid), content.schema_type.value, name, schema_id, context, tuple(map(version_name, uses[:_MAX_USES]))
        )

    async def uses_of_guid(self, guid: UUID, *, viewer: Viewer) -> tuple[VersionName, ...]:
        """Return the versions with a content, in any context, of subjects that the caller may read."""
        return tuple([version_name(each) async for each in self._uses(guid, viewer=viewer)][:_MAX_USES])

    async def _uses(self, guid: UUID, *, viewer: Viewer) -> AsyncIterator[VersionUse]:
        viewer.filters()
        pauses = Pauses()
        for context, schema_id in await self._storage.ids_of_guid(guid):
            await pauses.pause_if_due()
            for use in await self._storage.uses(context, schema_id):
                if viewer.may_read(use.subject):
                    yield use

    async def _readable_uses(self, guid: UUID, *, viewer: Viewer) -> list[VersionUse]:
        uses = [each async for each in self._uses(guid, viewer=viewer)]
        if not uses:
            raise SchemaNotFound(f"Schema {guid} not found")
        return uses

    # --- the laid-out text

    async def source(self, guid: UUID, *, first: int = 1, count: int = MAX_LINES, viewer: Viewer) -> SourceWindow:
        """Return some lines of the laid-out text of a content; raise ``SchemaNotFound`` as :meth:`by_guid` does."""
        holder = (await self._readable_uses(guid, viewer=viewer))[0]
        return await self.version_source(holder.subject, guid, first=first, count=min(count, MAX_LINES))

    async def version_source(
        self, subject: QualifiedSubject, guid: UUID, *, first: int = 1, count: int = MAX_LINES
    ) -> SourceWindow:
        """Return some lines of the laid-out text of a version of a subject that the caller may read.

        Unlike :meth:`source` it needs no search for a subject, so that it also reads the past.
        """
        content = await self._reader.content(guid)
        key = (subject.context, guid, first, count)
        found = self._sources.get(key)
        if found is None:
            parsed = await self._reader.parsed(subject.context, content)
            windows = _WINDOWS_AHEAD if self._reader.is_large(parsed) else 1
            made = await self._reader.about(parsed, source_windows, first, count, windows)
            for start, each in zip(range(first, first + count * windows, count), made, strict=False):
                self._sources.put((subject.context, guid, start, count), each, weight=weight_of_source(each))
            found = made[0]
        return found

    async def holder(self, guid: UUID, *, viewer: Viewer) -> VersionUse:
        """Return a version with a content, of a subject that the caller may read; raise ``SchemaNotFound``."""
        return (await self._readable_uses(guid, viewer=viewer))[0]

    # --- references

    async def references(
        self,
        subject: QualifiedSubject,
        version: int | None,
        *,
        direction: ReferenceDirection = ReferenceDirection.OUT,
        depth: int = 2,
        viewer: Viewer,
    ) -> ReferenceGraph:
        """Return the references of a version of a subject that the caller may read, to a depth.

        What the caller may not read is left out, with everything behind it; the references in a schema that it may
        read are named. Raises ``SubjectNotFound``, ``VersionNotFound``.
        """
        history = await self._storage.history(subject)
        start = subject, history.pick(subject, version, deleted=True).version
        walk = _ReferenceWalk(self._storage, self._reader, depth=min(depth, MAX_DEPTH), viewer=viewer)
        if direction is not ReferenceDirection.IN:
            await walk.follow(start)
        if direction is not ReferenceDirection.OUT:
            await walk.follow_back(start)
        return ReferenceGraph(str(subject), start[1], tuple(walk.edges), walk.is_cut)


class _ReferenceWalk:
    """The references that were followed from one version; each version is visited once in each direction."""

    def __init__(self, storage: Storage, reader: SchemaReader, *, depth: int, viewer: Viewer) -> None:
        self._storage = storage
        self._reader = reader
        self._depth = depth
        self._viewer = viewer
        self._pauses = Pauses()
        self.edges: list[ReferenceEdge] = []
        self.is_cut = False

    async def follow(self, start: tuple[QualifiedSubject, int]) -> None:
        """Add the references to what a version refers to."""
        seen, level = {start}, [start]
        for depth in range(1, self._depth + 1):
            following = []
            for subject, version in level:
                async for name, target in self._targets(subject, version):
                    if not self._add(ReferenceEdge(str(subject), version, str(target[0]), target[1], name, depth)):
                        return
                    if target not in seen and self._viewer.may_read(target[0]):
                        seen.add(target)
                        following.append(target)
            level = following
        self.is_cut = self.is_cut or any([await self._has_targets(*each) for each in level])

    async def follow_back(self, start: tuple[QualifiedSubject, int]) -> None:
        """Add the references of others to a version."""
        seen, level = {start}, [start]
        for depth in range(1, self._depth + 1):
            following = []
            for subject, version in level:
                for use in await self._referrers(subject, version):
                    source = use.subject, use.version
                    async for name, target in self._targets(*source):
                        edge = ReferenceEdge(str(use.subject), use.version, str(subject), version, name, depth)
                        if target == (subject, version) and not self._add(edge):
                            return
                    if source not in seen:
                        seen.add(source)
                        following.append(source)
            level = following
        self.is_cut = self.is_cut or any([bool(await self._referrers(*each)) for each in level])

    async def _targets(
        self, subject: QualifiedSubject, version: int
    ) -> AsyncIterator[tuple[str, tuple[QualifiedSubject, int]]]:
        """Yield the references of a version; none if it is gone."""
        await self._pauses.pause_if_due()
        entry = (await self._storage.history(subject)).find(version, deleted=True)
        if entry is not None:
            for each in (await self._reader.content(entry.guid)).references:
                yield each.name, (parse_subject(each.subject, context=subject.context), each.version)

    async def _referrers(self, subject: QualifiedSubject, version: int) -> list[VersionUse]:
        await self._pauses.pause_if_due()
        return [each for each in await self._storage.referrers(subject, version) if self._viewer.may_read(each.subject)]

    async def _has_targets(self, subject: QualifiedSubject, version: int) -> bool:
        async for _ in self._targets(subject, version):
            return True
        return False

    def _add(self, edge: ReferenceEdge) -> bool:
        """Add an edge; return False if there are too many."""
        if len(self.edges) >= _MAX_EDGES:
            self.is_cut = True
            return False
        self.edges.append(edge)
        return True


def context_name(text: str) -> str:
    """Return the context that a text names: ``.eu`` or ``:.eu:``; the default one for an empty text."""
    if not text:
        return DEFAULT_CONTEXT
    return parse_subject(text).context if text.startswith(":") else text


def version_name(use: VersionUse) -> VersionName:
    """Return the name of a version with an id."""
    return VersionName(str(use.subject), use.version, use.schema_id, use.deleted)
