"""The differences between two JSON schemas by compatibility policy."""

from __future__ import annotations

from counterfoil.schema.compatibility import CompatibilityPolicy, Steps
from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.languages.jsonschema.compare.differences import walk
from counterfoil.schema.languages.jsonschema.compare.rules import UNRESOLVED_REFERENCE
from counterfoil.schema.languages.jsonschema.schema import JsonSchema


def find_differences(
    reader: JsonSchema,
    writer: JsonSchema,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    steps: Steps | None = None,
) -> list[Difference]:
    """Return why ``reader`` cannot read everything of ``writer`` under ``policy``; empty if it can.

    Raises ``InvalidSchema`` for schemas nested too deep to be compared, and ``OutOfSteps``.
    """
    findings = walk(reader, writer, steps, policy=policy, only_breaking=True)
    is_unresolved = any(finding.kind is UNRESOLVED_REFERENCE for finding in findings)
    if policy is not CompatibilityPolicy.SOUND or is_unresolved:
        return [*findings]
    from counterfoil.schema.languages.jsonschema.sound.misreadings import find_misreadings
    from counterfoil.schema.languages.jsonschema.sound.policy import find_sound_differences

    corrected = find_sound_differences(reader, writer, [(finding.steps, finding) for finding in findings], steps)
    misreadings = find_misreadings(reader, writer, steps=steps)
    return [*corrected, *(misreading.difference() for misreading in misreadings)]
