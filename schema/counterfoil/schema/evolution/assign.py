"""Bring a value to the type of a target field: directly, by a larger type, by a cast that a rule asks for, or not."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.expr import paths_of, result_of
from counterfoil.schema.evolution.model import (
    Arithmetic,
    Cast,
    Constant,
    Format,
    Join,
    Lookup,
    MapBranches,
    Op,
    Parse,
    ProblemKind,
    Read,
    ReplaceNull,
    RequireValue,
    Scalar,
    Split,
    Widen,
)
from counterfoil.schema.evolution.patterns import DATE_LETTERS
from counterfoil.schema.evolution.rules import (
    CastRule,
    Const,
    FieldRule,
    FormatOf,
    Formula,
    From,
    JoinOf,
    ParseOf,
    SplitOf,
    Word,
)
from counterfoil.schema.evolution.tables import table_of
from counterfoil.schema.evolution.types import (
    NUMERIC,
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
from counterfoil.schema.formats.avro.types import Enum, Kind, Primitive, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.schema.evolution.rules import LookupRule
    from counterfoil.schema.evolution.scope import Scope
    from counterfoil.schema.formats.avro.types import AvroType

_STRING = Primitive(kind=Kind.STRING)
_LONG = Primitive(kind=Kind.LONG)
_DOUBLE = Primitive(kind=Kind.DOUBLE)
_STRING_SCALAR = Scalar("string", "string")


@dataclass(frozen=True, slots=True)
class Value:
    """A value under way: how it is had, its type, and whether it may be null."""

    op: Op
    type: AvroType
    is_nullable: bool


class Assigner:
    """Makes values fit. What does not fit is told to ``problem``; what cannot be had back, to ``lossy``.

    ``resolving`` follows Avro's schema resolution instead of ours: promotions that round are done, and null in place
    of a value is an error of the record.
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

    # -- rules

    def by_rule(self, rule: FieldRule, target: AvroType, scope: Scope, where: str) -> Op | None:
        """The operation that a rule stands for, or None after a problem."""
        if isinstance(rule.origin, Const):
            return self._constant(rule.origin.value, target, where, "const")
        value = self._origin(rule, target, scope, where)
        if value is None:
            return None
        if rule.lookup is not None:
            op = self._lookup(rule, rule.lookup, value, target, where)
        else:
            is_free = isinstance(rule.origin, Formula)
            op = self.plain(value, target, where, cast=rule.cast, free=is_free)
        if not isinstance(rule.origin, (From, JoinOf)):
            self._lossy(where)
        return self._null(rule, op, value, target, where)

    def story(self, rule: FieldRule) -> tuple[str, str, str]:
        """What a rule does, for people: in a word, from which fields, and the rest."""
        origin = rule.origin
        notes = []
        if rule.lookup is not None:
            notes.append(f"{len(rule.lookup.table)} values looked up")
        if rule.cast is not None:
            decimals = "" if rule.cast.decimals is None else f", {rule.cast.decimals} decimals"
            notes.append(f"cast to {rule.cast.to}{decimals}")
        if rule.null is not None:
            notes.append("null is an error" if rule.null is Word.ERROR else f"null becomes {_shown(rule.null)}")
        how, source, note = _story_of_origin(origin)
        return how, source, "; ".join(filter(None, (note, *notes)))

    def _null(self, rule: FieldRule, op: Op | None, value: Value, target: AvroType, where: str) -> Op | None:
        if op is None or rule.null is None:
            return self.settle_null(value, target, where, op, default=None)
        if rule.null is Word.ERROR:
            return RequireValue(op)
        constant = self._constant(rule.null.value, target, where, "null") if isinstance(rule.null, Const) else None
        if constant is None:
            return None
        self._lossy(where)
        return ReplaceNull(op, constant.value)

    def _constant(self, given: Any, target: AvroType, where: str, word: str) -> Constant | None:
        try:
            return Constant(value_of_json(target, given))
        except NoValue as no_value:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{word}: {given!r} is no value here; expected {no_value}")
            return None

    def _origin(self, rule: FieldRule, target: AvroType, scope: Scope, where: str) -> Value | None:
        origin = rule.origin
        if isinstance(origin, From):
            return self._read(origin.path, scope, where)
        if isinstance(origin, JoinOf):
            return self._join(origin, scope, where)
        if isinstance(origin, SplitOf):
            return self._split(origin, scope, where)
        if isinstance(origin, Formula):
            return self._formula(origin, scope, where)
        if isinstance(origin, FormatOf):
            return self._format(origin, scope, where)
        return self._parse(origin, target, scope, where) if isinstance(origin, ParseOf) else None

    def _read(self, path: Sequence[str], scope: Scope, where: str) -> Value | None:
        """The field at ``path``, marked as used."""
        path = tuple(path)
        node = scope.type_at(path)
        if node is None:
            spelt = ".".join(path)
            known = [".".join(other) for other in scope.paths(())]
            near = get_close_matches(spelt, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"the fields there are {', '.join(scope.names()) or 'none'}"
            self._problem(ProblemKind.UNKNOWN, where, f"the source has no field {scope.prefix}{spelt}; {meant}")
            return None
        scope.use(path)
        return Value(Read(path), node, scope.is_nullable(path))

    def _read_scalar(
        self, path: Sequence[str], scope: Scope, where: str, *, wanted: str
    ) -> tuple[Value, Scalar] | None:
        value = self._read(path, scope, where)
        if value is None:
            return None
        _, inner = split_null(value.type)
        scalar = scalar_of(inner) if inner is not None else None
        if scalar is None:
            self._problem(
                ProblemKind.WRONG_TYPE, where, f"{'.'.join(path)} is {describe(value.type)}; expected {wanted}"
            )
            return None
        return value, scalar

    def _text(self, path: Sequence[str], scope: Scope, where: str, *, wanted: str) -> Value | None:
        """The field at ``path`` as text, when its text is what it says by itself."""
        found = self._read_scalar(path, scope, where, wanted=wanted)
        if found is None:
            return None
        value, scalar = found
        if scalar.word == "string":
            return value
        if widens(scalar, _STRING_SCALAR):
            return Value(Widen(value.op, scalar, _STRING_SCALAR), _STRING, value.is_nullable)
        if scalar.word in {"boolean", "int", "long"}:
            return Value(Cast(value.op, scalar, _STRING_SCALAR), _STRING, value.is_nullable)
        self._problem(ProblemKind.WRONG_TYPE, where, f"{'.'.join(path)} is {scalar}; expected {wanted}")
        return None

    def _join(self, origin: JoinOf, scope: Scope, where: str) -> Value | None:
        wanted = "text, an enum, a whole number or a boolean"
        parts = [self._text(path, scope, where, wanted=wanted) for path in origin.parts]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        op = Join(tuple(part.op for part in found), origin.separator)
        return Value(op, _STRING, any(part.is_nullable for part in found))

    def _split(self, origin: SplitOf, scope: Scope, where: str) -> Value | None:
        value = self._text(origin.path, scope, where, wanted="text")
        if value is None:
            return None
        return Value(Split(value.op, origin.separator, origin.take), _STRING, value.is_nullable)

    def _formula(self, origin: Formula, scope: Scope, where: str) -> Value | None:
        kinds: dict[tuple[str, ...], str] = {}
        nullable = False
        is_readable = True
        for path in paths_of(origin.expression):
            found = self._read_scalar(path, scope, where, wanted="a number")
            if found is None:
                is_readable = False
            elif found[1].word not in NUMERIC:
                self._problem(ProblemKind.WRONG_TYPE, where, f"{'.'.join(path)} is {found[1]}; expected a number")
                is_readable = False
            else:
                kinds[path] = "long" if found[1].word in {"int", "long"} else "double"
                nullable = nullable or found[0].is_nullable
        if not is_readable:
            return None
        result = result_of(origin.expression, kinds)
        integers = tuple(sorted(path for path, kind in kinds.items() if kind == "long"))
        op = Arithmetic(origin.expression, result, integers)
        return Value(op, _LONG if result == "long" else _DOUBLE, nullable)

    def _format(self, origin: FormatOf, scope: Scope, where: str) -> Value | None:
        wanted = "a date or a timestamp"
        found = self._read_scalar(origin.path, scope, where, wanted=wanted)
        if found is None:
            return None
        value, scalar = found
        if not self._fits_pattern(scalar, origin, where):
            return None
        return Value(Format(value.op, scalar, origin.pattern, origin.zone), _STRING, value.is_nullable)

    def _parse(self, origin: ParseOf, target: AvroType, scope: Scope, where: str) -> Value | None:
        value = self._text(origin.path, scope, where, wanted="text")
        _, inner = split_null(target)
        scalar = scalar_of(inner) if inner is not None else None
        if value is None or inner is None:
            return None
        if scalar is None or not self._fits_pattern(scalar, origin, where):
            if scalar is None:
                self._problem(ProblemKind.WRONG_TYPE, where, f"a date cannot become {describe(target)}")
            return None
        return Value(Parse(value.op, scalar, origin.pattern, origin.zone), inner, value.is_nullable)

    def _fits_pattern(self, scalar: Scalar, origin: FormatOf | ParseOf, where: str) -> bool:
        """Whether a date pattern says as much as the type needs, and no more than it has."""
        letters = origin.pattern.letters
        if scalar.word != "date" and not is_instant(scalar):
            self._problem(ProblemKind.WRONG_TYPE, where, f"{scalar} has no date; expected a date or a timestamp")
            return False
        if scalar.word == "date" and letters - DATE_LETTERS:
            self._problem(ProblemKind.WRONG_TYPE, where, f"a date has no {' '.join(sorted(letters - DATE_LETTERS))}")
            return False
        if isinstance(origin, ParseOf) and not letters >= DATE_LETTERS:
            missing = " ".join(sorted(DATE_LETTERS - letters))
            self._problem(ProblemKind.WRONG_TYPE, where, f"the pattern {origin.pattern.spelt} lacks {missing}")
            return False
        return True

    # -- tables

    def _lookup(self, rule: FieldRule, lookup: LookupRule, value: Value, target: AvroType, where: str) -> Op | None:
        _, inner = split_null(value.type)
        scalar = scalar_of(inner) if inner is not None else None
        if scalar is None:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{describe(value.type)} cannot be looked up in a table")
            return None
        table, problems = table_of(lookup, scalar, target)
        for text in problems:
            self._problem(ProblemKind.WRONG_TYPE, where, text)
        if len({repr(result) for _, result in table}) < len(table) or lookup.otherwise is not Word.ERROR:
            self._lossy(where)
        if lookup.otherwise is None:
            absent = [symbol for symbol in scalar.symbols if symbol not in dict(table)]
            if absent:
                self._problem(
                    ProblemKind.LOSSY,
                    where,
                    f"the table has nothing for {', '.join(absent)}; add them, or say else: error",
                )
        otherwise = self._otherwise(rule, lookup, value, target, where)
        return None if problems or otherwise is _FAILED else Lookup(value.op, table, otherwise)

    def _otherwise(self, rule: FieldRule, lookup: LookupRule, value: Value, target: AvroType, where: str) -> Any:
        if lookup.otherwise is None or lookup.otherwise is Word.ERROR:
            return None
        if lookup.otherwise is Word.KEEP:
            op = self.plain(value, target, where, cast=rule.cast)
        elif isinstance(lookup.otherwise, Const):
            op = self._constant(lookup.otherwise.value, target, where, "else")
        return _FAILED if op is None else op

    # -- types

    def settle_null(
        self, value: Value, target: AvroType, where: str, op: Op | None, *, default: tuple[Any] | None
    ) -> Op | None:
        """``op`` where null is no trouble; with ``default`` (in a tuple), that in place of null."""
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
        constant = self._constant(default[0], target, where, "default")
        return None if constant is None else ReplaceNull(op, constant.value)

    def plain(
        self, value: Value, target: AvroType, where: str, *, cast: CastRule | None = None, free: bool = False
    ) -> Op | None:
        """The value as the target's type, null aside; ``free`` casts without being asked."""
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
        """Whether the cast names the type that the field has."""
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
        """A union with several branches, or a value that becomes one."""
        if not isinstance(source, Union):
            fitting = self._fitting(Value(value.op, source, False), target, where)
            return fitting
        branches = [branch for branch in source.branches if branch.kind is not Kind.NULL]
        shapes = [shape_of(branch) for branch in branches]
        if len(set(shapes)) < len(shapes):
            text = f"the branches of {describe(source)} cannot be told apart by their values"
            self._problem(ProblemKind.UNSUPPORTED, where, text)
            return None
        made = []
        for branch, shape in zip(branches, shapes, strict=True):
            op = self._fitting(Value(Read(()), branch, False), target, where)
            if op is None:
                return None
            made.append((shape, op))
        return MapBranches(value.op, tuple(made))

    def _fitting(self, value: Value, target: AvroType, where: str) -> Op | None:
        """The value as the target, or as the target's first branch that is equal, or else larger."""
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


_FAILED: Any = object()


def _resolved_enum(op: Op, writer: Enum, reader: Enum) -> Op:
    """The reader's symbol of the same name, else its default, else an error."""
    known = tuple((symbol, symbol) for symbol in writer.symbols if symbol in reader.symbols)
    default = reader.default if reader.default in reader.symbols else None
    return Lookup(op, known, Constant(default) if default is not None else None)


def _is_finer(source: Scalar, target: Scalar) -> bool:
    """Whether nothing is lost but what is out of range: an instant in smaller parts, a decimal with more digits."""
    if is_instant(source) and is_instant(target):
        return ticks_per_second(target) >= ticks_per_second(source)
    if source.word == target.word == "decimal":
        whole_digits = (target.precision or 0) - target.scale
        return target.scale >= source.scale and whole_digits >= (source.precision or 0) - source.scale
    return False


def _loss(source: Scalar, target: Scalar) -> str:
    """Why a cast is not done unasked."""
    if source.word == target.word == "enum":
        return f"the target has no {', '.join(symbol for symbol in source.symbols if symbol not in target.symbols)}"
    return f"{source} as {target} may lose or refuse values"


def _story_of_origin(origin: Any) -> tuple[str, str, str]:
    if isinstance(origin, From):
        return "from", ".".join(origin.path), ""
    if isinstance(origin, JoinOf):
        paths = ", ".join(".".join(path) for path in origin.parts)
        return "join", paths, f"with {origin.separator!r} between"
    if isinstance(origin, SplitOf):
        return "split", ".".join(origin.path), f"piece {origin.take} on {origin.separator!r}"
    if isinstance(origin, Formula):
        paths = ", ".join(dict.fromkeys(".".join(path) for path in paths_of(origin.expression)))
        return "expr", paths, origin.text
    if isinstance(origin, Const):
        return "const", "", repr(origin.value)
    word = "format" if isinstance(origin, FormatOf) else "parse"
    return word, ".".join(origin.path), f"{origin.pattern.spelt} in {origin.zone}"


def _shown(otherwise: object) -> str:
    return repr(otherwise.value) if isinstance(otherwise, Const) else str(otherwise)
