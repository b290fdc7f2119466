"""The differences between two Avro schemas by compatibility policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.avro.compare.differences import walk
from counterfoil.schema.steps import steps_for

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.avro.compare.places import AvroDifference
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.steps import Steps


def find_differences(
    reader: AvroSchema,
    writer: AvroSchema,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    steps: Steps | None = None,
) -> list[Difference]:
    """Return why ``reader`` cannot read everything of ``writer`` under ``policy``; empty if it can.

    Differences are in the order of the reader's fields; one that occurs in several places is returned once for each,
    with the same path. Raises ``InvalidSchema`` for schemas nested too deep to be walked, and ``OutOfSteps``.
    """
    return [*find_all(reader, writer, policy=policy, steps=steps)]


def find_all(
    reader: AvroSchema, writer: AvroSchema, *, policy: CompatibilityPolicy, steps: Steps | None = None
) -> list[AvroDifference]:
    """Return the same differences with the walk's own type."""
    steps = steps or steps_for(reader, writer)
    if policy is not CompatibilityPolicy.SOUND:
        return walk(reader.root, writer.root, steps)
    from counterfoil.schema.formats.avro.compare.sound import find_misreadings

    found = walk(reader.root, writer.root, steps, trusts_cycles=False)
    return [*found, *find_misreadings(reader.root, writer.root, steps)]
