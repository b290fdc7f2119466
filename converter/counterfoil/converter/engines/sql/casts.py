"""Casts as Spark SQL: null when the reference evaluator raises, or when Spark might round differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.sql.text import floor_divided, text
from counterfoil.schema.evolution.casts import UUID_PATTERN
from counterfoil.schema.evolution.types import is_instant, ticks_per_second

if TYPE_CHECKING:
    from counterfoil.schema.evolution.model import Cast, Scalar, Widen

_SQL_BY_BASE: Final = {"int": "int", "long": "bigint", "float": "float", "double": "double"}
_PLAIN_WHOLE: Final = "[ \\t\\r\\n]*[+-]?[0-9]{1,30}[ \\t\\r\\n]*"
_PLAIN_REAL: Final = "[ \\t\\r\\n]*[+-]?[0-9]{1,20}(\\.[0-9]{0,30})?([eE][+-]?[0-9])?[ \\t\\r\\n]*"
_MAX_SQL_DECIMALS: Final = 9
_MAX_SCALED: Final = "1e15D"


def widen_sql(op: Widen, value: str) -> str:
    """Return the value as the larger type."""
    if op.target.base in {"long", "double"} and op.source.base != op.target.base:
        return f"cast({value} AS {_SQL_BY_BASE[op.target.base]})"
    if op.target.base == "bytes" and op.source.base in {"string", "enum"}:
        return f"cast({value} AS binary)"
    return value


def cast_sql(op: Cast, value: str, where: str) -> str:
    """Return the value as the other type; raise ``EngineCannot`` for decimals, which Spark rounds differently."""
    source, target = op.source, op.target
    if "decimal" in {source.word, target.word}:
        raise EngineCannot("sql", field=where, why=f"{source} as {target} is not done in Spark's decimals")
    if is_instant(source) and is_instant(target):
        return _rescaled(value, source, target)
    if target.word == "uuid":
        return _matching(value, UUID_PATTERN, value)
    if target.base == "string":
        return _to_text(op, value)
    if target.base == "enum":
        return f"CASE WHEN {value} IN ({', '.join(map(text, target.symbols))}) THEN {value} END"
    if source.base == "string":
        return _from_text(value, target)
    return _between_numbers(value, source, target)


def _matching(value: str, pattern: str, result: str) -> str:
    """Return ``result`` if the whole text ``value`` matches ``pattern``, else null."""
    whole = text(rf"^(?:{pattern})\z")
    return f"CASE WHEN {value} RLIKE {whole} THEN {result} END"


def _from_text(value: str, target: Scalar) -> str:
    """Return a finite number by Spark's own cast, only for texts that the reference evaluator reads, too."""
    if target.base == "boolean":
        return f"CASE {value} WHEN 'true' THEN true WHEN 'false' THEN false END"
    pattern = _PLAIN_WHOLE if target.base in {"int", "long"} else _PLAIN_REAL
    return _matching(value, pattern, f"try_cast({value} AS {_SQL_BY_BASE[target.base]})")


def _to_text(op: Cast, value: str) -> str:
    base = op.source.base
    if base == "boolean":
        return f"CASE WHEN {value} THEN 'true' WHEN NOT {value} THEN 'false' END"
    if base == "bytes":
        return f"CASE WHEN is_valid_utf8(cast({value} AS string)) THEN cast({value} AS string) END"
    if base in {"float", "double"}:
        return _real_text(value, op.decimals or 0, is_float=base == "float")
    return f"cast({value} AS string)"


def _real_text(value: str, decimals: int, *, is_float: bool) -> str:
    """Return a real number with fixed decimals, or null if it is too near the middle of two to round with certainty."""
    if decimals > _MAX_SQL_DECIMALS:
        return "cast(NULL AS string)"
    scaled = f"(abs(cast({value} AS double)) * {10**decimals}D)"
    distance = f"abs({scaled} - floor({scaled}) - 0.5D)"
    spread = f"({scaled} * {'2e-7D' if is_float else '1e-15D'} + 1e-9D)"
    whole = f"cast(floor({scaled} + 0.5D) AS bigint)"
    digits = f"lpad(cast({whole} AS string), greatest(length(cast({whole} AS string)), {decimals + 1}), '0')"
    sign = f"CASE WHEN {value} < 0 AND {whole} <> 0 THEN '-' ELSE '' END"
    if decimals:
        made = f"concat({sign}, left({digits}, length({digits}) - {decimals}), '.', right({digits}, {decimals}))"
    else:
        made = f"concat({sign}, {digits})"
    return f"CASE WHEN {scaled} < {_MAX_SCALED} AND {distance} > {spread} THEN {made} END"


def _between_numbers(value: str, source: Scalar, target: Scalar) -> str:
    sql_type = _SQL_BY_BASE.get(target.base)
    if target.base == "boolean":
        return f"CASE {value} WHEN 0 THEN false WHEN 1 THEN true END"
    if source.base == "boolean":
        return f"CASE WHEN {value} THEN cast(1 AS {sql_type}) WHEN NOT {value} THEN cast(0 AS {sql_type}) END"
    if target.base == "fixed":
        return f"CASE WHEN octet_length({value}) = {target.size} THEN {value} END"
    if source.base in {"float", "double"} and target.base in {"int", "long"}:
        return f"CASE WHEN {value} = floor({value}) AND abs({value}) < 9e15D THEN try_cast({value} AS {sql_type}) END"
    if source.base == "double" and target.base == "float":
        narrowed = f"cast({value} AS float)"
        return f"CASE WHEN abs({narrowed}) < cast('Infinity' AS float) THEN {narrowed} END"
    return f"try_cast({value} AS {sql_type})"


def _rescaled(value: str, source: Scalar, target: Scalar) -> str:
    up, down = ticks_per_second(target), ticks_per_second(source)
    if up >= down:
        return f"try_multiply({value}, cast({up // down} AS bigint))"
    ratio = down // up
    return floor_divided(value, ratio)
