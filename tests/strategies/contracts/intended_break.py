"""An intended break: orders get their total as a number of euros instead of cents, in a new version and a new topic.

Each text is a file of a repository, as ``BEFORE`` of the tutorial and :data:`AFTER` name them.
"""

from __future__ import annotations

from typing import Final

from counterfoil.contracts.tutorials import BEFORE, BILLING, CENTS, CONTRACT, OLD_READS, OLD_SCHEMA, SCHEMA
from counterfoil.contracts.tutorials import consumer_of_orders as product
from counterfoil.contracts.tutorials import contract_of_orders as contract

__all__ = [
    "AFTER",
    "BACK",
    "BEFORE",
    "BILLING",
    "BRIDGE",
    "CENTS",
    "CONTRACT",
    "CONVERTER",
    "EUROS",
    "MIGRATION",
    "NEW_SCHEMA",
    "OLD_READS",
    "OLD_SCHEMA",
    "SCHEMA",
    "contract",
    "product",
]

CONVERTER: Final = "converters/orders_v2_v1.yaml"
BRIDGE: Final = "orders-v2-to-v1"
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


NEW_READS: Final = ("{path: order_id, required: true}", "{path: total, as: number, min: 0}")

AFTER: Final = {
    CONTRACT: contract("2.0.0", "orders.placed.v2", EUROS, MIGRATION),
    SCHEMA: NEW_SCHEMA,
    CONVERTER: BACK,
}
