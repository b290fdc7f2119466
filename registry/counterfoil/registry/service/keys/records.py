"""Keys in a storage: reading them, and the writes that change them.

Every write of a data encryption key rewrites its KEK's record, which counts them, so that of two contradicting writes
only one is carried out: a KEK is not deleted while a key that it wraps is created.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.audit.about import facts_about
from counterfoil.registry.domain.audit.digests import digest_of_record
from counterfoil.registry.domain.keys.stored import (
    DEK_KIND,
    DEK_PASSING,
    KEK_KIND,
    KEK_PASSING,
    dek_key,
    dek_prefix,
    kek_key,
    read_stored_dek,
    read_stored_kek,
    stored_dek,
    stored_kek,
)
from counterfoil.registry.domain.writes.plan import Plan, record_write, together
from counterfoil.registry.service.audit_key import audit_key
from counterfoil.schema.errors import KeyNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.service.storage import Record, Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.keys import Algorithm, Dek, DekId, Kek
    from counterfoil.schema.rest.object_forms import Document


@dataclass(frozen=True, slots=True)
class HeldKek:
    """A key encryption key and the revision of its record; 0 for one that is not stored yet."""

    kek: Kek
    revision: int


@dataclass(frozen=True, slots=True)
class HeldDek:
    """A data encryption key and the revision of its record; 0 for one that is not stored yet."""

    dek: Dek
    revision: int


class KeyRecords:
    """The keys in ``storage``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def catch_up(self) -> None:
        """Wait until reads see everything that was answered before."""
        await self._storage.catch_up()

    async def keks(self) -> list[Kek]:
        """Return all key encryption keys, sorted by name."""
        return [_held_kek(record).kek for record in await self._storage.records(KEK_KIND)]

    async def find_kek(self, name: str) -> HeldKek | None:
        """Return the key encryption key of this name, soft-deleted or not."""
        found = await self._storage.records(KEK_KIND, kek_key(name))
        return _held_kek(found[0]) if found else None

    async def kek(self, name: str, *, deleted: bool) -> HeldKek:
        """Return the key encryption key of this name, a soft-deleted one only if ``deleted``; raise ``KeyNotFound``."""
        found = await self.find_kek(name)
        if found is None or (found.kek.deleted and not deleted):
            hint = "; it is soft-deleted" if found else ""
            raise KeyNotFound(f"There is no key encryption key {name!r}{hint}")
        return found

    async def deks(
        self,
        kek_name: str | None = None,
        subject: QualifiedSubject | None = None,
        algorithm: Algorithm | None = None,
    ) -> Sequence[HeldDek]:
        """Return sorted data encryption keys, also soft-deleted ones: all, or of a KEK, a subject, an algorithm."""
        found = await self._storage.records(DEK_KIND, dek_prefix(kek_name, subject, algorithm))
        return [_held_dek(record) for record in found]

    async def find_dek(self, dek_id: DekId) -> HeldDek | None:
        """Return the data encryption key with this id, soft-deleted or not."""
        found = await self._storage.records(DEK_KIND, dek_key(dek_id))
        return _held_dek(found[0]) if found else None

    async def put_kek(self, held: HeldKek, kek: Kek | None) -> None:
        """Replace the held key by ``kek``; None deletes it permanently. Raises ``StaleWrite``."""
        key, stored_key = await audit_key(self._storage)
        await self._storage.commit(together((stored_key, _kek_write(held, kek, key))))

    async def put_deks(self, of: HeldKek, changed: Sequence[tuple[HeldDek, Dek | None]]) -> None:
        """Replace held keys of one KEK by others; None deletes one permanently. Raises ``StaleWrite``."""
        added = sum(held.revision == 0 for held, _ in changed) - sum(dek is None for _, dek in changed)
        counted = replace(of.kek, dek_count=of.kek.dek_count + added)
        key, stored_key = await audit_key(self._storage)
        writes = [_dek_write(held, dek, key) for held, dek in changed]
        await self._storage.commit(together((stored_key, _kek_write(of, counted, key), *writes)))


def _kek_write(held: HeldKek, kek: Kek | None, key: bytes) -> Plan:
    before = stored_kek(held.kek) if held.revision else None
    after = None if kek is None else stored_kek(kek)
    digests = _digests(before, after, key, without=KEK_PASSING)
    return record_write(KEK_KIND, kek_key(held.kek.name), after, revision=held.revision, for_audit=digests)


def _dek_write(held: HeldDek, dek: Dek | None, key: bytes) -> Plan:
    before = stored_dek(held.dek) if held.revision else None
    after = None if dek is None else stored_dek(dek)
    noted = {**facts_about([held.dek.id.subject]), **_digests(before, after, key, without=DEK_PASSING)}
    return record_write(DEK_KIND, dek_key(held.dek.id), after, revision=held.revision, for_audit=noted)


def _digests(before: Document | None, after: Document | None, key: bytes, *, without: frozenset[str]) -> dict[str, str]:
    """Return what the audit has of the content of a key: digests of it, where there is one."""
    contents = {"before": before, "after": after}
    return {
        name: digest_of_record(document, key=key, without=without)
        for name, document in contents.items()
        if document is not None
    }


def _held_kek(record: Record) -> HeldKek:
    return HeldKek(read_stored_kek(record.key, record.document), record.revision)


def _held_dek(record: Record) -> HeldDek:
    return HeldDek(read_stored_dek(record.key, record.document), record.revision)
