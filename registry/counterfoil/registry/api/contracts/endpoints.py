"""The endpoints under ``/contracts/v1``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, Path, Query
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.api.contracts.models import (
    ApplicationToPutBody,
    CheckBody,
    DeploymentToRecordBody,
    EnvironmentToPutBody,
    PublicationBody,
    ReleaseToRecordBody,
    VersionToPutBody,
)
from counterfoil.registry.api.http.paths import decode_segment
from counterfoil.registry.api.http.validation import expected
from counterfoil.registry.api.routes.services import CasesOfRequest
from counterfoil.registry.domain.contracts.stored import is_name
from counterfoil.registry.service.contracts.library import plain_contract
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, NotDeployable, VerdictUnknown
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    CONTRACT_VERSIONS,
    DEPLOYMENT,
    ENVIRONMENT,
    PUBLICATION,
    ContractKind,
    Liveness,
)
from counterfoil.schema.rest.verdicts import CONSUMER, FIELD_USE, DeploymentVerdict, verdict_document


class ContractForm(StrEnum):
    """The form in which a contract is returned."""

    JSON = "json"
    """With its hash, its text, and the schemas to which it refers."""
    ODCS = "odcs"
    ODPS = "odps"


def _segment(name: str) -> str:
    decoded = decode_segment(name)
    if not is_name(decoded):
        raise BadRequest(
            f"A name in the path is {decoded[:80]!r}; expected 1 to 300 characters without control characters"
        )
    return decoded


def _application(application: Annotated[str, Path()]) -> str:
    return _segment(application)


def _version(version_name: Annotated[str, Path()]) -> str:
    return _segment(version_name)


def _environment(environment: Annotated[str, Path()]) -> str:
    return _segment(environment)


def _contract(contract: Annotated[str, Path()]) -> str:
    return _segment(contract)


def _id(deployment: Annotated[str, Path()]) -> str:
    return _segment(deployment)


def _subject(subject: Annotated[str, Path()]) -> QualifiedSubject:
    return parse_subject(decode_segment(subject))


ApplicationName = Annotated[str, Depends(_application)]
VersionName = Annotated[str, Depends(_version)]
EnvironmentName = Annotated[str, Depends(_environment)]
ContractId = Annotated[str, Depends(_contract)]
DeploymentId = Annotated[str, Depends(_id)]
SubjectOfPath = Annotated[QualifiedSubject, Depends(_subject)]
DryRun = Annotated[bool, Query(alias="dryRun", description="Only check the request.")]
Strict = Annotated[bool, Query(description="Answer 409 for no, and 424 where it cannot be known.")]
Kind = Annotated[ContractKind | SkipJsonSchema[None], Query(), expected("odcs or odps")]
Form = Annotated[ContractForm, Query(alias="as"), expected("json, odcs or odps")]
Filter = Annotated[str | SkipJsonSchema[None], Query(max_length=300)]
Required = Annotated[str, Query(min_length=1, max_length=300)]
Ignored = Annotated[tuple[str, ...], Query(description="Applications that do not count.", max_length=100)]


# --- applications


async def list_applications(cases: CasesOfRequest) -> Any:
    """List applications."""
    return [APPLICATION.write(each) for each in await cases.contracts.environments.applications()]


async def get_application(cases: CasesOfRequest, application: ApplicationName) -> Any:
    """Return an application."""
    return APPLICATION.write(await cases.contracts.environments.application(application))


async def put_application(cases: CasesOfRequest, application: ApplicationName, body: ApplicationToPutBody) -> Any:
    """Store what is known of an application."""
    return APPLICATION.write(await cases.contracts.environments.put_application(body.application(application)))


async def list_versions_of_application(cases: CasesOfRequest, application: ApplicationName) -> Any:
    """List the versions of an application with the contracts that each has published."""
    return [APPLICATION_VERSION.write(each) for each in await cases.contracts.environments.versions(application)]


async def get_version_of_application(cases: CasesOfRequest, application: ApplicationName, version: VersionName) -> Any:
    """Return a version of an application with the contracts that it has published."""
    return APPLICATION_VERSION.write(await cases.contracts.environments.version(application, version))


async def put_version_of_application(
    cases: CasesOfRequest, application: ApplicationName, version: VersionName, body: VersionToPutBody
) -> Any:
    """Store what is known of a version; the contracts that it has published stay."""
    given = body.version(application, version)
    return APPLICATION_VERSION.write(await cases.contracts.environments.put_version(given))


# --- contracts


async def publish(cases: CasesOfRequest, body: PublicationBody, *, dry_run: DryRun = False) -> Any:
    """Publish the contracts of one version of an application, all or none."""
    return PUBLICATION.write(await cases.contracts.publishing.publish(body.publication(), dry_run=dry_run))


async def list_contracts(cases: CasesOfRequest) -> Any:
    """List contracts with the numbers of their versions."""
    return [CONTRACT_VERSIONS.write(each) for each in await cases.contracts.library.all()]


async def get_contract(cases: CasesOfRequest, contract: ContractId) -> Any:
    """Return the numbers of a contract's versions, by the standard of the file."""
    return [CONTRACT_VERSIONS.write(each) for each in await cases.contracts.library.get(contract)]


