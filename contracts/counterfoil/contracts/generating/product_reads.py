"""The reads in a product file, completed without a change to anything else: comments and other keys stay.

The text is edited at the places that PyYAML gives for its nodes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from counterfoil.contracts.generating.documents import yaml_text

if TYPE_CHECKING:
    from collections.abc import Sequence


class Uneditable(Exception):
    """A document whose form is not one that can be completed; ``problem`` is a sentence without its subject."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def with_reads(text: str, contract: str, version: str, paths: Sequence[str]) -> str:
    """Return the text of a product file in which the input port of a contract reads ``paths``, too.

    A port that is not there is added, for the major ``version`` of the contract. Raises ``Uneditable``.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise Uneditable("is no mapping")
    reads = {"property": "reads", "value": [*paths]}
    port = {"name": contract, "version": version, "contractId": contract, "customProperties": [reads]}
    ports = _entry(root, "inputPorts")
    if ports is None:
        return _with_key(text, root, "inputPorts", [port])
    for found in _items(ports):
        if not isinstance(found, yaml.MappingNode):
            continue
        named = _entry(found, "contractId")
        if isinstance(named, yaml.ScalarNode) and named.value == contract:
            return _in_port(text, found, reads)
    return _with_item(text, ports, port)


def _in_port(text: str, port: yaml.MappingNode, reads: dict[str, Any]) -> str:
    own = _entry(port, "customProperties")
    if own is None:
        return _with_key(text, port, "customProperties", [reads])
    for found in _items(own):
        name = _entry(found, "property")
        value = _entry(found, "value")
        if isinstance(name, yaml.ScalarNode) and name.value == "reads" and value is not None:
            for path in reads["value"]:
                text = _with_item(text, value, path)
                value = _same(text, value)
            return text
    return _with_item(text, own, reads)


def _same(text: str, node: yaml.Node) -> yaml.Node:
    """Return the node at the same place after what follows it was changed."""
    for found in _all(yaml.compose(text, Loader=yaml.SafeLoader) or node):
        if found.start_mark.index == node.start_mark.index and type(found) is type(node):
            return found
    raise Uneditable("cannot be read again")


def _all(node: yaml.Node) -> Sequence[yaml.Node]:
    inside = [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode) else node.value
    parts = [] if isinstance(node, yaml.ScalarNode) else inside
    return [node, *(found for part in parts for found in _all(part))]


def _entry(node: yaml.Node, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _items(node: yaml.Node) -> Sequence[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _with_item(text: str, node: yaml.Node, item: Any) -> str:
    """Return the text in which a list has one more item."""
    if not isinstance(node, yaml.SequenceNode):
        raise Uneditable(f"has no list in line {node.start_mark.line + 1}")
    if node.flow_style:
        return _in_brackets(text, node, json.dumps(item, ensure_ascii=False))
    return _below(text, node, yaml_text([item]))


def _with_key(text: str, node: yaml.CollectionNode, key: str, value: Any) -> str:
    """Return the text in which a mapping has one more key."""
    if node.flow_style:
        return _in_brackets(text, node, f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return _below(text, node, yaml_text({key: value}))


def _in_brackets(text: str, node: yaml.Node, written: str) -> str:
    """Return the text with one more entry before a closing bracket, and before the comments in front of that."""
    tokens = yaml.scan(text, Loader=yaml.SafeLoader)
    *_, last = (each for each in tokens if each.end_mark.index < node.end_mark.index)
    match last:
        case yaml.FlowSequenceStartToken() | yaml.FlowMappingStartToken():
            separator = ""
        case yaml.FlowEntryToken():
            separator = " "
        case _:
            separator = ", "
    end = last.end_mark.index
    return f"{text[:end]}{separator}{written}{text[end:]}"


def _below(text: str, node: yaml.Node, written: str) -> str:
    """Return the text with lines after the last one of a block, at its indent."""
    lines = text.splitlines(keepends=True)
    last = _last_line(node)
    if not lines[last].endswith("\n"):
        lines[last] += "\n"
    indent = " " * node.start_mark.column
    lines[last + 1 : last + 1] = [f"{indent}{line}" for line in written.splitlines(keepends=True)]
    return "".join(lines)


def _last_line(node: yaml.Node) -> int:
    """Return the number of the last line of a node, without the comments that follow it."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        end = node.end_mark
        return int(end.line - 1 if end.column == 0 and end.line > node.start_mark.line else end.line)
    last = node.value[-1]
    return _last_line(last[1] if isinstance(node, yaml.MappingNode) else last)
