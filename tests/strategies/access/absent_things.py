"""Two registries, of which one has things of others; and requests about them, whose responses are to be the same."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from counterfoil.registry.http.answers import DENIED
from strategies.access.callers import access
from strategies.access.matrix import CELLS, NAMES, PLAN, READER, filled, observe, request, seed
from strategies.contracts.stories import LINK, promise
from strategies.registry.declared_requests import METHODS, declared_operations
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Asked: TypeAlias = "tuple[str, str, Any]"
"""Method, path, and the body as JSON."""

OUTSIDERS = ("nobody", "owner")
MORE_OUTSIDERS = ("reader", "developer", "scoped", None)
"""The callers without a right to what is of others; None has no credentials."""
C = "/contracts/v1"
RESULTS = [{"check": "decode", "outcome": "passed", "records": 1}]
TO_FOREIGN = {"contract": "own", "from": "0", "to": "1", "bridge": "foreign", "application": "foreign"}
SCHEMA = {"schema": '"int"'}
BESIDES: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/contexts?contextPrefix=.f", None),
    ("GET", "/contexts?contextPrefix=.hidden", None),
    ("GET", "/contexts?contextPrefix=nothing", None),
    ("GET", "/subjects?subjectPrefix=:.hidden:", None),
    ("GET", "/contexts/.hidden/subjects", None),
    ("GET", "/schemas?subjectPrefix=:*:&aliases=true&latestOnly=true", None),
    ("GET", "/subjects/foreign.alias/versions", None),
    ("GET", "/subjects/foreign.alias/versions/1/schema", None),
    ("POST", "/subjects/foreign.alias", SCHEMA),
    ("POST", "/subjects/foreign.alias/versions", SCHEMA),
    ("DELETE", "/subjects/foreign.alias", None),
    ("DELETE", "/subjects/foreign.alias/versions/1?permanent=true", None),
    ("POST", "/compatibility/subjects/foreign.alias/versions", SCHEMA),
    ("GET", "/config/foreign.alias", None),
    ("GET", "/dek-registry/v1/keks/own/deks/foreign.alias", None),
    ("GET", "/subjects/foreign.s/changes", None),
    ("GET", "/changes?limit=500", None),
    ("GET", f"{C}/badges/own.svg?environment=foreign", None),
    ("GET", f"{C}/badges/foreign.svg?environment=own", None),
    ("GET", f"{C}/can-i-deploy?application=own&version=1&environment=foreign", None),
    ("GET", f"{C}/can-i-deploy?application=foreign&version=1&environment=own", None),
    ("GET", f"{C}/can-i-retire?contract=foreign&major=1&environment=own", None),
    ("GET", f"{C}/can-i-retire?contract=own&major=1&environment=foreign", None),
    ("GET", f"{C}/matrix?subject=foreign.s&environment=own", None),
    ("GET", f"{C}/matrix?application=foreign&environment=own", None),
    ("GET", f"{C}/matrix?application=own&environment=foreign", None),
    ("GET", f"{C}/environments/own/deployments?application=foreign", None),
    ("GET", f"{C}/environments/own/deployments/{{live}}", None),
    ("DELETE", f"{C}/environments/own/deployments/{{live}}", None),
    ("POST", f"{C}/environments/own/deployments", {"application": "foreign", "version": "1"}),
    ("GET", f"{C}/contracts/foreign/versions/1.0.0?as=odcs", None),
    ("GET", f"{C}/contracts/shared/versions/2.0.0", None),
    ("GET", f"{C}/contracts/shared/versions/1.0.0/diff?from=2.0.0", None),
    ("GET", f"{C}/verifications?environment=foreign", None),
    ("GET", f"{C}/verifications?contract=foreign", None),
    ("GET", f"{C}/verifications/{{verified}}", None),
    ("GET", f"{C}/verifications/{{elsewhere}}", None),
    ("POST", f"{C}/verifications",
     {"contract": "own", "contractVersion": "1.0.0", "environment": "foreign", "results": RESULTS}),
    ("GET", f"{C}/migrations/foreign", None),
    ("GET", f"{C}/migrations/foreign/status", None),
    ("GET", f"{C}/migrations/over-foreign/status", None),
    ("PUT", f"{C}/migrations/new", {**TO_FOREIGN, "contract": "foreign"}),
    ("PUT", f"{C}/migrations/new", TO_FOREIGN),
    ("GET", f"{C}/subjects/own.s/consumers?environment=foreign", None),
    ("GET", f"{C}/subjects/own.s/fields?environment=foreign", None),
    ("GET", f"{C}/usage?subject=foreign.s", None),
    ("GET", f"{C}/usage?environment=foreign", None),
    ("POST", f"{C}/usage", {"application": "own", "reads": [{"subject": "foreign.s", "messages": 1}]}),
    ("GET", f"{C}/topics/own/stats?environment=foreign", None),
    ("POST", f"{C}/check", {"subject": "own.s", "schema": SCHEMA, "environment": "foreign"}),
    ("POST", f"{C}/check", {"application": "foreign", "contract": {"content": READER.format(n="own")}}),
    ("POST", f"{C}/check", {"subject": "own.s", "schema": SCHEMA}),
    ("GET", "/bridges/v1/foreign/gates", None),
    ("POST", "/bridges/v1", {"plan": PLAN.format(n="foreign", s="own.s"), "owner": "own"}),
    ("GET", "/sketches/v1/subjects/foreign.b", None),
    ("POST", "/auth/v1/can", {"request": f"GET {C}/badges/foreign.svg"}),
    ("POST", "/auth/v1/can", {"request": f"GET {C}/badges/own.svg?environment=foreign"}),
    ("POST", "/auth/v1/can", {"request": "GET /subjects/foreign.alias/versions"}),
    ("POST", "/auth/v1/can", {"request": "DELETE /subjects/foreign.alias?permanent=true"}),
    ("POST", "/auth/v1/can", {"request": f"GET {C}/contracts/foreign"}),
    ("POST", "/auth/v1/can", {"request": f"GET {C}/environments/foreign/deployments/{{live}}"}),
    ("PUT", "/auth/v1/bindings/{binding}", {"to": "User:x", "allow": "reader", "on": "own.s"}),
    ("DELETE", "/auth/v1/bindings/{binding}", None),
    ("DELETE", "/auth/v1/tokens/{token}", None),
    ("GET", "/associations/resources/x/foreign", None),
    ("POST", "/associations:batchGet", {"requests": [{"resourceId": "foreign"}]}),
)  # fmt: skip
"""Requests about things of others that the matrix does not have; and about own things, with what others have."""

FOUND = re.compile(
    r"/schemas/(ids|guids)/|/contracts/v1/(contracts/(foreign|shared)|verifications|migrations/foreign"
    r"|environments/own/deployments/)"
)
"""The paths of what is found by something else than its own right: 403 by default, if it exists."""
TAKES_A_NAME = re.compile(
    r"^(POST /contracts/v1/(publish|check)|PUT /contracts/v1/migrations/foreign|(PUT|POST|DELETE) /associations)"
)
"""Writes of names that belong to nobody before: the first one takes them, and others are refused.

