"""Random messages of an Avro schema as bytes, from a seed; a value of a union may fit several of its branches."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroUnion,
)
from counterfoil.sdk.serde.avro.numbers import encode_long

if TYPE_CHECKING:
    from random import Random

    from counterfoil.schema.languages.avro.types import AvroType

MAX_DEPTH: Final = 8
LAST_DEPTH: Final = 60
FEW: Final = (0, 1, 2, 3)
FEW_REALS: Final = (0.0, 1.5, 0.1, -0.0)
WHOLES: Final = (-1, 64, 300, 2**24 + 1, 2**31 - 1, -(2**31))
LONGS: Final = (*WHOLES, 2**31, 2**53 + 1, 1_700_000_000_123_456, 2**63 - 1, -(2**63))
REALS: Final = (0.0, -0.0, 1.5, 0.1, -2.5, 1e300, float("inf"), float("nan"))
TEXTS: Final = ("", "a", "é", "A", "B", "2020-01-02", "12", "k\U0001f600")


class Endless(Exception):
    """A type has no values: a record always contains itself, or a union has no branches."""


def avro_bytes(rng: Random, node: AvroType, depth: int = 0) -> bytes:
    """Return a message of one type, which ends after a few levels if a value of the type can end there.

    Raises ``Endless`` for a type without values.
    """
    if depth > LAST_DEPTH or (isinstance(node, AvroUnion) and not node.branches):
        raise Endless
    if isinstance(node, AvroRecord):
        return b"".join(avro_bytes(rng, member.type, depth + 1) for member in node.fields)
    if isinstance(node, AvroUnion):
        ends = [index for index, branch in enumerate(node.branches) if not isinstance(branch, AvroRecord)]
        index = rng.choice(ends if depth > MAX_DEPTH and ends else range(len(node.branches)))
        return encode_long(index) + avro_bytes(rng, node.branches[index], depth + 1)
    if isinstance(node, AvroArray):
        return _blocks(rng, [avro_bytes(rng, node.items, depth + 1) for _ in range(_count(rng, depth))])
    if isinstance(node, AvroMap):
        entries = [_sized(rng.choice(TEXTS).encode()) for _ in range(_count(rng, depth))]
        return _blocks(rng, [key + avro_bytes(rng, node.values, depth + 1) for key in entries])
    return _scalar(rng, node)


def _count(rng: Random, depth: int) -> int:
    return 0 if depth > MAX_DEPTH else rng.choice((0, 1, 1, 2, 3))


def _blocks(rng: Random, items: list[bytes]) -> bytes:
    """Return the blocks of an array or a map: one, one with its size in bytes, or one for each item."""
    if not items:
        return b"\x00"
    kind = rng.random()
    if kind < 0.7:
        return encode_long(len(items)) + b"".join(items) + b"\x00"
    if kind < 0.85:
        return encode_long(-len(items)) + _sized(b"".join(items)) + b"\x00"
    return b"".join(b"\x02" + item for item in items) + b"\x00"


def _sized(data: bytes) -> bytes:
    return encode_long(len(data)) + data


def _scalar(rng: Random, node: AvroType) -> bytes:
    if isinstance(node, AvroEnum):
        return encode_long(rng.randrange(max(1, len(node.symbols))))
    if isinstance(node, AvroFixed):
        return rng.randbytes(node.size)
    match node.kind:
        case AvroKind.NULL:
            return b""
        case AvroKind.BOOLEAN:
            return rng.choice((b"\x00", b"\x01"))
        case AvroKind.INT:
            return encode_long(rng.choice(WHOLES if rng.random() < 0.2 else FEW))
        case AvroKind.LONG:
            return encode_long(rng.choice(LONGS if rng.random() < 0.2 else FEW))
        case AvroKind.FLOAT:
            return rng.randbytes(4) if rng.random() < 0.2 else struct.pack("<f", rng.choice((0.0, 0.1, 5.0, 3e38)))
        case AvroKind.DOUBLE:
            return struct.pack("<d", rng.choice(REALS if rng.random() < 0.1 else FEW_REALS))
        case AvroKind.STRING:
            return _sized(rng.choice(TEXTS).encode())
    return _sized(rng.randbytes(rng.randrange(4)))


def has_items_without_bytes(root: AvroType) -> bool:
    """Return whether an array's items take no bytes, so that a few bytes announce items without end."""
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        inner: list[AvroType] = []
        match node:
            case AvroArray():
                inner = [node.items]
                if _is_empty(node.items, ()):
                    return True
            case AvroMap():
                inner = [node.values]
            case AvroUnion():
                inner = [*node.branches]
            case AvroRecord():
                inner = [member.type for member in node.fields]
        waiting += [each for each in inner if id(each) not in seen]
        seen.update(map(id, inner))
    return False


def _is_empty(node: AvroType, inside: tuple[int, ...]) -> bool:
    if isinstance(node, AvroRecord):
        within = (*inside, id(node))
        return id(node) not in inside and all(_is_empty(member.type, within) for member in node.fields)
    return node.kind is AvroKind.NULL or (isinstance(node, AvroFixed) and node.size == 0)
