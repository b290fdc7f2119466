from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from counterfoil.converter.errors import BridgeError, CheckpointBusy, CheckpointConflict, CheckpointUnreadable
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointBatch, CheckpointIdentity
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

MINE = CheckpointIdentity(bridge="b", plan="aa", source_topic="in", target_topic="out", dead_letter_topic="dead")


def offsets(folder: Path, batch_id: int, ends: dict[str, int], *, started_ms: int = 7) -> None:
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": started_ms, "conf": {}})
    (folder / "offsets" / str(batch_id)).write_text(f"v1\n{metadata}\n{json.dumps({'in': ends})}")
    (folder / "offsets" / f".{batch_id}.crc").write_bytes(b"\x00")


def beginning(folder: Path, starts: dict[str, int]) -> None:
    place = folder / "sources" / "0"
    place.mkdir(parents=True)
    (place / "0").write_bytes(b"\x00v1\n" + json.dumps({"in": starts}).encode())


def commit(folder: Path, batch_id: int) -> None:
    (folder / "commits").mkdir(parents=True, exist_ok=True)
    (folder / "commits" / str(batch_id)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_a_new_checkpoint_has_no_batches(tmp_path: Path):
    checkpoint = Checkpoint(tmp_path / "new")
    assert checkpoint.unfinished_batch("in") is None
    assert checkpoint.position("in") is None
    assert checkpoint.beginning("in") is None


def test_the_first_batch_unfinished_begins_at_the_beginning(tmp_path: Path):
    beginning(tmp_path, {"0": 10, "1": 0})
    offsets(tmp_path, 0, {"0": 30, "1": 5}, started_ms=99)
    assert Checkpoint(tmp_path).unfinished_batch("in") == CheckpointBatch(0, 99, {0: (10, 30), 1: (0, 5)})
    assert Checkpoint(tmp_path).position("in") == {0: 10, 1: 0}


def test_a_later_batch_unfinished_begins_where_the_one_before_ended(tmp_path: Path):
    beginning(tmp_path, {"0": 10})
    offsets(tmp_path, 9, {"0": 30})
    offsets(tmp_path, 10, {"0": 50, "1": 4})  # partition 1 is new
    commit(tmp_path, 9)
    assert Checkpoint(tmp_path).unfinished_batch("in") == CheckpointBatch(10, 7, {0: (30, 50), 1: (0, 4)})
    commit(tmp_path, 10)
    assert Checkpoint(tmp_path).unfinished_batch("in") is None
    assert Checkpoint(tmp_path).position("in") == {0: 50, 1: 4}


def test_a_checkpoint_belongs_to_one_plan(tmp_path: Path):
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.claim(MINE, force=False)
    checkpoint.claim(MINE, force=False)
    other = replace(MINE, plan="bb")
    with pytest.raises(CheckpointConflict, match="plan aa instead of bb") as refusal:
        checkpoint.claim(other, force=False)
    assert refusal.value.exit_code is ExitCode.CONFLICT
    assert checkpoint.identity() == MINE
    checkpoint.claim(other, force=True)
    assert checkpoint.identity() == other


def test_a_checkpoint_of_something_else_is_not_taken(tmp_path: Path):
    offsets(tmp_path, 0, {"0": 1})
    with pytest.raises(CheckpointConflict, match="not a bridge's"):
        Checkpoint(tmp_path).claim(MINE, force=False)


def test_two_drivers_do_not_share_a_checkpoint(tmp_path: Path):
    first, second = Checkpoint(tmp_path), Checkpoint(tmp_path)
    with first.locked(), pytest.raises(CheckpointBusy, match=r"Process \d+ is running"), second.locked():
        pass
    with second.locked():
        pass


@pytest.mark.parametrize("content", ["", "v1\n{}\n{}", "v1\n{]\n{}", 'v1\n{"batchTimestampMs":1}\n{"other":{}}', "a"])
def test_a_broken_offset_log_is_named(tmp_path: Path, content: str):
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text(content)
    with pytest.raises(CheckpointUnreadable, match="offsets/0"):
        Checkpoint(tmp_path).unfinished_batch("in")


def test_a_remote_checkpoint_is_refused():
    with pytest.raises(BridgeError, match="not a local or mounted folder"):
        Checkpoint("s3://bucket/c")
