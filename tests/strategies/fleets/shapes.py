"""Shapes of records, the same for Avro, Protobuf and JSON Schema, and the places in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ITEM: Final = "[]"
VALUE: Final = "{}"
LOGICAL: Final = {"timestamp-millis": "long", "timestamp-micros": "long", "date": "int"}
"""Kinds that say what a number is, with the kind of the number."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of a value. ``name`` is that of a record or an enum; one name stands for one type in a schema.

    ``symbols`` are the names and numbers of an enum, ``fallback`` its default in Avro. ``kinds`` are the branches of a
    union of plain types.
    """

    kind: str
    name: str = ""
    fields: tuple[Field, ...] = ()
    item: Shape | None = None
    symbols: tuple[tuple[str, int], ...] = ()
    fallback: str = ""
    kinds: tuple[str, ...] = ()
    is_nullable: bool = False

    def field(self, name: str) -> Field | None:
        """Return the field of a record."""
        return next((each for each in self.fields if each.name == name), None)

    @property
    def words(self) -> str:
        """The type in a few words, without what is inside it."""
        inside = "|".join(self.kinds) if self.kinds else self.kind
        return f"{inside} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record; one that is optional may be absent, which is for JSON. ``unit`` is of the contract.

    ``oneof`` is the name of the oneof of Protobuf of which it is a field, ``aliases`` are names of Avro.
    """

    name: str
    number: int
    shape: Shape
    is_optional: bool = False
    has_default: bool = False
    unit: str = ""
    oneof: str = ""
    aliases: tuple[str, ...] = ()


Path = tuple[str, ...]
"""The steps of a path: names of fields, ITEM and VALUE."""


def printed(path: Path) -> str:
    """Return a path as contracts write it."""
    text = ""
    for step in path:
        text += step if step in {ITEM, VALUE} else f".{step}" if text else step
    return text


def records_of(shape: Shape) -> Iterator[Shape]:
    """Yield a shape and everything inside it that is a record, each name once."""
    seen: set[str] = set()
    waiting = [shape]
    while waiting:
        one = waiting.pop(0)
        if one.item is not None:
            waiting.append(one.item)
        if one.fields and one.name not in seen:
            seen.add(one.name)
            yield one
            waiting += [each.shape for each in one.fields]


def shapes_of(shape: Shape) -> Iterator[Shape]:
    """Yield a shape and everything inside it."""
    yield shape
    if shape.item is not None:
        yield from shapes_of(shape.item)
    for each in shape.fields:
        yield from shapes_of(each.shape)


def changed(shape: Shape, change: Callable[[Shape], Shape]) -> Shape:
    """Return a shape in which every part is replaced by what ``change`` makes of it, the inner parts first."""
    inside = shape
    if inside.item is not None:
        inside = replace(inside, item=changed(inside.item, change))
    if inside.fields:
        fields = tuple(replace(each, shape=changed(each.shape, change)) for each in inside.fields)
        inside = replace(inside, fields=fields)
    return change(inside)


def is_recursive(shape: Shape) -> bool:
    """Return whether a record is inside a record of its name."""
    waiting: list[tuple[Shape, frozenset[str]]] = [(shape, frozenset())]
    while waiting:
        one, around = waiting.pop()
        if one.fields and one.name in around:
            return True
        inner = around | {one.name} if one.fields else around
        waiting += [(each, inner) for each in (one.item, *(field.shape for field in one.fields)) if each is not None]
    return False


def unrolled(shape: Shape) -> Shape:
    """Return a shape in which each recursive record is inside itself once: its fields without those that hold it.

    What a name means is what it means where it is first.
    """
    if not is_recursive(shape):
        return shape
    meaning: dict[str, Shape] = {}
    for each in records_of(shape):
        meaning.setdefault(each.name, each)

    def built(one: Shape, around: tuple[str, ...]) -> Shape:
        if one.item is not None:
            return replace(one, item=built(one.item, around))
        if not one.fields:
            return one
        fields = meaning[one.name].fields
        if one.name in around:
            fields = tuple(each for each in fields if not holds(each.shape, one.name))
        inner = (*around, one.name)
        return replace(one, fields=tuple(replace(each, shape=built(each.shape, inner)) for each in fields))

    return built(shape, ())


def holds(shape: Shape, name: str) -> bool:
    """Return whether a shape is the record of a name, or has it inside."""
    return any(each.fields and each.name == name for each in shapes_of(shape))


def at(shape: Shape, path: Path) -> Shape | None:
    """Return the part of a shape at a path; None if there is none."""
    for step in path:
        found: Shape | None = None
        if step in {ITEM, VALUE}:
            found = shape.item if shape.kind == ("array" if step == ITEM else "map") else None
        elif (field := shape.field(step)) is not None:
            found = field.shape
        if found is None:
            return None
        shape = found
    return shape


def field_at(shape: Shape, path: Path) -> Field | None:
    """Return the field that a path ends with; None if there is none, or the path ends in a container."""
    around = at(shape, path[:-1]) if path else None
    return around.field(path[-1]) if around is not None else None


def leaves(shape: Shape, path: Path = ()) -> Iterator[Path]:
    """Yield the paths to the plain values in a shape."""
    if shape.kind == "record":
        for each in shape.fields:
            yield from leaves(each.shape, (*path, each.name))
    elif shape.item is not None:
        yield from leaves(shape.item, (*path, ITEM if shape.kind == "array" else VALUE))
    else:
        yield path


def places(shape: Shape, path: Path = ()) -> Iterator[Path]:
    """Yield the paths to everything in a shape that has a name or is in a container."""
    if path:
        yield path
    if shape.kind == "record":
        for each in shape.fields:
            yield from places(each.shape, (*path, each.name))
    elif shape.item is not None:
        yield from places(shape.item, (*path, ITEM if shape.kind == "array" else VALUE))


def only(shape: Shape, path: Path) -> Shape:
    """Return a shape with what is on a path alone, and all of what it ends with."""
    if not path:
        return shape
    if path[0] in {ITEM, VALUE}:
        return replace(shape, item=only(shape.item, path[1:])) if shape.item is not None else shape
    field = shape.field(path[0])
    if field is None:
        return shape
    return replace(shape, fields=(replace(field, shape=only(field.shape, path[1:])),))


def apart(shape: Shape, around: tuple[str, ...] = ()) -> Shape:
    """Return a shape in which a record inside itself has a name of its own, so that each place can be looked at alone.

    Records of it are no records of the recursive type, since they end there; they show the same of each place.
    """
    if shape.item is not None:
        return replace(shape, item=apart(shape.item, around))
    if not shape.fields:
        return shape
    name = f"{shape.name}_inside" if shape.name in around else shape.name
    inner = (*around, shape.name)
    return replace(
        shape, name=name, fields=tuple(replace(each, shape=apart(each.shape, inner)) for each in shape.fields)
    )
