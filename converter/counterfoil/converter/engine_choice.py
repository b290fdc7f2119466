"""The engines by name, and the reference evaluator on single values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.evolution import FailureCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.converter.engines.protocol import Conversion, Engine
    from counterfoil.converter.sampling import Judgement

FAILURE_CODES = tuple(code.value for code in FailureCode)
"""Every reason that an engine may give for a dead letter."""


def make_engine(name: str, conversion: Conversion) -> Engine:
    """Return the engine that ``--engine`` names: ``sql`` or ``reference``."""
    if name == "sql":
        from counterfoil.converter.engines.sql import SqlEngine

        return SqlEngine(conversion)
    from counterfoil.converter.engines.reference import ReferenceEngine

    return ReferenceEngine(conversion)


def judge_with_reference(conversion: Conversion) -> Callable[[bytes], Judgement]:
    """Return a function that converts a value with the reference evaluator: to framed bytes, or to the failure."""
    from counterfoil.converter.engines.reference import ReferenceEngine

    engine = ReferenceEngine(conversion)

    def judge(data: bytes) -> Judgement:
        converted = engine.convert_value(data)
        judgement = converted.value if converted.failure is None else converted.failure
        if judgement is None:  # one of the two is always set
            raise AssertionError
        return judgement

    return judge


def recompute_with_reference(conversion: Conversion) -> Callable[[bytes], bytes | None]:
    """Return a function that computes the bytes of a value on the target; None for a dead letter."""
    from counterfoil.converter.engines.reference import ReferenceEngine

    engine = ReferenceEngine(conversion)
    return lambda value: engine.convert_value(value).value
