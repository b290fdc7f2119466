"""The choices that schemas allow, each computed once: which branch holds, and which cause makes a value not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.jsonschema.values.coverage import TooManyWays, is_unevaluated_asked, ways_beside
from counterfoil.schema.formats.jsonschema.values.literals import alternatives, failures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.jsonschema.values.coverage import Literal, Way
    from counterfoil.schema.formats.jsonschema.values.literals import Demand, Option
    from counterfoil.schema.formats.jsonschema.view.facts import Facts


class Choices:
    """The choices of schemas, cached by the schema's facts and the type of the values."""

    def __init__(self) -> None:
        self._ways: dict[tuple[int, str], tuple[Facts, list[Way] | None]] = {}
        self._failures: dict[tuple[int, str], tuple[Facts, Sequence[Option]]] = {}
        self._alternatives: dict[tuple[int, str], tuple[Facts, list[list[Option]]]] = {}

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
            self._failures[key] = (facts, _distinct(failures(facts, kind, self.ways(facts, kind))))
        return self._failures[key][1]

    def alternatives(self, facts: Facts, kind: str) -> list[list[Option]]:
        """Return the choices that a schema has for values of a type; of each choice, one option holds."""
        key = (id(facts), kind)
        if key not in self._alternatives:
            choices = alternatives(facts, kind, self.ways(facts, kind))
            self._alternatives[key] = (facts, [_distinct(options) for options in choices])
        return self._alternatives[key][1]


def _distinct(options: Sequence[Option]) -> list[Option]:
    """Return ``options`` without those that equal an earlier one."""
    return [*{tuple(map(_key, option)): option for option in reversed(options)}.values()][::-1]


def _key(part: Literal | Demand) -> object:
    if not isinstance(part, tuple):
        return part
    schema, is_plain = part[0].stands_for
    return schema.text or id(schema), part[1] is is_plain
