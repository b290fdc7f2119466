"""What callers see of contracts: applications, deployments, and the reasons of verdicts.

A verdict is worked out over everything that is stored; of its reasons a caller gets those about what it may read, and
the number of the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import REGISTRY, Kind, Resource
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.verdicts import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.api.call import Call
    from counterfoil.registry.service.use_cases import UseCases
    from counterfoil.schema.rest.verdicts import Consumer, DeploymentVerdict, VerdictReason


def application(name: str) -> Resource:
    """Return an application as a resource."""
    return Resource(Kind.APPLICATION, name)


def bridge(name: str) -> Resource:
    """Return a bridge as a resource."""
    return Resource(Kind.BRIDGE, name)


def environment(name: str) -> Resource:
    """Return an environment as a resource."""
    return Resource(Kind.ENVIRONMENT, name)


def require_known(call: Call, *resources: Resource) -> None:
    """Raise ``Forbidden`` unless the caller may know all of ``resources``, each of which the request names.

    Whether they exist is looked up after that, so that the answer does not show it.
    """
    for each in resources:
        if not call.may(Operation.DESCRIBE, each):
            raise call.denial(Operation.DESCRIBE, each)


def may_know_environment(call: Call, name: str) -> bool:
    """Return whether the caller may know that an environment exists; what counts in every one has no name."""
    return not name or call.may(Operation.DESCRIBE, environment(name))


def shown_consumers(call: Call, found: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """Return the consumers that the caller may know, with the environments that it may know."""
    return tuple(
        replace(each, environments=tuple(name for name in each.environments if may_know_environment(call, name)))
        for each in found
        if call.may_know_application(each.application)
    )


async def shown_verdict(cases: UseCases, call: Call, verdict: DeploymentVerdict) -> DeploymentVerdict:
    """Return ``verdict`` with the reasons that the caller may read; the others are counted in a notice."""
    if call.may(Operation.READ, REGISTRY):
        return verdict
    secret = await _secret_migrations(cases, call, verdict)
    shown = (each for each in verdict.reasons if _is_shown(call, each))
    reasons = tuple(one for each in shown if (one := _without_migration(each, secret)) is not None)
    hidden = len(verdict.reasons) - len(reasons) + len(verdict.notices)
    notices = (f"{hidden} more are about what {call.caller_name} may not read",) if hidden else ()
    return replace(verdict, reasons=reasons, notices=notices)


def _is_shown(call: Call, reason: VerdictReason) -> bool:
    named = [application(each) for each in (reason.producer, reason.consumer) if each]
    if not all(call.may(Operation.DESCRIBE, each) for each in named):
        return False
    may_read_subject = bool(reason.subject) and call.may_read(parse_subject(reason.subject))
    return may_read_subject or any(call.may(Operation.READ, each) for each in named)


async def _secret_migrations(cases: UseCases, call: Call, verdict: DeploymentVerdict) -> set[str]:
    """Return the contracts that have a migration of whose bridge or application the caller may not know."""
    if not any(_is_of_migration(each) for each in verdict.reasons):
        return set()
    return {
        each.contract
        for each in await cases.contracts.migrations.all()
        if not (call.may(Operation.READ, bridge(each.bridge)) and call.may_know_application(each.application))
    }


def _is_of_migration(reason: VerdictReason) -> bool:
    return reason.reason is Reason.MIGRATION_NOT_READY or (
        reason.reason is Reason.APPROVED_BREAK and not reason.approval
    )


def _without_migration(reason: VerdictReason, secret: set[str]) -> VerdictReason | None:
    """Return a reason without the names of a bridge and its application; None for one that is about them alone."""
    if not _is_of_migration(reason) or reason.contract not in secret:
        return reason
    if reason.reason is Reason.MIGRATION_NOT_READY:
        return None
    return replace(reason, text=f"a migration of contract {reason.contract} permits it")


async def may_see(cases: UseCases, call: Call, operation: Operation, contract: str) -> bool:
    """Return whether the caller may do ``operation`` to an application that offers or reads a contract.

    One that reads it counts if the caller may read what the contract is about: anybody could publish that it reads it.
    """
    call.asks()
    if call.may(operation, REGISTRY):
        return True
    library = cases.contracts.library
    if any(call.may(operation, application(each)) for each in await library.applications(contract, ContractKind.ODCS)):
        return True
    if any(call.may(operation, application(each)) for each in await library.applications(contract, ContractKind.ODPS)):
        return all(map(call.may_read, await library.subjects(contract)))
    return False


async def may_on_subjects(cases: UseCases, call: Call, operation: Operation, contract: str) -> bool:
    """Return whether the caller may do ``operation`` to all subjects that a contract is about, or to the registry."""
    if call.may(operation, REGISTRY):
        return True
    subjects = await cases.contracts.library.subjects(contract)
    return bool(subjects) and all(call.may_on(operation, each) for each in subjects)


async def require_on_subjects(cases: UseCases, call: Call, operation: Operation, contract: str) -> None:
    """Raise ``Forbidden`` unless :func:`may_on_subjects`."""
    if not await may_on_subjects(cases, call, operation, contract):
        raise call.denial(operation)


async def require_contract(cases: UseCases, call: Call, operation: Operation, contract: str) -> None:
    """Raise an error unless the caller may do ``operation`` to a party of a contract that exists."""
    if await may_see(cases, call, operation, contract):
        return
    await cases.contracts.library.get(contract)
    error = call.denial(operation)
    if await may_see(cases, call, Operation.READ, contract):
        raise error
    raise call.unknown(cases.contracts.library.no_contract(contract))
