"""Lookup tables: their keys and results as values of the source's and the target's type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.constants import value_of_rule
from counterfoil.schema.evolution.errors import shown
from counterfoil.schema.evolution.numbers import whole_of_text
from counterfoil.schema.evolution.types import WHOLE, NoValue, range_of

if TYPE_CHECKING:
    from counterfoil.schema.evolution.model import Scalar
    from counterfoil.schema.evolution.rules import LookupRule
    from counterfoil.schema.evolution.tree import Node

_BOOLEANS = {"true": True, "false": False}


def table_of(lookup: LookupRule, source: Scalar, target: Node) -> tuple[tuple[tuple[Any, Any], ...], list[str]]:
    """Return the table with its keys as values of ``source`` and its results as values of ``target``.

    And the problems.
    """
    entries: dict[Any, Any] = {}
    problems: list[str] = []
    for written, result in lookup.table:
        try:
            key = _key(written, source)
        except NoValue as no_value:
            problems.append(f"lookup {shown(written)}: {no_value}")
            continue
        try:
            value = value_of_rule(target, result)
        except NoValue as no_value:
            problems.append(f"lookup {shown(written)}: {shown(result)} is no value here; expected {no_value}")
            continue
        if key in entries:
            problems.append(f"lookup: {shown(key)} stands in the table twice")
        entries[key] = value
    return tuple(entries.items()), problems


def _key(written: Any, source: Scalar) -> Any:
    """Return a key as a value of the source's type; documents write whole numbers and booleans as text too."""
    if source.base in WHOLE:
        low, high = range_of(source)
        number = whole_of_text(written) if isinstance(written, str) else written
        if isinstance(number, int) and not isinstance(number, bool) and low <= number <= high:
            return number
    elif source.base == "boolean":
        if isinstance(written, bool):
            return written
        if isinstance(written, str) and written in _BOOLEANS:
            return _BOOLEANS[written]
    elif source.base == "enum":
        if written in source.symbols:
            return written
        raise NoValue(f"the key is no symbol; expected one of {', '.join(source.symbols)}")
    elif source.base == "string":
        if isinstance(written, str):
            return written
        raise NoValue("the key is no text; put it into quotes")
    else:
        raise NoValue(f"{source} cannot be the key of a table")
    raise NoValue(f"the key is no {source}")
