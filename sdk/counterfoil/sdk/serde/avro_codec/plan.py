"""A decode plan: what to do with the bytes of one writer for one reader, step by step.

Everything that two schemas decide is decided here once: which fields are passed over, renamed, promoted or filled,
and which branch of the reader's union a branch of the writer's becomes. A plan is a graph, since schemas may be
recursive: a :class:`RecordStep` may lead to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.sdk.serde.avro_codec.logical import Conversion


NO_BYTES: Final = 0


@dataclass(eq=False, slots=True)
class NullStep:
    """No bytes; None."""


@dataclass(eq=False, slots=True)
class BooleanStep:
    """One byte, 0 or 1."""


@dataclass(eq=False, slots=True)
class IntegerStep:
    """A varint of 32 (``bits``) or 64 bits."""

    bits: int
    conversion: Conversion | None = None


@dataclass(eq=False, slots=True)
class RealStep:
    """A little-endian float (``size`` 4) or double (8)."""

    size: int


@dataclass(eq=False, slots=True)
class BytesStep:
    """A length and as many bytes."""

    conversion: Conversion | None = None


@dataclass(eq=False, slots=True)
class TextStep:
    """A length and as many bytes of UTF-8."""

    conversion: Conversion | None = None


@dataclass(eq=False, slots=True)
class FixedStep:
    """``size`` bytes."""

    size: int
    conversion: Conversion | None = None


@dataclass(eq=False, slots=True)
class EnumStep:
    """The number of a writer's symbol. ``values`` are what the reader makes of each; None where it knows none."""

    name: str
    symbols: Sequence[str]
    values: Sequence[str | None]


@dataclass(eq=False, slots=True)
class ArrayStep:
    """Blocks of items. ``smallest`` is the size in bytes that every item has at least."""

    items: Step
    smallest: int = NO_BYTES


@dataclass(eq=False, slots=True)
class MapStep:
    """Blocks of text keys and values."""

    values: Step


@dataclass(eq=False, slots=True)
class UnionStep:
    """The number of a writer's branch, and a value of it."""

    branches: Sequence[Step]


@dataclass(eq=False, slots=True)
class UnreadableStep:
    """A writer's branch that the reader has no place for: met in data, it is an error with ``problem``."""

    problem: str


@dataclass(eq=False, slots=True)
class FieldStep:
    """One field of the writer: its value goes to the reader's field ``target``, or nowhere (None)."""

    name: str
    target: str | None
    step: Step


@dataclass(eq=False, slots=True)
class RecordStep:
    """The writer's fields in their order; then ``targets``, the reader's fields in theirs, some from ``defaults``.

    ``unpaid`` is what a record weighs that no bytes stand for, where data can repeat it (:mod:`.weights`); 0 where it
    is no more than the bytes that the record takes at least.
    """

    name: str
    fields: list[FieldStep] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)
    unpaid: int = 0

    @property
    def mutable_defaults(self) -> Sequence[str]:
        """The fields whose default somebody could change, so that each value needs its own."""
        return [name for name, default in self.defaults.items() if isinstance(default, (dict, list))]


@dataclass(eq=False, slots=True)
class RawStep:
    """All bytes to the end of the data: a top-level ``bytes`` stands without its length on the wire."""

    is_text: bool = False
    conversion: Conversion | None = None


Step: TypeAlias = (
    NullStep
    | BooleanStep
    | IntegerStep
    | RealStep
    | BytesStep
    | TextStep
    | FixedStep
    | EnumStep
    | ArrayStep
    | MapStep
    | UnionStep
    | UnreadableStep
    | RecordStep
    | RawStep
)


def children_of(step: Step) -> Sequence[Step]:
    """The steps that a step leads to."""
    match step:
        case ArrayStep(items=inner) | MapStep(values=inner):
            return (inner,)
        case UnionStep(branches=branches):
            return branches
        case RecordStep(fields=fields):
            return [one.step for one in fields]
        case _:
            return ()


def steps_of(step: Step) -> list[Step]:
    """Every step of a plan, once."""
    found: dict[int, Step] = {}
    rest: list[Step] = [step]
    while rest:
        one = rest.pop()
        if id(one) not in found:
            found[id(one)] = one
            rest.extend(children_of(one))
    return list(found.values())
