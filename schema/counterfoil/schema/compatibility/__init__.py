"""The conditions of a compatibility check in any language: levels, policies, and the steps that it may take."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final

from counterfoil.schema.errors import BadRequest, InvalidCompatibilityLevel
from counterfoil.schema.parsed import ParsedSchema

# Compatibility policies: which differences count as breaking.
#
# A level determines which versions read which; a policy determines what counts as breaking. Each rule has the policies
# under which it breaks (:class:`~counterfoil.schema.compatibility.findings.CompatibilityRule`).
#
# Source: Confluent Schema Registry's ``compatibilityPolicy`` (STRICT, LENIENT, LOGICAL); the categories WIRE and
# WIRE_JSON of ``buf breaking``; SOUND is ours.


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


# The seven compatibility levels: their directions, and whether they are transitive.
#
# Source: Confluent Schema Registry's documentation of compatibility types; the order of directions under FULL is that
# of its messages.


class Direction(Enum):
    """Which of the new and the earlier schema is the reader. The value is the sentence of reports."""

    BACKWARD = "the new schema reads records of the earlier one"
    FORWARD = "the earlier schema reads records of the new one"


class CompatibilityLevel(StrEnum):
    """The compatibility that a subject requires of a new version."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions in which each earlier version is checked, in order."""
        return _DIRECTIONS_BY_NAME[self.value.removesuffix("_TRANSITIVE")]

    @property
    def is_transitive(self) -> bool:
        """Whether all active versions are checked, and not only the latest."""
        return self.value.endswith("_TRANSITIVE")


_DIRECTIONS_BY_NAME = {
    "NONE": (),
    "BACKWARD": (Direction.BACKWARD,),
    "FORWARD": (Direction.FORWARD,),
    "FULL": (Direction.FORWARD, Direction.BACKWARD),
}


def parse_level(text: str) -> CompatibilityLevel:
    """Return the level named ``text``, in any letter case; raise ``InvalidCompatibilityLevel`` for another name."""
    try:
        return CompatibilityLevel(text.upper())
    except ValueError:
        levels = ", ".join(CompatibilityLevel)
        raise InvalidCompatibilityLevel(f"Unknown compatibility level {text!r}; expected one of {levels}") from None


# The steps of a judgement: they are counted, so that each judgement ends, and ends alike on every machine.
#
# A walk over two schemas, a search or a solver is given its steps as a value, and spends them where it works. The
# number of steps grows with the schemas: enough for each part of one to be compared with its counterpart in the other
# and with some more, but not for each part with each other.

LEAST_STEPS: Final = 2_000_000
"""The steps of a comparison of two small schemas."""

STEPS_A_CHARACTER: Final = 4
"""The further steps for each character of the two schemas and their references."""


class OutOfSteps(Exception):
    """The error for a comparison or a search that needs more steps than it has."""


class Steps:
    """A number of steps that are spent; whatever spends them does so where it loops.

    >>> steps = Steps(2)
    >>> steps.spend(2)
    >>> steps.left
    0
    """

    __slots__ = ("__weakref__", "left")

    def __init__(self, limit: int) -> None:
        self.left = limit

    def some(self, limit: int) -> Steps:
        """Return steps that end after ``limit`` of these are spent, or with these."""
        return _Some(self, limit)

    def spend(self, steps: int = 1) -> None:
        """Count steps; raise ``OutOfSteps`` if none are left."""
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps


class _Some(Steps):
    """Some of the steps of ``steps``; they are spent there, too."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Steps, limit: int) -> None:
        super().__init__(limit)
        self._steps = steps

    def spend(self, steps: int = 1) -> None:
        self._steps.spend(steps)
        super().spend(steps)


def steps_for(reader: ParsedSchema, writer: ParsedSchema) -> Steps:
    """Return the steps for a comparison of two schemas."""
    chars = sum(len(each.text) + each.referenced_chars for each in (reader, writer))
    return Steps(LEAST_STEPS + STEPS_A_CHARACTER * chars)
