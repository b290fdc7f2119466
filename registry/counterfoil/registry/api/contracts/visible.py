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

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call
    from counterfoil.registry.service.use_cases import UseCases
    from counterfoil.schema.rest.verdicts import DeploymentVerdict, VerdictReason


def application(name: str) -> Resource:
    """Return an application as a resource."""
    return Resource(Kind.APPLICATION, name)


def environment(name: str) -> Resource:
    """Return an environment as a resource."""
    return Resource(Kind.ENVIRONMENT, name)


def require_one(call: Call, operation: Operation, *resources: Resource) -> None:
    """Raise ``Forbidden`` unless the caller may do ``operation`` to one of ``resources``."""
    if not any(call.may(operation, each) for each in resources):
        raise call.denial(operation, resources[0])


def shown_verdict(call: Call, verdict: DeploymentVerdict) -> DeploymentVerdict:
    """Return ``verdict`` with the reasons that the caller may read; the others are counted in a notice."""
    if call.may(Operation.READ, REGISTRY):
        return verdict
    reasons = tuple(each for each in verdict.reasons if _is_shown(call, each))
    hidden = len(verdict.reasons) - len(reasons) + len(verdict.notices)
    notices = (f"{hidden} more are about what {call.caller_name} may not read",) if hidden else ()
    return replace(verdict, reasons=reasons, notices=notices)


def _is_shown(call: Call, reason: VerdictReason) -> bool:
    named = [application(each) for each in (reason.producer, reason.consumer) if each]
    if not all(call.may(Operation.DESCRIBE, each) for each in named):
        return False
    may_read_subject = bool(reason.subject) and call.may_read(parse_subject(reason.subject))
    return may_read_subject or any(call.may(Operation.READ, each) for each in named)


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
    """Raise ``Forbidden`` unless the caller may do ``operation`` to a party of a contract that exists."""
    if not await may_see(cases, call, operation, contract):
        await cases.contracts.library.get(contract)
        raise call.denial(operation)
