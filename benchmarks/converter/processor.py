"""The processor time of a process tree, which depends less on the machine's other load than wall time does."""

from __future__ import annotations

import os
from pathlib import Path


class ProcessorTime:
    """The processor time of a process and all its descendants; it never falls.

    Of a process that has ended, what it had used when it was last looked at is kept. 0 where there is no /proc.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._ticks: dict[int, int] = {}

    def seconds(self) -> float:
        """Return the seconds until now."""
        children: dict[int, list[int]] = {}
        ticks: dict[int, int] = {}
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
            except OSError:  # the process has just ended
                continue
            number = int(entry.parent.name)
            children.setdefault(int(fields[1]), []).append(number)
            ticks[number] = int(fields[11]) + int(fields[12])
        todo = [self._root]
        while todo:
            number = todo.pop()
            self._ticks[number] = ticks.get(number, self._ticks.get(number, 0))
            todo += children.get(number, [])
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")
