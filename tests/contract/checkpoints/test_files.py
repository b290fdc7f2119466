"""The files of a checkpoint do the same in a folder and through Hadoop's file systems, and have one driver."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.errors import CheckpointBusy, CheckpointConflict, CheckpointUnreadable, NotWritable
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointIdentity
from counterfoil.converter.run.checkpoint_files import LOCK, CheckpointFiles, HadoopFiles, LocalFiles

if TYPE_CHECKING:
    from pathlib import Path

MINE = CheckpointIdentity(bridge="b", plan="aa", source_topic="in", target_topic="out", dead_letter_topic="dead")


def at_once(ended: threading.Event, _seconds: float) -> bool:
    """Wait for nothing; the thread of a driver, which is ended by the test, lets others run."""
    return ended.wait(0.001)


def on_hadoop(spark: Any, folder: Path, **options: Any) -> HadoopFiles:
    return HadoopFiles(spark, folder.as_uri(), **{"wait": at_once, **options})


@pytest.fixture(params=["local", "hadoop"])
def files(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> CheckpointFiles:
    folder = tmp_path / "checkpoint"
    return LocalFiles(folder) if request.param == "local" else on_hadoop(spark, folder)


def test_what_is_written_is_read_and_replaces_what_was_there(files: CheckpointFiles):
    assert files.read("counterfoil.json") is None
    assert files.names("offsets") == []
    files.write("counterfoil.json", b'{"a": 1}')
    files.write("counterfoil.json", b'{"a": "\xc3\xa9"}')
    assert files.read("counterfoil.json") == b'{"a": "\xc3\xa9"}'
    assert "counterfoil.json" in files.names("")


def test_both_see_the_same_files(spark: Any, tmp_path: Path):
    local, hadoop = LocalFiles(tmp_path), on_hadoop(spark, tmp_path)
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets/0").write_bytes(b"v1\n{}\n\x00\xff")
    local.write("counterfoil.json", b"{}")
    assert hadoop.read("counterfoil.json") == b"{}"
    assert hadoop.read("offsets/0") == local.read("offsets/0") == b"v1\n{}\n\x00\xff"
    assert hadoop.names("offsets") == local.names("offsets") == ["0"]
    assert hadoop.location == local.location


def test_a_checkpoint_through_hadoop_is_that_of_the_folder(spark: Any, tmp_path: Path):
    folder = tmp_path / "c"
    hadoop = on_hadoop(spark, folder)  # Hadoop has no other file system here
    remote = Checkpoint("hdfs://nowhere/c", beside=tmp_path / "beside", files=hadoop)
    remote.claim(MINE, force=False)
    assert Checkpoint(folder).identity() == MINE
    (folder / "offsets").mkdir()
    (folder / "commits").mkdir()
    metadata = json.dumps({"batchTimestampMs": 7})
    for number in (0, 1):
        (folder / f"offsets/{number}").write_text(f'v1\n{metadata}\n{{"in": {{"0": {10 * (number + 1)}}}}}')
    (folder / "commits/0").write_text("v1\n{}")
    assert remote.unfinished_batch("in") == Checkpoint(folder).unfinished_batch("in")
    assert remote.position("in") == {0: 10}
    with pytest.raises(CheckpointConflict, match="checkpoint hdfs://nowhere/c was made with plan aa instead of bb"):
        remote.check(replace(MINE, plan="bb"), force=False)


@pytest.mark.parametrize("torn", ["counterfoil.json", "counterfoil.json.new"])
def test_a_driver_that_was_killed_while_it_wrote_leaves_one_whole_file(torn: str, spark: Any, tmp_path: Path):
    hadoop = on_hadoop(spark, tmp_path)
    hadoop.write("counterfoil.json", b'{"a": 1}')
    content = (tmp_path / torn).read_bytes()
    for size in range(len(content)):
        (tmp_path / torn).write_bytes(content[:size])
        (tmp_path / f".{torn}.crc").unlink(missing_ok=True)
        assert hadoop.read("counterfoil.json") == b'{"a": 1}'


def test_one_driver_at_a_time(files: CheckpointFiles, spark: Any, tmp_path: Path):
    others = (
        [LocalFiles(tmp_path / "checkpoint")]
        if isinstance(files, LocalFiles)
        else [on_hadoop(spark, tmp_path / "checkpoint", patience_s=1e6)]
    )
    for other in others:
        with files.locked():
            with pytest.raises(CheckpointBusy, match=r"Process .* is running on the checkpoint"), other.locked():
                pytest.fail("two drivers")
            assert not files.is_lost
        with other.locked():
            assert other.has_driver() is not False
        assert other.has_driver() is False or isinstance(other, LocalFiles)


def test_the_file_of_a_driver_that_was_killed_is_watched_and_replaced(spark: Any, tmp_path: Path):
    (tmp_path / LOCK).write_text(json.dumps({"driver": "killed", "beat": 7, "process": 1, "host": "other"}))
    waits: list[float] = []

    def wait(ended: threading.Event, seconds: float) -> bool:
        waits.append(seconds)
        return at_once(ended, seconds)

    with on_hadoop(spark, tmp_path, wait=wait, beat_s=5, patience_s=30).locked():
        assert sum(waits[:6]) == 30
        assert json.loads((tmp_path / LOCK).read_text())["driver"] != "killed"
    assert not (tmp_path / LOCK).exists()


def test_a_driver_whose_file_another_one_has_replaced_is_lost(spark: Any, tmp_path: Path):
    files = on_hadoop(spark, tmp_path)
    with files.locked():
        found = threading.Event()
        while not files.is_lost:
            on_hadoop(spark, tmp_path)._put(LOCK, b'{"driver": "another", "beat": 0}')
            found.wait(0.01)
    assert json.loads((tmp_path / LOCK).read_text())["driver"] == "another", "its file stays"


def test_a_driver_that_cannot_write_its_file_is_lost_before_others_stop_to_watch(spark: Any, tmp_path: Path):
    folder = tmp_path / "checkpoint"
    files = on_hadoop(spark, folder, beat_s=0.0, patience_s=0.05)
    with files.locked():
        shutil.rmtree(folder)
        folder.write_text("")  # no file can be written in it from now on
        while not files.is_lost:
            at_once(threading.Event(), 0)
    assert files.is_lost


def test_what_cannot_be_written_or_read_is_named(spark: Any, tmp_path: Path):
    (tmp_path / "file").write_text("")
    hadoop = on_hadoop(spark, tmp_path / "file")
    with pytest.raises(
        NotWritable, match=r"file/counterfoil\.json\.new cannot be written: Destination exists and is not a directory"
    ):
        hadoop.write("counterfoil.json", b"{}")
    with pytest.raises(CheckpointUnreadable, match="cannot be reached"):
        HadoopFiles(spark, "nowhere://bucket/c")
