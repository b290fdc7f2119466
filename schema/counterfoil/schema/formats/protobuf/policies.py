"""The differences of two Protobuf schemas under each compatibility policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.protobuf.compare.differences import walk
from counterfoil.schema.steps import steps_for

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.protobuf.compare.findings import ProtobufDifference
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
    from counterfoil.schema.steps import Steps


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
        from counterfoil.schema.formats.protobuf.compare.sound import walk_sound

        return walk_sound(reader, writer, steps)
    if policy in (CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON):
        from counterfoil.schema.formats.protobuf.wire.policy import walk_wire

        return walk_wire(reader, writer, steps)
    return walk(reader, writer, steps)
