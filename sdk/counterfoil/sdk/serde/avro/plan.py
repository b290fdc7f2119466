"""Plans: the steps between bytes and values, the weight of values without bytes, and source text for code of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.datum import Datum

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.types import AvroUnion
    from counterfoil.sdk.serde.avro.logical_types import LogicalConversion


# Plans: the steps that turn bytes of one writer into values of one reader, or values into bytes.
#
# Everything that depends on the schemas alone is decided once. For reading: which fields are skipped, renamed, promoted
# or filled, and which branch of the reader's union a branch of the writer's becomes (:mod:`.resolve`). For writing:
# which branch of a union a Python type belongs to, and what is written for a field that a value does not have
# (:mod:`.encode_plan`). Most steps are the same in both; unions, records and their fields have a class for each.
#
# Both tiers are made of plans: the generated Python code, and the accelerator by way of :mod:`.coders`. A plan is a
# graph, since schemas may be recursive: a record's step may lead to itself.

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
    conversion: LogicalConversion | None = None


@dataclass(eq=False, slots=True)
class RealStep:
    """A little-endian float (``size`` 4) or double (8)."""

    size: int


@dataclass(eq=False, slots=True)
class BytesStep:
    """A length and as many bytes."""

    conversion: LogicalConversion | None = None


@dataclass(eq=False, slots=True)
class TextStep:
    """A length and as many bytes of UTF-8."""

    conversion: LogicalConversion | None = None


@dataclass(eq=False, slots=True)
class FixedStep:
    """``size`` bytes."""

    size: int
    conversion: LogicalConversion | None = None


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

    union: AvroUnion
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

    ``unpaid`` is the weight of a record beside its data, where data can repeat it; 0 where it is at
    most the smallest size of the record in bytes. With ``is_branch`` it is no record, but a value of a union in a dict
    that names its branch; it weighs nothing.
    """

    name: str
    fields: list[FieldStep] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    defaults: dict[str, Datum] = field(default_factory=dict)
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
    default: Datum


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
    conversion: LogicalConversion | None = None


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


# The weight of values that take no bytes in a message, so that a small message cannot become a large value.
#
# Two kinds of values take no bytes: items of an array whose type takes none (null, a record of nulls), and what a
# record has beside its data (defaults of the reader, nulls). Both are counted over a whole message. The setting limits
# the number of items; the rest may weigh ``WEIGHT_OF_ITEM`` times that, and one more for each byte of the message.
#
# Only records that data can repeat are counted: those in arrays and maps, and those that contain themselves. The others
# occur once in a value. A record with no more such weight than bytes is not counted either.

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


def weight_of(default: object) -> int:
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
        case BranchStep(step=inner):
            return _smallest(inner, known)
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


# Which parts of a schema become functions of their own, and which are written in place.
#
# A record that contains itself must be a function. A record that takes many lines is one, so that the code is not
# longer than in proportion to the schema; everything else is written in place, which is fastest.

_MAX_WEIGHT: Final = 60


class Inlining:
    """The decision for every step of a plan; only records become functions."""

    def __init__(self, plan: Step) -> None:
        self._recursive = {id(one) for one in steps_of(plan) if _is_record(one) and contains_itself(one)}
        self._weights: dict[int, int] = {}

    def is_function(self, step: Step) -> bool:
        """Return whether the step becomes a function that is called."""
        return id(step) in self._recursive or (_is_record(step) and self._weight(step) > _MAX_WEIGHT)

    def _weight(self, step: Step) -> int:
        """Return about how many lines the step takes in place, where each call counts as one."""
        if id(step) not in self._weights:
            self._weights[id(step)] = 1  # for a recursive step, which is called
            inner = sum(self._cost(one) for one in children_of(step))
            self._weights[id(step)] = 1 + inner
        return self._weights[id(step)]

    def _cost(self, step: Step) -> int:
        weight = self._weight(step)
        return 1 if self.is_function(step) else weight


def _is_record(step: Step) -> bool:
    return isinstance(step, (RecordStep, EncodeRecordStep))


# Python source under construction: lines, fresh names, and the objects that the lines refer to.
#
# No schema text reaches the source except as ``repr`` of a string; everything else is an object bound to a name.

_INDENT = " "

MAX_LEVEL: Final = 12
"""The indentation from which code is put into a function: Python allows twenty nested loops and a hundred levels."""


class PythonSource:
    """Source text and the namespace it will run in. ``level`` is the current indentation."""

    def __init__(self, constants: Mapping[str, object]) -> None:
        self.namespace: dict[str, Datum] = dict(constants)
        self.level = 0
        self._lines: list[str] = []
        self._names = 0

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self._lines.append(_INDENT * self.level + text)

    @property
    def size(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def hold(self) -> int:
        """Reserve a line at the current indentation and return its position; see :meth:`fill`."""
        self.line("")
        return len(self._lines) - 1

    def fill(self, place: int, text: str) -> None:
        """Write the line at a reserved position."""
        self._lines[place] += text

    def name(self, stem: str) -> str:
        """Return a name that is unique in this source."""
        self._names += 1
        return f"{stem}_{self._names}"

    def bind(self, stem: str, value: object) -> str:
        """Bind ``value`` to a new global name and return the name."""
        name = self.name(stem)
        self.namespace[name] = value
        return name

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(self._lines) + "\n"

    def run(self, title: str) -> dict[str, Datum]:
        """Run the lines and return their namespace; ``title`` is the file name that tracebacks show."""
        exec(compile(self.text(), f"<{title}>", "exec"), self.namespace)  # noqa: S102 - this is what code generation is
        return self.namespace
