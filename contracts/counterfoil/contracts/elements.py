"""The name of a place in an Avro schema, for people: ``items[].sku`` for ``/fields/3/type/items/fields/0``.

The notation is that of contract files: ``a.b`` for fields, ``items[]`` for array items, ``attrs{}`` for map values,
``payment<Card>`` for the branch of a union.
"""

from __future__ import annotations

from typing import Any

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.json_text import read_json


def element_at(text: str, pointer: str) -> str:
    """The element that JSON pointer ``pointer`` leads to in the schema ``text``.

    It is empty for the root and for what is not inside a field. A pointer that leads out of the text gives the last
    element on its way.
    """
    try:
        node = read_json(text)
    except (SchemaParseError, RecursionError):
        return ""
    element = ""
    parent_key = ""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        inner = _step(node, key)
        if inner is None:
            return element
        element += _said(element, node, parent_key, key, inner)
        node, parent_key = inner, key
    return element


def _step(node: Any, key: str) -> Any:
    if isinstance(node, dict):
        return node.get(key)
    if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
        return node[int(key)]
    return None


def _said(element: str, node: Any, parent_key: str, key: str, inner: Any) -> str:
    """What the step to ``inner`` adds to ``element``."""
    if isinstance(node, list):
        if parent_key == "fields":
            name = str(inner.get("name", "?")) if isinstance(inner, dict) else "?"
            return f".{name}" if element else name
        if parent_key in {"symbols", "aliases"}:
            return ""
        return f"<{_type_name(inner)}>"
    return {"items": "[]", "values": "{}"}.get(key, "") if isinstance(node, dict) else ""


def _type_name(node: Any) -> str:
    if isinstance(node, dict):
        return str(node.get("name") or _type_name(node.get("type")))
    return node if isinstance(node, str) else "union"
