"""One version of a subject with its elements, and the life of an element over all versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.inspection.belongings import SubjectBelongings
from counterfoil.registry.inspection.facts import DerivedFacts, Versions, weight_of_life, weight_of_table
from counterfoil.registry.inspection.identifiers import IdentifierPages
from counterfoil.registry.inspection.subjects import SubjectPages, reference_names
from counterfoil.registry.judges.judging import LongJudgements, Pauses
from counterfoil.registry.search.searching import Searching
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.reading import LANGUAGE_CODE, SchemaReader
from counterfoil.registry.subjects.versions import Content, SubjectHistory, VersionEntry, subject_not_found
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.element_tables import (
    MAX_ELEMENTS,
    ElementTable,
    NumberedSource,
    TablePlace,
    element_history,
    element_table,
    element_windows,
    page_of,
    place_in,
    place_of,
    table_after,
)
from counterfoil.schema.errors import InvalidSchema, JudgementEnded, NotFound
from counterfoil.schema.model import Metadata, RuleSet
from counterfoil.schema.rest.inspection import (
    ElementInspection,
    ElementRows,
    ElementStep,
    MetadataRow,
    RuleSetRow,
    VersionInspection,
)

_QUICK_CHARS: Final = 4 * 1024
"""The characters of all texts of a table that is made in the event loop."""

_LARGE_CHARS: Final = 256 * 1024
"""The characters of a text whose elements are made page by page, and only pages are kept."""

_HISTORY_CHARS: Final = 2 * 1024 * 1024
"""The characters of all earlier versions that are read to find out since when elements are there."""

_HISTORY_VERSIONS: Final = 200
_KEY_BYTES: Final = 120
"""The memory of a version in the key of what is cached."""

_PAGES_AHEAD: Final = 5
"""The pages of a large schema that are made at once: reading it takes longer than making them."""

_NO_TABLE: Final = ElementTable("", ElementRows((), 0))
_TOO_LARGE: Final = "The schema is too large for its elements to be listed within the limits of this server"


class VersionPages:
    """The use cases of one version, and of its elements. ``belongings`` is None for the past."""

    def __init__(
        self,
        storage: Storage,
        *,
        reader: SchemaReader,
        subjects: SubjectPages,
        identifiers: IdentifierPages,
        belongings: SubjectBelongings | None,
        long: LongJudgements,
        search: Searching,
        facts: DerivedFacts,
    ) -> None:
        self._storage = storage
        self._reader = reader
        self._subjects = subjects
        self._identifiers = identifiers
        self._belongings = belongings
        self._long = long
        self._search = search
        self._facts = facts

    async def version(
        self,
        subject: QualifiedSubject,
        version: int | None,
        *,
        prefix: str = "",
        after: str = "",
        limit: int = MAX_ELEMENTS,
        lists_elements: bool = True,
        viewer: Viewer,
    ) -> VersionInspection:
        """Return a version of a subject that the caller may read; None is the latest; soft-deleted ones are there.

        Its elements are those with a prefix, after one of them, ``limit`` at most. Without ``lists_elements``, what
        follows from reading the schema is left out where that takes long. Raises ``SubjectNotFound``,
        ``VersionNotFound``, ``BadRequest``.
        """
        history = await self._storage.history(subject)
        entry = history.pick(subject, version, deleted=True)
        content = await self._reader.content(entry.guid)
        is_read = lists_elements or len(content.text) <= _LARGE_CHARS
        table = _NO_TABLE
        if is_read:
            table = await self._page(subject, history, entry, prefix=prefix, after=after, limit=limit)
        [step] = await self._subjects.steps(subject, history, [entry], are_compared=is_read)
        numbers = [each.version for each in history.entries]
        place = numbers.index(entry.version)
        uses = () if self._belongings is None else await self._identifiers.uses_of_guid(entry.guid, viewer=viewer)
        return VersionInspection(
            str(subject),
            subject.context,
            entry.version,
            entry.schema_id,
            str(entry.guid),
            content.schema_type.value,
            table.name,
            step,
            table.elements,
            table.types,
            tuple(each for each in uses if (each.subject, each.version) != (str(subject), entry.version)),
            reference_names(subject, content),
            await self._subjects.referrers(subject, [entry], viewer=viewer),
            tuple(_rules(content.rule_set)),
            tuple(_metadata(content.metadata)),
            table.tags,
            table.warnings,
            len(content.text),
            numbers[place - 1] if place else None,
            numbers[place + 1] if place + 1 < len(numbers) else None,
            None if history.latest is None else history.latest.version,
        )

    async def elements(
        self, subject: QualifiedSubject, version: int | None, *, prefix: str = "", after: str = "", viewer: Viewer
    ) -> ElementRows:
        """Return the elements of a version of a subject that the caller may read, as :meth:`version` does."""
        del viewer
        history = await self._storage.history(subject)
        entry = history.pick(subject, version, deleted=True)
        return (await self._page(subject, history, entry, prefix=prefix, after=after)).elements

    async def element(self, subject: QualifiedSubject, path: str, *, viewer: Viewer) -> ElementInspection:
        """Return the life of the element at a path, over the newest versions of a subject that the caller may read.

        Raises ``SubjectNotFound``, and ``NotFound`` if no version has the element.
        """
        history = await self._storage.history(subject)
        if not history.entries:
            raise subject_not_found(subject, history)
        entries = {each.version: each for each in history.entries}
        found = await self._life(subject, history, path)
        if not any(each.element is not None for each in found):
            raise NotFound(f"No version of subject {str(subject)!r} has an element {path[:200]!r}")
        steps = tuple(_dated(each, entries[each.version]) for each in found)
        if self._belongings is None:
            return ElementInspection(str(subject), path, steps)
        return ElementInspection(
            str(subject),
            path,
            steps,
            await self._belongings.readers_of_path(subject, path, viewer=viewer),
            await self._search.namesakes(subject, path, visible=viewer.visible(AccessOperation.READ)),
            await self._belongings.owner(subject, viewer=viewer),
        )

    async def place(self, subject: QualifiedSubject, version: int | None, at: str) -> tuple[int, TablePlace | None]:
        """Return the number of a version, and the place of its element with a path or a pointer, None if it has none.

        Raises ``SubjectNotFound``, ``VersionNotFound``.
        """
        history = await self._storage.history(subject)
        entry = history.pick(subject, version, deleted=True)
        try:
            own = await self._numbered(subject, entry, await self._reader.content(entry.guid))
            if own.source.chars > _LARGE_CHARS:
                return entry.version, await self._long.run(place_of, own, at)
            table = await self._table(subject, history, entry, own)
        except InvalidSchema:  # no element of it is listed
            return entry.version, None
        return entry.version, place_in(table.elements.elements, at)

    async def _life(self, subject: QualifiedSubject, history: SubjectHistory, path: str) -> tuple[ElementStep, ...]:
        """Return the life of the element at a path over the newest versions of a subject."""
        sources = await self._sources(subject, history.entries)
        key = _key(subject, history, sources), path
        found = self._facts.lives.get(key)
        if found is None:
            found = await self._long.run(element_history, tuple(sources), path)
            self._facts.lives.put(key, found, weight=weight_of_life(found) + _KEY_BYTES * len(sources) + 4 * len(path))
        return found

    # --- tables of elements

    async def _page(
        self,
        subject: QualifiedSubject,
        history: SubjectHistory,
        entry: VersionEntry,
        *,
        prefix: str,
        after: str,
        limit: int = MAX_ELEMENTS,
    ) -> ElementTable:
        content = await self._reader.content(entry.guid)
        try:
            own = await self._numbered(subject, entry, content)
            if own.source.chars > _LARGE_CHARS:
                return await self._window(subject, entry, own, prefix=prefix, after=after, limit=limit)
            table = await self._table(subject, history, entry, own)
        except InvalidSchema as error:  # it was registered under other rules, or what it refers to is gone
            return ElementTable("", ElementRows((), 0), warnings=(error.message,))
        except JudgementEnded:
            return ElementTable("", ElementRows((), 0), warnings=(_TOO_LARGE,))
        return replace(table, elements=page_of(table.elements, prefix, after, limit=limit))

    async def _table(
        self, subject: QualifiedSubject, history: SubjectHistory, entry: VersionEntry, own: NumberedSource
    ) -> ElementTable:
        """Return the table of all elements of a version, with the versions since which they are there."""
        earlier = [each for each in history.active if each.version < entry.version]
        before = await self._sources(subject, earlier, most_chars=_HISTORY_CHARS)
        is_whole = len(before) == len(earlier)
        tables, versions = self._facts.tables, (*before, own)
        key = _key(subject, history, versions)
        found = tables.get(key)
        if found is None:
            last = tables.get(_key(subject, history, before)) if before else None
            if last is not None:  # only what is new has to be walked
                found = table_after(await self._made(own, ()), last)
            else:
                found = await self._made(own, before)
                if not is_whole:
                    found = _with_known_since(found, versions[0].version)
            tables.put(key, found, weight=weight_of_table(found) + _KEY_BYTES * len(versions))
        return found

    async def _window(
        self,
        subject: QualifiedSubject,
        entry: VersionEntry,
        own: NumberedSource,
        *,
        prefix: str,
        after: str,
        limit: int,
    ) -> ElementTable:
        """Return a page of the elements of a version with a large schema."""
        key = (subject.context, (entry.guid,), (entry.version,), prefix, after, limit)
        found = self._facts.windows.get(key)
        if found is not None:
            return found
        first, *others = await self._long.run(element_windows, own, prefix, after, limit, _PAGES_AHEAD)
        for each in (first, *others):
            key = (*key[:-2], after, limit)
            self._facts.windows.put(key, each, weight=weight_of_table(each) + 4 * (len(prefix) + len(after)))
            after = each.elements.next
        return first

    async def _made(self, own: NumberedSource, before: Sequence[NumberedSource]) -> ElementTable:
        if sum(each.source.chars for each in (own, *before)) <= _QUICK_CHARS:
            await LANGUAGE_CODE.to_compare(own.source.schema_type)
            return element_table(own, before)
        return await self._long.run(element_table, own, tuple(before))

    async def _sources(
        self, subject: QualifiedSubject, entries: Sequence[VersionEntry], *, most_chars: int = _HISTORY_CHARS
    ) -> list[NumberedSource]:
        """Return the newest of some versions as sources, ascending, with so many characters at most.

        Those that refer to what is not there are left out.
        """
        found: list[NumberedSource] = []
        pauses = Pauses()
        for entry in reversed(entries[-_HISTORY_VERSIONS:]):
            await pauses.pause_if_due()
            try:
                source = await self._numbered(subject, entry, await self._reader.content(entry.guid))
            except InvalidSchema:
                continue
            most_chars -= source.source.chars
            if most_chars < 0:
                break
            found.append(source)
        return found[::-1]

    async def _numbered(self, subject: QualifiedSubject, entry: VersionEntry, content: Content) -> NumberedSource:
        """Return a version as what its schema is parsed from; raise ``InvalidSchema`` if a reference is missing."""
        source = await self._reader.source(subject.context, content)
        tags = {} if content.metadata is None else content.metadata.tags
        return NumberedSource(entry.version, source, tuple((path, tuple(names)) for path, names in tags.items()))


def _key(subject: QualifiedSubject, history: SubjectHistory, versions: Sequence[NumberedSource]) -> Versions:
    """Return what tables and lives of some versions of a history are cached by."""
    guids = {each.version: each.guid for each in history.entries}
    numbers = tuple(each.version for each in versions)
    return subject.context, tuple(guids[number] for number in numbers), numbers


def _with_known_since(table: ElementTable, first: int) -> ElementTable:
    """Return a table in which an element that the first version had that was read is there since an unknown one."""
    rows = tuple(replace(each, since=None) if each.since == first else each for each in table.elements.elements)
    return replace(table, elements=replace(table.elements, elements=rows))


def _dated(step: ElementStep, entry: VersionEntry) -> ElementStep:
    return replace(step, registered=entry.ts, is_deleted=entry.deleted)


def _rules(rule_set: RuleSet | None) -> Iterator[RuleSetRow]:
    for rule in () if rule_set is None else rule_set.rules:
        yield RuleSetRow(
            rule.name, rule.kind, rule.mode, rule.type or "", rule.expr or "", tuple(rule.tags), rule.doc or ""
        )


def _metadata(metadata: Metadata | None) -> Iterator[MetadataRow]:
    """Yield the properties of metadata, without the values of sensitive ones."""
    for key, value in () if metadata is None else sorted(metadata.properties.items()):
        is_sensitive = metadata is not None and key in metadata.sensitive
        yield MetadataRow(key, "" if is_sensitive else value, is_sensitive)
