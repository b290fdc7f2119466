"""What a request needs of its caller, found by the table of routes, without carrying the request out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from starlette.routing import Match

from counterfoil.registry.api.call import Call
from counterfoil.registry.api.http.paths import rewrite
from counterfoil.registry.api.routes.services import services_of
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.questions import InvalidQuestion
from counterfoil.registry.domain.access.resources import Kind, Resource, subject_resource

if TYPE_CHECKING:
    from fastapi import Request
    from starlette.types import Message

    from counterfoil.registry.api.routes.access import On
    from counterfoil.registry.api.routes.route import DeclaredRoute

_BESIDES: Final = "The request also needs rights to what it finds or to what its body names"


class Need(NamedTuple):
    """An operation on a resource; ``shown`` is the resource by the name that whoever asks may know."""

    operation: Operation
    resource: Resource
    shown: Resource


async def needs_of_request(text: str, request: Request) -> tuple[list[Need], str]:
    """Return what the request ``text`` needs, and a sentence about what it needs besides.

    ``text`` is a method and a path with its query; ``request`` is the one that asks.
    """
    method, _, target = text.strip().partition(" ")
    path, _, query = target.strip().partition("?")
    if not method.isupper() or not path.startswith("/") or not target.isascii():
        raise InvalidQuestion(f"{text[:80]!r} is no request; expected a method and a path: PUT /config/orders-value")
    path, query = rewrite(path, query, method)
    scope = {
        **request.scope,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "path_params": {},
    }
    route: DeclaredRoute | None = None
    for each in request.app.router.routes:
        match, found = each.matches(scope)
        if match is Match.FULL:
            route = each
            scope = {**scope, **found}
            break
    if route is None:
        raise InvalidQuestion(f"there is no route for {method} {path[:80]}")
    call = Call(scope, _nothing, services_of(scope))
    needs = [need for each in route.access.on for need in await _needs(each, call)]
    return needs, _BESIDES if route.access.asks else ""


async def _needs(on: On, call: Call) -> list[Need]:
    resource = await on.scope(call)
    is_hidden = resource.kind is Kind.SUBJECT and not call.may(Operation.DESCRIBE, resource)
    named = subject_resource(call.scope_subject()) if is_hidden else resource  # not whose alias it is
    flagged = [operation for flag, operation in on.flags if call.flag(flag)]
    return [
        Need(operation, resource if call.may(operation, named) else named, named)
        for operation in (on.operation, *flagged)
    ]


async def _nothing() -> Message:
    message: dict[str, Any] = {"type": "http.request", "body": b"", "more_body": False}
    return message
