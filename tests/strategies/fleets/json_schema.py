"""Schemas of shapes in JSON Schema, and their records by json and jsonschema."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from jsonschema import Draft7Validator

from strategies.fleets.samples import without_absent

if TYPE_CHECKING:
    from strategies.fleets.shapes import Shape

NAME: Final = "JSON"
KINDS: Final = ("string", "boolean", "integer", "number")


def text(shape: Shape) -> str:
    """Return the text of a schema, in which every other type that has a name is a definition."""
    definitions: dict[str, Any] = {}
    inside = _type(replace(shape, name=""), definitions, shape.name)
    made = {"$schema": "http://json-schema.org/draft-07/schema#", "title": shape.name, **inside}
    return json.dumps({**made, "definitions": definitions} if definitions else made)


def _type(shape: Shape, definitions: dict[str, Any] | None = None, root: str = "") -> dict[str, Any]:
    """Return a schema; with ``definitions``, they get the types to which it refers.

    ``root`` is the name of the record of the whole schema, which may be inside itself.
    """
    if root and shape.name == root:
        return {"anyOf": [{"type": "null"}, {"$ref": "#"}]} if shape.is_nullable else {"$ref": "#"}
    if definitions is not None and shape.name[1:].isdecimal() and int(shape.name[1:]) % 2:
        if shape.name not in definitions:
            definitions[shape.name] = _type(replace(shape, is_nullable=False, name=""), definitions, root)
        referred = {"$ref": f"#/definitions/{shape.name}"}
        return {"anyOf": [{"type": "null"}, referred]} if shape.is_nullable else referred
    if shape.kind == "record":
        needed = [each.name for each in shape.fields if not each.is_optional]
        properties = {each.name: _type(each.shape, definitions, root) for each in shape.fields}
        made: dict[str, Any] = {"type": "object", "properties": properties}
        if needed:
            made["required"] = needed
    elif shape.item is not None:
        inside = _type(shape.item, definitions, root)
        is_array = shape.kind == "array"
        made = {"type": "array", "items": inside} if is_array else {"type": "object", "additionalProperties": inside}
    elif shape.symbols:
        names: list[Any] = [name for name, _ in shape.symbols]
        made = {"type": "string", "enum": [*names, None] if shape.is_nullable else names}
    else:
        made = {"type": [*shape.kinds]} if shape.kinds else {"type": shape.kind}
    if shape.is_nullable:
        kinds = made["type"]
        made["type"] = ["null", *kinds] if isinstance(kinds, list) else ["null", kinds]
    return made


@lru_cache(4096)
def _validator(shape: Shape) -> Draft7Validator:
    return Draft7Validator(_type(shape))


def written(shape: Shape, value: Any) -> bytes:
    """Return the text of a record, which keeps its own schema."""
    record = without_absent(value)
    if not _validator(shape).is_valid(record):
        raise ValueError(f"{record} is no record of {shape}")
    return json.dumps(record).encode()


def read(data: bytes, writer: Shape, reader: Shape) -> Any:
    """Return the record in ``data``, which must keep the reader's schema."""
    del writer
    record = json.loads(data)
    fault = next(_validator(reader).iter_errors(record), None)
    if fault is not None:
        raise ValueError(f"{fault.json_path}: {fault.message}")
    return record
