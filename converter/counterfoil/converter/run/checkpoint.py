"""Reading Spark's checkpoint folder: its bridge, the position of the next batch, and the unfinished batch.

Spark writes ``offsets/N`` before batch N and ``commits/N`` after it, each a version line and lines of JSON; the
position at the very beginning is in ``sources/0/0``. Beside them the bridge keeps two files of its own:
``counterfoil.json`` names the bridge and plan that the checkpoint belongs to, and the driver that uses it locks
``counterfoil.lock``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterfoil.converter.errors import (
    BridgeError,
    CheckpointBusy,
    CheckpointConflict,
    CheckpointUnreadable,
    why_unreadable,
    writing_to,
)

if TYPE_CHECKING:
    from counterfoil.converter.bridge import ResolvedBridge


_STATE = "counterfoil.json"
_LOCK = "counterfoil.lock"


@dataclass(frozen=True, slots=True)
class CheckpointIdentity:
    """What a checkpoint belongs to. ``plan`` is a hash over everything that affects the written records."""

    bridge: str
    plan: str
    source_topic: str
    target_topic: str
    dead_letter_topic: str

    @classmethod
    def of(cls, bridge: ResolvedBridge) -> CheckpointIdentity:
        """Return the identity of the checkpoint of a bridge."""
        file = bridge.file
        return cls(file.name, bridge.hash, file.source_topic, file.target_topic, file.dead_letter_topic)


@dataclass(frozen=True, slots=True)
class CheckpointBatch:
    """A batch of the offset log: for each source partition, its first offset and the one after its last.

    ``started_ms`` is the driver's clock when the batch was planned, which is before any of its records was written.
    """

    batch_id: int
    started_ms: int
    range_by_partition: Mapping[int, tuple[int, int]]


def default_folder(file: Path, bridge: str) -> Path:
    """Return the folder of the checkpoint of a bridge if none is named: one beside its file."""
    return file.parent / "checkpoints" / bridge


def begun_plan(file: Path, bridge: str, folder: Path | None = None) -> str | None:
    """Return the hash with which the checkpoint of a bridge was begun: that in ``folder``, else in the default one."""
    found = Checkpoint(folder or default_folder(file, bridge)).identity()
    return None if found is None else found.plan


class Checkpoint:
    """The checkpoint in ``folder``, which is local or mounted and need not exist yet."""

    def __init__(self, folder: Path | str) -> None:
        spelt = str(folder)
        if "://" in spelt and not spelt.startswith("file://"):
            raise BridgeError(
                f"The checkpoint {spelt} is not a local or mounted folder; the restart filter must be able to read it"
            )
        self.folder = Path(spelt.removeprefix("file://")).absolute()

    @property
    def log_file(self) -> Path:
        """The path of Spark's own log."""
        return self.folder / "spark.log"

    def check(self, identity: CheckpointIdentity, *, force: bool) -> None:
        """Raise ``CheckpointConflict`` if the checkpoint has another identity and ``force`` is false."""
        found = self.identity()
        if found is not None and found != identity and not force:
            differing = [name for name in asdict(identity) if getattr(found, name) != getattr(identity, name)]
            facts = ", ".join(
                f"{name} {getattr(found, name)} instead of {getattr(identity, name)}" for name in differing
            )
            raise CheckpointConflict(
                f"The checkpoint {self.folder} was made with {facts}; use another folder, or --force to continue"
            )
        if found is None and self._numbers("offsets") and not force:
            raise CheckpointConflict(
                f"The checkpoint {self.folder} is not a bridge's; use another folder, or --force to continue"
            )

    def claim(self, identity: CheckpointIdentity, *, force: bool) -> None:
        """Check the identity, and write it into the checkpoint."""
        self.check(identity, force=force)
        with writing_to(self.folder / _STATE):
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished = self.folder / f"{_STATE}.new"
            unfinished.write_text(json.dumps(asdict(identity), indent=2) + "\n", encoding="utf-8")
            unfinished.replace(self.folder / _STATE)

    def identity(self) -> CheckpointIdentity | None:
        """Return the identity of the checkpoint's bridge; None for a new checkpoint."""
        path = self.folder / _STATE
        if not path.exists():
            return None
        try:
            return CheckpointIdentity(**json.loads(path.read_text(encoding="utf-8")))
        except OSError as refusal:
            raise CheckpointUnreadable(f"{path} cannot be read: {why_unreadable(refusal)}") from None
        except (ValueError, TypeError) as mistake:
            raise CheckpointUnreadable(f"{path} is not the file that a bridge writes there: {mistake}") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the checkpoint.

        Raise ``CheckpointBusy`` if another driver of this machine, or of the mount, has locked it.
        """
        path = self.folder / _LOCK
        with writing_to(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            file = path.open("ab+", buffering=0)  # nothing is left to be written when it is closed
        with file:
            self._lock(file)
            with writing_to(path):
                file.truncate(0)
                file.write(f"{os.getpid()}\n".encode())
            yield

    def refuse_busy(self) -> None:
        """Raise ``CheckpointBusy`` if another driver has locked the checkpoint; nothing is locked or written."""
        if self.has_driver():
            raise self._busy((self.folder / _LOCK).read_text(encoding="utf-8", errors="replace"))

    def _busy(self, lock: str) -> CheckpointBusy:
        return CheckpointBusy(f"Process {lock.strip() or 'unknown'} is running on the checkpoint {self.folder}")

    def has_driver(self) -> bool | None:
        """Return whether a driver has locked the checkpoint; None on systems without file locks."""
        path = self.folder / _LOCK
        if not path.exists():
            return False
        try:
            import fcntl
        except ModuleNotFoundError:
            return None
        with path.open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    def _lock(self, file: Any) -> None:
        try:
            import fcntl
        except ModuleNotFoundError:  # some systems do not have it; there the file is not locked
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise self._busy(file.read().decode(errors="replace")) from None

    def position(self, topic: str) -> dict[int, int] | None:
        """Return the offsets at which the first unfinished batch begins, by partition; None before the first batch."""
        done = self._numbers("commits")
        if done:
            return self._offsets(done[-1], topic)[1]
        return self.beginning(topic)

    def beginning(self, topic: str) -> dict[int, int] | None:
        """Return the offsets at which the first batch began, by partition; None before the first batch."""
        path = self.folder / "sources" / "0" / "0"
        if not path.exists():
            return None
        text = self._read(path)
        try:
            return _partitions(text[text.index("{") :], topic)
        except (ValueError, KeyError, TypeError) as mistake:
            raise CheckpointUnreadable(f"{path} is not the start of a Kafka source: {mistake!r}") from None

    def unfinished_batch(self, topic: str) -> CheckpointBatch | None:
        """Return the batch that was planned and not committed; None when there is none."""
        planned, done = self._numbers("offsets"), self._numbers("commits")
        if not planned or (done and done[-1] >= planned[-1]):
            return None
        started_ms, ends = self._offsets(planned[-1], topic)
        starts = self.position(topic) or {}
        ranges = {partition: (starts.get(partition, 0), end) for partition, end in ends.items()}
        return CheckpointBatch(batch_id=planned[-1], started_ms=started_ms, range_by_partition=ranges)

    def _numbers(self, log: str) -> list[int]:
        folder = self.folder / log
        if not folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())

    def _offsets(self, batch_id: int, topic: str) -> tuple[int, dict[int, int]]:
        path = self.folder / "offsets" / str(batch_id)
        lines = self._read(path).splitlines()
        try:
            _version, metadata, offsets = lines
            return int(json.loads(metadata)["batchTimestampMs"]), _partitions(offsets, topic)
        except (ValueError, KeyError, TypeError) as mistake:
            raise CheckpointUnreadable(f"{path} is not an offset log of one Kafka source: {mistake!r}") from None

    def _read(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as refusal:
            raise CheckpointUnreadable(f"{path} cannot be read: {why_unreadable(refusal)}") from None


def _partitions(text: str, topic: str) -> dict[int, int]:
    """Return the offsets of ``topic`` by partition, from ``{"topic":{"0":42}}``."""
    return {int(partition): int(offset) for partition, offset in json.loads(text)[topic].items()}
