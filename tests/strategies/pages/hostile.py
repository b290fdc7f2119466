"""Hostile texts in every place that a text enters a registry."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from strategies.pages.shop import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK: Final = "window.__ran=1"
PAYLOADS: Final = (
    f"<script>{MARK}</script>",
    f"<img src=x onerror={MARK}>",
    f'"><svg onload={MARK}>',
    f"' onmouseover='{MARK}' x='",
    f"javascript:{MARK}",
    "{{ 7*7 }}{% raw %}${7*7}",
    f"</textarea><script>{MARK}</script>",
    f"</title><script>{MARK}</script>",
    "<!--<style>*{display:none}</style>",
    "a\u202eb\u2066c\u200bd\u00ade",
    "p\u0430ypal\ufeff\ufffe",
    "&lt;b&gt;&#0;&#x3c;",
    "x" * 5000,
)
"""Texts with tags, attributes, addresses, template syntax, and characters that change how a text is shown."""


def subject_of(number: int) -> str:
    """Return the name of the subject with a payload in it."""
    return f"s{number} {PAYLOADS[number][:150]}"


def _schema(payload: str, version: int) -> dict[str, Any]:
    fields = [
        {
            "name": "text",
            "type": "string",
            "doc": payload,
            "default": payload,
            "confluent:tags": [payload[:200]],
            payload[:200]: payload[:200],
        },
        {"name": "pick", "type": {"type": "enum", "name": "Pick", "symbols": ["A"], "doc": payload}, "default": "A"},
        {"name": "total", "type": "int" if version == 1 else "long", "doc": payload},
    ]
    return {"type": "record", "name": "Hostile", "doc": f"{payload} {version}", "fields": fields}


def _json_schema(payload: str) -> dict[str, Any]:
    return {
        "$id": f"javascript:{MARK}",
        "title": payload,
        "description": payload,
        "type": "object",
        "properties": {
            payload: {"type": "string", "pattern": "^a$", "description": payload, "default": payload},
            "kind": {"enum": [payload, "b"]},
        },
    }


def hostile_requests() -> Iterator[tuple[str, str, Any, int]]:
    """Yield requests that store the texts: method, path, body and the status of the response."""
    for number, payload in enumerate(PAYLOADS):
        path = f"/subjects/{quote(subject_of(number), safe='')}/versions"
        metadata = {"properties": {payload[:200]: payload}, "tags": {"Hostile.text": [payload[:200]]}}
        rules = {
            "domainRules": [
                {
                    "name": f"rule{number}",
                    "kind": "CONDITION",
                    "mode": "WRITE",
                    "type": "CEL",
                    "expr": payload,
                    "doc": payload,
                }
            ]
        }
        for version in (1, 2):
            body = {"schema": json.dumps(_schema(payload, version)), "metadata": metadata, "ruleSet": rules}
            yield "POST", path, body, 200
        yield "POST", path, {"schema": json.dumps({"type": "string", "doc": payload})}, 409
        yield (
            "POST",
            f"/subjects/j{number}/versions",
            {
                "schema": json.dumps(_json_schema(payload)),
                "schemaType": "JSON",
            },
            200,
        )


def fill_hostile(url: str) -> None:
    """Send the requests to the registry at ``url``; an unexpected status is an error."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    for number, (method, path, body, status) in enumerate(hostile_requests()):
        request_id = f"<img src=x onerror={MARK}> {number}"
        connection.request(method, path, json.dumps(body), {"Content-Type": MEDIA_TYPE, "X-Request-ID": request_id})
        reply = connection.getresponse()
        text = reply.read().decode()
        assert reply.status == status, (path, reply.status, text[:500])
    connection.close()


def hostile_pages() -> Iterator[tuple[str, int]]:
    """Yield the addresses of pages with the texts, and the statuses of their responses."""
    for number, payload in enumerate(PAYLOADS):
        name = subject_of(number)
        subject, text = quote(name, safe=""), quote(payload[:1000], safe="")
        yield f"/ui/subjects/{subject}", 200
        yield f"/ui/subjects/{subject}?tab=changes", 200
        yield f"/ui/subjects/{subject}?tab=refusals", 200
        yield f"/ui/subject?name={subject}&version=2", 200
        for view in ("fields", "source", "raw"):
            yield f"/ui/subjects/{subject}/versions/2?view={view}", 200
        yield f"/ui/subjects/j{number}/versions/1", 200
        yield f"/ui/subjects/j{number}/versions/1?view=source", 200
        yield f"/ui/subjects/{subject}/elements?path=text", 200
        yield f"/ui/compare?from={subject}@1&to={subject}@2", 200
        yield f"/ui/search?q={text}", 200
        yield f"/ui/subjects?prefix={text}", 200
        yield f"/ui/rules?q={text}", 200
        yield f"/ui/changes?actor={text}", 200
        yield f"/ui/subjects?as_of={text}", 400
        yield f"/ui/subjects/{text}", 404
    yield "/ui/", 200
    yield "/ui/subjects", 200
    yield "/ui/changes", 200
    yield "/ui/refusals", 200
