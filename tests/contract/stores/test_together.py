"""Plans that are carried out together, and records that other writes may not overtake, on every storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.changes import ScopeSettings
from counterfoil.registry.store.writes import (
    NO_REQUEST,
    Extent,
    ReferenceTarget,
    SameTerms,
    StaleWrite,
    StoragePlan,
    Unreferenced,
    record_write,
    together,
)
from counterfoil.registry.subjects.planning import plan_hard_deletion, plan_settings, read_state
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import ReferenceExists
from counterfoil.schema.model import Reference, SchemaType
from counterfoil.schema.rest.subjects import Mode
from strategies.registry.write_plans import version_plan

if TYPE_CHECKING:
    from counterfoil.registry.store.protocol import Storage

A, B, C = (QualifiedSubject(".", name) for name in "abc")
INT, LONG, STRING = (make_content(f'"{name}"', SchemaType.AVRO) for name in ("int", "long", "string"))


def note(key: str = "k", document: Any = None, *, revision: int = 0) -> StoragePlan:
    return record_write("note", (key,), document or {"text": key}, revision=revision, is_term=True)


async def append(storage: Storage, subject: QualifiedSubject, content: Any, *targets: ReferenceTarget) -> StoragePlan:
    """A plan that fits what is stored now."""
    revision, settings_revision = (await storage.history(subject)).revision, await storage.settings_revision()
    return version_plan(subject, content, *targets, revision=revision, settings_revision=settings_revision)


async def removal(storage: Storage, subject: QualifiedSubject) -> StoragePlan:
    state = await read_state(storage, subject)
    return await plan_hard_deletion(storage, state, state.versions)


async def records(
    storage: Storage, *writes: StoragePlan, unreferenced: tuple[QualifiedSubject, ...] = ()
) -> StoragePlan:
    terms = SameTerms(await storage.settings_revision())
    claims = [Unreferenced(subject, (1, 2), Extent.of(subject)) for subject in unreferenced]
    return together((StoragePlan((terms, *claims)), *(writes or (note(),))))


async def is_empty(storage: Storage, *subjects: QualifiedSubject) -> bool:
    histories = [await storage.history(subject) for subject in subjects]
    return not any(history.entries for history in histories) and not await storage.records("note")


def test_all_of_it(run: Any):
    async def behaviour(storage: Storage) -> None:
        await storage.commit(await append(storage, C, STRING), by=NO_REQUEST)
        before, changes = await storage.settings_revision(), await storage.last_change()
        plan = together(
            (
                await records(storage),
                await append(storage, A, INT),
                await append(storage, B, INT),
                await removal(storage, C),
            )
        )
        assert (await storage.commit(plan, by=NO_REQUEST)).registered == [(2, 1), (2, 1)]
        assert [entry.schema_id for subject in (A, B) for entry in (await storage.history(subject)).entries] == [2, 2]
        assert not (await storage.history(C)).entries
        assert [record.key for record in await storage.records("note")] == [("k",)]
        assert await storage.settings_revision() > before
        noted = [change.kind.value for change in await storage.changes(changes, 10)]
        assert noted == ["record-changed", "version-registered", "version-registered", "version-removed"]

    run(behaviour)


def test_removals_take_their_settings_along(run: Any):

    async def behaviour(storage: Storage) -> None:
        for subject, content in ((A, INT), (B, LONG)):
            await storage.commit(await append(storage, subject, content), by=NO_REQUEST)
            scope = {subject: ScopeSettings(mode=Mode.READWRITE)}
            await storage.commit(plan_settings(scope, await storage.settings_revision()), by=NO_REQUEST)
        plan = together((await records(storage), await removal(storage, A), await removal(storage, B)))
        await storage.commit(plan, by=NO_REQUEST)
        assert await storage.scopes() == []
        assert not (await storage.history(B)).entries

    run(behaviour)


def test_none_of_it_when_anything_is_overtaken(run: Any):
    async def behaviour(storage: Storage) -> None:
        whole = (await records(storage), await append(storage, A, INT), await append(storage, B, LONG))
        await storage.commit(await append(storage, B, STRING), by=NO_REQUEST)
        with pytest.raises(StaleWrite):
            await storage.commit(together(whole), by=NO_REQUEST)
        assert await is_empty(storage, A)

        written = together((await records(storage, note("other")), await append(storage, A, INT)))
        await storage.commit(
            await records(storage, note("third")), by=NO_REQUEST
        )  # the settings' revision is another one
        with pytest.raises(StaleWrite):
            await storage.commit(written, by=NO_REQUEST)
        assert not (await storage.history(A)).entries
        assert [record.key for record in await storage.records("note")] == [("third",)]

        clash = together((await records(storage, note("fourth"), note("third")), await append(storage, A, INT)))
        with pytest.raises(StaleWrite):
            await storage.commit(clash, by=NO_REQUEST)
        assert not (await storage.history(A)).entries

    run(behaviour)


def test_none_of_it_when_a_removal_is_referred_to(run: Any):
    async def behaviour(storage: Storage) -> None:
        await storage.commit(await append(storage, A, INT), by=NO_REQUEST)
        referring = make_content('"r"', SchemaType.AVRO, references=(Reference("x", "a", 1),))
        plan = together((await records(storage), await append(storage, C, LONG), await removal(storage, A)))
        await storage.commit(await append(storage, B, referring, ReferenceTarget(A, 1)), by=NO_REQUEST)
        with pytest.raises(StaleWrite):
            await storage.commit(plan, by=NO_REQUEST)
        with pytest.raises(ReferenceExists):
            await removal(storage, A)
        assert await is_empty(storage, C)
        assert (await storage.history(A)).active

    run(behaviour)


def test_subjects_that_nothing_may_refer_to(run: Any):
    async def behaviour(storage: Storage) -> None:
        await storage.commit(await append(storage, A, INT), by=NO_REQUEST)
        claim = await records(storage, unreferenced=(A, C))
        own = make_content('"own"', SchemaType.AVRO, references=(Reference("x", "a", 1),))
        revision, settings = (await storage.history(A)).revision, await storage.settings_revision()
        await storage.commit(
            version_plan(A, own, ReferenceTarget(A, 1), revision=revision, settings_revision=settings, version=2),
            by=NO_REQUEST,
        )
        await storage.commit(claim, by=NO_REQUEST)  # a reference inside the subject is no obstacle
        referring = make_content('"r"', SchemaType.AVRO, references=(Reference("x", "a", 1),))
        late = await records(storage, note("late"), unreferenced=(A,))
        await storage.commit(await append(storage, B, referring, ReferenceTarget(A, 1)), by=NO_REQUEST)
        with pytest.raises(StaleWrite, match="refers"):
            await storage.commit(late, by=NO_REQUEST)
        assert [record.key for record in await storage.records("note")] == [("k",)]

    run(behaviour)
