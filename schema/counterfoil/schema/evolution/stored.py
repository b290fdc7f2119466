"""Plans as earlier versions of this project derived them, for bridges that were stored or begun then."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.schema.evolution.derive import SAME_NUMBER, derive_plan
from counterfoil.schema.evolution.rules import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.evolution.model import ConversionPlan
    from counterfoil.schema.evolution.rules import PlanRules


def stored_plan(plan: ConversionPlan, rules: PlanRules) -> ConversionPlan | None:
    """Return the plan that versions up to 0.2 derived of a bridge file: each number finds its field without a question.

    None if the file says what numbers mean, or if the plan is the same and complete.
    """
    if rules.numbers is not Numbers.ASK:
        return None
    earlier = derive_plan(plan.source, plan.target, replace(rules, numbers=Numbers.ALL))
    if not any(row.how == SAME_NUMBER for row in earlier.described):
        return None
    return None if earlier.hash == plan.hash and plan.is_complete else earlier


def changes_since(earlier: ConversionPlan, plan: ConversionPlan) -> Iterator[str]:
    """Yield what another derivation changes for each field that the earlier plan filled by its number alone."""
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
