"""A Hypothesis strategy for pairs of Avro schemas that differ in a few edits, as versions of one subject do."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from hypothesis import assume
from hypothesis import strategies as st

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.schema import parse_avro
from strategies.avro.schemas import avro_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@st.composite
def avro_pairs(draw: st.DrawFn, *, max_edits: int = 4) -> tuple[str, str]:
    """Return the texts of a reader and a writer, both valid: one is drawn, the other is made from it by edits."""
    document = draw(avro_documents(distinct_unions=True))
    writer, reader = json.dumps(document), json.dumps(draw(edited(document, max_edits=max_edits)))
    assume(_is_valid(reader))  # an edit may remove a name that is used elsewhere, or make a default invalid
    assume(_is_valid(writer))
    return (reader, writer) if draw(st.booleans()) else (writer, reader)


def _is_valid(text: str) -> bool:
    try:
        parse_avro(text)
    except InvalidSchema:
        return False
    return True


@st.composite
def edited(draw: st.DrawFn, document: Json, *, max_edits: int = 4) -> Json:
    """Return ``document`` after some edits; not every result is a valid schema."""
    holder = {"type": copy.deepcopy(document)}
    for _ in range(draw(st.integers(0, max_edits))):
        places = list(_places(holder, "type"))
        container, key = draw(st.sampled_from(places))
        container[key] = _edit(draw, container[key])
    return holder["type"]


def _places(container: Json, key: Any) -> Iterator[tuple[Json, Any]]:
    """Yield the place of each type, outermost first."""
    yield container, key
    node = container[key]
    if isinstance(node, list):
        for index in range(len(node)):
            yield from _places(node, index)
    elif isinstance(node, dict):
        for inner in ("items", "values"):
            if inner in node:
                yield from _places(node, inner)
        for field in node.get("fields", ()):
            yield from _places(field, "type")


def _edit(draw: st.DrawFn, node: Json) -> Json:
    if isinstance(node, list):
        return _edit_union(draw, node)
    word = node["type"] if isinstance(node, dict) else node
    edit = {"record": _edit_record, "enum": _edit_enum, "fixed": _edit_fixed}.get(word)
    if edit is None or draw(st.integers(0, 4)) == 0:
        return _replace(draw, node)
    edit(draw, node)
    return node


def _replace(draw: st.DrawFn, node: Json) -> Json:
    choices = [draw(st.sampled_from(PRIMITIVES)), ["null", node], {"type": "array", "items": node}]
    return draw(st.sampled_from([choice for choice in choices if choice != ["null", "null"]]))


def _edit_union(draw: st.DrawFn, node: list[Json]) -> list[Json]:
    choice = draw(st.sampled_from(["drop", "shuffle", "add"]))
    if choice == "drop" and len(node) > 1:
        dropped = draw(st.integers(0, len(node) - 1))
        return [branch for index, branch in enumerate(node) if index != dropped]
    if choice == "add":
        return [*node, draw(st.sampled_from(PRIMITIVES))]
    return draw(st.permutations(node))


def _edit_record(draw: st.DrawFn, node: dict[str, Json]) -> None:
    fields = node["fields"]
    choice = draw(
        st.sampled_from(["drop", "add", "add with default", "rename", "alias", "no default", "name", "shuffle"])
    )
    if choice.startswith("add"):
        fields.append({"name": draw(st.sampled_from(["new1", "new2"])), "type": "int"})
        fields[-1].update({"default": 1} if choice == "add with default" else {})
    elif choice == "name":
        _rename(draw, node)
    elif choice == "shuffle":
        node["fields"] = draw(st.permutations(fields))
    elif fields:
        _edit_field(draw, fields, choice)


def _edit_field(draw: st.DrawFn, fields: list[Json], choice: str) -> None:
    field = draw(st.sampled_from(fields))
    if choice == "drop":
        fields.remove(field)
    elif choice == "no default":
        field.pop("default", None)
    else:
        if choice == "alias":
            field["aliases"] = [field["name"]]
        field["name"] = f"{field['name']}x"


def _edit_enum(draw: st.DrawFn, node: dict[str, Json]) -> None:
    choice = draw(st.sampled_from(["drop", "add", "default", "no default", "name"]))
    if choice == "drop" and len(node["symbols"]) > 1:
        node["symbols"] = node["symbols"][1:]
        node.pop("default", None)
    elif choice == "add":
        node["symbols"] = [*node["symbols"], "ZZ"]
    elif choice == "default":
        node["default"] = node["symbols"][0]
    elif choice == "no default":
        node.pop("default", None)
    elif choice == "name":
        _rename(draw, node)


def _edit_fixed(draw: st.DrawFn, node: dict[str, Json]) -> None:
    if draw(st.booleans()):
        node["size"] += 1
    else:
        _rename(draw, node)


def _rename(draw: st.DrawFn, node: dict[str, Json]) -> None:
    """Rename a type; the old name stays as a full alias in half of the cases."""
    if draw(st.booleans()):
        namespace = f"{node['namespace']}." if node.get("namespace") else ""
        node["aliases"] = [f"{namespace}{node['name']}"]
    node["name"] = f"{node['name']}x"
