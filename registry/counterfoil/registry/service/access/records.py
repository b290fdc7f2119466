"""The records about access in a storage, in memory, and as current as every answer must be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from counterfoil.registry.domain.access.records import (
    ACCESS_KINDS,
    BINDINGS,
    POLICIES,
    POLICY_KEY,
    ROLE_RECORDS,
    SERVICES,
    TOKENS,
    USERS,
    AccessPolicy,
)
from counterfoil.registry.domain.access.stored import StoredAccess
from counterfoil.registry.domain.changes import ChangeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.domain.changes import Change, Written
    from counterfoil.registry.domain.stored_kinds import StoredKind
    from counterfoil.registry.service.storage import Record, Storage

_T = TypeVar("_T")


class AccessRecords:
    """What ``storage`` declares about access. It is read as a whole after each write to it, by whichever server."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._writes = 1
        self._writes_read = 0
        self._lock = asyncio.Lock()
        self.known = StoredAccess()
        """What was read last."""
        storage.observe(self._note)

    @property
    def is_current(self) -> bool:
        """Whether ``known`` has every answered write, of any server."""
        return self._writes_read == self._writes and self._storage.has_current_ids

    async def catch_up(self) -> None:
        """Make ``known`` as new as every write that was answered before; raise ``StoreUnavailable``."""
        error = self._storage.contact.error
        if error is not None:  # the storage tries again by itself
            raise type(error)(error.message)
        if not self._storage.has_current_ids:
            await self._storage.catch_up_soon()
        if self._is_unread:
            async with self._lock:
                while self._is_unread:
                    await self._read()

    async def current(self) -> StoredAccess:
        """Return what is declared now."""
        await self.catch_up()
        return self.known

    @property
    def _is_unread(self) -> bool:
        """Whether something was written since ``known`` began to be read."""
        return self._writes_read != self._writes

    def _note(self, written: Written | None, /) -> None:
        if written is None or any(map(_is_about_access, written.changes)):
            self._writes += 1

    async def _read(self) -> None:
        """Read all records. They are current only when all of them are read, at one revision of the policy."""
        writes = self._writes
        begun = await self._policy()
        found = await self._all(begun)
        if _revision(begun) == _revision(await self._policy()):
            self.known, self._writes_read = found, writes

    async def _policy(self) -> Sequence[Record]:
        return await self._storage.records(POLICIES.name, POLICY_KEY)

    async def _all(self, policies: Sequence[Record]) -> StoredAccess:
        bindings = await self._storage.records(BINDINGS.name)
        policy = POLICIES.read(policies[0].document) if policies else AccessPolicy()
        return StoredAccess(
            is_required=policy.is_required,
            revision=_revision(policies),
            users=await self._by_key(USERS),
            services=await self._by_key(SERVICES),
            tokens=await self._by_key(TOKENS),
            bindings=_values(BINDINGS, bindings),
            roles=await self._by_key(ROLE_RECORDS),
            revisions={each.key[0]: each.revision for each in bindings},
        )

    async def _by_key(self, kind: StoredKind[_T]) -> dict[str, _T]:
        return _values(kind, await self._storage.records(kind.name))


def _values(kind: StoredKind[_T], records: Sequence[Record]) -> dict[str, _T]:
    return {each.key[0]: kind.read(each.document) for each in records}


def _revision(policies: Sequence[Record]) -> int:
    return policies[0].revision if policies else 0


def _is_about_access(change: Change) -> bool:
    return change.kind is ChangeKind.RECORD and (change.document or {}).get("kind") in ACCESS_KINDS
