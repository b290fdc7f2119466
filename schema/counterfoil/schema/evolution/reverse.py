"""The way back: the rules that undo the rules of a plan, and what does not survive there and back.

=======================================  ============================================================================
rule                                     its reverse
=======================================  ============================================================================
``a: {from: b}``                         ``b: {from: a}``
with ``lookup``                          the inverse table, if no two keys have one result; other results are errors
with ``cast``                            a cast to the type of the source, which needs no rule
with ``null: value``                     the value stays; null does not come back
``a: {format: b, as: …}``                ``b: {parse: a, as: …}``; ``parse`` the other way round
``const``                                the target field is dropped
``expr``, ``join``, ``split``            none: the source field needs a default, or a rule
=======================================  ============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.evolution.derive import SAME_NUMBER, Deriver, derive_plan
from counterfoil.schema.evolution.field_paths import spell
from counterfoil.schema.evolution.origins import paths_read
from counterfoil.schema.evolution.rules import FieldRule, FormatOf, From, LookupRule, ParseOf, PlanRules, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.evolution.model import ConversionPlan
    from counterfoil.schema.parsed import ParsedSchema


@dataclass(frozen=True, slots=True)
class Loss:
    """A source field whose values do not survive there and back, and the reason as a clause."""

    field: str
    why: str

    def __str__(self) -> str:
        return f"{self.field}: {self.why}"


@dataclass(frozen=True, slots=True)
class BothWays:
    """A plan, the plan of the way back, and the source fields whose values are not the same afterwards."""

    there: ConversionPlan
    back: ConversionPlan
    losses: tuple[Loss, ...]


def derive_both_ways(source: ParsedSchema, target: ParsedSchema, rules: PlanRules | None = None) -> BothWays:
    """Return the plans from ``source`` to ``target`` and back.

    The plan of the way back needs no rule for casts, since the values come from there; its problems are losses. A
    number finds a field on the way back where it did on the way there.
    """
    rules = rules or PlanRules()
    there = derive_plan(source, target, rules)
    reversed_rules = tuple(each for rule in rules.fields if (each := _reversed(rule)) is not None)
    rules_back = PlanRules(reversed_rules, drop_rest=True)
    back = Deriver(rules_back, needs_rules=False, numbered=numbered_in(there)).derive(target, source)
    return BothWays(there, back, tuple(_losses(there, back, rules)))


def derive_back(there: ConversionPlan) -> ConversionPlan:
    """Return the plan of the way back without rules, whose problems are those of a user who has to give some."""
    return Deriver(PlanRules(drop_rest=True), numbered=numbered_in(there)).derive(there.target, there.source)


def numbered_in(plan: ConversionPlan) -> frozenset[str]:
    """Return the target fields that a plan fills by their numbers alone."""
    return frozenset(row.target for row in plan.described if row.how == SAME_NUMBER)


def _reversed(rule: FieldRule) -> FieldRule | None:
    """Return the rule that fills the source field from the target field; None if there is none."""
    origin = rule.origin
    if not isinstance(origin, (From, FormatOf, ParseOf)) or {"[]", "{}"} & set(rule.target):
        return None
    spelt = spell(origin.path)
    if isinstance(origin, FormatOf):
        return FieldRule(origin.path, spelt, ParseOf(rule.target, origin.pattern, origin.zone))
    if isinstance(origin, ParseOf):
        return FieldRule(origin.path, spelt, FormatOf(rule.target, origin.pattern, origin.zone))
    if rule.lookup is None:
        return FieldRule(origin.path, spelt, From(rule.target))
    results = [result for _, result in rule.lookup.table]
    is_invertible = len({repr(result) for result in results}) == len(results)
    if not is_invertible or not all(isinstance(result, (str, int)) for result in results):
        return None
    table = tuple((result, key) for key, result in rule.lookup.table)
    return FieldRule(origin.path, spelt, From(rule.target), lookup=LookupRule(table, Word.ERROR))


def _losses(there: ConversionPlan, back: ConversionPlan, rules: PlanRules) -> Iterator[Loss]:
    """Yield each source field that does not survive, with the first reason that applies."""
    found = dict.fromkeys(there.dropped, "it is dropped")
    for where, sources in _sources(there, rules):
        if where in there.lossy:
            for source in sources:
                found.setdefault(source, f"{where} does not keep every value of it")
    for problem in back.problems:
        if problem.field and problem.field not in found:
            found[problem.field] = f"it cannot be filled from the target: {problem.text}"
    for row in back.described:
        if row.how in {"default", "null"}:
            found.setdefault(row.target, f"nothing of the target fills it, so it is {row.note}")
    yield from (Loss(field, why) for field, why in found.items())


def _sources(there: ConversionPlan, rules: PlanRules) -> Iterator[tuple[str, list[str]]]:
    """Yield each target field with the paths of the source fields that fill it."""
    rule_by_target = {rule.spelt: rule for rule in rules.fields}
    for row in there.described:
        rule = rule_by_target.get(row.target)
        yield row.target, [spell(path) for path in paths_read(rule)] if rule else [row.source]


__all__ = ["BothWays", "Loss", "derive_back", "derive_both_ways", "numbered_in"]
