"""JSON values as base values of their schema's tree, and back."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.tree import Array, Map, Null, Record, Union, branch_of

if TYPE_CHECKING:
    from counterfoil.schema.evolution.tree import Field, Node


class NoValues(Exception):
    """There are no values of limited size, or none can be made; ``problem`` is a sentence."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def base_of_json(node: Node, value: Any) -> Any:
    """Return the base value of a JSON value: with every declared property, and no others. Raises ``NoValues``."""
    match node:
        case Record():
            given = value if isinstance(value, dict) else {}
            return {each.name: _property(each, given) for each in node.fields}
        case Array():
            return [base_of_json(node.items, each) for each in value]
        case Map():
            return {key: base_of_json(node.values, each) for key, each in value.items()}
        case Union() if node.is_tagged:
            raise NoValues("values of oneOf are not generated")
        case Union():
            inner = [each for each in node.branches if not isinstance(each, Null)]
            return value if value is None or len(inner) != 1 else base_of_json(inner[0], value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _property(field: Field, given: dict[str, Any]) -> Any:
    if field.name in given:
        value = given[field.name]
        return None if value is None else base_of_json(field.type, value)
    return field.default if field.has_default and not field.may_be_absent else None


def json_of_base(node: Node, value: Any) -> Any:
    """Return the JSON value of a base value: a property that is None, and cannot be null, is left out."""
    match node:
        case Record() if value is not None:
            return {
                each.name: json_of_base(each.type, value[each.name])
                for each in node.fields
                if value[each.name] is not None or (each.has_null and not each.may_be_absent)
            }
        case Array() if value is not None:
            return [json_of_base(node.items, each) for each in value]
        case Map() if value is not None:
            return {key: json_of_base(node.values, each) for key, each in value.items()}
        case Union() if value is not None:
            if node.is_tagged:
                return json_of_base(node.branches[value[0]], value[1])
            branch = branch_of(node, value)
            return value if branch is None else json_of_base(branch, value)
    return value
