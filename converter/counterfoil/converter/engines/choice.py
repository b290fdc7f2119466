"""The engines by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.converter.engines.protocol import Conversion, Engine


def make_engine(name: str, conversion: Conversion) -> Engine:
    """Return the engine that ``--engine`` names: ``sql`` or ``reference``."""
    if name == "sql":
        from counterfoil.converter.engines.sql.engine import SqlEngine

        return SqlEngine(conversion)
    from counterfoil.converter.engines.reference import ReferenceEngine

    return ReferenceEngine(conversion)
