"""Throttling of wrong passwords: by name and address, and by address, in a bounded memory.

Each is a bucket from which an attempt takes a token; an attempt with the right password puts it back. Nobody is
locked out: what is remembered as right is not counted, and a bucket fills again.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.buckets import MAX_ENTRIES, Buckets, Rate, network_of

if TYPE_CHECKING:
    from collections.abc import Callable

BY_NAME: Final = Rate(burst=10, every_s=6.0)
BY_ADDRESS: Final = Rate(burst=100, every_s=0.6)


class Throttle:
    """The throttle of wrong passwords of one process."""

    def __init__(self, *, most: int = MAX_ENTRIES, clock: Callable[[], float] = time.monotonic) -> None:
        self._by_name = Buckets(BY_NAME, most=most, clock=clock)
        self._by_address = Buckets(BY_ADDRESS, most=most, clock=clock)

    def begin(self, name: str, address: str) -> int | None:
        """Count an attempt and return None; or, if there were too many, return after how many seconds to try again."""
        network = network_of(address)
        wait_s = max(self._by_address.wait_s(network), self._by_name.wait_s((name, network)))
        if wait_s > 0:
            return math.ceil(wait_s)
        self._by_address.take(network)
        self._by_name.take((name, network))
        return None

    def cancel(self, name: str, address: str) -> None:
        """Uncount an attempt, since the password was right, or was not examined."""
        network = network_of(address)
        self._by_address.give_back(network)
        self._by_name.give_back((name, network))
