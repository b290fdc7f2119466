"""The routes under ``/contracts/v1``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.contracts import approvals, verifications
from counterfoil.registry.api.contracts import endpoints as contracts
from counterfoil.registry.api.contracts.badges import BADGE_ROUTE
from counterfoil.registry.api.contracts.topics import TOPIC_ROUTES
from counterfoil.registry.api.contracts.usage import USAGE_ROUTES
from counterfoil.registry.api.contracts.webhooks import WEBHOOK_ROUTES
from counterfoil.registry.api.openapi.shapes import ANY_OBJECT
from counterfoil.registry.api.routes.access import FOUND, FROM_BODY, on, the, the_registry, the_scope
from counterfoil.registry.api.routes.route import DeclaredRoute, ValidatedRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import Kind
from counterfoil.schema import errors
from counterfoil.schema.rest.approvals import APPROVAL, APPROVALS
from counterfoil.schema.rest.contract_diffs import CONTRACT_DIFF
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
from counterfoil.schema.rest.verifications import VERIFICATION

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
_APPROVALS: Final = f"{_BASE}/approvals"
_VERIFICATIONS: Final = f"{_BASE}/verifications"
_SUBJECT: Final = f"{_BASE}/subjects/{{subject}}"

_application = the(Kind.APPLICATION, "application")
_environment = the(Kind.ENVIRONMENT, "environment")
_READ_APPLICATION: Final = on(Operation.READ, _application)
_WRITE_APPLICATION: Final = on(Operation.WRITE, _application)
_SEE_ENVIRONMENT: Final = on(Operation.DESCRIBE, _environment)
_WRITE_ENVIRONMENT: Final = on(Operation.WRITE, _environment)
_READ_ALL: Final = on(Operation.READ, the_registry)
_APPROVE: Final = on(Operation.ALTER_CONFIGS, the_registry)

_NO_APPLICATION: Final = (errors.ApplicationNotFound,)
_NO_CONTRACT: Final = (errors.ContractNotFound,)
_NO_ENVIRONMENT: Final = (errors.EnvironmentNotFound,)
_NO_DEPLOYMENT: Final = (*_NO_ENVIRONMENT, errors.DeploymentNotFound)
_NO_APPROVAL: Final = (errors.ApprovalNotFound,)
_MODE: Final = (errors.OperationNotPermitted,)
_RECORDED: Final = (*_NO_ENVIRONMENT, *_NO_APPLICATION, *_MODE)
_VERDICT_AS_STATUS: Final = (errors.NotDeployable, errors.VerdictUnknown)
_VERDICT: Final = (*_NO_ENVIRONMENT, *_VERDICT_AS_STATUS)
_VERIFIED: Final = (*_NO_CONTRACT, *_NO_ENVIRONMENT, errors.InvalidVerification, *_MODE)
_PUBLISHED: Final = (errors.ContractExists, errors.InvalidContract, errors.InvalidSubject, *_MODE)
_CHECKED: Final = (*_VERDICT, errors.InvalidContract, errors.InvalidSchema, errors.InvalidSubject)

CONTRACT_ROUTES: Final[tuple[DeclaredRoute, ...]] = (
    _route("GET", _APPLICATIONS, contracts.list_applications, access=FOUND, result=ListOf(APPLICATION), errors=()),
    _route(
        "GET",
        _APPLICATION,
        contracts.get_application,
        access=_READ_APPLICATION,
        result=APPLICATION,
        errors=_NO_APPLICATION,
    ),
    _route("PUT", _APPLICATION, contracts.put_application, access=_WRITE_APPLICATION, result=APPLICATION, errors=_MODE),
    _route(
        "GET",
        _VERSIONS,
        contracts.list_versions_of_application,
        access=_READ_APPLICATION,
        result=ListOf(APPLICATION_VERSION),
        errors=_NO_APPLICATION,
    ),
    _route(
        "GET",
        f"{_VERSIONS}/{{version_name}}",
        contracts.get_version_of_application,
        access=_READ_APPLICATION,
        result=APPLICATION_VERSION,
        errors=_NO_APPLICATION,
    ),
    _route(
        "PUT",
        f"{_VERSIONS}/{{version_name}}",
        contracts.put_version_of_application,
        access=_WRITE_APPLICATION,
        result=APPLICATION_VERSION,
        errors=(*_NO_APPLICATION, *_MODE),
    ),
    _route("POST", f"{_BASE}/publish", contracts.publish, access=FROM_BODY, result=PUBLICATION, errors=_PUBLISHED),
    _route("GET", _CONTRACTS, contracts.list_contracts, access=FOUND, result=ListOf(CONTRACT_VERSIONS), errors=()),
    _route(
        "GET", _CONTRACT, contracts.get_contract, access=FOUND, result=ListOf(CONTRACT_VERSIONS), errors=_NO_CONTRACT
    ),
    _route(
        "GET",
        f"{_CONTRACT}/versions/{{version_name}}",
        contracts.get_contract_version,
        access=FOUND,
        result=ANY_OBJECT,
        errors=_NO_CONTRACT,
    ),
    _route(
        "GET",
        f"{_CONTRACT}/versions/{{version_name}}/diff",
        contracts.get_contract_diff,
        access=FOUND,
        result=CONTRACT_DIFF,
        errors=_NO_CONTRACT,
    ),
    _route("GET", _ENVIRONMENTS, contracts.list_environments, access=FOUND, result=ListOf(ENVIRONMENT), errors=()),
    _route(
        "GET",
        _ENVIRONMENT,
        contracts.get_environment,
        access=_SEE_ENVIRONMENT,
        result=ENVIRONMENT,
        errors=_NO_ENVIRONMENT,
    ),
    _route(
        "PUT",
        _ENVIRONMENT,
        contracts.put_environment,
        access=on(Operation.ALTER_CONFIGS, _environment),
        result=ENVIRONMENT,
        errors=_MODE,
    ),
    _route(
        "GET",
        _DEPLOYMENTS,
        contracts.list_deployments,
        access=_SEE_ENVIRONMENT & FOUND,
        result=ListOf(DEPLOYMENT),
        errors=_NO_ENVIRONMENT,
    ),
    _route(
        "POST",
        _DEPLOYMENTS,
        contracts.record_deployment,
        access=_WRITE_ENVIRONMENT & FROM_BODY,
        result=DEPLOYMENT,
        errors=_RECORDED,
    ),
    _route(
        "GET",
        f"{_DEPLOYMENTS}/{{deployment}}",
        contracts.get_deployment,
        access=_SEE_ENVIRONMENT & FOUND,
        result=DEPLOYMENT,
        errors=_NO_DEPLOYMENT,
    ),
    _route(
        "DELETE",
        f"{_DEPLOYMENTS}/{{deployment}}",
        contracts.end_deployment,
        access=_WRITE_ENVIRONMENT & FOUND,
        errors=(*_NO_DEPLOYMENT, *_MODE),
    ),
    _route(
        "GET",
        _RELEASES,
        contracts.list_releases,
        access=_SEE_ENVIRONMENT & FOUND,
        result=ListOf(DEPLOYMENT),
        errors=_NO_ENVIRONMENT,
    ),
    _route(
        "POST",
        _RELEASES,
        contracts.record_release,
        access=_WRITE_ENVIRONMENT & FROM_BODY,
        result=DEPLOYMENT,
        errors=_RECORDED,
    ),
    _route(
        "GET",
        f"{_RELEASES}/{{deployment}}",
        contracts.get_release,
        access=_SEE_ENVIRONMENT & FOUND,
        result=DEPLOYMENT,
        errors=_NO_DEPLOYMENT,
    ),
    _route(
        "DELETE",
        f"{_RELEASES}/{{deployment}}",
        contracts.end_release,
        access=_WRITE_ENVIRONMENT & FOUND,
        errors=(*_NO_DEPLOYMENT, *_MODE),
    ),
    _route("POST", f"{_BASE}/check", contracts.check_proposal, access=FROM_BODY, result=VERDICT, errors=_CHECKED),
    _route("GET", f"{_BASE}/can-i-deploy", contracts.can_i_deploy, access=FOUND, result=VERDICT, errors=_VERDICT),
    _route(
        "GET",
        f"{_BASE}/can-i-merge",
        contracts.can_i_merge,
        access=FOUND,
        result=VERDICT,
        errors=_VERDICT_AS_STATUS,
    ),
    _route("GET", f"{_BASE}/can-i-retire", contracts.can_i_retire, access=FOUND, result=VERDICT, errors=_VERDICT),
    _route("GET", f"{_BASE}/matrix", contracts.get_matrix, access=FOUND, result=VERDICT, errors=_NO_ENVIRONMENT),
    _route("GET", _APPROVALS, approvals.list_approvals, access=_READ_ALL, result=APPROVALS, errors=()),
    _route(
        "POST",
        _APPROVALS,
        approvals.add_approval,
        access=_APPROVE,
        result=APPROVAL,
        errors=(errors.InvalidApproval, *_MODE),
    ),
    _route(
        "GET",
        f"{_APPROVALS}/{{approval}}",
        approvals.get_approval,
        access=_READ_ALL,
        result=APPROVAL,
        errors=_NO_APPROVAL,
    ),
    _route(
        "DELETE",
        f"{_APPROVALS}/{{approval}}",
        approvals.revoke_approval,
        access=_APPROVE,
        errors=(*_NO_APPROVAL, *_MODE),
    ),
    _route(
        "GET",
        _VERIFICATIONS,
        verifications.list_verifications,
        access=FOUND,
        result=ListOf(VERIFICATION),
        errors=(),
    ),
    _route(
        "POST",
        _VERIFICATIONS,
        verifications.add_verification,
        access=FROM_BODY,
        result=VERIFICATION,
        errors=_VERIFIED,
    ),
    _route(
        "GET",
        f"{_VERIFICATIONS}/{{verification}}",
        verifications.get_verification,
        access=FOUND,
        result=VERIFICATION,
        errors=(errors.VerificationNotFound,),
    ),
    BADGE_ROUTE,
    _route(
        "GET",
        f"{_SUBJECT}/consumers",
        contracts.list_consumers,
        access=on(Operation.READ, the_scope) & FOUND,
        result=ListOf(CONSUMER),
        errors=(),
    ),
    _route(
        "GET",
        f"{_SUBJECT}/fields",
        contracts.list_read_fields,
        access=on(Operation.READ, the_scope) & FOUND,
        result=ListOf(FIELD_USE),
        errors=(),
    ),
    *USAGE_ROUTES,
    *TOPIC_ROUTES,
    *WEBHOOK_ROUTES,
)
