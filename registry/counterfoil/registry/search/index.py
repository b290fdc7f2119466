"""The index in a database: its state, its subjects, and the writing of what has changed about them."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from counterfoil.registry.search.dialects import FORMAT
from counterfoil.registry.search.lives import (
    HitRole,
    HitRow,
    IndexedSubject,
    IndexWord,
    posting,
    postings_packed,
    postings_unpacked,
    scope_key,
)
from counterfoil.registry.search.protocol import IndexUnusable
from counterfoil.registry.search.texts import MAX_DOC_CHARS, storable
from counterfoil.registry.store.changes import JournalChange, document_text, facts_of
from counterfoil.schema.caches import RecentValues

if TYPE_CHECKING:
    from counterfoil.registry.search.protocol import IndexDatabase, IndexTransaction
    from counterfoil.schema.contexts import QualifiedSubject

_Work: TypeAlias = "tuple[str, Sequence[Sequence[object]]]"
"""A statement, and the rows of arguments with which it is carried out."""

_KNOWN_WORDS: Final = 20_000
_GENERATION_BITS: Final = 40

NOT_BEGUN: Final = 0
"""The generation of a building that was requested, and that nobody has begun."""

# The state of an index, written in the transaction of the rows that it is about.


@dataclass(frozen=True, slots=True)
class JournalMark:
    """A place in the journal: the number of the last change before it, and a digest of that change.

    The digest tells another store from this one, such as one that was restored from a backup.
    """

    change: int = 0
    digest: str = ""


def mark_of(change: JournalChange) -> JournalMark:
    """Return the place behind a change."""
    facts = facts_of(change, document_text(change.document))
    return JournalMark(change.seq, sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest())


@dataclass(frozen=True, slots=True)
class IndexBuilding:
    """A generation that is being built, and how far it is.

    Subjects are taken by context and name, until ``is_filled``; ``context`` and ``name`` are of the last one that it
    has. Then it is completed in some steps, of which ``completed`` are done, until ``is_complete``; and then it follows
    the journal from ``mark``, the place where it was begun.
    """

    generation: int
    mark: JournalMark = JournalMark()
    context: str = ""
    name: str = ""
    is_filled: bool = False
    completed: int = 0
    is_complete: bool = False

    @property
    def is_begun(self) -> bool:
        """Whether it has tables."""
        return self.generation != NOT_BEGUN


@dataclass(frozen=True, slots=True)
class StoredState:
    """The state of an index: ``current`` is the generation that is whole up to ``mark``; None if there is none yet."""

    current: int | None = None
    mark: JournalMark = JournalMark()
    building: IndexBuilding | None = None

    @property
    def searched(self) -> int | None:
        """The generation that answers queries: the whole one, else the one that is being built if it is complete."""
        if self.current is not None:
            return self.current
        return None if self.building is None or not self.building.is_complete else self.building.generation

    def document(self) -> str:
        """Return the state as it is stored."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, text: str) -> StoredState:
        """Return a state that was stored."""
        given = json.loads(text)
        if given.get("format", FORMAT) != FORMAT:
            raise IndexUnusable(f"it has the format {given['format']}; this version needs {FORMAT}")
        building = given.get("building")
        return cls(
            given.get("current"),
            JournalMark(**given.get("mark", {})),
            None if building is None else IndexBuilding(**{**building, "mark": JournalMark(**building["mark"])}),
        )


def new_generation() -> int:
    """Return the number of a new generation, which no index had before: servers remember numbers of its words."""
    return secrets.randbits(_GENERATION_BITS)


# The subjects of a generation, as they are read and written.


