"""Associations, bridges, keys and sketches of another registry, as the records that a store has of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.associations.records import BY_ID, record_keys, stored_association, stored_document
from counterfoil.registry.bridges.records import (
    BRIDGE_KIND,
    BY_SOURCE_KIND,
    PROGRESS_KIND,
    READERS_KIND,
    VERIFICATION_KIND,
    bridge_key,
    by_source_document,
    read_stored_bridge,
    source_key,
    steps_to,
    stored_bridge,
)
from counterfoil.registry.keys.records import (
    DEK_KIND,
    KEK_KIND,
    dek_key,
    kek_key,
    read_stored_dek,
    read_stored_kek,
    stored_dek,
    stored_kek,
)
from counterfoil.registry.moving.facts import PeerRefused, RecordFact, Unreadable
from counterfoil.registry.moving.importing import ABSENT, SAME, FactStanding, clash, deletion_standing
from counterfoil.registry.topics.use_cases import SKETCH_KIND, sketch_key
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.rest.bridges import BRIDGE_VERIFICATION, PROGRESS, READERS, RECEIVED_KEY, NewBridge
from counterfoil.schema.rest.keys import Algorithm, Dek, DekId, Kek
from counterfoil.schema.rest.subjects import HISTORY
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.schema.rest.bridges import Bridge, BridgeReports, BridgeStatus
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.subjects import Association
    from counterfoil.sdk.operations import Operation


# Associations of a registry, read over the REST API, as the records that a store has of them.
#
# A store has three records of each: by resource id, by name and by subject. Over the API only the first is used.
#
# Source: Confluent's description of the Schema Registry REST API, associations.

_OWN_ASSOCIATION_FIELDS = frozenset(member.key for member in HISTORY.members)


class PeerAssociations:
    """The associations of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def records(self) -> list[RecordFact]:
        """Return the records of all associations; an empty list if the registry has none."""
        listed = await self._peer.listed(operations.associations()) or ()
        return sorted(
            (fact for each in listed for fact in _association_facts(each)), key=lambda fact: (fact.kind, fact.key)
        )

    async def standing(self, fact: RecordFact) -> FactStanding:
        """Return the state of an association in the registry; its guid and its times are ignored."""
        if fact.kind != BY_ID:
            return SAME
        resource_type, resource_id, association_type = fact.key
        operation = operations.associations_of_resource(
            resource_id, resource_type=resource_type, association_type=association_type
        )
        held = await self._peer.found(operation)
        if not held:
            return ABSENT
        is_same = _association_content(stored_document(held[0])) == _association_content(fact.document)
        return SAME if is_same else clash(f"{fact} is there with other content")

    async def put(self, fact: RecordFact) -> None:
        """Create an association that is absent."""
        operation = operations.create_association(stored_association(fact.document))
        await self._peer.carry_out(operation, f"{fact} was refused")


def _association_facts(association: Association) -> list[RecordFact]:
    document = stored_document(association)
    return [RecordFact(kind, key, document) for kind, key in record_keys(association).items()]


def _association_content(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in _OWN_ASSOCIATION_FIELDS}


# Bridges of a registry, read over the REST API, as the records that a store has of them.
#
# The API has no request that stores a bridge with its history: an import registers the bridge, and forces it into its
# state, step by step. Other registries than those of this project have no bridges.

_OWN_BRIDGE_FIELDS: Final = frozenset({"createTs", "updateTs", "history"})
_BY: Final = "counterfoil import"
_REASON: Final = "The state of the bridge in the registry that was imported."


