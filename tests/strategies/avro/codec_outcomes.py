"""What a codec makes of an input, in a form in which two tiers can be compared, and inputs that are damaged."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from counterfoil.schema.errors import CounterfoilError
from strategies.avro.codec_tiers import TIERS, use_tier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

Codec = TypeVar("Codec")


def of_each_tier(compiled: Callable[[], Codec]) -> Mapping[str, Codec]:
    """Return what ``compiled`` returns for every tier, by the tier's name."""
    before = dict(os.environ)
    codecs = {}
    try:
        for tier in TIERS:
            use_tier(os.environ.__setitem__, tier)
            codecs[tier] = compiled()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return codecs


def outcome(call: Callable[[], object]) -> tuple[Any, ...]:
    """Return the value as text with its types, since NaN is not equal to itself; or the error with its facts."""
    try:
        value = call()
    except CounterfoilError as error:
        facts = [getattr(error, name, None) for name in ("path", "offset", "expected", "got")]
        return type(error).__name__, str(error), *facts
    return "value", repr(value)


def damaged(random: Random, data: bytes) -> bytes:
    """Return the data with a few bytes changed, inserted, removed or cut off at the end."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 3)):
        place = random.randint(0, len(changed))
        match random.randrange(4):
            case 0:
                changed[place : place + 1] = bytes(
                    [random.choice((0, 1, 2, 3, 127, 128, 254, 255, random.randrange(256)))]
                )
            case 1:
                changed[place:place] = random.randbytes(random.randint(1, 3))
            case 2:
                del changed[place : place + random.randint(1, 3)]
            case _:
                del changed[place:]
    return bytes(changed)
