"""The services that endpoints of one application use.

The routes are declared once, for all applications of a process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from counterfoil.registry.api.call import Call
from counterfoil.registry.service.use_cases import UseCases

if TYPE_CHECKING:
    from starlette.types import Scope

    from counterfoil.registry.api.cache.replies import Replies
    from counterfoil.registry.api.cache.stale_reads import StaleReads
    from counterfoil.registry.api.changes.event_stream import EventSource
    from counterfoil.registry.api.dialects import Dialects
    from counterfoil.registry.api.openapi.description import Description
    from counterfoil.registry.api.operations import Lifecycle
    from counterfoil.registry.service.access.administration import AccessAdministration
    from counterfoil.registry.service.counting import Counting
    from counterfoil.registry.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases of one application, and what else its endpoints need; they find it as ``app.state.services``.

    Responses are in one of ``dialects``; those of ``stale`` are sent while the store cannot be reached. With
    ``nothing``, the use cases over an empty store, what a caller may not read is answered as if it were absent.
    """

    cases: UseCases
    replies: Replies
    stale: StaleReads
    dialects: Dialects
    max_body_bytes: int
    telemetry: Telemetry
    lifecycle: Lifecycle
    counting: Counting
    events: EventSource
    description: Description
    access: AccessAdministration
    nothing: UseCases | None = None


def services_of(scope: Scope) -> Services:
    """Return the services of the application that handles a request."""
    services: Services = scope["app"].state.services
    return services


def _services(request: Request) -> Services:
    return services_of(request.scope)


def _cases(request: Request) -> UseCases:
    cases: UseCases = request.state.cases
    return cases


ServicesOfApp = Annotated[Services, Depends(_services)]
"""The services of the application, as an endpoint's parameter."""


def _call(request: Request) -> Call:
    call: Call = request.state.call
    return call


CallOfRequest = Annotated[Call, Depends(_call)]
"""The request as operations see it, by which a validated route's endpoint asks about rights, as its parameter."""

CasesOfRequest = Annotated[UseCases, Depends(_cases)]
"""The use cases that a validated route's endpoint reads and writes with, as its parameter."""
