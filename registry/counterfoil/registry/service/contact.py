"""Whether the store answers: noted where it is used, logged once when it is lost and once when it is back."""

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
    """The store has not answered for so long that a reader had better use what is in memory; it may answer yet."""


class StoreContact:
    """The state of the store, as of the last reading of it.

    ``at_loss`` is called when it is lost, for whoever tries it again. ``clock_s`` never goes back.
    """

    def __init__(
        self, at_loss: Callable[[], None] = _nothing, *, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_loss = at_loss
        self._clock_s = clock_s
        self._lost_at_s = 0.0
        self._are_writes_refused = False
        self.error: RegistryError | None = None
        """Why the store cannot be read; None while it can."""

    @property
    def lost_for_s(self) -> float | None:
        """The seconds since the store was found lost; None while it answers."""
        return None if self.error is None else self._clock_s() - self._lost_at_s

    def note_lost(self, error: RegistryError) -> None:
        """Take note that the store could not be read because of ``error``."""
        if self.error is not None:
            self.error = error
            return
        self.error, self._lost_at_s = error, self._clock_s()
        _LOGGER.error("the store is lost", extra={"cause": error.message})
        self._at_loss()

    def note_reached(self) -> None:
        """Take note that the store has answered."""
        lost_for_s = self.lost_for_s
        if lost_for_s is not None:
            self.error = None
            _LOGGER.info("the store is back", extra={"lost_for_s": round(lost_for_s, 3)})

    def note_write(self, failure: Exception | None = None) -> None:
        """Take note that the store has carried out a write, or has failed to because of ``failure``."""
        if failure is None:
            if self._are_writes_refused:
                _LOGGER.info("the store takes writes again")
            self._are_writes_refused = False
        elif isinstance(failure, (StoreUnavailable, StoreTimeout)) and not self._are_writes_refused:
            self._are_writes_refused = True
            _LOGGER.warning("the store does not take writes", extra={"cause": failure.message})