async def get_contract_version(
    cases: CasesOfRequest,
    contract: ContractId,
    version: VersionName,
    kind: Kind = None,
    form: Form = ContractForm.JSON,
) -> Any:
    """Return a version of a contract, or its file as JSON."""
    if form is ContractForm.JSON:
        return CONTRACT.write(await cases.contracts.library.version(contract, version, kind))
    return plain_contract(await cases.contracts.library.version(contract, version, ContractKind(form)))


# --- environments


async def list_environments(cases: CasesOfRequest) -> Any:
    """List environments in their order."""
    return [ENVIRONMENT.write(each) for each in await cases.contracts.environments.environments()]


async def get_environment(cases: CasesOfRequest, environment: EnvironmentName) -> Any:
    """Return an environment."""
    return ENVIRONMENT.write(await cases.contracts.environments.environment(environment))


async def put_environment(cases: CasesOfRequest, environment: EnvironmentName, body: EnvironmentToPutBody) -> Any:
    """Store what is known of an environment."""
    return ENVIRONMENT.write(await cases.contracts.environments.put_environment(body.environment(environment)))


async def list_deployments(cases: CasesOfRequest, environment: EnvironmentName, application: Filter = None) -> Any:
    """List the deployments in an environment."""
    found = await cases.contracts.environments.live(environment, Liveness.DEPLOYED, application)
    return [DEPLOYMENT.write(each) for each in found]


async def record_deployment(cases: CasesOfRequest, environment: EnvironmentName, body: DeploymentToRecordBody) -> Any:
    """Record a deployment, which replaces that of the same instance; the version must have been published."""
    return DEPLOYMENT.write(await cases.contracts.environments.record(body.deployment(environment)))


async def get_deployment(cases: CasesOfRequest, environment: EnvironmentName, deployment: DeploymentId) -> Any:
    """Return a deployment."""
    return DEPLOYMENT.write(await cases.contracts.environments.find(environment, Liveness.DEPLOYED, deployment))


async def end_deployment(cases: CasesOfRequest, environment: EnvironmentName, deployment: DeploymentId) -> None:
    """Record that a version is no longer deployed."""
    await cases.contracts.environments.end(environment, Liveness.DEPLOYED, deployment)


async def list_releases(cases: CasesOfRequest, environment: EnvironmentName, application: Filter = None) -> Any:
    """List the releases in an environment."""
    found = await cases.contracts.environments.live(environment, Liveness.RELEASED, application)
    return [DEPLOYMENT.write(each) for each in found]


async def record_release(cases: CasesOfRequest, environment: EnvironmentName, body: ReleaseToRecordBody) -> Any:
    """Record a release beside those before it; the version must have been published."""
    return DEPLOYMENT.write(await cases.contracts.environments.record(body.deployment(environment)))


async def get_release(cases: CasesOfRequest, environment: EnvironmentName, deployment: DeploymentId) -> Any:
    """Return a release."""
    return DEPLOYMENT.write(await cases.contracts.environments.find(environment, Liveness.RELEASED, deployment))


async def end_release(cases: CasesOfRequest, environment: EnvironmentName, deployment: DeploymentId) -> None:
    """Record that the support of a released version has ended."""
    await cases.contracts.environments.end(environment, Liveness.RELEASED, deployment)


# --- verdicts


async def check_proposal(cases: CasesOfRequest, body: CheckBody, *, strict: Strict = False) -> Any:
    """Return the verdict on a proposed schema or contract; nothing is written."""
    return _answer(await cases.contracts.checking.verdict(body.proposal()), is_strict=strict)


async def can_i_deploy(
    cases: CasesOfRequest,
    application: Required,
    version: Required,
    environment: Required,
    *,
    ignore: Ignored = (),
    strict: Strict = False,
) -> Any:
    """Return whether a version may be deployed to an environment."""
    found = await cases.contracts.verdicts.can_deploy(application, version, environment, ignored=ignore)
    return _answer(found, is_strict=strict)


async def can_i_retire(
    cases: CasesOfRequest,
    contract: Required,
    major: Required,
    environment: Required,
    *,
    strict: Strict = False,
) -> Any:
    """Return whether a major version of a contract may be retired, since nobody who is live reads it."""
    return _answer(await cases.contracts.verdicts.can_retire(contract, major, environment), is_strict=strict)


async def get_matrix(
    cases: CasesOfRequest, environment: Required, subject: Filter = None, application: Filter = None
) -> Any:
    """Return all pairs that are live in an environment: of a subject, or with an application on one side."""
    of_subject = None if subject is None else parse_subject(subject)
    found = await cases.contracts.verdicts.matrix(environment, subject=of_subject, application=application)
    return verdict_document(found)


async def list_consumers(cases: CasesOfRequest, subject: SubjectOfPath, environment: Filter = None) -> Any:
    """List who reads a subject: live versions, and the newest version of each application."""
    return [CONSUMER.write(each) for each in await cases.contracts.verdicts.consumers(subject, environment)]


async def list_read_fields(cases: CasesOfRequest, subject: SubjectOfPath, environment: Filter = None) -> Any:
    """List the paths of a subject that are read, each with those who read it."""
    return [FIELD_USE.write(each) for each in await cases.contracts.verdicts.fields(subject, environment)]


def _answer(verdict: DeploymentVerdict, *, is_strict: bool) -> Any:
    document = verdict_document(verdict)
    if not is_strict or verdict.deployable:
        return document
    message = "; ".join(each.text for each in verdict.reasons[:3])
    raise (VerdictUnknown if verdict.deployable is None else NotDeployable)(message, details=document)
