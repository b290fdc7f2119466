"""Plans as earlier versions of this project derived them, for bridges that were stored or begun then."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.schema.evolution.assign import DECIMALS
from counterfoil.schema.evolution.derive import SAME_NUMBER, derive_plan
from counterfoil.schema.evolution.model import BuildRecord, Cast, encoded
from counterfoil.schema.evolution.rules import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.evolution.model import ConversionPlan, Op
    from counterfoil.schema.evolution.rules import PlanRules


def stored_plan(plan: ConversionPlan, rules: PlanRules) -> ConversionPlan | None:
    """Return the plan that versions up to 0.2 derived of a bridge file, if it is another one.

    Each number found its field without a question, and the ``decimals`` of a cast of decimals had no effect. None if
    the plan is the same and complete.
    """
    asks = rules.numbers is Numbers.ASK
    has_decimals = any(rule.cast is not None and rule.cast.decimals is not None for rule in rules.fields)
    if not (asks or has_decimals):
        return None
    numbers = Numbers.ALL if asks else rules.numbers
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
