"""The result of a search for a value, and the interface of the solver that the generators of one type call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.formats.jsonschema.values.coverage import Literal
    from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a search: proof that no value exists (``is_empty``), a value in ``values``, or neither of them."""

    is_empty: bool = False
    values: tuple[Any, ...] = ()


EMPTY = Answer(is_empty=True)
UNKNOWN = Answer()


class Answering(Protocol):
    """The interface of the solver: the search for values of properties, property names and items."""

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator that checks values against schemas and counts the steps."""

    def solve(self, literals: Iterable[Literal]) -> Answer:
        """Search for a value for which all ``literals`` hold, and return the result."""

    def value(self, literals: Iterable[Literal]) -> list[Any]:
        """Return a list of one value for which all ``literals`` hold, or an empty list if none is found."""

    def is_empty(self, literals: Iterable[Literal]) -> bool:
        """Return whether it is proved that no value exists for which all ``literals`` hold."""

    def fits(self, literals: Iterable[Literal], value: Any) -> bool | None:
        """Return whether all ``literals`` hold for ``value``; None if unknown."""
