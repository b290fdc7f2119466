"""A conversion plan: how every field of a target schema is filled from a value of the source schema.

The plan is a tree of frozen operations. Each takes the *scope*, the source record (or, below an array or a map, one
element of it), and returns a value, null, or a named error. The result for null is null, except for operations that
replace null. :mod:`.evaluate` defines the operations; an engine compiles them.

Values are *base values*: a value of a logical type is its number, text or bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from counterfoil.schema.plans.formulas import Expression, Path
    from counterfoil.schema.plans.notation import Pattern


_IMPLIED: Final = "is_wide"
_LATER: Final = "rounded"
"""A member that plans of earlier versions do not have: where it is None, a plan has the hash that it had."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parts, as it is named in operations.

    ``word`` is the Avro type, or its logical type where it has one (``timestamp-millis``); ``base`` the Avro type
    below. The other members are set if the type has them. ``is_wide``: nanoseconds of the years 1 to 9999, which need
    more than 64 bits; the language of a schema says so, and it is no part of a plan's hash.
    """

    word: str
    base: str
    symbols: tuple[str, ...] = ()
    precision: int | None = None
    scale: int = 0
    size: int | None = None
    is_wide: bool = False

    def __str__(self) -> str:
        if self.word == "decimal":
            return f"decimal({self.precision}, {self.scale})"
        return f"fixed({self.size})" if self.word == "fixed" else self.word


@dataclass(frozen=True, slots=True)
class Read:
    """The source value at ``path``; null where a record on the way is null. The empty path is the scope itself."""

    path: Path


@dataclass(frozen=True, slots=True)
class Constant:
    """Always ``value``, a base value of the target's type."""

    value: Datum


@dataclass(frozen=True, slots=True)
class Widen:
    """The same value as a larger type: no value is lost and none is refused."""

    of: Op
    source: Scalar
    target: Scalar


@dataclass(frozen=True, slots=True)
class Cast:
    """The value as another type, or ``cast-failed`` or ``out-of-range``.

    ``decimals`` are those of floating point as text, and ``rounded`` those to which an exact number is rounded half up
    before it becomes a decimal, or a decimal a text.
    """

    of: Op
    source: Scalar
    target: Scalar
    decimals: int | None = None
    rounded: int | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """A date or a point in time as text."""

    of: Op
    source: Scalar
    pattern: Pattern
    zone: str


@dataclass(frozen=True, slots=True)
class Parse:
    """Text as a date or a point in time, or ``parse-failed``."""

    of: Op
    target: Scalar
    pattern: Pattern
    zone: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """The value in ``table``, else ``otherwise``; without that, ``lookup-missing``."""

    of: Op
    table: tuple[tuple[Datum, Datum], ...]
    otherwise: Op | None = None


@dataclass(frozen=True, slots=True)
class ReplaceNull:
    """The value, or ``value`` where it is null."""

    of: Op
    value: Datum


@dataclass(frozen=True, slots=True)
class RequireValue:
    """The value, or ``null-not-allowed`` where it is null."""

    of: Op


@dataclass(frozen=True, slots=True)
class Split:
    """The piece of a text at ``take``, counted from 0, or from the end with -1.

    ``split-missing`` when there is none.
    """

    of: Op
    separator: str
    take: int


@dataclass(frozen=True, slots=True)
class Join:
    """Concatenated texts; null when one of them is null."""

    parts: tuple[Op, ...]
    separator: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A formula; null when a field in it is null.

    ``result`` is ``long`` or ``double``; ``integers`` are the paths of the fields that are read as longs, all others
    are read as doubles.
    """

    expression: Expression
    result: str
    integers: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """A record from its fields; null where ``guard`` is null."""

    fields: tuple[tuple[str, Op], ...]
    guard: Op | None = None


@dataclass(frozen=True, slots=True)
class MapItems:
    """An array with ``item`` applied to each item; the item is the scope."""

    of: Op
    item: Op


@dataclass(frozen=True, slots=True)
class MapValues:
    """A map with ``value`` applied to each value; the value is the scope."""

    of: Op
    value: Op


class ValueShape(Enum):
    """The Python class of a base value, which distinguishes the branches of a union."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BYTES = "bytes"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class MapBranches:
    """A union, each branch by its own operation; the branch's value is the scope.

    A value of a branch without an operation is ``union-branch-missing``.
    """

    of: Op
    branches: tuple[tuple[ValueShape, Op], ...]


