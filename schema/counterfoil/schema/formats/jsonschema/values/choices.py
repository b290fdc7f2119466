"""The choices that schemas allow, each computed once: which branch holds, and which cause makes a value not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.values.coverage import TooManyWays, is_unevaluated_asked, ways_beside
from counterfoil.schema.formats.jsonschema.values.literals import alternatives, failures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.formats.jsonschema.values.coverage import Literal, Way
    from counterfoil.schema.formats.jsonschema.values.literals import Demand, Option
    from counterfoil.schema.formats.jsonschema.view.facts import Facts


_STEPS_AN_OPTION: Final = 2
"""The steps of a look at one option of a choice."""

_FEW_BRANCHES: Final = 16
"""A number of branches for which it is not worth while to remember which of them are equal."""


class Choices:
    """The choices of schemas, cached by the schema's facts and the type of the values; ``work`` counts the steps."""

    def __init__(self, work: Callable[[int], None]) -> None:
        self._work = work
        self._ways: dict[tuple[int, str], tuple[Facts, list[Way] | None]] = {}
        self._failures: dict[tuple[int, str], tuple[Facts, Sequence[Option]]] = {}
        self._alternatives: dict[tuple[int, str], tuple[Facts, list[list[Option]]]] = {}
        self._branches: dict[int, tuple[Facts, Facts]] = {}

    def ways(self, facts: Facts, kind: str) -> list[Way] | None:
        """Return the ways in which everything holds but the unevaluated schema (see ``ways_beside``).

        None if the schema has no unevaluated schema for this type, or if there are too many ways.
        """
        if not is_unevaluated_asked(facts, kind):
            return None
        key = (id(facts), kind)
        if key not in self._ways:
            try:
                self._ways[key] = (facts, ways_beside(facts, kind))
            except (TooManyWays, RecursionError):
                self._ways[key] = (facts, None)
        return self._ways[key][1]

    def failures(self, facts: Facts, kind: str) -> Sequence[Option]:
        """Return the causes of which at least one makes a value of a type not fit a schema."""
        key = (id(facts), kind)
        if key not in self._failures:
            self._failures[key] = (facts, self._distinct(failures(facts, kind, self.ways(facts, kind))))
        return self._failures[key][1]

    def alternatives(self, facts: Facts, kind: str) -> list[list[Option]]:
        """Return the choices that a schema has for values of a type; of each choice, one option holds."""
        key = (id(facts), kind)
        if key not in self._alternatives:
            choices = alternatives(self._with_distinct_branches(facts), kind, self.ways(facts, kind))
            self._alternatives[key] = (facts, [self._distinct(options) for options in choices])
        return self._alternatives[key][1]

    def _distinct(self, options: Sequence[Option]) -> list[Option]:
        """Return ``options`` without those that equal an earlier one."""
        self._work(_STEPS_AN_OPTION * len(options))
        return [*{tuple(map(_key, option)): option for option in reversed(options)}.values()][::-1]

    def _with_distinct_branches(self, facts: Facts) -> Facts:
        """Return the facts with each branch of ``anyOf`` once, which is found out once for all types of values."""
        if facts.any_of is None or len(facts.any_of) <= _FEW_BRANCHES:
            return facts
        if id(facts) not in self._branches:
            self._work(_STEPS_AN_OPTION * len(facts.any_of))
            branches = [*{_key((branch, True)): branch for branch in reversed(facts.any_of)}.values()][::-1]
            self._branches[id(facts)] = (facts, replace(facts, any_of=tuple(branches)))
        return self._branches[id(facts)][1]


def _key(part: Literal | Demand) -> object:
    if not isinstance(part, tuple):
        return part
    schema, is_plain = part[0].stands_for
    return schema.text or id(schema), part[1] is is_plain
