"""What an engine says when it cannot do a plan."""

from __future__ import annotations

from counterfoil.converter.errors import BridgeError


class EngineCannot(BridgeError):
    """The engine cannot do this plan exactly as it is meant, and will not do it nearly.

    ``field`` is the place in the source or target schema (empty for the whole), ``why`` what is in the way. The
    ``reference`` engine can do every plan.
    """

    def __init__(self, engine: str, *, field: str, why: str) -> None:
        where = f"{field}: " if field else ""
        super().__init__(f"The {engine} engine cannot do this plan: {where}{why}; use --engine reference")
        self.engine = engine
        self.field = field
        self.why = why
