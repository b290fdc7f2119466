"""Spark SQL as text: names, literals and types, in a spelling whose meaning no setting of a session changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.evolution.types import split_null
from counterfoil.schema.formats.avro.types import Array, Kind, Map, Record

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType

TYPE_BY_KIND: Final = {
    Kind.BOOLEAN: "boolean",
    Kind.INT: "int",
    Kind.LONG: "bigint",
    Kind.FLOAT: "float",
    Kind.DOUBLE: "double",
    Kind.STRING: "string",
    Kind.ENUM: "string",
    Kind.BYTES: "binary",
    Kind.FIXED: "binary",
    Kind.NULL: "void",
}


def quoted(name: str) -> str:
    """Return a name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """Return a string literal, with its bytes in hex so that no escape rule applies."""
    return f"cast(X'{value.encode().hex()}' AS string)"


def binary(value: bytes) -> str:
    """Return a binary literal."""
    return f"X'{value.hex()}'"


def number(value: float, sql_type: str) -> str:
    """Return a number as a literal of ``sql_type``."""
    if isinstance(value, float) and not math.isfinite(value):
        word = "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        return f"cast('{word}' AS {sql_type})"
    if isinstance(value, float):
        literal = f"cast('{value!r}' AS double)"
        return literal if sql_type == "double" else f"cast({literal} AS {sql_type})"
    return f"cast('{value}' AS {sql_type})"


def type_of(node: AvroType, *, enum_type: str = "string") -> str:
    """Return the SQL type of a type's values; a nullable type is the type without null."""
    _, inner = split_null(node)
    if inner is None:
        return "void"
    if isinstance(inner, Record):
        members = (f"{quoted(member.name)}: {type_of(member.type, enum_type=enum_type)}" for member in inner.fields)
        return f"struct<{', '.join(members)}>"
    if isinstance(inner, Array):
        return f"array<{type_of(inner.items, enum_type=enum_type)}>"
    if isinstance(inner, Map):
        return f"map<string, {type_of(inner.values, enum_type=enum_type)}>"
    return enum_type if inner.kind is Kind.ENUM else TYPE_BY_KIND[inner.kind]


def constant(node: AvroType, value: Any) -> str:
    """Return a base value of a type as a literal; an enum is its symbol."""
    _, inner = split_null(node)
    if value is None or inner is None:
        return f"cast(NULL AS {type_of(node)})"
    if isinstance(inner, Record):
        members = (f"{text(member.name)}, {constant(member.type, value[member.name])}" for member in inner.fields)
        return f"named_struct({', '.join(members)})"
    if isinstance(inner, Array):
        items = ", ".join(constant(inner.items, item) for item in value)
        return f"cast(array({items}) AS {type_of(inner)})"
    if isinstance(inner, Map):
        entries = ", ".join(f"{text(key)}, {constant(inner.values, item)}" for key, item in value.items())
        return f"cast(map({entries}) AS {type_of(inner)})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(value)
    return binary(value) if isinstance(value, bytes) else number(value, TYPE_BY_KIND[inner.kind])


def floor_divided(value: str, divisor: int) -> str:
    """Return a bigint divided by a positive number, rounded down."""
    return f"({value} div {divisor} - CASE WHEN {value} % {divisor} < 0 THEN 1 ELSE 0 END)"


def all_of(conditions: list[str]) -> str:
    """Return the condition that all conditions are true; ``true`` for none."""
    return " AND ".join(f"({condition})" for condition in conditions) or "true"
