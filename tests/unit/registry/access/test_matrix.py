"""Every route with every caller and own, foreign and absent things: the statuses of ``tests/data/access.yaml``."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import Any

import pytest

from counterfoil.registry.app import ROUTES
from counterfoil.registry.web.routes import PAGE_ROUTES
from strategies.access.callers import CALLERS, access
from strategies.access.matrix import CELLS, ROWS, Cell, anonymous_mistake, request, seed
from strategies.registry.driver import InProcessRegistry

_FIRST_CODE = 1000
READS = [cell for cell in CELLS if cell.send.startswith("GET ")]
WRITES = [cell for cell in CELLS if not cell.send.startswith("GET ")]


@pytest.mark.slow
def test_who_is_refused() -> None:
    async def story() -> list[str]:
        registry = InProcessRegistry(access=access())
        names = await seed(registry)
        before = (await registry.send("GET", "/changes?limit=1000", "admin")).json
        found = []
        for cell in CELLS:
            method, path, body = request(cell, names)
            for caller in (None, "wrong", *CALLERS):
                if caller in cell.allowed or (caller is None and cell.needs == "open"):
                    continue
                reply = await registry.send(method, path, caller, body)
                expected = (401, 401) if caller in {None, "wrong"} else (403, 40301)
                if (reply.status, reply.code) != expected:
                    found.append(f"{cell.send} {cell.place} {caller}: {reply.status} {reply.text[:200]}")
        assert (await registry.send("GET", "/changes?limit=1000", "admin")).json == before
        return found

    assert asyncio.run(story()) == []


async def mistakes(registry: InProcessRegistry, cell: Cell, names: dict[str, dict[str, str]]) -> list[str]:
    """Return the unexpected responses to those who are allowed."""
    method, path, body = request(cell, names)
    found = []
    for number, caller in enumerate(cell.allowed):
        reply = await registry.send(method, path, caller, body)
        got = reply.code if cell.expected >= _FIRST_CODE else reply.status
        if (got != cell.expected) if number == 0 else (reply.status in {401, 403}):
            found.append(f"{cell.send} {cell.place} {caller}: {reply.status} {reply.text[:200]}")
    return found


@pytest.mark.slow
def test_who_reads() -> None:
    async def story() -> list[str]:
        registry = InProcessRegistry(access=access())
        names = await seed(registry)
        return [each for cell in READS for each in await mistakes(registry, cell, names)]

    assert asyncio.run(story()) == []


@pytest.mark.slow
@pytest.mark.parametrize("route", sorted({cell.route for cell in WRITES}))
def test_who_writes(route: str) -> None:
    """A row of the matrix has a registry of its own, in which its cells write to things of different names."""

    async def story(row: list[Cell]) -> list[str]:
        registry = InProcessRegistry(access=access())
        names = await seed(registry)
        return [each for cell in row for each in await mistakes(registry, cell, names)]

    cells = [cell for cell in WRITES if cell.route == route]
    rows = [[*row] for _, row in groupby(cells, key=lambda cell: (cell.send, str(cell.body)))]
    assert [each for row in rows for each in asyncio.run(story(row))] == []


@pytest.mark.slow
def test_the_anonymous_caller_has_nothing_by_default() -> None:
    async def story() -> list[str]:
        registry = InProcessRegistry(access=access(lets_anonymous_in=True))
        names = await seed(registry)
        found = []
        for cell in CELLS:
            method, path, body = request(cell, names)
            reply = await registry.send(method, path, None, body)
            found.append(anonymous_mistake(cell, reply, names[cell.place]))
        return [each for each in found if each]

    assert asyncio.run(story()) == []


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    routes: list[Any] = [*ROUTES, *PAGE_ROUTES]
    assert set(ROWS) == {f"{route.method} {route.path_format}" for route in routes}


@pytest.mark.slow
def test_head_is_get_and_options_needs_nothing() -> None:
    async def story() -> list[str]:
        registry = InProcessRegistry(access=access())
        found = []
        for route in ROUTES:
            path = route.path_format.replace("{id}", "1").replace("{version}", "1")
            for caller in (None, "wrong", "nobody") if route.method == "GET" else ():
                got, head = [await registry.send(method, path, caller) for method in ("GET", "HEAD")]
                if got.status != head.status:
                    found.append(f"{path} {caller}: {got.status} and {head.status}")
            if (await registry.send("OPTIONS", path)).status != 204:
                found.append(f"OPTIONS {path}")
        return found

    assert asyncio.run(story()) == []
