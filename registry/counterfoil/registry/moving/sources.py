"""The sources of facts, their order, their canonical form, and simultaneous requests."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from counterfoil.registry.moving.facts import Unreadable, VersionFact
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import ResolvedReference
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable, Sequence

    from counterfoil.registry.moving.facts import ContextFact, Found, Key, RecordFact, SettingsFact
    from counterfoil.registry.subjects.versions import Content


# Simultaneous requests: writes in order where order matters, and reads whose results are needed together.

_Result = TypeVar("_Result")


async def gathered(*awaitables: Awaitable[_Result]) -> list[_Result]:
    """Return all results in order; if any fails, raise the first failure after all have ended.

    No request is running when it raises: a cancelled connection attempt prints warnings on the terminal.
    """
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        raise failures[0]
    return [result for result in results if not isinstance(result, BaseException)]


class Lanes:
    """Runs jobs, at most ``width`` at once.

    Jobs with a common key run one after another, in the order in which they were given.

    The first job that fails stops all: its exception is raised by the next call.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._last: dict[Hashable, asyncio.Task[None]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def run(
        self, job: Callable[[], Awaitable[None]], *, holds: Collection[Hashable], awaits: Collection[Hashable] = ()
    ) -> None:
        """Start ``job`` when fewer than ``width`` run, after the last jobs with a key in ``holds`` or ``awaits``."""
        while len(self._running) >= self._width:
            await self._reap()
        before = {self._last[key] for key in (*holds, *awaits) if key in self._last}
        task = asyncio.create_task(self._after(before, job))
        self._running.add(task)
        self._last.update(dict.fromkeys(holds, task))

    @staticmethod
    async def _after(before: set[asyncio.Task[None]], job: Callable[[], Awaitable[None]]) -> None:
        for task in before:
            await asyncio.shield(task)
        await job()

    async def _reap(self) -> None:
        done, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        self._last = {key: task for key, task in self._last.items() if task not in done}
        for task in done:
            task.result()

    async def drain(self) -> None:
        """Return when all jobs are done."""
        while self._running:
            await self._reap()

    async def abandon(self) -> None:
        """Cancel all jobs and ignore their results."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running, self._last = set(), {}


# The sources of facts, and the order of the facts.

_AT_A_TIME: Final = 32
_KEPT_SUBJECTS: Final = 256


class FactSource(Protocol):
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


async def facts_of(source: FactSource) -> AsyncIterator[Found]:
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


async def versions_in_order(source: FactSource) -> AsyncIterator[VersionFact | Unreadable]:
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

    def __init__(self, source: FactSource) -> None:
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


# Conversion of the texts of other registries into their canonical form.

_MAX_DEPTH: Final = 100


class Canonicaliser:
    """Gives versions their canonical text; ``find`` returns the version of a reference, None if there is none.

    The results for the last few thousand texts are cached, since one schema is often in several subjects.
    """

    def __init__(self, find: Callable[[Key], Awaitable[VersionFact | None]], *, remembered: int = 4096) -> None:
        self._find = find
        self._remembered = remembered
        self._known: dict[Content, Content] = {}

    async def canonical(self, fact: VersionFact) -> VersionFact | Unreadable:
        """Return ``fact`` with its canonical text; ``Unreadable`` if the text or a reference is no valid schema."""
        if not fact.content.references and (known := self._known.get(fact.content)) is not None:
            return replace(fact, content=known)
        try:
            content = await self._content(fact)
        except InvalidSchema as error:
            return Unreadable(f"{fact} (id {fact.schema_id}): {error}")
        except RecursionError:
            return Unreadable(f"{fact} (id {fact.schema_id}): the schema is nested too deeply to be read")
        if not content.references:
            if len(self._known) >= self._remembered:
                self._known.clear()
            self._known[fact.content] = content
        return replace(fact, content=content)

    async def _content(self, fact: VersionFact) -> Content:
        given = fact.content
        resolved = await self._resolved(fact, _MAX_DEPTH)
        parsed = parse_schema(
            given.text, given.schema_type, references=tuple(resolved.values()), validation=Validation.LENIENT
        )
        return make_content(
            parsed.canonical(),
            given.schema_type,
            references=given.references,
            metadata=given.metadata,
            rule_set=given.rule_set,
        )

    async def _resolved(self, fact: VersionFact, depth: int) -> dict[str, ResolvedReference]:
        found: dict[str, ResolvedReference] = {}
        await self._collect(fact, found, depth)
        return found

    async def _collect(self, fact: VersionFact, found: dict[str, ResolvedReference], depth: int) -> None:
        """Add the references of ``fact``, each after its own references."""
        if depth == 0:
            raise InvalidSchema(f"references are nested more than {_MAX_DEPTH} deep")
        for reference, key in zip(fact.content.references, targets_of(fact), strict=True):
            if reference.name in found:
                continue
            target = await self._find(key)
            if target is None:
                raise InvalidSchema(
                    f"it refers to version {reference.version} of subject {reference.subject!r}, which is not there"
                )
            await self._collect(target, found, depth - 1)
            found.setdefault(reference.name, ResolvedReference(reference, target.content.text))


def version_in(versions: Sequence[VersionFact | Unreadable], number: int) -> VersionFact | None:
    """Return the version with this number among those of a subject; None if there is none."""
    return next((item for item in versions if isinstance(item, VersionFact) and item.version == number), None)
