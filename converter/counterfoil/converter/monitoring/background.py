"""What sends the state of a run over the network: a thread of its own, so that the run waits for no answer."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.converter.errors import BridgeError
from counterfoil.converter.run.snapshot import RunState
from counterfoil.converter.run.watch import now_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.converter.run.snapshot import Snapshot
    from counterfoil.converter.run.watch import Listener

_PERIOD_S: Final = 30.0
"""A run without new records is reported this often, so that its reports do not become stale."""
_LAST_S: Final = 10.0
"""How long the end of a run waits for the last report."""


class BackgroundReports:
    """Passes the latest state of a run to ``recipients``, in a thread; of several that wait, only the latest is sent.

    Before, it requests the present ends of the source's partitions with ``watermarks``, so that the lag is that of now.
    """

    def __init__(
        self,
        recipients: Sequence[Listener],
        watermarks: Callable[[], Mapping[int, tuple[int, int]]],
        *,
        period_s: float = _PERIOD_S,
    ) -> None:
        self._recipients = recipients
        self._watermarks = watermarks
        self._period_s = period_s
        self._waiting: Snapshot | None = None
        self._latest: Snapshot | None = None
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="bridge reports", daemon=True)
        self._thread.start()

    def __call__(self, state: Snapshot) -> None:
        """Report a state, soon."""
        with self._changed:
            self._waiting = self._latest = state
            self._changed.notify()

    def close(self) -> None:
        """Wait a short time until the last report is sent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(_LAST_S)

    def _work(self) -> None:
        while (state := self._next()) is not None:
            present = self._with_present_ends(state)
            if present is not None:
                for recipient in self._recipients:
                    recipient(present)

    def _next(self) -> Snapshot | None:
        """Return the state to send: a new one, or after a period the last one again; None at the end."""
        with self._changed:
            while self._waiting is None:
                if self._is_closed:
                    return None
                if not self._changed.wait(self._period_s) and self._latest is not None:
                    return self._latest
            state, self._waiting = self._waiting, None
            return state

    def _with_present_ends(self, state: Snapshot) -> Snapshot | None:
        """Return the state with the present ends; None while the broker is away, for which the query waits, too."""
        try:
            marks = self._watermarks()
        except BridgeError:
            return None if state.state is RunState.RUNNING else state
        partitions = [
            replace(each, end=max(each.position, marks[each.partition][1])) if each.partition in marks else each
            for each in state.partitions
        ]
        return replace(state, partitions=tuple(partitions), ts=now_ms())