@dataclass(frozen=True, slots=True)
class MapTagged:
    """A tagged union, each branch by the operation of its index; the branch's value is the scope.

    A value of a branch without an operation is ``union-branch-missing``.
    """

    of: Op
    branches: tuple[tuple[int, Op], ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """The value as that of the branch ``index`` of a tagged union."""

    of: Op
    index: int


@dataclass(frozen=True, slots=True)
class BranchChoice:
    """The operation for the value of ``of`` in ``cases``, else ``otherwise``; all have the same scope.

    Without an operation the result is ``union-branch-missing``.
    """

    of: Op
    cases: tuple[tuple[Datum, Op | None], ...]
    otherwise: Op | None = None


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """No value: the item of an array, or the entry of a map, that is converted so is left out.

    It stands where a branch of an item or a value of a map has its operation, and nowhere else.
    """


@dataclass(frozen=True, slots=True)
class Define:
    """The value, which is the scope, by an operation that ``Repeat`` of the same number carries out inside it.

    So a type that contains itself is converted at every level. Beyond ``MAX_LEVELS`` the result is ``unencodable``.
    """

    of: Op
    number: int
    value: Op


@dataclass(frozen=True, slots=True)
class Repeat:
    """The value, which is the scope, by the operation of the ``Define`` with this number."""

    of: Op
    number: int


MAX_LEVELS: Final = 100
"""How many times a value may be inside of another one that the same operation converts."""


@dataclass(frozen=True, slots=True)
class FirstSet:
    """The first of several values that is not null; null if there is none."""

    parts: tuple[Op, ...]


Op: TypeAlias = (
    Read | Constant | Widen | Cast | Format | Parse | Lookup | ReplaceNull | RequireValue | Split | Join | Arithmetic
    | BuildRecord | MapItems | MapValues | MapBranches | MapTagged | Tag | FirstSet | BranchChoice | LeaveOut
    | Define | Repeat
)  # fmt: skip


class ProblemKind(Enum):
    """The kind of a problem, as a word."""

    UNCOVERED = "uncovered"
    """A target field has no source, no default and no rule."""
    UNUSED = "unused"
    """A source field is neither used nor dropped."""
    LOSSY = "lossy"
    """Values would be lost or refused, and no rule permits it."""
    UNKNOWN = "unknown"
    """A rule names a field that does not exist."""
    WRONG_TYPE = "wrong-type"
    """Types that cannot become each other, or a constant that is no value of its type."""
    BY_NUMBER = "by-number"
    """Fields have one number and other names, and it is not said whether they are the same."""
    UNSUPPORTED = "unsupported"
    """A schema for which no plan can be made."""


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """One problem that must be resolved before the plan can run; its ``str`` is one sentence."""

    kind: ProblemKind
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


@dataclass(frozen=True, slots=True)
class PlanRow:
    """How one target field is filled, for display: ``how`` as a word, the ``source`` fields, and a ``note``."""

    target: str
    how: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class ConversionPlan:
    """How every value of ``source`` becomes a value of ``target``.

    ``root`` builds the target record, or converts a value without parts. ``problems`` are unresolved: a plan with
    problems converts nothing. ``dropped`` are the source fields that a rule leaves out, ``lossy`` the target fields
    from which the source value cannot be restored. ``notes`` are sentences about what no plan of these schemas
    converts. ``meaning_of`` returns a text that is equal for schemas whose values have the same meaning.
    """

    source: ParsedSchema
    target: ParsedSchema
    root: Op
    problems: tuple[PlanProblem, ...] = ()
    described: tuple[PlanRow, ...] = ()
    dropped: tuple[str, ...] = ()
    lossy: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    meaning_of: Callable[[ParsedSchema], str] = field(kw_only=True, repr=False)

    @property
    def is_complete(self) -> bool:
        """Whether the plan has no problems."""
        return not self.problems

    def rows(self) -> tuple[PlanRow, ...]:
        """Return how each target field is filled, in the target's order, then the dropped fields."""
        left = tuple(PlanRow("", "dropped", path, "is left out") for path in self.dropped)
        return self.described + left

    @cached_property
    def hash(self) -> str:
        """A SHA-256 hash, in hex, over the operations and the meaning of both schemas."""
        content = {
            "operations": encoded(self.root),
            "source": self.meaning_of(self.source),
            "target": self.meaning_of(self.target),
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    # Plans with the same result are equal; the engines cache compiled code by plan.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConversionPlan) and (self is other or self.hash == other.hash)

    def __hash__(self) -> int:
        return hash(self.hash)


def encoded(value: object) -> Datum:
    """Return operations as JSON: the text is equal exactly for equal meaning."""
    if is_dataclass(value) and not isinstance(value, type):
        given = {member.name: getattr(value, member.name) for member in fields(value) if member.name != _IMPLIED}
        parts = {name: encoded(part) for name, part in given.items() if name != _LATER or part is not None}
        return {"op": type(value).__name__, **parts}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, dict):
        return {"map": [[key, encoded(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    if isinstance(value, str) and hasattr(value, "place"):  # a step into a branch, which is no field of its name
        return {"branch": value.place}
    return value
