"""The use cases of keys: key encryption keys, and the data encryption keys that they wrap."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from counterfoil.registry.keys.records import (
    HeldDek,
    HeldKek,
    KeyRecords,
    check_kek_name,
    check_key_subject,
    check_key_version,
    check_kms,
)
from counterfoil.registry.keys.services import KeyWrapping
from counterfoil.registry.store.committing import WriteTurns, until_current
from counterfoil.registry.store.writes import Requester
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, SubjectPrefix
from counterfoil.schema.errors import (
    InvalidKey,
    KeyEncryptionKeyDeleted,
    KeyExists,
    KeyInUse,
    KeyNotFound,
    KeyNotSoftDeleted,
    TooManyKeys,
)
from counterfoil.schema.keys import new_material
from counterfoil.schema.rest.keys import Algorithm, Dek, DekId, Kek, ShownDek
from counterfoil.schema.rest.subjects import Mode

# Key encryption keys: reading, creating and changing their entries, and deleting those that wrap no keys.

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

    async def create(self, kek: Kek, *, by: Requester, test: bool) -> Kek:
        """Store ``kek`` and return it as it is stored; with ``test`` a shared one is tried first.

        If one with the same fields exists, ``deleted`` is changed. Raises ``InvalidKey``, ``KeyExists``,
        ``KeyInUse``, ``TooManyKeys``.
        """
        check_kek_name(kek.name)
        kms_type, kms_key_id = check_kms(kek.kms_type, kek.kms_key_id)
        kek = replace(kek, kms_type=kms_type, kms_key_id=kms_key_id)
        return await until_current(partial(self._create, kek, test=test, by=by), catch_up=self._records.catch_up)

    async def _create(self, kek: Kek, *, by: Requester, test: bool) -> Kek:
        await self._check_writable()
        held = await self._records.find_kek(kek.name)
        if held is not None:
            return await self._flip(held, kek, by=by)
        await self._limit.check()
        await self._try(kek, test=test)
        return await self._put(HeldKek(kek, 0), kek, by=by)

    async def _flip(self, held: HeldKek, kek: Kek, *, by: Requester) -> Kek:
        if kek.content != held.kek.content or kek.deleted == held.kek.deleted:
            raise KeyExists(f"There is a key encryption key {kek.name!r} already")
        if kek.deleted:
            await self._check_unused(kek.name, permanent=False)
        return await self._put(held, replace(held.kek, deleted=kek.deleted), by=by)

    async def change(self, name: str, changes: Mapping[str, object], *, by: Requester, test: bool) -> Kek:
        """Apply ``changes`` to the key of this name and return it; with ``test`` a shared one is tried first."""
        check_kek_name(name)
        return await until_current(
            partial(self._change, name, changes, test=test, by=by), catch_up=self._records.catch_up
        )

    async def _change(self, name: str, changes: Mapping[str, object], *, by: Requester, test: bool) -> Kek:
        await self._check_writable()
        held = await self._records.kek(name, deleted=False)
        kek = replace(held.kek, **changes)  # type: ignore[arg-type]  # the request parser gives each field its own type
        await self._try(kek, test=test)
        return held.kek if kek == held.kek else await self._put(held, kek, by=by)

    async def delete(self, name: str, *, by: Requester, permanent: bool) -> None:
        """Soft-delete the key, or delete it permanently.

        Raises ``KeyNotFound``, ``KeyInUse``, ``KeyNotSoftDeleted``.
        """
        check_kek_name(name)
        await until_current(partial(self._delete, name, permanent=permanent, by=by), catch_up=self._records.catch_up)

    async def _delete(self, name: str, *, by: Requester, permanent: bool) -> None:
        await self._check_writable()
        held = await self._records.kek(name, deleted=True)
        await self._check_unused(name, permanent=permanent)
        if not permanent:
            if not held.kek.deleted:
                await self._put(held, replace(held.kek, deleted=True), by=by)
            return
        if not held.kek.deleted:
            raise KeyNotSoftDeleted(f"Key {name!r} is not soft-deleted; delete it without permanent=true first")
        await self._records.put_kek(held, None, by=by)

    async def _check_unused(self, name: str, *, permanent: bool) -> None:
        """Raise ``KeyInUse`` if this key wraps others; before a soft deletion, only active ones count."""
        for held in await self._records.deks(name):
            if permanent or not held.dek.deleted:
                raise KeyInUse(
                    f"Key {name!r} still wraps the key of subject {str(held.dek.id.subject)!r}, version "
                    f"{held.dek.id.version}, {held.dek.id.algorithm}; delete that one{' permanently' * permanent} first"
                )

    async def undelete(self, name: str, *, by: Requester) -> None:
        """Make a soft-deleted key active again; raise ``KeyNotFound`` if there is none."""
        check_kek_name(name)
        await until_current(partial(self._undelete, name, by=by), catch_up=self._records.catch_up)

    async def _undelete(self, name: str, *, by: Requester) -> None:
        await self._check_writable()
        held = await self._records.kek(name, deleted=True)
        if held.kek.deleted:
            await self._put(held, replace(held.kek, deleted=False), by=by)

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

    async def _put(self, held: HeldKek, kek: Kek, *, by: Requester) -> Kek:
        stamped = replace(kek, ts=self._now_ms())
        await self._records.put_kek(held, stamped, by=by)
        return stamped

    async def _check_writable(self) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)


def _begins(subject: QualifiedSubject, prefix: SubjectPrefix) -> bool:
    return prefix.context in (None, subject.context) and subject.name.startswith(prefix.name)


# Data encryption keys: stored wrapped, and generated here if their KEK is shared with the registry.

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DekRequest:
    """A key to store. ``wrapped`` is the base64 of it; None lets the registry generate and wrap one."""

    id: DekId
    wrapped: str | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class DekGroup:
    """The keys of one subject for one algorithm under one KEK: they differ in their version."""

    kek_name: str
    subject: QualifiedSubject
    algorithm: Algorithm

    def check(self) -> None:
        """Raise ``InvalidKey`` unless such keys can exist."""
        check_kek_name(self.kek_name)
        check_key_subject(self.subject)


@dataclass(frozen=True, slots=True)
class _Material:
    """A wrapped key, and the KEK that wraps it."""

    kek: tuple[object, ...]
    wrapped: str
    plain: bytes = field(repr=False)


class _Wrapper:
    """Wraps a key once for a request, even if its write is planned several times, as long as the KEK is the same."""

    def __init__(self, wrapping: KeyWrapping) -> None:
        self._wrapping = wrapping
        self._done: _Material | None = None

    async def material(self, kek: Kek, dek_id: DekId, held: HeldDek | None) -> tuple[str, bytes]:
        """Return a new key, or the one in ``held``, wrapped and unwrapped."""
        basis = (*kek.content, held and held.dek.wrapped)
        if self._done is None or self._done.kek != basis:
            plain = await self._wrapping.unwrap(kek, held.dek.wrapped) if held else new_material(dek_id.algorithm)
            self._done = _Material(basis, await self._wrapping.wrap(kek, plain), plain)
        return self._done.wrapped, self._done.plain


class Deks:
    """The use cases of data encryption keys. ``now_ms`` is the clock (epoch ms)."""

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
        self._turns = WriteTurns(records.catch_up)

    # --- reading

    async def subjects(self, kek_name: str, *, deleted: bool) -> list[str]:
        """Return the subjects that have keys wrapped by a KEK, sorted; raise ``KeyNotFound`` for an unknown KEK."""
        check_kek_name(kek_name)
        await self._records.kek(kek_name, deleted=deleted)
        held = await self._records.deks(kek_name)
        return sorted({str(each.dek.id.subject) for each in held if deleted or not each.dek.deleted})

    async def versions(self, group: DekGroup, *, deleted: bool) -> list[int]:
        """Return the numbers of the keys, ascending; raise ``KeyNotFound`` for an unknown KEK."""
        group.check()
        await self._records.kek(group.kek_name, deleted=deleted)
        return [held.dek.id.version for held in await self._group(group) if deleted or not held.dek.deleted]

    async def get(self, group: DekGroup, version: int | None, *, deleted: bool) -> ShownDek:
        """Return one key, the highest version for None; raise ``KeyNotFound``, or the error of the KEK's service."""
        group.check()
        kek = (await self._records.kek(group.kek_name, deleted=deleted)).kek
        visible = [
            held.dek
            for held in await self._group(group)
            if (deleted or not held.dek.deleted) and version in (None, held.dek.id.version)
        ]
        if not visible:
            raise _not_found(group, version)
        return ShownDek(visible[-1], await self._plain(kek, visible[-1]))

    async def _group(self, group: DekGroup) -> Sequence[HeldDek]:
        return await self._records.deks(group.kek_name, group.subject, group.algorithm)

    async def _plain(self, kek: Kek, dek: Dek) -> str | None:
        return b64encode(await self._wrapping.unwrap(kek, dek.wrapped)).decode() if kek.shared else None

    # --- making

    async def create(self, request: DekRequest, *, by: Requester, rewrap: bool) -> ShownDek:
        """Create a key and return it as it is stored.

        If one with the same fields exists, ``deleted`` is changed; with ``rewrap`` it is wrapped again. Raises
        ``KeyNotFound``, ``KeyExists``, ``InvalidKey``, ``TooManyKeys``, ``KeyWrapFailed``, ``KeyAccessDenied``; nothing
        is stored then.
        """
        check_kek_name(request.id.kek_name)
        check_key_subject(request.id.subject)
        check_key_version(request.id.version)
        wrapper = _Wrapper(self._wrapping)
        return await self._in_turn(request.id.kek_name, partial(self._create, request, wrapper, rewrap=rewrap, by=by))

    async def _create(self, request: DekRequest, wrapper: _Wrapper, *, by: Requester, rewrap: bool) -> ShownDek:
        mode = await self._writable_mode(request.id.subject)
        of = await self._records.kek(request.id.kek_name, deleted=False)
        held = await self._records.find_dek(request.id)
        if held is not None:
            _check_may_change(of.kek, held, request, rewrap=rewrap)
            if not rewrap:
                return await self._flip(of, held, request, mode, by=by)
        else:
            await self._limit.check()
        return await self._keep(of, held, request, mode, wrapper, by=by)

    async def _flip(self, of: HeldKek, held: HeldDek, request: DekRequest, mode: Mode, *, by: Requester) -> ShownDek:
        dek = replace(held.dek, deleted=request.deleted)
        plain = None if dek.deleted or mode.takes_ids else await self._plain(of.kek, dek)
        await self._records.put_deks(of, [(held, dek)], by=by)
        return ShownDek(dek, plain)

    async def _keep(
        self, of: HeldKek, held: HeldDek | None, request: DekRequest, mode: Mode, wrapper: _Wrapper, *, by: Requester
    ) -> ShownDek:
        wrapped, plain = request.wrapped, None
        if wrapped is None:
            if not of.kek.shared:
                raise InvalidKey(
                    f"encryptedKeyMaterial is missing; key {of.kek.name!r} is not shared with the registry, "
                    "so the caller wraps the keys"
                )
            wrapped, plain = await wrapper.material(of.kek, request.id, held)
        dek = Dek(request.id, wrapped, request.deleted, self._now_ms() if held is None else held.dek.ts)
        await self._records.put_deks(of, [(held or HeldDek(dek, 0), dek)], by=by)
        return ShownDek(dek, None if plain is None or mode.takes_ids else b64encode(plain).decode())

    # --- deleting

    async def delete(self, group: DekGroup, version: int | None, *, by: Requester, permanent: bool) -> None:
        """Soft-delete one version, all for None, or permanently delete soft-deleted ones.

        Raises ``KeyNotFound``, ``KeyNotSoftDeleted``.
        """
        group.check()
        attempt = partial(self._remove if permanent else self._soft_delete, group, version, by=by)
        await self._in_turn(group.kek_name, attempt)

    async def _soft_delete(self, group: DekGroup, version: int | None, *, by: Requester) -> None:
        of, found = await self._targets(group, version)
        active = [(held, replace(held.dek, deleted=True)) for held in found if not held.dek.deleted]
        if active:
            await self._records.put_deks(of, active, by=by)

    async def _remove(self, group: DekGroup, version: int | None, *, by: Requester) -> None:
        of, found = await self._targets(group, version)
        for held in found:
            if not held.dek.deleted:
                raise KeyNotSoftDeleted(
                    f"Version {held.dek.id.version} of {_named(group)} is not soft-deleted; "
                    "delete it without permanent=true first"
                )
        await self._records.put_deks(of, [(held, None) for held in found], by=by)

    async def undelete(self, group: DekGroup, version: int | None, *, by: Requester) -> None:
        """Make soft-deleted keys active again: one version, all for None.

        Raises ``KeyNotFound``, ``KeyEncryptionKeyDeleted``.
        """
        group.check()
        await self._in_turn(group.kek_name, partial(self._undelete, group, version, by=by))

    async def _undelete(self, group: DekGroup, version: int | None, *, by: Requester) -> None:
        of, found = await self._targets(group, version)
        if of.kek.deleted:
            raise KeyEncryptionKeyDeleted(f"Key {of.kek.name!r} is soft-deleted; undelete it before the keys it wraps")
        gone = [(held, replace(held.dek, deleted=False)) for held in found if held.dek.deleted]
        if gone:
            await self._records.put_deks(of, gone, by=by)

    async def _targets(self, group: DekGroup, version: int | None) -> tuple[HeldKek, Sequence[HeldDek]]:
        """Return the keys to delete, whether soft-deleted or not; raise ``KeyNotFound`` if there are none."""
        await self._writable_mode(group.subject)
        of = await self._records.kek(group.kek_name, deleted=True)
        found = [held for held in await self._group(group) if version in (None, held.dek.id.version)]
        if not found:
            raise _not_found(group, version)
        return of, found

    async def latest_version(self, group: DekGroup, *, deleted: bool) -> int:
        """Return the highest version, with ``deleted`` also of soft-deleted keys.

        Raise ``KeyNotFound`` if there is none.
        """
        found = await self.versions(group, deleted=deleted)
        if not found:
            raise _not_found(group, None)
        return found[-1]

    # ---

    async def _writable_mode(self, subject: QualifiedSubject) -> Mode:
        mode = await self._scopes.mode(subject)
        check_writable(mode, subject)
        return mode

    async def _in_turn(self, kek_name: str, attempt: Callable[[], Awaitable[_T]]) -> _T:
        return await self._turns.take(attempt, written=kek_name)


def _check_may_change(kek: Kek, held: HeldDek, request: DekRequest, *, rewrap: bool) -> None:
    """Raise ``KeyExists`` unless the request may change the existing key."""
    if kek.shared and request.wrapped is not None:
        may = False
    else:
        is_same = request.wrapped in (None, held.dek.wrapped)
        may = rewrap or (is_same and request.deleted != held.dek.deleted)
    if not may:
        group = DekGroup(request.id.kek_name, request.id.subject, request.id.algorithm)
        raise KeyExists(f"There is version {request.id.version} of {_named(group)} already")


def _named(group: DekGroup) -> str:
    return f"the {group.algorithm} key of subject {str(group.subject)!r} under {group.kek_name!r}"


def _not_found(group: DekGroup, version: int | None) -> KeyNotFound:
    which = "" if version is None else f"version {version} of "
    return KeyNotFound(f"There is no {which}{_named(group)}")
