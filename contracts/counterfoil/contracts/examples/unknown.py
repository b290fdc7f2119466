"""Schemas whose enums have one more symbol than their readers know, for messages of a later producer."""

from __future__ import annotations

import json
from typing import Any

from counterfoil.contracts.examples.choices import UNKNOWN_SYMBOL
from counterfoil.schema.model import SchemaType


def with_unknown_symbols(text: str, language: SchemaType) -> str:
    """Return the text of a schema in which every enum of texts has :data:`UNKNOWN_SYMBOL`, too.

    A Protobuf schema needs no change: its writers may use numbers without names.
    """
    return text if language is SchemaType.PROTOBUF else json.dumps(_widened(json.loads(text), language))


def _widened(value: Any, language: SchemaType) -> Any:
    if isinstance(value, list):
        return [_widened(item, language) for item in value]
    if not isinstance(value, dict):
        return value
    widened = {key: _widened(item, language) for key, item in value.items()}
    key = "symbols" if language is SchemaType.AVRO and value.get("type") == "enum" else "enum"
    symbols = value.get(key)
    if isinstance(symbols, list) and any(isinstance(symbol, str) for symbol in symbols):
        widened[key] = [*symbols, UNKNOWN_SYMBOL]
    return widened
