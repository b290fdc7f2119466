"""Operations on the server itself."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

from counterfoil.registry.api.http.json_body import parse_json
from counterfoil.schema.rest.json_values import RequestJson

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call


async def get_root(_: Call) -> Any:
    """Return an empty object, which shows that the server responds."""
    return {}


async def post_root(call: Call) -> Any:
    """Return an empty object for any object of texts in the body."""
    body = await call.raw_body()
    if body.strip():
        RequestJson(parse_json(body)).members()
    return {}


async def get_cluster_id(call: Call) -> Any:
    """Return the id of the registry, and of its Kafka cluster, which is empty if it is not configured."""
    clusters = {"kafka-cluster": call.cases.kafka_cluster_id, "schema-registry-cluster": "counterfoil"}
    return {"scope": {"path": [], "clusters": clusters}}


async def get_server_version(_: Call) -> Any:
    """Return the version of the server."""
    return {"version": metadata.version("counterfoil"), "commitId": "unknown"}


async def get_deployment(_: Call) -> Any:
    """Return the attributes of the deployment: there are none."""
    return {"attributes": []}
