"""Sketches of a registry, read and written over the REST API. Other registries have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.moving.facts import RecordFact
from counterfoil.registry.moving.target import ABSENT, SAME, Standing, clash
from counterfoil.registry.service.sketches import SKETCH_KIND, sketch_key
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.registry.moving.peer.connection import Peer


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

    async def standing(self, fact: RecordFact) -> Standing:
        """Return whether the registry has the sketch."""
        held = await self._peer.found(operations.sketch(str(QualifiedSubject(*fact.key))))
        if held is None:
            return ABSENT
        return SAME if held == fact.document else clash(f"{fact} is there with other content")

    async def put(self, fact: RecordFact) -> None:
        """Store the sketch."""
        operation = operations.put_sketch(str(QualifiedSubject(*fact.key)), fact.document)
        await self._peer.carry_out(operation, f"{fact} was refused")
