"""The task that keeps an index in step with the journal, and builds it anew where that is due.

Nothing of it runs before the response to a registration. Each step is one transaction: it reads the state, up to 500
changes, what is stored of the subjects in them, and writes rows and state together. So it can be ended at any moment,
and any server may take the next step. What it writes about a subject is a function of what the store has of it now,
whichever changes led there; a change only says which subject to look at.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.registry.associations.records import BY_SUBJECT, stored_association
from counterfoil.registry.judges.judging import Pauses
from counterfoil.registry.logs import LOGGER
from counterfoil.registry.search.index import IndexBuilding, JournalMark, StoredState, SubjectUpdate, mark_of
from counterfoil.registry.search.lives import MAX_SCOPE_CHARS, NOT_INDEXED, IndexedSubject, VersionFacts, scope_key
from counterfoil.registry.search.protocol import IndexIsNewer, IndexUnusable
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind
from counterfoil.registry.store.name_ranges import SubjectRange
from counterfoil.registry.store.writes import StaleWrite
from counterfoil.registry.subjects.reading import LARGE_CHARS
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.errors import RegistryError, StoreTimeout, StoreUnavailable, TooManyJudgements
from counterfoil.schema.rest.search_index import HitKind
from counterfoil.schema.rest.versions import Visibility
from counterfoil.schema.searchable import (
    RememberedFields,
    SearchableFacts,
    SearchableSource,
    SearchFact,
    facts_of_sources,
    schema_facts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexTransaction
    from counterfoil.registry.store.changes import WrittenChanges
    from counterfoil.registry.store.protocol import Storage, StorageRecord
    from counterfoil.registry.subjects.reading import SchemaReader
    from counterfoil.registry.subjects.versions import Content, SubjectHistory, VersionEntry
    from counterfoil.schema.model import Metadata

CHANGES_A_STEP: Final = 500
SUBJECTS_A_STEP: Final = 100

_POLL_S: Final = 1.0
"""How often the journal is read without a write of this server: others may write."""

_TOGETHER_S: Final = 0.05
"""The pause in which writes come together, so that one transaction has all of them."""

_RETRY_S: Final = 1.0
_MAX_RETRIES: Final = 60
_TRANSIENT: Final = (StoreUnavailable, StoreTimeout, TooManyJudgements, StaleWrite)
_ABOUT_VERSIONS: Final = frozenset({JournalChangeKind.REGISTERED, JournalChangeKind.DELETED, JournalChangeKind.REMOVED})
_FIELD_CHARS: Final = 2 * 1024 * 1024
_AHEAD_FROM: Final = 64
"""The contents of a step from which on other processes find their facts; for fewer, sending them costs as much."""
_AT_ONCE: Final = 64
_FIRST_CHARACTER: Final = "\x01"


class SubjectSource:
    """Reads from the store what an index is to have of subjects."""

    def __init__(self, storage: Storage, reader: SchemaReader) -> None:
        self._storage = storage
        self._reader = reader
        self._fields = RememberedFields(_FIELD_CHARS)
        self._ahead: dict[UUID, SearchableFacts] = {}

    async def updates(
        self, subjects: Sequence[QualifiedSubject], known: Mapping[str, IndexedSubject]
    ) -> list[SubjectUpdate]:
        """Return what is to change about subjects of which the index has what is ``known`` by their keys.

        Only further versions are parsed where the index has the first ones as they are stored.
        """
        histories = await asyncio.gather(*map(self._storage.history, subjects))
        records = await self._storage.records_under(BY_SUBJECT, [(each.context, each.name) for each in subjects])
        begun = [
            _Begun(subject, known.get(scope_key(subject), NOT_INDEXED), history, _topics_in(found))
            for subject, history, found in zip(subjects, histories, records, strict=True)
        ]
        missing = list(dict.fromkeys(entry.guid for each in begun for entry in each.missing))
        await asyncio.gather(*map(self._load, missing))
        if self._reader.has_processes and len(missing) > _AHEAD_FROM:
            await self._look_ahead(missing)
        pauses = Pauses()
        found = [await self._update(each, pauses) for each in begun]
        self._ahead.clear()
        return found

    async def _load(self, guid: UUID) -> None:
        """Read a content into the cache of the reader; whoever needs one that cannot be read will see why."""
        with suppress(StoreUnavailable, StaleWrite):
            await self._reader.content(guid)

    async def _look_ahead(self, guids: Sequence[UUID]) -> None:
        """Have the facts of small contents without references found by the processes of judges, many at a time."""
        small: list[Content] = []
        for guid in guids:
            with suppress(StoreUnavailable, StaleWrite):
                content = await self._reader.content(guid)
                small += [content] if _is_small(content) else []
        parts = [small[at : at + _AT_ONCE] for at in range(0, len(small), _AT_ONCE)]
        await asyncio.gather(*map(self._found_apart, parts))

    async def _found_apart(self, contents: Sequence[Content]) -> None:
        sources = [SearchableSource(each.text, each.schema_type, _tags_of(each)) for each in contents]
        try:
            found = await self._reader.beside(facts_of_sources, sources)
        except _TRANSIENT:
            raise
        except Exception:  # noqa: BLE001 - one text must not stop the index of all others: each is read by itself
            LOGGER.warning("schemas cannot be read together for the search index", exc_info=True)
            return
        known = zip(contents, found, strict=True)
        self._ahead.update((content.guid, facts) for content, facts in known if facts is not None)

    async def _update(self, begun: _Begun, pauses: Pauses) -> SubjectUpdate:
        subject, before, history, topics = begun
        if not history.entries:
            return SubjectUpdate(subject, before, NOT_INDEXED, is_anew=True)
        if len(scope_key(subject)) > MAX_SCOPE_CHARS:
            return _too_long(subject, before)
        facts: list[VersionFacts] = []
        prints: list[tuple[bytes, bytes]] = []
        problems: list[tuple[int, str]] = []
        for entry in begun.missing:
            await pauses.pause_if_due()
            found, problem, language = await self._of_version(subject, entry)
            facts.append(VersionFacts(entry.version, language, found.facts))
            prints += [(each, entry.guid.bytes) for each in found.fingerprints]
            if problem:
                problems.append((entry.version, problem))
        kept = before if begun.goes_on else NOT_INDEXED
        after = replace(kept.with_versions(history, facts), topics=topics)
        return SubjectUpdate(subject, before, after, prints, problems, is_anew=not begun.goes_on)

    async def _of_version(self, subject: QualifiedSubject, entry: VersionEntry) -> tuple[SearchableFacts, str, str]:
        """Return the facts of a version, why they are not all, and its language."""
        try:
            content = await self._reader.content(entry.guid)
        except StoreUnavailable as error:
            stored = await self._storage.content(entry.guid)
            if stored is None:
                raise
            return SearchableFacts(()), error.message[:500], stored.schema_type.value  # it is damaged
        return *await self._facts(subject, content), content.schema_type.value

    async def _facts(self, subject: QualifiedSubject, content: Content) -> tuple[SearchableFacts, str]:
        """Return the facts of a content, and why they are not all; an empty text if they are."""
        metadata = content.metadata
        own = () if metadata is None else _metadata_facts(metadata)
        ahead = self._ahead.get(content.guid)
        if ahead is not None:
            return _with_own(own, ahead)
        try:
            parsed = await self._reader.parsed(subject.context, content)
            known = self._fields if _is_small(content) else None
            found = await self._reader.about(parsed, schema_facts, _tags_of(content), known)
        except _TRANSIENT:
            raise
        except RegistryError as error:
            return SearchableFacts(own), error.message[:500]
        except Exception as error:  # noqa: BLE001 - one text must not stop the index of all others
            LOGGER.exception("a stored schema cannot be indexed", extra={"subject": str(subject)})
            return SearchableFacts(own), f"{type(error).__name__}: a defect of the server; its log has the details"
        return _with_own(own, found)


class _Begun(NamedTuple):
    """A subject, what the index has of it, its versions, and the topics that it is associated with."""

    subject: QualifiedSubject
    before: IndexedSubject
    history: SubjectHistory
    topics: tuple[str, ...]

    @property
    def goes_on(self) -> bool:
        """Whether the index has the first versions as they are stored."""
        return self.before.is_beginning_of(self.history)

    @property
    def missing(self) -> Sequence[VersionEntry]:
        """The versions that have to be parsed."""
        return self.history.entries[self.before.count if self.goes_on else 0 :]


def _topics_in(records: Sequence[StorageRecord]) -> tuple[str, ...]:
    return tuple(sorted({stored_association(each.document).resource.name for each in records}))


def _is_small(content: Content) -> bool:
    return not content.references and len(content.text) <= LARGE_CHARS


def _tags_of(content: Content) -> dict[str, tuple[str, ...]]:
    return {} if content.metadata is None else {path: tuple(tags) for path, tags in content.metadata.tags.items()}


def _with_own(own: Sequence[SearchFact], found: SearchableFacts) -> tuple[SearchableFacts, str]:
    """Return the facts of a version with those of its metadata, and why they are not all."""
    problem = f"only the first {len(found.facts)} of its elements and texts are found" if found.is_cut else ""
    return replace(found, facts=(*own, *found.facts)), problem


def _metadata_facts(metadata: Metadata) -> tuple[SearchFact, ...]:
    """Return the properties of a version as facts; of a sensitive one its name alone."""
    hidden = frozenset(metadata.sensitive)
    return tuple(
        SearchFact(HitKind.PROPERTY, key if key in hidden else f"{key}={value}")
        for key, value in metadata.properties.items()
    )


def _too_long(subject: QualifiedSubject, before: IndexedSubject) -> SubjectUpdate:
    problem = f"the name of the subject has more than {MAX_SCOPE_CHARS} characters"
    return SubjectUpdate(subject, before, NOT_INDEXED, problems=[(0, problem)], is_anew=True)


class Following:
    """Keeps ``index`` in step with ``storage``; steps of other servers are as good as its own.

    What cannot be done now is tried again: an index that cannot be used is removed first, and built anew.
    """

    def __init__(self, index: SearchIndex, storage: Storage, reader: SchemaReader) -> None:
        self._index = index
        self._storage = storage
        self._source = SubjectSource(storage, reader)
        self._woken = asyncio.Event()
        self.problem = ""
        """Why the index cannot be used; empty while it can."""
        self._written = self._indexed = 0
        storage.observe(self._note)

    @property
    def behind(self) -> int:
        """The number of known changes that the index lacks."""
        return max(0, self._written - self._indexed)

    def _note(self, written: WrittenChanges | None, /) -> None:
        if written is not None and written.changes:
            self._written = max(self._written, written.changes[-1].seq)
        self._woken.set()

    async def run(self) -> None:
        """Take steps until the task is cancelled."""
        is_open, failures = False, 0
        while True:
            pause_s = _POLL_S
            try:
                if not is_open:
                    await self._index.database.prepare()
                    is_open = True
                await self._take_steps()
                failures, self.problem = 0, ""
            except IndexIsNewer as error:
                self._tell("the search index cannot be used", error)
                pause_s = _RETRY_S * _MAX_RETRIES
            except IndexUnusable as error:
                is_open = await self._begun_anew(error)
                pause_s = 0.0 if is_open and not failures else _RETRY_S * min(failures + 1, _MAX_RETRIES)
                failures += 1
            except RegistryError as error:  # it passes: the store, or the file, cannot be reached
                self._tell("the search index has to wait", error)
                pause_s = _RETRY_S
            except StaleWrite:
                pause_s = _POLL_S
            except Exception as error:  # noqa: BLE001 - the task goes on
                LOGGER.exception("the search index cannot follow the journal; it is tried again")
                self.problem = repr(error)
                pause_s = _RETRY_S
            await self._pause(pause_s)

    def _tell(self, what: str, error: Exception) -> None:
        """Log why the index is behind, once until it is not any more."""
        if not self.problem:
            LOGGER.warning(what, extra={"cause": str(error)})
        self.problem = str(error)

    async def _pause(self, pause_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), pause_s)
        self._woken.clear()
        await asyncio.sleep(_TOGETHER_S if pause_s else 0)

    async def _begun_anew(self, error: IndexUnusable) -> bool:
        """Remove an index that cannot be used, and return whether there is an empty one instead."""
        self._tell("the search index cannot be used, and is built anew", error)
        self._index.forget()
        try:
            await self._index.database.remove()
            await self._index.database.prepare()
        except (IndexUnusable, RegistryError) as lost:
            self.problem = str(lost)
            return False
        return True

    async def until_current(self) -> None:
        """Take steps until the index is whole and has every change; for commands and tests."""
        await self._index.database.prepare()
        await self._take_steps()

    async def _take_steps(self) -> None:
        has_more = True
        while has_more:
            has_more = await self.step()
            await asyncio.sleep(0)

    async def step(self) -> bool:
        """Take one step; return whether there is more to do."""
        index = self._index
        try:
            async with index.database.writing() as writing:
                if writing is None:
                    return False  # another server takes one
                before = await index.state(writing)
                after = await self._advanced(writing, before)
                if after != before:
                    await index.put_state(writing, after)
        except BaseException:
            index.note_undone()
            raise
        index.note_committed()
        self._indexed = 0 if after.current is None else after.mark.change
        return after != before

    async def _advanced(self, writing: IndexTransaction, state: StoredState) -> StoredState:
        """Take one step of what there is to do, and return the state after it."""
        if state.current is None and state.building is None:
            return await self._index.begin(writing, state, await self._end_of_journal())
        building = state.building
        if building is not None and not building.is_begun:
            return await self._index.begin(writing, replace(state, building=None), await self._end_of_journal())
        if building is not None and not building.is_filled:
            building = await self._filled(writing, building)
        elif building is not None and not building.is_complete:
            building = await self._index.complete(writing, building)
        elif building is not None:
            mark = await self._followed(writing, building.generation, building.mark)
            if mark == building.mark:
                return await self._index.swap(writing, state)
            if mark is None:
                return await self._index.begin(writing, state, await self._end_of_journal())
            building = replace(building, mark=mark)
        if state.current is None:
            return replace(state, building=building)
        mark = await self._followed(writing, state.current, state.mark)
        if mark is None:  # of another store
            return await self._index.drop(writing, state)
        return replace(state, building=building, mark=mark)

    async def _end_of_journal(self) -> JournalMark:
        last = await self._storage.last_change()
        self._written = max(self._written, last)
        changes = await self._storage.changes(last - 1, 1) if last else ()
        return mark_of(changes[0]) if changes else JournalMark()

    async def _followed(self, writing: IndexTransaction, g: int, mark: JournalMark) -> JournalMark | None:
        """Index the next changes after a place in the journal, and return the place behind them.

        None if the journal has another change at that place, so that it is that of another store. Histories are read
        after the changes, and after a catch-up: they are at least as new as these.
        """
        changes = list(await self._storage.changes(max(mark.change - 1, 0), CHANGES_A_STEP + 1))
        if mark.change:
            if not changes or mark_of(changes[0]) != mark:
                return None
            del changes[0]
        changes = changes[:CHANGES_A_STEP]
        if not changes:
            return mark
        await self._storage.catch_up()
        await self._update(writing, g, list(dict.fromkeys(_subjects_of(changes))))
        return mark_of(changes[-1])

    async def _filled(self, writing: IndexTransaction, building: IndexBuilding) -> IndexBuilding:
        """Index the next subjects by context and name."""
        await self._storage.catch_up()
        contexts = sorted({DEFAULT_CONTEXT, *await self._storage.contexts()})
        context = building.context or contexts[0]
        low = building.name + _FIRST_CHARACTER if building.name else ""
        names = json.loads(
            await self._storage.names_within(
                [SubjectRange(context, low, None)], Visibility.WITH_DELETED, first=0, last=SUBJECTS_A_STEP
            )
        )
        subjects = [parse_subject(name) for name in names]
        await self._update(writing, building.generation, subjects, is_complete=False)
        if len(subjects) == SUBJECTS_A_STEP:
            return replace(building, context=context, name=subjects[-1].name)
        following = [each for each in contexts if each > context]
        if following:
            return replace(building, context=following[0], name="")
        return replace(building, is_filled=True)

    async def _update(
        self, writing: IndexTransaction, g: int, subjects: Sequence[QualifiedSubject], *, is_complete: bool = True
    ) -> None:
        known: dict[str, IndexedSubject] = {}
        if is_complete:
            known = await self._index.documents(writing, g, [scope_key(each) for each in subjects])
        updates = await self._source.updates(subjects, known)
        changed = [each for each in updates if each.is_changed]
        await self._index.put(writing, g, changed, is_complete=is_complete)


def _subjects_of(changes: Iterable[JournalChange]) -> Iterable[QualifiedSubject]:
    """Yield the subjects of which the index may lack something after some changes."""
    for change in changes:
        if change.kind in _ABOUT_VERSIONS:
            yield change.subject
        elif change.kind is JournalChangeKind.RECORD and (change.document or {}).get("kind") == BY_SUBJECT:
            context, name, *_ = (change.document or {})["key"]
            yield QualifiedSubject(context, name)
