"""Badges: a small image with the state of a contract in an environment, for pages such as a README."""

from __future__ import annotations

from functools import partial
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response

from counterfoil.registry.api.contracts import visible
from counterfoil.registry.api.contracts.parameters import ContractId, Filter, segment
from counterfoil.registry.api.http.middleware import ROUTE_HOLDER
from counterfoil.registry.api.openapi.errors import described_errors
from counterfoil.registry.api.routes.access import on
from counterfoil.registry.api.routes.route import DeclaredRoute
from counterfoil.registry.api.routes.services import ServicesOfApp
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import REGISTRY
from counterfoil.registry.domain.contracts.verdict import BLOCKING
from counterfoil.registry.service.retrying import until_current
from counterfoil.schema.counting import counted
from counterfoil.schema.errors import ContractNotFound, EnvironmentNotFound, RegistryError
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.verdicts import Reason

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call
    from counterfoil.registry.domain.access.resources import Resource
    from counterfoil.schema.rest.verdicts import DeploymentVerdict

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
    if any(each.reason is Reason.APPROVED_BREAK for each in verdict.reasons):
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


async def _the_publisher(call: Call) -> Resource:
    """Return the application that offers the contract in the path; the registry where nobody whom the caller may know.

    So a denial is the same for a contract of others as for one that does not exist.
    """
    parties = await call.cases.contracts.library.applications(segment(call.segment("contract")), ContractKind.ODCS)
    known = [each for each in parties if call.may_know_application(each)]
    return visible.application(min(known)) if known else REGISTRY


async def _the_environment(call: Call) -> Resource:
    """Return the environment in the query; without one, what the badge needs besides."""
    environment = call.text("environment")
    return visible.environment(environment) if environment else await _the_publisher(call)


def _responses() -> dict[int | str, dict[str, Any]]:
    """Return the responses, each of which may be an image; a request that is invalid has the errors of all routes."""
    image = {_TYPE: {"schema": {"type": "string"}}}
    found = described_errors("GET", (ContractNotFound, EnvironmentNotFound), takes_as_of=False)
    refused = {status: {**each, "content": {**each["content"], **image}} for status, each in found.items()}
    return {200: {"content": image, "description": "The image."}, **refused}


BADGE_ROUTE: Final = DeclaredRoute(
    "GET",
    PATH,
    get_badge,
    access=on(Operation.DESCRIBE, _the_publisher) & on(Operation.DESCRIBE, _the_environment),
    tag="contracts",
    response_class=Response,
    responses=_responses(),
)
