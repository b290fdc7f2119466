"""What callers may know of contracts: applications, environments, bridges, consumers, and contracts themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.contracts.publishing import Library
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.verdicts import Consumer


def application_resource(name: str) -> AccessResource:
    """Return an application as a resource."""
    return AccessResource(ResourceKind.APPLICATION, name)


def bridge_resource(name: str) -> AccessResource:
    """Return a bridge as a resource."""
    return AccessResource(ResourceKind.BRIDGE, name)


def environment_resource(name: str) -> AccessResource:
    """Return an environment as a resource."""
    return AccessResource(ResourceKind.ENVIRONMENT, name)


def may_know_environment(viewer: Viewer, name: str) -> bool:
    """Return whether the caller may know that an environment exists; what counts in every one has no name."""
    return not name or viewer.may(AccessOperation.DESCRIBE, environment_resource(name))


def shown_consumers(viewer: Viewer, found: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """Return the consumers that the caller may know, with the environments that it may know."""
    return tuple(
        replace(each, environments=tuple(name for name in each.environments if may_know_environment(viewer, name)))
        for each in found
        if viewer.may_know_application(each.application)
    )


async def may_see(library: Library, viewer: Viewer, operation: AccessOperation, contract: str) -> bool:
    """Return whether the caller may do ``operation`` to an application that offers or reads a contract.

    One that reads it counts if the caller may read what the contract is about: anybody could publish that it reads it.
    """
    viewer.filters()
    if viewer.may(operation, REGISTRY):
        return True
    if any(
        viewer.may(operation, application_resource(each))
        for each in await library.applications(contract, ContractKind.ODCS)
    ):
        return True
    if any(
        viewer.may(operation, application_resource(each))
        for each in await library.applications(contract, ContractKind.ODPS)
    ):
        return all(map(viewer.may_read, await library.subjects(contract)))
    return False
