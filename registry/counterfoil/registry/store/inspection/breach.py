"""What a check of a store finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Breach:
    """One thing that is not as it must be. ``rule`` names the invariant, ``place`` what breaks it."""

    rule: str
    place: str
    message: str
