"""``counterfoil export``, ``import`` and ``compare``: real servers, real files, and a kill in the middle."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_services import RegistryProcess, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

EXECUTABLE = Path(sys.executable).with_name("counterfoil")
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "n", "type": "int"}]}


def send(method: str, url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


@pytest.fixture(scope="module")
def source() -> Iterator[RegistryProcess]:
    """A registry with some content, which no test changes."""
    with RegistryProcess() as running:
        for number in range(3):
            body = {"schema": json.dumps({"type": "fixed", "name": "F", "size": number + 1})}
            send("PUT", f"{running.url}/config/s", {"compatibility": "NONE"})
            send("POST", f"{running.url}/subjects/s/versions", body)
        send("POST", f"{running.url}/subjects/%3A.c%3Aitem/versions", {"schema": json.dumps(ITEM)})
        send("DELETE", f"{running.url}/subjects/s/versions/2")
        yield running


def test_a_backup_of_a_running_registry_restored_into_a_file_and_served(installed, source, tmp_path) -> None:
    backup, store = tmp_path / "all.jsonl.gz", f"sqlite:///{tmp_path}/copy.db"
    written = installed("export", backup, "--url", source.url)
    assert (written.code, written.out) == (
        0,
        f"{backup}: 4 versions, 2 contexts, settings of 1 scope from {source.url}\n",
    )
    assert json.loads(gzip.decompress(backup.read_bytes()).splitlines()[0])["origin"] == source.url

    done = installed("import", backup, settings={"COUNTERFOIL_STORE": store})
    assert (done.code, done.out) == (0, "written: 4 versions, settings of 1 scope; there already: 2\n")

    checked = installed("db", "check", "--store", store)
    assert checked.code == 0, checked
    with RegistryProcess(store=store) as copy:
        same = installed("compare", source.url, copy.url, "--verdicts")
        assert (same.code, same.out) == (
            0,
            f"no differences between {source.url} and {copy.url}, 4 verdicts compared\n",
        )
        busy = installed("export", tmp_path / "x", "--store", store)
        assert busy.code == 14
        assert "is in use by another registry" in busy.err


def test_a_copy_of_a_running_registry_into_a_running_one(counterfoil, source) -> None:
    with RegistryProcess() as target:
        different = counterfoil("compare", source.url, target.url, "--json")
        assert (different.code, different.report["same"]) == (1, False)
        assert {each["what"] for each in different.report["differences"]} == {"context", "subject", "config"}
        done = counterfoil("import", "--from", source.url, "--url", target.url)
        assert done.code == 0, done
        assert done.out == "written: 4 versions, settings of 1 scope; there already: 2; read back and the same: 7\n"
        assert "mode of the default context: nothing again" in done.err
        assert counterfoil("compare", source.url, target.url).code == 0

        send("POST", f"{target.url}/subjects/other/versions", {"schema": json.dumps(ITEM)})
        clean = counterfoil("import", "--from", source.url, "--url", target.url, "--dry-run", "--quiet")
        assert (clean.code, clean.err) == (0, "")

    with RegistryProcess() as target:
        send("POST", f"{target.url}/subjects/s/versions", {"schema": json.dumps(ITEM)})
        clash = counterfoil("import", "--from", source.url, "--url", target.url, "--dry-run")
        assert clash.code == 13
        assert clash.out.startswith("clash: version 1 of subject 's': id 1 of context '.' stands for another schema")


@pytest.mark.parametrize("is_left", [True, False])
def test_a_registry_that_does_not_answer_is_one_line(counterfoil, source, is_left) -> None:
    urls = ["http://127.0.0.1:1", source.url] if is_left else [source.url, "http://127.0.0.1:1"]
    done = counterfoil("compare", *urls, "--retries", "1")
    assert (done.code, done.out) == (11, "")
    assert done.err.startswith("counterfoil: http://127.0.0.1:1 cannot be reached")
    assert done.err.count("\n") == 1


def test_a_command_that_reads_a_store_makes_none(counterfoil, tmp_path) -> None:
    store = f"sqlite:///{tmp_path}/typo.db"
    for command in (["export", "x"], ["db", "upgrade"], ["db", "check"], ["db", "stats"], ["db", "upgrade", "--sql"]):
        done = counterfoil(*command, "--store", store)
        assert (done.code, done.out) == (14, "")
        assert f"{tmp_path}/typo.db does not exist; expected the SQLite file of a registry" in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_import_into_a_new_store_makes_it_and_reports_that(counterfoil, source, tmp_path) -> None:
    done = counterfoil("import", "--from", source.url, "--store", f"sqlite:///{tmp_path}/new.db")
    assert done.code == 0
    assert f"{tmp_path}/new.db: new, made for this import\n" in done.err


def test_neither_a_dry_run_nor_an_export_makes_tables_in_an_empty_database(
    counterfoil, source, postgres, postgres_url
) -> None:
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'counterfoil'"
    looked = counterfoil("import", "--from", source.url, "--store", postgres_url, "--dry-run")
    assert (looked.code, looked.out.split(";")[0]) == (0, "nothing was written")
    refused = counterfoil("export", "x", "--store", postgres_url)
    assert (refused.code, refused.out) == (14, "")
    assert "is empty; expected the database of a registry" in refused.err
    assert postgres.run(tables, database=postgres_url.rpartition("/")[2])[0][0] == 0


def test_an_import_that_is_killed_is_completed_by_the_next(counterfoil, tmp_path) -> None:
    """Killed while it writes; what was written stays, and the second run adds the rest."""
    dump = tmp_path / "dump.jsonl"
    with dump.open("w") as file:
        for number in range(1, 3001):
            key = {"keytype": "SCHEMA", "subject": f"s{number % 300}", "version": number // 300 + 1, "magic": 1}
            text = json.dumps({"type": "fixed", "name": "F", "size": number})
            file.write(json.dumps({"key": key, "value": {**key, "id": number, "schema": text}}) + "\n")
    store = tmp_path / "copy.db"
    command = [str(EXECUTABLE), "import", "--from-topic", str(dump), "--store", f"sqlite:///{store}"]
    killed = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    log = store.with_name("copy.db-wal")
    wait_until(lambda: log.exists() and log.stat().st_size > 200_000, what="the import to write")
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    done = counterfoil("import", "--from-topic", dump, "--store", f"sqlite:///{store}")
    assert done.code == 0
    written, there = (int(part.split(": ")[1].split()[0]) for part in done.out.split("; ")[:2])
    assert 0 < written < 3000
    assert written + there == 3001
    assert done.out.endswith("read back and the same: 3001\n")
