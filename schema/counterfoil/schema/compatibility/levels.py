"""The seven compatibility levels: their directions, and whether they are transitive.

Source: Confluent Schema Registry's documentation of compatibility types; the order of directions under FULL is that of
its messages.
"""

from __future__ import annotations

from enum import Enum, StrEnum

from counterfoil.schema.errors import InvalidCompatibilityLevel


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
