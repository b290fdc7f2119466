"""The errors of the package jsonschema as mistakes with a place in the document and a sentence of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from counterfoil.schema.agreements.model import Fault
from counterfoil.schema.documents.blocks import likely, respelled
from counterfoil.schema.documents.nodes import Kind, ListNode, MappingNode, Repair, ScalarNode
from counterfoil.schema.excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.schema.documents.nodes import Node
    from counterfoil.schema.position import Position

INVALID: Final = "document-invalid"
"""The rule that a document is valid under its standard."""
_CLOSING: Final = ("additionalProperties", "unevaluatedProperties")
_CHOICES: Final = ("oneOf", "anyOf")


class Violation(Protocol):
    """An error of the package jsonschema, as far as it is used here."""

    validator: Any
    validator_value: Any
    instance: Any
    schema: Any
    context: Any
    path: Any
    absolute_path: Any
    schema_path: Any
    message: str


_MAX_SHOWN: Final = 60
_TYPE_WORDS: Final = {
    "string": "a text (in quotes where it looks like a number)",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}

_SENTENCES: Final = {
    "minItems": "must have at least {limit} items",
    "maxItems": "must have at most {limit} items",
    "uniqueItems": "must not have an item twice",
    "minimum": "must be at least {limit}, not {value}",
    "maximum": "must be at most {limit}, not {value}",
    "const": "must be {limit}, not {value}",
    "pattern": "must match {limit}, unlike {value}",
    "not": "may not be {value} here",
}


def faults_of(errors: Sequence[Violation], root: Node, schema: dict[str, Any]) -> Iterator[Fault]:
    """Yield the mistakes that ``errors`` are about, the most specific ones; at least one where there is an error."""
    for error in [*_most_specific(errors, schema)] or errors:
        path = list(error.absolute_path)
        node, position = _at(root, path)
        if error.validator not in _CLOSING:
            yield Fault(INVALID, f"{_words(path)} {_problem(error)}", position, _repair(error, node))
            continue
        known = _known_keys(error.schema, schema, set())
        for key in _refused_keys(error, known):
            at = node.key_positions.get(key, position) if isinstance(node, MappingNode) else position
            hint = "this one belongs to another form" if key in known else likely(key, known)
            meant = None if key in known else respelled(key, known, taken=error.instance)
            repair = None if meant is None else Repair(at, key, meant)
            yield Fault(INVALID, f"{_words(path)} has no key {key}; {hint}", at, repair)


def _most_specific(errors: Iterable[Violation], schema: dict[str, Any]) -> Iterator[Violation]:
    """Yield the errors that say what is wrong: of a choice, those of the branch that comes nearest.

    A key that a branch would know, had it been valid, is no error of its own.
    """
    for error in errors:
        if error.validator in _CHOICES and error.context:
            yield from _nearest(error, schema)
        elif error.validator not in _CLOSING or not _is_consequence(error, schema):
            yield error


def _nearest(error: Violation, schema: dict[str, Any]) -> Iterator[Violation]:
    """Yield the errors of the branch that is refused deepest inside the value, else of the choice."""
    branches: dict[int, list[Violation]] = {}
    for each in error.context or ():
        branches.setdefault(int(each.schema_path[0]), []).append(each)
    depth = {number: max(len(each.path) for each in found) for number, found in branches.items()}
    best = max(depth, key=lambda number: (depth[number], -len(branches[number])))
    if depth[best] == 0:
        yield error
    else:
        yield from _most_specific(branches[best], schema)


def _repair(error: Violation, node: Node) -> Repair | None:
    """Return what is meant: a number as text where a text must be, or a word in another spelling; None if unclear."""
    if not isinstance(node, ScalarNode):
        return None
    limit = error.validator_value
    types = [limit] if isinstance(limit, str) else limit
    if error.validator == "type" and "string" in types and node.kind in {Kind.INTEGER, Kind.NUMBER}:
        return Repair(node.position, node.text, f"'{node.text}'")
    if error.validator == "enum" and isinstance(error.instance, str):
        meant = respelled(error.instance, [each for each in limit if isinstance(each, str)])
        return None if meant is None else Repair(node.position, node.text, meant)
    return None


def _problem(error: Violation) -> str:
    keyword, limit = error.validator, error.validator_value
    value = excerpt(str(error.instance), _MAX_SHOWN)
    match keyword:
        case "required":
            missing = [key for key in limit if key not in error.instance]
            return f"needs {', '.join(missing)}"
        case "type":
            types = [limit] if isinstance(limit, str) else limit
            return f"must be {' or '.join(_TYPE_WORDS[each] for each in types)}, not {value}"
        case "enum":
            names = [str(each) for each in limit]
            near = f"; {likely(str(error.instance), names)}" if isinstance(error.instance, str) else ""
            return f"must be one of {', '.join(names)}, not {value}{near if 'did you mean' in near else ''}"
        case "oneOf" | "anyOf":
            return _choice(limit)
    sentence = _SENTENCES.get(keyword)
    return excerpt(error.message, _MAX_SHOWN * 2) if sentence is None else sentence.format(limit=limit, value=value)


def _choice(branches: Sequence[Any]) -> str:
    """Return the sentence about a choice, none of whose branches fits: their required keys or their types."""
    required = [", ".join(each["required"]) for each in branches if isinstance(each, dict) and "required" in each]
    if len(required) == len(branches):
        return f"needs exactly one of: {'; '.join(required)}"
    types = [each["type"] for each in branches if isinstance(each, dict) and isinstance(each.get("type"), str)]
    if len(types) == len(branches):
        return f"must be {' or '.join(_TYPE_WORDS[each] for each in dict.fromkeys(types))}"
    return "fits none of the forms that the standard permits here"


def _at(root: Node, path: Sequence[str | int]) -> tuple[Node, Position]:
    """Return the node at a path, and the position that shows it: of the key, else of the value."""
    node, position = root, root.position
    for step in path:
        if isinstance(node, MappingNode) and step in node.entries:
            node = node.entries[str(step)]
            position = node.position
        elif isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            position = node.position
    return node, position


def _words(path: Sequence[str | int]) -> str:
    if not path:
        return "the file"
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return words.removeprefix(".")


def _is_consequence(error: Violation, schema: dict[str, Any]) -> bool:
    """Return whether a branch would know all keys that are refused, so that the error follows from another one."""
    known = _known_keys(error.schema, schema, set())
    return all(key in known for key in error.instance)


def _refused_keys(error: Violation, known: set[str]) -> list[str]:
    """Return the keys that a closed mapping does not permit: those that no branch knows, else those of the message."""
    unknown = [key for key in error.instance if key not in known]
    return unknown or [key for key in error.instance if f"'{key}'" in error.message] or list(error.instance)


def _known_keys(part: Any, schema: dict[str, Any], seen: set[int]) -> set[str]:
    """Return the names of all properties that a schema mentions for its value, through references and branches."""
    if not isinstance(part, dict) or id(part) in seen:
        return set()
    seen.add(id(part))
    names = set(part.get("properties", ()))
    reference = part.get("$ref")
    if isinstance(reference, str):
        target: Any = schema
        for step in reference.removeprefix("#/").split("/"):
            target = target.get(step, {})
        names |= _known_keys(target, schema, seen)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in part.get(keyword, ()):
            names |= _known_keys(branch, schema, seen)
    for keyword in ("then", "else"):
        names |= _known_keys(part.get(keyword), schema, seen)
    return names
