"""What a reader of a page would have: repositories with a change, registries with a history, topics to bridge."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from counterfoil.sdk import AvroSerializer, Registry
from strategies.access.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from strategies.docs.stage import Stage

RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}\n'
ORDER = """{
  "type": "record",
  "name": "Order",
  "namespace": "shop",
  "fields": [
    {"name": "id", "type": "string"},
    {"name": "total", "type": "%s"}%s
  ]
}
"""
MONEY = '{"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "amount", "type": "%s"}]}\n'
NOTE = ',\n    {"name": "note", "type": ["null", "string"], "default": null}'
CONTRACT = (
    "{apiVersion: v3.1.0, kind: DataContract, id: orders, version: 1.0.0, status: active,\n"
    " schema: [{name: Order, physicalName: orders,\n"
    "           authoritativeDefinitions: [{type: schema, url: order.avsc}]}]}\n"
)
UNITS = """apiVersion: v3.1.0
kind: DataContract
id: orders
version: %s
status: active
schema:
  - name: Order
    physicalName: orders
    properties:
      - name: total
        logicalType: integer
        customProperties:
          - {property: unit, value: %s}
%s"""
PRODUCT = (
    "{{apiVersion: v1.0.0, kind: DataProduct, id: {0}, name: {0}, version: {1}, status: active,\n"
    " inputPorts: [{{name: orders, version: '1', contractId: orders,\n"
    "               customProperties: [{{property: reads, value: [{2}]}}]}}]}}\n"
)
CUSTOMER = """{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "$id": "https://example.com/customer.schema.json",
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "name": {"type": "string"},
    "email": {"type": "string"}
  },
  "additionalProperties": false,
  "required": ["id"%s]
}
"""
PROTO = """syntax = "proto3";

package shop;

// An order of the shop.

