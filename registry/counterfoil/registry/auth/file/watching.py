"""The access file of a running server: read again when it changes, whole or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.errors import InvalidAccessFile
from counterfoil.registry.auth.file.document import load_access_file
from counterfoil.registry.auth.file.snapshot import Snapshot, is_being_written, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from counterfoil.registry.auth.file.model import AccessFile, FileState

EVERY_S: Final = 2.0
_LOGGER: Final = logging.getLogger(__name__)


class WatchedAccessFile:
    """The access file at ``path``: ``current`` is what it declared when it was last valid.

    Making one raises ``InvalidAccessFile``, so that a server does not start with a broken file. Later mistakes are
    logged and are in ``mistake``; the old rules stay. ``certificate_prefix`` is that of the names in certificates.
    """

    def __init__(
        self, path: Path, *, certificate_prefix: str | None = None, clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._path = path
        self._certificate_prefix = certificate_prefix
        self._clock_ns = clock_ns
        self.current = load_access_file(path, certificate_prefix=certificate_prefix)
        self.mistake: InvalidAccessFile | None = None
        self._states: tuple[FileState, ...] = self.current.states
        self._requested = asyncio.Event()

    def look(self, *, at_once: bool = False) -> bool:
        """Read the file again if it, or a file that it names, has changed; return whether ``current`` is another.

        Unless ``at_once``, one that was written less than a second ago is left for the next time: a half-written file
        could be valid, without the rules at its end.
        """
        if is_unchanged(self._states) or (not at_once and is_being_written(self._states, now_ns=self._clock_ns())):
            return False
        files = Snapshot()
        try:
            self.current = load_access_file(self._path, files, certificate_prefix=self._certificate_prefix)
        except InvalidAccessFile as mistake:
            _LOGGER.error("the access file cannot be used, the old rules stay: %s", mistake)  # noqa: TRY400  no bug of ours
            self.mistake = mistake
            return False
        finally:
            self._states = files.states
        self.mistake = None
        _LOGGER.info("the access file was read again: %s", self._path)
        return True

    def request(self) -> None:
        """Have the file read now if it has changed, as SIGHUP does."""
        self._requested.set()

    async def watch(self, changed: Callable[[AccessFile], Awaitable[None]], *, every_s: float = EVERY_S) -> None:
        """Look at the file for ever, and call ``changed`` with each new content."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._requested.wait(), every_s)
            at_once = self._requested.is_set()
            self._requested.clear()
            if await asyncio.to_thread(self.look, at_once=at_once):
                await changed(self.current)
