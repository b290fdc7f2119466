"""The rides of the benchmarks as Avro, JSON and Protobuf: schemas, plans, values, and the loop's (de)serializers.

Those of Avro are in ``rides.py``. JSON and Protobuf have no enums and points in time of Avro's kind; there the plan
renames and copies 17 fields, looks up two, computes one, replaces a null, adds a constant and leaves two out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from base64 import b64encode
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import rides

from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.schema.plans.model import ConversionPlan
    from counterfoil.schema.plans.rules import PlanRules

_KIND_BY_FIELD = {
    "vendor": "string",
    "ride_id": "string",
    "pickup_at": "integer",
    "dropoff_at": "integer",
    "passengers": "integer",
    "distance_km": "number",
    "rate_code": "integer",
    "zone_from": "integer",
    "zone_to": "integer",
    "payment": "string",
    **dict.fromkeys(("fare", "extra", "mta_tax", "tip", "tolls", "surcharge", "total"), "number"),
    "is_shared": "boolean",
    "airport": "string",
    "driver_note": "string",
    "meter": "integer",
}
_RENAMED = {
    "vendor": "vendor_id",
    "ride_id": "id",
    "pickup_at": "pickup",
    "dropoff_at": "dropoff",
    "passengers": "passenger_count",
    "distance_km": "distance_miles",
}
_TARGET_KIND_BY_FIELD = {
    **{_RENAMED.get(name, name): kind for name, kind in _KIND_BY_FIELD.items() if name not in rides.DROPPED},
    "vendor_id": "integer",
    "origin": "string",
}
_RULES = {
    **{name: rule for name, rule in rides.RULES.items() if name not in {"pickup", "dropoff"}},
    "pickup": {"from": "pickup_at"},
    "dropoff": {"from": "dropoff_at"},
}
_PROTOBUF_TYPES = {"string": "string", "integer": "int64", "number": "double", "boolean": "bool"}


@dataclass(frozen=True)
class Language:
    """The rides in one language; ``schemas`` are source and target as the loop's registry has them.

    ``loop_codec`` takes a client of the loop's registry, and returns what decodes, converts and encodes a value.
    """

    name: str
    schemas: tuple[str, str]
    plan: Callable[[], ConversionPlan]
    rules: Callable[[], PlanRules]
    encode: Callable[[dict[str, Any]], bytes]
    loop_codec: Callable[[Any], tuple[Callable[..., Any], Callable[[Any], Any], Callable[..., bytes]]] = field(
        repr=False
    )

    def values(self, count: int, *, broken_share: float = 0.0) -> Iterator[bytes]:
        """Yield framed rides; a share of them is cut off."""
        chooser = Random(7)
        for number in range(count):
            value = frame(rides.SOURCE_ID, self.encode(rides.ride(chooser, number)))
            yield value[:-3] if chooser.random() < broken_share else value


def language(name: str) -> Language:
    """Return the rides as ``avro``, ``json`` or ``protobuf``."""
    return {"avro": _avro, "json": _json, "protobuf": _protobuf}[name]()


def _plan(parse: Callable[[str], Any], schemas: tuple[str, str]) -> Callable[[], ConversionPlan]:
    return lambda: derive_plan(parse(schemas[0]), parse(schemas[1]), parse_rules(_RULES, rides.DROPPED))


def _avro() -> Language:
    def codec(registry: Any) -> Any:
        from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer

        conf = {"auto.register.schemas": False, "use.latest.version": True}
        return AvroDeserializer(registry), rides.converted, AvroSerializer(registry, schemas[1], conf=conf)

    schemas = (json.dumps(rides.SOURCE), json.dumps(rides.TARGET))
    return Language("avro", schemas, rides.plan, rides.rules, rides.encode, codec)


def _json() -> Language:
    def codec(registry: Any) -> Any:
        from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer

        conf = {"auto.register.schemas": False, "use.latest.version": True}
        return (
            JSONDeserializer(schemas[0], schema_registry_client=registry),
            _converted,
            JSONSerializer(schemas[1], registry, conf=conf),
        )

    schemas = (_json_schema("Ride", _KIND_BY_FIELD), _json_schema("TaxiRide", _TARGET_KIND_BY_FIELD))
    rules = parse_rules(_RULES, rides.DROPPED)
    return Language(
        "json", schemas, _plan(parse_json_schema, schemas), lambda: rules, lambda ride: json.dumps(ride).encode(), codec
    )


def _json_schema(title: str, kind_by_field: dict[str, str]) -> str:
    properties = {
        name: {"type": [kind, "null"] if name == "passengers" else kind} for name, kind in kind_by_field.items()
    }
    return json.dumps(
        {
            "type": "object",
            "title": title,
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


def _protobuf() -> Language:
    schemas = (_proto("Ride", _KIND_BY_FIELD), _proto("TaxiRide", _TARGET_KIND_BY_FIELD))
    ride_class, target_class = (
        _message_class(name, text) for name, text in zip(("Ride", "TaxiRide"), schemas, strict=True)
    )

    def encode(ride: dict[str, Any]) -> bytes:
        body: bytes = ride_class(
            **{name: value for name, value in ride.items() if value is not None}
        ).SerializeToString()
        return b"\x00" + body  # the first message of its file

    def convert(ride: Any) -> Any:
        return target_class(**_converted({name: getattr(ride, name) for name in _KIND_BY_FIELD}))

    def codec(registry: Any) -> Any:
        from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer

        conf = {"auto.register.schemas": False, "use.latest.version": True, "use.deprecated.format": False}
        return (
            ProtobufDeserializer(ride_class, {"use.deprecated.format": False}, registry),
            convert,
            ProtobufSerializer(target_class, registry, conf=conf),
        )

    rules = parse_rules(_RULES, rides.DROPPED)
    files = [each.DESCRIPTOR.file.serialized_pb for each in (ride_class, target_class)]
    registered = (b64encode(files[0]).decode(), b64encode(files[1]).decode())
    return Language("protobuf", registered, _plan(parse_protobuf, schemas), lambda: rules, encode, codec)


def _proto(name: str, kind_by_field: dict[str, str]) -> str:
    fields = [
        f"  {'optional ' if each == 'passengers' else ''}{_PROTOBUF_TYPES[kind]} {each} = {number};"
        for number, (each, kind) in enumerate(kind_by_field.items(), 1)
    ]
    return "\n".join(['syntax = "proto3";', f"message {name} {{", *fields, "}"])


def _message_class(name: str, text: str) -> Any:
    """Return the class that protoc generates for a message."""
    from grpc_tools import protoc

    module = f"benchmark_{name.lower()}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{module}.proto").write_text(text, encoding="utf-8")
        if protoc.main(["protoc", f"-I{folder}", f"--python_out={folder}", f"{folder}/{module}.proto"]):
            raise SystemExit(f"protoc refused {name}")
        sys.path.insert(0, folder)
        try:
            return getattr(import_module(f"{module}_pb2"), name)
        finally:
            sys.path.remove(folder)


def _converted(ride: dict[str, Any]) -> dict[str, Any]:
    """Return the target's record, as a program written by hand makes it."""
    made = {_RENAMED.get(name, name): value for name, value in ride.items() if name not in rides.DROPPED}
    return made | {
        "vendor_id": rides.VENDORS[ride["vendor"]],
        "passenger_count": ride["passengers"] or 0,
        "distance_miles": ride["distance_km"] / rides.KILOMETRES_PER_MILE,
        "payment": rides.PAYMENTS[ride["payment"]],
        "origin": "bridge",
    }
