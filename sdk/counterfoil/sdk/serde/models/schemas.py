"""Schemas that are derived from models: ``schema_of``, and the JSON schema of a model."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Final, Literal
from uuid import UUID

from counterfoil.schema.datum import Datum
from counterfoil.sdk.errors import InvalidSettings, ModelError
from counterfoil.sdk.serde.models.avro_schema import avro_schema
from counterfoil.sdk.serde.models.describe import describe, refusal
from counterfoil.sdk.serde.models.description import (
    NO_DEFAULT,
    AnyNode,
    EnumNode,
    FieldNode,
    LiteralNode,
    MapNode,
    ModelKind,
    ModelListNode,
    ModelNode,
    ModelScalarNode,
    Node,
    RootNode,
    UnionNode,
    branch_of,
    models_in,
    nodes_of,
)

# The JSON schema of a model: draft-07, in the form in which msgspec and pydantic write its values.
#
# Classes inside are in ``definitions`` by name, and so is a class that contains itself. Objects have no other
# properties than those of their class, so that a property can be added compatibly.

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_SCALARS: Final[Mapping[type, Mapping[str, Datum]]] = {
    NoneType: {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    Decimal: {"type": "string", "format": "decimal"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    time: {"type": "string", "format": "time"},
    timedelta: {"type": "string", "format": "duration"},
    UUID: {"type": "string", "format": "uuid"},
}
_SETS: Final = (set, frozenset)
_KINDS_WITHOUT_NAMES: Final = (ModelKind.DATACLASS, ModelKind.ATTRS, ModelKind.TYPED_DICT)
"""Kinds of classes whose fields have the same names in JSON as in Python."""


def json_schema(root: Node) -> str:
    """Return the text of the JSON schema of a description. Raises ``ModelError``."""
    deriving = _Deriving(root)
    body = deriving.model(root) if isinstance(root, ModelNode) else deriving.type_of(root)
    document = {"$schema": _DRAFT, **body}
    if deriving.definitions:
        document["definitions"] = deriving.definitions
    return json.dumps(document, indent=2, ensure_ascii=False)


class _Deriving:
    """One walk over a description. ``_place`` is the class and the field that are written."""

    def __init__(self, root: Node) -> None:
        self.definitions: dict[str, Datum] = {}
        self._root = root
        is_root = any(isinstance(each, RootNode) for each in (root, *getattr(root, "branches", ())))
        self._is_of_pydantic = is_root or any(one.kind is ModelKind.PYDANTIC for one in models_in(root))
        self._class_by_name: dict[str, type] = {}
        self._place: tuple[str | None, str | None] = (None, None)
        for node in nodes_of(root):
            if isinstance(node, ModelNode | EnumNode):
                self._check_name(node)

    def _check_name(self, node: ModelNode | EnumNode) -> None:
        if self._class_by_name.setdefault(node.name.name, node.python) is not node.python:
            problem = f"Two classes are named {node.name.name}; name one of them with type_name"
            raise ModelError(problem, model=node.name.name)

    def type_of(self, node: Node) -> dict[str, Datum]:
        """Return the schema of a type."""
        match node:
            case AnyNode():
                return {}
            case ModelScalarNode():
                return self._scalar(node)
            case LiteralNode(values=values):
                return {"enum": [*values]}
            case EnumNode():
                return self._defined(node)
            case ModelListNode(items=items, python=python, limits=limits):
                unique = {"uniqueItems": True} if python in _SETS else {}
                return {"type": "array", "items": self.type_of(items), **unique, **limits}
            case MapNode(values=values, limits=limits):
                return {"type": "object", "additionalProperties": self.type_of(values), **limits}
            case RootNode(root=root):
                return self.type_of(root)
            case UnionNode(branches=branches):
                return {"anyOf": [self.type_of(one) for one in branches]}
            case ModelNode():
                return {"$ref": "#"} if node is self._root else self._defined(node)

    def _scalar(self, node: ModelScalarNode) -> dict[str, Datum]:
        found = _SCALARS.get(node.python)
        if found is None:
            raise refusal(self._place, node.python, "another type, since JSON has no form of it")
        if node.python is bytes and self._is_of_pydantic:  # its text, unless ser_json_bytes of its settings is base64
            found = {"type": "string"}
        return {**found, **node.limits}

    def _defined(self, node: ModelNode | EnumNode) -> dict[str, Datum]:
        name = node.name.name
        if name not in self.definitions:
            self.definitions[name] = {}
            made = self.model(node) if isinstance(node, ModelNode) else _enum(node)
            self.definitions[name] = made
        return {"$ref": f"#/definitions/{name.replace('~', '~0').replace('/', '~1')}"}

    def model(self, node: ModelNode) -> dict[str, Datum]:
        """Return the schema of a class itself."""
        if getattr(getattr(node.python, "__struct_config__", None), "array_like", False):
            raise refusal((node.python.__name__, None), "a Struct with array_like", "one that is an object in JSON")
        outside = self._place
        properties: dict[str, Datum] = {}
        required = []
        if node.tag is not None:
            properties[node.tag[0]] = {"const": node.tag[1]}
            required.append(node.tag[0])
        for one in node.fields:
            self._place = (node.python.__name__, one.attribute)
            self._check_field(node, one)
            properties[one.name] = self._property(one)
            if not one.is_optional:
                required.append(one.name)
        self._place = outside
        return {
            "title": node.name.name,
            **({"description": node.doc} if node.doc else {}),
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            **({} if _has_others(node.python) else {"additionalProperties": False}),
        }

    def _check_field(self, node: ModelNode, field: FieldNode) -> None:
        if node.kind in _KINDS_WITHOUT_NAMES and field.name != field.attribute:
            expected = f"{field.attribute!r}: in JSON, fields of a {node.kind.value} have their names in Python"
            raise refusal(self._place, repr(field.name), expected)

    def _property(self, field: FieldNode) -> dict[str, Datum]:
        found = self.type_of(_present(field))
        more: dict[str, Datum] = {"description": field.doc} if field.doc else {}
        if field.default is not NO_DEFAULT and not field.may_be_absent:
            default = _default(field.type, field.default)
            more |= {} if default is NO_DEFAULT else {"default": default}
        if more and "$ref" in found:  # in draft-07, nothing beside a $ref counts
            found = {"allOf": [found]}
        return {**found, **more}


def _has_others(cls: object) -> bool:
    """Return whether objects of a pydantic model have other properties than its fields."""
    computed = getattr(getattr(cls, "__pydantic_decorators__", None), "computed_fields", None)
    return bool(computed) or getattr(cls, "model_config", {}).get("extra") == "allow"


def _enum(node: EnumNode) -> dict[str, Datum]:
    values = [one.value for one in node.symbols.values()]
    return {"title": node.name.name, **({"description": node.doc} if node.doc else {}), "enum": values}


def _present(field: FieldNode) -> Node:
    """Return the type of a field that is there: a key that may be absent is not null instead."""
    if field.is_null_absence and isinstance(field.type, UnionNode):
        rest = field.type.not_null
        return rest[0] if len(rest) == 1 else UnionNode(rest)
    return field.type


def _default(node: Node, value: object) -> Datum:
    """Return a default in JSON; ``NO_DEFAULT`` for one whose form in JSON is left to the packages that write it."""
    match node:
        case RootNode(root=root):
            return _default(root, getattr(value, "root", NO_DEFAULT))
        case UnionNode(branches=branches):
            number = branch_of(branches, value)
            return NO_DEFAULT if number is None else _default(branches[number], value)
        case EnumNode() if isinstance(value, Enum):
            return value.value
        case ModelListNode(items=items) if isinstance(value, list | tuple):
            written = [_default(items, item) for item in value]
            return NO_DEFAULT if NO_DEFAULT in written else written
        case MapNode(values=values) if isinstance(value, dict):
            entries = {key: _default(values, item) for key, item in value.items()}
            return NO_DEFAULT if NO_DEFAULT in entries.values() else entries
    if value is None or value.__class__ in (bool, int, str) or (value.__class__ is float and math.isfinite(value)):
        return value
    return NO_DEFAULT


# Schemas that are derived from models.

_DERIVE: Final[Mapping[str, Callable[[Node], str]]] = {"avro": avro_schema, "json": json_schema}


def schema_of(model: object, *, language: Literal["avro", "json"] = "avro") -> str:
    """Return the text of the schema that a serializer with this ``model`` registers.

    ``model`` is a dataclass, a ``msgspec.Struct``, a pydantic model, an attrs class, a ``TypedDict``, or a union of
    these. The same classes always give the same text. Raises ``ModelError``, which names class, field and type.
    """
    derive = _DERIVE.get(language)
    if derive is None:
        problem = f"language is {language!r}; expected {' or '.join(map(repr, _DERIVE))}"
        raise InvalidSettings(problem, setting="language")
    return derive(describe(model))
