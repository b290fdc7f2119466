"""Users and API tokens of a store, for the authenticator. They are read from memory, which the gate keeps current."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.passwords.hashes import parse_hash
from counterfoil.registry.auth.passwords.verifier import StoredUser
from counterfoil.registry.auth.tokens import StoredToken
from counterfoil.registry.domain.access.names import USER
from counterfoil.registry.domain.access.stored import StoredAccess
from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from counterfoil.registry.domain.access.records import AccessUser

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

    ``state`` is what it declares now, ``has_user`` says whether a principal is an enabled user of the access file,
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
        """Return a token with its owner's state; the rights are those that the owner has when it is used."""
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
