"""Contracts of one producer and one consumer, published and deployed in a registry: the start of many tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry, Reply

BASE = "/contracts/v1"
PRODUCTION = f"{BASE}/environments/production"
LINK = "./order.avsc"
FIELDS: dict[str, Any] = {
    "order_id": "string",
    "total": "long",
    "status": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"]},
}


def schema(**changes: Any) -> str:
    """Return the schema of orders with changed fields; None removes one."""
    fields = {name: kind for name, kind in {**FIELDS, **changes}.items() if kind is not None}
    listed = []
    for name, kind in fields.items():
        default = {"default": None} if isinstance(kind, list) else {}
        listed.append({"name": name, "type": kind, **default})
    return json.dumps({"type": "record", "name": "Order", "fields": listed})


def promise(
    version: str = "2.1.0",
    *,
    contract: str = "orders",
    unit: str = "EUR.cent",
    about: str = "",
    topic: str = "",
    subject: str = "",
) -> str:
    """Return the file of the producer's contract; by default the topic has its name."""
    properties = [
        {"name": "total", "logicalType": "integer", "customProperties": [{"property": "unit", "value": unit}]}
    ]
    own = {"customProperties": [{"property": "subject", "value": subject}]} if subject else {}
    document = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": contract,
        "version": version,
        "status": "active",
        "description": {"purpose": about},
        "schema": [
            {
                "name": "Order",
                "physicalName": topic or contract,
                "authoritativeDefinitions": [{"type": "schema", "url": LINK}],
                "properties": properties,
                **own,
            }
        ],
    }
    return json.dumps(document)


def expectation(*reads: Any, name: str = "billing", contract: str = "orders", major: str = "2", **more: Any) -> str:
    """Return the file of a consumer; no reads are the whole record."""
    own = [{"property": key, "value": value} for key, value in {"reads": list(reads), **more}.items() if value]
    port = {"name": "input", "version": major, "contractId": contract, "customProperties": own}
    document = {"apiVersion": "v1.0.0", "kind": "DataProduct", "id": name, "status": "active", "inputPorts": [port]}
    return json.dumps(document)


async def publish(registry: InProcessRegistry, application: str, version: str, *contents: Any, **more: Any) -> Reply:
    """Publish contracts: texts, or pairs of a text and the text of its schema."""
    contracts = [
        {"content": each[0], "schemas": {LINK: {"schema": each[1]}}} if isinstance(each, tuple) else {"content": each}
        for each in contents
    ]
    body = {"application": application, "version": version, "contracts": contracts, **more}
    return await registry.post(f"{BASE}/publish", body)


async def deploy(registry: InProcessRegistry, application: str, version: str, **more: Any) -> Reply:
    """Record a deployment to production."""
    return await registry.post(f"{PRODUCTION}/deployments", {"application": application, "version": version, **more})


async def can_deploy(registry: InProcessRegistry, application: str, version: str, **more: str) -> Any:
    """Return the verdict on a deployment to production, and its reasons."""
    query = "".join(f"&{key}={value}" for key, value in more.items())
    reply = await registry.get(
        f"{BASE}/can-i-deploy?application={application}&version={version}&environment=production{query}"
    )
    found = reply.json
    if reply.status != 200:
        return found
    return found["deployable"], [each["reason"] for each in found["reasons"]]


async def live(registry: InProcessRegistry, *reads: Any) -> None:
    """Publish and deploy a producer (shop 1) and a consumer (billing 1)."""
    await registry.put(PRODUCTION, {"production": True})
    assert (await publish(registry, "shop", "1", (promise(), schema()))).status == 200
    assert (await deploy(registry, "shop", "1")).status == 200
    assert (await publish(registry, "billing", "1", expectation(*reads))).status == 200
    assert (await deploy(registry, "billing", "1")).status == 200
