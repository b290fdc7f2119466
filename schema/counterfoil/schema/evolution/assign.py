"""Converting a value to the type of a target field: unchanged, as a larger type, by a cast of a rule, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.model import (
    Cast,
    Constant,
    Lookup,
    MapBranches,
    Op,
    ProblemKind,
    Read,
    ReplaceNull,
    RequireValue,
    Scalar,
    Widen,
)
from counterfoil.schema.evolution.types import (
    NoValue,
    casts,
    describe,
    is_instant,
    same_values,
    scalar_of,
    shape_of,
    split_null,
    ticks_per_second,
    value_of_json,
    widens,
)
from counterfoil.schema.formats.avro.types import Enum, Kind, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.schema.evolution.rules import CastRule
    from counterfoil.schema.formats.avro.types import AvroType


@dataclass(frozen=True, slots=True)
class Value:
    """A value during the derivation: its operation, its type, and whether it may be null."""

    op: Op
    type: AvroType
    is_nullable: bool = False


class Assigner:
    """Converts values to target types.

    What cannot be converted is reported to ``problem``, what loses information to ``lossy``. ``resolving`` follows
    Avro's schema resolution: promotions that round are permitted, and null instead of a value is an error of the
    record.
    """

    def __init__(
        self,
        problem: Callable[[ProblemKind, str, str], None],
        lossy: Callable[[str], None],
        *,
        resolving: bool = False,
    ) -> None:
        self._problem = problem
        self._lossy = lossy
        self._resolving = resolving

    def constant(self, given: Any, target: AvroType, where: str, word: str) -> Constant | None:
        """Return a JSON value as the target's, or None after a problem.

        ``word`` is the key of the value in the rule.
        """
        try:
            return Constant(value_of_json(target, given))
        except NoValue as no_value:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{word}: {given!r} is no value here; expected {no_value}")
            return None

    def settle_null(
        self, value: Value, target: AvroType, where: str, op: Op | None, *, default: tuple[Any] | None
    ) -> Op | None:
        """Return ``op`` if null is permitted, with the value of ``default`` (a tuple), if given, instead of null."""
        if op is None or not value.is_nullable or split_null(target)[0]:
            return op
        if self._resolving:
            return RequireValue(op)
        if default is None:
            self._problem(
                ProblemKind.LOSSY,
                where,
                "the source may be null and the field may not; give it a rule with null: error, or null: and a value",
            )
            return None
        self._lossy(where)
        constant = self.constant(default[0], target, where, "default")
        return None if constant is None else ReplaceNull(op, constant.value)

    def plain(
        self, value: Value, target: AvroType, where: str, *, cast: CastRule | None = None, free: bool = False
    ) -> Op | None:
        """Return a value other than null as the target's type; ``free`` permits casts without a rule."""
        _, source_type = split_null(value.type)
        _, target_type = split_null(target)
        if source_type is None:
            return value.op
        if target_type is None:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{describe(value.type)} cannot become null")
            return None
        if cast is not None and not self._is_named(cast, target_type, where):
            return None
        if same_values(source_type, target_type):
            return value.op
        if isinstance(source_type, Union) or isinstance(target_type, Union):
            return self._branches(value, source_type, target_type, where)
        source, wanted = scalar_of(source_type), scalar_of(target_type)
        if self._resolving and isinstance(source_type, Enum) and isinstance(target_type, Enum):
            return _resolved_enum(value.op, source_type, target_type)
        if source is None or wanted is None:
            self._problem(
                ProblemKind.WRONG_TYPE, where, f"{describe(source_type)} cannot become {describe(target_type)}"
            )
            return None
        return self._scalar(value.op, source, wanted, where, cast=cast, free=free)

    def _is_named(self, cast: CastRule, target: AvroType, where: str) -> bool:
        """Return whether the cast names the type of the field."""
        names = {describe(target), target.kind.value, getattr(target, "name", ""), getattr(target, "full_name", "")}
        scalar = scalar_of(target)
        if scalar is not None:
            names.add(scalar.word)
        if cast.to in names:
            return True
        self._problem(ProblemKind.WRONG_TYPE, where, f"cast: {cast.to}, but the field is {describe(target)}")
        return False

    def _scalar(
        self, op: Op, source: Scalar, target: Scalar, where: str, *, cast: CastRule | None, free: bool
    ) -> Op | None:
        if widens(source, target):
            return Widen(op, source, target)
        if not casts(source, target):
            self._problem(ProblemKind.WRONG_TYPE, where, f"{source} cannot become {target}")
            return None
        if cast is None and not free and not _is_finer(source, target) and not self._resolving:
            self._problem(
                ProblemKind.LOSSY,
                where,
                f"{_loss(source, target)}; give it a rule such as {{from: …, cast: {target.word}}}",
            )
            return None
        decimals = cast.decimals if cast else None
        if source.word in {"float", "double"} and target.word == "string" and decimals is None:
            self._problem(ProblemKind.LOSSY, where, f"{source} as text needs decimals: such as decimals: 2")
            return None
        if not _is_finer(source, target):
            self._lossy(where)
        return Cast(op, source, target, decimals)

    def _branches(self, value: Value, source: AvroType, target: AvroType, where: str) -> Op | None:
        """Return the operation for a union with several branches, or for a value that becomes one."""
        if not isinstance(source, Union):
            return self._fitting(Value(value.op, source), target, where)
        branches = [branch for branch in source.branches if branch.kind is not Kind.NULL]
        shapes = [shape_of(branch) for branch in branches]
        if len(set(shapes)) < len(shapes):
            text = f"the branches of {describe(source)} cannot be distinguished by their values"
            self._problem(ProblemKind.UNSUPPORTED, where, text)
            return None
        made = []
        for branch, shape in zip(branches, shapes, strict=True):
            op = self._fitting(Value(Read(()), branch), target, where)
            if op is None:
                return None
            made.append((shape, op))
        return MapBranches(value.op, tuple(made))

    def _fitting(self, value: Value, target: AvroType, where: str) -> Op | None:
        """Return the value as the target, or as the target's first branch of an equal type, or else of a larger one."""
        branches: Iterable[AvroType] = target.branches if isinstance(target, Union) else (target,)
        for branch in branches:
            if same_values(value.type, branch):
                return value.op
        source = scalar_of(value.type)
        for branch in branches:
            wanted = scalar_of(branch)
            if source and wanted and widens(source, wanted):
                return Widen(value.op, source, wanted)
        self._problem(
            ProblemKind.WRONG_TYPE,
            where,
            f"{describe(value.type)} has no equal and no larger type in {describe(target)}",
        )
        return None


def _resolved_enum(op: Op, writer: Enum, reader: Enum) -> Op:
    """Return the reader's symbol of the same name, else its default, else an error."""
    known = tuple((symbol, symbol) for symbol in writer.symbols if symbol in reader.symbols)
    default = reader.default if reader.default in reader.symbols else None
    return Lookup(op, known, Constant(default) if default is not None else None)


def _is_finer(source: Scalar, target: Scalar) -> bool:
    """Return whether only values out of range are lost: an instant in a smaller unit, a decimal with more digits."""
    if is_instant(source) and is_instant(target):
        return ticks_per_second(target) >= ticks_per_second(source)
    if source.word == target.word == "decimal":
        whole_digits = (target.precision or 0) - target.scale
        return target.scale >= source.scale and whole_digits >= (source.precision or 0) - source.scale
    return False


def _loss(source: Scalar, target: Scalar) -> str:
    """Return the reason why a cast needs a rule."""
    if source.word == target.word == "enum":
        return f"the target has no {', '.join(symbol for symbol in source.symbols if symbol not in target.symbols)}"
    return f"{source} as {target} may lose or refuse values"
