"""Passwords and API tokens: their checks, also those of a store's users and services."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hmac import compare_digest
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.access.identities.hashes import MAX_PASSWORD_BYTES, TOKEN_PREFIX, hash_password, parse_hash
from counterfoil.registry.access.identity import (
    Buckets,
    CallerIdentity,
    Rate,
    UnprovenCaller,
    UnprovenReason,
    network_of,
)
from counterfoil.registry.access.records import StoredAccess
from counterfoil.registry.access.rules import USER
from counterfoil.registry.judges.judging import give_way
from counterfoil.registry.store.writes import StaleWrite
from counterfoil.schema.errors import RegistryError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from counterfoil.registry.access.identities.hashes import PasswordHash
    from counterfoil.registry.access.identity import Throttle
    from counterfoil.registry.access.records import AccessUser
    from counterfoil.registry.access.rules import OperationScope


# Checks of passwords in threads: a few at a time, and a limited number waiting for a limited time.

_ALL: Final = "wrong passwords"
"""The key of the only bucket: the processor time of wrong passwords, in seconds."""


class TooManyChecks(Exception):
    """So many checks are waiting that this one is not made."""


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """How many checks run at a time, how many wait, and how long.

    Wrong passwords may take ``wrong_s`` seconds of processor time, and then ``wrong_share`` of one core (1: no limit),
    or more where the next check would have to pause for longer than ``wait_s``.
    """

    at_once: int = 2
    waiting: int = 64
    wait_s: float = 5.0
    wrong_s: float = 2.0
    wrong_share: float = 0.05


class PasswordChecks:
    """The checks of one event loop. The threads let other ones run while they hash, and on Linux before them.

    ``took`` is called with the seconds that each has taken, without the time for which it waited. ``processor_time``
    returns the seconds of processor time that the calling thread has used.
    """

    def __init__(
        self,
        limits: CheckLimits | None = None,
        *,
        took: Callable[[float], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self._took = took
        self._processor_time = processor_time
        self._sleep = sleep
        self._limits = limits or CheckLimits()
        self._threads = ThreadPoolExecutor(self._limits.at_once, thread_name_prefix="passwords", initializer=give_way)
        self._free = asyncio.Semaphore(self._limits.at_once)
        self._waiting = 0
        self._wrong = Buckets(Rate(self._limits.wrong_s, 1 / self._limits.wrong_share), clock=clock)

    @property
    def is_full(self) -> bool:
        """Whether as many checks wait as may."""
        return self._free.locked() and self._waiting >= self._limits.waiting

    @property
    def is_slowed(self) -> bool:
        """Whether there are so many wrong passwords that checks wait for each other longer than they take."""
        return self._pause_s > 0

    async def fits(self, stored: PasswordHash, password: bytes) -> bool:
        """Return whether ``stored`` is the hash of ``password``; or raise ``TooManyChecks``."""
        await self._wait()
        try:
            if (pause_s := self._pause_s) > 0:
                await self._sleep(min(pause_s, self._limits.wait_s))
            begun = time.perf_counter()
            fits, cpu_s = await asyncio.get_running_loop().run_in_executor(
                self._threads, self._checked, stored, password
            )
            if not fits:
                self._wrong.take(_ALL, cpu_s)
            if self._took is not None:
                self._took(time.perf_counter() - begun)
            return fits
        finally:
            self._free.release()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def _pause_s(self) -> float:
        """How long the next check has to wait because of the time that wrong passwords took."""
        return 0.0 if self._limits.wrong_share >= 1 else self._wrong.wait_s(_ALL, 0)

    async def _wait(self) -> None:
        if self.is_full:
            raise TooManyChecks
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise TooManyChecks from None
        finally:
            self._waiting -= 1

    def _checked(self, stored: PasswordHash, password: bytes) -> tuple[bool, float]:
        """Return whether the password is right, and the processor time of this thread that it took, in seconds."""
        before_s = self._processor_time()
        fits = stored.fits(password)
        return fits, self._processor_time() - before_s


# Whether a name and a password belong together: throttled, and once where equal requests arrive at the same time.

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
        self._under_way: dict[bytes, asyncio.Task[StoredUser | UnprovenCaller]] = {}

    async def verify(self, name: str, password: bytes, address: str) -> StoredUser | UnprovenCaller:
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

    def _refusal(self, name: str, address: str) -> UnprovenCaller | None:
        """Count an attempt; return why it is refused without a check, which costs far less than a task for it."""
        wait_s = self._throttle.begin(name, address)
        if wait_s is not None:
            return UnprovenCaller(UnprovenReason.THROTTLED, wait_s)
        return self._unexamined(name, address) if self._checks.is_full else None

    def _unexamined(self, name: str, address: str) -> UnprovenCaller:
        """Return the refusal of a password that was not examined.

        The attempt counts if there are many wrong passwords: their sender would take all places again and again.
        """
        if self._checks.is_slowed:
            return UnprovenCaller(UnprovenReason.THROTTLED, _BUSY_RETRY_S)
        self._throttle.cancel(name, address)
        return UnprovenCaller(UnprovenReason.UNAVAILABLE, _BUSY_RETRY_S)

    async def _attempt(self, name: str, password: bytes, address: str) -> StoredUser | UnprovenCaller:
        user = self._users.get(name)
        stored = self._stand_in(name) if user is None else user.stored
        try:
            fits = await self._checks.fits(stored, password[: MAX_PASSWORD_BYTES + 1])
        except TooManyChecks:
            return self._unexamined(name, address)
        if user is None or user.is_disabled or not fits:
            return UnprovenCaller(UnprovenReason.WRONG)
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

    def _ended(self, key: bytes, task: asyncio.Task[StoredUser | UnprovenCaller]) -> None:
        self._under_way.pop(key, None)
        if not task.cancelled():
            task.exception()  # whoever waits hears of it; without anybody asyncio would log it


# API tokens: their form, how they are made, how one is recognised.
#
# ``cfr_`` + 12 characters of public id + ``_`` + 43 characters of secret + 6 of checksum, all base62. The checksum is
# the CRC-32 of everything before it, by which scanners for leaked secrets distinguish a token from a similar text. The
# secret has 256 random bits, so that a fast hash of it is enough to store.

PREFIX: Final = TOKEN_PREFIX.decode()
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 12
_SECRET_LENGTH: Final = 43
_CHECKSUM_LENGTH: Final = 6
_FORM: Final = re.compile(
    rf"{PREFIX}([0-9A-Za-z]{{{_ID_LENGTH}}})_([0-9A-Za-z]{{{_SECRET_LENGTH}}})([0-9A-Za-z]{{{_CHECKSUM_LENGTH}}})"
)
_STORE_RETRY_S: Final = 1


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token as its owner has it: the public id, and the secret part, which is shown once."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        """What the owner sends."""
        body = f"{PREFIX}{self.id}_{self.secret}"
        return body + _checksum(body)

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the secret, which alone is stored."""
        return hashlib.sha256(self.secret.encode()).digest()

    def __repr__(self) -> str:
        """Return a text without the secret."""
        return f"ApiToken(id={self.id!r})"


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token as it is stored. ``owner`` is a principal; ``is_active`` is false if it or its owner was disabled."""

    id: str
    digest: bytes
    owner: str
    expires: float
    scopes: tuple[OperationScope, ...] | None = None
    is_active: bool = True


class TokenStore(Protocol):
    """Where tokens are stored."""

    @property
    def state(self) -> object:
        """The present declarations. While they are the same object, a result about a token holds until it expires."""
        ...

    def note_use(self, token_id: str, /) -> None:
        """Record that a token was used, without waiting."""
        ...

    async def find_token(self, token_id: str, /) -> StoredToken | None:
        """Return a token by its id, as it is now; raise ``StoreUnavailable`` if that is unknown."""
        ...


def generate_token() -> ApiToken:
    """Return a new token."""
    return ApiToken(_random(_ID_LENGTH), _random(_SECRET_LENGTH))


def parse_token(text: str) -> ApiToken | None:
    """Return the token that ``text`` is, or None if its form or its checksum is wrong.

    >>> parse_token(generate_token().text) is not None
    True
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    token = ApiToken(found[1], found[2])
    return token if token.text == text else None


