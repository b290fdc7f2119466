"""The name of a place in a schema, for people: ``items[].sku`` for ``/fields/3/type/items/fields/0``.

The notation is that of contract files: ``a.b`` for fields, ``items[]`` for array items, ``attrs{}`` for map values,
``payment<Card>`` for the branch of a union. In Protobuf the name starts with the message.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.rules import RULE_BY_ID
from counterfoil.schema.json_text import pointer_steps, read_json
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.protocol import ParsedSchema

_NAMED: Final = frozenset({"properties", "dependencies", "dependentRequired", "dependentSchemas", "required"})
"""Keywords of JSON Schema that are followed by the name of a property; ``required`` in differences alone."""
_DEFINED: Final = frozenset({"$defs", "definitions"})
_ARRAYS: Final = frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"})
_MAPS: Final = frozenset({"additionalProperties", "unevaluatedProperties"})
_BRANCHES: Final = frozenset({"allOf", "anyOf", "oneOf"})
_TRANSPARENT: Final = frozenset({"not", "if", "then", "else", "propertyNames"})


def element_of(reader: ParsedSchema, difference: Difference) -> str:
    """The element that a difference is about, in the names of the schema that fails to read."""
    rule = RULE_BY_ID.get(difference.rule)
    if rule is not None and rule.schema_type is None:  # the path leads through the columns of a table
        return ".".join(difference.steps or ())
    match reader.schema_type:
        case SchemaType.AVRO:
            return avro_element(reader.text, difference.reader_pointer)
        case SchemaType.PROTOBUF:
            return protobuf_element(max(_pointers(difference), key=lambda pointer: pointer.count("/")))
        case SchemaType.JSON:
            if difference.steps is not None:  # unlike the pointers, they lead through references
                return json_element(difference.steps)
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
    """The element of ``/Outer/Inner/field``.

    >>> protobuf_element("/Order/Line/price")
    'Order.Line.price'
    """
    return ".".join(pointer_steps(pointer))


def json_element(steps: Sequence[str]) -> str:
    """The element that the steps of a JSON pointer into a JSON schema lead to.

    A definition is called by its name, a branch of ``oneOf`` and its kind by its number, counted from 0.

    >>> json_element(["properties", "lines", "items", "properties", "price", "minimum"])
    'lines[].price'
    """
    element = ""
    rest = list(reversed(steps))
    while rest:
        keyword = rest.pop()
        if keyword in _NAMED and rest:
            element += f".{rest.pop()}"
        elif keyword in _DEFINED and rest:
            element = rest.pop()
        elif keyword == "patternProperties" and rest:
            element += f"{{{rest.pop()}}}"
        elif keyword in _ARRAYS:
            element += f"[{rest.pop() if rest and rest[-1].isdecimal() else ''}]"
        elif keyword in _MAPS:
            element += "{}"
        elif keyword in _BRANCHES and rest and rest[-1].isdecimal():
            element += f"<{rest.pop()}>"
        elif keyword not in _TRANSPARENT:
            break
    return element.removeprefix(".")


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
