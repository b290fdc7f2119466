"""What a contract promises of single fields, checked in the value of a record: where it is not kept, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.contracts.constraints import MISSING, OneOf, Within, constraints_of, placed_values
from counterfoil.schema.agreements.model import EnumPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.contracts.constraints import Constraint
    from counterfoil.schema.agreements.model import FieldPromise

_MAX_SHOWN: Final = 80


class Violation(NamedTuple):
    """A promise that is not kept: the place in the record, the rule, the value, and a sentence about it.

    ``is_warning``: the contract gives the rule the severity of a warning, or the list of values is open.
    """

    place: str
    rule: str
    value: Any
    problem: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{self.place or 'the record'}: {self.rule}: {self.problem}"


class FieldCheck:
    """What is promised of one field."""

    def __init__(self, promise: FieldPromise) -> None:
        self._promise = promise
        self._constraints = tuple(constraints_of(promise))

    def violations(self, value: Any) -> Iterator[Violation]:
        """Yield where the value of a record does not keep the promise, with the places of the values."""
        for place, found in placed_values(value, self._promise.path):
            for constraint in self._constraints:
                if not constraint.fits(found):
                    is_open = isinstance(constraint, OneOf) and self._promise.enum_policy is EnumPolicy.OPEN
                    shown = None if found is MISSING else found
                    yield Violation(place, constraint.rule, shown, self._problem(found, constraint), is_open)

    def _problem(self, found: Any, constraint: Constraint) -> str:
        unit = f" {self._promise.unit}" if self._promise.unit else ""
        promised = f"{constraint.words}{unit if isinstance(constraint, Within) else ''} is promised"
        if found is MISSING:
            return f"it is not there, and {promised}"
        return f"{shown_value(found)}{unit if isinstance(found, int | float) else ''} is the value, and {promised}"


def shown_value(found: Any) -> str:
    """Return a value as it is shown, without the end of a long one."""
    text = "null" if found is None else repr(found)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
