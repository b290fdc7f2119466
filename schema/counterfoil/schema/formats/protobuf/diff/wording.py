"""Texts of parts of a Protobuf file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.formats.protobuf.read.ast import Aggregate, EnumConstant, Field, ListValue, Range, ValueKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.formats.protobuf.read.ast import (
        ExtensionRange,
        Option,
        OptionValue,
        ProtoFile,
        Reserved,
        Rpc,
    )
    from counterfoil.schema.formats.protobuf.types.index import FieldType, Held

Documented: TypeAlias = Field | EnumConstant
"""A node that may have a comment above and one behind it."""

_TOLD_OTHERWISE: Final = frozenset({"default"})


def type_words(field: FieldType, new_name: Mapping[str, str] | None = None) -> str:
    """Return the type of a field: ``int32``, ``map<string, shop.Item>``; names in ``new_name`` are replaced."""
    return _held_words(field.holds, new_name or {})


def _held_words(held: Held, new_name: Mapping[str, str]) -> str:
    if held.key is not None and held.value is not None:
        return f"map<{_held_words(held.key, new_name)}, {_held_words(held.value, new_name)}>"
    named = held.message or held.enum
    if named is None:
        return held.scalar or held.name.removeprefix(".")
    return new_name.get(named.full_name, named.full_name)


def label_words(field: FieldType) -> str | None:
    """Return the label as written, ``map`` for a map; None for a field without one."""
    if field.node.map is not None:
        return "map"
    return field.node.label.value if field.node.label else None


def syntax_words(file: ProtoFile) -> str:
    """Return ``proto3``, ``edition 2023``; ``proto2`` for a file without a syntax or edition."""
    return f"edition {file.edition}" if file.edition else file.syntax or "proto2"


def option_words(options: Iterable[Option]) -> dict[str, str]:
    """Return every option as ``name = value``, by its name; options of one name are joined. Defaults are left out."""
    found: dict[str, str] = {}
    for option in options:
        if option.name not in _TOLD_OTHERWISE:
            said = f"{option.name} = {_value_words(option.value)}"
            found[option.name] = f"{found[option.name]}, {said}" if option.name in found else said
    return found


def _value_words(value: OptionValue) -> str:
    if isinstance(value, Aggregate):
        return "{ " + " ".join(f"{entry.name}: {_value_words(entry.value)}" for entry in value.entries) + " }"
    if isinstance(value, ListValue):
        return "[" + ", ".join(map(_value_words, value.items)) + "]"
    return json.dumps(value.text, ensure_ascii=False) if value.kind is ValueKind.STRING else value.text


def range_words(statements: Iterable[Reserved | ExtensionRange]) -> str | None:
    """Return the numbers and names of ``reserved`` or ``extensions`` statements in one line; None for none."""
    said = [_range_words(value) for statement in statements for value in statement.values]
    return ", ".join(said) or None


def _range_words(value: int | Range | str) -> str:
    if isinstance(value, Range):
        return f"{value.start} to {'max' if value.is_max else value.end}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def rpc_words(rpc: Rpc) -> str:
    """Return the signature of a method, such as ``Place(stream Order) returns (Receipt)``."""
    request, response = (
        f"{'stream ' if is_streaming else ''}{name}"
        for name, is_streaming in ((rpc.request, rpc.request_streaming), (rpc.response, rpc.response_streaming))
    )
    return f"{rpc.name}({request}) returns ({response})"


def doc_words(node: Documented) -> str | None:
    """Return the comments above and behind the node, quoted; None if there are none."""
    return quoted("\n".join(filter(None, [node.doc, node.trailing_doc])))


def quoted(text: str) -> str | None:
    """Return the text as a JSON string; None for an empty one."""
    return json.dumps(text, ensure_ascii=False) if text else None