So are contracts of consumers, and the check of one: who may not read what a contract is about may not say that it reads
it.
"""
NUMBERS = (
    *("id", "seq", "deployment", "from", "to", "next", "last", "indexed"),
    *("lastSeen", "firstSeen", "first_seen", "last_seen"),
)
"""The members of answers that are numbers of what is stored, or of changes; or times."""
LISTS_VERSIONS = re.compile("/contracts/v1/contracts(/shared)?")
"""Who may read an application that offers a contract sees the numbers of all its versions."""


NAMES_OF_NOTHING = dict.fromkeys(NAMES, NAMES["absent"])


class World(NamedTuple):
    """A registry, with the names and ids of what the caller's team has, and of what others have."""

    registry: InProcessRegistry
    own: dict[str, str]
    others: dict[str, str]


async def world(*, others: bool, **settings: Any) -> World:
    """Return a registry with the things of the team, and of others if requested."""
    registry = InProcessRegistry(access=access(lets_anonymous_in=True), **settings)
    own = (await seed(registry, ["own"]))["own"]
    own["{verified}"] = (await observe(registry, ["own"]))["{verification}"]

    async def done(method: str, path: str, body: Any = None) -> Any:
        reply = await registry.send(method, path, "admin", body)
        assert reply.status < 300, (path, reply.text)
        return reply.json if reply.body else None

    shared = {"content": promise("1.0.0", contract="shared", subject="own.s"), "schemas": {LINK: SCHEMA}}
    await done("POST", f"{C}/publish", {"application": "own", "version": "2", "contracts": [shared]})
    for path, body in ((f"{C}/topics/own/stats", {"records": 1}), ("/config/own.alias", {"alias": "own.s"})):
        await done("PUT" if path.startswith("/config") else "POST", path, body)
    await done("PUT", f"{C}/migrations/over-foreign", TO_FOREIGN)
    if not others:
        return World(registry, own, {})
    names = (await seed(registry, ["foreign"]))["foreign"]
    names["{id}"] = str((await done("GET", "/subjects/foreign.s/versions/1"))["id"])
    observed = await observe(registry, ["foreign"])
    await done("PUT", "/config/foreign.alias", {"alias": "foreign.s"})
    await done("POST", "/subjects/:.hidden:s/versions", SCHEMA)
    live = await done("POST", f"{C}/environments/own/deployments", {"application": "foreign", "version": "1"})
    verified = {"contract": "own", "contractVersion": "1.0.0", "environment": "foreign", "results": RESULTS}
    elsewhere = await done("POST", f"{C}/verifications", verified)
    other = {"content": promise("2.0.0", contract="shared", subject="own.s"), "schemas": {LINK: SCHEMA}}
    await done("POST", f"{C}/publish", {"application": "foreign", "version": "2", "contracts": [other]})
    reads = {"content": READER.format(n="own")}
    await done("POST", f"{C}/publish", {"application": "foreign", "version": "3", "contracts": [reads]})
    await done("POST", f"{C}/usage", {"application": "own", "reads": [{"subject": "foreign.s", "messages": 1}]})
    await done("POST", f"{C}/topics/own/stats", {"records": 1, "environment": "foreign"})
    bound = await done("POST", "/auth/v1/bindings", {"to": "User:foreign", "allow": "reader", "on": "foreign.*"})
    await done("PUT", "/auth/v1/services/foreign", {})
    referring: dict[str, Any] = {"schema": "{", "references": [{"name": "x", "subject": "foreign.s", "version": 1}]}
    for subject, body, request_id in (("foreign.s", {"schema": "{"}, "foreign"), ("own.s", referring, "hidden")):
        await registry.send("POST", f"/subjects/{subject}/versions", "admin", body, X_Request_Id=request_id)
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "own"}]}
    referrer: dict[str, Any] = {
        "schema": json.dumps(record),
        "references": [{"name": "own", "subject": "own.s", "version": 1}],
    }
    await done("POST", "/subjects/foreign.r/versions", referrer)
    token = await done("POST", "/auth/v1/tokens", {"name": "x", "owner": "Service:foreign"})
    ids = {"{live}": live["id"], "{elsewhere}": elsewhere["id"], "{binding}": bound["id"], "{token}": token["id"]}
    return World(registry, own, {**names, **ids, "{verified}": observed["{verification}"]})


