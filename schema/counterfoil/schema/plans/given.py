"""The values that a plan gives whatever the record is, and fields of a oneof that are set together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import ConversionError, shown
from counterfoil.schema.plans.casts import UUID_TEXT, readable
from counterfoil.schema.plans.evaluate import compile_op
from counterfoil.schema.plans.expressions import Binary, Call, Negate, Number, paths_of, result_of
from counterfoil.schema.plans.formulas import Path, spell
from counterfoil.schema.plans.model import (
    Arithmetic,
    BranchByValue,
    BuildRecord,
    Cast,
    Choose,
    Compare,
    Constant,
    Define,
    FirstSet,
    Format,
    IsNull,
    Join,
    LeaveOut,
    Logic,
    Lookup,
    MapBranches,
    MapItems,
    MapTagged,
    MapValues,
    Op,
    Otherwise,
    Parse,
    Read,
    Recount,
    ReplaceNull,
    RequireValue,
    Scalar,
    Shift,
    Split,
    Tag,
    Widen,
)
from counterfoil.schema.plans.notation import NANOS_RANGE, whole_of_text
from counterfoil.schema.plans.operands import operands_of
from counterfoil.schema.plans.text_forms import NoForm, day_of_text, form_function
from counterfoil.schema.plans.tree import (
    ArrayType,
    Demands,
    Leaf,
    MapType,
    Node,
    Place,
    RecordType,
    TargetLimits,
    UnionType,
    branch_of,
)
from counterfoil.schema.plans.types import is_instant, range_of, split_null, ticks_per_second

# Whether the fields of a oneof can be set together: a message has one of them, so that such a record has no result.


@dataclass(frozen=True, slots=True)
class Together:
    """Fields of one oneof that can be set in one record; ``always`` are those of them that are set in each record."""

    oneof: str
    names: tuple[str, ...]
    always: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentence about records with several of the fields, or about all of them."""
        names = ", ".join(self.names)
        if not self.always:
            return f"{names} are fields of the oneof {self.oneof}: a record that has several of them is a dead letter"
        always = " and ".join(self.always)
        are = "are" if len(self.always) > 1 else "is"
        others = [name for name in self.names if name not in self.always]
        also = f", and so may be {', '.join(others)}" if others else ""
        return (
            f"{always} {are} set in every record{also}, and a message has one field of the oneof {self.oneof}; leave "
            "all but one of them out by the rule {const: null}, or use fields in the source that may be null"
        )


def fields_together(
    target: RecordType,
    built: Mapping[str, Op],
    is_nullable: Callable[[Path], bool],
    oneof_at: Callable[[Path], object],
) -> Iterator[Together]:
    """Yield, for each oneof of a target record, the fields that can be set together.

    ``built`` are the operations of the fields. ``is_nullable`` returns whether the source value at a path may be null,
    ``oneof_at`` what identifies the oneof of which a source field is one; None for other fields.
    """
    for oneof in dict.fromkeys(each.oneof for each in target.fields if each.oneof):
        members = [each for each in target.fields if each.oneof == oneof and each.name in built]
        ops = {each.name: built[each.name] for each in members if built[each.name] != Constant(None)}
        if len(ops) < 2 or _exclude_each_other(ops.values(), oneof_at):  # noqa: PLR2004 - one field is never too many
            continue
        always = tuple(name for name, op in ops.items() if not may_be_null(op, is_nullable))
        yield Together(str(oneof), tuple(ops), always)


def may_be_null(op: Op, is_nullable: Callable[[Path], bool]) -> bool:
    """Return whether an operation may return null; only if it certainly does not, False."""
    match op:
        case Constant() | ReplaceNull():
            return op.value is None
        case Read():
            return is_nullable(op.path)
        case RequireValue() | IsNull():
            return False
        case Otherwise() if op.value is None:
            return True
        case BuildRecord():
            return op.guard is not None and may_be_null(op.guard, is_nullable)
        case FirstSet():
            return all(may_be_null(each, is_nullable) for each in op.parts)
        case MapBranches() | MapTagged() | BranchByValue() | LeaveOut():
            return True
    return any(may_be_null(each, is_nullable) for each in operands_of(op))


def _exclude_each_other(ops: Iterable[Op], oneof_at: Callable[[Path], object]) -> bool:
    """Return whether of the operations at most one returns a value: they read fields of one oneof, or of one union."""
    sources = {_source(op, oneof_at) for op in ops}
    return len(sources) == 1 and None not in sources


