"""The seven compatibility levels as a table of directions and reach.

Source: Confluent Schema Registry's documentation of compatibility types; the order of directions under FULL is the
order in which its messages come.
"""

from __future__ import annotations

from enum import Enum, StrEnum

from counterfoil.schema.errors import InvalidCompatibilityLevel


class Direction(Enum):
    """Who reads whom. The value says it in words, for reports."""

    BACKWARD = "the new schema reads records of the earlier one"
    FORWARD = "the earlier schema reads records of the new one"


class CompatibilityLevel(StrEnum):
    """What a subject asks of a new version."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The questions asked of each earlier version, in order."""
        return _DIRECTIONS_BY_NAME[self.value.removesuffix("_TRANSITIVE")]

    @property
    def is_transitive(self) -> bool:
        """Whether all active versions are asked, not the latest alone."""
        return self.value.endswith("_TRANSITIVE")


_DIRECTIONS_BY_NAME = {
    "NONE": (),
    "BACKWARD": (Direction.BACKWARD,),
    "FORWARD": (Direction.FORWARD,),
    "FULL": (Direction.FORWARD, Direction.BACKWARD),
}


def parse_level(text: str) -> CompatibilityLevel:
    """Return the level that ``text`` names, in any letter case; ``InvalidCompatibilityLevel`` names the seven."""
    try:
        return CompatibilityLevel(text.upper())
    except ValueError:
        levels = ", ".join(CompatibilityLevel)
        raise InvalidCompatibilityLevel(f"Unknown compatibility level {text!r}; expected one of {levels}") from None
