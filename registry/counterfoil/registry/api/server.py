"""Operations on the server itself."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

from counterfoil.registry.api.http.json_body import parse_json
from counterfoil.schema.rest.json_values import RequestJson

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call


async def get_root(_: Call) -> Any:
    """An empty object: the server answers."""
    return {}


async def post_root(call: Call) -> Any:
    """An empty object, whatever map of texts was sent."""
    body = await call.raw_body()
    if body.strip():
        RequestJson(parse_json(body)).object()
    return {}


async def get_cluster_id(call: Call) -> Any:
    """The scope that this server is in: the Kafka cluster that it is for, empty where none is set, and its own name."""
    clusters = {"kafka-cluster": call.cases.kafka_cluster_id, "schema-registry-cluster": "counterfoil"}
    return {"scope": {"path": [], "clusters": clusters}}


async def get_server_version(_: Call) -> Any:
    """The version of the server."""
    return {"version": metadata.version("counterfoil"), "commitId": "unknown"}


async def get_deployment(_: Call) -> Any:
    """The attributes of the deployment: none."""
    return {"attributes": []}
