"""The matrix notices every check that is missing: with one taken out of a route, at least one of its rows fails.

Each need of each route is taken out by itself: an operation, a flag of the query, what the operation asks about by
itself, and that callers must have proven who they are. The rows are those of ``tests/data/access.yaml``.
"""

from __future__ import annotations

import asyncio
import copy
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.routing import request_response

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import CALLER
from counterfoil.registry.access.rules import allow, parse_pattern
from counterfoil.registry.app import ROUTES
from counterfoil.registry.http.access import Access, guarded, request_of
from counterfoil.registry.http.answers import error_answer
from counterfoil.registry.http.route import ApiRoute, ConfluentRoute, Endpoint
from counterfoil.registry.web.endpoint import PageEndpoint, PageRoute
from counterfoil.registry.web.routes import PAGE_ROUTES
from counterfoil.schema.errors import RegistryError
from strategies.access.callers import CALLERS, NamedCallers, Rules, access, rules_of_teams
from strategies.access.matrix import CELLS, anonymous_mistake, filled, observe, request, seed
from strategies.languages.marked_schemas import enum, record
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from counterfoil.registry.http.route import DeclaredRoute

KEKS = "/dek-registry/v1/keks"
ENVIRONMENT = "/contracts/v1/environments/{environment}"
SUBJECTS = "/contracts/v1/subjects"
INSPECT = "/inspect/v1"
MIGRATION = "/contracts/v1/migrations/{migration}"
MUTATION = {
    "resourceName": "own-more",
    "resourceNamespace": "x",
    "resourceId": "own-more",
    "associations": [{"subject": "foreign.s", "associationType": "value", "lifecycle": "WEAK", "opType": "CREATE"}],
}
_SIGNED_IN = re.compile(rb"<span>signed in as .*?</span>")
"""The name of the caller on a page, which says nothing about its rights."""

STREAM = "stream_changes"
"""The endpoint of the event stream: it has the path of a page, and what it shows is tested in ``test_visibility``."""


def with_access(route: DeclaredRoute | PageRoute, needs: Access) -> ASGIApp:
    """Return the application of ``route`` as it would be if the route were declared with other needs."""
    changed = copy.copy(route)
    changed.access = needs
    if isinstance(changed, PageRoute):
        return PageEndpoint(changed, changed.build)
    if isinstance(changed, ConfluentRoute):
        return Endpoint(changed, changed.endpoint.func)  # type: ignore[attr-defined]  # a partial of the operation
    app = request_response(changed.get_route_handler())
    return AsyncExitStackMiddleware(app if isinstance(changed, ApiRoute) else guarded(app, needs))


def without_asking(route: DeclaredRoute | PageRoute) -> ASGIApp:
    """Return the application of ``route`` whose operation asks nothing; what comes before it is checked."""
    inner = route.app

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            for each in route.access.on:
                await each.check(*request_of(scope, receive))
        except RegistryError as error:
            await error_answer(error)(scope, receive, send)
            return
        scope.pop(CALLER, None)
        await inner(scope, receive, send)

    return answer


def weakened(route: DeclaredRoute | PageRoute) -> Iterator[tuple[str, ASGIApp]]:
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


_R, _O = "registry", AccessOperation
_IMPORTS = {"mode": "IMPORT"}
SPECIAL: tuple[tuple[str, str, Any, tuple[tuple[AccessOperation, str], ...]], ...] = (
    ("PUT /config", "PUT /config", {"alias": "foreign.s"}, ((_O.ALTER_CONFIGS, _R),)),
    ("PUT /mode", "PUT /mode", _IMPORTS, ((_O.ALTER_MODE, _R),)),
    ("PUT /mode", "PUT /mode", _IMPORTS, ((_O.IMPORT, _R), (_O.PURGE, _R))),
    ("PUT /mode/{subject}", "PUT /mode/own.s", _IMPORTS, ((_O.ALTER_MODE, "own.*"),)),
    ("GET /contexts", "GET /contexts", None, ((_O.READ, "own.*"),)),
    ("GET /subjects/{subject}/changes", "GET /subjects/own.s/changes", None, ((_O.DESCRIBE, "own.*"),)),
    ("POST /associations:batchGet", "POST /associations:batchGet", {"requests": [{"resourceId": "own"}]}, ()),
    ("POST /associations:batchMutate", "POST /associations:batchMutate", {"requests": [MUTATION]}, ()),
    ("GET /dek-registry/v1/keks/{name}/deks", f"GET {KEKS}/own/deks", None, ((_O.READ, "kek:own"),)),
    *(
        (f"DELETE {KEKS}/{{name}}/deks/{{subject}}{more}", f"DELETE {KEKS}/own/deks/own.s{sent}", None, rights)
        for more, sent in (("", "?permanent=true"), ("/versions/{version}", "/versions/1?permanent=true"))
        for rights in (
            ((_O.PURGE, "kek:own"), (_O.DELETE, "own.*")),
            ((_O.DELETE, "kek:own"), (_O.PURGE, "own.*")),
        )
    ),
    ("PUT /bridges/v1/{name}", "PUT /bridges/v1/own", {"plan": "{plan}"}, ((_O.WRITE, "bridge:own"),)),
    ("GET /contracts/v1/verifications/{verification}", "GET /contracts/v1/verifications/{verification}", None, ()),
    *(
        (f"GET {INSPECT}/{route}", f"GET {INSPECT}/{sent}", None, ((_O.READ, "own.*"),))
        for route, sent in (
            ("subjects/{subject}", "subjects/own.c"),
            ("subjects/{subject}/versions/{version}", "subjects/own.c/versions/1"),
            ("subjects/{subject}/elements", "subjects/own.s/elements?path="),
            ("references/{subject}/{version}", "references/own.c/1?direction=in"),
        )
    ),
    *((f"GET {MIGRATION}{more}", f"GET {MIGRATION}{more}", None, ()) for more in ("", "/status")),
    *(
        (f"GET {SUBJECTS}/{{subject}}/{what}", f"GET {SUBJECTS}/own.s/{what}", None, ((_O.READ, "own.*"),))
        for what in ("consumers", "fields")
    ),
    *(
        (
            f"{method} {ENVIRONMENT}/{kind}{one}",
            f"{method} {ENVIRONMENT}/{kind}{one.replace('deployment', kind.removesuffix('s'))}",
            None,
            ((right, "environment:own"),),
        )
        for kind in ("deployments", "releases")
        for method, one, right in (
            ("GET", "", _O.DESCRIBE),
            ("GET", "/{deployment}", _O.DESCRIBE),
            ("DELETE", "/{deployment}", _O.WRITE),
        )
    ),
)
"""Requests of a caller with rights that no role has; each for a need which callers with roles do not tell apart."""

