"""Why a subject must not be deleted yet: someone reads it, a bridge needs it, or a topic is associated with it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.rest.bridges import BridgeState
from counterfoil.sdk import operations
from counterfoil.sdk.errors import UnexpectedReply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.contracts.state.registry import StateRegistry
    from counterfoil.schema.rest.associations import Association
    from counterfoil.sdk.operations import Operation

_T = TypeVar("_T")
_UNUSED: Final = frozenset({BridgeState.PLANNED, BridgeState.ROLLED_BACK, BridgeState.RETIRED})


def uses_of(subject: str, registry: StateRegistry, held: Iterable[Association]) -> Iterator[str]:
    """Yield who uses a subject, as sentences; nothing of a registry that stores neither contracts nor bridges.

    ``held`` are the associations of the registry. A consumer counts while it is live in an environment, as for
    ``counterfoil can-i-deploy --retire``.
    """
    for each in _listed(registry, operations.consumers(subject)):
        if each.environments:
            yield f"{each.application} {each.version} reads it in {', '.join(each.environments)}"
    for status in _listed(registry, operations.bridges(subject=subject)):
        bridge = status.bridge
        if bridge.state not in _UNUSED:
            yield f"the bridge {bridge.name}, which is {bridge.state}, converts its records or writes them"
    held_by = parse_subject(subject)
    for association in held:
        if association.subject == held_by:
            yield f"it is associated with the {association.resource}"


def associations(registry: StateRegistry) -> tuple[Association, ...]:
    """Return all associations of a registry; an empty tuple if it has none, or no such feature."""
    return _listed(registry, operations.associations())


def _listed(registry: StateRegistry, operation: Operation[tuple[_T, ...]]) -> tuple[_T, ...]:
    """Return what a registry lists; an empty tuple if it has no such listing."""
    try:
        return registry.call_all(operation)
    except (RegistryError, UnexpectedReply) as refusal:
        if refusal.status != HTTPStatus.NOT_FOUND:
            raise
        return ()
