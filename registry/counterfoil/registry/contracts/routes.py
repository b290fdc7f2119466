"""The routes under ``/contracts/v1``, those of webhooks, and badges: images with the state of a contract."""

from __future__ import annotations

from functools import partial
from html import escape
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.contracts import endpoints as contracts
from counterfoil.registry.contracts import report_endpoints as reports
from counterfoil.registry.contracts import verdict_endpoints as verdicts
from counterfoil.registry.contracts.report_endpoints import USAGE_ROUTES
from counterfoil.registry.contracts.verdict_endpoints import ContractId, Filter, segment
from counterfoil.registry.contracts.verdicts.verdict import BLOCKING
from counterfoil.registry.contracts.visibility import application_resource, environment_resource
from counterfoil.registry.http.access import (
    FOUND,
    FROM_BODY,
    CallerOfRequest,
    CasesOfRequest,
    RequestCaller,
    ServicesOfApp,
    on,
    the,
    the_registry,
    the_scope,
)
from counterfoil.registry.http.envelope import ROUTE_HOLDER
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.http.route import DeclaredRoute, ValidatedRoute, described_errors
from counterfoil.registry.http.shapes import ANY_OBJECT
from counterfoil.registry.store.committing import until_current
from counterfoil.registry.topics.routes import TOPIC_ROUTES
from counterfoil.schema import errors
from counterfoil.schema.errors import ContractNotFound, EnvironmentNotFound, RegistryError
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT_VERSIONS,
    DELIVERY,
    DEPLOYMENT,
    ENVIRONMENT,
    PUBLICATION,
    WEBHOOK,
    ContractKind,
    EventType,
    Webhook,
)
from counterfoil.schema.rest.object_forms import Document, ListOf
from counterfoil.schema.rest.observations import VERIFICATION
from counterfoil.schema.rest.verdicts import (
    APPROVAL,
    APPROVALS,
    CONSUMER,
    CONTRACT_DIFF,
    FIELD_USE,
    VERDICT,
    DeploymentVerdict,
    ReasonCode,
)
from counterfoil.schema.texts import counted

# Badges: a small image with the state of a contract in an environment, for pages such as a README.

PATH: Final = "/contracts/v1/badges/{contract}.svg"
_TYPE: Final = "image/svg+xml"
_SHOWN: Final = 60
_CHAR_WIDTH: Final = 7
_PADDING: Final = 10
_GREEN, _YELLOW, _RED, _GREY = "#2c7a2c", "#8a6a00", "#b3261e", "#5f6368"


async def get_badge(
    request: Request, services: ServicesOfApp, contract: ContractId, environment: Filter = None
) -> Response:
    """Return the state of a contract as an image: of what is live in an environment, or of the newest versions."""
    request.scope[ROUTE_HOLDER][0] = PATH
    catch_up = services.cases.storage.catch_up
    try:
        await catch_up()
        verdict_of = partial(services.cases.contracts.verdicts.of_contract, contract, environment)
        verdict = await until_current(verdict_of, catch_up=catch_up)
    except (ContractNotFound, EnvironmentNotFound) as missing:
        return _image(contract, "unknown", _GREY, status=int(missing.status))
    except RegistryError as error:
        return _image(contract, "not available", _GREY, status=int(error.status))
    state, colour = _state(verdict)
    where = f" in {environment}" if environment else ""
    return _image(contract, f"{state}{where}", colour)


def _state(verdict: DeploymentVerdict) -> tuple[str, str]:
    """Return the state in words, and its colour."""
    consumers = {each.consumer for each in verdict.reasons if each.consumer}
    if verdict.deployable is None:
        return "no consumers", _GREY
    if not verdict.deployable:
        broken = {each.consumer for each in verdict.reasons if each.reason in BLOCKING}
        return f"breaks {counted(len(broken), 'consumer')}", _RED
    if any(each.reason is ReasonCode.APPROVED_BREAK for each in verdict.reasons):
        return "break approved", _YELLOW
    return f"fits {counted(len(consumers), 'consumer')}", _GREEN


def _image(name: str, state: str, colour: str, *, status: int = HTTPStatus.OK) -> Response:
    shown = name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}…"
    left, right = (len(text) * _CHAR_WIDTH + 2 * _PADDING for text in (shown, state))
    label, value = escape(shown), escape(state)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {value}"><title>{label}: {value}</title>'
        f'<rect width="{left}" height="20" fill="#333"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{label}</text><text x="{left + right / 2:g}" y="14">{value}</text></g></svg>'
    )
    headers = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return Response(text, status_code=int(status), media_type=_TYPE, headers=headers)


