"""Where facts come from, and the order in which they come."""

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
    """A registry's facts, read in place."""

    @property
    def origin(self) -> str:
        """Where the facts come from, in words, without secrets."""

    async def mark(self) -> object:
        """A value that is another one after any write that the source can tell of; what is read next is read anew."""

    async def unreadable(self) -> Sequence[Unreadable]:
        """What cannot be read, beside single versions."""

    async def subjects(self) -> Sequence[QualifiedSubject]:
        """All subjects, those too whose versions are soft-deleted, sorted."""

    async def versions(self, subject: QualifiedSubject) -> Sequence[VersionFact | Unreadable]:
        """All versions of a subject, ascending, soft-deleted ones too."""

    async def bound_before(self, fact: VersionFact) -> Sequence[Key]:
        """The versions whose ids must be given to the same content before the id of ``fact`` is."""

    async def contexts(self) -> Sequence[ContextFact]:
        """All contexts, asked after the versions were."""

    async def records(self) -> Sequence[RecordFact | Unreadable]:
        """All that is kept beside schemas."""

    def settings(self) -> AsyncIterator[SettingsFact]:
        """Config and mode, wherever some are set."""


async def facts_of(source: Source) -> AsyncIterator[Found]:
    """All facts of ``source``, in the order in which they can be carried out."""
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
    """The versions that a version refers to."""
    return [
        (parse_subject(reference.subject, context=fact.subject.context), reference.version)
        for reference in fact.content.references
    ]


async def versions_in_order(source: Source) -> AsyncIterator[VersionFact | Unreadable]:
    """All versions of ``source``, each after those that must be there before it.

    By subject and number, except that a version comes after those that it refers to. And a soft-deleted one comes after
    the later versions of its subject with the same id, since those would take its place if they came after it.
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
    """Where the walk through all versions stands."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._early: dict[QualifiedSubject, set[int]] = {}
        self._last: QualifiedSubject | None = None
        self._kept: dict[QualifiedSubject, dict[int, VersionFact]] = {}

    def keep(self, subject: QualifiedSubject, found: Sequence[VersionFact | Unreadable]) -> dict[int, VersionFact]:
        """Remember the versions of a subject for a while."""
        while len(self._kept) >= _KEPT_SUBJECTS:
            del self._kept[next(iter(self._kept))]
        self._kept[subject] = {item.version: item for item in found if isinstance(item, VersionFact)}
        return self._kept[subject]

    def passed(self, subject: QualifiedSubject) -> None:
        """Take note that all versions of ``subject``, and of those before it, were given."""
        self._last = subject
        self._early.pop(subject, None)

    def _is_given(self, key: Key) -> bool:
        subject, version = key
        return version in self._early.get(subject, ()) or (self._last is not None and subject <= self._last)

    async def up_to(self, fact: VersionFact) -> AsyncIterator[VersionFact]:
        """Whatever must come before ``fact`` and has not, then ``fact`` itself."""
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