async def verify_token(
    token: ApiToken, store: TokenStore, *, clock: Callable[[], float] = time.time
) -> CallerIdentity | UnprovenCaller:
    """Return the owner of a token, without groups, or why it is not accepted."""
    try:
        stored = await store.find_token(token.id)
    except (StoreUnavailable, StoreTimeout):
        return UnprovenCaller(UnprovenReason.UNAVAILABLE, _STORE_RETRY_S)
    if stored is None or not compare_digest(stored.digest, token.digest) or not stored.is_active:
        return UnprovenCaller(UnprovenReason.WRONG)
    if clock() >= stored.expires:
        return UnprovenCaller(UnprovenReason.EXPIRED)
    return CallerIdentity(
        stored.owner, method="token", expires=stored.expires, token_id=stored.id, scopes=stored.scopes
    )


def _random(length: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(length))


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


# Users and API tokens of a store, for the authenticator. They are read from memory, which the gate keeps current.

_HOUR_S: Final = 3600
_MS: Final = 1000


class StoredUsers:
    """The users of a store with their hashes. One that has not changed stays the same object."""

    def __init__(self) -> None:
        self._by_record: dict[AccessUser, StoredUser] = {}

    def of(self, stored: StoredAccess) -> Mapping[str, StoredUser]:
        """Return the users by name."""
        self._by_record = {
            each: self._by_record.get(each) or StoredUser(each.name, parse_hash(each.hash), each.is_disabled)
            for each in stored.users.values()
        }
        return {user.name: user for user in self._by_record.values()}

    def record(self, user: StoredUser) -> AccessUser | None:
        """Return the record of a user; None if it is not one of the store, or has changed."""
        return next((record for record, each in self._by_record.items() if each is user), None)


