"""Sample messages of a writer's schema, the same on every call."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.witness.messages import NoMessage, fill, fillings, minimal, probes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyMessage


_SEED: Final = 20_240_501
_MAX_DEPTH: Final = 3
_CHANCE_TO_SET: Final = 0.6
_CHANCE_OF_MANY: Final = 0.3


def samples(descriptor: AnyDescriptor) -> Iterator[AnyMessage]:
    """Yield messages without end: the minimal one, each field set to each of its test values, then random ones.

    Raises ``NoMessage`` if no message of finite size exists.
    """
    yield minimal(descriptor)
    for field in sorted(descriptor.fields, key=lambda each: each.number):
        try:
            yield from probes(descriptor, field.number)
        except NoMessage:
            continue
    random = Random(_SEED)  # noqa: S311 - the values must be the same on every call, and are not secret
    while True:
        yield _mixed(descriptor, random, 0)


def _mixed(descriptor: AnyDescriptor, random: Random, depth: int) -> AnyMessage:
    """Return a message with about half of its fields set, and so its inner messages."""
    message = minimal(descriptor)
    for field in descriptor.fields:
        if random.random() > _CHANCE_TO_SET or (field.message_type is not None and depth == _MAX_DEPTH):
            continue
        try:
            choices = list(islice(fillings(field, 0), 12))
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                count = 1 + int(field.is_repeated and random.random() < _CHANCE_OF_MANY)
                choices = [[_mixed(field.message_type, random, depth + 1) for _ in range(count)]]
        except NoMessage:
            continue
        fill(message, field, random.choice(choices))
    return message
