"""The routes under ``/contracts/v1``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.contracts import endpoints as contracts
from counterfoil.registry.api.openapi.shapes import ANY_OBJECT
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.schema import errors
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT_VERSIONS,
    DEPLOYMENT,
    ENVIRONMENT,
    PUBLICATION,
)
from counterfoil.schema.rest.object_forms import ListOf
from counterfoil.schema.rest.verdicts import CONSUMER, FIELD_USE, VERDICT

_route = partial(ValidatedRoute, tag="contracts")
_BASE: Final = "/contracts/v1"
_APPLICATIONS: Final = f"{_BASE}/applications"
_APPLICATION: Final = f"{_APPLICATIONS}/{{application}}"
_VERSIONS: Final = f"{_APPLICATION}/versions"
_CONTRACTS: Final = f"{_BASE}/contracts"
_CONTRACT: Final = f"{_CONTRACTS}/{{contract}}"
_ENVIRONMENTS: Final = f"{_BASE}/environments"
_ENVIRONMENT: Final = f"{_ENVIRONMENTS}/{{environment}}"
_DEPLOYMENTS: Final = f"{_ENVIRONMENT}/deployments"
_RELEASES: Final = f"{_ENVIRONMENT}/releases"
_SUBJECT: Final = f"{_BASE}/subjects/{{subject}}"

_NO_APPLICATION: Final = (errors.ApplicationNotFound,)
_NO_CONTRACT: Final = (errors.ContractNotFound,)
_NO_ENVIRONMENT: Final = (errors.EnvironmentNotFound,)
_NO_DEPLOYMENT: Final = (*_NO_ENVIRONMENT, errors.DeploymentNotFound)
_MODE: Final = (errors.OperationNotPermitted,)
_RECORDED: Final = (*_NO_ENVIRONMENT, *_NO_APPLICATION, *_MODE)
_VERDICT: Final = (*_NO_ENVIRONMENT, errors.NotDeployable, errors.VerdictUnknown)
_PUBLISHED: Final = (errors.ContractExists, errors.InvalidContract, errors.InvalidSubject, *_MODE)
_CHECKED: Final = (*_VERDICT, errors.InvalidContract, errors.InvalidSchema, errors.InvalidSubject)

CONTRACT_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _APPLICATIONS, contracts.list_applications, result=ListOf(APPLICATION), errors=()),
    _route("GET", _APPLICATION, contracts.get_application, result=APPLICATION, errors=_NO_APPLICATION),
    _route("PUT", _APPLICATION, contracts.put_application, result=APPLICATION, errors=_MODE),
    _route(
        "GET",
        _VERSIONS,
        contracts.list_versions_of_application,
        result=ListOf(APPLICATION_VERSION),
        errors=_NO_APPLICATION,
    ),
    _route(
        "GET",
        f"{_VERSIONS}/{{version_name}}",
        contracts.get_version_of_application,
        result=APPLICATION_VERSION,
        errors=_NO_APPLICATION,
    ),
    _route(
        "PUT",
        f"{_VERSIONS}/{{version_name}}",
        contracts.put_version_of_application,
        result=APPLICATION_VERSION,
        errors=(*_NO_APPLICATION, *_MODE),
    ),
    _route("POST", f"{_BASE}/publish", contracts.publish, result=PUBLICATION, errors=_PUBLISHED),
    _route("GET", _CONTRACTS, contracts.list_contracts, result=ListOf(CONTRACT_VERSIONS), errors=()),
    _route("GET", _CONTRACT, contracts.get_contract, result=ListOf(CONTRACT_VERSIONS), errors=_NO_CONTRACT),
    _route(
        "GET",
        f"{_CONTRACT}/versions/{{version_name}}",
        contracts.get_contract_version,
        result=ANY_OBJECT,
        errors=_NO_CONTRACT,
    ),
    _route("GET", _ENVIRONMENTS, contracts.list_environments, result=ListOf(ENVIRONMENT), errors=()),
    _route("GET", _ENVIRONMENT, contracts.get_environment, result=ENVIRONMENT, errors=_NO_ENVIRONMENT),
    _route("PUT", _ENVIRONMENT, contracts.put_environment, result=ENVIRONMENT, errors=_MODE),
    _route("GET", _DEPLOYMENTS, contracts.list_deployments, result=ListOf(DEPLOYMENT), errors=_NO_ENVIRONMENT),
    _route("POST", _DEPLOYMENTS, contracts.record_deployment, result=DEPLOYMENT, errors=_RECORDED),
    _route("GET", f"{_DEPLOYMENTS}/{{deployment}}", contracts.get_deployment, result=DEPLOYMENT, errors=_NO_DEPLOYMENT),
    _route("DELETE", f"{_DEPLOYMENTS}/{{deployment}}", contracts.end_deployment, errors=(*_NO_DEPLOYMENT, *_MODE)),
    _route("GET", _RELEASES, contracts.list_releases, result=ListOf(DEPLOYMENT), errors=_NO_ENVIRONMENT),
    _route("POST", _RELEASES, contracts.record_release, result=DEPLOYMENT, errors=_RECORDED),
    _route("GET", f"{_RELEASES}/{{deployment}}", contracts.get_release, result=DEPLOYMENT, errors=_NO_DEPLOYMENT),
    _route("DELETE", f"{_RELEASES}/{{deployment}}", contracts.end_release, errors=(*_NO_DEPLOYMENT, *_MODE)),
    _route("POST", f"{_BASE}/check", contracts.check_proposal, result=VERDICT, errors=_CHECKED),
    _route("GET", f"{_BASE}/can-i-deploy", contracts.can_i_deploy, result=VERDICT, errors=_VERDICT),
    _route("GET", f"{_BASE}/can-i-retire", contracts.can_i_retire, result=VERDICT, errors=_VERDICT),
    _route("GET", f"{_BASE}/matrix", contracts.get_matrix, result=VERDICT, errors=_NO_ENVIRONMENT),
    _route("GET", f"{_SUBJECT}/consumers", contracts.list_consumers, result=ListOf(CONSUMER), errors=()),
    _route("GET", f"{_SUBJECT}/fields", contracts.list_read_fields, result=ListOf(FIELD_USE), errors=()),
)
