"""The endpoints of applications, contracts, environments, and of what is live in them."""

from __future__ import annotations

from collections.abc import Iterable

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.contracts.publishing import OtherContent, plain_contract
from counterfoil.registry.contracts.verdict_endpoints import (
    ApplicationName,
    ApplicationToPutBody,
    ContractForm,
    ContractId,
    DeploymentId,
    DeploymentToRecordBody,
    DryRun,
    EnvironmentName,
    EnvironmentToPutBody,
    Filter,
    Form,
    FromVersion,
    Kind,
    PublicationBody,
    ReleaseToRecordBody,
    VersionName,
    VersionToPutBody,
    require_contract,
)
from counterfoil.registry.contracts.visibility import application_resource, environment_resource, may_see
from counterfoil.registry.http.access import CallerOfRequest, CasesOfRequest, RequestCaller
from counterfoil.registry.use_cases import UseCases
from counterfoil.schema.errors import ContractExists
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    CONTRACT_VERSIONS,
    DEPLOYMENT,
    ENVIRONMENT,
    PUBLICATION,
    ContractKind,
    Deployment,
    Liveness,
)
from counterfoil.schema.rest.verdicts import CONTRACT_DIFF

# --- applications


async def list_applications(cases: CasesOfRequest, caller: CallerOfRequest) -> object:
    """List applications."""
    caller.filters()
    found = await cases.contracts.environments.applications()
    return [
        APPLICATION.write(each)
        for each in found
        if caller.may(AccessOperation.DESCRIBE, application_resource(each.name))
    ]


async def get_application(cases: CasesOfRequest, application: ApplicationName) -> object:
    """Return an application."""
    return APPLICATION.write(await cases.contracts.environments.application(application))


async def put_application(
    cases: CasesOfRequest, caller: CallerOfRequest, application: ApplicationName, body: ApplicationToPutBody
) -> object:
    """Store what is known of an application."""
    return APPLICATION.write(
        await cases.contracts.environments.put_application(body.application(application), by=caller.requester)
    )


async def list_versions_of_application(cases: CasesOfRequest, application: ApplicationName) -> object:
    """List the versions of an application with the contracts that each has published."""
    return [APPLICATION_VERSION.write(each) for each in await cases.contracts.environments.versions(application)]


async def get_version_of_application(
    cases: CasesOfRequest, application: ApplicationName, version: VersionName
) -> object:
    """Return a version of an application with the contracts that it has published."""
    return APPLICATION_VERSION.write(await cases.contracts.environments.version(application, version))


async def put_version_of_application(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    application: ApplicationName,
    version: VersionName,
    body: VersionToPutBody,
) -> object:
    """Store what is known of a version; the contracts that it has published stay."""
    given = body.version(application, version)
    return APPLICATION_VERSION.write(await cases.contracts.environments.put_version(given, by=caller.requester))


# --- contracts


async def publish(
    cases: CasesOfRequest, caller: CallerOfRequest, body: PublicationBody, *, dry_run: DryRun = False
) -> object:
    """Publish the contracts of one version of an application, all or none."""
    new = body.publication()
    caller.require(AccessOperation.WRITE, application_resource(new.application))
    try:
        published = await cases.contracts.publishing.publish(
            new, dry_run=dry_run, permit=caller.require_on, by=caller.requester
        )
    except OtherContent as other:
        if caller.may(AccessOperation.READ, application_resource(other.application)):
            raise
        raise ContractExists(other.message) from None  # without the text of the other one
    return PUBLICATION.write(published)


async def list_contracts(cases: CasesOfRequest, caller: CallerOfRequest) -> object:
    """List contracts with the numbers of their versions."""
    caller.filters()
    found = await cases.contracts.library.all()
    return [
        CONTRACT_VERSIONS.write(each)
        for each in found
        if await may_see(cases.contracts.library, caller, AccessOperation.READ, each.id)
    ]


async def get_contract(cases: CasesOfRequest, caller: CallerOfRequest, contract: ContractId) -> object:
    """Return the numbers of a contract's versions, by the standard of the file."""
    await require_contract(cases, caller, AccessOperation.READ, contract)
    return [CONTRACT_VERSIONS.write(each) for each in await cases.contracts.library.get(contract)]


async def get_contract_version(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    contract: ContractId,
    version: VersionName,
    *,
    kind: Kind = None,
    form: Form = ContractForm.JSON,
) -> object:
    """Return a version of a contract, or its file as JSON."""
    kind = kind if form is ContractForm.JSON else ContractKind(form)
    caller.filters()
    found = await cases.contracts.library.version(contract, version, kind)
    absent = cases.contracts.library.no_version(contract, version)
    caller.require_found(AccessOperation.READ, application_resource(found.application), absent=absent)
    return CONTRACT.write(found) if form is ContractForm.JSON else plain_contract(found)


