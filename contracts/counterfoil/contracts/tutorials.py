"""The start of each tutorial: files in an empty folder, and what a registry has before the first step of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines.git import run_git
from counterfoil.contracts.errors import PreconditionFailed

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry


# Files in a folder that was empty, as one commit of a git repository if a tutorial needs one.

BRANCH: Final = "main"
_AUTHOR: Final = ("-c", "user.name=counterfoil", "-c", "user.email=tutorial@counterfoil.invalid")
_UNSIGNED: Final = ("-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null")


@contextmanager
def empty_folder(folder: Path, *, needs_git: bool) -> Iterator[Path]:
    """Yield a folder that is there and empty; one that was made is removed again if the block fails.

    Raises ``PreconditionFailed`` for a folder with something in it, for a file, and if git is needed and missing.
    """
    if needs_git:
        run_git(".", "--version")
    if folder.exists() and not folder.is_dir():
        raise PreconditionFailed(f"{folder} is a file; give a folder that does not exist yet, or an empty one")
    if folder.is_dir() and any(folder.iterdir()):
        raise PreconditionFailed(
            f"{folder} is not empty, and nothing was written; give a folder that does not exist yet, or an empty one"
        )
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    except BaseException:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files, by their paths with ``/`` below the folder; a path that ends in ``/`` is a folder."""
    for path, text in files.items():
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="\n")


def commit_files(folder: Path, message: str) -> None:
    """Make the folder a git repository with one commit on the branch ``main``, of all files in it."""
    run_git(str(folder), "init", "--quiet", f"--initial-branch={BRANCH}")
    run_git(str(folder), "add", "--all")
    run_git(str(folder), *_AUTHOR, *_UNSIGNED, "commit", "--quiet", "--message", message)


# The start of the quick start of the check: an order in a git repository, and a change of it that breaks.

ORDER_SCHEMA_FILE: Final = "schemas/order.avsc"
_ORDER: Final = """{
  "type": "record",
  "name": "Order",
  "namespace": "shop",
  "fields": [
    {"name": "id", "type": "string"},
    {"name": "total", "type": "double"}%s
  ]
}
"""
COMMITTED: Final = _ORDER % ""
CHANGED: Final = _ORDER % ',\n    {"name": "currency", "type": "string"}'


def lay_quickstart(folder: Path) -> str:
    """Make the repository in ``folder``, and return a sentence about it."""
    with empty_folder(folder, needs_git=True):
        write_files(folder, {ORDER_SCHEMA_FILE: COMMITTED})
        commit_files(folder, "the first schema")
        write_files(folder, {ORDER_SCHEMA_FILE: CHANGED})
    return f"{folder} is a git repository with a schema, and a change of it that is not committed"


# The start of the tutorial of a migration: taxi rides whose amount is a number, with a producer and a service.

_BROKER: Final = "kafka:9092"
_REGISTRY: Final = "http://localhost:8081"
_RIDES_SUBJECT: Final = "trips-paid-value"
_SCHEMA: Final = """\
{"type": "record", "name": "Ride", "fields": [
  {"name": "ride_id", "type": "long"},
  {"name": "total_amount", "type": "float"}
]}
"""
_PRODUCER: Final = """\
from confluent_kafka import Producer

from counterfoil.sdk import AvroSerializer, Registry

producer = Producer({"bootstrap.servers": "kafka:9092"})
with Registry("http://localhost:8081") as registry:
    serialize = AvroSerializer(registry, open("ride_v1.avsc").read()).bind("trips-paid")
    for number in range(100):
        ride = {"ride_id": number, "total_amount": number / 4}
        producer.produce("trips-paid", key=str(number), value=serialize(ride))
producer.flush()
"""
_SERVICE: Final = """\
import sys

from confluent_kafka import Consumer

from counterfoil.sdk import AvroDeserializer, Registry

consumer = Consumer({"bootstrap.servers": "kafka:9092", "group.id": "sums", "auto.offset.reset": "earliest"})
consumer.subscribe(["trips-paid"])
with Registry("http://localhost:8081") as registry:
    deserialize = AvroDeserializer(registry)
    total = sum(deserialize(consumer.poll(60).value())["total_amount"] for _ in range(int(sys.argv[1])))
consumer.commit()
consumer.close()
print(f"{sys.argv[1]} rides cost {total:.2f}")
"""
_FILES: Final = {"ride_v1.avsc": _SCHEMA, "old_producer.py": _PRODUCER, "old_service.py": _SERVICE}
"""With the addresses of the page."""


def lay_migration(folder: Path, registry: Registry, *, address: str, brokers: str) -> str:
    """Write the files and register the first schema; return a sentence about both.

    ``address`` is that of the registry, ``brokers`` those of the Kafka cluster, as the programs have them.
    """
    from counterfoil.schema.model import Schema

    with empty_folder(folder, needs_git=False):
        registry.register(_RIDES_SUBJECT, Schema(_SCHEMA))
        texts = {name: text.replace(_BROKER, brokers).replace(_REGISTRY, address) for name, text in _FILES.items()}
        write_files(folder, texts)
    return f"{folder} has a schema, a producer and a service; the registry has the schema as {_RIDES_SUBJECT}"


# The start of the tutorial of an intended break: orders with their total in cents, which billing reads.
#
# The contract, its schema and the consumer are in a git repository; the version 1.0.0 of both applications is live in
# the environment ``production`` of a registry.

CONTRACT: Final = "contracts/orders.odcs.yaml"
SCHEMA: Final = "schemas/order.avsc"
BILLING: Final = "consumers/billing.odps.yaml"


def contract_of_orders(version: str, topic: str, total: str, more: str = "") -> str:
    """Return the contract of orders; ``total`` is the promise about the total."""
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
_ORDERS_SUBJECT: Final = "orders.placed-value"
_LINK: Final = "../schemas/order.avsc"


def lay_intended_break(folder: Path, registry: Registry) -> str:
    """Make the repository in ``folder`` and the start in the registry, and return a sentence about both."""
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

    registry.register(_ORDERS_SUBJECT, Schema(OLD_SCHEMA))
    registry.call(operations.put_environment(Environment(PRODUCTION, is_production=True)))
    of_shop = NewContract(BEFORE[CONTRACT], {_LINK: Schema(OLD_SCHEMA)})
    for application, contract in (("shop", of_shop), ("billing", NewContract(BEFORE[BILLING]))):
        registry.call(operations.publish(NewPublication(application, "1.0.0", (contract,))))
        registry.call(operations.record_deployment(PRODUCTION, application, "1.0.0"))
