"""The weight of values that take no bytes in a message, so that a small message cannot become a large value.

Two kinds of values take no bytes: items of an array whose type takes none (null, a record of nulls), and what a record
has beside its data (defaults of the reader, nulls). Both are counted over a whole message. The setting limits the
number of items; the rest may weigh ``WEIGHT_OF_ITEM`` times that, and one more for each byte of the message.

Only records that data can repeat are counted: those in arrays and maps, and those that contain themselves. The others
occur once in a value. A record with no more such weight than bytes is not counted either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.serde.avro_codec.plan import (
    NO_BYTES,
    ArrayStep,
    FixedStep,
    MapStep,
    NullStep,
    RawStep,
    RealStep,
    RecordStep,
    UnreadableStep,
    children_of,
    contains_itself,
    steps_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.sdk.serde.avro_codec.plan import Step

MAX_EMPTY_ITEMS: Final = 10_000
"""How many array items that take no bytes a message may have by default."""

WEIGHT_OF_ITEM: Final = 16
"""How much weight without bytes a message may have for each such item: the weight of a small item."""

_WEIGHT_OF_CONTAINER: Final = 6
"""The weight of a dict or list, relative to one entry of it of about 40 bytes."""


def measure(plan: Step) -> None:
    """Set ``smallest`` in every array and ``unpaid`` in every record of a plan that is complete."""
    sizes: dict[int, int] = {}
    steps = steps_of(plan)
    for one in steps:
        if isinstance(one, ArrayStep):
            one.smallest = _smallest(one.items, sizes)
    for one in _repeated(steps):
        one.unpaid = _unpaid(one, sizes)


def weight_of(default: Any) -> int:
    """Return the weight of a default: 1 for itself, and more for a container and everything inside it."""
    if isinstance(default, dict):
        return _WEIGHT_OF_CONTAINER + sum(map(weight_of, default.values()))
    if isinstance(default, list):
        return _WEIGHT_OF_CONTAINER + sum(map(weight_of, default))
    return 1


def _smallest(step: Step, known: dict[int, int]) -> int:
    """Return a lower bound of the size of a value; a record inside itself counts as 0."""
    match step:
        case RealStep(size=size) | FixedStep(size=size):
            return size
        case NullStep() | RawStep() | UnreadableStep():
            return NO_BYTES
        case RecordStep(fields=fields):
            if id(step) not in known:
                known[id(step)] = NO_BYTES
                known[id(step)] = sum(_smallest(one.step, known) for one in fields)
            return known[id(step)]
        case _:
            return 1


def _unpaid(step: RecordStep, sizes: dict[int, int]) -> int:
    """Return the weight of a record beside its data; 0 if it has as many bytes.

    Records inside it are counted separately.
    """
    own = [one for one in step.fields if not isinstance(one.step, RecordStep)]
    weight = sum(map(weight_of, step.defaults.values()))
    weight += sum(1 for one in own if one.target is not None and _smallest(one.step, sizes) == NO_BYTES)
    if _smallest(step, sizes) == NO_BYTES:
        weight += _WEIGHT_OF_CONTAINER
    return 0 if weight <= sum(_smallest(one.step, sizes) for one in own) else weight


def _repeated(steps: Iterable[Step]) -> list[RecordStep]:
    """Return the records that data can repeat: those inside an array, a map or a record that contains itself."""
    found: dict[int, Step] = {}
    rest: list[Step] = [
        one
        for one in steps
        if isinstance(one, (ArrayStep, MapStep)) or (isinstance(one, RecordStep) and contains_itself(one))
    ]
    while rest:
        for child in children_of(rest.pop()):
            if id(child) not in found:
                found[id(child)] = child
                rest.append(child)
    return [one for one in found.values() if isinstance(one, RecordStep) and not one.is_branch]
