"""Key encryption keys: reading, creating and changing their entries, and deleting those that wrap no keys."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.keys.validity import check_kek_name, check_kms
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.service.keys.records import HeldKek
from counterfoil.registry.service.retrying import until_current
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import KeyExists, KeyInUse, KeyNotSoftDeleted, TooManyKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.registry.service.keys.records import KeyRecords
    from counterfoil.registry.service.keys.wrapping import KeyWrapping
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
    from counterfoil.schema.rest.keys import Kek

_SERVERS_IN_MIND: Final = 16


class KeyLimit:
    """The largest number of keys of both kinds in a registry.

    They are counted only now and then: after a count a server may add a small share of the remaining number without
    counting, so that even many servers together stay within the limit.
    """

    def __init__(self, records: KeyRecords, *, max_keys: int) -> None:
        self._records = records
        self._max_keys = max_keys
        self._room = 0

    async def check(self) -> None:
        """Raise ``TooManyKeys`` if there is no room for one more."""
        if self._room > 0:
            self._room -= 1
            return
        keks = await self._records.keks()
        room = self._max_keys - len(keks) - sum(kek.dek_count for kek in keks)
        if room <= 0:
            raise TooManyKeys(
                f"The registry holds {self._max_keys} keys, which is the largest permitted number; "
                "delete some permanently, or start it with a higher --max-keys"
            )
        self._room = room // _SERVERS_IN_MIND


class Keks:
    """The use cases of key encryption keys. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        records: KeyRecords,
        *,
        scopes: Scopes,
        wrapping: KeyWrapping,
        limit: KeyLimit,
        now_ms: Callable[[], int],
    ) -> None:
        self._records = records
        self._scopes = scopes
        self._wrapping = wrapping
        self._limit = limit
        self._now_ms = now_ms

    async def names(self, prefixes: Sequence[SubjectPrefix], *, deleted: bool) -> list[str]:
        """Return the names, sorted; with ``prefixes`` only of keys that wrap one for a subject with such a prefix."""
        keks = [kek for kek in await self._records.keks() if deleted or not kek.deleted]
        if not prefixes:
            return [kek.name for kek in keks]
        wrapping = {
            held.dek.id.kek_name
            for held in await self._records.deks()
            if (deleted or not held.dek.deleted) and any(_begins(held.dek.id.subject, prefix) for prefix in prefixes)
        }
        return [kek.name for kek in keks if kek.name in wrapping]

    async def get(self, name: str, *, deleted: bool) -> Kek:
        """Return the key of this name; raise ``KeyNotFound`` if there is none."""
        check_kek_name(name)
        return (await self._records.kek(name, deleted=deleted)).kek

    async def create(self, kek: Kek, *, test: bool) -> Kek:
        """Store ``kek`` and return it as it is stored; with ``test`` a shared one is tried first.

        If one with the same fields exists, ``deleted`` is changed. Raises ``InvalidKey``, ``KeyExists``,
        ``KeyInUse``, ``TooManyKeys``.
        """
        check_kek_name(kek.name)
        kms_type, kms_key_id = check_kms(kek.kms_type, kek.kms_key_id)
        kek = replace(kek, kms_type=kms_type, kms_key_id=kms_key_id)
        return await until_current(partial(self._create, kek, test=test), catch_up=self._records.catch_up)

    async def _create(self, kek: Kek, *, test: bool) -> Kek:
        await self._check_writable()
        held = await self._records.find_kek(kek.name)
        if held is not None:
            return await self._flip(held, kek)
        await self._limit.check()
        await self._try(kek, test=test)
        return await self._put(HeldKek(kek, 0), kek)

    async def _flip(self, held: HeldKek, kek: Kek) -> Kek:
        if kek.content != held.kek.content or kek.deleted == held.kek.deleted:
            raise KeyExists(f"There is a key encryption key {kek.name!r} already")
        if kek.deleted:
            await self._check_unused(kek.name, permanent=False)
        return await self._put(held, replace(held.kek, deleted=kek.deleted))

    async def change(self, name: str, changes: Mapping[str, object], *, test: bool) -> Kek:
        """Apply ``changes`` to the key of this name and return it; with ``test`` a shared one is tried first."""
        check_kek_name(name)
        return await until_current(partial(self._change, name, changes, test=test), catch_up=self._records.catch_up)

    async def _change(self, name: str, changes: Mapping[str, object], *, test: bool) -> Kek:
        await self._check_writable()
        held = await self._records.kek(name, deleted=False)
        kek = replace(held.kek, **changes)  # type: ignore[arg-type]  # the request parser gives each field its own type
        await self._try(kek, test=test)
        return held.kek if kek == held.kek else await self._put(held, kek)

    async def delete(self, name: str, *, permanent: bool) -> None:
        """Soft-delete the key, or delete it permanently.

        Raises ``KeyNotFound``, ``KeyInUse``, ``KeyNotSoftDeleted``.
        """
        check_kek_name(name)
        await until_current(partial(self._delete, name, permanent=permanent), catch_up=self._records.catch_up)

    async def _delete(self, name: str, *, permanent: bool) -> None:
        await self._check_writable()
        held = await self._records.kek(name, deleted=True)
        await self._check_unused(name, permanent=permanent)
        if not permanent:
            if not held.kek.deleted:
                await self._put(held, replace(held.kek, deleted=True))
            return
        if not held.kek.deleted:
            raise KeyNotSoftDeleted(f"Key {name!r} is not soft-deleted; delete it without permanent=true first")
        await self._records.put_kek(held, None)

    async def _check_unused(self, name: str, *, permanent: bool) -> None:
        """Raise ``KeyInUse`` if this key wraps others; before a soft deletion, only active ones count."""
        for held in await self._records.deks(name):
            if permanent or not held.dek.deleted:
                raise KeyInUse(
                    f"Key {name!r} still wraps the key of subject {str(held.dek.id.subject)!r}, version "
                    f"{held.dek.id.version}, {held.dek.id.algorithm}; delete that one{' permanently' * permanent} first"
                )

    async def undelete(self, name: str) -> None:
        """Make a soft-deleted key active again; raise ``KeyNotFound`` if there is none."""
        check_kek_name(name)
        await until_current(partial(self._undelete, name), catch_up=self._records.catch_up)

    async def _undelete(self, name: str) -> None:
        await self._check_writable()
        held = await self._records.kek(name, deleted=True)
        if held.kek.deleted:
            await self._put(held, replace(held.kek, deleted=False))

    async def test(self, name: str) -> Kek:
        """Wrap a temporary key with the key and return it.

        Raise ``KeyNotFound``, or ``InvalidKey`` for one not shared.
        """
        kek = await self.get(name, deleted=False)
        await self._wrapping.check(kek)
        return kek

    async def _try(self, kek: Kek, *, test: bool) -> None:
        if test and kek.shared:
            await self._wrapping.check(kek)

    async def _put(self, held: HeldKek, kek: Kek) -> Kek:
        stamped = replace(kek, ts=self._now_ms())
        await self._records.put_kek(held, stamped)
        return stamped

    async def _check_writable(self) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)


def _begins(subject: QualifiedSubject, prefix: SubjectPrefix) -> bool:
    return prefix.context in (None, subject.context) and subject.name.startswith(prefix.name)
