"""What a request needs is freed when it ends, without a search for cycles, which a server makes seldom."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.app import create_app
from counterfoil.registry.settings import ServerSettings

if TYPE_CHECKING:
    from pathlib import Path

RULES = """\
anonymous: [{allow: WRITE, on: "*"}]
admins: [User:root]
"""
VALID, INVALID = b'{"schema": "\\"int\\""}', b'{"schema": "\\"no type\\""}'


class Scope(dict[str, Any]):
    """A scope whose end can be seen."""


def scope_of(method: str, path: str, headers: list[tuple[bytes, bytes]]) -> Scope:
    return Scope(
        type="http",
        method=method,
        path=path,
        raw_path=path.encode(),
        query_string=b"",
        headers=[(b"host", b"localhost"), *headers],
        client=("127.0.0.1", 1),
        server=("127.0.0.1", 8081),
        scheme="http",
        http_version="1.1",
    )


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/subjects", [(b"authorization", b"Bearer wrong")], 401),
        ("GET", "/subjects", [(b"authorization", b"Basic !")], 401),
        ("DELETE", "/subjects/s", [], 403),
        ("GET", "/subjects/s/versions/1", [], 404),
        ("GET", "/nothing", [], 404),
        ("PATCH", "/subjects", [], 405),
        ("GET", "/subjects", [(b"accept", b"text/html")], 406),
        ("POST", "/subjects/s/versions", [(b"content-type", b"text/html")], 415),
        ("POST", "/subjects/s/versions", [], 200),
        ("POST", "/subjects/s/versions", [], 422),
        ("POST", "/compatibility/subjects/s/versions/latest", [], 200),
    ],
)
def test_a_request_is_freed_at_its_end(
    method: str, path: str, headers: list[tuple[bytes, bytes]], status: int, tmp_path: Path
) -> None:
    (tmp_path / "access.yaml").write_text(RULES)
    sent: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": (INVALID if status == 422 else VALID) if method == "POST" else b""}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            sent.append(message["status"])

    async def story() -> weakref.ref[Scope]:
        app = create_app(ServerSettings(store="sqlite://", auth_file=str(tmp_path / "access.yaml")))
        await app.prepare()
        scope = scope_of(method, path, headers)
        ended = weakref.ref(scope)
        gc.disable()
        try:
            await app.asgi(scope, receive, send)
            del scope
            await asyncio.sleep(0)
            assert ended() is None
        finally:
            gc.enable()
        return ended

    asyncio.run(story())
    assert sent == [status]
