"""Which changes a caller sees: those of what it may know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.records import ACCESS_KINDS
from counterfoil.registry.domain.access.resources import REGISTRY, Kind, Resource, scope_resource, subject_resource
from counterfoil.registry.domain.bridges.stored import BRIDGE_KIND, REPORT_RECORD_KINDS
from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.contracts.history import LIVE_HISTORIES, PUBLISHED_BESIDE
from counterfoil.registry.domain.contracts.stored import APPLICATIONS, DEPLOYMENTS, ENVIRONMENTS, VERSIONS
from counterfoil.registry.domain.keys.stored import DEK_KIND, KEK_KIND
from counterfoil.registry.service.sketches import SKETCH_KIND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.access.caller import Caller
    from counterfoil.registry.domain.changes import Change

_READ_BY_NAME: Final[Mapping[str, Kind]] = {
    KEK_KIND: Kind.KEK,
    DEK_KIND: Kind.KEK,
    **dict.fromkeys((BRIDGE_KIND, *REPORT_RECORD_KINDS), Kind.BRIDGE),
    APPLICATIONS.name: Kind.APPLICATION,
    VERSIONS.name: Kind.APPLICATION,
    PUBLISHED_BESIDE.name: Kind.APPLICATION,
}
"""The kinds of records whose keys begin with the name of a resource, which is to be read."""

_DESCRIBED_BY_NAME: Final[Mapping[str, Kind]] = {
    ENVIRONMENTS.name: Kind.ENVIRONMENT,
    DEPLOYMENTS.name: Kind.ENVIRONMENT,
    LIVE_HISTORIES.name: Kind.ENVIRONMENT,
}


def is_visible(change: Change, caller: Caller) -> bool:
    """Return whether ``caller`` sees ``change``. Of other records only those with a right on the registry hear."""
    if change.kind is ChangeKind.CONTEXT_DELETED:
        return caller.rights.sees_context(change.subject.context)
    return all(caller.rights.allows(*need) for need in _needs(change))


def shows_author(change: Change, caller: Caller | None) -> bool:
    """Return whether ``caller`` may know who requested ``change``: whoever may read what was changed."""
    return caller is None or caller.rights.allows(Operation.READ, _needs(change)[0][1])


def _needs(change: Change) -> list[tuple[Operation, Resource]]:
    """Return what a caller may do to what, if it sees ``change``; first stands what was changed."""
    if change.kind is ChangeKind.SETTINGS:
        return [(Operation.DESCRIBE_CONFIGS, scope_resource(change.subject))]
    if change.kind is not ChangeKind.RECORD:
        return [(Operation.DESCRIBE, subject_resource(change.subject))]
    document = change.document or {}
    needs = [_need_of_record(change)]
    if document.get("kind") in {DEPLOYMENTS.name, LIVE_HISTORIES.name}:
        needs.append((Operation.DESCRIBE, Resource(Kind.APPLICATION, document["key"][1])))
    if document.get("kind") == DEK_KIND:
        _, context, name, *_ = document["key"]
        needs.append((Operation.DESCRIBE, Resource(Kind.SUBJECT, name, context)))
    return needs


def _need_of_record(change: Change) -> tuple[Operation, Resource]:
    document = change.document or {}
    kind, key = document.get("kind", ""), document.get("key", ())
    if kind in ACCESS_KINDS:
        return Operation.ALTER_ACCESS, REGISTRY
    if kind in _READ_BY_NAME:
        return Operation.READ, Resource(_READ_BY_NAME[kind], key[0])
    if kind in _DESCRIBED_BY_NAME:
        return Operation.DESCRIBE, Resource(_DESCRIBED_BY_NAME[kind], key[0])
    if kind == SKETCH_KIND:
        return Operation.DESCRIBE, Resource(Kind.SUBJECT, key[1], key[0])
    return Operation.DESCRIBE, REGISTRY
