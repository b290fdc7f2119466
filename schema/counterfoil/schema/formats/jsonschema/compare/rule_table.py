"""How the rules of JSON Schema are written down: by Confluent's word, with our sentence, reason and advice."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.rules import ALWAYS, NEVER, CompatibilityRule
from counterfoil.schema.model import SchemaType

NOT_LENIENT: Final = ALWAYS - {CompatibilityPolicy.LENIENT}
"""Breaks under every policy but LENIENT, which takes writers to write only what their schema declares."""
SOUND_ONLY: Final = frozenset({CompatibilityPolicy.SOUND})
"""Breaks under SOUND alone: the reference lets it pass, and a value proves it wrong."""


def breaking(
    error_type: str,
    sentence: str,
    *,
    why: str,
    fix: str,
    breaks: frozenset[CompatibilityPolicy] = ALWAYS,
    promises_witness: bool = False,
) -> CompatibilityRule:
    """Return a rule whose differences break readers; its id is the error type in small letters, with hyphens."""
    return CompatibilityRule(
        id=error_type.lower().replace("_", "-"),
        schema_type=SchemaType.JSON,
        error_type=error_type,
        sentence=sentence,
        why=why,
        fix=fix,
        breaks=breaks,
        promises_witness=promises_witness,
    )


def harmless(error_type: str, sentence: str, *, why: str) -> CompatibilityRule:
    """Return a rule whose differences are reported and break no reader."""
    return breaking(error_type, sentence, why=why, fix="Nothing needs to be fixed.", breaks=NEVER)


def ours(
    rule_id: str,
    sentence: str,
    *,
    why: str,
    fix: str,
    breaks: frozenset[CompatibilityPolicy] = SOUND_ONLY,
    promises_witness: bool = True,
) -> CompatibilityRule:
    """Return a rule that the reference does not have; what SOUND adds it adds because of a value."""
    return CompatibilityRule(
        id=rule_id,
        schema_type=SchemaType.JSON,
        error_type="",
        sentence=sentence,
        why=why,
        fix=fix,
        breaks=breaks,
        promises_witness=promises_witness,
    )
