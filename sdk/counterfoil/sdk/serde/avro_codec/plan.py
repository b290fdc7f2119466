"""A decode plan: the steps that turn bytes of one writer into values of one reader.

Everything that depends on the two schemas alone is decided once: which fields are skipped, renamed, promoted or filled,
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
    """The number of a writer's symbol. ``values`` are the reader's values of each; None where it has none."""

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
    """A writer's branch that the reader cannot read: data with it is an error with ``problem``."""

    problem: str


@dataclass(eq=False, slots=True)
class FieldStep:
    """One field of the writer: its value becomes the reader's field ``target``, or is skipped (None)."""

    name: str
    target: str | None
    step: Step


@dataclass(eq=False, slots=True)
class RecordStep:
    """The writer's fields in their order; then ``targets``, the reader's fields in theirs, some from ``defaults``.

    ``unpaid`` is the weight of a record beside its data, where data can repeat it (:mod:`.weights`); 0 where it is at
    most the smallest size of the record in bytes.
    """

    name: str
    fields: list[FieldStep] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)
    unpaid: int = 0

    @property
    def mutable_defaults(self) -> Sequence[str]:
        """The fields with a mutable default, of which each value needs a copy."""
        return [name for name, default in self.defaults.items() if isinstance(default, (dict, list))]


@dataclass(eq=False, slots=True)
class RawStep:
    """All bytes to the end of the data: a top-level ``bytes`` is written without its length."""

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
    """Return the steps directly inside a step."""
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
    """Return every step of a plan, once."""
    found: dict[int, Step] = {}
    rest: list[Step] = [step]
    while rest:
        one = rest.pop()
        if id(one) not in found:
            found[id(one)] = one
            rest.extend(children_of(one))
    return list(found.values())
