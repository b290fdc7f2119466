"""Plans: the steps that turn bytes of one writer into values of one reader, or values into bytes.

Everything that depends on the schemas alone is decided once. For reading: which fields are skipped, renamed, promoted
or filled, and which branch of the reader's union a branch of the writer's becomes (:mod:`.resolve`). For writing: which
branch of a union a Python type belongs to, and what is written for a field that a value does not have
(:mod:`.encode_plan`). Most steps are the same in both; unions, records and their fields have a class for each.

Both tiers are made of plans: the generated Python code, and the accelerator by way of :mod:`.nodes`. A plan is a graph,
since schemas may be recursive: a record's step may lead to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.avro.types import Union
    from counterfoil.sdk.serde.avro_codec.logical import Conversion

NO_BYTES: Final = 0
TYPE_KEY: Final = "-type"
"""The key by which a dict names its record, which no field can have."""


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
    """The number of a writer's symbol. ``values`` are the reader's values of each; None where it has none.

    In a plan for writing they are the symbols themselves.
    """

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
    """Reading: the number of a writer's branch, and a value of it."""

    branches: Sequence[Step]


@dataclass(eq=False, slots=True)
class BranchStep:
    """Reading: a value of one type of a union, read as the pair ``(name, value)``, by which an encoder finds the type.

    ``name`` is the type's name, or the index of the branch. Only plans that are made for this have it; the accelerator
    does not read it.
    """

    name: str | int
    step: Step


@dataclass(eq=False, slots=True)
class EncodeUnionStep:
    """Writing: the number of the branch that a value belongs to, and the value.

    ``branch_by_type`` has the branch of every Python type whose values fit only one; for the others the value decides.
    """

    union: Union
    branches: Sequence[Step]
    branch_by_type: Mapping[type, int]

    @property
    def null_of_optional(self) -> int | None:
        """The number of the null branch of a union of null and one other type; None for another union."""
        kinds = [isinstance(branch, NullStep) for branch in self.branches]
        return kinds.index(True) if sorted(kinds) == [False, True] else None


@dataclass(eq=False, slots=True)
class UnreadableStep:
    """Reading: a writer's branch that the reader cannot read: data with it is an error with ``problem``."""

    problem: str


@dataclass(eq=False, slots=True)
class FieldStep:
    """Reading: one field of the writer: its value becomes the reader's field ``target``, or is skipped (None)."""

    name: str
    target: str | None
    step: Step


@dataclass(eq=False, slots=True)
class RecordStep:
    """Reading: the writer's fields in their order; then ``targets``, the reader's fields, some from ``defaults``.

    ``unpaid`` is the weight of a record beside its data, where data can repeat it (:mod:`.weights`); 0 where it is at
    most the smallest size of the record in bytes. With ``is_branch`` it is no record, but a value of a union in a dict
    that names its branch; it weighs nothing.
    """

    name: str
    fields: list[FieldStep] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)
    unpaid: int = 0
    is_branch: bool = False

    @property
    def mutable_defaults(self) -> Sequence[str]:
        """The fields with a mutable default, of which each value needs a copy."""
        return [name for name, default in self.defaults.items() if isinstance(default, (dict, list))]


@dataclass(eq=False, slots=True)
class EncodeFieldStep:
    """Writing: one field. A value without it is written with ``default``, or is an error without ``has_default``."""

    name: str
    step: Step
    has_default: bool
    default: Any


@dataclass(eq=False, slots=True)
class EncodeRecordStep:
    """Writing: the fields in their order. ``is_strict`` refuses keys that are no fields."""

    name: str
    is_strict: bool
    fields: list[EncodeFieldStep] = field(default_factory=list)


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
    | BranchStep
    | EncodeUnionStep
    | UnreadableStep
    | RecordStep
    | EncodeRecordStep
    | RawStep
)
"""A step of a plan; the classes whose docstring begins with "Reading" or "Writing" occur in plans for that only."""


def children_of(step: Step) -> Sequence[Step]:
    """Return the steps directly inside a step."""
    match step:
        case ArrayStep(items=inner) | MapStep(values=inner) | BranchStep(step=inner):
            return (inner,)
        case UnionStep(branches=branches) | EncodeUnionStep(branches=branches):
            return branches
        case RecordStep(fields=fields):
            return [one.step for one in fields]
        case EncodeRecordStep(fields=fields):
            return [one.step for one in fields]
        case _:
            return ()


def steps_of(*start: Step) -> list[Step]:
    """Return every step of the plans that begin at ``start``, once."""
    found: dict[int, Step] = {}
    rest: list[Step] = [*start]
    while rest:
        one = rest.pop()
        if id(one) not in found:
            found[id(one)] = one
            rest.extend(children_of(one))
    return list(found.values())


def contains_itself(step: Step) -> bool:
    """Return whether a step leads to itself."""
    return any(one is step for one in steps_of(*children_of(step)))


def name_records(plan: Step) -> None:
    """Make every record's dict have the record's full name as its :data:`TYPE_KEY`."""
    for step in steps_of(plan):
        if isinstance(step, RecordStep):
            step.targets.append(TYPE_KEY)
            step.defaults[TYPE_KEY] = step.name
