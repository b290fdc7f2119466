"""The examples of the page about branches, as the reference evaluator has them."""

from __future__ import annotations

import pytest

from counterfoil.schema.plans import ConversionError
from counterfoil.schema.plans.evaluate import evaluate
from strategies.engines.branch_rows import BranchRow, branch_rows


@pytest.mark.parametrize("row", branch_rows(), ids=str)
def test_documented_branches_have_the_documented_results(row: BranchRow) -> None:
    plan = row.plan()
    assert plan.is_complete, plan.problems
    try:
        found = evaluate(plan, {"p": row.value})["p"]
    except ConversionError as failure:
        found = str(failure.code)
    assert found == row.result


def test_the_page_has_examples() -> None:
    assert len(branch_rows()) > 15
