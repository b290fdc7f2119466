"""Contracts, of this project's registry: applications, published contracts, environments and what is live in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.contract_diffs import CONTRACT_DIFF
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    CONTRACT_VERSIONS,
    DEPLOYMENT,
    ENVIRONMENT,
    NEW_PUBLICATION,
    PUBLICATION,
    Liveness,
)
from counterfoil.schema.rest.json_values import read_each
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import action, json_body, url_path, url_query

if TYPE_CHECKING:
    from typing import Final

    from counterfoil.schema.rest.contract_diffs import ContractDiff
    from counterfoil.schema.rest.contracts import (
        Application,
        ApplicationVersion,
        ContractKind,
        ContractVersions,
        Deployment,
        Environment,
        NewPublication,
        Publication,
        PublishedContract,
    )

CONTRACTS: Final = ("contracts", "v1")


def applications() -> Operation[tuple[Application, ...]]:
    """``GET /contracts/v1/applications``."""
    return Operation("applications", "GET", url_path(*CONTRACTS, "applications"), read_each(APPLICATION.read))


def put_application(application: Application) -> Operation[Application]:
    """``PUT /contracts/v1/applications/{application}``: repeatable, since it replaces what is known of it."""
    body = {"owner": application.owner, "repository": application.repository, "description": application.description}
    path = url_path(*CONTRACTS, "applications", application.name)
    return Operation("put_application", "PUT", path, APPLICATION.read, body=json_body(body))


def application_versions(application: str) -> Operation[tuple[ApplicationVersion, ...]]:
    """``GET /contracts/v1/applications/{application}/versions``."""
    path = url_path(*CONTRACTS, "applications", application, "versions")
    return Operation("application_versions", "GET", path, read_each(APPLICATION_VERSION.read))


def put_application_version(version: ApplicationVersion) -> Operation[ApplicationVersion]:
    """``PUT /contracts/v1/applications/{application}/versions/{version}``; its contracts are not sent."""
    body = {"branch": version.branch, "commit": version.commit, "buildUrl": version.build_url}
    path = url_path(*CONTRACTS, "applications", version.application, "versions", version.version)
    return Operation("put_application_version", "PUT", path, APPLICATION_VERSION.read, body=json_body(body))


def publish(new: NewPublication, *, dry_run: bool = False) -> Operation[Publication]:
    """``POST /contracts/v1/publish``: repeatable, since a published version is found again."""
    path, query = url_path(*CONTRACTS, "publish"), url_query(dryRun=dry_run)
    return Operation("publish", "POST", path, PUBLICATION.read, query, json_body(NEW_PUBLICATION.write(new)))


def published_contracts() -> Operation[tuple[ContractVersions, ...]]:
    """``GET /contracts/v1/contracts``."""
    return Operation("published_contracts", "GET", url_path(*CONTRACTS, "contracts"), read_each(CONTRACT_VERSIONS.read))


def published_contract(
    contract: str, version: str, *, kind: ContractKind | None = None
) -> Operation[PublishedContract]:
    """``GET /contracts/v1/contracts/{contract}/versions/{version}``; a producer's by default, or else a consumer's."""
    path = url_path(*CONTRACTS, "contracts", contract, "versions", version)
    return Operation("published_contract", "GET", path, CONTRACT.read, url_query(kind=kind))


def contract_diff(
    contract: str, earlier: str, later: str, *, kind: ContractKind | None = None
) -> Operation[ContractDiff]:
    """``GET /contracts/v1/contracts/{contract}/versions/{version}/diff``."""
    path = url_path(*CONTRACTS, "contracts", contract, "versions", later, "diff")
    query = url_query(**{"from": earlier, "kind": kind})
    return Operation("contract_diff", "GET", path, CONTRACT_DIFF.read, query)


def environments() -> Operation[tuple[Environment, ...]]:
    """``GET /contracts/v1/environments``."""
    return Operation("environments", "GET", url_path(*CONTRACTS, "environments"), read_each(ENVIRONMENT.read))


def put_environment(environment: Environment) -> Operation[Environment]:
    """``PUT /contracts/v1/environments/{environment}``: repeatable, since it replaces what is known of it."""
    body = {key: value for key, value in ENVIRONMENT.write(environment).items() if key != "name"}
    path = url_path(*CONTRACTS, "environments", environment.name)
    return Operation("put_environment", "PUT", path, ENVIRONMENT.read, body=json_body(body))


def deployments(
    environment: str, *, liveness: Liveness = Liveness.DEPLOYED, application: str | None = None
) -> Operation[tuple[Deployment, ...]]:
    """``GET /contracts/v1/environments/{environment}/deployments``, or ``/releases``."""
    query = url_query(application=application)
    return Operation("deployments", "GET", _live(environment, liveness), read_each(DEPLOYMENT.read), query)


def record_deployment(
    environment: str, application: str, version: str, *, instance: str = "", liveness: Liveness = Liveness.DEPLOYED
) -> Operation[Deployment]:
    """``POST`` of a deployment or a release: repeatable, since the same one is found again."""
    body = {"application": application, "version": version} | ({"instance": instance} if instance else {})
    return Operation("record_deployment", "POST", _live(environment, liveness), DEPLOYMENT.read, body=json_body(body))


def end_deployment(environment: str, deployment_id: str, *, liveness: Liveness = Liveness.DEPLOYED) -> Operation[None]:
    """``DELETE`` of a deployment, or of a release."""
    return action("end_deployment", "DELETE", _live(environment, liveness, deployment_id))


def _live(environment: str, liveness: Liveness, *more: str) -> str:
    kind = "deployments" if liveness is Liveness.DEPLOYED else "releases"
    return url_path(*CONTRACTS, "environments", environment, kind, *more)