// It has a total.
message Order {
  string %s = 1;
  %s total = 2;
  string note = 3;
  int64 placed = 4;%s
}
"""


def certificates_of_server_and_clients(stage: Stage) -> None:
    """Make a certificate of the server, the authority of clients with its list, and an access file."""
    Authority(stage.folder).issue("server")
    Authority(stage.folder, "clients").revoke()
    (stage.folder / "access.yaml").write_text("admins: ['User:cert:alice']\n")


def an_empty_folder(_: Stage) -> None:
    """Make nothing: the page makes its files itself."""


def rides_repository(stage: Stage) -> None:
    """Make a schema folder with a compatible change."""
    later = RIDE.replace("]}", ', {"name": "tip", "type": ["null", "double"], "default": null}]}')
    _changed(stage.folder, {"schemas/ride.avsc": RIDE}, {"schemas/ride.avsc": later})


def order_changed(stage: Stage) -> None:
    """Make an order whose total became narrower."""
    _changed(stage.folder, {"order.avsc": ORDER % ("long", NOTE)}, {"order.avsc": ORDER % ("int", NOTE)})


def money_of_six_hundred_orders_changed(stage: Stage) -> None:
    """Make a type narrower that six hundred schemas refer to."""
    orders = {
        f"order{number}.avsc": ORDER.replace('"Order"', f'"Order{number}"') % ("Money", "") for number in range(600)
    }
    _changed(stage.folder, {"money.avsc": MONEY % "long", **orders}, {"money.avsc": MONEY % "int"})


def customer_and_order_changed(stage: Stage) -> None:
    """Make a JSON schema that requires more, and a Protobuf field of another type."""
    still = {"still.avsc": RIDE}
    before = {"customer.schema.json": CUSTOMER % "", "shop/order.proto": PROTO % ("id", "int64", "")}
    after = {"customer.schema.json": CUSTOMER % ', "email"', "shop/order.proto": PROTO % ("id", "string", "")}
    _changed(stage.folder, {**before, **still}, after)


def offer_with_two_lines(stage: Stage) -> None:
    """Make an import that two files match."""
    offer = 'syntax = "proto3";\npackage shop;\n\n// What the line is, the import says.\nimport "shop/line.proto";\n'
    line = 'syntax = "proto3";\npackage shop;\nmessage Line { int32 n = %d; }\n'
    lines = {f"{folder}/shop/line.proto": line % number for number, folder in enumerate("ab", 1)}
    _changed(stage.folder, lines, {"shop/offer.proto": offer + "message Offer { Line line = 1; }\n"})


def a_note_that_billing_reads(stage: Stage) -> None:
    """Make a contract and two consumers, and remove a field that one of them reads."""
    files = {
        "order.avsc": ORDER % ("long", NOTE),
        "orders.odcs.yaml": CONTRACT,
        "consumers/billing.odps.yaml": PRODUCT.format("billing", "4.7.1", "id, note"),
        "consumers/audit.odps.yaml": PRODUCT.format("audit", "1.2.0", "id"),
    }
    _changed(stage.folder, files, {"order.avsc": ORDER % ("long", "")})


def a_note_that_live_billing_reads(stage: Stage) -> None:
    """Make a producer and a consumer that are live in a registry, and a repository that removes a field of theirs."""
    files = {"order.avsc": ORDER % ("long", NOTE), "orders.odcs.yaml": CONTRACT}
    _changed(stage.folder, files, {"order.avsc": ORDER % ("long", "")})
    url = stage.url()
    send(url, "PUT", "/contracts/v1/environments/production", {"production": True})
    of_shop = {"content": CONTRACT, "schemas": {"order.avsc": {"schema": files["order.avsc"]}}}
    of_billing = {"content": PRODUCT.format("billing", "4.7.1", "id, note")}
    for application, version, contract in (("shop", "1.4.0", of_shop), ("billing", "4.7.1", of_billing)):
        live = {"application": application, "version": version}
        send(url, "POST", "/contracts/v1/publish", {**live, "contracts": [contract]})
        send(url, "POST", "/contracts/v1/environments/production/deployments", live)


def decimal_became_finer(stage: Stage) -> None:
    """Make two files to compare."""
    for name, scale in (("old", 2), ("new", 4)):
        fare = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}
        ride = {"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": fare}]}
        (stage.folder / f"{name}.avsc").write_text(json.dumps(ride, indent=1))


def a_file_without_a_subject(stage: Stage) -> None:
    """Make three files that are named after registered subjects, and change one of them."""
    for number in range(3):
        send(stage.url(), "POST", f"/subjects/part{number}-value/versions", {"schema": RIDE})
    files = {f"part{number}-value.avsc": RIDE for number in range(3)}
    _changed(stage.folder, files, {"part0.avsc": '"string"\n'})


def changes_to_tell(stage: Stage) -> None:
    """Make an order, a message and a contract that changed in several ways."""
    before = {
        "order.avsc": ORDER % ("long", NOTE),
        "shop/order.proto": PROTO % ("id", "int64", ""),
        "orders.odcs.yaml": UNITS % ("1.0.0", "EUR.cent", ""),
    }
    after = {
        "order.avsc": ORDER % ("int", ""),
        "shop/order.proto": PROTO % ("key", "string", "\n  bool paid = 5;"),
        "orders.odcs.yaml": UNITS % ("1.1.0", "EUR", "      - name: note\n"),
    }
    _changed(stage.folder, before, after)


def a_commit_behind(stage: Stage) -> None:
    """Make a repository with two commits, of which the last one is compatible."""
    rides_repository(stage)
    _git(stage.folder, "add", ".")
    _git(stage.folder, "commit", "-q", "-m", "a tip")


def fifty_changes(stage: Stage) -> None:
    """Fill a registry with changes."""
    send(stage.url(), "PUT", "/config/orders-value", {"compatibility": "NONE"})
    for number in range(50):
        schema = {"type": "fixed", "name": "F", "size": number + 1}
        send(stage.url(), "POST", "/subjects/orders-value/versions", {"schema": json.dumps(schema)})


def rides_registered(stage: Stage) -> None:
    """Register a schema."""
    send(stage.url(), "POST", "/subjects/rides-value/versions", {"schema": RIDE})


def orders_to_register(stage: Stage) -> None:
    """Make a folder with an order and the type that it refers to, and a registry without schemas."""
    files = {"schemas/common/money.avsc": MONEY % "long", "schemas/orders-value.avsc": ORDER % ("Money", "")}
    _write(stage.folder, files)
    stage.environment["COUNTERFOIL_REGISTRY_URL"] = stage.url("orders")


def orders_to_publish(stage: Stage) -> None:
    """Make the files of a producer and of a consumer, and an environment."""
    files = {
        "shop/order.avsc": ORDER % ("long", NOTE),
        "shop/orders.odcs.yaml": CONTRACT,
        "billing/billing.odps.yaml": PRODUCT.format("billing", "4.7.1", "id, note"),
    }
    _write(stage.folder, files)
    stage.environment["COUNTERFOIL_REGISTRY_URL"] = stage.url()
    send(stage.url(), "PUT", "/contracts/v1/environments/production", {"production": True})


def the_note_removed(stage: Stage) -> None:
    """Make the next version of the producer's files, without a field."""
    contract = CONTRACT.replace("version: 1.0.0", "version: 1.1.0")
    _write(stage.folder, {"shop/order.avsc": ORDER % ("long", ""), "shop/orders.odcs.yaml": contract})


