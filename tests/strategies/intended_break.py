"""An intended break: orders get their total as a number of euros instead of cents, in a new version and a new topic.

Each text is a file of a repository, as :data:`BEFORE` and :data:`AFTER` name them.
"""

from __future__ import annotations

from typing import Final

CONTRACT: Final = "contracts/orders.odcs.yaml"
SCHEMA: Final = "schemas/order.avsc"
CONVERTER: Final = "converters/orders_v2_v1.yaml"
BILLING: Final = "consumers/billing.odps.yaml"
BRIDGE: Final = "orders-v2-to-v1"


def contract(version: str, topic: str, total: str, more: str = "") -> str:
    """Return the contract of orders; ``total`` is what is promised of the total."""
    return f"""\
apiVersion: v3.2.0
kind: DataContract
id: orders.placed
version: {version}
status: active
team:
  name: checkout
schema:
  - name: OrderPlaced
    physicalName: {topic}
    authoritativeDefinitions:
      - {{type: schema, url: ../schemas/order.avsc}}
    properties:
{total}{more}"""


CENTS: Final = """\
      - name: total_cents
        logicalType: integer
        required: true
        logicalTypeOptions: {minimum: 0, maximum: 100000000}
"""
EUROS: Final = """\
      - name: total
        logicalType: number
        required: true
        logicalTypeOptions: {minimum: 0, maximum: 1000000}
"""
MIGRATION: Final = """\
customProperties:
  - property: migration
    value:
      - {from: "1", to: "2", converter: ../converters/orders_v2_v1.yaml, sunset: "2999-03-31"}
"""
OLD_SCHEMA: Final = """\
{"type": "record", "name": "OrderPlaced", "namespace": "shop", "fields": [
  {"name": "order_id", "type": "string"},
  {"name": "total_cents", "type": "long"}]}
"""
NEW_SCHEMA: Final = """\
{"type": "record", "name": "OrderPlaced", "namespace": "shop", "fields": [
  {"name": "order_id", "type": "string"},
  {"name": "total", "type": "double"},
  {"name": "shop", "type": "string", "default": ""}]}
"""
BACK: Final = f"""\
bridge: {BRIDGE}
source: {{topic: orders.placed.v2}}
target: {{topic: orders.placed, version: 1}}
fields:
  total_cents: {{expr: "round(total * 100)"}}
drop: [shop]
"""


def product(name: str, major: str, *reads: str) -> str:
    """Return the file of an application that reads orders."""
    listed = "\n".join(f"          - {each}" for each in reads)
    return f"""\
apiVersion: v1.0.0
kind: DataProduct
id: {name}
name: {name}
version: {major}.0.0
status: active
team:
  name: {name}
inputPorts:
  - name: orders
    version: "{major}"
    contractId: orders.placed
    customProperties:
      - property: reads
        value:
{listed}
"""


OLD_READS: Final = ("{path: order_id, required: true}", "{path: total_cents, as: integer, min: 0}")
NEW_READS: Final = ("{path: order_id, required: true}", "{path: total, as: number, min: 0}")

BEFORE: Final = {
    CONTRACT: contract("1.4.0", "orders.placed", CENTS),
    SCHEMA: OLD_SCHEMA,
    BILLING: product("billing", "1", *OLD_READS),
}
AFTER: Final = {
    CONTRACT: contract("2.0.0", "orders.placed.v2", EUROS, MIGRATION),
    SCHEMA: NEW_SCHEMA,
    CONVERTER: BACK,
}