class WeakHashes:
    """Replaces the weak hashes of users of a store when their passwords are sent. ``renew`` stores another hash."""

    def __init__(self, users: StoredUsers, renew: Callable[[AccessUser, bytes], Awaitable[None]]) -> None:
        self._users = users
        self._renew = renew
        self._renewals: dict[str, asyncio.Task[None]] = {}

    def note(self, user: StoredUser, password: bytes) -> None:
        """Replace the hash of ``user`` if it is weak, while the request goes on."""
        record = self._users.record(user)
        if user.stored.weakness is not None and record is not None and user.name not in self._renewals:
            task = self._renewals[user.name] = asyncio.create_task(self._renewed(record, password))
            task.add_done_callback(lambda _: self._renewals.pop(user.name, None))

    async def _renewed(self, record: AccessUser, password: bytes) -> None:
        with suppress(RegistryError, StaleWrite):  # the next login tries it again
            await self._renew(record, password)


class StoredTokens:
    """The tokens of a store.

    ``state`` has its present declarations, ``has_user`` says whether a principal is an enabled user of the access file,
    ``note`` stores the hour of a use.
    """

    def __init__(
        self,
        *,
        has_user: Callable[[str], bool],
        note: Callable[[str, int], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.state = StoredAccess()
        self._has_user = has_user
        self._note = note
        self._clock = clock
        self._hour_by_id: dict[str, int] = {}
        self._notes: set[asyncio.Task[None]] = set()

    async def find_token(self, token_id: str, /) -> StoredToken | None:
        """Return a token with its owner's state; its rights are its owner's when it is used."""
        stored = self.state
        token = stored.tokens.get(token_id)
        if token is None:
            return None
        has_owner = stored.has_active(token.owner) or (token.owner.startswith(USER) and self._has_user(token.owner))
        return StoredToken(
            token.id,
            bytes.fromhex(token.digest),
            token.owner,
            token.expires / _MS,
            stored.scopes(token),
            is_active=has_owner and not token.is_revoked,
        )

    def note_use(self, token_id: str, /) -> None:
        """Store the hour of a use, once in an hour, while the request goes on."""
        hour = int(self._clock()) // _HOUR_S
        if self._note is not None and self._hour_by_id.get(token_id) != hour:
            self._hour_by_id[token_id] = hour
            task = asyncio.create_task(self._noted(token_id, hour * _HOUR_S * _MS))
            self._notes.add(task)
            task.add_done_callback(self._notes.discard)

    async def _noted(self, token_id: str, hour_ms: int) -> None:
        assert self._note is not None  # noqa: S101  it is called by note_use alone
        try:
            await self._note(token_id, hour_ms)
        except (RegistryError, StaleWrite):
            self._hour_by_id.pop(token_id, None)
