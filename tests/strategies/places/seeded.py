"""Seeded changes whose line is known: a schema of any language, one change in it, and the lines that it touches."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.texts import print_pointer
from strategies.places.cases import BACKWARD, FORWARD, findings_of, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator

Pointers = tuple[str, ...]


@dataclass(frozen=True)
class SeededChange:
    """The text of a file before and after one change, and the lines of the text after it that may be named."""

    name: str
    path: str
    base: str
    head: str
    lines: frozenset[int]
    was_a_table: bool = True

    def misplaced(self) -> Iterator[str]:
        """Yield each finding, under any policy and direction, that stands at another line.

        A schema that was no table before the change is none after it, for a reason at another line.
        """
        for level in (BACKWARD, FORWARD):
            for policy in CompatibilityPolicy:
                for rule, line in findings_of(self.path, self.base, self.head, level=level, policy=policy):
                    if line not in self.lines and (self.was_a_table or rule != "logical-not-a-table"):
                        yield f"{self.name}, {level}, {policy}: {rule} at line {line}, not {sorted(self.lines)}"


def _of_json(name: str, path: str, base: Any, head: Any, pointers: Pointers, *, inlines: bool) -> SeededChange:
    before, after = lay_out(base, inlines=inlines), lay_out(head, inlines=inlines)
    lines = {line for pointer, line in after.line_by_pointer.items() if pointer in pointers}
    return SeededChange(name, path, before.text, after.text, frozenset(lines))


# --- Avro -------------------------------------------------------------------------------------------------------------

_SCALARS = ("int", "long", "string", "double", "boolean", "bytes")


def _avro_type(choose: random.Random, depth: int, names: list[str]) -> Any:
    kind = choose.random()
    if depth == 0 or kind < 0.4:
        return choose.choice(_SCALARS)
    names.append(f"N{len(names)}")
    if kind < 0.65:
        name = names[-1]
        fields = [{"name": f"f{index}", "type": _avro_type(choose, depth - 1, names)} for index in range(3)]
        return {"type": "record", "name": name, "fields": fields}
    if kind < 0.8:
        return {"type": "array", "items": _avro_type(choose, depth - 1, names)}
    if kind < 0.9:
        return {"type": "map", "values": _avro_type(choose, depth - 1, names)}
    inner = _avro_type(choose, depth - 1, names)
    return inner if isinstance(inner, list) else ["null", inner]


def _records(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value.get("type") == "record":
        yield pointer, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _records(each, f"{pointer}{print_pointer((key,))}")


def avro_change(seed: int) -> SeededChange:
    """Return a change of one field of a record somewhere in a schema."""
    choose = random.Random(seed)
    names: list[str] = []
    fields = [{"name": f"g{index}", "type": _avro_type(choose, 3, names)} for index in range(4)]
    base = {"type": "record", "name": "Root", "namespace": "n", "fields": fields}
    head = copy.deepcopy(base)
    pointer, record = choose.choice([*_records(head)])
    listed = record["fields"]
    index = choose.randrange(len(listed))
    operation = choose.choice(["remove", "add", "move", "retype", "union", "hold itself", "name another"])
    at = f"{pointer}/fields/{index}"
    pointers: Pointers = (at, f"{at}/type", f"{at}/type/0", f"{at}/type/1")
    if operation == "remove":
        del listed[index]
        pointers = (f"{pointer}/fields",)
    elif operation == "add":
        listed.insert(index, {"name": "new", "type": "int"})
    elif operation == "move":
        listed.append(listed.pop(index))
        pointers = (f"{pointer}/fields/{len(listed) - 1}",)
        if index == len(listed) - 2:  # one of two neighbours has moved
            pointers = (*pointers, f"{pointer}/fields/{index}")
    elif operation == "retype":
        listed[index]["type"] = {"type": "fixed", "name": "Other", "size": 3}
    elif operation == "union":
        listed[index]["type"] = ["int", "string"]
    elif operation == "hold itself":
        listed[index]["type"] = ["null", record["name"]]
    else:  # of a type that is declared before, and stays as it is
        declared = [
            each["name"] for place, each in _records(head) if place and place < f"{pointer}/" and place not in at
        ]
        listed[index]["type"] = choose.choice(
            [name for name in declared if f'"{name}"' not in json.dumps(listed)] or ["int"]
        )
    return _of_json(f"Avro {seed}, {operation}", "a.avsc", base, head, pointers, inlines=bool(seed % 2))


def avro_without_a_field(seed: int) -> SeededChange:
    """Return a record that lost a field, in a text with a line for each field and none for the list of fields."""
    choose = random.Random(seed)
    count = choose.randint(2, 6)
    lines = [f'  {{"name": "f{index}", "type": "int"}}' for index in range(count)]
    gone = choose.randrange(count)
    kept = [line for index, line in enumerate(lines) if index != gone]
    head, base = (
        '{"type": "record", "name": "R", "fields": [\n' + ",\n".join(each) + "\n]}\n" for each in (kept, lines)
    )
    return SeededChange(f"Avro without field {gone}", "a.avsc", base, head, frozenset({min(gone, count - 2) + 2}))


# --- JSON Schema ------------------------------------------------------------------------------------------------------

_DRAFTS = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
_IS_A = {"properties": {"k": {"const": "a"}}, "required": ["k"]}
_IS_B = {"properties": {"k": {"const": "b"}}, "required": ["k"]}


def _holding(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _at_most(limit: int) -> dict[str, Any]:
    return {"properties": {"v": {"type": "integer", "maximum": limit}}}


_BRANCHES: dict[str, tuple[Any, Any, Pointers]] = {
    "then": ({"if": _IS_A, "then": _at_most(10)}, {"if": _IS_A, "then": _at_most(5)}, ("/then/properties/v/maximum",)),
    "else": ({"if": _IS_A, "else": _at_most(10)}, {"if": _IS_A, "else": _at_most(5)}, ("/else/properties/v/maximum",)),
    "then required": (
        {"if": _IS_A, "then": {"required": ["v"]}},
        {"if": _IS_A, "then": {"required": ["v", "w"]}},
        ("/then/required", "/then/required/1"),
    ),
    "then added": ({"if": _IS_A}, {"if": _IS_A, "then": {"required": ["v"]}}, ("/then", "/then/required")),
    "if": (
        {"if": _IS_A, "then": {"required": ["v"]}},
        {"if": _IS_B, "then": {"required": ["v"]}},
        ("/if/properties/k/const",),
    ),
    "the second of two conditions": (
        {"allOf": [{"if": _IS_A, "then": {"required": ["x"]}}, {"if": _IS_B, "then": _at_most(10)}]},
        {"allOf": [{"if": _IS_A, "then": {"required": ["x"]}}, {"if": _IS_B, "then": _at_most(5)}]},
        ("/allOf/1/then/properties/v/maximum",),
    ),
    "a branch that overlaps": (
        {"oneOf": [{"type": "integer"}, {"type": "string"}]},
        {"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "number"}]},
        ("/oneOf/2", "/oneOf/2/type", "/oneOf"),  # the reader of FORWARD lacks the branch
    ),
    "a branch of oneOf": (
        {"oneOf": [{"type": "string"}, {"type": "integer", "maximum": 10}, {"type": "boolean"}]},
        {"oneOf": [{"type": "string"}, {"type": "integer", "maximum": 5}, {"type": "boolean"}]},
        ("/oneOf/1", "/oneOf/1/maximum"),
    ),
    "a branch of anyOf": (
        {"anyOf": [{"type": "string"}, {**_holding(a={"type": "integer"}), "additionalProperties": False}]},
        {"anyOf": [{"type": "string"}, {**_holding(a={"type": "string"}), "additionalProperties": False}]},
        ("/anyOf/1", "/anyOf/1/properties/a", "/anyOf/1/properties/a/type"),
    ),
    "what is refused": (
        {"type": "string", "not": {"maxLength": 2}},
        {"type": "string", "not": {"maxLength": 3}},
        ("/not", "/not/maxLength"),
    ),
    "what is contained": (
        {"type": "array", "contains": {"type": "integer", "maximum": 9}},
        {"type": "array", "contains": {"type": "integer", "maximum": 5}},
        ("/contains", "/contains/maximum"),
    ),
    "names": (
        {"type": "object", "propertyNames": {"maxLength": 9}},
        {"type": "object", "propertyNames": {"maxLength": 5}},
        ("/propertyNames", "/propertyNames/maxLength"),
    ),
    "a required property": (
        {**_holding(a={"type": "integer"}), "required": ["a"]},
        {**_holding(a={"type": "integer"}, b={"type": "string"}), "required": ["a", "b"]},
        ("/properties/b", "/required", "/required/1"),
    ),
}
_PLACES: dict[str, tuple[Any, str]] = {
    "the root": (lambda schema: schema, ""),
    "a property": (lambda schema: _holding(z={"type": "integer"}, p=schema), "/properties/p"),
    "items": (lambda schema: _holding(p={"type": "array", "items": schema}), "/properties/p/items"),
    "a definition": (
        lambda schema: {**_holding(p={"$ref": "#/definitions/P"}), "definitions": {"P": schema}},
        "/definitions/P",
    ),
}


def json_changes() -> Iterator[SeededChange]:
    """Yield a change of each branch at each place, in each of two drafts."""
    for branch, (base, head, pointers) in _BRANCHES.items():
        for place, (wrapped, prefix) in _PLACES.items():
            for draft in _DRAFTS:
                before, after = ({"$schema": draft, **wrapped(each)} for each in (base, head))
                below = tuple(prefix + pointer for pointer in pointers)
                name = f"JSON Schema, {branch} in {place}, {draft}"
                change = _of_json(name, "a.schema.json", before, after, below, inlines=False)
                yield replace(change, was_a_table=branch == "a required property")


# --- Protobuf ---------------------------------------------------------------------------------------------------------

_KINDS = ("int32", "int64", "string", "bool", "double")


def protobuf_change(seed: int) -> SeededChange:
    """Return a change of one field of a message, which may be nested; of a removed field, the line is its message's."""
    choose = random.Random(seed)
    lines, headers, fields = ['syntax = "proto2";', "package shop;"], [], []
    for depth in range(choose.randint(1, 3)):
        lines.append(f"{'  ' * depth}message M{depth} {{")
        headers.append(len(lines))
        for number in range(1, choose.randint(3, 6)):
            label = choose.choice(["optional", "required"])
            lines.append(f"{'  ' * (depth + 1)}{label} {choose.choice(_KINDS)} f{number} = {number};")
            fields.append((len(lines), len(headers) - 1))
    lines += ["  " * depth + "}" for depth in reversed(range(len(headers)))]
    line, inside = choose.choice(fields)
    after = [*lines]
    operation = choose.choice(["retype", "remove", "add", "require", "repeat"])
    label, kind, *rest = lines[line - 1].split()
    indent = " " * (len(lines[line - 1]) - len(lines[line - 1].lstrip()))
    touched = line
    if operation == "retype":
        after[line - 1] = f"{indent}{label} {'bytes' if kind != 'string' else 'double'} {' '.join(rest)}"
    elif operation == "remove":
        del after[line - 1]
        touched = headers[inside]
    elif operation == "add":
        after.insert(line, f"{indent}required int32 added = 50;")
        touched = line + 1
    elif operation == "require":
        after[line - 1] = f"{indent}{'required' if label == 'optional' else 'optional'} {kind} {' '.join(rest)}"
    else:
        after[line - 1] = f"{indent}repeated {kind} {' '.join(rest)}"
    base, head = ("\n".join(each) + "\n" for each in (lines, after))
    return SeededChange(f"Protobuf {seed}, {operation}", "a.proto", base, head, frozenset({touched}))
