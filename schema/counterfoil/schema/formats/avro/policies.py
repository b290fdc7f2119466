"""The differences between two Avro schemas by compatibility policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.avro.compare.differences import walk

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.avro.compare.places import AvroDifference
    from counterfoil.schema.formats.avro.schema import AvroSchema


def find_differences(
    reader: AvroSchema, writer: AvroSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
) -> list[Difference]:
    """Return why ``reader`` cannot read everything of ``writer`` under ``policy``; empty if it can.

    Differences are in the order of the reader's fields; one that occurs in several places is returned once for each,
    with the same path. Raises ``InvalidSchema`` for schemas nested too deep to be walked.
    """
    return [*find_all(reader, writer, policy=policy)]


def find_all(reader: AvroSchema, writer: AvroSchema, *, policy: CompatibilityPolicy) -> list[AvroDifference]:
    """Return the same differences with the walk's own type."""
    if policy is not CompatibilityPolicy.SOUND:
        return walk(reader.root, writer.root)
    from counterfoil.schema.formats.avro.compare.sound import find_misreadings

    found = walk(reader.root, writer.root, trusts_cycles=False)
    return [*found, *find_misreadings(reader.root, writer.root)]
