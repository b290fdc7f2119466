"""Field paths in Avro schemas: the target of a path, and the path of a place in the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    branch_name,
)
from counterfoil.schema.paths import (
    ITEMS,
    VALUES,
    FieldPath,
    PathFault,
    PathTarget,
    Step,
    StepKind,
    branch,
    follow,
    member,
)
from counterfoil.schema.texts import Pointer

T = TypeVar("T")


def target_of(root: AvroType, path: FieldPath) -> PathTarget:
    """Return the target of ``path`` from ``root``; raise ``PathFault`` for a step without a target.

    A union of null and one other type is entered without a step.
    """
    start = _At(root.pointer, root)
    return PathTarget(*follow(start, path, lambda at, step: _inside(at.node, step)))


class _At(NamedTuple):
    """A node, and its pointer or that of its field."""

    pointer: Pointer
    node: AvroType


def short_name(node: AvroType) -> str:
    """Return the name of a union's branch in paths: a type's name without its namespace, else the kind."""
    return node.name if isinstance(node, AvroRecord | AvroEnum | AvroFixed) else node.kind.value


def path_at(root: AvroType, pointer: Pointer) -> FieldPath:
    """Return the path for a JSON Pointer, or for its nearest ancestor that has one."""
    return tuple(_steps(root, pointer))


def _steps(root: AvroType, keys: Pointer) -> list[Step]:
    steps: list[Step] = []
    node, rest = root, [*keys][::-1]
    while rest:
        key = rest.pop()
        match node:
            case AvroRecord() if key == "fields":
                field = _at_index(node.fields, rest.pop() if rest else "")
                if field is None:
                    break
                steps.append(member(field.name))
                node = field.type
            case AvroArray() if key == "items":
                steps.append(ITEMS)
                node = node.items
            case AvroMap() if key == "values":
                steps.append(VALUES)
                node = node.values
            case AvroUnion() if (inner := _at_index(node.branches, key)) is not None:
                steps.append(branch(short_name(inner)))
                node = inner
            case _ if key != "type":
                break
    return steps


def _at_index(listed: Sequence[T], index: str | int) -> T | None:
    return listed[index] if isinstance(index, int) and index < len(listed) else None


def without_null(node: AvroType) -> AvroType:
    """Return the one type that a union has beside null; any other type unchanged."""
    kept = [each for each in node.branches if each.kind is not AvroKind.NULL] if isinstance(node, AvroUnion) else []
    return kept[0] if len(kept) == 1 else node


def _inside(around: AvroType, step: Step) -> _At:
    """Return the target of one step; raise ``PathFault`` if there is none."""
    node = around if step.kind is StepKind.BRANCH else without_null(around)
    match step.kind, node:
        case StepKind.MEMBER, AvroRecord():
            field = _field(node, step.name)
            return _At(field.pointer, field.type)
        case StepKind.ITEM, AvroArray() if not step.name:
            return _At(node.items.pointer, node.items)
        case StepKind.VALUE, AvroMap() if not step.name:
            return _At(node.values.pointer, node.values)
        case StepKind.BRANCH, AvroUnion():
            return _branch(node, step.name)
    raise PathFault(f"{_words(node)} has no {step.kind.value}{f' {step.name!r}' if step.name else ''}")


def _field(record: AvroRecord, name: str) -> AvroField:
    field = next((each for each in record.fields if each.name == name), None)
    if field is None:
        raise PathFault.of_names(f"record {record.full_name}", "field", name, [each.name for each in record.fields])
    return field


def _branch(union: AvroUnion, name: str) -> _At:
    for each in union.branches:
        if name in (short_name(each), branch_name(each)):
            return _At(each.pointer, each)
    raise PathFault.of_names("the union", "branch", name, [short_name(each) for each in union.branches])


def _words(node: AvroType) -> str:
    named = f" {node.full_name}" if isinstance(node, AvroRecord | AvroEnum | AvroFixed) else ""
    return f"the {node.kind.value}{named}"
