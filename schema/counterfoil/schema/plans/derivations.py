"""Further plans of two schemas: there and back, by Avro's resolution, as earlier versions derived them.

A conversion plan says how records of one schema become records of another:

>>> from counterfoil.schema.languages.avro.schema import parse_avro
>>> from counterfoil.schema.plans.evaluate import evaluate
>>> from counterfoil.schema.plans.rules import parse_rules
>>> source = parse_avro('{"type": "record", "name": "Ride", "fields": [{"name": "km", "type": "double"}]}')
>>> target = parse_avro('{"type": "record", "name": "Ride", "fields": [{"name": "miles", "type": "double"}]}')
>>> plan = derive_plan(source, target, parse_rules({"miles": {"expr": "km / 1.6"}}))
>>> plan.is_complete, evaluate(plan, {"km": 8.0})
(True, {'miles': 5.0})
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans.assign import DECIMALS
from counterfoil.schema.plans.derive import Deriver, derive_plan
from counterfoil.schema.plans.formulas import BranchSegment, Path, has_inner_scope, scope_of, spell
from counterfoil.schema.plans.model import (
    BuildRecord,
    Cast,
    ConversionPlan,
    Define,
    MapBranches,
    MapItems,
    MapTagged,
    MapValues,
    Op,
    Scalar,
    Widen,
    encoded,
)
from counterfoil.schema.plans.places import paths_read
from counterfoil.schema.plans.rows import SAME_NUMBER
from counterfoil.schema.plans.rules import (
    FieldRule,
    FormatOf,
    From,
    LookupRule,
    NumberMeaning,
    ParseOf,
    PlanRules,
    Word,
)
from counterfoil.schema.plans.scopes import ITSELF
from counterfoil.schema.plans.types import is_instant

# The way back: the rules that undo the rules of a plan, and what does not survive there and back.
#
# =======================================  ============================================================================
# rule                                     its reverse
# =======================================  ============================================================================
# ``a: {from: b}``                         ``b: {from: a}``
# with ``lookup``                          the inverse table, if no two keys have one result; other results are errors
# with ``cast``                            a cast to the type of the source, which needs no rule
# with ``null: value``                     the value stays; null does not come back
# ``a: {format: b, as: …}``                ``b: {parse: a, as: …}``; ``parse`` the other way round
# ``const``                                the target field is dropped
# ``expr``, ``join``, ``split``            none: the source field needs a default, or a rule
# =======================================  ============================================================================


@dataclass(frozen=True, slots=True)
class RoundTripLoss:
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
    losses: tuple[RoundTripLoss, ...]


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
    if not isinstance(origin, (From, FormatOf, ParseOf)) or has_inner_scope(rule.target):
        return None
    if rule.to is not None or any(isinstance(segment, BranchSegment) for segment in origin.path):
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


def _losses(there: ConversionPlan, back: ConversionPlan, rules: PlanRules) -> Iterator[RoundTripLoss]:
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
    yield from (RoundTripLoss(field, why) for field, why in found.items())


def _sources(there: ConversionPlan, rules: PlanRules) -> Iterator[tuple[str, list[str]]]:
    """Yield each target field with the paths of the source fields that fill it."""
    rule_by_target = {rule.spelt: rule for rule in rules.fields}
    for row in there.described:
        rule = rule_by_target.get(row.target)
        if rule is None or rule.is_whole:
            yield row.target, [row.source]
        else:
            yield row.target, [_spelt_in(rule.target, path) for path in paths_read(rule)]


def _spelt_in(target: Path, path: Path) -> str:
    """Return the path that a rule reads from the whole record on: it starts where the scope of the target starts."""
    around = scope_of(target)
    is_itself = bool(around) and path == (ITSELF,)
    return spell(around if is_itself else (*around, *path))


# Avro's schema resolution as a plan, and the changes of meaning that it ignores.


def derive_resolution(writer: ParsedSchema, reader: ParsedSchema) -> ConversionPlan:
    """Return Avro's schema resolution as a plan: how data of ``writer`` become values of ``reader``.

    It follows Avro's rules: names and the reader's aliases, promotions, defaults. Its problems are resolutions that the
    operations cannot express, or that Avro does not have.
    """
    return Deriver(PlanRules(drop_rest=True), resolving=True).derive(writer, reader)


def resolution_conflicts(writer: ParsedSchema, reader: ParsedSchema) -> list[tuple[str, str]]:
    """Return the path and reason of each number that Avro's resolution reads with another meaning.

    Resolution ignores logical types: milliseconds are read as microseconds, cents as euros.
    """
    found: list[tuple[str, str]] = []
    for where, source, target in _conversions(derive_resolution(writer, reader).root, ""):
        if "decimal" in {source.word, target.word} or (is_instant(source) and is_instant(target)):
            found.append((where, f"a writer's {source} would be read as {target}"))
    return found


def rounds_to_float(resolution: ConversionPlan) -> bool:
    """Return whether a resolution reads a whole number as a float, which may round."""
    changes = _conversions(resolution.root, "")
    return any(target.base == "float" and source.base in {"int", "long"} for _, source, target in changes)


def _conversions(op: object, where: str) -> Iterator[tuple[str, Scalar, Scalar]]:
    """Yield every change of a scalar type in an operation, with the target path."""
    if isinstance(op, (Cast, Widen)):
        yield where, op.source, op.target
    if isinstance(op, BuildRecord):
        for name, member in op.fields:
            yield from _conversions(member, f"{where}.{name}" if where else name)
    elif isinstance(op, (MapBranches, MapTagged)):
        for _, branch in op.branches:
            yield from _conversions(branch, where)
    elif isinstance(op, (MapItems, MapValues)):
        yield from _conversions(op.item if isinstance(op, MapItems) else op.value, f"{where}[]")
    elif isinstance(op, Define):
        yield from _conversions(op.value, where)
    elif hasattr(op, "of"):
        yield from _conversions(op.of, where)


# Plans as earlier versions of this project derived them, for bridges that were stored or begun then.


def stored_plan(plan: ConversionPlan, rules: PlanRules) -> ConversionPlan | None:
    """Return the plan that versions up to 0.2 derived of a bridge file, if it is another one.

    Each number found its field without a question, and the ``decimals`` of a cast of decimals had no effect. None if
    the plan is the same and complete.
    """
    asks = rules.numbers is NumberMeaning.ASK
    has_decimals = any(rule.cast is not None and rule.cast.decimals is not None for rule in rules.fields)
    if not (asks or has_decimals):
        return None
    numbers = NumberMeaning.ALL if asks else rules.numbers
    earlier = derive_plan(plan.source, plan.target, replace(rules, numbers=numbers, rounds=False))
    if not (has_decimals or any(row.how == SAME_NUMBER for row in earlier.described)):
        return None
    return None if earlier.hash == plan.hash and plan.is_complete else earlier


def changes_since(earlier: ConversionPlan, plan: ConversionPlan) -> Iterator[str]:
    """Yield what another derivation changes for each field that the earlier plan filled in another way."""
    row_by_target = {row.target: row for row in plan.described}
    for row in earlier.described:
        if row.how != SAME_NUMBER:
            continue
        now = row_by_target.get(row.target)
        if now is not None and (now.how, now.source) == (row.how, row.source):
            yield f"{row.target} is filled from {row.source} by its number alone; numbers: same keeps that"
        else:
            instead = "nothing" if now is None else " ".join(filter(None, (now.how, now.source, now.note)))
            yield (
                f"{row.target} is filled from {row.source} by its number alone, which a rule or drop uses as well; "
                f"with numbers: same it is filled by: {instead}"
            )
    yield from _rounding_since(earlier, plan)


def _rounding_since(earlier: ConversionPlan, plan: ConversionPlan) -> Iterator[str]:
    """Yield which fields a new plan rounds, and where it refuses the decimals of a cast."""
    before = dict(_operations(earlier.root))
    for where, op in _operations(plan.root):
        cast = next((each for each in _steps(op) if isinstance(each, Cast) and each.rounded is not None), None)
        if cast is not None and where in before and encoded(before[where]) != encoded(op):
            yield (
                f"{where} is not rounded, since the decimals of its rule had no effect when the plan was made; "
                f"a new plan rounds it to {cast.rounded}"
            )
    for problem in plan.problems:
        if problem.text.startswith(DECIMALS):
            yield f"{problem.field} ignores the decimals of its rule; a new plan refuses them: {problem.text}"


def _operations(op: Op, where: str = "") -> Iterator[tuple[str, Op]]:
    """Yield the operation of each field of a record, also of records in it, with its path."""
    if not isinstance(op, BuildRecord):
        yield where, op
        return
    for name, inner in op.fields:
        yield from _operations(inner, f"{where}.{name}" if where else name)


def _steps(op: Op) -> Iterator[Op]:
    """Yield an operation and those that its value comes from."""
    each: Op | None = op
    while each is not None:
        yield each
        each = getattr(each, "of", None)
