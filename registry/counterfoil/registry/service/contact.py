"""Whether the store responds: recorded at each use, logged once when it is lost and once when it responds again."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.errors import RegistryError

_LOGGER: Final = logging.getLogger("counterfoil.registry.store")


def _nothing() -> None:
    """Do nothing."""


class StoreSlow(StoreTimeout):
    """The store has not responded for so long that a reader should use cached data; it may still respond."""


class StoreContact:
    """The state of the store at its last use.

    ``at_loss`` is called when it is lost, so that it is tried again. ``clock_s`` is monotonic.
    """

    def __init__(
        self, at_loss: Callable[[], None] = _nothing, *, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_loss = at_loss
        self._clock_s = clock_s
        self._lost_at_s = 0.0
        self._are_writes_refused = False
        self.error: RegistryError | None = None
        """Why the store cannot be read; None when it can be read."""

    @property
    def lost_for_s(self) -> float | None:
        """The seconds since the store was found lost; None when it responds."""
        return None if self.error is None else self._clock_s() - self._lost_at_s

    def note_lost(self, error: RegistryError) -> None:
        """Record that the store could not be read because of ``error``."""
        if self.error is not None:
            self.error = error
            return
        self.error, self._lost_at_s = error, self._clock_s()
        _LOGGER.error("the store is lost", extra={"cause": error.message})
        self._at_loss()

    def note_reached(self) -> None:
        """Record that the store has responded."""
        lost_for_s = self.lost_for_s
        if lost_for_s is not None:
            self.error = None
            _LOGGER.info("the store is back", extra={"lost_for_s": round(lost_for_s, 3)})

    def note_write(self, failure: Exception | None = None) -> None:
        """Record that the store has carried out a write, or could not because of ``failure``."""
        if failure is None:
            if self._are_writes_refused:
                _LOGGER.info("the store takes writes again")
            self._are_writes_refused = False
        elif isinstance(failure, (StoreUnavailable, StoreTimeout)) and not self._are_writes_refused:
            self._are_writes_refused = True
            _LOGGER.warning("the store does not take writes", extra={"cause": failure.message})
