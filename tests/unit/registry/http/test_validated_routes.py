"""Routes that FastAPI validates: an invalid request is answered with the error body of the API."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from fastapi import Query
from pydantic import BaseModel, Field
from starlette.applications import Starlette

from counterfoil.registry.http.access import MEMBER, CasesOfRequest
from counterfoil.registry.http.answers import Dialects
from counterfoil.registry.http.envelope import REQUEST_ID_KEY, ROUTE_HOLDER
from counterfoil.registry.http.request import expected
from counterfoil.registry.http.route import DeclaredRoute, ValidatedRoute
from counterfoil.registry.in_process import exchange
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.use_cases import use_cases
from counterfoil.schema import errors


class Rule(BaseModel):
    """A part of a body."""

    name: str
    weight: int = Field(1, ge=1)


class RulesBody(BaseModel):
    """A body."""

    rules: list[Rule]


class CountBody(BaseModel):
    """An answer; what is null is left out."""

    rules: int
    contexts: int
    limit: int
    note: str | None = None


async def count_rules(
    cases: CasesOfRequest,
    body: RulesBody,
    limit: Annotated[int, Query(ge=1), expected("a number from 1", empty=7)] = 5,
) -> CountBody:
    """How many rules there are, and how many contexts the store has."""
    if not body.rules:
        raise errors.SubjectNotFound("There are no rules")
    return CountBody(rules=len(body.rules), contexts=len(await cases.catalog.contexts()), limit=limit)


ROUTE = ValidatedRoute(
    "POST", "/rules", count_rules, access=MEMBER, tag="rules", result=CountBody, errors=(errors.SubjectNotFound,)
)
GOOD = b'{"rules":[{"name":"a"},{"name":"b","weight":2}]}'


def ask(body: bytes, query: str = "", **headers: str) -> tuple[int, str, Any]:
    """Status, media type and value of the answer."""
    app = Starlette(routes=[ROUTE])
    app.state.services = SimpleNamespace(
        cases=use_cases(MemoryStorage()),
        replies=None,
        dialects=Dialects(),
        max_body_bytes=100,
        telemetry=None,
        refusal_pages="",
    )

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, ROUTE_HOLDER: [""], REQUEST_ID_KEY: b"id"}, receive, send)

    status, answered, text = asyncio.run(exchange(routed, "POST", f"/rules?{query}", headers, body))
    return status, answered["content-type"], json.loads(text)


@pytest.mark.parametrize("content_type", ["application/json", "application/octet-stream", ""])
def test_a_valid_request_reaches_its_endpoint(content_type: str) -> None:
    headers = {"Content-Type": content_type, "Accept": "application/json"}
    assert ask(GOOD, **headers) == (200, "application/json", {"rules": 2, "contexts": 1, "limit": 5})
    assert ask(GOOD, "limit=3", **headers)[2]["limit"] == 3
    assert ask(GOOD, "limit=", **headers)[2]["limit"] == 7


@pytest.mark.parametrize(
    ("body", "query", "code", "message"),
    [
        (GOOD, "limit=0", 400, "limit is '0'; expected a number from 1"),
        (b'{"rules":[{"name":"a"},{"weight":1}]}', "", 400, "rules[1].name is missing"),
        (
            b'{"rules":[{"name":"a","weight":0}]}',
            "",
            400,
            "rules[0].weight is 0; expected at least 1",
        ),
        (b"[]", "", 400, "The request body is []; expected an object"),
        (b"{", "", 400, "The request body is not JSON"),
        (b"", "", 422, "The request has no body"),
        (b" " * 101, "", 413, "larger than 100 bytes"),
        (b'{"rules":[]}', "", 40401, "There are no rules"),
    ],
)
def test_what_is_wrong_is_reported_in_one_error_body(body: bytes, query: str, code: int, message: str) -> None:
    status, media_type, value = ask(body, query)
    assert (status, media_type) == (int(str(code)[:3]), "application/vnd.schemaregistry.v1+json")
    assert value["error_code"] == code
    assert message in value["message"]


def test_what_such_a_route_does_not_take() -> None:
    assert ask(GOOD, "as_of=1")[2]["message"].startswith("as_of is not possible for POST /rules")
    assert ask(GOOD, **{"Content-Type": "text/plain"})[0] == 415
    assert ask(GOOD, Accept="text/html")[0] == 406


def test_a_route_without_its_errors_or_its_access_is_not_declared() -> None:
    with pytest.raises(TypeError, match="errors"):
        ValidatedRoute("POST", "/rules", count_rules, access=MEMBER, tag="rules")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="access"):
        ValidatedRoute("POST", "/rules", count_rules, errors=(), tag="rules")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="access"):
        DeclaredRoute("GET", "/rules", count_rules)  # type: ignore[call-arg]
