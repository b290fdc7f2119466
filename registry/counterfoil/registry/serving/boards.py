"""Memory that processes share: each shows there what it has measured, and reads what the others show.

A process that is killed leaves what it showed last, and whoever takes its place goes on from there: sums never go down,
as Prometheus has it for counters.
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
    """As many places as there are processes. To be made before they are forked; memory is used as it is written."""

    def __init__(self, count: int) -> None:
        self._memory = mmap.mmap(-1, count * _PLACE_BYTES)
        self.count = count

    def write(self, place: int, content: bytes) -> None:
        """Show ``content`` at ``place``; what does not fit is not shown, and the content before it stays.

        There are two halves. The one that is not being read is written, and then a single byte says that it is the
        current one; a process may be killed at any point of this.
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
        """What is shown at ``place``; empty when there was nothing yet."""
        begin = place * _PLACE_BYTES
        for _ in range(_ATTEMPTS):  # again where it was written to meanwhile
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
        """Show what this process has measured so far."""
        self._boards.write(self._place, measures)

    def others(self) -> list[bytes]:
        """What the other processes show."""
        places = [place for place in range(self._boards.count) if place != self._place]
        return [shown for place in places if (shown := self._boards.read(place))]
