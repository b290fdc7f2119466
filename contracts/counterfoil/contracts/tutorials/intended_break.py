"""The start of the tutorial of an intended break: orders with their total in cents, which billing reads.

The contract, its schema and the consumer are in a git repository; the version 1.0.0 of both applications is live in the
environment ``production`` of a registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.tutorials.laying import commit_files, empty_folder, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.sdk.client import Registry

CONTRACT: Final = "contracts/orders.odcs.yaml"
SCHEMA: Final = "schemas/order.avsc"
BILLING: Final = "consumers/billing.odps.yaml"


def contract_of_orders(version: str, topic: str, total: str, more: str = "") -> str:
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
OLD_SCHEMA: Final = """\
{"type": "record", "name": "OrderPlaced", "namespace": "shop", "fields": [
  {"name": "order_id", "type": "string"},
  {"name": "total_cents", "type": "long"}]}
"""


def consumer_of_orders(name: str, major: str, *reads: str) -> str:
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

BEFORE: Final = {
    CONTRACT: contract_of_orders("1.4.0", "orders.placed", CENTS),
    SCHEMA: OLD_SCHEMA,
    BILLING: consumer_of_orders("billing", "1", *OLD_READS),
}
PRODUCTION: Final = "production"
_SUBJECT: Final = "orders.placed-value"
_LINK: Final = "../schemas/order.avsc"


def lay_intended_break(folder: Path, registry: Registry) -> str:
    """Make the repository in ``folder`` and the start in the registry, and return what was made as a sentence."""
    with empty_folder(folder, needs_git=True):
        make_live(registry)
        write_files(folder, {**BEFORE, "converters/": "", "converter/": ""})
        commit_files(folder, "orders in cents")
    return (
        f"{folder} is a git repository with the contract orders.placed; shop 1.0.0 and billing 1.0.0 are live in "
        f"{PRODUCTION} in the registry"
    )


def make_live(registry: Registry) -> None:
    """Register the first version of the schema, publish both applications, and record them as deployed."""
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
    from counterfoil.sdk import operations

    registry.register(_SUBJECT, Schema(OLD_SCHEMA))
    registry.call(operations.put_environment(Environment(PRODUCTION, is_production=True)))
    of_shop = NewContract(BEFORE[CONTRACT], {_LINK: Schema(OLD_SCHEMA)})
    for application, contract in (("shop", of_shop), ("billing", NewContract(BEFORE[BILLING]))):
        registry.call(operations.publish(NewPublication(application, "1.0.0", (contract,))))
        registry.call(operations.record_deployment(PRODUCTION, application, "1.0.0"))