def requests(names: dict[str, str]) -> Iterator[tuple[str, str, Any]]:
    for cell in CELLS:
        if cell.place == "foreign" or cell.send == filled(cell.send, names):
            yield request(cell, {"foreign": names, "own": names, "absent": names})
    for method, path, body in BESIDES:
        yield method, filled(path, names), filled(body, names)


def plain(reply: Reply) -> tuple[int, list[tuple[str, str]], str]:
    """Return a response without what differs by chance, and without the numbers of changes.

    By chance differ times, ids that are made, and the id of the request. The numbers of changes show how much is
    written, as decision 46 says.
    """
    text = re.sub(r'"[A-Za-z]*([tT]s|[tT]ime|[tT]imestamp|at|registered)":("[^"]*"|\d+)', "", reply.text)
    text = re.sub(rf'"({"|".join(NUMBERS)})":("[^"]*"|\d+)', "", text)
    text = re.sub(r"<span>change [\d,]+</span>", "", text)
    text = re.sub(r"<time [^>]*>[^<]*</time>", "", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "", text)
    headers = [
        item for item in sorted(reply.headers.items()) if item[0] not in {"x-request-id", "content-length", "etag"}
    ]
    return reply.status, headers, text


async def differences(denied_reads: str, callers: Sequence[str | None]) -> list[str]:
    """Return the requests of the matrix, and those beside it, whose responses differ."""
    worlds = await two_worlds(denied_reads)
    asked = [each for each in requests(worlds[0].others) if not is_write_of_own(*each)]
    return await compared(worlds, ((each, each) for each in asked), callers, denied_reads)


async def declared_differences(denied_reads: str, callers: Sequence[str | None]) -> list[str]:
    """Return the requests that are made of the declarations of the routes, and whose responses differ."""
    worlds = await two_worlds(denied_reads)
    return await compared(worlds, await declared_pairs(worlds), callers, denied_reads)


async def two_worlds(denied_reads: str) -> list[World]:
    """Return a registry with things of others, and one without."""
    return [await world(others=others, denied_reads=denied_reads) for others in (True, False)]


async def declared_pairs(worlds: Sequence[World]) -> Iterator[tuple[Asked, Asked]]:
    """Return the requests that are made of the declarations of the routes, as each of two registries gets them."""
    operations = await declared_operations(worlds[0].registry)
    found = [pair for each in operations for pair in each.pairs(worlds[0].others, [one.own for one in worlds])]
    return iter(sorted(found, key=lambda pair: METHODS.index(pair[0][0])))


def is_write_of_own(method: str, path: str, body: Any) -> bool:
    return method != "GET" and "foreign" not in path and "foreign" not in json.dumps(body)


async def compared(
    worlds: Sequence[World],
    pairs: Iterable[tuple[Asked, Asked]],
    callers: Sequence[str | None],
    denied_reads: str,
) -> list[str]:
    """Return the requests whose responses differ: of each pair, one is sent to each registry."""
    found = []
    for (asked, asked_there), caller in itertools.product(pairs, callers):
        method, path, body = asked
        if TAKES_A_NAME.match(f"{method} {path}") or LISTS_VERSIONS.fullmatch(path):
            continue
        first = await worlds[0].registry.send(method, path, caller, body)
        second = await worlds[1].registry.send(asked_there[0], asked_there[1], caller, asked_there[2])
        is_unnamed = first.status == 403 and first.media_type != "text/html" and first.json["message"] == DENIED
        is_default = denied_reads == "403" and FOUND.search(path) and is_unnamed
        if plain(first) != plain(second) and not is_default:
            found.append(f"{method} {path} {caller} {json.dumps(body)}:\n  {plain(first)}\n  {plain(second)}")
    return found