async def _the_publisher(request: ApiRequest, caller: RequestCaller) -> AccessResource:
    """Return the application that offers the contract in the path; the registry where nobody whom the caller may know.

    So a denial is the same for a contract of others as for one that does not exist.
    """
    parties = await request.cases.contracts.library.applications(
        segment(request.segment("contract")), ContractKind.ODCS
    )
    known = [each for each in parties if caller.may_know_application(each)]
    return application_resource(min(known)) if known else REGISTRY


async def _the_environment(request: ApiRequest, caller: RequestCaller) -> AccessResource:
    """Return the environment in the query; without one, what the badge needs besides."""
    environment = request.text("environment")
    return environment_resource(environment) if environment else await _the_publisher(request, caller)


def _responses() -> dict[int | str, Document]:
    """Return the responses, each of which may be an image; a request that is invalid has the errors of all routes."""
    image = {_TYPE: {"schema": {"type": "string"}}}
    found = described_errors("GET", (ContractNotFound, EnvironmentNotFound), takes_as_of=False)
    refused = {status: {**each, "content": {**each["content"], **image}} for status, each in found.items()}
    return {200: {"content": image, "description": "The image."}, **refused}


BADGE_ROUTE: Final = DeclaredRoute(
    "GET",
    PATH,
    get_badge,
    access=on(AccessOperation.DESCRIBE, _the_publisher) & on(AccessOperation.DESCRIBE, _the_environment),
    tag="contracts",
    response_class=Response,
    responses=_responses(),
)


# ``/contracts/v1/webhooks``: where events are sent, and what became of each delivery.


