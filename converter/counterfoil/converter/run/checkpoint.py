"""Reading Spark's checkpoint folder: its bridge, the position of the next batch, and the unfinished batch.

Spark writes ``offsets/N`` before batch N and ``commits/N`` after it, each a version line and lines of JSON; the
position at the very beginning is in ``sources/0/0``. Beside them the bridge keeps two files of its own:
``counterfoil.json`` names the bridge and plan that the checkpoint belongs to, and ``counterfoil.lock`` is that of the
driver that uses it (:mod:`counterfoil.converter.run.checkpoint_files`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.converter.errors import BridgeError, CheckpointConflict, CheckpointUnreadable, why_unreadable
from counterfoil.converter.run.checkpoint_files import CheckpointFiles, HadoopFiles, LocalFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from counterfoil.converter.bridge import ResolvedBridge


_STATE = "counterfoil.json"


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


def checkpoint_of(file: Path, bridge: str, place: Path | str | None) -> Checkpoint:
    """Return the checkpoint of a bridge: that at ``place``, else the default one."""
    default = default_folder(file, bridge)
    return Checkpoint(place or default, beside=default)


def begun_plan(checkpoint: Checkpoint) -> str | None:
    """Return the hash with which a checkpoint was begun; None if it was not."""
    found = checkpoint.identity()
    return None if found is None else found.plan


class Checkpoint:
    """The checkpoint at ``place``: a folder that is local or mounted, or the URI of a file system that Hadoop knows.

    It need not exist yet. ``folder`` has what only this machine reads, the log and the history of runs; it is the
    checkpoint's own if that is a folder, else ``beside``. A checkpoint that ``is_remote`` is read after ``connect``.
    """

    def __init__(self, place: Path | str, *, beside: Path | None = None, files: CheckpointFiles | None = None) -> None:
        spelt = str(place)
        self.is_remote = is_remote(spelt)
        self._files = files
        self._place = spelt
        if not self.is_remote:
            self.folder = Path(spelt.removeprefix("file://")).absolute()
            self._files = LocalFiles(self.folder)
        elif beside is None:
            raise BridgeError(f"The checkpoint {spelt} is not a local or mounted folder, which is needed here")
        else:
            self.folder = beside.absolute()

    def connect(self, session: SparkSession) -> None:
        """Read the checkpoint through Java from now on, if it is remote; Spark then writes it as it needs it."""
        if self.is_remote:
            self._files = HadoopFiles(session, self._place)

    @property
    def files(self) -> CheckpointFiles:
        """The files of the checkpoint."""
        if self._files is None:
            raise BridgeError(f"The checkpoint {self._place} can be read only when Spark has started")
        return self._files

    @property
    def location(self) -> str:
        """The address of the checkpoint for Spark."""
        return self.files.location

    @property
    def is_lost(self) -> bool:
        """Whether another driver may use the checkpoint, although this one has locked it."""
        return self.files.is_lost

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
                f"The checkpoint {self._shown} was made with {facts}; use another folder, or --force to continue"
            )
        if found is None and self._numbers("offsets") and not force:
            raise CheckpointConflict(
                f"The checkpoint {self._shown} is not a bridge's; use another folder, or --force to continue"
            )

    @property
    def _shown(self) -> str:
        return self._place if self.is_remote else str(self.folder)

    def claim(self, identity: CheckpointIdentity, *, force: bool) -> None:
        """Check the identity, and write it into the checkpoint."""
        self.check(identity, force=force)
        self.files.write(_STATE, (json.dumps(asdict(identity), indent=2) + "\n").encode())

    def identity(self) -> CheckpointIdentity | None:
        """Return the identity of the checkpoint's bridge; None for a new checkpoint."""
        content = self.files.read(_STATE)
        if content is None:
            return None
        try:
            return CheckpointIdentity(**json.loads(content))
        except (ValueError, TypeError) as mistake:
            raise CheckpointUnreadable(
                f"{self.files.shown(_STATE)} is not the file that a bridge writes there: {mistake}"
            ) from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the checkpoint. Raise ``CheckpointBusy`` if another driver has."""
        with self.files.locked():
            yield

    def refuse_busy(self) -> None:
        """Raise ``CheckpointBusy`` if another driver has locked a folder; a remote checkpoint is seen by ``locked``."""
        if isinstance(self._files, LocalFiles):
            self._files.refuse_busy()

    def has_driver(self) -> bool | None:
        """Return whether a driver has locked the checkpoint; None where that is not known."""
        return None if self._files is None else self._files.has_driver()

    def position(self, topic: str) -> dict[int, int] | None:
        """Return the offsets at which the first unfinished batch begins, by partition; None before the first batch."""
        done = self._numbers("commits")
        if done:
            return self._offsets(done[-1], topic)[1]
        return self.beginning(topic)

    def beginning(self, topic: str) -> dict[int, int] | None:
        """Return the offsets at which the first batch began, by partition; None before the first batch."""
        name = "sources/0/0"
        text = self._text(name)
        if text is None:
            return None
        try:
            return _partitions(text[text.index("{") :], topic)
        except (ValueError, KeyError, TypeError) as mistake:
            raise CheckpointUnreadable(
                f"{self.files.shown(name)} is not the start of a Kafka source: {mistake!r}"
            ) from None

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
        return sorted(int(name) for name in self.files.names(log) if name.isdecimal())

    def _offsets(self, batch_id: int, topic: str) -> tuple[int, dict[int, int]]:
        name = f"offsets/{batch_id}"
        lines = (self._text(name) or "").splitlines()
        try:
            _version, metadata, offsets = lines
            return int(json.loads(metadata)["batchTimestampMs"]), _partitions(offsets, topic)
        except (ValueError, KeyError, TypeError) as mistake:
            raise CheckpointUnreadable(
                f"{self.files.shown(name)} is not an offset log of one Kafka source: {mistake!r}"
            ) from None

    def _text(self, name: str) -> str | None:
        content = self.files.read(name)
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError as mistake:
            raise CheckpointUnreadable(f"{self.files.shown(name)} cannot be read: {why_unreadable(mistake)}") from None


def is_remote(place: Path | str) -> bool:
    """Return whether a place is the URI of a file system of Hadoop, and no folder.

    >>> is_remote("s3a://bucket/bridges"), is_remote("dbfs:/bridges"), is_remote("file:///var"), is_remote("rides")
    (True, True, False, False)
    """
    scheme = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]+):/", str(place))
    return scheme is not None and scheme[1] != "file"


def _partitions(text: str, topic: str) -> dict[int, int]:
    """Return the offsets of ``topic`` by partition, from ``{"topic":{"0":42}}``."""
    return {int(partition): int(offset) for partition, offset in json.loads(text)[topic].items()}
