"""Values of shapes: every edge value of every place, alone and with others."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from strategies.fleets.shapes import LOGICAL

if TYPE_CHECKING:
    from strategies.fleets.shapes import Field, Shape

ABSENT: Final = "\0absent"
"""Stands in a drawn record for a field that is left out."""

_INT = (0, 1, -1, 7, 2**24 + 1, 2**31 - 1, -(2**31))
_LONG = (*_INT, 2**31, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
EDGES: Final[dict[str, tuple[Any, ...]]] = {
    "string": ("s", "", "7", "true", "é"),
    "bytes": (b"b", b"", b"\xff\xfe"),
    "boolean": (True, False),
    "int": _INT,
    "long": _LONG,
    "uint": (0, 1, 7, 2**31, 2**32 - 1),
    "sint": _INT,
    "fixed": (0, 1, 7, 2**31, 2**32 - 1),
    "float": (0.5, 0.0, -2.25, 2.0**30, 1e30),
    "double": (0.5, 0.0, -2.25, 0.1, 1e300, 2.0**40),
}
JSON_EDGES: Final = {**EDGES, "integer": (0, 1, -1, 7, 2**53 + 1), "number": (0.5, 0, -2.25, 7, 1e300)}
_STEPS = 4


def edges_of(kind: str) -> tuple[Any, ...]:
    """Return the edge values of a plain kind."""
    return JSON_EDGES[LOGICAL.get(kind, kind)]


def base(shape: Shape) -> Any:
    """Return a value in which everything is there."""
    if shape.kind == "record":
        first = _first_of_oneofs(shape)
        return {each.name: base(each.shape) if first.get(each.oneof, each) is each else None for each in shape.fields}
    if shape.item is not None:
        return [base(shape.item)] if shape.kind == "array" else {"k": base(shape.item)}
    if shape.symbols:
        return shape.symbols[-1][0]
    return edges_of(shape.kinds[0] if shape.kinds else shape.kind)[0]


def _first_of_oneofs(shape: Shape) -> dict[str, Field]:
    """Return the first field of each oneof: a message has one of its fields."""
    return {each.oneof: each for each in reversed(shape.fields) if each.oneof}


def variants(shape: Shape) -> list[Any]:
    """Return values that differ from the base in one place each, so that each place has each of its edge values."""
    found: list[Any] = [base(shape)]
    if shape.kind == "record":
        whole = found[0]
        first = _first_of_oneofs(shape)
        for each in shape.fields:
            others = {one.name: None for one in shape.fields if one.oneof and one.oneof == each.oneof}
            is_shown = first.get(each.oneof, each) is each
            values = variants(each.shape)[1 if is_shown else 0 :]
            found += [{**whole, **others, each.name: value} for value in values]
            if each.is_optional:
                found.append({**whole, each.name: ABSENT})
    elif shape.item is not None:
        inside = variants(shape.item)
        if shape.kind == "array":
            found += [[], *([each] for each in inside[1:]), [inside[0], inside[-1]]]
        else:
            found += [{}, *({"k": each} for each in inside[1:]), {"k": inside[0], "l": inside[-1]}]
    elif shape.symbols:
        found += [name for name, _ in shape.symbols[:-1]]
    elif shape.kinds:
        found += [value for kind in shape.kinds for value in edges_of(kind)][1:]
    else:
        found += edges_of(shape.kind)[1:]
    if shape.is_nullable:
        found.append(None)
    return found


def drawn(shape: Shape, random: Random) -> Any:
    """Return a value in which each place has one of its edge values."""
    if shape.is_nullable and random.random() < 0.3:
        return None
    if shape.kind == "record":
        chosen = {each.oneof: each.name for each in shape.fields if each.oneof and random.random() < 0.7}
        made = {
            each.name: ABSENT if each.is_optional and random.random() < 0.3 else drawn(each.shape, random)
            for each in shape.fields
        }
        left_out = {each.name: None for each in shape.fields if each.oneof and chosen.get(each.oneof) != each.name}
        return {**made, **left_out}
    if shape.item is not None:
        count = random.choice((0, 1, 2))
        inside = [drawn(shape.item, random) for _ in range(count)]
        return inside if shape.kind == "array" else dict(zip("kl", inside, strict=False))
    if shape.symbols:
        return random.choice(shape.symbols)[0]
    kind = random.choice(shape.kinds) if shape.kinds else shape.kind
    return random.choice(edges_of(kind))


def samples(shape: Shape) -> list[Any]:
    """Return records of a shape: the same ones whenever it is called."""
    random = Random(len(shape.fields))
    return [*variants(shape), *(drawn(shape, random) for _ in range(_STEPS))]


def without_absent(value: Any) -> Any:
    """Return a drawn value without the fields that are left out."""
    if isinstance(value, dict):
        return {name: without_absent(each) for name, each in value.items() if each is not ABSENT}
    return [without_absent(each) for each in value] if isinstance(value, list) else value