def _source(op: Op, oneof_at: Callable[[Path], object]) -> object:
    match op:
        case MapTagged() | MapBranches():
            return (type(op), op.of) if isinstance(op.of, Read) and _is_partial(op.branches) else None
        case Read():
            return oneof_at(op.path)
        case BuildRecord():
            return None if op.guard is None else _source(op.guard, oneof_at)
        case Constant() | FirstSet() | Arithmetic() | Join() | Lookup() | ReplaceNull() | RequireValue() | Otherwise():
            return None
        case Compare() | Logic() | Choose() | IsNull():
            return None
        case BranchByValue() | LeaveOut():
            return None
    return _source(op.of, oneof_at)


def _is_partial(branches: Sequence[tuple[object, Op]]) -> bool:
    """Return whether some branches give null, so that another field may take them."""
    return any(op == Constant(None) for _, op in branches)


# What the schema of a target demands of an object, whatever its values are: what no record of a plan can give.


def unmet_demands(
    demands: Demands, built: Mapping[str, Op], is_nullable: Callable[[Path], bool]
) -> Iterator[tuple[str, str]]:
    """Yield the demands that no record meets: the name of the property, empty for the object, and a sentence.

    ``built`` are the operations of the fields; ``is_nullable`` returns whether the source value at a path may be null.
    """
    possible = {name for name, op in built.items() if op != Constant(None)}
    certain = {name for name in possible if not may_be_null(built[name], is_nullable)}
    for name in demands.undeclared:
        yield name, "the target requires this property and does not declare it; declare it, so that it can be filled"
    for name in sorted(certain & demands.refused):
        yield name, "propertyNames of the target refuses this name"
    for name in sorted(certain & demands.needed.keys()):
        missing = sorted(demands.needed[name] - possible - {*demands.undeclared})
        if missing:
            yield name, f"where this property is, the target requires {', '.join(missing)} as well"
    if len(possible) < demands.least:
        yield "", f"the target requires at least {demands.least} properties; the plan fills {len(possible)}"
    if demands.most is not None and len(certain) > demands.most:
        yield "", f"the target permits at most {demands.most} properties; the plan fills {len(certain)}"


# The values that a plan gives whatever the record is, and those of them that the target refuses.
#
# Each record for which a plan gives such a value would become a dead letter, so that the plan is not complete. They are
# the constants of rules (``const``, the results of ``lookup``, ``else``, ``null``), defaults, and what a rule without a
# source field computes. Of a rule that reads fields, such as ``join``, a language may know that no result of it fits.

_DAYS: Final = tuple(day_of_text(text) for text in ("0001-01-01", "9999-12-31"))
_DAY_SECONDS: Final = 86_400
_TIMES_OF_DAY: Final = frozenset({"time-millis", "time-micros"})
_NO_RECORD: Final = (
    "the target's schema accepts none of the records that the plan builds here: what they always have, and what they "
    "never have, does not go together (if, anyOf, oneOf, not, dependentSchemas)"
)
_MOST_BYTES: Final = 1_000
_TEXT: Final = Scalar("string", "string")
_FORMS: Final = {
    "date-time": "a date and time such as 2026-01-31T12:00:00Z",
    "full-date": "a date such as 2026-01-31",
    "base64": "base64 with padding",
}
_RULES: Final = frozenset({"from", "join", "split", "expr", "format", "parse"})


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """A value that a plan gives and the target refuses: the field, and a sentence about the value."""

    where: str
    text: str


def refusals(
    root: Op,
    tree: Node,
    limits: TargetLimits | None,
    *,
    how_by_field: Mapping[str, str],
    is_nullable: Callable[[tuple[str, ...]], bool],
) -> Iterator[RefusedValue]:
    """Yield the values that a plan gives and its target refuses, in the target's order.

    ``how_by_field`` says how a field is filled, as a word; ``is_nullable`` returns whether the source value at a path
    may be null. A default of the target is compared with the keywords of its schema and not with the meaning of its
    type, since the author of the schema chose it.
    """
    yield from _Walk(limits, how_by_field, is_nullable).of(root, tree, ())


