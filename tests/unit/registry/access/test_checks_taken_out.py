"""The matrix notices every check that is missing: with one taken out of a route, at least one of its rows fails.

Each need of each route is taken out by itself: an operation, a flag of the query, what the operation asks about by
itself, and that callers must have proven who they are. The rows are those of ``tests/data/access.yaml``.
"""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.routing import request_response

from access_callers import CALLERS, access
from access_matrix import CELLS, anonymous_mistake, request, seed
from counterfoil.registry.api.call import Call
from counterfoil.registry.api.http.answers import error_answer
from counterfoil.registry.api.routes.access import Access, guarded
from counterfoil.registry.api.routes.endpoint import Endpoint
from counterfoil.registry.api.routes.route import ApiRoute, ConfluentRoute
from counterfoil.registry.api.routes.services import services_of
from counterfoil.registry.api.routes.table import ROUTES
from counterfoil.registry.domain.access.caller import CALLER
from counterfoil.schema.errors import RegistryError
from registry_driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from counterfoil.registry.api.routes.route import DeclaredRoute

STREAM = "stream_changes"
"""The endpoint of the event stream: it has the path of a page, and what it shows is tested in ``test_visibility``."""


def with_access(route: DeclaredRoute, needs: Access) -> ASGIApp:
    """Return the application of ``route`` as it would be if the route were declared with other needs."""
    changed = copy.copy(route)
    changed.access = needs
    if isinstance(changed, ConfluentRoute):
        return Endpoint(changed, changed.endpoint.func)  # type: ignore[attr-defined]  # a partial of the operation
    app = request_response(changed.get_route_handler())
    return AsyncExitStackMiddleware(app if isinstance(changed, ApiRoute) else guarded(app, needs))


def without_asking(route: DeclaredRoute) -> ASGIApp:
    """Return the application of ``route`` whose operation asks nothing; what comes before it is checked."""
    inner = route.app

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            for each in route.access.on:
                await each.check(Call(scope, receive, services_of(scope)))
        except RegistryError as error:
            await error_answer(error)(scope, receive, send)
            return
        scope.pop(CALLER, None)
        await inner(scope, receive, send)

    return answer


def weakened(route: DeclaredRoute) -> Iterator[tuple[str, ASGIApp]]:
    """Yield the route's application with one need less, each of them, and what is missing."""
    needs = route.access
    if needs.asks:
        yield "what the operation asks", without_asking(route)
    if not (needs.on or needs.asks or needs.is_open):
        yield "that callers have credentials", with_access(route, replace(needs, is_open=True))
    for number, each in enumerate(needs.on):
        others = needs.on[:number] + needs.on[number + 1 :]
        yield each.operation.value, with_access(route, Access(others, asks=needs.asks, is_open=not others))
        for flag in each.flags:
            fewer = replace(each, flags=tuple(other for other in each.flags if other != flag))
            on = (*needs.on[:number], fewer, *needs.on[number + 1 :])
            yield f"{flag[1].value} for {flag[0]}", with_access(route, replace(needs, on=on))


async def is_noticed(registry: InProcessRegistry, open_one: InProcessRegistry, names: Any, route: str) -> bool:
    """Return whether a row of the route fails: for a caller who is to be refused, or for one without credentials."""
    for cell in (cell for cell in CELLS if cell.route == route):
        method, path, body = request(cell, names)
        for caller in CALLERS:
            if caller not in cell.allowed:
                reply = await registry.send(method, path, caller, body)
                if reply.status != 403 or reply.code != 40301:
                    return True
        reply = await open_one.send(method, path, None, body)
        if anonymous_mistake(cell, reply, names[cell.place]):
            return True
    return False


def test_the_rows_of_a_route_fail_without_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The routes of a process are the same objects in all its applications: each is changed, and changed back."""

    async def seeded() -> tuple[InProcessRegistry, InProcessRegistry, Any]:
        demanding, open_one = (
            InProcessRegistry(access=access(lets_anonymous_in=lets_in), fast_lane=False) for lets_in in (False, True)
        )
        await seed(open_one)
        return demanding, open_one, await seed(demanding)

    async def story() -> list[str]:
        world, unnoticed = await seeded(), []
        for route in ROUTES:
            if route.endpoint.__name__ == STREAM:
                continue
            named = f"{route.method} {route.path_format}"
            for missing, app in weakened(route):
                with monkeypatch.context() as changing:
                    changing.setattr(route, "app", app)
                    if not await is_noticed(*world, named):
                        unnoticed.append(f"{named}: {missing}")
                if route.method != "GET":  # what was not refused has changed something
                    world = await seeded()
        return unnoticed

    unnoticed = asyncio.run(story())
    assert not unnoticed, "\n".join(unnoticed)