async def get_contract_diff(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    contract: ContractId,
    version: VersionName,
    earlier: FromVersion,
    *,
    kind: Kind = None,
) -> object:
    """Return what differs from an earlier version of a contract, and what of it breaks someone."""
    caller.filters()
    for each in (version, earlier):
        found = await cases.contracts.library.version(contract, each, kind)
        absent = cases.contracts.library.no_version(contract, each)
        caller.require_found(AccessOperation.READ, application_resource(found.application), absent=absent)
    return CONTRACT_DIFF.write(await cases.contracts.comparing.versions(contract, earlier, version, kind))


# --- environments


async def list_environments(cases: CasesOfRequest, caller: CallerOfRequest) -> object:
    """List environments in their order."""
    caller.filters()
    found = await cases.contracts.environments.environments()
    return [
        ENVIRONMENT.write(each)
        for each in found
        if caller.may(AccessOperation.DESCRIBE, environment_resource(each.name))
    ]


async def get_environment(cases: CasesOfRequest, environment: EnvironmentName) -> object:
    """Return an environment."""
    return ENVIRONMENT.write(await cases.contracts.environments.environment(environment))


async def put_environment(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, body: EnvironmentToPutBody
) -> object:
    """Store what is known of an environment."""
    return ENVIRONMENT.write(
        await cases.contracts.environments.put_environment(body.environment(environment), by=caller.requester)
    )


async def list_deployments(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, application: Filter = None
) -> object:
    """List the deployments in an environment."""
    found = await cases.contracts.environments.live(environment, Liveness.DEPLOYED, application)
    return _shown_deployments(caller, found)


def _shown_deployments(caller: RequestCaller, found: Iterable[Deployment]) -> object:
    caller.filters()
    return [
        DEPLOYMENT.write(each)
        for each in found
        if caller.may(AccessOperation.DESCRIBE, application_resource(each.application))
    ]


async def _deployment(
    cases: UseCases,
    caller: RequestCaller,
    environment: str,
    liveness: Liveness,
    deployment: str,
    *,
    operation: AccessOperation,
) -> Deployment:
    """Return a deployment; raise ``Forbidden`` unless the caller may do ``operation`` to its application."""
    caller.filters()
    found = await cases.contracts.environments.find(environment, liveness, deployment)
    absent = cases.contracts.environments.no_deployment(environment, liveness, deployment)
    caller.require_found(operation, application_resource(found.application), absent=absent)
    return found


async def record_deployment(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, body: DeploymentToRecordBody
) -> object:
    """Record a deployment, which replaces that of the same instance; the version must have been published."""
    caller.require(AccessOperation.WRITE, application_resource(body.application))
    return DEPLOYMENT.write(
        await cases.contracts.environments.record(body.deployment(environment), by=caller.requester)
    )


async def get_deployment(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, deployment: DeploymentId
) -> object:
    """Return a deployment."""
    found = await _deployment(
        cases, caller, environment, Liveness.DEPLOYED, deployment, operation=AccessOperation.DESCRIBE
    )
    return DEPLOYMENT.write(found)


async def end_deployment(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, deployment: DeploymentId
) -> None:
    """Record that a version is no longer deployed."""
    await _deployment(cases, caller, environment, Liveness.DEPLOYED, deployment, operation=AccessOperation.WRITE)
    await cases.contracts.environments.end(environment, Liveness.DEPLOYED, deployment, by=caller.requester)


async def list_releases(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, application: Filter = None
) -> object:
    """List the releases in an environment."""
    found = await cases.contracts.environments.live(environment, Liveness.RELEASED, application)
    return _shown_deployments(caller, found)


async def record_release(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, body: ReleaseToRecordBody
) -> object:
    """Record a release beside those before it; the version must have been published."""
    caller.require(AccessOperation.WRITE, application_resource(body.application))
    return DEPLOYMENT.write(
        await cases.contracts.environments.record(body.deployment(environment), by=caller.requester)
    )


async def get_release(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, deployment: DeploymentId
) -> object:
    """Return a release."""
    found = await _deployment(
        cases, caller, environment, Liveness.RELEASED, deployment, operation=AccessOperation.DESCRIBE
    )
    return DEPLOYMENT.write(found)


async def end_release(
    cases: CasesOfRequest, caller: CallerOfRequest, environment: EnvironmentName, deployment: DeploymentId
) -> None:
    """Record that the support of a released version has ended."""
    await _deployment(cases, caller, environment, Liveness.RELEASED, deployment, operation=AccessOperation.WRITE)
    await cases.contracts.environments.end(environment, Liveness.RELEASED, deployment, by=caller.requester)