class _Walk:
    def __init__(
        self,
        limits: TargetLimits | None,
        how_by_field: Mapping[str, str],
        is_nullable: Callable[[tuple[str, ...]], bool],
    ) -> None:
        self._limits = limits
        self._how_by_field = how_by_field
        self._is_nullable = is_nullable
        self._inside = 0

    def _may_be_null(self, op: Op) -> bool:
        """Return whether an operation may return null; inside of elements and branches, that is not known."""
        return may_be_null(op, (lambda _: True) if self._inside else self._is_nullable)

    def of(self, op: Op, node: Node, place: Place, *, has_null: bool = True) -> Iterator[RefusedValue]:
        """Yield the refused values of an operation; null is none if it stands for a field that is left out."""
        match op:
            case Constant():
                if op.value is not None or has_null:
                    yield from self._value(op.value, node, place, self._how(place))
            case Lookup():
                yield from self._lookup(op, node, place)
            case ReplaceNull():
                yield from self.of(op.of, node, place)
                yield from self._value(op.value, node, place, "null" if self._how(place) in _RULES else "default")
            case RequireValue() | Tag():
                yield from self.of(op.of, _branch(op, node), place)
            case Otherwise():
                yield from self.of(op.of, node, place, has_null=has_null)
                yield from self._else(op, node, place, has_null=has_null)
            case MapBranches() | MapTagged() | FirstSet() | BranchByValue():
                yield from self._each_part(op, node, place)
            case Define():
                self._inside += 1
                yield from self.of(op.value, node, place)
                self._inside -= 1
            case BuildRecord() | MapItems() | MapValues():
                yield from self._parts(op, node, place)
            case _:
                yield from self._computed(op, node, place)

    def _else(self, op: Otherwise, node: Node, place: Place, *, has_null: bool) -> Iterator[RefusedValue]:
        if op.value is not None or has_null:
            yield from self._value(op.value, node, place, "else")

    def _how(self, place: Place) -> str:
        return self._how_by_field.get(spell(place), "value")

    def _lookup(self, op: Lookup, node: Node, place: Place) -> Iterator[RefusedValue]:
        for key, result in op.table:
            yield from self._value(result, node, place, f"lookup {shown(key)}")
        if isinstance(op.otherwise, Constant):
            yield from self._value(op.otherwise.value, node, place, "else")
        elif op.otherwise is not None:
            yield from self.of(op.otherwise, node, place)

    def _each_part(
        self, op: MapBranches | MapTagged | FirstSet | BranchByValue, node: Node, place: Place
    ) -> Iterator[RefusedValue]:
        match op:
            case FirstSet():
                parts = [*op.parts]
            case BranchByValue():
                parts = [part for part in (*(case for _, case in op.cases), op.otherwise) if part is not None]
            case _:
                parts = [branch for _, branch in op.branches]
        self._inside += 1
        for part in parts:
            yield from self.of(part, node, place, has_null=False)
        self._inside -= 1

    def _parts(self, op: BuildRecord | MapItems | MapValues, node: Node, place: Place) -> Iterator[RefusedValue]:
        inner = inner_of(node, op)
        if isinstance(op, BuildRecord) and isinstance(inner, RecordType):
            members = {member.name: member for member in inner.fields}
            is_fine = True
            for name, part in op.fields:
                member = members[name]
                for each in self.of(part, member.type, (*place, name), has_null=member.has_null):
                    is_fine = False
                    yield each
            if (
                is_fine
                and self._limits is not None
                and self._limits.refuses_record(place, inner, op, self._may_be_null)
            ):
                yield RefusedValue(spell(place), _NO_RECORD)
            return
        self._inside += 1
        if isinstance(op, MapItems) and isinstance(inner, ArrayType):
            yield from self.of(op.item, inner.items, (*place, "[]"))
        elif isinstance(op, MapValues) and isinstance(inner, MapType):
            yield from self.of(op.value, inner.values, (*place, "{}"))
        self._inside -= 1

    def _value(self, value: object, node: Node, place: Place, word: str) -> Iterator[RefusedValue]:
        expected = None if word == "default" else _not_meant(node, value)
        if expected is None and self._limits is not None:
            expected = self._limits.refusal(place, node, value)
        if expected is not None:
            text = f"{word}: {shown(readable(node, value))} is no value here; expected {expected}"
            yield RefusedValue(spell(place), text)

    def _computed(self, op: Op, node: Node, place: Place) -> Iterator[RefusedValue]:
        word = self._how(place)
        if reads_nothing(op):
            try:
                value = compile_op(op, spell(place))({})
            except ConversionError as error:
                yield RefusedValue(spell(place), f"{word}: no record has a value here: {error.text} ({error.code})")
                return
            yield from self._value(value, node, place, word)
        elif (failure := _certain_failure(op)) is not None:
            yield RefusedValue(spell(place), f"{word}: no record has a value here: {failure.text} ({failure.code})")
        elif self._limits is not None:
            expected = self._limits.refusal_of_all(place, node, op)
            if expected is not None:
                yield RefusedValue(spell(place), f"{word}: no result of this is a value here; expected {expected}")


def reads_nothing(op: Op) -> bool:
    """Return whether an operation has the same result for all records, since it reads no field."""
    match op:
        case Constant():
            return True
        case Arithmetic():
            return not op.operands and not [*paths_of(op.expression)]
        case Widen() | Cast() | Recount() | Shift() | Format() | Parse() | Split():
            return reads_nothing(op.of)
        case Join():
            return all(map(reads_nothing, op.parts))
    return False


