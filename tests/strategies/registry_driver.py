"""A registry asked in this process, without a network, so that every byte of a path arrives as it was written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.registry.app import assemble
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Sequence

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; ``json`` is its value, ``code`` its ``error_code`` where it has one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0]

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> int | None:
        value = self.json if self.body else None
        return value.get("error_code") if isinstance(value, dict) else None

    @property
    def outcome(self) -> Any:
        """The error's code, or the value of a success."""
        return self.json if self.status == 200 else self.code


class InProcessRegistry:
    """An application over ``storage``, an empty one in memory by default."""

    def __init__(self, storage: Any = None, *, wrapping: Any = None, **settings: Any) -> None:
        server_settings = ServerSettings(store="sqlite://", **settings)
        self.app = assemble(storage or MemoryStorage(), server_settings, wrapping=wrapping)

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        messages: Sequence[dict[str, Any]] = (),
    ) -> Reply:
        """The answer to a request; ``messages`` are what the body arrives as, in one piece by default."""
        raw_path, _, query = path.partition("?")
        sent = {"Content-Length": str(len(body)), **(headers or {})} if body is not None else headers or {}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": raw_path,
            "raw_path": raw_path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
            "server": ("test", 80),
            "client": ("test", 1),
        }
        arriving = iter(messages or [{"type": "http.request", "body": body or b"", "more_body": False}])
        sent_back: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return next(arriving)

        async def send(message: Any) -> None:
            sent_back.append(message)

        await self.app(scope, receive, send)
        answered = {name.decode().lower(): value.decode() for name, value in sent_back[0]["headers"]}
        whole = b"".join(message.get("body", b"") for message in sent_back[1:])
        return Reply(sent_back[0]["status"], answered, whole)

    async def get(self, path: str) -> Reply:
        return await self.ask("GET", path)

    async def delete(self, path: str) -> Reply:
        return await self.ask("DELETE", path)

    async def post(self, path: str, body: Any) -> Reply:
        return await self.ask("POST", path, json.dumps(body).encode(), {"Content-Type": MEDIA_TYPE})

    async def put(self, path: str, body: Any) -> Reply:
        return await self.ask("PUT", path, json.dumps(body).encode(), {"Content-Type": MEDIA_TYPE})

    async def register(self, subject: str, schema: Any, **fields: Any) -> Reply:
        """Register ``schema``, a text or the JSON of one, with further fields of the body."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return await self.post(f"/subjects/{subject}/versions", {"schema": text, **fields})
