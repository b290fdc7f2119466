"""Rules that a problem of a plan advises: written as they are copied into a bridge file, and accepted there."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.evolution.numbers import MAX_DECIMALS
from counterfoil.schema.evolution.types import (
    casts,
    is_derived,
    needs_decimals,
    same_values,
    scalar_of,
    split_null,
    widens,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.evolution.model import Scalar
    from counterfoil.schema.evolution.tree import Node

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_YAML_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_SOME_DECIMALS: Final = 2

NO_RULE: Final = "no rule can stand for {0}, so one of the schemas must change"
"""What is said of a place for which a bridge file has no rules."""


def rule_text(rule: Mapping[str, Any]) -> str:
    """Return a rule as a bridge document writes it.

    >>> rule_text({"from": "user.id", "cast": "string", "null": 0})
    '{from: user.id, cast: string, null: 0}'
    """
    return f"{{{', '.join(f'{word}: {_yaml(value)}' for word, value in rule.items())}}}"


def _yaml(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _YAML_WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def decimals_of(target: Scalar) -> int:
    """Return the decimals that an advised cast of a real number has."""
    return min(target.scale, MAX_DECIMALS) if target.word == "decimal" else _SOME_DECIMALS


def cast_words(source: Scalar, target: Scalar) -> dict[str, Any]:
    """Return the words of a rule that casts a value."""
    decimals = {"decimals": decimals_of(target)} if needs_decimals(source, target) else {}
    return {"cast": target.word, **decimals}


def rule_that_fits(spelt: str, source: Node, target: Node, *, is_nullable: bool) -> dict[str, Any] | None:
    """Return the rule that fills a field of ``target`` from the field at the path ``spelt``; None if there is none."""
    takes_null, wanted = split_null(target)
    _, given = split_null(source)
    if given is None or wanted is None:
        return None
    null = {"null": "error"} if is_nullable and not takes_null else {}
    if same_values(given, wanted):
        return {"from": spelt, **null}
    left, right = scalar_of(given), scalar_of(wanted)
    if left is None or right is None:
        return None
    if widens(left, right) or is_derived(left, right):
        return {"from": spelt, **null}
    return {"from": spelt, **cast_words(left, right), **null} if casts(left, right) else None
