"""The recorded progress of a bridge: a file of JSON lines in the checkpoint's folder, one line for each state.

It is data for ``bridge status`` and ``bridge report`` alone; a run neither needs nor reads it. Its size is limited:
when it is full, every second state of the middle of runs is left out, and if that is not enough, the older half.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from counterfoil.converter.errors import CheckpointUnreadable, why_unreadable
from counterfoil.converter.run.snapshot import RunState, read_snapshot, snapshot_json
from counterfoil.schema.rest.json_values import UnexpectedShapeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counterfoil.converter.run.snapshot import Snapshot

FILE_NAME: Final = "progress.jsonl"
_MAX_BYTES: Final = 4 << 20
_KEPT_SHARE: Final = 0.75
"""A history that is fuller after states were left out would have to be rewritten soon again."""


class History:
    """Appends the states of a run to the file in ``folder``; a file that cannot be written is printed once."""

    def __init__(self, folder: Path, *, say: Callable[[str], None], max_bytes: int = _MAX_BYTES) -> None:
        self._path = folder / FILE_NAME
        self._say = say
        self._max_bytes = max_bytes
        self._has_failed = False

    def __call__(self, state: Snapshot) -> None:
        """Append a state."""
        try:
            self._append(state)
        except OSError as failure:
            if not self._has_failed:
                why = why_unreadable(failure)
                self._say(f"the progress cannot be recorded, and the run goes on: {self._path}: {why}")
            self._has_failed = True

    def _append(self, state: Snapshot) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = _line(state)
        with self._path.open("ab") as file:
            size = file.tell()
            if size and not _ends_with_line_end(self._path, size):  # an earlier driver was killed while it wrote
                line = b"\n" + line
            file.write(line)
        if size + len(line) > self._max_bytes:
            self._thin_out()

    def _thin_out(self) -> None:
        """Leave out every second state, but for the first and last ones of runs; then, if need be, the older half."""
        states = read_history(self._path.parent)
        kept = [
            state
            for number, state in enumerate(states)
            if number % 2 or not state.batches or state.state is not RunState.RUNNING
        ]
        unfinished = self._path.with_suffix(".new")
        lines = [_line(state) for state in kept]
        if sum(map(len, lines)) > _KEPT_SHARE * self._max_bytes:
            lines = lines[len(lines) // 2 :]
        unfinished.write_bytes(b"".join(lines))
        unfinished.replace(self._path)


def _line(state: Snapshot) -> bytes:
    return json.dumps(snapshot_json(state), separators=(",", ":")).encode() + b"\n"


def _ends_with_line_end(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"


def read_history(folder: Path) -> list[Snapshot]:
    """Return the recorded states, the oldest first; none if there is no file.

    A line that is cut off, as a kill leaves it, is skipped.
    """
    path = folder / FILE_NAME
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as failure:
        raise CheckpointUnreadable(f"{path} cannot be read: {failure.strerror}") from None
    states = []
    for line in lines:
        try:
            states.append(read_snapshot(json.loads(line)))
        except ValueError:  # no JSON
            continue
        except UnexpectedShapeError as mistake:
            raise CheckpointUnreadable(f"{path} is not the progress of a bridge: {mistake}") from None
    return states
