"""Associations of a registry, read over the REST API, as the records that a store has of them.

A store has three records of each: by resource id, by name and by subject. Over the API only the first is used.

Source: Confluent's description of the Schema Registry REST API, associations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.domain.associations import BY_ID, stored_association, stored_document
from counterfoil.registry.moving.facts import RecordFact
from counterfoil.registry.moving.target import ABSENT, SAME, Standing, clash
from counterfoil.registry.service.associations.index import record_keys
from counterfoil.schema.rest.associations import HISTORY
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.schema.rest.associations import Association
    from counterfoil.schema.rest.object_forms import Document

_OWN_TO_A_REGISTRY = frozenset(member.key for member in HISTORY.members)


class PeerAssociations:
    """The associations of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def records(self) -> list[RecordFact]:
        """Return the records of all associations; an empty list if the registry has none."""
        listed = await self._peer.listed(operations.associations()) or ()
        return sorted((fact for each in listed for fact in _facts(each)), key=lambda fact: (fact.kind, fact.key))

    async def standing(self, fact: RecordFact) -> Standing:
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
        is_same = _content(stored_document(held[0])) == _content(fact.document)
        return SAME if is_same else clash(f"{fact} is there with other content")

    async def put(self, fact: RecordFact) -> None:
        """Create an association that is absent."""
        operation = operations.create_association(stored_association(fact.document))
        await self._peer.carry_out(operation, f"{fact} was refused")


def _facts(association: Association) -> list[RecordFact]:
    document = stored_document(association)
    return [RecordFact(kind, key, document) for kind, key in record_keys(association).items()]


def _content(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in _OWN_TO_A_REGISTRY}