class WebhookBody(BaseModel):
    """A webhook to create."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, Field(max_length=2000)] = Field(description="Where events are sent: an address of https.")
    secret: Annotated[str, Field(max_length=200)] = Field(
        description="The key of signatures, of Standard Webhooks: whsec_ and base64. It is never returned."
    )
    events: Annotated[tuple[EventType, ...], Field(max_length=len(EventType))] = Field(
        (), description="Which events are sent. Default: all."
    )
    description: Annotated[str, Field(max_length=2000)] = ""

    def webhook(self) -> Webhook:
        """Return the webhook."""
        return Webhook("", self.url, tuple(dict.fromkeys(self.events)), self.description, secret=self.secret)


def _webhook(webhook: Annotated[str, Path()]) -> str:
    return segment(webhook)


async def _delivery(delivery: Annotated[str, Path()]) -> str:
    return segment(delivery)


WebhookId = Annotated[str, Depends(_webhook)]
DeliveryId = Annotated[str, Depends(_delivery)]


async def list_webhooks(cases: CasesOfRequest) -> object:
    """List webhooks, without their secrets."""
    return [WEBHOOK.write(each) for each in await cases.contracts.webhooks.all()]


async def create_webhook(cases: CasesOfRequest, caller: CallerOfRequest, body: WebhookBody) -> object:
    """Create a webhook."""
    return WEBHOOK.write(await cases.contracts.webhooks.create(body.webhook(), by=caller.requester))


async def get_webhook(cases: CasesOfRequest, webhook: WebhookId) -> object:
    """Return a webhook, without its secret."""
    return WEBHOOK.write(await cases.contracts.webhooks.get(webhook))


async def delete_webhook(cases: CasesOfRequest, caller: CallerOfRequest, webhook: WebhookId) -> None:
    """Delete a webhook with its deliveries."""
    await cases.contracts.webhooks.delete(webhook, by=caller.requester)


async def list_deliveries(cases: CasesOfRequest, webhook: WebhookId) -> object:
    """List the deliveries to a webhook, the newest first: those that wait, and the latest that have ended."""
    return [DELIVERY.write(each) for each in await cases.contracts.webhooks.deliveries(webhook)]


async def redeliver(cases: CasesOfRequest, caller: CallerOfRequest, webhook: WebhookId, delivery: DeliveryId) -> object:
    """Send an ended delivery again, with the same event."""
    return DELIVERY.write(await cases.contracts.webhooks.redeliver(webhook, delivery, by=caller.requester))


_webhook_route = partial(ValidatedRoute, access=on(AccessOperation.WEBHOOKS, the_registry), tag="contracts")
_WEBHOOKS: Final = "/contracts/v1/webhooks"
_WEBHOOK: Final = f"{_WEBHOOKS}/{{webhook}}"
_DELIVERIES: Final = f"{_WEBHOOK}/deliveries"
_NO_WEBHOOK: Final = (errors.WebhookNotFound,)
_MODE: Final = (errors.OperationNotPermitted,)

WEBHOOK_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _webhook_route("GET", _WEBHOOKS, list_webhooks, result=ListOf(WEBHOOK), errors=()),
    _webhook_route("POST", _WEBHOOKS, create_webhook, result=WEBHOOK, errors=(errors.InvalidWebhook, *_MODE)),
    _webhook_route("GET", _WEBHOOK, get_webhook, result=WEBHOOK, errors=_NO_WEBHOOK),
    _webhook_route("DELETE", _WEBHOOK, delete_webhook, errors=(*_NO_WEBHOOK, *_MODE)),
    _webhook_route("GET", _DELIVERIES, list_deliveries, result=ListOf(DELIVERY), errors=_NO_WEBHOOK),
    _webhook_route(
        "POST",
        f"{_DELIVERIES}/{{delivery}}/redeliver",
        redeliver,
        result=DELIVERY,
        errors=(*_NO_WEBHOOK, errors.DeliveryNotFound, *_MODE),
    ),
)


# The routes under ``/contracts/v1``.

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

_application = the(ResourceKind.APPLICATION, "application")
_environment = the(ResourceKind.ENVIRONMENT, "environment")
_READ_APPLICATION: Final = on(AccessOperation.READ, _application)
_WRITE_APPLICATION: Final = on(AccessOperation.WRITE, _application)
_SEE_ENVIRONMENT: Final = on(AccessOperation.DESCRIBE, _environment)
_WRITE_ENVIRONMENT: Final = on(AccessOperation.WRITE, _environment)
_READ_ALL: Final = on(AccessOperation.READ, the_registry)
_APPROVE: Final = on(AccessOperation.ALTER_CONFIGS, the_registry)

_NO_APPLICATION: Final = (errors.ApplicationNotFound,)
_NO_CONTRACT: Final = (errors.ContractNotFound,)
_NO_ENVIRONMENT: Final = (errors.EnvironmentNotFound,)
_NO_DEPLOYMENT: Final = (*_NO_ENVIRONMENT, errors.DeploymentNotFound)
_NO_APPROVAL: Final = (errors.ApprovalNotFound,)
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
        access=on(AccessOperation.ALTER_CONFIGS, _environment),
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
    _route("POST", f"{_BASE}/check", verdicts.check_proposal, access=FROM_BODY, result=VERDICT, errors=_CHECKED),
    _route("GET", f"{_BASE}/can-i-deploy", verdicts.can_i_deploy, access=FOUND, result=VERDICT, errors=_VERDICT),
    _route(
        "GET",
        f"{_BASE}/can-i-merge",
        verdicts.can_i_merge,
        access=FOUND,
        result=VERDICT,
        errors=_VERDICT_AS_STATUS,
    ),
    _route("GET", f"{_BASE}/can-i-retire", verdicts.can_i_retire, access=FOUND, result=VERDICT, errors=_VERDICT),
    _route("GET", f"{_BASE}/matrix", verdicts.get_matrix, access=FOUND, result=VERDICT, errors=_NO_ENVIRONMENT),
    _route("GET", _APPROVALS, reports.list_approvals, access=_READ_ALL, result=APPROVALS, errors=()),
    _route(
        "POST",
        _APPROVALS,
        reports.add_approval,
        access=_APPROVE,
        result=APPROVAL,
        errors=(errors.InvalidApproval, *_MODE),
    ),
    _route(
        "GET",
        f"{_APPROVALS}/{{approval}}",
        reports.get_approval,
        access=_READ_ALL,
        result=APPROVAL,
        errors=_NO_APPROVAL,
    ),
    _route(
        "DELETE",
        f"{_APPROVALS}/{{approval}}",
        reports.revoke_approval,
        access=_APPROVE,
        errors=(*_NO_APPROVAL, *_MODE),
    ),
    _route(
        "GET",
        _VERIFICATIONS,
        reports.list_verifications,
        access=FOUND,
        result=ListOf(VERIFICATION),
        errors=(),
    ),
    _route(
        "POST",
        _VERIFICATIONS,
        reports.add_verification,
        access=FROM_BODY,
        result=VERIFICATION,
        errors=_VERIFIED,
    ),
    _route(
        "GET",
        f"{_VERIFICATIONS}/{{verification}}",
        reports.get_verification,
        access=FOUND,
        result=VERIFICATION,
        errors=(errors.VerificationNotFound,),
    ),
    BADGE_ROUTE,
    _route(
        "GET",
        f"{_SUBJECT}/consumers",
        verdicts.list_consumers,
        access=on(AccessOperation.READ, the_scope) & FOUND,
        result=ListOf(CONSUMER),
        errors=(),
    ),
    _route(
        "GET",
        f"{_SUBJECT}/fields",
        verdicts.list_read_fields,
        access=on(AccessOperation.READ, the_scope) & FOUND,
        result=ListOf(FIELD_USE),
        errors=(),
    ),
    *USAGE_ROUTES,
    *TOPIC_ROUTES,
    *WEBHOOK_ROUTES,
)
