"""The values that a plan gives whatever the record is, and those of them that the target refuses.

Each record for which a plan gives such a value would become a dead letter, so that the plan is not complete. They are
the constants of rules (``const``, the results of ``lookup``, ``else``, ``null``), defaults, and what a rule without a
source field computes. Of a rule that reads fields, such as ``join``, a language may know that no result of it fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.plans import ConversionError, shown
from counterfoil.schema.plans.casts import UUID_TEXT, readable
from counterfoil.schema.plans.evaluate import compile_op
from counterfoil.schema.plans.formulas import Binary, Call, Negate, Number, paths_of, result_of, spell
from counterfoil.schema.plans.model import (
    Arithmetic,
    BuildRecord,
    Cast,
    Constant,
    FirstSet,
    Format,
    Join,
    Lookup,
    MapBranches,
    MapItems,
    MapTagged,
    MapValues,
    Parse,
    ReplaceNull,
    RequireValue,
    Scalar,
    Split,
    Tag,
    Widen,
)
from counterfoil.schema.plans.notation import NANOS_RANGE, whole_of_text
from counterfoil.schema.plans.oneofs import may_be_null
from counterfoil.schema.plans.text_forms import NoForm, day_of_text, form_function
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, RecordType, UnionType, branch_of
from counterfoil.schema.plans.types import is_instant, range_of, split_null, ticks_per_second

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.plans.languages import Place, TargetLimits
    from counterfoil.schema.plans.model import Op
    from counterfoil.schema.plans.tree import Node


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
            case MapBranches() | MapTagged() | FirstSet():
                yield from self._each_part(op, node, place)
            case BuildRecord() | MapItems() | MapValues():
                yield from self._parts(op, node, place)
            case _:
                yield from self._computed(op, node, place)

    def _how(self, place: Place) -> str:
        return self._how_by_field.get(spell(place), "value")

    def _lookup(self, op: Lookup, node: Node, place: Place) -> Iterator[RefusedValue]:
        for key, result in op.table:
            yield from self._value(result, node, place, f"lookup {shown(key)}")
        if isinstance(op.otherwise, Constant):
            yield from self._value(op.otherwise.value, node, place, "else")
        elif op.otherwise is not None:
            yield from self.of(op.otherwise, node, place)

    def _each_part(self, op: MapBranches | MapTagged | FirstSet, node: Node, place: Place) -> Iterator[RefusedValue]:
        parts = op.parts if isinstance(op, FirstSet) else [branch for _, branch in op.branches]
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

    def _value(self, value: Any, node: Node, place: Place, word: str) -> Iterator[RefusedValue]:
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
            return not [*paths_of(op.expression)]
        case Widen() | Cast() | Format() | Parse() | Split():
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


def _not_meant(node: Node, value: Any) -> str | None:
    """Return the demand of a type that a base value does not meet, in words; None if it has a meaning there."""
    if isinstance(node, UnionType):
        if node.is_tagged:
            return None if value is None else _not_meant(node.branches[value[0]], value[1])
        _, single = split_null(node)
        inner = branch_of(node, value) if isinstance(single, UnionType) else single
        return None if inner is None or value is None else _not_meant(inner, value)
    if isinstance(node, Leaf):
        return None if value is None else _not_meant_scalar(node.scalar, value)
    parts: list[tuple[Node, Any]] = []
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


def _not_meant_scalar(scalar: Scalar, value: Any) -> str | None:
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


def _not_formed(scalar: Scalar, value: Any) -> str | None:
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
