"""Token buckets: how often something may be done, for each of many senders, in a bounded memory."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.caches import cached_if_short

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

MAX_ENTRIES: Final = 100_000
_IPV6_NETWORK: Final = 64
"""Whoever has one IPv6 address usually has this network."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many attempts are permitted at once, and then one in how many seconds; or how much of something else."""

    burst: float
    every_s: float


class Buckets:
    """Buckets of one rate. A full one is not kept; beyond ``most`` the one that was used least recently is dropped."""

    def __init__(self, rate: Rate, *, most: int = MAX_ENTRIES, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = most
        self._clock = clock
        self._taken: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._taken)

    def wait_s(self, key: Hashable, amount: float = 1) -> float:
        """Return the seconds until ``amount`` may be taken; 0 if it may be now."""
        taken = self._now_taken(key)
        return max(0.0, (taken + amount - self._rate.burst) * self._rate.every_s)

    def take(self, key: Hashable, amount: float = 1) -> None:
        """Count one attempt, or another ``amount``."""
        self._keep(key, self._now_taken(key) + amount)

    def give_back(self, key: Hashable) -> None:
        """Count one attempt less, since it was right."""
        self._keep(key, self._now_taken(key) - 1)

    def _now_taken(self, key: Hashable) -> float:
        entry = self._taken.get(key)
        if entry is None:
            return 0.0
        taken, at = entry
        return max(0.0, taken - (self._clock() - at) / self._rate.every_s)

    def _keep(self, key: Hashable, taken: float) -> None:
        self._taken.pop(key, None)
        if taken > 0:
            self._taken[key] = (taken, self._clock())
            if len(self._taken) > self._most:
                self._taken.popitem(last=False)


def network_of(address: str) -> str:
    """Return what counts as one sender: an IPv4 address, the /64 of an IPv6 address, or the text itself.

    Most addresses are IPv4, and are not parsed: whoever sends from many of them must not take time by that.

    >>> network_of("2001:db8::1:2"), network_of("::ffff:10.0.0.1"), network_of("10.0.0.1")
    ('2001:db8::', '10.0.0.1', '10.0.0.1')
    """
    return _parsed_network(address) if ":" in address or "%" in address else address


@cached_if_short(4096, longest=100)
def _parsed_network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_NETWORK), strict=False).network_address)
