"""The construction of the rules of JSON Schema: Confluent's error type, with our sentence, reason and fix."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.rules import ALWAYS, NEVER, CompatibilityRule
from counterfoil.schema.model import SchemaType

NOT_LENIENT: Final = ALWAYS - {CompatibilityPolicy.LENIENT}
"""The policies except LENIENT, which assumes that writers write only what their schema declares."""
SOUND_ONLY: Final = frozenset({CompatibilityPolicy.SOUND})
"""The policy SOUND alone: the reference accepts the difference, and a value refutes it."""


rule: Final = partial(CompatibilityRule, schema_type=SchemaType.JSON)


def breaking(
    error_type: str,
    sentence: str,
    *,
    why: str,
    fix: str,
    forward_fix: str = "",
    breaks: frozenset[CompatibilityPolicy] = ALWAYS,
    promises_witness: bool = False,
) -> CompatibilityRule:
    """Return a rule whose differences break readers; its id is the error type in lower case, with hyphens."""
    return rule(
        id=error_type.lower().replace("_", "-"),
        error_type=error_type,
        sentence=sentence,
        why=why,
        fix=fix,
        forward_fix=forward_fix,
        breaks=breaks,
        promises_witness=promises_witness,
    )


def harmless(error_type: str, sentence: str, *, why: str) -> CompatibilityRule:
    """Return a rule whose differences are reported and do not break any reader."""
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
    """Return a rule that the reference does not have; by default it breaks under SOUND and promises a witness."""
    return rule(
        id=rule_id,
        error_type="",
        sentence=sentence,
        why=why,
        fix=fix,
        breaks=breaks,
        promises_witness=promises_witness,
    )
