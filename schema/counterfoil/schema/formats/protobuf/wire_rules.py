"""The rules of buf's categories WIRE and WIRE_JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.rules import CompatibilityRule

WIRE_RULES: Final[tuple[CompatibilityRule, ...]] = ()
