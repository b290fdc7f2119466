"""Compatibility policies: whose answer is given where the reference, its relaxations, and proof differ.

A level says which versions read which; a policy says what counts as breaking. Each rule carries the policies under
which it breaks (:class:`~counterfoil.schema.compatibility.rules.CompatibilityRule`).

Source: Confluent Schema Registry's ``compatibilityPolicy`` (STRICT, LENIENT, LOGICAL); the categories WIRE and
WIRE_JSON of ``buf breaking``; SOUND is ours.
"""

from __future__ import annotations

from enum import StrEnum

from counterfoil.schema.errors import BadRequest


class CompatibilityPolicy(StrEnum):
    """What counts as breaking.

    ``STRICT`` (the default) answers as Confluent does. ``LENIENT`` relaxes the content models of JSON Schema as
    Confluent does, and is STRICT for other languages. ``LOGICAL`` adds to STRICT what breaks a table in which records
    land: fields removed or moved, nullability, types. ``SOUND`` is STRICT with every answer corrected that a value
    proves wrong, in both directions. ``WIRE`` and ``WIRE_JSON`` ask, for Protobuf, whether bytes, or bytes and JSON,
    stay readable; they are STRICT for other languages.
    """

    STRICT = "STRICT"
    LENIENT = "LENIENT"
    LOGICAL = "LOGICAL"
    SOUND = "SOUND"
    WIRE = "WIRE"
    WIRE_JSON = "WIRE_JSON"


def parse_policy(text: str) -> CompatibilityPolicy:
    """Return the policy that ``text`` names, in any letter case; ``BadRequest`` names those there are."""
    try:
        return CompatibilityPolicy(text.upper())
    except ValueError:
        policies = ", ".join(CompatibilityPolicy)
        raise BadRequest(f"Unknown compatibility policy {text!r}; expected one of {policies}") from None
