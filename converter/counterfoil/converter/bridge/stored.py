"""What the registry has stored about a bridge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import CounterfoilError
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.schema.rest import bridges
    from counterfoil.sdk import Registry


def stored_bridge(registry: Registry, name: str) -> bridges.BridgeStatus | None:
    """Return what the registry has stored about a bridge.

    None if it has none of this name, is another registry without bridges, or does not answer.
    """
    try:
        return registry.call(operations.bridge(name))
    except CounterfoilError:
        return None
