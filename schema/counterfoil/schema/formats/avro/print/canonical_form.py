"""Avro's Parsing Canonical Form of a type tree.

Source: Apache Avro 1.12 specification, "Transforming into Parsing Canonical Form".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.types import WORD_BY_KIND, Array, Enum, Fixed, Map, Record, Union

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, NamedType


def print_canonical_form(root: AvroType) -> str:
    """Return the canonical form: no white space, full names, and only the attributes that affect reading."""
    return _print(root, set())


def _print(node: AvroType, declared: set[str]) -> str:
    if isinstance(node, (Record, Enum, Fixed)):
        return _print_named(node, declared)
    if isinstance(node, Union):
        return f"[{','.join(_print(branch, declared) for branch in node.branches)}]"
    if isinstance(node, Array):
        return f'{{"type":"array","items":{_print(node.items, declared)}}}'
    if isinstance(node, Map):
        return f'{{"type":"map","values":{_print(node.values, declared)}}}'
    return f'"{WORD_BY_KIND[node.kind]}"'


def _print_named(node: NamedType, declared: set[str]) -> str:
    name = f'"{node.full_name}"'
    if node.full_name in declared:
        return name
    declared.add(node.full_name)
    if isinstance(node, Record):
        fields = ",".join(
            f'{{"name":"{member.name}","type":{_print(member.type, declared)}}}' for member in node.fields
        )
        word = "error" if node.is_error else "record"
        return f'{{"name":{name},"type":"{word}","fields":[{fields}]}}'
    if isinstance(node, Fixed):
        return f'{{"name":{name},"type":"fixed","size":{node.size}}}'
    symbols = ",".join(f'"{symbol}"' for symbol in node.symbols)
    return f'{{"name":{name},"type":"enum","symbols":[{symbols}]}}'
