"""Examples of an Avro schema: every branch of unions, logical types, recursive records that end."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from uuid import UUID

from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.generate import (
    DOUBLE_BITS,
    SINGLE_BITS,
    UNKNOWN_SYMBOL,
    USUAL,
    ExampleChoices,
    ExampleLimits,
    ExampleShape,
    whole_limits,
)
from counterfoil.contracts.values import shown_bytes, shown_real
from counterfoil.contracts.values.avro import is_named
from counterfoil.schema.agreements import Promise
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    branch_name,
)
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, member, print_path
from counterfoil.sdk.serde.avro.logical_types import conversion_of

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


MAX_REPEATS: Final = 2
"""How often a record may be inside itself before the shortest value is chosen."""
_MAX_NESTED: Final = 24
_WHOLE_LIMITS: Final = {AvroKind.INT: (-(2**31), 2**31 - 1), AvroKind.LONG: (-(2**63), 2**63 - 1)}
_PER_SECOND: Final = {"millis": 1_000, "micros": 1_000_000}
_MAX_SCALE: Final = 9


class AvroExamples:
    """Makes values of one schema in their JSON form (:mod:`counterfoil.contracts.values.avro`)."""

    def __init__(self, schema: AvroSchema, promise: Promise | None) -> None:
        self._root = schema.root
        self._limits = ExampleLimits(promise)

    def make(self, choices: ExampleChoices, shape: ExampleShape = USUAL) -> Datum:
        """Return a value; a shape that leaves out makes null what may be, and arrays and maps empty.

        Raises ``NoExample``.
        """
        return _Making(choices, self._limits, shape).value(self._root, (), ())


class _Making:
    def __init__(self, choices: ExampleChoices, limits: ExampleLimits, shape: ExampleShape) -> None:
        self._choices = choices
        self._limits = limits
        self._shape = shape

    def value(self, node: AvroType, path: FieldPath, around: tuple[int, ...]) -> Datum:
        """Return a value; ``around`` are the records that it is in."""
        match node:
            case AvroRecord():
                if len(around) > _MAX_NESTED:
                    raise NoExample(f"{print_path(path)} has no value: {node.full_name} always contains itself")
                inside = (*around, id(node))
                return {each.name: self.value(each.type, (*path, member(each.name)), inside) for each in node.fields}
            case AvroArray():
                return [self.value(node.items, (*path, ITEMS), around) for _ in range(self._size(path, around))]
            case AvroMap():
                keys = [self._choices.text() for _ in range(self._size(path, around))]
                return {key: self.value(node.values, (*path, VALUES), around) for key in dict.fromkeys(keys)}
            case AvroUnion():
                return self._branch(node, path, around)
            case AvroEnum():
                return self._symbol(node, path)
        return self._logical(node, path) if conversion_of(node) is not None else self._scalar(node, path)

    def _size(self, path: FieldPath, around: tuple[int, ...]) -> int:
        if self._shape.leaves_out or _has_repeats(around):
            return 0
        return self._choices.integer(0, max(1, 4 - len(path)))

    def _branch(self, union: AvroUnion, path: FieldPath, around: tuple[int, ...]) -> Datum:
        branches = [each for each in union.branches if each.kind is not AvroKind.NULL]
        nulls = [each for each in union.branches if each.kind is AvroKind.NULL]
        if _has_repeats(around):
            branches = [each for each in branches if not isinstance(each, AvroRecord)] or branches
        if nulls and not self._limits.is_required(path):
            branches = nulls if self._shape.leaves_out or _has_repeats(around) else [*nulls, *branches]
        if not branches:
            raise NoExample(f"{print_path(path)} has no value: its union has no branches")
        branch = self._choices.one_of(branches)
        value = self.value(branch, path, around)
        return {branch_name(branch): value} if value is not None and is_named(union) else value

    def _symbol(self, node: AvroEnum, path: FieldPath) -> str:
        listed = self._limits.listed(path)
        if self._shape.has_unknown_symbols and UNKNOWN_SYMBOL in node.symbols:
            return UNKNOWN_SYMBOL
        symbols = [each for each in node.symbols if listed is None or each in listed]
        if not symbols:
            raise NoExample(f"{print_path(path)} has no value: no symbol of {node.full_name} is promised")
        return self._choices.one_of(symbols)

    def _scalar(self, node: AvroType, path: FieldPath) -> Datum:
        match node.kind:
            case AvroKind.NULL:
                return None
            case AvroKind.BOOLEAN:
                return self._choices.flag()
            case AvroKind.INT | AvroKind.LONG:
                return self._limits.integer(path, self._choices, *_WHOLE_LIMITS[node.kind])
            case AvroKind.FLOAT | AvroKind.DOUBLE:
                bits = SINGLE_BITS if node.kind is AvroKind.FLOAT else DOUBLE_BITS
                return shown_real(self._limits.real(path, self._choices, bits=bits))
            case AvroKind.STRING:
                return self._limits.text(path, self._choices)
        size = node.size if isinstance(node, AvroFixed) else None
        return shown_bytes(self._choices.data(least=size or 0, most=size))

    def _logical(self, node: AvroType, path: FieldPath) -> Datum:
        conversion = conversion_of(node)
        native = conversion.native if conversion is not None else None
        name = node.logical_type.name if node.logical_type is not None else ""
        per_second = _PER_SECOND.get(name.rpartition("-")[2], 1)
        if native is Decimal:
            return self._decimal(node, path)
        if native is UUID:
            return str(UUID(bytes=self._choices.data(least=16, most=16)))
        if native is date:
            return self._limits.day(path, self._choices).isoformat()
        if native is time:
            return self._limits.clock(path, self._choices, per_second=per_second).isoformat()
        if native is datetime:
            moment = self._limits.moment(path, self._choices, per_second=per_second)
            return (moment.replace(tzinfo=None) if name.startswith("local-") else moment).isoformat()
        return self._scalar(node, path)  # nanoseconds are numbers, durations are bytes

    def _decimal(self, node: AvroType, path: FieldPath) -> str:
        logical = node.logical_type
        if logical is None or logical.precision is None:  # a big-decimal, which has its scale in each value
            scale, high = self._choices.integer(0, _MAX_SCALE), 10**18
        else:
            scale, high = logical.scale, 10**logical.precision - 1
            if isinstance(node, AvroFixed):
                high = min(high, 2 ** (8 * node.size - 1) - 1)
        low, high = whole_limits(self._limits.range(path), -high, high, scale=scale)
        if low > high:
            raise NoExample(f"{print_path(path)} has no value: {self._limits.range(path)} is outside of its type")
        unscaled = self._choices.integer(low, high)
        return str(Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale)))


def _has_repeats(around: tuple[int, ...]) -> bool:
    return bool(around) and around.count(around[-1]) > MAX_REPEATS
