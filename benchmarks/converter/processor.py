"""The processor time of a process tree, which depends less on the machine's other load than wall time does."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds(root: int) -> float:
    """Return the processor time of a process and all its descendants; 0 where there is no /proc."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # the process has just ended
            continue
        number = int(entry.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        ticks[number] = sum(map(int, fields[11:15]))
    found, todo = 0, [root]
    while todo:
        number = todo.pop()
        found += ticks.get(number, 0)
        todo += children.get(number, [])
    return found / os.sysconf("SC_CLK_TCK")
