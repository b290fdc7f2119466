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
    """The two ends of the mailbox, and the file whose locked bytes are the judges that there are, at most ``most``.

    It is made before the server's processes are forked. Any process may send a call; any judge takes it. Judges have
    the receiving end alone, so that they notice when no server is left.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._sending, self.receiving = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        os.set_blocking(self._sending.fileno(), False)
        self.slots = _anonymous_file()

    def send(self, connection: socket.socket) -> None:
        """Send the end of a connection to whichever judge is next; raise ``OSError`` if too many wait."""
        socket.send_fds(self._sending, [b"+"], [connection.fileno()])

    def judges(self) -> int:
        """Return the number of judges that there are."""
        return sum(not self._is_free(slot) for slot in range(self.most))

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
