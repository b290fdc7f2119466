"""Memory of the serializers over many messages and many schemas: it must not grow.

    python benchmarks/serde/memory.py [--messages 10000000] [--schemas 10000]

First one serializer and one deserializer write and read messages of one schema; then a new serializer and deserializer
of the same registry meet a new schema for every message. The resident memory of the process is printed at eleven points
of each part. Plans of schemas are kept, so that the second part grows up to the limit of 10,000 of them; the program
fails if the memory of the first part has grown after its first tenth.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import avro as cases

from counterfoil.schema.model import Schema
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.serde import SerializationContext
from counterfoil.sdk.serde.avro import AvroDeserializer, AvroSerializer

if TYPE_CHECKING:
    from collections.abc import Callable

POINTS: Final = 10
TOLERATED_MIB: Final = 8.0
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
CONTEXT: Final = SerializationContext("trips", "value")


class ManySchemas:
    """A registry with a schema for every id, which it makes when it is requested."""

    def schema_by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id: one field has the id in its name."""
        fields = [*cases.RIDE["fields"], {"name": f"field_{schema_id}", "type": "string", "default": ""}]
        return Schema(json.dumps({**cases.RIDE, "fields": fields}))

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:  # noqa: ARG002
        """Return the id in the schema's field."""
        number = int(json.loads(schema.text)["fields"][-1]["name"].removeprefix("field_"))
        return RegisteredSchema(subject, 1, number, None, schema)


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES / 2**20


def watch(what: str, count: int, work: Callable[[int], None]) -> bool:
    """Run ``work`` for ``count`` messages in all; return whether memory stayed the same after the first tenth."""
    points = [resident_mib()]
    start = time.process_time()
    for _ in range(POINTS):
        work(count // POINTS)
        gc.collect()
        points.append(resident_mib())
    seconds = time.process_time() - start
    print(f"{what}: {count:,} in {seconds:.0f} s of CPU; MiB {' '.join(f'{one:.1f}' for one in points)}", flush=True)
    return points[-1] - points[1] <= TOLERATED_MIB


def one_schema() -> Callable[[int], None]:
    """Return the work for messages of one schema, each with values of its own."""
    text, values = json.dumps(cases.TRIP), cases.trips(1000)
    registry = cases.OurRegistry(text)
    write, read = AvroSerializer(registry, text), AvroDeserializer(registry)

    def work(count: int) -> None:
        for number in range(count):
            value: dict[str, Any] = values[number % len(values)]
            read(write(value, CONTEXT), CONTEXT)

    return work


def many_schemas() -> Callable[[int], None]:
    """Return the work for messages with a schema each: the same ones in every tenth but the first use."""
    registry = ManySchemas()
    read = AvroDeserializer(registry)
    ride = cases.rides(1)[0]
    used = 0

    def work(count: int) -> None:
        nonlocal used
        for number in range(used, used + count):
            schema_id = number + 1
            schema = registry.schema_by_id(schema_id)
            message = AvroSerializer(registry, schema)(ride, CONTEXT)
            if not message.startswith(id_prefix(schema_id)):
                raise SystemExit(f"the message of schema {schema_id} has another id")
            read(message, CONTEXT)
        used += count

    return work


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=10_000_000, help="messages of one schema")
    parser.add_argument("--schemas", type=int, default=10_000, help="schemas, of which each has one message")
    options = parser.parse_args()
    is_flat = watch("messages of one schema", options.messages, one_schema())
    watch("schemas", options.schemas, many_schemas())
    if not is_flat:
        print(f"The memory has grown by more than {TOLERATED_MIB} MiB", file=sys.stderr)
    return 0 if is_flat else 1


if __name__ == "__main__":
    raise SystemExit(main())
