"""The engines by name, and the choice of the fastest that can carry out a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from counterfoil.converter.engines.protocol import Conversion, Engine, EngineCannot

AUTO: Final = "auto"
"""The name for the first engine of the table that can carry out the plan."""


def _java(conversion: Conversion) -> Engine:
    from counterfoil.converter.engines.java.engine import JavaEngine

    return JavaEngine(conversion)


def _reference(conversion: Conversion) -> Engine:
    from counterfoil.converter.engines.reference import ReferenceEngine

    return ReferenceEngine(conversion)


ENGINES: Final[Mapping[str, Callable[[Conversion], Engine]]] = {
    "java": _java,
    "reference": _reference,
}
"""How each engine is made, the fastest first; the last can carry out every plan. An entry imports its engine."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine, and the reason why it was chosen, as one sentence."""

    engine: Engine
    why: str


def choose_engine(name: str, conversion: Conversion, keys: Conversion | None = None) -> EngineChoice:
    """Return the engine that ``--engine`` names: one of the table, or with ``AUTO`` the fastest that can do the plan.

    Where ``keys`` are converted, it consists of one engine for values and one for keys. Raises ``EngineCannot`` if the
    named engine, or the last of the table, cannot.
    """
    if keys is not None:
        from counterfoil.converter.engines.reference import KeyedEngine

        values, own = choose_engine(name, conversion), choose_engine(name, keys)
        return EngineChoice(KeyedEngine(values.engine, own.engine), f"{values.why}; for keys: {own.why}")
    if name != AUTO:
        return EngineChoice(ENGINES[name](conversion), f"engine {name}, as requested")
    refusals: list[str] = []
    *fast, last = ENGINES
    for each in fast:
        try:
            engine = ENGINES[each](conversion)
        except EngineCannot as refusal:
            if refusal.engine != each:  # no engine can
                raise
            where = f"{refusal.field}: " if refusal.field else ""
            refusals.append(f"{each} cannot ({where}{refusal.why})")
        else:
            return EngineChoice(engine, _sentence(each, refusals))
    return EngineChoice(ENGINES[last](conversion), _sentence(last, refusals))


def _sentence(name: str, refusals: list[str]) -> str:
    faster = f"; {', '.join(refusals)}" if refusals else ""
    return f"engine {name}, the fastest that covers the plan{faster}"