def schemas_of_a_project(stage: Stage) -> None:
    """Make the schema files that the project file of docs/plan.md maps."""
    files = {"order": ORDER % ("Money", ""), "frozen/rides-value": RIDE, "common/money": MONEY % "long"}
    _write(stage.folder, {f"schemas/{name}.avsc": text for name, text in files.items()})


def orders_registered(stage: Stage) -> None:
    """Register an order."""
    stage.environment["COUNTERFOIL_REGISTRY_URL"] = stage.url("orders")
    send(stage.url("orders"), "POST", "/subjects/orders-value/versions", {"schema": ORDER % ("long", "")})


def a_written_ride(stage: Stage) -> None:
    """Register the schema of the message that the page decodes, and write the schema of a reader."""
    fare = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
    fields = [{"name": "id", "type": "string"}, {"name": "fare", "type": fare}, {"name": "raw", "type": "bytes"}]
    ride = {"type": "record", "name": "Ride", "namespace": "taxi"}
    body = {"schema": json.dumps({**ride, "fields": fields})}
    send(stage.url("rides"), "POST", "/subjects/rides-value/versions", body)
    later = [fields[0], {"name": "tip", "type": "long", "default": 0}]
    (stage.folder / "ride-v2.avsc").write_text(json.dumps({**ride, "fields": later}))
    stage.environment["COUNTERFOIL_REGISTRY_URL"] = stage.url("rides")


def a_topic_of_rides(stage: Stage) -> None:
    """Make a topic with the message that the page decodes, and a tombstone."""
    a_written_ride(stage)
    stage.broker.create_topic("trips", partitions=1)
    message = bytes.fromhex("000000000102610403a20201")
    stage.produce("trips", [(b"a", message), (b"b", None)])


def a_filled_database(stage: Stage) -> None:
    """Make a PostgreSQL store with a schema in it."""
    with stage.serving(stage.database()) as url:
        send(url, "POST", "/subjects/rides-value/versions", {"schema": RIDE})


def two_registries(stage: Stage) -> None:
    """Fill an old registry, and a new one with the same content."""
    for name in ("old", "new"):
        send(stage.url(name), "POST", "/subjects/rides-value/versions", {"schema": RIDE})


def a_schemas_topic(stage: Stage) -> None:
    """Make the topic in which another registry stores its schemas."""
    key = {"keytype": "SCHEMA", "subject": "rides-value", "version": 1, "magic": 1}
    value = {"subject": "rides-value", "version": 1, "id": 1, "schema": RIDE, "deleted": False}
    stage.broker.create_topic("_schemas", partitions=1)
    stage.produce("_schemas", [(json.dumps(key).encode(), json.dumps(value).encode())])


def taxi_topics(stage: Stage) -> None:
    """Make the topics of docs/adapters.md, with three rides and a message that cannot be read."""
    _rides_in(stage, "taxi-rides", "taxi-rides.dead-letters", "taxi-rides.new", "fares")


def a_topic_to_sketch(stage: Stage) -> None:
    """Make the topic of docs/sketches.md, with three rides and a message that cannot be read."""
    _rides_in(stage, "city-rides")
    stage.environment.update(
        COUNTERFOIL_REGISTRY_URL=stage.url(), COUNTERFOIL_BOOTSTRAP_SERVERS=stage.broker.bootstrap_servers
    )


def trip_topics(stage: Stage) -> None:
    """Make the topics of docs/stream-frameworks.md, likewise."""
    _rides_in(stage, "taxi-trips", "taxi-trips.dead-letters", "trip-fares")


