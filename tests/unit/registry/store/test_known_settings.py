"""All settings are read once and remembered, where they are few; never older than what was told."""

from __future__ import annotations

import asyncio

import pytest

from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, ScopeSettings, WrittenChanges
from counterfoil.registry.store.postgres.known import MAX_SCOPES, KnownSettings
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.rest.subjects import Mode

ORDERS = parse_subject("orders")
READONLY, IMPORT = ScopeSettings(mode=Mode.READONLY), ScopeSettings(mode=Mode.IMPORT)


class Table:
    """The stored settings, and how they were read."""

    def __init__(self, **stored: ScopeSettings) -> None:
        self.stored = {parse_subject(name): settings for name, settings in stored.items()}
        self.reads: list[str] = []
        self.known = KnownSettings(self.read_all, read_one=self.read_one)

    async def read_all(self) -> list[tuple[QualifiedSubject, ScopeSettings]]:
        self.reads.append("all")
        found = list(self.stored.items())
        await asyncio.sleep(0)
        return found

    async def read_one(self, scope: QualifiedSubject) -> ScopeSettings:
        self.reads.append(str(scope))
        return self.stored.get(scope, ScopeSettings())


def test_all_are_read_once_those_without_any_included() -> None:
    async def main() -> None:
        table = Table(orders=READONLY)
        found = await asyncio.gather(*(table.known.of(parse_subject(name)) for name in ("orders", "other", "orders")))
        assert found == [READONLY, ScopeSettings(), READONLY]
        assert (await table.known.of(parse_subject("third")), table.reads) == (ScopeSettings(), ["all"])

    asyncio.run(main())


def test_of_very_many_each_is_read_when_it_is_requested() -> None:
    async def main() -> None:
        table = Table(**{f"s{number}": READONLY for number in range(MAX_SCOPES + 1)})
        assert await table.known.of(parse_subject(f"s{MAX_SCOPES}")) == READONLY
        assert await table.known.of(ORDERS) == ScopeSettings()
        assert table.reads == ["all", f"s{MAX_SCOPES}", "orders"]

    asyncio.run(main())


def change(kind: JournalChangeKind) -> JournalChange:
    return JournalChange(1, 0, kind, ORDERS)


@pytest.mark.parametrize(
    ("written", "is_kept"),
    [
        (WrittenChanges((change(JournalChangeKind.REGISTERED),)), True),
        (WrittenChanges((change(JournalChangeKind.RECORD),)), True),
        (WrittenChanges((change(JournalChangeKind.RECORD),), has_new_terms=True), False),
        (WrittenChanges((change(JournalChangeKind.SETTINGS),), has_new_terms=True), False),
        (None, False),
    ],
)
def test_whatever_may_have_changed_settings_has_them_read_again(
    written: WrittenChanges | None,
    is_kept: bool,  # noqa: FBT001 - a column of the table
) -> None:
    async def main() -> None:
        table = Table(orders=READONLY)
        await table.known.of(ORDERS)
        table.known(written)
        await table.known.of(ORDERS)
        assert table.reads == (["all"] if is_kept else ["all", "all"])

    asyncio.run(main())


def test_what_was_read_while_it_was_changed_is_not_kept() -> None:
    async def main() -> None:
        table = Table(orders=READONLY)
        reading = asyncio.create_task(table.known.of(ORDERS))
        while not table.reads:  # noqa: ASYNC110 - the reading begins within a few turns
            await asyncio.sleep(0)
        table.stored[ORDERS] = IMPORT
        table.known(WrittenChanges((change(JournalChangeKind.SETTINGS),), has_new_terms=True))
        assert await reading == READONLY
        assert await table.known.of(ORDERS) == IMPORT

    asyncio.run(main())
