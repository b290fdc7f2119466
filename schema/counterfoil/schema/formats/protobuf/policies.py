"""What each compatibility policy finds between two Protobuf schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.protobuf.compare.differences import walk

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.protobuf.compare.findings import Found
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema


def find_differences(
    reader: ProtobufSchema, writer: ProtobufSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
) -> list[Difference]:
    """Return why, under ``policy``, ``reader`` cannot read everything that ``writer`` may write; empty when it can.

    Raises ``InvalidSchema`` for schemas nested too deep to be walked.
    """
    return [found for found in find_all(reader, writer, policy=policy) if policy in found.kind.breaks]


def find_all(reader: ProtobufSchema, writer: ProtobufSchema, *, policy: CompatibilityPolicy) -> list[Found]:
    """Return the findings that ``policy`` chooses from."""
    if policy is CompatibilityPolicy.SOUND:
        from counterfoil.schema.formats.protobuf.compare.sound import walk_sound

        return walk_sound(reader, writer)
    if policy in (CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON):
        from counterfoil.schema.formats.protobuf.wire.policy import walk_wire

        return walk_wire(reader, writer)
    return walk(reader, writer)
