"""Keys of a registry over the REST API: reading, comparing and creating them, as the records that a store has.

Source: the public API of Confluent's DEK registry.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.keys.stored import (
    DEK_KIND,
    KEK_KIND,
    dek_key,
    kek_key,
    read_stored_dek,
    read_stored_kek,
    stored_dek,
    stored_kek,
)
from counterfoil.registry.moving.errors import PeerRefused
from counterfoil.registry.moving.facts import RecordFact, Unreadable
from counterfoil.registry.moving.target import ABSENT, Standing, clash, deletion_standing
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.keys import Algorithm, Dek, DekId, Kek
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.registry.moving.peer.connection import Peer

_ALL: Final = Visibility.WITH_DELETED


class PeerKeys:
    """The keys of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._to_delete: set[str] = set()

    # --- reading

    async def records(self) -> list[RecordFact | Unreadable]:
        """Return all keys, each key encryption key before those that it wraps; none if the registry has none."""
        found: list[RecordFact | Unreadable] = []
        for name in await self._peer.listed(operations.keks(visibility=_ALL)) or ():
            wrapped = await self._wrapped_by(name)
            count = sum(isinstance(item, RecordFact) for item in wrapped)
            kek = await self._find_kek(name)
            if kek is not None:
                document = stored_kek(replace(kek, dek_count=count))
                found += [RecordFact(KEK_KIND, kek_key(kek.name), document), *wrapped]
        return found

    async def _wrapped_by(self, name: str) -> list[RecordFact | Unreadable]:
        found: list[RecordFact | Unreadable] = []
        for text in await self._peer.listed(operations.dek_subjects(name, visibility=_ALL)) or ():
            subject = parse_subject(text)
            for algorithm in Algorithm:
                versions = operations.dek_versions(name, str(subject), algorithm=algorithm, visibility=_ALL)
                numbers = await self._peer.listed(versions) or ()
                found += [await self._read(DekId(name, subject, algorithm, number)) for number in numbers]
        return found

    async def _read(self, dek_id: DekId) -> RecordFact | Unreadable:
        try:
            dek = await self._find_dek(dek_id)
        except PeerRefused as refusal:  # to show the keys of a shared KEK, a registry unwraps them
            return Unreadable(f"{_named(dek_id)}: {refusal}")
        if dek is None or dek.id.subject != dek_id.subject:
            return Unreadable(f"{_named(dek_id)} is listed, and cannot be read")
        return RecordFact(DEK_KIND, dek_key(dek_id), stored_dek(dek))

    async def _find_kek(self, name: str) -> Kek | None:
        return await self._peer.found(operations.kek(name, visibility=_ALL))

    async def _find_dek(self, dek_id: DekId) -> Dek | None:
        kek_name, subject, version = dek_id.kek_name, str(dek_id.subject), dek_id.version
        operation = operations.dek(kek_name, subject, version, algorithm=dek_id.algorithm, visibility=_ALL)
        found = await self._peer.found(operation)
        return None if found is None else found.dek

    # --- writing

    async def standing(self, fact: RecordFact) -> Standing:
        """Return the state of a key in the registry; its time is ignored."""
        held: Kek | Dek | None
        wanted: Kek | Dek
        if fact.kind == KEK_KIND:
            wanted = read_stored_kek(fact.key, fact.document)
            held = await self._find_kek(wanted.name)
        else:
            wanted = read_stored_dek(fact.key, fact.document)
            held = await self._find_dek(wanted.id)
        if held is None:
            return ABSENT
        if held.content != wanted.content:
            return clash(f"{fact} is there as another key")
        return deletion_standing(fact, wanted=wanted.deleted, deleted=held.deleted)

    async def put(self, fact: RecordFact) -> None:
        """Create a key that is absent, and soft-delete it if required; a KEK at the end, after those that it wraps."""
        if fact.kind == KEK_KIND:
            await self._put_kek(read_stored_kek(fact.key, fact.document))
        else:
            await self._put_dek(read_stored_dek(fact.key, fact.document))

    async def _put_kek(self, kek: Kek) -> None:
        if kek.deleted:
            self._to_delete.add(kek.name)
        if await self._find_kek(kek.name) is not None:
            return
        operation = operations.create_kek(replace(kek, deleted=False))
        await self._peer.carry_out(operation, f"key encryption key {kek.name!r} was refused")

    async def _put_dek(self, dek: Dek) -> None:
        kek_name, subject = dek.id.kek_name, str(dek.id.subject)
        held = await self._find_kek(kek_name)
        if held is not None and held.deleted:
            self._to_delete.add(kek_name)
            await self._peer.outcome(operations.undelete_kek(kek_name))
        if await self._find_dek(dek.id) is None:
            operation = operations.create_dek(dek.id, dek.wrapped)
            await self._peer.carry_out(operation, f"{_named(dek.id)} was refused")
        if dek.deleted:
            deletion = operations.delete_dek(kek_name, subject, dek.id.version, algorithm=dek.id.algorithm)
            await self._peer.carry_out(deletion, f"{_named(dek.id)} could not be deleted")

    async def finish(self) -> None:
        """Soft-delete the key encryption keys that must be deleted."""
        names, self._to_delete = sorted(self._to_delete), set()
        for name in names:
            await self._peer.carry_out(operations.delete_kek(name), f"key encryption key {name!r} could not be deleted")


def _named(dek_id: DekId) -> str:
    return (
        f"version {dek_id.version} of the {dek_id.algorithm} key of {str(dek_id.subject)!r} under {dek_id.kek_name!r}"
    )