class SubjectUpdate(NamedTuple):
    """What has changed about a subject; ``problems`` are its versions that cannot be read, with the reason.

    ``fingerprints`` are pairs of the first bytes of one, and the guid of its schema.
    """

    subject: QualifiedSubject
    before: IndexedSubject
    after: IndexedSubject
    fingerprints: Sequence[tuple[bytes, bytes]] = ()
    problems: Sequence[tuple[int, str]] = ()
    is_anew: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether there is something to write."""
        return self.is_anew or bool(self.problems) or self.before != self.after


class SearchIndex:
    """The index in a database. Reads and writes are made in its transactions."""

    def __init__(self, database: IndexDatabase) -> None:
        self.database = database
        self._known: RecentValues[tuple[int, bytes], int] = RecentValues(_KNOWN_WORDS)
        self._new: dict[tuple[int, bytes], int] = {}

    async def state(self, found: IndexTransaction) -> StoredState:
        """Return the state."""
        rows = await found.rows(f"SELECT document FROM {self.database.dialect.schema}state")
        return StoredState.read(rows[0][0]) if rows else StoredState()

    async def put_state(self, writing: IndexTransaction, state: StoredState) -> None:
        """Store the state."""
        await writing.rows(
            f"INSERT INTO {self.database.dialect.schema}state (id, document) VALUES (1, $1) "
            "ON CONFLICT (id) DO UPDATE SET document = excluded.document",
            state.document(),
        )

    async def begin(self, writing: IndexTransaction, state: StoredState, mark: JournalMark) -> StoredState:
        """Begin to build a new generation at a place in the journal, instead of one that is being built."""
        dialect = self.database.dialect
        if state.building is not None and state.building.generation != state.current:
            await writing.script(dialect.removal(state.building.generation))
        generation = new_generation()
        await writing.script(dialect.creation(generation))
        return replace(state, building=IndexBuilding(generation, mark))

    async def request_building(self, writing: IndexTransaction) -> None:
        """Have the index built anew by whoever takes the next step; queries go on meanwhile."""
        state = await self.state(writing)
        if state.building is not None:
            await writing.script(self.database.dialect.removal(state.building.generation))
        await self.put_state(writing, replace(state, building=IndexBuilding(NOT_BEGUN)))

    async def drop(self, writing: IndexTransaction, state: StoredState) -> StoredState:
        """Remove all generations, and return the state of an empty index."""
        for each in (state.current, None if state.building is None else state.building.generation):
            if each is not None:
                await writing.script(self.database.dialect.removal(each))
        return StoredState()

    async def complete(self, writing: IndexTransaction, building: IndexBuilding) -> IndexBuilding:
        """Take the next step from a generation that is filled to one that answers queries and follows the journal."""
        steps = self.database.dialect.completion(building.generation)
        if building.completed < len(steps):
            await writing.script(steps[building.completed])
        completed = building.completed + 1
        return replace(building, completed=completed, is_complete=completed >= len(steps))

    async def swap(self, writing: IndexTransaction, state: StoredState) -> StoredState:
        """Let the generation that was built answer, and remove the one before."""
        if state.building is None:
            return state
        if state.current is not None:
            await writing.script(self.database.dialect.removal(state.current))
        return StoredState(state.building.generation, state.building.mark)

    async def documents(self, found: IndexTransaction, g: int, scopes: Sequence[str]) -> dict[str, IndexedSubject]:
        """Return what a generation has of subjects, by their keys."""
        rows = await self._of_subjects(found, g, "document", scopes)
        return {scope: IndexedSubject.unpacked(bytes(document)) for scope, document in rows}

    async def postings(self, found: IndexTransaction, g: int, scopes: Sequence[str]) -> dict[str, Sequence[int]]:
        """Return the words of subjects as :func:`~counterfoil.registry.search.lives.posting`, by their keys."""
        rows = await self._of_subjects(found, g, "postings", scopes)
        return {scope: postings_unpacked(bytes(packed)) for scope, packed in rows}

    async def _of_subjects(
        self, found: IndexTransaction, g: int, columns: str, scopes: Sequence[str]
    ) -> Sequence[Sequence[Any]]:
        dialect = self.database.dialect
        return await found.rows(
            f"SELECT scope, {columns} FROM {dialect.table('subjects', g)} WHERE {dialect.among('scope', '$1')}",
            dialect.texts(scopes),
        )

    async def unreadable(self, found: IndexTransaction, g: int) -> int:
        """Return the number of versions that could not be read."""
        return int((await found.rows(f"SELECT count(*) FROM {self.database.dialect.table('unreadable', g)}"))[0][0])

    async def unreadable_versions(self, found: IndexTransaction, g: int, *, limit: int) -> list[tuple[str, int, str]]:
        """Return some of the versions that could not be read, and why: key of the subject, number, reason."""
        table = self.database.dialect.table("unreadable", g)
        rows = await found.rows(f"SELECT scope, version, problem FROM {table} ORDER BY scope, version LIMIT $1", limit)
        return [(scope, version, problem) for scope, version, problem in rows]

    async def version_numbers(
        self, found: IndexTransaction, g: int, scopes: Sequence[str]
    ) -> dict[str, tuple[int | None, int]]:
        """Return the number of the latest version of subjects, None if all are deleted, and that of the last one."""
        rows = await self._of_subjects(found, g, "latest, last", scopes)
        return {scope: (latest, last) for scope, latest, last in rows}

    async def number_of(self, found: IndexTransaction, g: int, word: IndexWord) -> int | None:
        """Return the number of a word; None if no subject has it."""
        dialect = self.database.dialect
        rows = await found.rows(dialect.words_with_keys(g), dialect.digests([word.key]))
        return int(rows[0][1]) if rows else None

    async def guids_with(self, found: IndexTransaction, g: int, fingerprint: bytes, limit: int) -> list[UUID]:
        """Return the guids of schemas with a fingerprint, of which the first bytes are given in either order."""
        rows = await found.rows(
            f"SELECT DISTINCT guid FROM {self.database.dialect.table('fingerprints', g)} "
            "WHERE fingerprint IN ($1, $2) ORDER BY guid LIMIT $3",
            fingerprint,
            fingerprint[::-1],
            limit,
        )
        return [UUID(bytes=bytes(guid)) for (guid,) in rows]

    # --- writing

    async def put(
        self, writing: IndexTransaction, g: int, updates: Sequence[SubjectUpdate], *, is_complete: bool = True
    ) -> None:
        """Write what has changed about some subjects.

        Unless the generation ``is_complete``, these are subjects of which it has nothing.
        """
        dialect = self.database.dialect
        changed = [(each, *each.after.differences(each.before, each.subject)) for each in updates]
        numbers = await self._numbers(
            writing, g, [row.word for _, new, old in changed for row in (*new, *old)], is_complete=is_complete
        )
        known = [scope_key(each.subject) for each in updates if each.before.count and each.after.count]
        before = await self.postings(writing, g, known) if known else {}
        postings: dict[str, bytes] = {}
        added: list[tuple[object, ...]] = []
        removed: list[tuple[object, ...]] = []
        for each, new, old in changed:
            scope = scope_key(each.subject)
            words = Counter(before.get(scope, ()))
            words.update(posting(numbers[row.word], row.state) for row in new)
            words.subtract(posting(numbers[row.word], row.state) for row in old)
            postings[scope] = postings_packed(words.elements())
            kept = {row[:4] for row in new}
            added += [_stored(row, numbers[row.word]) for row in new]
            removed += [_stored(row, numbers[row.word])[:4] for row in old if row[:4] not in kept]
        prints = dict.fromkeys(pair for each in updates for pair in each.fingerprints)
        await writing.each_of_all(
            [
                (dialect.remove_hit(g), removed),
                (dialect.put_hit(g) if is_complete else dialect.fill_hit(g), added),
                (
                    f"INSERT INTO {dialect.table('fingerprints', g)} VALUES ($1, $2) ON CONFLICT DO NOTHING",
                    list(prints),
                ),
                *self._subjects_put(g, updates, postings),
            ]
        )

    def _subjects_put(self, g: int, updates: Sequence[SubjectUpdate], postings: Mapping[str, bytes]) -> Iterator[_Work]:
        """Yield the statements that write what is kept of subjects themselves."""
        subjects, unreadable = (self.database.dialect.table(name, g) for name in ("subjects", "unreadable"))
        gone = [(scope_key(each.subject),) for each in updates if not each.after.count]
        yield f"DELETE FROM {subjects} WHERE scope = $1", gone
        columns = ("latest", "last", "language", "document", "postings")
        changed = ", ".join(f"{each} = excluded.{each}" for each in columns)
        values = f"(scope, {', '.join(columns)}) VALUES ($1, $2, $3, $4, $5, $6)"
        yield (
            f"INSERT INTO {subjects} {values} ON CONFLICT (scope) DO UPDATE SET {changed}",
            [
                (scope, each.after.latest, each.after.last, each.after.language, each.after.packed(), postings[scope])
                for each in updates
                if each.after.count and (scope := scope_key(each.subject))
            ],
        )
        anew = [(scope_key(each.subject),) for each in updates if each.is_anew or not each.after.count]
        yield f"DELETE FROM {unreadable} WHERE scope = $1", anew
        yield (
            f"INSERT INTO {unreadable} (scope, version, problem) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            [(scope_key(each.subject), *problem) for each in updates for problem in each.problems],
        )

    async def _numbers(
        self, writing: IndexTransaction, g: int, words: Iterable[IndexWord], *, is_complete: bool
    ) -> dict[IndexWord, int]:
        """Return the numbers of words; new ones get one, and are found from then on."""
        keys = {word: word.key for word in dict.fromkeys(words)}
        found: dict[bytes, int] = {}
        for key in keys.values():
            number = self._known.get((g, key)) or self._new.get((g, key))
            if number is not None:
                found[key] = number
        await self._read_numbers(writing, g, [key for key in keys.values() if key not in found], found)
        new = [word for word, key in keys.items() if key not in found]
        if new:
            dialect = self.database.dialect
            await writing.each(dialect.put_word(g), [dialect.word_row(word, keys[word]) for word in new])
            await self._read_numbers(writing, g, [keys[word] for word in new], found)
            given = dialect.numbers([found[keys[word]] for word in new])
            await writing.each_of_all([(each, [(given,)]) for each in (dialect.put_parts(g) if is_complete else ())])
        self._new.update({(g, key): number for key, number in found.items()})
        return {word: found[key] for word, key in keys.items()}

    async def _read_numbers(
        self, writing: IndexTransaction, g: int, keys: Sequence[bytes], found: dict[bytes, int]
    ) -> None:
        if keys:
            dialect = self.database.dialect
            found.update(
                (key, number) for key, number in await writing.rows(dialect.words_with_keys(g), dialect.digests(keys))
            )

    def note_committed(self) -> None:
        """Remember the numbers of words that were committed."""
        for key, number in self._new.items():
            self._known.put(key, number, weight=1)
        self._new.clear()

    def note_undone(self) -> None:
        """Forget the numbers of words that were not committed."""
        self._new.clear()

    def forget(self) -> None:
        """Forget the numbers of all words: the index was removed."""
        self._new.clear()
        self._known = RecentValues(_KNOWN_WORDS)


def _stored(row: HitRow, number: int) -> tuple[object, ...]:
    """Return the columns of a row; a path or type that is the word itself is empty."""
    word, state, scope, place, path, kind, tags, language, since, until = row
    return (
        number,
        int(state),
        scope,
        place,
        "" if word.role is HitRole.ELEMENT and path == word.text else storable_path(path),
        "" if word.role is HitRole.TYPE else storable_path(kind),
        "\x1f".join(map(storable_path, tags)),
        language,
        since,
        until,
    )


def storable_path(text: str) -> str:
    """Return a path or type as it is stored in a row."""
    return storable(text[:MAX_DOC_CHARS])
