"""Importing facts into a running registry, over its REST API.

Ids and version numbers are given in IMPORT mode, which is set for the contexts that are written to; the earlier mode is
restored at the end. Time stamps cannot be given: the versions are stored with the present time.

Source: Confluent's public documentation of IMPORT mode and of the API's soft and hard deletes.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from counterfoil.registry.associations.records import RECORD_KINDS
from counterfoil.registry.bridges.records import RECORD_KINDS as OF_BRIDGES
from counterfoil.registry.contracts.records import RECORD_KINDS as OF_CONTRACTS
from counterfoil.registry.keys.records import DEK_KIND, KEK_KIND, read_stored_dek
from counterfoil.registry.moving.facts import (
    ContextFact,
    MovingError,
    PeerRefused,
    RecordFact,
    SettingsFact,
    VersionFact,
    read_content,
    schema_of,
)
from counterfoil.registry.moving.importing import ABSENT, SAME, FactStanding, clash, id_clash, version_standing
from counterfoil.registry.moving.peer.connection import PeerRefusal, context_scope, refused, scope_text
from counterfoil.registry.moving.peer.contracts import KINDS as OBSERVED
from counterfoil.registry.moving.peer.contracts import PeerContracts, PeerObservations
from counterfoil.registry.moving.peer.records import PeerAssociations, PeerBridges, PeerKeys, PeerSketches
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.store_facts import PLACEHOLDER, settings_standing
from counterfoil.registry.subjects.levels import without_empty_texts
from counterfoil.registry.topics.use_cases import SKETCH_KIND
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.subjects import Mode
from counterfoil.schema.rest.versions import Deletion, Visibility
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.registry.moving.facts import Fact
    from counterfoil.registry.moving.importing import MoveProgress
    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.schema.rest.object_forms import Document


_ALREADY_DELETED: Final = frozenset({40404, 40406})


class PeerTarget:
    """Writes to the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer, progress: MoveProgress) -> None:
        self._peer = peer
        self._progress = progress
        self._reading = PeerSource(peer)
        self._keys = PeerKeys(peer)
        self._associations = PeerAssociations(peer)
        self._bridges = PeerBridges(peer)
        self._sketches = PeerSketches(peer)
        self._contracts = PeerContracts(peer)
        self._observations = PeerObservations(peer)
        self._subjects: set[QualifiedSubject] | None = None
        self._modes: dict[QualifiedSubject, Mode | None] = {}
        self._opening = asyncio.Lock()

    async def standing(self, fact: Fact) -> FactStanding:
        """Return the state of ``fact`` in the registry."""
        match fact:
            case VersionFact():
                return await self._version_standing(fact)
            case ContextFact():
                return await self._context_standing(fact)
            case RecordFact():
                return await self._record_standing(fact)
            case SettingsFact():
                return settings_standing(fact, await self._settings_now(fact.scope))

    async def put(self, fact: Fact) -> None:
        """Write ``fact`` to the registry."""
        match fact:
            case VersionFact():
                await self._put_version(fact)
            case ContextFact():
                await self._reserve(fact)
            case SettingsFact():
                await self._put_settings(fact)
            case RecordFact():
                await self._put_record(fact)

    # --- versions

    async def _version_standing(self, fact: VersionFact) -> FactStanding:
        clashing = await self._clash_of_id(fact)
        if clashing is not None:
            return clashing
        if self._subjects is None:
            self._subjects = set(await self._reading.subjects())
        if fact.subject not in self._subjects:
            return ABSENT
        version = operations.version(str(fact.subject), fact.version, visibility=Visibility.WITH_DELETED)
        held = await self._peer.document(version)
        if held is None:
            return ABSENT
        named = parse_subject(str(held.get("subject", fact.subject)))
        if named != fact.subject:
            is_fallback = named.name == fact.subject.name and fact.subject.is_default
            return ABSENT if is_fallback else clash(f"{fact}: the subject is an alias of {str(named)!r} there")
        deleted = held["deleted"] if "deleted" in held else not await self._is_active(fact)
        return version_standing(fact, guid=_guid_of(held), schema_id=held.get("id"), deleted=deleted)

    async def _is_active(self, fact: VersionFact) -> bool:
        listed = await self._peer.listed(operations.versions(str(fact.subject), visibility=Visibility.ACTIVE))
        return fact.version in (listed or ())

    async def _clash_of_id(self, fact: VersionFact) -> FactStanding | None:
        """Return a clash if the registry has another schema under the id, otherwise None."""
        context = fact.subject.context
        held = await self._peer.document(operations.schema_by_id(fact.schema_id, subject=context_scope(context)))
        if held is None or ("subject" in held and parse_subject(str(held["subject"])).context != context):
            return None
        guid = _guid_of(held)
        return None if guid == fact.content.guid else id_clash(fact, guid)

    async def _put_version(self, fact: VersionFact) -> None:
        await self._open(fact.subject)
        await self._register(fact)
        if self._subjects is not None:
            self._subjects.add(fact.subject)
        if fact.deleted:
            await self._delete(fact.subject, fact.version)

    async def _register(self, fact: VersionFact) -> None:
        schema = schema_of(fact.content)
        given = await self._register_as(fact.subject, schema, fact.schema_id, fact.version, f"{fact} was refused")
        if given != fact.schema_id:
            raise PeerRefused(f"{fact} was given the id {given} in place of {fact.schema_id}")

    async def _register_as(
        self, subject: QualifiedSubject, schema: Schema, schema_id: int, version: int, what: str
    ) -> int | None:
        operation = operations.register(str(subject), schema, normalize=False, schema_id=schema_id, number=version)
        registered = await self._peer.carry_out(operation, what)
        return None if registered is None else registered.id

    async def _delete(self, subject: QualifiedSubject, version: int, *, deletion: Deletion = Deletion.SOFT) -> None:
        found = await self._peer.outcome(operations.delete_version(str(subject), version, deletion=deletion))
        if isinstance(found, PeerRefusal) and not found.is_done and found.code not in _ALREADY_DELETED:
            raise refused(found, f"version {version} of subject {str(subject)!r} could not be deleted")

    # --- modes during the import

    async def _open(self, subject: QualifiedSubject) -> None:
        """Set IMPORT mode for the scopes of ``subject``, and remember the earlier modes."""
        async with self._opening:
            for scope in (QualifiedSubject(subject.context, ""), subject):
                if scope in self._modes:
                    continue
                mode = (await self._settings_now(scope)).mode
                if scope == subject and mode is None:
                    continue
                self._modes[scope] = mode
                if mode is not Mode.IMPORT:
                    self._progress.say(f"mode of {_named(scope)}: IMPORT for now ({mode or 'nothing'} was set)")
                    await self._set_mode(scope, Mode.IMPORT)

    async def finish(self) -> None:
        """Restore every mode that was changed, and soft-delete the keys that others needed."""
        try:
            await self._keys.finish()
        finally:
            await self._put_modes_back()

    async def _put_modes_back(self) -> None:
        failed: list[str] = []
        for scope, mode in self._modes.items():
            if mode is Mode.IMPORT:
                self._progress.say(f"mode of {_named(scope)}: stays IMPORT, as it was found")
                continue
            try:
                await self._put_back(scope, mode)
            except MovingError as error:
                failed.append(f"{_named(scope)} to {mode or 'nothing'} ({error})")
            else:
                self._progress.say(f"mode of {_named(scope)}: {mode or 'nothing'} again")
        self._modes.clear()
        if failed:
            raise PeerRefused(f"these modes are IMPORT still, and must be put back by hand: {'; '.join(failed)}")

    async def _put_back(self, scope: QualifiedSubject, mode: Mode | None) -> None:
        if mode is not None:
            await self._set_mode(scope, mode)
            return
        found = await self._peer.outcome(operations.delete_mode(scope_text(scope), recursive=False))
        if not isinstance(found, PeerRefusal) or found.is_done:
            return
        if found.status == HTTPStatus.METHOD_NOT_ALLOWED or scope == TOP_LEVEL:
            await self._set_mode(scope, Mode.READWRITE)  # a registry that cannot delete a mode
        elif found.status != HTTPStatus.NOT_FOUND:
            raise refused(found, f"the mode of {_named(scope)} could not be removed")

    async def _set_mode(self, scope: QualifiedSubject, mode: Mode) -> None:
        operation = operations.set_mode(scope_text(scope), mode.value, force=True)
        await self._peer.carry_out(operation, f"the mode of {_named(scope)} could not be set to {mode}")

    # --- contexts

    async def _context_standing(self, fact: ContextFact) -> FactStanding:
        if await self._versions(QualifiedSubject(fact.name, PLACEHOLDER)):  # of an import that was interrupted
            return ABSENT
        seen = await self._max_id(fact)
        return SAME if seen >= fact.max_id else ABSENT

    async def _max_id(self, fact: ContextFact) -> int:
        """Return the highest id that the context reports; if it does not report one, ``max_id`` if that is in use."""
        if await self._with_max_id(fact.max_id, fact.name) is not None:
            return fact.max_id
        for subject in await self._reading.subjects():
            if subject.context == fact.name:
                return await self._max_id_beside(subject)
        return 0

    async def _with_max_id(self, schema_id: int, context: str) -> Document | None:
        operation = operations.schema_by_id(schema_id, subject=context_scope(context), with_max_id=True)
        return await self._peer.document(operation)

    async def _max_id_beside(self, subject: QualifiedSubject) -> int:
        for number in await self._versions(subject):
            operation = operations.version(str(subject), number, visibility=Visibility.WITH_DELETED)
            version = await self._peer.document(operation)
            held = await self._with_max_id(version["id"], subject.context) if version else None
            if held is not None:
                return int(held.get("maxId") or 0)
        return 0

    async def _versions(self, subject: QualifiedSubject) -> tuple[int, ...]:
        """Return the numbers of all versions of the subject, with the soft-deleted ones."""
        listing = operations.versions(str(subject), visibility=Visibility.WITH_DELETED)
        return await self._peer.listed(listing) or ()

    async def _reserve(self, fact: ContextFact) -> None:
        """Register and delete a schema under the context's highest id.

        Afterwards the id counts as assigned, and the context exists.
        """
        subject = QualifiedSubject(fact.name, PLACEHOLDER)
        await self._open(subject)
        if not await self._versions(subject):
            schema = Schema(f'{{"type":"fixed","name":"counterfoil_reserved_id","size":{fact.max_id}}}')
            await self._register_as(subject, schema, fact.max_id, 1, f"{fact}: id {fact.max_id}")
        await self._delete(subject, 1)
        await self._delete(subject, 1, deletion=Deletion.PERMANENT)
        if not fact.listed:
            await self._peer.outcome(operations.delete_context(fact.name))

    # --- records

    async def _record_standing(self, fact: RecordFact) -> FactStanding:
        if fact.kind in {KEK_KIND, DEK_KIND}:
            return await self._keys.standing(fact)
        if fact.kind in RECORD_KINDS:
            return await self._associations.standing(fact)
        if fact.kind in OF_BRIDGES:
            return await self._bridges.standing(fact)
        if fact.kind == SKETCH_KIND:
            return await self._sketches.standing(fact)
        if fact.kind in OF_CONTRACTS:
            return await self._contracts.standing(fact)
        if fact.kind in OBSERVED:
            return await self._observations.standing(fact)
        return clash(f"{fact} cannot be carried over by this API; import into the store itself")

    async def _put_record(self, fact: RecordFact) -> None:
        if fact.kind in RECORD_KINDS:
            await self._open(QualifiedSubject(*fact.document["subject"]))
            await self._associations.put(fact)
            return
        if fact.kind in OF_BRIDGES:
            await self._bridges.put(fact)
            return
        if fact.kind == SKETCH_KIND:
            await self._open(QualifiedSubject(*fact.key))
            await self._sketches.put(fact)
            return
        if fact.kind in OF_CONTRACTS:
            await self._contracts.put(fact)
            return
        if fact.kind in OBSERVED:
            await self._observations.put(fact)
            return
        is_dek = fact.kind == DEK_KIND
        await self._open(read_stored_dek(fact.key, fact.document).id.subject if is_dek else TOP_LEVEL)
        await self._keys.put(fact)

    # --- settings

    async def _settings_now(self, scope: QualifiedSubject) -> SettingsFact:
        await self._reading.context_names()
        found = await self._reading.settings_of(scope)
        return SettingsFact(scope, found.config, self._modes.get(scope, found.mode))

    async def _put_settings(self, fact: SettingsFact) -> None:
        if fact.config is not None:
            await self._open(fact.scope)
            operation = operations.set_config(scope_text(fact.scope), without_empty_texts(fact.config), clear=())
            await self._peer.carry_out(operation, f"the config of {_named(fact.scope)} was refused")
        if fact.mode is not None:
            self._modes[fact.scope] = fact.mode  # set at the end: it may forbid the writes before


def _guid_of(document: Document) -> UUID | None:
    """Return the fingerprint of a version's document, computed here; None if the document cannot be read."""
    try:
        return read_content(document).guid
    except RegistryError:
        return None


def _named(scope: QualifiedSubject) -> str:
    if scope == TOP_LEVEL:
        return "the default context"
    return f"context {scope.context!r}" if scope.is_context else f"subject {str(scope)!r}"
