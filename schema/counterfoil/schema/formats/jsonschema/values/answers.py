"""A question about values, and its answer: what the makers of values of one type ask about what is inside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.formats.jsonschema.values.coverage import Literal
    from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether there is a value: surely none (``is_empty``), the one in ``values``, or not known."""

    is_empty: bool = False
    values: tuple[Any, ...] = ()


EMPTY = Answer(is_empty=True)
UNKNOWN = Answer()


class Answering(Protocol):
    """What answers questions about values inside others; the solver."""

    @property
    def evaluator(self) -> Evaluator:
        """What judges values, and counts the steps."""

    def solve(self, literals: Iterable[Literal]) -> Answer:
        """Whether there is a value of which all ``literals`` are true."""

    def value(self, literals: Iterable[Literal]) -> list[Any]:
        """A value of which all ``literals`` are true, in a list; an empty list where none is found."""

    def is_empty(self, literals: Iterable[Literal]) -> bool:
        """Whether there is surely no value of which all ``literals`` are true."""

    def fits(self, literals: Iterable[Literal], value: Any) -> bool | None:
        """Whether all ``literals`` are true of ``value``."""
