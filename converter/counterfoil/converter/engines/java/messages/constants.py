"""Base values as constants of a generated class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import quoted, real
from counterfoil.schema.evolution.numbers import LONG_RANGE
from counterfoil.schema.evolution.tree import Array, Map, Record, Union
from counterfoil.schema.evolution.types import is_text, split_null

if TYPE_CHECKING:
    from counterfoil.converter.engines.java.source import JavaClass
    from counterfoil.schema.evolution.tree import Node


def constant(java: JavaClass, node: Node, value: Any, where: str) -> str:
    """Return the name of a constant with a base value of a type, or ``null``."""
    if value is None:
        return "null"
    return java.constant("Object", _spelt(java, split_null(node)[1] or node, value, where))


def _spelt(java: JavaClass, node: Node, value: Any, where: str) -> str:
    if isinstance(value, str):
        if not is_text(value):
            raise EngineCannot(ENGINE, field=where, why="a text that UTF-8 cannot hold")
        return f"Values.text({java.data(value.encode())})"
    if isinstance(value, bytes):
        return java.data(value)
    if isinstance(value, bool):
        return f"Boolean.{'TRUE' if value else 'FALSE'}"
    if isinstance(value, int):
        low, high = LONG_RANGE
        return f"Long.valueOf({value}L)" if low <= value <= high else f"new java.math.BigInteger({quoted(str(value))})"
    if isinstance(value, float):
        return f"Double.valueOf({real(value)})"
    return _with_parts(java, node, value, where)


def _with_parts(java: JavaClass, node: Node, value: Any, where: str) -> str:
    if isinstance(node, Union):
        if isinstance(value, tuple):
            return f"new Tagged({value[0]}, {constant(java, node.branches[value[0]], value[1], where)})"
        wanted = Array if isinstance(value, list) else (Record, Map)
        node = next(branch for branch in node.branches if isinstance(branch, wanted))
    if isinstance(node, Array):
        items = ", ".join(constant(java, node.items, item, where) for item in value)
        return f"new Items(new Object[] {{{items}}})"
    if isinstance(node, Map):
        keys = ", ".join(_spelt(java, node, key, where) for key in value)
        values = ", ".join(constant(java, node.values, item, where) for item in value.values())
        return f"new Entries(new Texts[] {{{keys}}}, new Object[] {{{values}}})"
    if isinstance(node, Record):
        parts = ", ".join(constant(java, member.type, value[member.name], where) for member in node.fields)
        return f"new Object[] {{{parts}}}"
    raise EngineCannot(ENGINE, field=where, why=f"a constant of {node.kind}")
