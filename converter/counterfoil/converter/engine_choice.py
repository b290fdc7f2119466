"""The engines by name, and the reference evaluator on single values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.evolution.errors import FailureCode

if TYPE_CHECKING:
    from counterfoil.converter.engines.protocol import Conversion, Engine

FAILURE_CODES = tuple(str(code.value) for code in FailureCode)
"""Every reason that an engine may give for a dead letter."""


def make_engine(name: str, conversion: Conversion) -> Engine:
    """The engine that ``--engine`` names: ``sql`` or ``reference``."""
    if name == "sql":
        from counterfoil.converter.engines.sql import SqlEngine

        return SqlEngine(conversion)
    from counterfoil.converter.engines.reference import ReferenceEngine

    return ReferenceEngine(conversion)
