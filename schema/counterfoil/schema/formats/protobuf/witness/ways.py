"""The fields that lead from a record to a message inside it, in reader and writer."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.formats.protobuf.compare.sound import renamed_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
    from counterfoil.schema.formats.protobuf.types.index import FieldType, Held, MessageType

Pair: TypeAlias = "tuple[MessageType, MessageType]"
"""A message of the reader, and the message of the writer that is read as it."""


MAX_PAIRS: Final = 10_000
"""The largest number of pairs of messages that are visited."""


@dataclass(frozen=True, slots=True)
class Step:
    """A pair of messages, and the number of the field that holds the next pair."""

    reader: MessageType
    writer: MessageType
    number: int


def records(reader: ProtobufSchema, writer: ProtobufSchema) -> Iterator[Pair]:
    """Yield the message types that records can have: those that both own files have by one name, and the first ones."""
    mine, theirs = reader.types.root, writer.types.root
    for message in theirs.all_messages():
        match = mine.message_by_local_name(message.local_name)
        if match is not None:
            yield match, message
    renamed = renamed_first(mine, theirs)
    if renamed is not None:
        yield renamed


def find_way(reader: ProtobufSchema, writer: ProtobufSchema, wanted: Pair) -> list[Step] | None:
    """Return the shortest list of steps from a record to the pair ``wanted``; empty if it is a pair of record types.

    Records are messages of the writer's own file that the reader's has by the same name, and those of the first
    message. Returns None if no record contains the pair.
    """
    known = [*records(reader, writer)]
    if wanted in known:
        return []
    step_by_pair: dict[Pair, Step | None] = dict.fromkeys(known)
    waiting = deque(known)
    while waiting:
        pair = waiting.popleft()
        for number, inner in _inner_pairs(*pair):
            if inner not in step_by_pair and len(step_by_pair) < MAX_PAIRS:
                step_by_pair[inner] = Step(*pair, number)
                if inner == wanted:
                    return _steps_to(inner, step_by_pair)
                waiting.append(inner)
    return None


def _inner_pairs(reader: MessageType, writer: MessageType) -> Iterator[tuple[int, Pair]]:
    for number, field in writer.fields.items():
        other = reader.fields.get(number)
        inner = _message_in(field)
        match = _message_in(other) if other is not None else None
        if inner is not None and match is not None:
            yield number, (match, inner)


def _message_in(field: FieldType) -> MessageType | None:
    held: Held = field.holds
    return held.value.message if held.value is not None else held.message


def _steps_to(pair: Pair, step_by_pair: dict[Pair, Step | None]) -> list[Step]:
    steps: list[Step] = []
    step = step_by_pair[pair]
    while step is not None:
        steps.append(step)
        step = step_by_pair[step.reader, step.writer]
    return steps[::-1]
