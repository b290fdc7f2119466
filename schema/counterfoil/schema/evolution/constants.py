"""Constants of rules and defaults of schemas: as base values, and as they are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.casts import decimal_of_bytes, decimal_of_number
from counterfoil.schema.evolution.errors import spelt_as_yaml
from counterfoil.schema.evolution.tree import Leaf
from counterfoil.schema.evolution.types import NoValue, split_null, value_of_json

if TYPE_CHECKING:
    from counterfoil.schema.evolution.model import Scalar
    from counterfoil.schema.evolution.tree import Node


def value_of_rule(node: Node, given: Any) -> Any:
    """Return the base value of a value that a rule writes; raise ``NoValue`` if it has none.

    It is written as a default of the type is, and a decimal also as a number.
    """
    scalar = _decimal(node)
    if scalar is None or isinstance(given, bool) or not isinstance(given, (int, float)):
        return value_of_json(node, given)
    made = decimal_of_number(given, scalar)
    if made is None:
        raise NoValue(f"a number that is exactly {scalar}")
    return made


def text_of_default(node: Node, given: Any) -> str:
    """Return the default of a field as it is printed: as YAML writes it, and a decimal as a number."""
    scalar = _decimal(node)
    if scalar is None or not isinstance(given, str):
        return spelt_as_yaml(given)
    try:
        return f"{decimal_of_bytes(value_of_json(node, given), scalar):f}"
    except NoValue:
        return spelt_as_yaml(given)


def _decimal(node: Node) -> Scalar | None:
    """Return the decimal that a type is, null aside."""
    _, inner = split_null(node)
    return inner.scalar if isinstance(inner, Leaf) and inner.scalar.word == "decimal" else None
