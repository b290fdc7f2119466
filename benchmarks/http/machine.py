"""The operating system's data about processes: the cores they may use, CPU time used, memory used."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

CORES: Final = tuple(sorted(os.sched_getaffinity(0)))
SERVER_CORE: Final = CORES[:1]
LOAD_CORE: Final = CORES[-1:]

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


@contextmanager
def on_cores(cores: tuple[int, ...]) -> Iterator[None]:
    """Start processes on these cores alone while the block runs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [pid, *(each for child in children for each in family(int(child)))]


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and its descendants, also of those that have ended, in seconds."""
    return sum(_ticks(each) for each in family(pid)) / _TICKS_PER_S


def parent(pid: int) -> int:
    """Return the parent of a process."""
    return int(_fields(pid)[1])


def _ticks(pid: int) -> int:
    """Return utime, stime, and those of ended children."""
    try:
        return sum(map(int, _fields(pid)[11:15]))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _fields(pid: int) -> list[str]:
    """Return the fields of a process's ``stat`` (proc(5)) after its name."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def memory_mb(pid: int) -> float:
    """Return the largest proportional set size of a process and its descendants, in megabytes."""
    sizes = []
    for each in family(pid):
        lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        sizes.append(next(int(line.split()[1]) for line in lines if line.startswith("Pss:")))
    return max(sizes) * 1024 / 1e6
