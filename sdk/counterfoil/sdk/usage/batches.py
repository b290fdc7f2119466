"""Batches on their way to a sink: sent by a thread of their own, a bounded number of them, and none without need."""

from __future__ import annotations

import atexit
import json
import os
import weakref
from collections import deque
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.client import Registry

Sink: TypeAlias = "Callable[[dict[str, Any]], object]"
"""Takes a batch. An exception means that it could not be sent, and is sent again later: see :class:`BatchRefused`."""

MAX_BATCHES: Final = 10
"""How many batches wait at most; of more, the oldest are dropped and counted."""

_MAX_DOUBLINGS: Final = 5
"""How often the pause doubles at most, while the sink takes nothing: 32 times as long."""

_NEVER_ACCEPTED: Final = frozenset({400, 413, 422})
"""The statuses with which a registry says that a batch is not valid, and will not be."""


class BatchRefused(Exception):
    """Raised by a sink for a batch that it will never take; it is dropped and counted."""


_senders: weakref.WeakSet[BatchSender] = weakref.WeakSet()


class BatchSender:
    """Calls ``collect`` every ``every_s`` seconds, and gives what it returns to the sink.

    Its thread begins with :meth:`start`, in a forked process again, where ``forget`` removes what the parent has
    observed. While the sink takes nothing, the pauses become longer, up to 32 times. Programs end without waiting for
    more than ``close_s`` seconds.
    """

    def __init__(
        self,
        collect: Callable[[], dict[str, Any] | None],
        sink: Sink,
        *,
        forget: Callable[[], None],
        every_s: float,
        close_s: float = 2.0,
    ) -> None:
        self.dropped = 0
        self._collect = collect
        self._forget = forget
        self._sink = sink
        self._every_s = every_s
        self._close_s = close_s
        self._renew()
        _senders.add(self)

    def _renew(self) -> None:
        self._waiting: deque[dict[str, Any]] = deque()
        self._failures = 0
        self._ended = Event()
        self._thread: Thread | None = None
        self._lock = Lock()
        self._sending = Lock()

    def start(self) -> None:
        """Start the thread, if it does not run."""
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._ended.is_set():
                    self._thread = Thread(target=self._run, name="counterfoil-usage", daemon=True)
                    self._thread.start()

    def send(self) -> None:
        """Send what there is, in this thread; what the sink does not take waits."""
        batch = self._collect()
        with self._sending:
            if batch is not None:
                self._waiting.append({**batch, "droppedBatches": self.dropped})
            while len(self._waiting) > MAX_BATCHES:
                self._waiting.popleft()
                self.dropped += 1
            while self._waiting:
                try:
                    self._sink(self._waiting[0])
                except BatchRefused:
                    self.dropped += 1
                except Exception:  # noqa: BLE001 (a sink may raise anything, and reading goes on in any case)
                    self._failures += 1
                    return
                self._waiting.popleft()
            self._failures = 0

    def close(self) -> None:
        """Send what there is, once more, and end the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(self._close_s)
        else:  # nothing was observed, as a rule
            self.send()

    def forked(self) -> None:
        """Begin anew, in a forked process: what its parent has observed is sent by the parent.

        No lock is taken, since a thread that no longer exists may hold it.
        """
        self._renew()
        self._forget()

    def _run(self) -> None:
        while not self._ended.wait(self._every_s * 2 ** min(self._failures, _MAX_DOUBLINGS)):
            self.send()
        self.send()


def file_sink(path: str | os.PathLike[str]) -> Sink:
    """Return a sink that appends each batch to a file as one line of JSON."""
    place = Path(path)

    def append(batch: dict[str, Any]) -> None:
        with place.open("a", encoding="utf-8") as file:
            file.write(json.dumps(batch, ensure_ascii=False) + "\n")

    return append


def registry_sink(registry: Registry) -> Sink:
    """Return a sink that posts each batch to a registry."""

    def post(batch: dict[str, Any]) -> None:
        from counterfoil.schema.errors import RegistryError
        from counterfoil.sdk import operations

        try:
            registry.call(operations.post_usage(batch))
        except RegistryError as error:
            if error.status in _NEVER_ACCEPTED:
                raise BatchRefused(str(error)) from error
            raise

    return post


def sink_of(given: object) -> Sink:
    """Return the function that takes batches; raise ``InvalidSettings`` for what cannot take any."""
    from counterfoil.sdk.client import Registry

    if isinstance(given, Registry):
        return registry_sink(given)
    if isinstance(given, (str, os.PathLike)):
        return file_sink(given)
    if callable(given):
        return given
    problem = f"sink is a {type(given).__name__}; expected a Registry, the path of a file, or a function of a batch"
    raise InvalidSettings(problem, setting="sink")


def _close_all() -> None:
    for sender in list(_senders):
        sender.close()


def _after_fork() -> None:
    for sender in list(_senders):
        sender.forked()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
