"""Conversion plans: how records of one schema become records of another.

>>> from counterfoil.schema.formats.avro.parse import parse_avro
>>> source = parse_avro('{"type": "record", "name": "Ride", "fields": [{"name": "km", "type": "double"}]}')
>>> target = parse_avro('{"type": "record", "name": "Ride", "fields": [{"name": "miles", "type": "double"}]}')
>>> plan = derive_plan(source, target, parse_rules({"miles": {"expr": "km / 1.6"}}))
>>> plan.is_complete, evaluate(plan, {"km": 8.0})
(True, {'miles': 5.0})
"""

from counterfoil.schema.evolution.base import base_schema, base_text
from counterfoil.schema.evolution.derive import derive_plan
from counterfoil.schema.evolution.errors import (
    ConversionError,
    ExpressionError,
    FailureCode,
    PlanError,
    PlanUnfinished,
)
from counterfoil.schema.evolution.evaluate import evaluate, evaluator
from counterfoil.schema.evolution.languages.table import with_message
from counterfoil.schema.evolution.model import ConversionPlan, PlanProblem, PlanRow, ProblemKind
from counterfoil.schema.evolution.resolution import derive_resolution, resolution_conflicts, rounds_to_float
from counterfoil.schema.evolution.reverse import BothWays, Loss, derive_back, derive_both_ways
from counterfoil.schema.evolution.rules import Numbers, PlanRules, parse_rules
from counterfoil.schema.evolution.stored import changes_since, stored_plan

__all__ = [
    "BothWays",
    "ConversionError",
    "ConversionPlan",
    "ExpressionError",
    "FailureCode",
    "Loss",
    "Numbers",
    "PlanError",
    "PlanProblem",
    "PlanRow",
    "PlanRules",
    "PlanUnfinished",
    "ProblemKind",
    "base_schema",
    "base_text",
    "changes_since",
    "derive_back",
    "derive_both_ways",
    "derive_plan",
    "derive_resolution",
    "evaluate",
    "evaluator",
    "parse_rules",
    "resolution_conflicts",
    "rounds_to_float",
    "stored_plan",
    "with_message",
]
