"""The nodes of a document as JSON, which is read many times faster than YAML. Positions are not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.documents.nodes import Kind, ListNode, MappingNode, ScalarNode
from counterfoil.schema.position import Position

if TYPE_CHECKING:
    from counterfoil.schema.documents.nodes import Node

_NOWHERE: Final = Position(1, 1)
_OTHER: Final = ""
"""The only key of the object that stands for a scalar which is no text; a mapping with this key is one of pairs."""
_PAIRS: Final = "pairs"


def node_json(node: Node) -> Any:
    """Return the JSON of a node: texts, lists and objects as they are; of other scalars their kind, text and value.

    >>> from counterfoil.schema.documents.yaml_reader import read_yaml
    >>> node_json(read_yaml("{a: [x, 1.50], b: yes}"))
    {'a': ['x', {'': ['float', '1.50', '1.5']}], 'b': {'': ['unclear', 'yes', None]}}
    """
    match node:
        case MappingNode() if _OTHER in node.entries:
            return {_OTHER: [_PAIRS, [[key, node_json(item)] for key, item in node.entries.items()]]}
        case MappingNode():
            return {key: node_json(item) for key, item in node.entries.items()}
        case ListNode():
            return [node_json(item) for item in node.items]
        case ScalarNode():
            if node.kind is Kind.TEXT:
                return node.text
            value = repr(node.value) if node.kind is Kind.NUMBER else node.value  # JSON has no infinity
            return {_OTHER: [node.kind.value, node.text, value]}


def node_of_json(document: Any) -> Node:
    """Return the node that :func:`node_json` has written.

    >>> node_json(node_of_json({"a": ["x"]}))
    {'a': ['x']}
    """
    if isinstance(document, str):
        return ScalarNode(_NOWHERE, document, Kind.TEXT, document)
    if isinstance(document, list):
        return ListNode(_NOWHERE, tuple(map(node_of_json, document)))
    if _OTHER not in document:
        return MappingNode(_NOWHERE, {key: node_of_json(each) for key, each in document.items()}, {})
    kind, *content = document[_OTHER]
    if kind == _PAIRS:
        return MappingNode(_NOWHERE, {key: node_of_json(each) for key, each in content[0]}, {})
    text, value = content
    is_number = kind == Kind.NUMBER.value
    return ScalarNode(_NOWHERE, text, Kind(kind), float(value) if is_number else value)
