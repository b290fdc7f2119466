"""Requests to a registry in this process, without a network, so that every byte of a path arrives as it was written."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from counterfoil.registry.app import assemble
from counterfoil.registry.changes.routes import HEARTBEAT_S
from counterfoil.registry.in_process import exchange
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Sequence

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
FORM_TYPE = "application/x-www-form-urlencoded"
_SHOWN_CODE = re.compile(r"<li>code (?:<[^>]+>)?(\d+)<")


@dataclass(frozen=True, slots=True)
class Reply:
    """A response; ``json`` is its value, ``code`` its ``error_code`` if it has one."""

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
        if self.media_type == "text/html":
            shown = _SHOWN_CODE.search(self.text)
            return None if shown is None else int(shown[1])
        value = self.json if self.body else None
        return value.get("error_code") if isinstance(value, dict) else None

    @property
    def outcome(self) -> Any:
        """The error's code, or the value of a success."""
        return self.json if self.status == 200 else self.code


class InProcessRegistry:
    """An application over ``storage``, an empty one in memory by default."""

    def __init__(
        self,
        storage: Any = None,
        *,
        wrapping: Any = None,
        access: Any = None,
        server: Any = None,
        audit: Any = None,
        heartbeat_s: float = HEARTBEAT_S,
        telemetry: Any = None,
        judges: Any = None,
        index: Any = None,
        **settings: Any,
    ) -> None:
        server_settings = ServerSettings(store="sqlite://", **settings)
        self.app = assemble(
            storage or MemoryStorage(),
            server_settings,
            wrapping=wrapping,
            access=access,
            server=server,
            audit=audit,
            heartbeat_s=heartbeat_s,
            telemetry=telemetry,
            judges=judges,
            index=index,
        )

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        messages: Sequence[dict[str, Any]] = (),
    ) -> Reply:
        """Return the response to a request; ``messages`` are the parts of the body, one by default."""
        status, answered, content = await exchange(self.app, method, path, headers or {}, body, messages=messages)
        return Reply(status, dict(answered), content)

    async def get(self, path: str) -> Reply:
        return await self.ask("GET", path)

    async def delete(self, path: str) -> Reply:
        return await self.ask("DELETE", path)

    async def post(self, path: str, body: Any) -> Reply:
        return await self.ask("POST", path, json.dumps(body).encode(), {"Content-Type": MEDIA_TYPE})

    async def put(self, path: str, body: Any) -> Reply:
        return await self.ask("PUT", path, json.dumps(body).encode(), {"Content-Type": MEDIA_TYPE})

    async def send(self, method: str, path: str, caller: str | None = None, body: Any = None, **headers: str) -> Reply:
        """Return the response to a request of ``caller``, by the name in :mod:`strategies.access.callers`.

        A body is sent as JSON, to a page as a form.
        """
        is_form = path.startswith("/ui/")
        sent = {"Content-Type": FORM_TYPE if is_form else MEDIA_TYPE} if body is not None else {}
        if caller is not None:
            sent["Authorization"] = f"Bearer {caller}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        text = urlencode(body) if is_form and body is not None else json.dumps(body)
        return await self.ask(method, path, None if body is None else text.encode(), sent)

    async def register(self, subject: str, schema: Any, **fields: Any) -> Reply:
        """Register ``schema``, a text or the JSON of one, with further fields of the body."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return await self.post(f"/subjects/{subject}/versions", {"schema": text, **fields})
