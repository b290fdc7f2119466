"""Decoded bytes as tests look at them: their leaves, and whether these are a partition of the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.decoding import (
    NO_FRAME,
    DecodingLimits,
    DecodingQuestion,
    FoundFrame,
    NamedSchema,
    decode_bytes,
)
from counterfoil.schema.rest.inspection import VersionName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.rest.comparisons import DecodedBytes, DecodedNode

MANY = DecodingLimits(nodes=1_000_000)


def decoded(schema: ParsedSchema, data: bytes, frame: FoundFrame = NO_FRAME, **more: Any) -> DecodedBytes:
    """What the bytes are for a schema, with all their parts."""
    return decode_bytes(DecodingQuestion(data, frame, writer=schema, **more), MANY)


def version(number: int, schema: ParsedSchema) -> NamedSchema:
    """A schema as a version of a subject."""
    return NamedSchema(VersionName("orders-value", number), schema)


def leaves(found: DecodedBytes) -> list[DecodedNode]:
    """The parts that have no parts."""
    return [node for node in found.nodes if node.value is not None or node.is_masked]


def check_partition(found: DecodedBytes, data: bytes) -> None:
    """Check that each byte until the end or the fault is in one leaf, and each part inside those around it."""
    end = check_order(leaves(found))
    is_read = end == len(data) - found.rest
    if found.fault is None:
        assert is_read
    else:  # of a whole value that the schema does not accept, the fault is inside
        assert is_read or end <= found.fault.offset
        assert found.fault.offset <= len(data)
    around: list[DecodedNode] = []
    for node in found.nodes:
        assert 0 <= node.first <= node.end <= len(data)
        del around[node.depth :]
        assert len(around) == node.depth
        for outer in around:
            assert outer.first <= node.first
            assert node.end <= outer.end
        if node.value is None and not node.is_masked:
            around.append(node)


def check_order(parts: Sequence[DecodedNode]) -> int:
    """Check that each part begins where the one before ends; return the end of the last."""
    at = 0
    for node in parts:
        assert node.first == at, node
        at = node.end
    return at