NOT_DISTINGUISHED = {"GET /auth/v1/tokens: that callers have credentials"}
"""What nothing shows, since the operation checks it a second time."""


class World:
    """Two registries with the things of both teams: one demands credentials, the other lets anonymous callers in.

    ``before`` is the world before a write; what nobody has sent a request to since then stays.
    """

    def __init__(self, before: World | None = None) -> None:
        self.rules = Rules(rules_of_teams())
        self.registry = InProcessRegistry(
            access=access(self.rules, NamedCallers((*CALLERS, "special"))), fast_lane=False
        )
        kept = None if before is None or before.is_open_one_used else before.open_one
        self.open_one = kept or InProcessRegistry(access=access(lets_anonymous_in=True), fast_lane=False)
        self.is_open_one_new, self.is_open_one_used = kept is None, False

    async def filled(self) -> World:
        if self.is_open_one_new:
            await seed(self.open_one)
            await observe(self.open_one)
        self.names = await seed(self.registry)
        self.observed = await observe(self.registry)
        body, release = {"schema": '"int"'}, {"application": "own", "version": "1"}
        await self.registry.send("POST", "/subjects/:.foreign:s/versions", "admin", body)
        await self.registry.send("POST", "/subjects/own.c/versions", "admin", {"schema": enum("C")})
        referring = {"schema": record("R", "C"), "references": [{"name": "C", "subject": "own.c", "version": 1}]}
        await self.registry.send("POST", "/subjects/foreign.r/versions", "admin", referring)
        await self.registry.send(
            "POST", "/subjects/foreign.s/versions", "admin", {"schema": "{"}, X_Request_Id="foreign"
        )
        path = ENVIRONMENT.replace("{environment}", "own") + "/releases"
        self.release = (await self.registry.send("POST", path, "admin", release)).json["id"]
        return self

    async def shown(self, route: str) -> list[tuple[int, bytes]]:
        """Return what callers get who are not refused by a role: one without any, and those with special rights."""
        found = []
        for cell in CELLS:
            if cell.route == route and cell.needs == "member" and cell.send.startswith("GET "):
                method, path, body = request(cell, self.names)
                found.append(await self.registry.send(method, path, "nobody", body, X_Request_Id="one"))
        own = {**self.names["own"], **self.observed, "{environment}": "own", "{release}": self.release}
        own["{deployment}"] = own["{d}"]
        for named, sent, body, rights in SPECIAL:
            if named == route:
                given = [allow("User:special", [operation], parse_pattern(text)) for operation, text in rights]
                self.rules.set([*rules_of_teams(), *given])
                method, path = filled(sent, own).split(" ", 1)
                found.append(await self.registry.send(method, path, "special", filled(body, own)))
        self.rules.set(rules_of_teams())
        return [(reply.status, _SIGNED_IN.sub(b"", reply.body)) for reply in found]


async def is_noticed(world: World, route: str) -> bool:
    """Return whether a row of the route fails: for a caller who is to be refused, or for one without credentials."""
    for cell in (cell for cell in CELLS if cell.route == route):
        method, path, body = request(cell, world.names)
        for caller in CALLERS:
            if caller not in cell.allowed:
                reply = await world.registry.send(method, path, caller, body)
                if reply.status != 403 or reply.code != 40301:
                    return True
        world.is_open_one_used = True
        reply = await world.open_one.send(method, path, None, body)
        if anonymous_mistake(cell, reply, world.names[cell.place]):
            return True
    return False


@pytest.mark.slow
def test_the_rows_of_a_route_fail_without_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The routes of a process are the same objects in all its applications: each is changed, and changed back."""

    async def story() -> set[str]:
        world, unnoticed = await World().filled(), set()
        routes: list[Any] = [*ROUTES, *PAGE_ROUTES]
        for route in routes:
            if route.endpoint.__name__ == STREAM:
                continue
            named = f"{route.method} {route.path_format}"
            before = await world.shown(named)
            for missing, app in weakened(route):
                with monkeypatch.context() as changing:
                    changing.setattr(route, "app", app)
                    if not (await world.shown(named) != before or await is_noticed(world, named)):
                        unnoticed.add(f"{named}: {missing}")
                if route.method != "GET":  # what was not refused has changed something
                    world = await World(world).filled()
                    before = await world.shown(named)
        return unnoticed

    assert asyncio.run(story()) == NOT_DISTINGUISHED
