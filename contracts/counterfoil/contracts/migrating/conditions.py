"""The conditions in CEL of a contract's topic, evaluated with base values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.contracts.linting.expressions import VARIABLES, compile_rule
from counterfoil.contracts.migrating.values import PLAIN, at, without_tags
from counterfoil.schema.evolution.tree import Leaf
from counterfoil.schema.paths.model import member
from counterfoil.sdk.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.agreements.model import Promise
    from counterfoil.schema.evolution.tree import Node

_CEL: Final = "cel"
_MESSAGE: Final = VARIABLES[0]
_ERROR: Final = frozenset({None, "error"})


class _Condition(NamedTuple):
    name: str
    paths: tuple[tuple[str, ...], ...]
    evaluate: Callable[[Mapping[str, Any]], Any]


class Conditions:
    """The conditions of ``promise`` about whole records whose severity is error.

    A condition about keys or headers is left out, since only values are tried. So is one that reads a date, a point in
    time or a decimal, because a base value is its number, and every one where no engine for CEL is installed.
    """

    def __init__(self, promise: Promise, tree: Node) -> None:
        self._tree = tree
        self._conditions = tuple(_conditions(promise))

    def broken(self, value: Any) -> Iterator[str]:
        """Yield what a record does not keep, as sentences."""
        message = without_tags(self._tree, value) if self._conditions else None
        for condition in self._conditions:
            if not self._is_plain(value, condition.paths):
                continue
            try:
                is_kept = condition.evaluate({_MESSAGE: message}) is True
            except RuleError as error:
                yield f"{condition.name} cannot be evaluated: {error}"
                continue
            if not is_kept:
                yield f"{condition.name} is not kept"

    def _is_plain(self, value: Any, paths: tuple[tuple[str, ...], ...]) -> bool:
        """Return whether the values at paths are those that a condition gets from a decoder."""
        nodes = [node for path in paths for node, _ in at(self._tree, value, tuple(map(member, path)))]
        return bool(paths) and all(
            isinstance(node, Leaf) and (node.scalar.word in {node.scalar.base, *PLAIN} or bool(node.symbols))
            for node in nodes
        )


def _conditions(promise: Promise) -> Iterator[_Condition]:
    from counterfoil.sdk.serde.rules.cel.executors import compile_check_of

    for rule in promise.quality:
        source = rule.implementation
        if rule.engine != _CEL or rule.path or source is None or rule.severity not in _ERROR:
            continue
        outcome = compile_rule(source)
        if outcome.problem is None and outcome.reads and outcome.variables == {_MESSAGE}:
            name = f"the rule {rule.id or source.strip()}"
            yield _Condition(name, outcome.reads, compile_check_of(source, VARIABLES))
