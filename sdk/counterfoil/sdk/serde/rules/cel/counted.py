"""The evaluation of comprehensions by cel-python with counted steps.

A comprehension evaluates its expression once for each value, and comprehensions inside each other do so for each
combination of values: a short rule about a short list would not end. Expressions without comprehensions take time in
proportion to their text and their values, and are not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from celpy.evaluation import Activation, Evaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import lark

    from counterfoil.schema.datum import Datum

MOST_STEPS: Final = 200_000
"""The steps of one evaluation, beside those of one look at each value: about three seconds."""

_CHARACTERS_A_STEP: Final = 100
_TEXTS: Final = (str, bytes)
_SIZED: Final = (*_TEXTS, list, dict)
_MACROS: Final = frozenset({"map", "filter", "all", "exists", "exists_one", "reduce"})


class CelOutOfSteps(Exception):
    """An evaluation that has no steps left; its text names the limit."""


class CelSteps:
    """The steps of one evaluation: one for each part of an expression that a comprehension evaluates for a value.

    When ``limit`` steps are spent, as many are added as the whole expression, of ``size`` parts, takes once for each of
    the values in ``variables``, so that a comprehension about a long list ends whatever its length. ``sizes`` are those
    of the parts that are known, by their identity, for all evaluations.
    """

    def __init__(self, limit: int, size: int, variables: Mapping[str, object], sizes: dict[int, int]) -> None:
        self._left = self._limit = limit
        self._size = size
        self._variables: Mapping[str, Datum] | None = variables
        self._size_by_tree = sizes

    def spend(self, steps: int) -> None:
        """Count steps; raise ``CelOutOfSteps`` if none are left."""
        self._left -= steps
        if self._left >= 0:
            return
        if self._variables is not None:
            further = self._size * sum(map(_values_in, self._variables.values()))
            self._variables = None
            self._limit += further
            self._left += further
        if self._left < 0:
            raise CelOutOfSteps(f"it takes more than {self._limit:,} steps, the limit of an evaluation")

    def size_of(self, tree: lark.Tree[object]) -> int:
        """Return the number of parts of an expression."""
        known = self._size_by_tree.get(id(tree))
        if known is None:
            known = self._size_by_tree[id(tree)] = size_of(tree)
        return known


def size_of(tree: lark.Tree[object]) -> int:
    """Return the number of parts of an expression."""
    return sum(1 for _ in tree.iter_subtrees())


def has_comprehensions(tree: lark.Tree[object]) -> bool:
    """Return whether an expression has a comprehension."""
    return any(str(each.children[1]) in _MACROS for each in tree.find_data("member_dot_arg"))


def counting(operate: Callable[[Datum, Datum], Datum], steps: CelSteps) -> Callable[[Datum, Datum], Datum]:
    """Return an operator that spends a step for each part of its operands."""

    def operated(left: object, right: object) -> Datum:
        for operand in (left, right):
            if isinstance(operand, _SIZED):
                size = len(operand)
                steps.spend(size // _CHARACTERS_A_STEP if isinstance(operand, _TEXTS) else size)
        return operate(left, right)

    return operated


class CountedEvaluator(Evaluator):
    """An evaluator whose comprehensions spend the steps of one evaluation."""

    def __init__(self, ast: lark.Tree[object], activation: Activation, steps: CelSteps, size: int = 0) -> None:
        super().__init__(ast, activation)
        self._steps = steps
        self._parts = size

    def sub_evaluator(self, ast: lark.Tree[object]) -> CountedEvaluator:
        """Return the evaluator of an expression that a comprehension evaluates for each value."""
        return CountedEvaluator(ast, self.activation, self._steps, self._steps.size_of(ast))

    def evaluate(self, context: Any = None) -> Datum:
        """Return the value of the expression, after counting its parts."""
        self._steps.spend(self._parts)
        return super().evaluate(context)


def _values_in(value: object) -> int:
    count, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        count += 1
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return count
