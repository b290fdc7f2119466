"""Every route with every caller and own, foreign and absent things: the statuses of ``tests/data/access.yaml``."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from access_callers import CALLERS, access
from contract_stories import LINK, promise
from counterfoil.registry.api.routes.table import ROUTES
from counterfoil.schema.documents.nodes import plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from registry_driver import InProcessRegistry

MATRIX = plain_value(read_yaml((Path(__file__).parents[3] / "data" / "access.yaml").read_text()))  # type: ignore[arg-type]  # the file is not empty
SETS, ROWS = MATRIX["sets"], MATRIX["routes"]
PLAN = """\
bridge: {n}
source: {{topic: a, subject: {s}}}
target: {{topic: b, subject: {s}}}
fields:
  x: {{from: nothing}}
"""
NAMES = {
    "own": {"{s}": "own.s", "{n}": "own", "{id}": "1"},
    "foreign": {"{s}": "foreign.s", "{n}": "foreign", "{id}": "2"},
    "absent": {"{s}": "own.absent", "{n}": "own-absent", "{id}": "99", "{guid}": "0" * 32, "{d}": "0"},
}
_FIRST_CODE = 1000


@dataclass(frozen=True)
class Cell:
    """One request about one kind of thing, and who gets which status or code."""

    route: str
    send: str
    body: Any
    place: str
    needs: str
    expected: int

    @property
    def allowed(self) -> list[str]:
        if self.needs == "open":
            return list(CALLERS)
        sets = SETS["foreign" if self.place == "foreign" else "own"]
        return list(sets[self.needs])


CELLS = [
    Cell(
        route,
        row["send"],
        row.get("body"),
        place,
        row.get("absent_needs", row["needs"]) if place == "absent" else row["needs"],
        row[place],
    )
    for route, rows in ROWS.items()
    for row in rows
    for place in NAMES
    if place in row
]


async def seed(registry: InProcessRegistry) -> dict[str, dict[str, str]]:
    """Store the things of both teams as the administrator; return the names of each place."""

    async def done(method: str, path: str, body: Any = None) -> Any:
        reply = await registry.send(method, path, "admin", body)
        assert reply.status < 300, (path, reply.text)
        return reply.json if reply.body else None

    names = {place: dict(values) for place, values in NAMES.items()}
    for team in ("own", "foreign"):
        text = json.dumps({"type": "enum", "name": team, "symbols": ["A"]})
        made = await done("POST", f"/subjects/{team}.s/versions", {"schema": text})
        names[team]["{guid}"] = made["guid"]
        await done("PUT", f"/config/{team}.s", {"compatibility": "NONE"})
        association = {"subject": f"{team}.s", "associationType": "value", "lifecycle": "WEAK"}
        resource = {"resourceName": team, "resourceNamespace": "x", "resourceId": team, "resourceType": "topic"}
        await done("POST", "/associations", {**resource, "associations": [association]})
        await done("POST", "/dek-registry/v1/keks", {"name": team, "kmsType": "test", "kmsKeyId": "k"})
        dek = {"encryptedKeyMaterial": "bWF0ZXJpYWw="}
        await done("POST", f"/dek-registry/v1/keks/{team}/deks/{team}.s", dek)
        contract = {"content": promise("1.0.0", contract=team), "schemas": {LINK: {"schema": text}}}
        publication = {"application": team, "version": "1", "contracts": [contract]}
        await done("POST", "/contracts/v1/publish", publication)
        await done("PUT", f"/contracts/v1/environments/{team}", {})
        deployments = f"/contracts/v1/environments/{team}/deployments"
        names[team]["{d}"] = (await done("POST", deployments, {"application": team, "version": "1"}))["id"]
    return names


def filled(value: Any, names: dict[str, str]) -> Any:
    """Return a path or a body with the names of one place in it."""
    if isinstance(value, dict):
        return {key: filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    if value == "{plan}":
        return PLAN.format(n=names["{n}"], s=names["{s}"])
    if isinstance(value, str):
        for key, name in names.items():
            value = value.replace(key, name)
    return value


READS = [cell for cell in CELLS if cell.send.startswith("GET ")]
WRITES = [cell for cell in CELLS if not cell.send.startswith("GET ")]


def request(cell: Cell, names: dict[str, dict[str, str]]) -> tuple[str, str, Any]:
    method, path = filled(cell.send, names[cell.place]).split(" ", 1)
    return method, path, filled(cell.body, names[cell.place])


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


def test_the_anonymous_caller_has_nothing_by_default() -> None:
    async def story() -> list[str]:
        registry = InProcessRegistry(access=access(lets_anonymous_in=True))
        names = await seed(registry)
        found = []
        for cell in CELLS:
            method, path, body = request(cell, names)
            reply = await registry.send(method, path, None, body)
            is_open = cell.needs == "open" and reply.status == cell.expected
            is_empty = (
                cell.needs == "member"
                and reply.status in {200, 207, 404}
                and not has_names(reply.text, names[cell.place])
            )
            if not (is_open or is_empty or (reply.status, reply.code) == (403, 40301)):
                found.append(f"{cell.send} {cell.place}: {reply.status} {reply.text[:200]}")
        return found

    assert asyncio.run(story()) == []


def has_names(text: str, sent: dict[str, str]) -> bool:
    """Return whether a response names a thing that the request does not."""
    for name in (*sent.values(), "unknown"):
        text = text.replace(name, "")
    return "own" in text or "foreign" in text


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert set(ROWS) == {f"{route.method} {route.path_format}" for route in ROUTES}


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
