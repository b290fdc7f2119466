"""Operations that are carried out again inside their values, while a plan is compiled and when it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import ConversionError, FailureCode
from counterfoil.schema.plans.model import MAX_LEVELS


class Levels:
    """The operations of one plan that are carried out again inside their values, by their numbers."""

    def __init__(self) -> None:
        self.step_by_number: dict[int, Callable[[Datum], Datum]] = {}
        self._open = threading.local()

    def run(self, number: int, value: Datum, field: str) -> Datum:
        """Return the result for a value inside ``field``."""
        level = getattr(self._open, "level", 0)
        if level >= MAX_LEVELS:
            text = f"the value contains itself more than {MAX_LEVELS} levels deep"
            raise ConversionError(FailureCode.UNENCODABLE, field, text)
        self._open.level = level + 1
        try:
            return self.step_by_number[number](value)
        except ConversionError as failure:
            joint = "." if field and failure.field and failure.field[0] not in "[{<" else ""
            raise ConversionError(failure.code, f"{field}{joint}{failure.field}", failure.text) from None
        finally:
            self._open.level = level


_CURRENT: ContextVar[Levels] = ContextVar("levels")


def current_levels() -> Levels:
    """Return the operations of the plan that is being compiled; all functions that compile parts of it share them."""
    return _CURRENT.get()


@contextmanager
def levels_of_plan() -> Iterator[None]:
    """Share the operations of a plan inside the outermost call."""
    if _CURRENT.get(None) is not None:
        yield
        return
    token = _CURRENT.set(Levels())
    try:
        yield
    finally:
        _CURRENT.reset(token)