class PeerBridges:
    """The bridges of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def records(self) -> list[RecordFact]:
        """Return the records of all bridges, those of reports last; an empty list if the registry has none."""
        found = await self._peer.listed(operations.bridges()) or ()
        definitions = sorted((fact for each in found for fact in _definition(each.bridge)), key=_place)
        return [*definitions, *sorted((fact for each in found for fact in _reports(each)), key=_place)]

    async def standing(self, fact: RecordFact) -> FactStanding:
        """Return the state of a bridge or a report in the registry; times, and the history, are ignored."""
        if fact.kind == BY_SOURCE_KIND:
            return SAME
        status = await self._peer.found(operations.bridge(fact.key[0]))
        if fact.kind == BRIDGE_KIND:
            held = None if status is None else stored_bridge(status.bridge)
        else:
            held = None if status is None else _report_documents(status.reports).get(fact.kind)
        if held is None:
            return ABSENT
        return (
            SAME
            if _bridge_content(held) == _bridge_content(fact.document)
            else clash(f"{fact} is there with other content")
        )

    async def put(self, fact: RecordFact) -> None:
        """Register a bridge that is absent, or send a report."""
        what = f"{fact} was refused"
        if fact.kind != BRIDGE_KIND:
            await self._peer.carry_out(_report(fact), what)
            return
        bridge = read_stored_bridge(fact.document)
        await self._peer.carry_out(operations.register_bridge(_new(bridge)), what)
        for state in steps_to(bridge.state):
            operation = operations.change_bridge_state(bridge.name, state, by=_BY, reason=_REASON, force=True)
            await self._peer.carry_out(operation, what)


def _place(fact: RecordFact) -> tuple[str, tuple[str, ...]]:
    return fact.kind, fact.key


def _definition(bridge: Bridge) -> list[RecordFact]:
    return [
        RecordFact(BRIDGE_KIND, bridge_key(bridge.name), stored_bridge(bridge)),
        RecordFact(BY_SOURCE_KIND, source_key(bridge.source, bridge.name), by_source_document(bridge)),
    ]


def _reports(status: BridgeStatus) -> list[RecordFact]:
    key = bridge_key(status.bridge.name)
    return [RecordFact(kind, key, document) for kind, document in _report_documents(status.reports).items()]


def _report_documents(reports: BridgeReports) -> dict[str, Document]:
    found = (
        (PROGRESS_KIND.record_kind, PROGRESS, reports.progress),
        (VERIFICATION_KIND.record_kind, BRIDGE_VERIFICATION, reports.verification),
        (READERS_KIND.record_kind, READERS, reports.readers),
    )
    return {kind: form.write(report) for kind, form, report in found if report is not None}


def _report(fact: RecordFact) -> Operation[None]:
    name = fact.key[0]
    if fact.kind == PROGRESS_KIND.record_kind:
        return operations.report_progress(name, PROGRESS_KIND.read(fact.document))
    if fact.kind == VERIFICATION_KIND.record_kind:
        return operations.report_verification(name, VERIFICATION_KIND.read(fact.document))
    return operations.report_readers(name, READERS_KIND.read(fact.document))


def _new(bridge: Bridge) -> NewBridge:
    return NewBridge(
        plan=bridge.plan,
        reverse_plan=bridge.reverse.plan,
        source_version=bridge.source.version,
        source_schema=bridge.source.schema,
        target_version=bridge.target.version,
        direction=bridge.direction,
        owner=bridge.owner,
        description=bridge.description,
        limits=bridge.limits,
    )


def _bridge_content(document: Document) -> Document:
    left_out = _OWN_BRIDGE_FIELDS | {RECEIVED_KEY}
    return {name: value for name, value in document.items() if name not in left_out}


# Keys of a registry over the REST API: reading, comparing and creating them, as the records that a store has.
#
# Source: the public API of Confluent's DEK registry.

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

    async def standing(self, fact: RecordFact) -> FactStanding:
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


# Sketches of a registry, read and written over the REST API. Other registries have none.


class PeerSketches:
    """The sketches of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def records(self) -> list[RecordFact]:
        """Return the records of all sketches; an empty list if the registry has none."""
        found = []
        for name in await self._peer.listed(operations.sketched_subjects()) or ():
            document = await self._peer.found(operations.sketch(name))
            if document is not None:
                found.append(RecordFact(SKETCH_KIND, sketch_key(parse_subject(name)), document))
        return found

    async def standing(self, fact: RecordFact) -> FactStanding:
        """Return whether the registry has the sketch."""
        held = await self._peer.found(operations.sketch(str(QualifiedSubject(*fact.key))))
        if held is None:
            return ABSENT
        return SAME if held == fact.document else clash(f"{fact} is there with other content")

    async def put(self, fact: RecordFact) -> None:
        """Store the sketch."""
        operation = operations.put_sketch(str(QualifiedSubject(*fact.key)), fact.document)
        await self._peer.carry_out(operation, f"{fact} was refused")
