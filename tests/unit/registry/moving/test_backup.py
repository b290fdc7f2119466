"""Backups: what is exported is imported, all of it, once, and nothing that is damaged."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.moving.backup import ATTEMPTS, BackupReader, export
from counterfoil.registry.moving.facts import Clashes, DamagedFile, SourceChanged
from counterfoil.registry.moving.importing import FactImport, FactState, ImportOutcome, MoveProgress
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.errors import StoreUnavailable
from strategies.registry.driver import InProcessRegistry
from strategies.registry.histories import HISTORIES, ITEM, all_answers, live

if TYPE_CHECKING:
    from counterfoil.registry.store.changes import WrittenChanges
    from counterfoil.registry.store.writes import Requester, StoragePlan

QUIET = MoveProgress()


async def backed_up(storage: Any, path: Path) -> bytes:
    """The lines of a backup of ``storage``, written to ``path``, but for the first and the last."""
    await export(StoreSource(storage, origin="here"), path, QUIET)
    return facts_in(path)


def facts_in(path: Path) -> bytes:
    return b"".join(path.read_bytes().splitlines(keepends=True)[1:-1])


async def restored(path: Path, storage: Any, **options: Any) -> ImportOutcome:
    reader = BackupReader(path)
    reader.verify()
    return await FactImport(reader.facts, StoreTarget(storage), QUIET).run(**options)


@pytest.mark.slow
@given(HISTORIES)
def test_a_restored_registry_answers_as_the_first_one_did(history: list[Any]) -> None:
    async def check(folder: Path) -> None:
        first, second = MemoryStorage(), MemoryStorage()
        registry = InProcessRegistry(first)
        await live(registry, history)
        facts = await backed_up(first, folder / "one")
        await restored(folder / "one", second, verify=True)
        assert await backed_up(second, folder / "two") == facts
        assert await all_answers(InProcessRegistry(second)) == await all_answers(registry)
        changes = await second.last_change()
        assert not (await restored(folder / "one", second)).written
        assert await second.last_change() == changes

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))


@given(HISTORIES, st.integers(0, 30))
def test_an_import_that_was_cut_off_is_completed_by_the_next(history: list[Any], writes: int) -> None:
    class Failing(MemoryStorage):
        left = writes

        async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
            if self.left == 0:
                raise StoreUnavailable("cut off")
            self.left -= 1
            return await super().commit(plan, by=by)

    async def check(folder: Path) -> None:
        first, second = MemoryStorage(), Failing()
        registry = InProcessRegistry(first)
        await live(registry, history)
        facts = await backed_up(first, folder / "one")
        try:
            await restored(folder / "one", second)
        except StoreUnavailable:
            second.left = -1
            await restored(folder / "one", second, verify=True)
        second.left = -1
        assert await backed_up(second, folder / "two") == facts

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))


async def small(storage: Any) -> InProcessRegistry:
    registry = InProcessRegistry(storage)
    await registry.register("item", ITEM)
    await registry.register(
        "cart",
        {"type": "record", "name": "Cart", "fields": [{"name": "i", "type": "ns.Item"}]},
        references=[{"name": "ns.Item", "subject": "item", "version": 1}],
    )
    await registry.put("/config/cart", {"compatibility": "FULL"})
    return registry


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    path = tmp_path / "registry.jsonl"

    async def write() -> None:
        storage = MemoryStorage()
        await small(storage)
        await backed_up(storage, path)

    asyncio.run(write())
    return path


def test_a_backup_is_lines_of_json_with_a_checksum(backup: Path) -> None:
    lines = backup.read_bytes().splitlines(keepends=True)
    first, *facts, last = map(json.loads, lines)
    assert (first["format"], first["version"], first["origin"]) == ("counterfoil-backup", 1, "here")
    assert [fact["fact"] for fact in facts] == ["version", "version", "context", "settings"]
    assert [fact.get("subject") for fact in facts[:2]] == ["item", "cart"]
    assert last == {
        "end": {"context": 1, "settings": 1, "version": 2},
        "sha256": hashlib.sha256(b"".join(lines[:-1])).hexdigest(),
    }


def test_a_name_that_ends_in_gz_is_compressed(tmp_path: Path) -> None:
    path = tmp_path / "registry.jsonl.gz"

    async def check() -> None:
        storage, copy = MemoryStorage(), MemoryStorage()
        await small(storage)
        await export(StoreSource(storage, origin="here"), path, QUIET)
        assert json.loads(gzip.decompress(path.read_bytes()).splitlines()[0])["format"] == "counterfoil-backup"
        outcome = await restored(path, copy)
        assert dict(outcome.written) == {"version": 2, "settings": 1}

    asyncio.run(check())


def refused(path: Path) -> DamagedFile:
    """The refusal of a damaged file, before anything was written."""
    storage = MemoryStorage()
    with pytest.raises(DamagedFile) as refusal:
        asyncio.run(restored(path, storage))
    assert asyncio.run(storage.last_change()) == 0
    return refusal.value


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda text: text.replace(b'\\"ns\\"', b'\\"nt\\"'), 2),  # a schema's text
        (lambda text: text.replace(b'"id":2', b'"id":7'), 6),  # what the checksum alone can tell
        (lambda text: text.replace(b'"deleted":false', b'"deleted":0', 1), 2),
        (lambda text: text.replace(b'"compatibility":"FULL"', b'"compatibility":"FULLER"'), 5),
        (lambda text: text.replace(b'"mode"', b'"fact"').replace(b'{"fact":"settings"', b'{"fact":"sett'), 5),
        (lambda text: text.replace(b'{"fact":"context"', b'{"fact":"context', 1), 4),
        (lambda text: text[: text.rindex(b"\n", 0, -1) + 1], 6),  # without the last line
        (lambda text: text[:-1], 6),  # without the last line feed
        (lambda text: text[:200], 2),
        (lambda text: text + b"{}\n", 7),
        (lambda text: text.replace(b"counterfoil-backup", b"another"), 1),
        (lambda text: text.replace(b'"version":1', b'"version":2', 1), 1),
        (lambda _: b"", 1),
        (lambda _: b"\xff\xfe\x00", 1),
        (lambda _: b"[" * 100_000 + b"\n", 1),
        (lambda text: b"\n".join(text.split(b"\n")[:2] + text.split(b"\n")[3:]), 5),  # a line less
    ],
)
def test_a_damaged_file_is_refused_with_the_line(backup: Path, damage: Any, line: int) -> None:
    backup.write_bytes(damage(backup.read_bytes()))
    assert refused(backup).line == line


@given(st.data())
def test_no_altered_byte_goes_unnoticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "registry.jsonl"

        async def write() -> None:
            storage = MemoryStorage()
            await small(storage)
            await backed_up(storage, path)

        asyncio.run(write())
        text = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(text) - 1))
        text[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(text))
        assert refused(path).line


def test_a_truncated_archive_is_refused(backup: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "cut.jsonl.gz"
    zipped.write_bytes(gzip.compress(backup.read_bytes())[:-20])
    assert "cut off" in str(refused(zipped))
    zipped.write_bytes(b"no archive")
    assert refused(zipped).line == 1


def test_clashes_are_all_listed_and_nothing_is_written(backup: Path) -> None:
    async def check() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        await registry.register("item", '"string"')
        await registry.put("/config/cart", {"compatibility": "NONE"})
        changes = await storage.last_change()
        carrying = FactImport(BackupReader(backup).facts, StoreTarget(storage), QUIET)
        survey = await carrying.survey()
        assert survey.counts[FactState.CLASH] == 2
        assert "id 1 of context '.' stands for another schema" in survey.clashes[1]
        assert survey.clashes[0] == "config of 'cart' is there with other content"
        with pytest.raises(Clashes) as refusal:
            await carrying.run()
        assert refusal.value.problems == tuple(survey.clashes)
        assert await storage.last_change() == changes

    asyncio.run(check())


def test_a_version_that_holds_something_else_clashes(backup: Path) -> None:
    async def check() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        for number in range(3):
            await registry.register(f"other-{number}", {"type": "fixed", "name": "F", "size": number + 1})
        await registry.register("item", '"string"')
        survey = await FactImport(BackupReader(backup).facts, StoreTarget(storage), QUIET).survey()
        assert any("version 1 of subject 'item': id 1" in problem for problem in survey.clashes)

        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        await registry.register("item", ITEM)
        await registry.delete("/subjects/item/versions/1")
        survey = await FactImport(BackupReader(backup).facts, StoreTarget(storage), QUIET).survey()
        assert survey.clashes == ["version 1 of subject 'item' is soft-deleted"]

    asyncio.run(check())


def test_a_registry_with_other_content_takes_a_backup_in(backup: Path) -> None:
    async def check() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        await registry.register(":.other:item", '"string"')
        await restored(backup, storage, verify=True)
        assert (await registry.get("/subjects")).json == [":.other:item", "cart", "item"]

    asyncio.run(check())


def test_an_id_that_was_given_out_is_not_given_out_again_after_a_restore(tmp_path: Path) -> None:
    async def check() -> None:
        first, second = MemoryStorage(), MemoryStorage()
        registry = InProcessRegistry(first)
        await registry.register("kept", '"string"')
        for context in ("", ":.gone:"):
            for schema in ('"int"', '"long"'):
                await registry.register(f"{context}lost", schema)
            await registry.delete(f"/subjects/{context}lost")
            await registry.delete(f"/subjects/{context}lost?permanent=true")
        await registry.delete("/contexts/.gone")
        await backed_up(first, tmp_path / "one")
        await restored(tmp_path / "one", second, verify=True)
        copy = InProcessRegistry(second)
        assert (await copy.get("/contexts")).json == (await registry.get("/contexts")).json == ["."]
        assert (await copy.get("/subjects?deleted=true")).json == ["kept"]
        for each in (registry, copy):
            assert (await each.register("new", '"double"')).json["id"] == 4
            assert (await each.register(":.gone:new", '"double"')).json["id"] == 3

    asyncio.run(check())


def test_a_source_that_is_written_to_meanwhile_is_read_again(tmp_path: Path) -> None:
    class Busy(StoreSource):
        """Is written to while it is read, a few times."""

        def __init__(self, storage: Any, times: int) -> None:
            super().__init__(storage, origin="here")
            self.registry = InProcessRegistry(storage)
            self.times = times

        async def contexts(self) -> Any:
            if self.times:
                self.times -= 1
                await self.registry.register(f"late-{self.times}", '"string"')
            return await super().contexts()

    async def check() -> None:
        path = tmp_path / "busy"
        counts = await export(Busy(MemoryStorage(), ATTEMPTS - 1), path, QUIET)
        assert counts["version"] == ATTEMPTS - 1
        before = path.read_bytes()
        with pytest.raises(SourceChanged):
            await export(Busy(MemoryStorage(), ATTEMPTS), path, QUIET)
        assert path.read_bytes() == before

    asyncio.run(check())
    assert [each.name for each in tmp_path.iterdir()] == ["busy"]
