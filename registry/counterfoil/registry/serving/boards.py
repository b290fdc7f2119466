"""Memory that processes share: each writes its own metrics there, and reads those of the others.

The last metrics of a killed process stay, and the process that replaces it continues from them: sums never go down, as
Prometheus requires for counters.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from typing import Final

_HALF_BYTES: Final = 512 * 1024
_HEAD: Final = struct.Struct("<II")  # size and checksum
_PLACE_BYTES: Final = 2 * _HALF_BYTES + mmap.PAGESIZE
_ATTEMPTS: Final = 100


class Boards:
    """One place for each process. It is made before they are forked; memory is used as it is written."""

    def __init__(self, count: int) -> None:
        self._memory = mmap.mmap(-1, count * _PLACE_BYTES)
        self.count = count

    def write(self, place: int, content: bytes) -> None:
        """Write ``content`` to ``place``; content that does not fit is ignored, and the earlier content stays.

        There are two halves. The one that is not being read is written, and then a single byte makes it the current
        one; a process may be killed at any point of this.
        """
        if _HEAD.size + len(content) > _HALF_BYTES:
            return
        begin = place * _PLACE_BYTES
        half = 1 - self._memory[begin]
        at = begin + mmap.PAGESIZE + half * _HALF_BYTES
        self._memory[at + _HEAD.size : at + _HEAD.size + len(content)] = content
        self._memory[at : at + _HEAD.size] = _HEAD.pack(len(content), zlib.crc32(content))
        self._memory[begin] = half

    def read(self, place: int) -> bytes:
        """Return the content of ``place``; empty if nothing was written yet."""
        begin = place * _PLACE_BYTES
        for _ in range(_ATTEMPTS):  # again if it was written to meanwhile
            at = begin + mmap.PAGESIZE + self._memory[begin] * _HALF_BYTES
            size, checksum = _HEAD.unpack(self._memory[at : at + _HEAD.size])
            content = self._memory[at + _HEAD.size : at + _HEAD.size + min(size, _HALF_BYTES)]
            if zlib.crc32(content) == checksum:
                return content
        return b""


class PlaceOnBoards:
    """The place of one process on the boards that it shares with the others."""

    def __init__(self, boards: Boards, place: int) -> None:
        self._boards = boards
        self._place = place

    def show(self, measures: bytes) -> None:
        """Write what this process has measured so far."""
        self._boards.write(self._place, measures)

    def others(self) -> list[bytes]:
        """Return what the other processes have written."""
        places = [place for place in range(self._boards.count) if place != self._place]
        return [shown for place in places if (shown := self._boards.read(place))]
