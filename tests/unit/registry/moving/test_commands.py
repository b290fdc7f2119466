"""What the commands say when they cannot be carried out."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.registry.audit.events import EventPlace
from counterfoil.registry.store.opening import open_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("export", "x"), 2, "name one registry"),
        (("export", "x", "--store", "sqlite://", "--url", "http://127.0.0.1:1"), 2, "name one registry"),
        (("export", "x", "--store", "sqlite:///none.db"), 14, "none.db does not exist"),
        (("export", "x", "--store", "oracle://x"), 14, "is not known"),
        (("export", "no/such/folder/x", "--store", "sqlite://"), 14, "cannot be written"),
        (("export", "x", "--url", "http://127.0.0.1:1", "--retries", "0"), 11, "cannot be reached"),
        (("export", "x", "--url", "nonsense"), 14, "The registry URL 'nonsense' is not valid"),
        (("compare", "ftp://x", "http://127.0.0.1:1"), 14, "The registry URL 'ftp://x' is not valid"),
        (("export", "x", "--url", "https://127.0.0.1:1", "--ca-file", "none.pem"), 14, "none.pem cannot be used"),
        (("import", "--store", "sqlite://"), 2, "name one thing to import"),
        (("import", "x", "--from", "http://x", "--store", "sqlite://"), 2, "name one thing to import"),
        (("import", "none", "--store", "sqlite://"), 14, "none cannot be read: No such file"),
        (("import", "--from-topic", "none", "--store", "sqlite://"), 14, "none cannot be read: No such file"),
        (("compare", "http://127.0.0.1:1", "http://127.0.0.1:1", "--retries", "0"), 11, "cannot be reached"),
        (("compare", "http://127.0.0.1:1"), 2, "URL2"),
    ],
)
def test_what_cannot_be_done_is_reported_in_a_line(
    *,
    arguments: tuple[str, ...],
    code: int,
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(root_command(), arguments) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert word in told.err


def test_a_damaged_backup_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text('{"format":"counterfoil-backup","version":1}\n{"fact":\n')
    assert run(root_command(), ["import", str(damaged), "--store", f"sqlite:///{tmp_path}/x.db"]) == 14
    assert f"{damaged}, line 2: this is not JSON" in capsys.readouterr().err
    assert not (tmp_path / "x.db").exists()


def test_no_secret_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    url = "http://me:secret@127.0.0.1:1"
    assert run(root_command(), ["export", "x", "--url", url, "--retries", "0"]) == 11
    told = capsys.readouterr().err
    assert "127.0.0.1:1" in told
    assert "secret" not in told


def test_a_store_of_the_environment_gives_way_to_a_url(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COUNTERFOIL_STORE", "sqlite://")
    assert run(root_command(), ["export", "x", "--url", "http://127.0.0.1:1", "--retries", "0"]) == 11
    assert "cannot be reached" in capsys.readouterr().err


def test_a_dry_run_makes_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "dump"
    dump.write_text('{"keytype":"NOOP","magic":0}\tnull\n')
    arguments = ["import", "--from-topic", str(dump), "--store", f"sqlite:///{tmp_path}/x.db", "--dry-run"]
    assert run(root_command(), arguments) == 0
    assert capsys.readouterr().out == "nothing was written; nothing to import, 0 unreadable\n"
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize("options", [[], ["--with-access"]])
def test_an_export_of_a_store_is_an_event_of_its_audit(
    tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path}/registry.db"
    (tmp_path / "empty").write_text('{"keytype":"NOOP","magic":0}\tnull\n')
    assert run(root_command(), ["import", "--from-topic", str(tmp_path / "empty"), "--store", store]) == 0
    for _ in range(2):
        assert run(root_command(), ["export", str(tmp_path / "backup"), "--store", store, *options]) == 0
    assert "warning" not in capsys.readouterr().err

    async def events() -> list[tuple[str, dict[str, Any]]]:
        storage = open_store(store)
        try:
            return [(each.event, each.facts) for each in await storage.audit_events(EventPlace(0), 2**62, 99)]
        finally:
            await storage.close()

    facts = {"resource": "Registry", "outcome": "success", "caller": {"principal": "User:whoever owns the store"}}
    detail = {"detail": "with users, tokens and rules"} if options else {}
    assert asyncio.run(events()) == [("registry.export", {**facts, **detail})] * 2


def test_an_export_of_a_store_that_takes_no_events_is_made_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "registry.db"
    (tmp_path / "empty").write_text('{"keytype":"NOOP","magic":0}\tnull\n')
    assert run(root_command(), ["import", "--from-topic", str(tmp_path / "empty"), "--store", f"sqlite:///{path}"]) == 0
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TRIGGER refused BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'refused'); END")
    assert run(root_command(), ["export", str(tmp_path / "backup"), "--store", f"sqlite:///{path}"]) == 0
    assert "the audit of sqlite://" in capsys.readouterr().err
    assert (tmp_path / "backup").exists()
