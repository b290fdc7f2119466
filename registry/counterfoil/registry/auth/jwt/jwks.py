"""The keys of one issuer, kept in memory: refreshed in the background, and once for a key that is not known yet.

A failed fetch keeps the last keys for a day. Fetches of an issuer are 30 seconds apart, however many tokens are forged.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.jwt.fetching import FetchFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.auth.jwt.fetching import KeyOrigin
    from counterfoil.registry.auth.jwt.issuers import Issuer
    from counterfoil.registry.auth.jwt.keys import IssuerKey, KeySet

BETWEEN_FETCHES_S: Final = 30.0
_UNKNOWN_S: Final = 300.0
_MAX_UNKNOWN: Final = 128
_MAX_KID_CHARACTERS: Final = 512

_LOGGER: Final = logging.getLogger(__name__)


class KeysUnavailable(Exception):
    """The keys of an issuer were never fetched, or too long ago: nobody can say whether a token is right."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(retry_after_s)
        self.retry_after_s = retry_after_s


class IssuerKeys:
    """The keys of ``issuer``, fetched from ``origin``."""

    def __init__(self, issuer: Issuer, origin: KeyOrigin, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.issuer = issuer
        self.failures = 0
        self._origin = origin
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched_at = 0.0
        self._tried_at: float | None = None
        self._refresh_s = BETWEEN_FETCHES_S
        self._unknown: OrderedDict[str, float] = OrderedDict()
        self._fetch: asyncio.Task[bool] | None = None
        self._refreshing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to fetch and to refresh in the background. Nothing waits for it."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh_for_ever())

    async def stop(self) -> None:
        """End the work in the background. A fetch under way is waited for, since requests wait for it as well."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        tasks = [task for task in (self._refreshing, self._fetch) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def age_s(self) -> float | None:
        """The seconds since the keys were fetched; None if they never were."""
        return None if self._keys is None else self._clock() - self._fetched_at

    @property
    def latest(self) -> KeySet | None:
        """The keys that were fetched last, however long ago; None if they never were."""
        return self._keys

    @property
    def left_s(self) -> float:
        """The seconds for which these can be used if no fetch succeeds."""
        return 0.0 if self._keys is None else self.issuer.jwks_stale_s - (self._clock() - self._fetched_at)

    def holds(self, thumbprint: bytes) -> bool:
        """Return whether the key with this thumbprint is still one of the issuer's."""
        keys = self._current()
        return keys is not None and thumbprint in keys.thumbprints

    async def find(self, kid: str | None, algorithm: str) -> IssuerKey | None:
        """Return the key for a token's header, or None; raise ``KeysUnavailable`` if the issuer's keys are unknown."""
        is_fresh = False
        if self._current() is None or (kid is not None and self._is_worth_a_fetch(kid)):
            is_fresh = await self._fetch_once()
        keys = self._current()
        if keys is None:
            raise KeysUnavailable(self._retry_after_s())
        if is_fresh and kid is not None and not keys.has(kid):
            self._remember_unknown(kid)
        return keys.find(kid, algorithm)

    def _current(self) -> KeySet | None:
        if self._keys is None or self._clock() - self._fetched_at > self.issuer.jwks_stale_s:
            return None
        return self._keys

    def _is_worth_a_fetch(self, kid: str) -> bool:
        if (self._keys is not None and self._keys.has(kid)) or len(kid) > _MAX_KID_CHARACTERS:
            return False
        until = self._unknown.get(kid)
        return until is None or self._clock() >= until

    def _remember_unknown(self, kid: str) -> None:
        self._unknown[kid] = self._clock() + _UNKNOWN_S
        if len(self._unknown) > _MAX_UNKNOWN:
            self._unknown.popitem(last=False)

    def _retry_after_s(self) -> int:
        since = 0.0 if self._tried_at is None else self._clock() - self._tried_at
        return max(1, int(BETWEEN_FETCHES_S - since) + 1)

    async def _fetch_once(self) -> bool:
        """Wait for the fetch that is under way, or for a new one, unless the last was a moment ago.

        Returns whether there was one and it was successful.
        """
        if self._fetch is None or self._fetch.done():
            if self._tried_at is not None and self._clock() - self._tried_at < BETWEEN_FETCHES_S:
                return False
            self._fetch = asyncio.create_task(self._fetch_now())
        return await asyncio.shield(self._fetch)

    async def _fetch_now(self) -> bool:
        self._tried_at = self._clock()
        try:
            fetched = await self._origin.fetch()
        except FetchFailed as failure:
            self.failures += 1
            self._refresh_s = BETWEEN_FETCHES_S
            _LOGGER.warning("the keys of an issuer could not be fetched: %s", failure)
            return False
        self._keys, self._fetched_at = fetched.keys, self._clock()
        self._refresh_s = fetched.refresh_s
        return True

    async def _refresh_for_ever(self) -> None:
        while True:
            await self._fetch_once()
            await asyncio.sleep(self._refresh_s)
