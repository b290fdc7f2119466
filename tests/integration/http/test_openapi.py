"""Requests made from our own OpenAPI description: no 500, no code and no body that it does not describe."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from counterfoil.registry.app import ROUTES
from counterfoil.registry.http.route import ApiRoute
from counterfoil.registry.http.server_routes import Description
from counterfoil.schema import errors
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

KNOWN = {
    "subject": ("known", ":.other:known", ":.other:"),
    "version": ("1", "latest", "-1"),
    "id": (1, 2, 3),
    "name": ("kek",),
}
SCHEMAS = ('"int"', '{"type":"record","name":"R","fields":[]}', '{"type":"enum","name":"E","symbols":["A"]}')
KEY_WRAP_FAILED = errors.KeyWrapFailed("")
DESCRIBED = [route for route in ROUTES if route.include_in_schema]


def is_no_failure_of_ours(context: Any, response: Any, case: Case) -> bool | None:
    """No 500, but for a key management service that fails: Confluent's clients know that by status 500 and its code."""
    if response.status_code == KEY_WRAP_FAILED.status and response.json()["error_code"] == KEY_WRAP_FAILED.code:
        return None
    from schemathesis import checks

    return checks.not_a_server_error(context, response, case)


async def fill(registry: InProcessRegistry) -> str:
    """Something to find, and its guid."""
    guid = ""
    for subject in ("known", ":.other:known"):
        for schema in SCHEMAS[:1]:
            guid = (await registry.register(subject, schema)).json["guid"]
    kek = {"name": "kek", "kmsType": "local-kms", "kmsKeyId": "k", "shared": False}
    assert (await registry.post("/dek-registry/v1/keks", kek)).status == 200
    await registry.put("/config/known", {"compatibility": "NONE"})
    return guid


@pytest.fixture(scope="module")
def registry() -> InProcessRegistry:
    """A registry for all tests of this file."""
    return InProcessRegistry()


@pytest.fixture(scope="module")
def api(registry: InProcessRegistry) -> BaseSchema:
    """The registry's own description of its API, and the registry for requests."""
    import schemathesis  # the package takes seconds, and this file alone needs it

    async def always_running(scope: Any, receive: Any, send: Any) -> None:
        """The registry, which does not stop after each request, as the client of these tests would have it."""
        if scope["type"] == "http":
            await registry.app(scope, receive, send)
            return
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})

    guid = asyncio.run(fill(registry))
    config = schemathesis.Config.from_dict({"phases": {"coverage": {"enabled": False}}})
    described = schemathesis.openapi.from_asgi("/openapi.json", always_running, config=config)

    @described.hook
    def map_path_parameters(_: Any, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
        """Half of the names are of what is there."""
        for name, value in (parameters or {}).items():
            known = (guid,) if name == "guid" else KNOWN.get(name, ())
            draw = sum(map(ord, str(value)))
            if known and draw % 2 == 0:
                parameters[name] = known[draw // 2 % len(known)]
        return parameters

    @described.hook
    def map_body(_: Any, body: Any) -> Any:
        """Half of the schemas can be read."""
        if isinstance(body, dict) and "schema" in body:
            draw = sum(map(ord, str(body["schema"])))
            if draw % 2 == 0:
                body["schema"] = SCHEMAS[draw // 2 % len(SCHEMAS)]
                body.pop("schemaType", None)
        return body

    return described


@pytest.mark.parametrize(("method", "path"), [(each.method, each.path_format) for each in DESCRIBED])
def test_what_is_answered_is_described(api: BaseSchema, method: str, path: str) -> None:
    from schemathesis.specs.openapi import checks

    found = [
        is_no_failure_of_ours,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.allow_header_conformance,
    ]

    @settings(
        max_examples=int(os.environ.get("COUNTERFOIL_EXAMPLES") or 5),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(api[path][method].as_strategy())
    def check_answers(case: Case) -> None:
        case.call_and_validate(checks=found)

    check_answers()


@pytest.fixture(scope="module")
def paths() -> dict[str, Any]:
    """The operations of the description, by path and method."""
    described: dict[str, Any] = Description(ROUTES).document["paths"]
    return described


def test_every_route_says_which_codes_it_answers(paths: dict[str, Any]) -> None:
    for route in ROUTES:
        if isinstance(route, ApiRoute):
            responses = paths[route.path_format][route.method.lower()]["responses"]
            assert "406" in responses
            assert ("415" in responses) == (route.method in {"POST", "PUT"})
    assert {(method.upper(), path) for path, found in paths.items() for method in found} == {
        (route.method, route.path_format) for route in DESCRIBED
    }


def test_the_codes_are_in_the_description(paths: dict[str, Any]) -> None:
    responses = paths["/subjects/{subject}/versions"]["post"]["responses"]
    for kind in (errors.IncompatibleSchema, errors.InvalidSchema, errors.OperationNotPermitted, errors.MissingBody):
        assert f"`{kind.code}`" in responses[str(int(kind.status))]["description"]


@pytest.mark.parametrize("path", ["/openapi.json", "/metrics"])
def test_the_description_and_the_measures_are_served(registry: InProcessRegistry, path: str) -> None:
    reply = asyncio.run(registry.get(path))
    assert reply.status == 200
    assert path == "/metrics" or json.loads(reply.text)["openapi"].startswith("3.")
