"""The consumer group in which a bridge commits the offsets of its source."""

from __future__ import annotations


def group_of(bridge: str) -> str:
    """Return the group of a bridge; tools that measure the lag of groups find its offsets there."""
    return f"counterfoil-bridge-{bridge}"
