"""Recorded requests to the reference registry with its responses, as requests to ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings" / "rest.dev.jsonl"

Step: TypeAlias = dict[str, Any]
"""A request and its response: method ``m``, ``path``, ``body`` or ``raw``, ``headers``, and what was answered."""


def sequences() -> list[dict[str, Any]]:
    with RECORDINGS.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


async def fill(registry: InProcessRegistry, next_id: int) -> None:
    """Register schemas of no interest until ``next_id`` is the next id: the recorded registry was not empty."""
    for number in range(1, next_id):
        reply = await registry.register(
            f"filler-{number}", {"type": "fixed", "name": f"Filler{number}", "size": number}
        )
        assert reply.status == 200


def is_reading(step: Step) -> bool:
    """Whether the request changes nothing: what is read, looked up or tested."""
    path = step["path"].partition("?")[0]
    if step["m"] == "POST":
        return "/compatibility/" in path or not path.endswith(("/versions", "/tags"))
    return bool(step["m"] == "GET")


def request_of(step: Step) -> tuple[str, bytes | None, dict[str, str]]:
    path, body = step["path"], step.get("body")
    data = step["raw"].encode() if "raw" in step else None if body is None else json.dumps(body).encode()
    headers = {} if data is None else {"Content-Type": MEDIA_TYPE}
    for name, value in step.get("headers", {}).items():
        if value is None:
            headers.pop(name, None)
        else:
            headers[name] = value
    return path, data, headers
