"""The name of a place in a schema, for people: ``items[].sku`` for ``/fields/3/type/items/fields/0``.

The notation is that of contract files: ``a.b`` for fields, ``items[]`` for array items, ``attrs{}`` for map values,
``payment<Card>`` for the branch of a union. In Protobuf the name starts with the message.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.jsonschema.compare.places import steps_through
from counterfoil.schema.jsontext.document import pointer_steps, read_json
from counterfoil.schema.model import SchemaType
from counterfoil.schema.place import StepKind

_MARKS: Final = {
    StepKind.MEMBER: ".{}",
    StepKind.ITEM: "[{}]",
    StepKind.VALUE: "{{{}}}",
    StepKind.BRANCH: "<{}>",
}

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.place import Steps


def element_of(reader: ParsedSchema, difference: Difference) -> str:
    """The element that a difference is about, in the names of the schema that fails to read."""
    if difference.place is not None:
        return element_at_steps(difference.place)
    match reader.schema_type:
        case SchemaType.AVRO:
            return avro_element(reader.text, difference.reader_pointer)
        case SchemaType.PROTOBUF:
            return max(map(protobuf_element, _pointers(difference)), key=lambda name: (bool(name), name.count(".")))
        case SchemaType.JSON:
            return json_element(pointer_steps(next(filter(None, _pointers(difference)), "")))


def element_at(schema: ParsedSchema, pointer: str) -> str:
    """The element at a pointer into the schema's own text."""
    match schema.schema_type:
        case SchemaType.AVRO:
            return avro_element(schema.text, pointer)
        case SchemaType.PROTOBUF:
            return protobuf_element(pointer)
        case SchemaType.JSON:
            return json_element(pointer_steps(pointer))


def protobuf_element(pointer: str) -> str:
    """The element of ``/Outer/Inner/field``; what begins with ``#`` is no element.

    >>> protobuf_element("/Order/Line/price")
    'Order.Line.price'
    """
    return ".".join(takewhile(lambda step: not step.startswith("#"), pointer_steps(pointer)))


def json_element(steps: Sequence[str]) -> str:
    """The element that the steps of a JSON pointer into a JSON schema lead to.

    A definition is called by its name, a branch of ``oneOf`` and its kind by its number, counted from 0.

    >>> json_element(["properties", "lines", "items", "properties", "price", "minimum"])
    'lines[].price'
    """
    return element_at_steps(steps_through(steps))


def element_at_steps(steps: Steps) -> str:
    """The element that steps lead to.

    >>> from counterfoil.schema.place import ITEMS, branch, member
    >>> element_at_steps((member("lines"), ITEMS, branch("Card"), member("last4")))
    'lines[]<Card>.last4'
    """
    return "".join(_MARKS[step.kind].format(step.name) for step in steps).removeprefix(".")


def avro_element(text: str, pointer: str) -> str:
    """The element that JSON pointer ``pointer`` leads to in the Avro schema ``text``.

    It is empty for the root and for what is not inside a field. A pointer that leads out of the text gives the last
    element on its way.
    """
    node = _document(text)
    element = ""
    parent_key = ""
    for key in pointer_steps(pointer):
        inner = _step(node, key)
        if inner is None:
            return element
        element += _said(element, node, parent_key, key, inner)
        node, parent_key = inner, key
    return element


@lru_cache(maxsize=8)
def _document(text: str) -> Any:
    """The value of a JSON text, read once for all of its findings; None for one that cannot be read."""
    try:
        return read_json(text)
    except (SchemaParseError, RecursionError):
        return None


def _pointers(difference: Difference) -> tuple[str, str]:
    return difference.reader_pointer, difference.writer_pointer


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
