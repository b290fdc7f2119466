"""Whether a name and a password belong together: throttled, and once where equal requests arrive at the same time."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.passwords.checking import TooManyChecks
from counterfoil.registry.auth.passwords.hashes import MAX_PASSWORD_BYTES, hash_password, parse_hash
from counterfoil.registry.domain.access.buckets import network_of
from counterfoil.registry.domain.access.identity import Reason, Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.auth.passwords.checking import PasswordChecks
    from counterfoil.registry.auth.passwords.hashes import PasswordHash
    from counterfoil.registry.auth.passwords.throttling import Throttle

_BUSY_RETRY_S: Final = 1


@dataclass(frozen=True, slots=True)
class StoredUser:
    """A user with a password."""

    name: str
    stored: PasswordHash
    is_disabled: bool = False


class PasswordVerifier:
    """The passwords of ``users`` by name. Other users need another one, with the same checks and throttle."""

    def __init__(self, users: Mapping[str, StoredUser], *, checks: PasswordChecks, throttle: Throttle) -> None:
        self._users = users
        self._checks = checks
        self._throttle = throttle
        self._key = secrets.token_bytes(32)
        self._stand_ins: tuple[PasswordHash, ...] = tuple(user.stored for user in users.values())
        self._under_way: dict[bytes, asyncio.Task[StoredUser | Refusal]] = {}

    async def verify(self, name: str, password: bytes, address: str) -> StoredUser | Refusal:
        """Return the user, or why there is none. An unknown name costs one hash, as a wrong password does."""
        key = self._digest(name.encode(), password, network_of(address).encode())
        task = self._under_way.get(key)
        if task is None:
            refusal = self._refusal(name, address)
            if refusal is not None:
                return refusal
            task = asyncio.create_task(self._attempt(name, password, address))
            self._under_way[key] = task
            task.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(task)  # one request that is cancelled does not end the check of the others

    def _refusal(self, name: str, address: str) -> Refusal | None:
        """Count an attempt; return why it is refused without a check, which costs far less than a task for it."""
        wait_s = self._throttle.begin(name, address)
        if wait_s is not None:
            return Refusal(Reason.THROTTLED, wait_s)
        return self._unexamined(name, address) if self._checks.is_full else None

    def _unexamined(self, name: str, address: str) -> Refusal:
        """Return the refusal of a password that was not examined.

        The attempt counts if there are many wrong passwords: their sender would take all places again and again.
        """
        if self._checks.is_slowed:
            return Refusal(Reason.THROTTLED, _BUSY_RETRY_S)
        self._throttle.cancel(name, address)
        return Refusal(Reason.UNAVAILABLE, _BUSY_RETRY_S)

    async def _attempt(self, name: str, password: bytes, address: str) -> StoredUser | Refusal:
        user = self._users.get(name)
        stored = self._stand_in(name) if user is None else user.stored
        try:
            fits = await self._checks.fits(stored, password[: MAX_PASSWORD_BYTES + 1])
        except TooManyChecks:
            return self._unexamined(name, address)
        if user is None or user.is_disabled or not fits:
            return Refusal(Reason.WRONG)
        self._throttle.cancel(name, address)
        return user

    def _stand_in(self, name: str) -> PasswordHash:
        """Return the hash that is checked for an unknown name: always the same, and as costly as that of some user."""
        if not self._stand_ins:
            self._stand_ins = (parse_hash(hash_password(secrets.token_hex().encode())),)
        number = int.from_bytes(self._digest(name.encode())[:8], "big")
        return self._stand_ins[number % len(self._stand_ins)]

    def _digest(self, *parts: bytes) -> bytes:
        framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hashlib.sha256(self._key + framed).digest()

    def _ended(self, key: bytes, task: asyncio.Task[StoredUser | Refusal]) -> None:
        self._under_way.pop(key, None)
        if not task.cancelled():
            task.exception()  # whoever waits hears of it; without anybody asyncio would log it
