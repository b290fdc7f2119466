"""Walks over values along a tree: functions of types, and the place of a value that does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution import ConversionError, FailureCode
from counterfoil.schema.evolution.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable


class Turns:
    """The functions of types, each made once: types may contain themselves."""

    def __init__(self) -> None:
        self._turn_by_key: dict[object, Callable[[Any], Any]] = {}

    def once(self, key: object, make: Callable[[], Callable[[Any], Any]]) -> Callable[[Any], Any]:
        """Return the function of a type, made by ``make`` the first time."""
        known = self._turn_by_key.get(key)
        if known is not None:
            return known

        def later(value: Any) -> Any:
            return self._turn_by_key[key](value)

        self._turn_by_key[key] = later
        made = self._turn_by_key[key] = make()
        return made


class Misfit(Exception):
    """A value that does not fit; the place is completed by the callers, from the inside to the outside."""

    def __init__(self, problem: str, code: FailureCode = FailureCode.UNDECODABLE) -> None:
        super().__init__(problem)
        self.problem = problem
        self.code = code
        self.path = ""

    def under(self, step: str) -> Misfit:
        """Return the same error for the value that contains this one at ``step``: a name, ``[]`` or ``{}``."""
        joint = "." if self.path and self.path[0] not in "[{" else ""
        self.path = f"{step}{joint}{self.path}"
        return self

    def as_error(self) -> ConversionError:
        """Return the error for the whole record."""
        return ConversionError(self.code, self.path, self.problem)


def expected(words: str, value: Any) -> Misfit:
    """Return the error of a value that is not what ``words`` describe."""
    return Misfit(f"expected {words}; got {shown(value)}")


def each_item(turn: Callable[[Any], Any], values: Any) -> list[Any]:
    """Return the items of an array, each turned."""
    try:
        return [turn(value) for value in values]
    except Misfit as misfit:
        raise misfit.under("[]") from None


def each_value(turn: Callable[[Any], Any], values: Any) -> dict[str, Any]:
    """Return a map with each value turned."""
    try:
        return {key: turn(value) for key, value in values.items()}
    except Misfit as misfit:
        raise misfit.under("{}") from None
