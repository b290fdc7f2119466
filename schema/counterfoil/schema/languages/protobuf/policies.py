"""The differences of two Protobuf schemas under each compatibility policy."""

from __future__ import annotations

from counterfoil.schema.compatibility import CompatibilityPolicy, Steps, steps_for
from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.languages.protobuf.compare.differences import walk
from counterfoil.schema.languages.protobuf.compare.findings import ProtobufDifference
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema


def find_differences(
    reader: ProtobufSchema,
    writer: ProtobufSchema,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    steps: Steps | None = None,
) -> list[Difference]:
    """Return the differences that break under ``policy`` when ``reader`` reads what ``writer`` writes.

    Empty if the schemas are compatible. Raises ``InvalidSchema`` for schemas that are nested too deep, and
    ``OutOfSteps``.
    """
    return [found for found in find_all(reader, writer, policy=policy, steps=steps) if policy in found.kind.breaks]


def find_all(
    reader: ProtobufSchema, writer: ProtobufSchema, *, policy: CompatibilityPolicy, steps: Steps | None = None
) -> list[ProtobufDifference]:
    """Return the findings of the walk that ``policy`` uses, also those that do not break under it."""
    steps = steps or steps_for(reader, writer)
    if policy is CompatibilityPolicy.SOUND:
        from counterfoil.schema.languages.protobuf.compare.sound import walk_sound

        return walk_sound(reader, writer, steps)
    if policy in (CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON):
        from counterfoil.schema.languages.protobuf.compare.wire import walk_wire

        return walk_wire(reader, writer, steps)
    return walk(reader, writer, steps)
