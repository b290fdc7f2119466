"""The sources of facts, and the order of the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.moving.facts import Unreadable, VersionFact
from counterfoil.registry.moving.lanes import gathered
from counterfoil.schema.contexts import QualifiedSubject, parse_subject

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from counterfoil.registry.moving.facts import ContextFact, Found, Key, RecordFact, SettingsFact

_AT_A_TIME: Final = 32
_KEPT_SUBJECTS: Final = 256


class Source(Protocol):
    """A registry as a source of facts."""

    @property
    def origin(self) -> str:
        """The source's name for messages, without secrets."""

    async def mark(self) -> object:
        """Return a value that differs after any write that the source can detect; drop everything cached."""

    async def unreadable(self) -> Sequence[Unreadable]:
        """Return what cannot be read, beside single versions."""

    async def subjects(self) -> Sequence[QualifiedSubject]:
        """Return all subjects, also those whose versions are soft-deleted, sorted."""

    async def versions(self, subject: QualifiedSubject) -> Sequence[VersionFact | Unreadable]:
        """Return all versions of a subject, ascending, also the soft-deleted ones."""

    async def bound_before(self, fact: VersionFact) -> Sequence[Key]:
        """Return the versions whose ids must be assigned to the same content before the id of ``fact``."""

    async def contexts(self) -> Sequence[ContextFact]:
        """Return all contexts; called after the versions were read."""

    async def records(self) -> Sequence[RecordFact | Unreadable]:
        """Return all entries beside schemas."""

    def settings(self) -> AsyncIterator[SettingsFact]:
        """Yield the config and mode of each scope that has one."""


async def facts_of(source: Source) -> AsyncIterator[Found]:
    """Yield all facts of ``source``, in the order in which they can be written."""
    for problem in await source.unreadable():
        yield problem
    async for version in versions_in_order(source):
        yield version
    for context in await source.contexts():
        yield context
    for record in await source.records():
        yield record
    async for settings in source.settings():
        yield settings


def targets_of(fact: VersionFact) -> list[Key]:
    """Return the versions that a version refers to."""
    return [
        (parse_subject(reference.subject, context=fact.subject.context), reference.version)
        for reference in fact.content.references
    ]


async def versions_in_order(source: Source) -> AsyncIterator[VersionFact | Unreadable]:
    """Yield all versions of ``source``, each after those that must be written before it.

    They are sorted by subject and number, except that a version comes after those that it refers to. A soft-deleted
    version comes after the later versions of its subject with the same id, since those would replace it if they came
    after it.
    """
    walk = _Walk(source)
    subjects = sorted(await source.subjects())
    for start in range(0, len(subjects), _AT_A_TIME):
        batch = subjects[start : start + _AT_A_TIME]
        for subject, found in zip(batch, await gathered(*map(source.versions, batch)), strict=True):
            walk.keep(subject, found)
            for item in found:
                if isinstance(item, Unreadable):
                    yield item
                    continue
                async for fact in walk.up_to(item):
                    yield fact
            walk.passed(subject)


class _Walk:
    """The state of the walk through all versions."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._early: dict[QualifiedSubject, set[int]] = {}
        self._last: QualifiedSubject | None = None
        self._kept: dict[QualifiedSubject, dict[int, VersionFact]] = {}

    def keep(self, subject: QualifiedSubject, found: Sequence[VersionFact | Unreadable]) -> dict[int, VersionFact]:
        """Cache the versions of a subject for a while."""
        while len(self._kept) >= _KEPT_SUBJECTS:
            del self._kept[next(iter(self._kept))]
        self._kept[subject] = {item.version: item for item in found if isinstance(item, VersionFact)}
        return self._kept[subject]

    def passed(self, subject: QualifiedSubject) -> None:
        """Record that all versions of ``subject``, and of those before it, were yielded."""
        self._last = subject
        self._early.pop(subject, None)

    def _is_given(self, key: Key) -> bool:
        subject, version = key
        return version in self._early.get(subject, ()) or (self._last is not None and subject <= self._last)

    async def up_to(self, fact: VersionFact) -> AsyncIterator[VersionFact]:
        """Yield the versions that must come before ``fact`` and have not been yielded, then ``fact`` itself."""
        waiting, opened = [fact], set[tuple[QualifiedSubject, int]]()
        while waiting:
            top = waiting[-1]
            if self._is_given(top.key):
                waiting.pop()
                continue
            before = [] if top.key in opened else await self._before(top)
            opened.add(top.key)
            waiting.extend(before)
            if not before:
                waiting.pop()
                self._early.setdefault(top.subject, set()).add(top.version)
                yield top

    async def _before(self, fact: VersionFact) -> list[VersionFact]:
        keys = [*targets_of(fact), *await self._source.bound_before(fact)]
        found = [await self._find(key) for key in keys if not self._is_given(key)]
        if fact.deleted:
            found.extend(self._later_twins(fact, await self._of(fact.subject)))
        return [item for item in found if item is not None and not self._is_given(item.key)]

    @staticmethod
    def _later_twins(fact: VersionFact, versions: dict[int, VersionFact]) -> list[VersionFact]:
        return [
            other for other in versions.values() if other.schema_id == fact.schema_id and other.version > fact.version
        ]

    async def _find(self, key: Key) -> VersionFact | None:
        return (await self._of(key[0])).get(key[1])

    async def _of(self, subject: QualifiedSubject) -> dict[int, VersionFact]:
        known = self._kept.get(subject)
        return self.keep(subject, await self._source.versions(subject)) if known is None else known