def _rides_in(stage: Stage, topic: str, *more: str) -> None:
    for each in (topic, *more):
        stage.broker.create_topic(each)
    with Registry(stage.url()) as registry:
        schema = '{"type": "record", "name": "Ride", "fields": [{"name": "total_amount", "type": "double"}]}'
        serialize = AvroSerializer(registry, schema).bind(topic)
        rides = [(b"1", serialize({"total_amount": amount})) for amount in (9.3, 27.8, 66.36)]
        stage.produce(topic, [*rides, (b"1", b"no frame")])


def a_topic_to_bridge(stage: Stage) -> None:
    """Make the topics, schemas and records of docs/bridge.md, and its bridge file."""
    from counterfoil.schema import Schema
    from counterfoil.sdk import AvroSerializer, Registry

    for topic in ("rides", "rides-v2"):
        stage.broker.create_topic(topic, partitions=2)
    with Registry(stage.url("bridge")) as registry:
        for size in range(4):
            registry.register("rides-value", Schema(json.dumps(_target(size))))
        serialize = AvroSerializer(registry, json.dumps(_SOURCE)).bind("rides-v2")
        rides = [serialize(_ride(number)) for number in range(200)]
    stage.produce("rides-v2", [(str(number).encode(), ride) for number, ride in enumerate(rides)])
    (stage.folder / "bridge.yaml").write_text(stage.file_of("docs/bridge.md", "bridge.yaml"))
    stage.environment.update(
        COUNTERFOIL_REGISTRY_URL=stage.url("bridge"), COUNTERFOIL_BOOTSTRAP_SERVERS=stage.broker.bootstrap_servers
    )


_SOURCE: dict[str, Any] = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "vendor", "type": {"type": "enum", "name": "Vendor", "symbols": ["CMT", "VERIFONE"]}},
        {"name": "pickup_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "distance_km", "type": "double"},
        {"name": "passengers", "type": ["null", "int"]},
        {"name": "fare", "type": "double"},
        {"name": "driver_note", "type": "string"},
    ],
}


def _target(extra: int) -> dict[str, Any]:
    """Return the target's schema, with ``extra`` fields more than its first version."""
    kinds = {"vendor_id": "int", "pickup": "string", "distance_miles": "double", "passenger_count": "int"}
    fields: list[dict[str, Any]] = [{"name": name, "type": kind} for name, kind in {**kinds, "fare": "double"}.items()]
    fields += [{"name": f"spare_{number}", "type": ["null", "int"], "default": None} for number in range(extra)]
    return {"type": "record", "name": "Ride", "fields": fields}


def _ride(number: int) -> dict[str, Any]:
    return {
        "vendor": ("CMT", "VERIFONE")[number % 2],
        "pickup_at": datetime(2026, 7, 1, 12, number % 60, tzinfo=UTC),
        "distance_km": number / 7,
        "passengers": None if number % 5 == 0 else number % 4,
        "fare": number + 0.5,
        "driver_note": "",
    }


def send(url: str, method: str, path: str, body: Any) -> Any:
    """Return the registry's response."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}{path}", json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def _changed(folder: Path, before: dict[str, str], after: dict[str, str]) -> None:
    """Make a repository whose branch ``main`` has ``before``; on another branch the working tree also has ``after``."""
    _git(folder, "init", "-q", "-b", "main")
    _write(folder, before)
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "before")
    _git(folder, "switch", "-q", "-c", "change")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "begun")
    _write(folder, after)


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


SETUPS: dict[str, Callable[[Stage], None]] = {
    each.__name__: each
    for each in (
        certificates_of_server_and_clients,
        an_empty_folder,
        rides_repository, order_changed, money_of_six_hundred_orders_changed, customer_and_order_changed,
        offer_with_two_lines, a_note_that_billing_reads, a_note_that_live_billing_reads, decimal_became_finer,
        a_file_without_a_subject,
        changes_to_tell, a_commit_behind, fifty_changes, rides_registered, a_filled_database, two_registries,
        a_schemas_topic, a_topic_to_bridge, a_topic_to_sketch, taxi_topics, trip_topics,
        orders_to_register, orders_registered, orders_to_publish, the_note_removed, schemas_of_a_project,
        a_written_ride, a_topic_of_rides,
    )
}  # fmt: skip
