"""Registries of other makers, as filters in front of ours: each removes what that maker's registry does not have."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from counterfoil.registry.moving.peer.connection import Peer
from counterfoil.sdk.client.settings import RegistrySettings
from counterfoil.sdk.transport import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.transport import AsyncTransport, Request
    from strategies.registry.driver import InProcessRegistry

NEW_FIELDS = frozenset({"guid", "ts", "deleted", "maxId"})


def json_reply(status: int, value: Any, **headers: str) -> Reply:
    """Return a response whose body is JSON."""
    return Reply(status, {"content-type": "application/json", **headers}, json.dumps(value).encode())


class Answering:
    """A transport that answers every request with the result of ``answer``."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self._answer = answer

    async def asend(self, request: Request) -> Reply:
        return self._answer(request)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""


@dataclass
class Filter:
    """Responds for ``registry``, without ``fields`` of bodies, ``missing`` paths (patterns) and ``ignored`` queries.

    ``instead`` are the responses of paths (patterns) for which ours is 404. ``plain_avro``: no ``schemaType`` for Avro.
    ``spaced``: JSON texts have spaces. ``by_id``: whether responses by id have subject and version. ``log`` has every
    request.
    """

    registry: InProcessRegistry
    fields: frozenset[str] = NEW_FIELDS
    missing: tuple[str, ...] = ()
    ignored: frozenset[str] = frozenset()
    instead: dict[str, Any] = field(default_factory=dict)
    prefix: str = ""
    plain_avro: bool = True
    spaced: bool = False
    by_id: bool = False
    log: list[str] = field(default_factory=list)

    async def asend(self, request: Request) -> Reply:
        parts = urlsplit(request.url)
        raw, query = parts.path, parts.query
        self.log.append(f"{request.method} {raw}")
        path = raw.removeprefix(self.prefix)
        if not raw.startswith(self.prefix) or any(re.fullmatch(each, unquote(path)) for each in self.missing):
            return json_reply(404, {"error_code": 404, "message": "HTTP 404 Not Found"})
        kept = urlencode([pair for pair in parse_qsl(query) if pair[0] not in self.ignored])
        headers = {name: value for name, value in request.headers.items() if name.lower() == "content-type"}
        reply = await self.registry.ask(request.method, f"{path}?{kept}", request.body, headers)
        value = json.loads(reply.text) if reply.text else None
        for pattern, other in self.instead.items() if reply.status == 404 else ():
            if re.fullmatch(pattern, unquote(path)):
                return json_reply(200, other)
        return json_reply(reply.status, self._thinned(path, value))

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _thinned(self, path: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        gone = self.fields if self.by_id or "/schemas/ids" not in path else {*self.fields, "subject", "version"}
        thin = {name: item for name, item in value.items() if name not in gone}
        if self.plain_avro and thin.get("schemaType") == "AVRO":
            del thin["schemaType"]
        if self.spaced and thin.get("schemaType", "AVRO") != "PROTOBUF" and "schema" in thin:
            thin["schema"] = json.dumps(json.loads(thin["schema"]), indent=2)
        return thin


def karapace(registry: InProcessRegistry) -> Filter:
    """Return a Karapace: no contexts, no guids, its own spelling of texts."""
    return Filter(
        registry,
        fields=NEW_FIELDS | {"metadata", "ruleSet"},
        missing=("/contexts", "/schemas", "/changes"),
        ignored=frozenset({"offset", "limit", "fetchMaxId", "subjectPrefix", "subject"}),
        spaced=True,
    )


def apicurio(registry: InProcessRegistry) -> Filter:
    """Return Apicurio's ccompat: under a prefix, without soft-deleted versions and modes, NONE as the default level."""
    return Filter(
        registry,
        missing=("/schemas", "/changes", "/mode.*"),
        instead={"/config/.*": {"compatibilityLevel": "NONE"}},
        ignored=frozenset({"deleted", "offset", "limit", "fetchMaxId", "subjectPrefix", "subject"}),
        prefix="/apis/ccompat/v7",
        plain_avro=False,
    )


def old_confluent(registry: InProcessRegistry) -> Filter:
    """Return a Confluent registry of version 5."""
    return Filter(
        registry,
        fields=NEW_FIELDS | {"metadata", "ruleSet"},
        missing=("/contexts", "/schemas", "/changes", "/schemas/ids/.*/(subjects|versions)"),
        ignored=frozenset({"offset", "limit", "fetchMaxId", "subjectPrefix", "subject"}),
    )


def ours(registry: InProcessRegistry) -> Filter:
    """Return our registry without changes."""
    return Filter(registry, fields=frozenset(), plain_avro=False, by_id=True)


def peer_of(transport: AsyncTransport, *, prefix: str = "", **settings: Any) -> Peer:
    """Return a peer in this process, which never waits."""

    async def at_once(seconds: float) -> None:
        del seconds

    found = RegistrySettings.of(f"http://registry.test{prefix}", **settings)
    return Peer(found, transport=transport, pause=at_once)