def _certain_failure(op: Op) -> ConversionError | None:
    """Return the error that a formula has for all records, because a part of it that reads no field has none."""
    while isinstance(op, Widen | Cast | RequireValue | ReplaceNull):
        op = op.of
    waiting = [op.expression] if isinstance(op, Arithmetic) else []
    while waiting:
        each = waiting.pop()
        if isinstance(each, Binary):
            if each.sign == "/" and not [*paths_of(each.right)]:
                each = Binary("/", Number(1), each.right)
            else:
                waiting += (each.left, each.right)
        elif isinstance(each, Negate | Call):
            waiting.append(each.of)
        if not [*paths_of(each)]:
            try:
                compile_op(Arithmetic(each, result_of(each, {})), "")({})
            except ConversionError as error:
                return error
    return None


def inner_of(node: Node, op: Op) -> Node | None:
    """Return the type of what an operation builds, without null, and of a union the only branch that can be built."""
    _, inner = split_null(node)
    if not isinstance(inner, UnionType):
        return inner
    return None if inner.is_tagged else branch_of(inner, {} if isinstance(op, BuildRecord | MapValues) else [])


def _branch(op: RequireValue | Tag, node: Node) -> Node:
    return node.branches[op.index] if isinstance(op, Tag) and isinstance(node, UnionType) else node


def _not_meant(node: Node, value: Datum) -> str | None:
    """Return the demand of a type that a base value does not meet, in words; None if it has a meaning there."""
    if isinstance(node, UnionType):
        if node.is_tagged:
            return None if value is None else _not_meant(node.branches[value[0]], value[1])
        _, single = split_null(node)
        inner = branch_of(node, value) if isinstance(single, UnionType) else single
        return None if inner is None or value is None else _not_meant(inner, value)
    if isinstance(node, Leaf):
        return None if value is None else _not_meant_scalar(node.scalar, value)
    parts: list[tuple[Node, Datum]] = []
    if isinstance(node, RecordType):
        parts = [(member.type, value[member.name]) for member in node.fields if member.name in value]
    elif isinstance(node, ArrayType):
        parts = [(node.items, item) for item in value]
    elif isinstance(node, MapType):
        if not all(_is_key(key, node.key) for key in value):
            return f"a map whose keys are {node.key}"
        parts = [(node.values, item) for item in value.values()]
    found = (_not_meant(inner, part) for inner, part in parts)
    return next((expected for expected in found if expected is not None), None)


def _is_key(text: str, word: str) -> bool:
    """Return whether a text stands for a key of a map; whole numbers have one spelling."""
    if word == "string":
        return True
    if word == "boolean":
        return text in {"true", "false"}
    number = whole_of_text(text)
    if number is None or str(number) != text:
        return False
    low, high = range_of(Scalar(word, "uint64" if word == "uint64" else "int" if word == "int" else "long"))
    return low <= number <= high


def _not_meant_scalar(scalar: Scalar, value: Datum) -> str | None:
    if scalar.word == "decimal":
        digits = len(str(abs(int.from_bytes(value, "big", signed=True)))) if len(value) <= _MOST_BYTES else _MOST_BYTES
        most = scalar.precision or 0
        return f"a decimal of at most {most} digits" if digits > most else None
    if scalar.word == "uuid":
        return "a UUID" if scalar.base == "string" and not UUID_TEXT.fullmatch(value) else None
    if scalar.word in _TIMES_OF_DAY:
        return None if 0 <= value < _DAY_SECONDS * ticks_per_second(scalar) else f"a time of day ({scalar.word})"
    if scalar.word == "date":
        return None if _DAYS[0] <= value <= _DAYS[1] else "a date in the years 1 to 9999, as days since 1970"
    if is_instant(scalar) and scalar.base != "string":
        ticks = ticks_per_second(scalar)
        seconds = value // ticks
        is_in = NANOS_RANGE[0] <= seconds * 10**9 <= NANOS_RANGE[1]
        return None if is_in else f"a point in time in the years 1 to 9999, as {scalar.word}"
    return _not_formed(scalar, value)


def _not_formed(scalar: Scalar, value: object) -> str | None:
    """Return the form that a text does not have, in words: that of a date, for a date; None if it has it."""
    if scalar.word not in _FORMS or scalar.base != "string":
        return None
    check = form_function(_TEXT, scalar)
    try:
        if check is not None:
            check(value)
    except NoForm:
        return _FORMS[scalar.word]
    return None
