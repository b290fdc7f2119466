"""The equality of branches, so that equal ones count once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any, Final

from counterfoil.schema.formats.jsonschema.compare.keyword_nodes import value_text
from counterfoil.schema.formats.jsonschema.compare.model import Node, Rest

_LONG: Final = 200
_NOT_CONTENT: Final = frozenset({"site", "source", "keyword", "key", "find", "found", "is_synthetic", "indexes"})


def key_of(node: Node) -> str:
    """Return a text that is the same for nodes of the same content.

    References are compared by their text, not by the schema that they lead to.
    """
    if node.key is None:
        key = value_text(node.source) if isinstance(node.source, dict) else _structure(node)
        is_long = len(key) > _LONG  # the keys of nodes inside one another would be as long as all their texts together
        node.key = sha256(key.encode("utf-8", "surrogatepass")).hexdigest() if is_long else key
    return node.key


def _structure(node: Node) -> str:
    content = [
        f"{each.name}={_text(getattr(node, each.name))}" for each in fields(node) if each.name not in _NOT_CONTENT
    ]
    return f"{type(node).__name__}({','.join(content)})"


def _text(value: Any) -> str:
    match value:
        case Node():
            return key_of(value)
        case Rest():
            return f"{value.is_allowed} {_text(value.schema)}"
        case frozenset():
            return repr(sorted(value))
        case tuple():
            return f"[{','.join(map(_text, value))}]"
        case Mapping() if all(isinstance(each, Node | frozenset) for each in value.values()):
            return f"{{{','.join(f'{name!r}:{_text(value[name])}' for name in sorted(value))}}}"
    return repr(value)
