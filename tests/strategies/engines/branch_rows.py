"""The examples of the page about branches: a plan, a value, and the result that the page says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.documents import plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules

if TYPE_CHECKING:
    from counterfoil.schema.plans.model import ConversionPlan

PAGE: Final = Path(__file__).parents[3] / "docs" / "bridge-branches.md"
_TYPES: Final = {each["name"]: each for each in json.loads(PAGE.read_text().split("```json\n")[1].split("```")[0])}


class BranchRow(NamedTuple):
    """One row; ``value`` and ``result`` have pairs of a name and a value where a union has several named types."""

    source: Any
    target: Any
    rules: Any
    value: Any
    result: Any

    def plan(self) -> ConversionPlan:
        """Return the plan of the row."""
        source, target = (parse_avro(json.dumps(each)) for each in (self.source, self.target))
        return derive_plan(source, target, parse_rules(self.rules, "rest"))


def branch_rows() -> list[BranchRow]:
    """Return the rows of the page."""
    lines = PAGE.read_text().split("## Examples\n")[1].splitlines()
    cells = [[cell.strip().strip("`") for cell in line.strip("| ").split(" | ")] for line in lines if line[:1] == "|"]
    return [_row(*each) for each in cells[2:]]


def _row(source: str, target: str, rules: str, value: str, result: str) -> BranchRow:
    node = read_yaml(rules)
    assert node is not None
    expected = result if result == "union-branch-missing" else _tuples(json.loads(result))
    before, after = (_record(json.loads(each)) for each in (source, target))
    return BranchRow(before, after, plain_value(node), _tuples(json.loads(value)), expected)


def _record(node: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": "p", "type": _whole(node, set())}]}


def _whole(node: Any, known: set[str]) -> Any:
    """Return a type with each named type where it is met first."""
    if isinstance(node, list):
        return [_whole(each, known) for each in node]
    if isinstance(node, str):
        if node not in _TYPES or node in known:
            return node
        known.add(node)
        return _TYPES[node]
    return {key: _whole(each, known) if key in {"items", "values"} else each for key, each in node.items()}


def _tuples(value: Any) -> Any:
    """Return a pair of a name and a value as fastavro takes it."""
    is_pair = isinstance(value, list) and len(value) == 2 and value[0] in _TYPES and isinstance(value[1], dict | str)
    return tuple(value) if is_pair else value
