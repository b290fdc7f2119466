"""A bridge as it would be stored: its schemas are found, and its plan is derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.versions import version_not_found
from counterfoil.registry.domain.writes.guards import Target
from counterfoil.registry.domain.writes.plan import Plan
from counterfoil.registry.service.bridges.acceptance import BridgeTarget
from counterfoil.registry.service.registration import Registered
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.bridges import Bridge, BridgeLimits, BridgeSide, BridgeState, Direction

if TYPE_CHECKING:
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.service.bridges.planning import BridgePlans
    from counterfoil.registry.service.bridges.requests import BridgeRequest, Permit
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.registration import Registration
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.bridges.model import BridgeFile
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.parsed import ParsedSchema


@dataclass(frozen=True, slots=True)
class Draft:
    """A bridge, the plan that its versions exist, and the plan that registers the schema of its source, if requested.

    ``content`` is the schema to register.
    """

    bridge: Bridge
    guards: Plan
    registration: Plan | None = None
    content: Content | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    side: BridgeSide
    content: Content
    registration: Plan | None = None


class Drafting:
    """Makes drafts of bridges from requests."""

    def __init__(
        self, storage: Storage, *, reader: SchemaReader, registration: Registration, plans: BridgePlans
    ) -> None:
        self._storage = storage
        self._reader = reader
        self._registration = registration
        self._plans = plans

    async def draft(
        self, file: BridgeFile, request: BridgeRequest, *, text: str, permit: Permit, stored: Bridge | None = None
    ) -> Draft:
        """Return the draft of the bridge in ``file``, whose text is ``text``; ``permit`` raises if it is not allowed.

        ``stored`` is the bridge of this name, if there is one: a plan that is stored keeps its meaning.

        Raises ``InvalidBridge``, ``SubjectNotFound``, ``VersionNotFound``, and the errors of registering a schema.
        """
        permit(file, request)
        target_version = request.target_version or file.target_version
        target = await self._stored(file.target_topic, parse_subject(file.target_subject), target_version)
        source = await self._source(file, request, target.side)
        reverse = request.reverse_plan or ""
        derived = await self._plans.derived(
            text, await self._parsed(source), await self._parsed(target), reverse=reverse, stored=stored
        )
        bridge = Bridge(
            name=file.name,
            state=BridgeState.PLANNED,
            source=source.side,
            target=target.side,
            direction=request.direction or Direction.NEW_TO_OLD,
            plan=text,
            plan_hash=derived.hash,
            reverse=derived.reverse,
            owner=request.owner or "",
            lossy=derived.lossy,
            dropped=derived.dropped,
            limits=request.limits or BridgeLimits(),
            description=request.description or "",
        )
        exist = tuple(_exists(each.side) for each in (source, target) if each.registration is None)
        is_new = source.registration is not None and request.registers
        return Draft(
            bridge,
            Plan(tuple(guard for guard in exist if guard is not None)),
            source.registration if is_new else None,
            source.content if is_new else None,
        )

    async def _source(self, file: BridgeFile, request: BridgeRequest, target: BridgeSide) -> _Side:
        subject = parse_subject(file.source_subject)
        if request.schema is None:
            return await self._stored(file.source_topic, subject, request.source_version)
        bridged_to = BridgeTarget(target.subject, target.version or 0)
        found = await self._registration.plan(
            subject, request.schema, normalize=request.normalize, bridged_to=bridged_to
        )
        if isinstance(found, Registered):
            content = found.content
            side = BridgeSide(file.source_topic, subject, content.guid, found.version, found.schema_id)
            return _Side(side, content)
        [put] = found.new_versions
        content = put.content
        version = put.version if request.registers else None
        schema = None if request.registers else _schema_of(content)
        return _Side(BridgeSide(file.source_topic, subject, content.guid, version, schema=schema), content, found)

    async def _stored(self, topic: str, subject: QualifiedSubject, version: int | None) -> _Side:
        history = await self._storage.history(subject)
        entry = history.find(version, deleted=False)
        if entry is None:
            if not history.active:
                raise SubjectNotFound(f"Subject {str(subject)!r} not found, so that the schema of {topic} is not known")
            raise version_not_found(subject, version, history)
        content = await self._reader.content(entry.guid)
        return _Side(BridgeSide(topic, subject, entry.guid, entry.version, entry.schema_id), content)

    async def _parsed(self, side: _Side) -> ParsedSchema:
        return await self._reader.parsed(side.side.subject.context, side.content)


def _exists(side: BridgeSide) -> Target | None:
    return None if side.version is None else Target(side.subject, side.version)


def _schema_of(content: Content) -> Schema:
    return Schema(content.text, content.schema_type, content.references, content.metadata, content.rule_set)
