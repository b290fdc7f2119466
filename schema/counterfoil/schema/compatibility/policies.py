"""Compatibility policies: which differences count as breaking.

A level determines which versions read which; a policy determines what counts as breaking. Each rule has the policies
under which it breaks (:class:`~counterfoil.schema.compatibility.rules.CompatibilityRule`).

Source: Confluent Schema Registry's ``compatibilityPolicy`` (STRICT, LENIENT, LOGICAL); the categories WIRE and
WIRE_JSON of ``buf breaking``; SOUND is ours.
"""

from __future__ import annotations

from enum import StrEnum

from counterfoil.schema.errors import BadRequest


class CompatibilityPolicy(StrEnum):
    """The definition of what counts as breaking.

    ``STRICT`` (the default) gives Confluent's results. ``LENIENT`` relaxes the content models of JSON Schema as
    Confluent does, and is STRICT for other languages. ``LOGICAL`` adds to STRICT the differences that break a table
    into which records are written: fields removed or moved, nullability, types. ``SOUND`` is STRICT with every result
    corrected that a value proves wrong, in both directions. ``WIRE`` and ``WIRE_JSON`` check, for Protobuf, whether
    bytes, or bytes and JSON, stay readable; they are STRICT for other languages.
    """

    STRICT = "STRICT"
    LENIENT = "LENIENT"
    LOGICAL = "LOGICAL"
    SOUND = "SOUND"
    WIRE = "WIRE"
    WIRE_JSON = "WIRE_JSON"


class RegistrationPolicy(StrEnum):
    """What a registry's config may have in the place of a policy, for registrations alone."""

    CONSUMERS = "CONSUMERS"
    """A version is refused if it breaks a consumer that is known, and accepted if it breaks none of them.

    Schemas are compared by the rules of STRICT.
    """


def rules_policy(text: str) -> CompatibilityPolicy:
    """Return the policy by whose rules schemas are compared under a policy of a config; raise ``BadRequest``."""
    return CompatibilityPolicy.STRICT if text == RegistrationPolicy.CONSUMERS else parse_policy(text)


def parse_policy(text: str) -> CompatibilityPolicy:
    """Return the policy named ``text``, in any letter case; raise ``BadRequest`` for another name."""
    try:
        return CompatibilityPolicy(text.upper())
    except ValueError:
        policies = ", ".join(CompatibilityPolicy)
        raise BadRequest(f"Unknown compatibility policy {text!r}; expected one of {policies}") from None
