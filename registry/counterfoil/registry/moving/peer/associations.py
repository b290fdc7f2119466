"""Associations of a registry, read over the REST API, as the records that a store has of them.

A store has three records of each: by resource id, by name and by subject. Over the API only the first is used.

Source: Confluent's description of the Schema Registry REST API, associations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.moving.facts import RecordFact
from counterfoil.registry.moving.target import ABSENT, SAME, Standing, clash
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.schema.rest.object_forms import Document

_BY_ID: Final = "association"
_BY_NAME: Final = "association-by-name"
_BY_SUBJECT: Final = "association-by-subject"
KINDS: Final = frozenset({_BY_ID, _BY_NAME, _BY_SUBJECT})
"""The kinds of the records."""

_OWN_TO_A_REGISTRY: Final = ("guid", "createTs", "updateTs")
_OF_THE_RESOURCE: Final = ("resourceName", "resourceNamespace", "resourceId", "resourceType")
_BELONGS: Final = "STRONG"


class PeerAssociations:
    """The associations of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def records(self) -> list[RecordFact]:
        """Return the records of all associations; an empty list if the registry has none."""
        listed = await self._peer.listed(operations.associations()) or ()
        found = [fact for item in listed for fact in _records_of(_stored(item))]
        return sorted(found, key=lambda fact: (fact.kind, fact.key))

    async def standing(self, fact: RecordFact) -> Standing:
        """Return the state of an association in the registry; its guid and its times are ignored."""
        if fact.kind != _BY_ID:
            return SAME
        resource_type, resource_id, association_type = fact.key
        held = await self._peer.get(
            operations.associations_of_resource(
                resource_id, resource_type=resource_type, association_type=association_type
            )
        )
        if not held:
            return ABSENT
        return SAME if _content(_stored(held[0])) == _content(fact.document) else clash(f"{fact} is another one")

    async def put(self, fact: RecordFact) -> None:
        """Create an association that is absent."""
        document = fact.document
        bond = {name: document[name] for name in ("associationType", "lifecycle", "frozen")}
        body = {name: document[name] for name in _OF_THE_RESOURCE}
        body["associations"] = [{"subject": str(QualifiedSubject(*document["subject"])), **bond}]
        await self._peer.carry_out(operations.create_associations(body), f"{fact} was refused")


def _stored(item: Document) -> Document:
    """Return an association as a store has it, from the API's document."""
    subject = parse_subject(str(item["subject"]))
    return {
        **item,
        "subject": [subject.context, subject.name],
        "frozen": item.get("frozen", item.get("lifecycle") == _BELONGS),
    }


def _records_of(document: Document) -> list[RecordFact]:
    own = (document["resourceType"], document["resourceId"], document["associationType"])
    keys = {
        _BY_ID: own,
        _BY_NAME: (document["resourceName"], document["resourceNamespace"], *own),
        _BY_SUBJECT: (*document["subject"], *own),
    }
    return [RecordFact(kind, key, document) for kind, key in keys.items()]


def _content(document: Document) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in _OWN_TO_A_REGISTRY}
