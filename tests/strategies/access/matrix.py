"""The matrix of access: the requests of ``tests/data/access.yaml``, who is to be refused, and what they are about."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterfoil.schema.documents import plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.sketch import PartSketch, TopicSketch
from counterfoil.schema.sketch.document import sketch_document
from strategies.access.callers import CALLERS
from strategies.bridges.stories import NAME, NEW, OLD, SUBJECT
from strategies.bridges.stories import PLAN as BRIDGE_PLAN
from strategies.contracts.stories import LINK, promise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strategies.registry.driver import InProcessRegistry, Reply

MATRIX = plain_value(read_yaml((Path(__file__).parents[2] / "data" / "access.yaml").read_text()))  # type: ignore[arg-type]  # the file is not empty
SETS, ROWS = MATRIX["sets"], MATRIX["routes"]
PLAN = """\
bridge: {n}
source: {{topic: a, subject: {s}}}
target: {{topic: b, subject: {s}}}
fields:
  x: {{from: nothing}}
"""
READER = """\
apiVersion: v1.0.0
kind: DataProduct
id: reader of {n}
status: active
inputPorts: [{{name: input, version: "1", contractId: {n}}}]
"""
NAMES = {
    "own": {"{s}": "own.s", "{n}": "own", "{id}": "1"},
    "foreign": {"{s}": "foreign.s", "{n}": "foreign", "{id}": "2"},
    "absent": {"{s}": "own.absent", "{n}": "own-absent", "{id}": "99", "{guid}": "0" * 32, "{d}": "0"},
}


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


TEAMS = ("own", "foreign")
_NAMED = re.compile(r"\b(own|foreign)\.\w")


async def seed(registry: InProcessRegistry, teams: Sequence[str] = TEAMS) -> dict[str, dict[str, str]]:
    """Store the things of the teams as the administrator; return the names of each place."""

    async def done(method: str, path: str, body: Any = None) -> Any:
        reply = await registry.send(method, path, "admin", body)
        assert reply.status < 300, (path, reply.text)
        return reply.json if reply.body else None

    names = {place: dict(values) for place, values in NAMES.items()}
    for team in teams:
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
        contract = {
            "content": promise("1.0.0", contract=team, subject=f"{team}.s"),
            "schemas": {LINK: {"schema": text}},
        }
        publication = {"application": team, "version": "1", "contracts": [contract]}
        await done("POST", "/contracts/v1/publish", publication)
        await done("PUT", f"/contracts/v1/environments/{team}", {})
        deployments = f"/contracts/v1/environments/{team}/deployments"
        names[team]["{d}"] = (await done("POST", deployments, {"application": team, "version": "1"}))["id"]
    return names


async def observe(registry: InProcessRegistry, teams: Sequence[str] = TEAMS) -> dict[str, str]:
    """Store what is known of each team's things beside schemas and contracts; return names of the team's own."""

    async def done(method: str, path: str, body: Any) -> Any:
        reply = await registry.send(method, path, "admin", body)
        assert reply.status < 300, (path, reply.text)
        return reply.json if reply.body else {}

    names = {}
    for team in teams:
        subject = f"{team}.b"
        await done("POST", f"/subjects/{subject}/versions", {"schema": OLD})
        await done("PUT", f"/config/{subject}", {"incompatibleVersions": "BRIDGED"})
        plan = BRIDGE_PLAN.replace(NAME, team).replace(SUBJECT, subject)
        bridge = {"plan": plan, "owner": team, "sourceSchema": {"schema": NEW}, "registerSource": True}
        await done("POST", "/bridges/v1", bridge)
        sketch = TopicSketch(team, value=PartSketch({}), value_subject=subject)
        await done("PUT", f"/sketches/v1/subjects/{subject}", sketch_document(sketch))
        reads = [{"subject": each, "messages": 1} for each in (f"{other}.s" for other in teams)]
        await done("POST", "/contracts/v1/usage", {"application": team, "reads": reads})
        await done("POST", f"/contracts/v1/topics/{team}.t/stats", {"records": 1})
        results = [{"check": "decode", "outcome": "passed", "records": 1}]
        verified = {"contract": team, "contractVersion": "1.0.0", "environment": team, "results": results}
        migration = {"contract": team, "from": "0", "to": "1", "bridge": team, "application": team}
        await done("PUT", f"/contracts/v1/migrations/{team}", migration)
        names[team] = (await done("POST", "/contracts/v1/verifications", verified))["id"]
    return {"{verification}": names[teams[0]], "{migration}": teams[0]}


def filled(value: Any, names: dict[str, str]) -> Any:
    """Return a path or a body with the names of one place in it."""
    if isinstance(value, dict):
        return {key: filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    if value in {"{plan}", "{reader}"}:
        return (PLAN if value == "{plan}" else READER).format(n=names["{n}"], s=names["{s}"])
    if isinstance(value, str):
        for key, name in names.items():
            value = value.replace(key, name)
    return value


def request(cell: Cell, names: dict[str, dict[str, str]]) -> tuple[str, str, Any]:
    method, path = filled(cell.send, names[cell.place]).split(" ", 1)
    return method, path, filled(cell.body, names[cell.place])


MEMBERS_ALONE = {
    "GET /",
    "POST /",
    "GET /schemas/types",
    "GET /v1/metadata/id",
    "GET /v1/metadata/version",
    "GET /v1/metadata/deployment",
    "GET /config",
    "GET /mode",
    "GET /openapi.json",
    "GET /auth/v1/whoami",
    "POST /auth/v1/can",
    "GET /auth/v1/tokens",
    "GET /inspect/v1/rules",
    "GET /inspect/v1/rules/{rule}",
    "GET /ui/help",
    "GET /ui/rules",
    "GET /ui/rules/{rule}",
}
"""The routes for every caller with credentials, and for no other; lists are for everybody, and show what is allowed."""


def anonymous_mistake(cell: Cell, reply: Reply, names: dict[str, str]) -> str:
    """Return what is wrong with the response to a caller without credentials; an empty text if nothing is."""
    is_open = cell.needs == "open" and reply.status == cell.expected
    is_empty = (
        cell.needs == "member"
        and cell.route not in MEMBERS_ALONE
        and reply.status in {200, 207, 404}
        and not has_names(reply.text, names)
    )
    if is_open or is_empty or (reply.status == 403 and reply.code == 40301):
        return ""
    return f"{cell.send} {cell.place}: {reply.status} {reply.text[:200]}"


def has_names(text: str, sent: dict[str, str]) -> bool:
    """Return whether a response names a thing that the request does not; a page has words of its own."""
    for name in (*sent.values(), "unknown"):
        text = text.replace(name, "")
    if text.lstrip().startswith("<!doctype"):
        return _NAMED.search(text) is not None
    return "own" in text or "foreign" in text
