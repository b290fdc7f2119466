"""The file of a SQLite store."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from counterfoil.registry.store.sqlite.storage import connect, prepare

if TYPE_CHECKING:
    from pathlib import Path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_its_user_may_read_a_new_file_and_what_sqlite_keeps_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    prepare(path)
    connection = connect(path)
    connection.execute("CREATE TABLE t (x)")
    assert {each.name: mode_of(each) for each in tmp_path.iterdir()} == {
        "new.db": 0o600,
        "new.db-wal": 0o600,
        "new.db-shm": 0o600,
    }
    connection.close()


def test_the_mode_of_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    path.touch(mode=0o640)
    path.chmod(0o640)
    prepare(path)
    assert mode_of(path) == 0o640
