"""The findings of a check of a store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Breach:
    """One violation of an invariant. ``rule`` names the invariant, ``place`` the part of the store."""

    rule: str
    place: str
    message: str
