"""The normalised text of an Avro schema (``normalize=true``): canonical, with every free order made one order.

Properties are sorted by key at every depth, the logical type and its attributes first; aliases are sorted; an empty
doc of a named type goes; defaults are spelt as their type spells them. Content is never lost by it.

Source: behaviour of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.avro.canonical import JsonObject, Layout, TreeWriter
from counterfoil.schema.json_print import print_json

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Field, Json

_LONG_LIMIT = 2**63
_LEADING = ("logicalType", "precision", "scale")


def print_normalized(root: AvroType, *, supplied: frozenset[str] = frozenset()) -> str:
    """The normalised text; ``SchemaParseError`` for a property whose number is beyond 64 bits."""
    return print_json(TreeWriter(_NORMALIZED, known=set(supplied)).write(root))


def _properties(node: AvroType) -> JsonObject:
    leading = _LEADING if node.logical_type else ()
    return {key: _sorted(node.properties[key], node.pointer) for key in _keys(node.properties, leading)}


def _field_properties(member: Field) -> JsonObject:
    return {key: _sorted(member.properties[key], member.pointer) for key in _keys(member.properties, ())}


def _keys(properties: object, leading: tuple[str, ...]) -> list[str]:
    keys = sorted(properties)  # type: ignore[call-overload]
    return [*(key for key in leading if key in keys), *(key for key in keys if key not in leading)]


def _default(member: Field) -> Json:
    return member.default


def _sorted(value: Json, pointer: str) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key], pointer) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item, pointer) for item in value]
    if type(value) is int and not -_LONG_LIMIT <= value < _LONG_LIMIT:
        raise SchemaParseError(
            f"the property number {value} is beyond 64 bits and has no normal form", path=pointer, expected="a long"
        )
    return value


_NORMALIZED = Layout(
    properties=_properties,
    field_properties=_field_properties,
    aliases=sorted,
    default=_default,
    keeps_empty_doc=False,
)
