"""In which way a place of a record cannot be read, and the values at a place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from strategies.fleets.shapes import ITEM, LOGICAL, VALUE, Field, Path, Shape, at, field_at, printed

if TYPE_CHECKING:
    from collections.abc import Iterator

NOWHERE: Final = object()
"""Stands for the value of a field that a record does not have."""


def kind_of(value: Any, kinds: tuple[str, ...]) -> str:
    """Return the branch of a union of plain types that a value is of."""
    names = {str: ("string",), bool: ("boolean",), int: ("int", "integer"), float: ("double", "number")}
    return next((each for each in kinds if each in names[type(value)]), "number")


def type_way(writer: Shape, place: Path, language: str) -> str:
    """Return in which way a field of another type cannot be read: the type that is written."""
    if language == "PROTOBUF":
        return f"type:{chain(writer, place)}"
    there = at(writer, place)
    if language == "JSON" and there is not None and there.symbols:
        return "type:string"
    return f"type:{LOGICAL.get(there.kind, there.words) if there is not None else ''}"


def chain(writer: Shape, place: Path) -> str:
    """Return the numbers of the fields on the way, and the type at its end."""
    there = at(writer, place)
    return f"{'.'.join(map(str, numbers(writer, place)))}:{there.words if there is not None else ''}"


def number_way(writer: Shape, reader: Shape, place: Path) -> str:
    """Return in which way a field cannot be read whose number is another one: what is written under the reader's."""
    for step in place:
        field = reader.field(step)
        if field is None:
            inner = (writer.item, reader.item)
            if inner[0] is None or inner[1] is None:
                break
            writer, reader = inner[0], inner[1]
            continue
        there = next((each for each in writer.fields if each.number == field.number), None)
        if there is None:
            return f"number:{field.number}:nothing"
        if there.name != field.name:
            return f"number:{field.number}:{_with_items(there.shape)}"
        writer, reader = there.shape, field.shape
    return "number"


def unnumbered_way(writer: Shape, reader: Shape, path: Path) -> str:
    """Return in which way a path is not written whose field has a number of its own; empty if that is not the reason.

    A reader of Protobuf knows fields by their numbers: a field of the same name with another number is nothing to it.
    """
    for step in path:
        field = reader.field(step)
        if writer.kind != "record" or field is None:
            return ""
        there = next((each for each in writer.fields if each.number == field.number), None)
        if writer.field(step) is not None and (there is None or there.name != step):
            return f"number:{field.number}:{_with_items(there.shape) if there is not None else 'nothing'}"
        if there is None:
            return ""
        writer, reader = there.shape, field.shape
    return ""


def renamed_way(writer: Shape, reader: Shape, place: Path) -> str:
    """Return in which way a record on the way to a place is not read that has another name; empty if none has.

    A library of Avro compares names, and does not look into a record with another one.
    """
    for length in range(1, len(place) + 1):
        there, known = at(writer, place[:length]), at(reader, place[:length])
        if there is None or known is None:
            return ""
        if there.kind == known.kind == "record" and there.name != known.name:
            return f"name@{printed(place[:length])}:{there.name}"
    return ""


def _with_items(shape: Shape) -> str:
    """Return the type in words, with what it contains."""
    return shape.words if shape.item is None else f"{shape.words} of {shape.item.words}"


def named_as(writer: Shape, reader: Shape) -> Shape:
    """Return a writer whose fields have the names of the reader's ones with their numbers, where those are free.

    The bytes of its records are the same, since in Protobuf they have numbers alone.
    """
    if writer.item is not None and reader.item is not None and writer.kind == reader.kind:
        return replace(writer, item=named_as(writer.item, reader.item))
    if not writer.fields or not reader.fields:
        return writer
    fields = tuple(_named_as(each, writer, reader) for each in writer.fields)
    if fields == writer.fields:
        return writer
    return replace(writer, name=f"{writer.name}_{abs(hash(fields)) % 10**9}", fields=fields)


def _named_as(field: Field, writer: Shape, reader: Shape) -> Field:
    free = [each for each in reader.fields if writer.field(each.name) is None]
    known = reader.field(field.name) or next((each for each in free if each.number == field.number), None)
    return field if known is None else replace(field, name=known.name, shape=named_as(field.shape, known.shape))


def aliased(writer: Shape, reader: Shape) -> Shape:
    """Return a writer of Avro whose fields have the names of the reader's ones that have theirs as aliases.

    The bytes of its records are the same, since in Avro they have no names. A name of the reader comes before an alias.
    """
    if writer.item is not None and reader.item is not None and writer.kind == reader.kind:
        return replace(writer, item=aliased(writer.item, reader.item))
    if not writer.fields or not reader.fields:
        return writer
    return replace(writer, fields=tuple(_aliased(each, writer, reader) for each in writer.fields))


def _aliased(field: Field, writer: Shape, reader: Shape) -> Field:
    known = reader.field(field.name)
    if known is None:
        free = [each for each in reader.fields if writer.field(each.name) is None]
        known = next((each for each in free if field.name in each.aliases), None)
    return field if known is None else replace(field, name=known.name, shape=aliased(field.shape, known.shape))


def numbers(writer: Shape, place: Path) -> list[int]:
    """Return the numbers of the fields on the way to a place."""
    return [one.number for length in range(1, len(place) + 1) if (one := field_at(writer, place[:length]))]


def gone_way(writer: Shape, path: Path) -> str:
    """Return in which way a path is not in a schema: where it ends, and what stands there."""
    for length in range(1, len(path) + 1):
        if at(writer, path[:length]) is None:
            around = at(writer, path[: length - 1])
            stands = around.words if around is not None and around.kind != "record" else "nothing"
            return f"gone@{printed(path[:length])}:{LOGICAL.get(stands, stands)}"
    return "gone"


def values_at(value: Any, path: Path, *, whole: bool = False) -> Iterator[Any]:
    """Yield the values at a path. Below a null there are none; with ``whole``, the null itself is yielded there."""
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if value is None or value is NOWHERE:
        if whole:
            yield value
    elif step == ITEM:
        for each in value if isinstance(value, list) else [NOWHERE]:
            yield from values_at(each, rest, whole=whole)
    elif step == VALUE:
        for each in value.values() if isinstance(value, dict) else [NOWHERE]:
            yield from values_at(each, rest, whole=whole)
    elif not isinstance(value, dict) or step not in value:
        if whole or not rest:
            yield NOWHERE
    else:
        yield from values_at(value[step], rest, whole=whole)


def stop_of(value: Any, path: Path) -> Path:
    """Return how far a path leads into a value, with the step at which there is nothing."""
    for length, step in enumerate(path):
        if step == ITEM and isinstance(value, list) and value:
            value = value[0]
        elif step == VALUE and isinstance(value, dict) and value:
            value = next(iter(value.values()))
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return path[: length + 1] if value is not None else path[:length]
        if value is None:
            return path[: length + 1]
    return path
