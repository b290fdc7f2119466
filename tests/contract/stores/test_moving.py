"""Backups of every storage, restored into every other."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.moving.backup import BackupReader, export
from counterfoil.registry.moving.importing import FactImport, MoveProgress
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget
from counterfoil.registry.store.opening import open_store
from strategies.registry.driver import InProcessRegistry
from strategies.registry.histories import (
    CONFIGS,
    ITEM,
    METADATA,
    PLAIN,
    REFERRING,
    RULES,
    SCOPES,
    SUBJECTS,
    all_answers,
    live,
)
from strategies.registry.write_plans import put_record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from counterfoil.registry.store.protocol import Storage

QUIET = MoveProgress()
KINDS = ["memory", "sqlite", "postgres"]


@pytest.fixture
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """A function from the kind of a storage to the URL of an empty one, another one each time."""
    taken: list[str] = []

    def give(kind: str) -> str:
        taken.append(kind)
        if kind == "postgres":
            server = request.getfixturevalue("postgres")
            name = f"moving_{random.randrange(10**9)}"
            request.addfinalizer(lambda: server.drop_database(name))
            return str(server.create_database(name))
        return "sqlite://" if kind == "memory" else f"sqlite:///{tmp_path}/{len(taken)}.db"

    return give


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Storage]:
    storage = open_store(url)
    try:
        yield storage
    finally:
        await storage.close()


def history(seed: int) -> list[tuple[str, str, Any]]:
    """A long and busy history."""
    chance = random.Random(seed)
    steps: list[tuple[str, str, Any]] = []
    for _ in range(150):
        subject = chance.choice(SUBJECTS)
        kind = chance.choice(["register", "register", "refer", "import", "soft", "hard", "config", "mode", "context"])
        body: dict[str, Any] = {}
        if kind == "refer":
            reference = {"name": "ns.Item", "subject": chance.choice(SUBJECTS), "version": 1}
            steps.append(("register", subject, {"schema": _text(REFERRING), "references": [reference]}))
            continue
        if kind in {"register", "import"}:
            body = {"schema": _text(chance.choice(PLAIN)), "metadata": chance.choice(METADATA)}
            body |= {"ruleSet": chance.choice(RULES)}
            if kind == "import":
                body |= {"id": chance.randrange(1, 12), "version": chance.randrange(1, 6)}
        what: Any = {"config": chance.choice(CONFIGS), "mode": chance.choice(["READONLY", None, None])}.get(kind)
        name = chance.choice(SCOPES) if kind in {"config", "mode"} else subject
        if kind == "context":
            name = chance.choice([".x", ".y"])
        steps.append((kind, name, body if kind in {"register", "import"} else what or chance.randrange(1, 4)))
        if kind == "mode":
            steps.append(("mode", name, None))
    return [("register", "a", {"schema": _text(ITEM)}), *steps]


def _text(schema: Any) -> str:
    return json.dumps(schema)


@pytest.mark.parametrize(
    ("first", "second"),
    [("memory", "sqlite"), ("sqlite", "postgres"), ("postgres", "memory"), ("postgres", "postgres")],
)
def test_a_backup_of_any_store_goes_into_any_other(
    urls: Callable[[str], str], tmp_path: Path, first: str, second: str
) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl.gz"

    places = urls(first), urls(second)

    async def check() -> list[Any]:
        async with opened(places[0]) as source, opened(places[1]) as target:
            registry = InProcessRegistry(source)
            await live(registry, history(KINDS.index(first) * 3 + KINDS.index(second)))
            revision = await source.settings_revision()
            await put_record(source, "kept", ("a", "b"), {"n": [1, None]}, settings_revision=revision)
            counts = await export(StoreSource(source, origin="here"), one, QUIET)
            assert counts["version"] > 10
            assert counts["record"] == 1
            carrying = FactImport(BackupReader(one).facts, StoreTarget(target), QUIET)
            outcome = await carrying.run(verify=True)
            assert outcome.verified == counts.total()
            await export(StoreSource(target, origin="here"), two, QUIET)
            assert not (await carrying.run()).written
            return [await all_answers(each) for each in (registry, InProcessRegistry(target))]

    answers, copied = asyncio.run(check())
    assert copied == answers
    assert BackupReader(two).verify()[1] == BackupReader(one).verify()[1]
    assert _lines(two) == _lines(one)


def _lines(path: Path) -> list[bytes]:
    return [line for _, line in BackupReader(path)._lines()][1:-1]
