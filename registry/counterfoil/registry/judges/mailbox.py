"""What the processes of one server and its judges share: the mailbox of calls, and the slots of judges.

Both are anonymous: no file and no name is needed, and no other process can send anything.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import tempfile
from contextlib import suppress
from typing import Final

_NAME: Final = "counterfoil-judges"


class Mailbox:
    """The two ends of the mailbox, and a file with a byte for each judge that there may be.

    A judge locks its byte, and writes there what it does. There are at most ``most``.

    It is made before the server's processes are forked. Any process may send a call; any judge takes it. Judges have
    the receiving end alone, so that they notice when no server is left.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._sending, self.receiving = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        os.set_blocking(self._sending.fileno(), False)
        self.slots = _anonymous_file()
        os.pwrite(self.slots, bytes(most), 0)

    def send(self, connection: socket.socket) -> None:
        """Send the end of a connection to whichever judge is next; raise ``OSError`` if too many wait."""
        socket.send_fds(self._sending, [b"+"], [connection.fileno()])

    def judges(self) -> list[bytes]:
        """Return what each of the judges does that there are."""
        return [os.pread(self.slots, 1, slot) for slot in range(self.most) if not self._is_free(slot)]

    def _is_free(self, slot: int) -> bool:
        """Return whether no process has a slot: a lock of this process would exclude none of its own."""
        try:
            fcntl.lockf(self.slots, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
        except OSError:
            return False
        fcntl.lockf(self.slots, fcntl.LOCK_UN, 1, slot)
        return True

    def close(self) -> None:
        """Close both ends in this process; judges end when all of its processes have."""
        self._sending.close()
        self.receiving.close()
        with suppress(OSError):
            os.close(self.slots)


def _anonymous_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create(_NAME)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
