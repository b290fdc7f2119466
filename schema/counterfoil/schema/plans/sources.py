"""Translating rules to operations: the source of a rule's value, and the steps that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import spelt_as_yaml
from counterfoil.schema.plans.assign import AssignedValue, Assigner
from counterfoil.schema.plans.branches import BranchTable, shapes_of
from counterfoil.schema.plans.cast_rules import CastRule
from counterfoil.schema.plans.casts import table_of
from counterfoil.schema.plans.expressions import paths_of
from counterfoil.schema.plans.formula_types import WrongFormula, formula_may_be_null, typed_formula
from counterfoil.schema.plans.formulas import Path, spell
from counterfoil.schema.plans.model import (
    Cast,
    Constant,
    Format,
    Join,
    Lookup,
    MapBranches,
    MapTagged,
    Op,
    Otherwise,
    Parse,
    ProblemKind,
    Read,
    ReplaceNull,
    RequireValue,
    Scalar,
    Split,
    TextCall,
    Widen,
)
from counterfoil.schema.plans.moment_words import MomentWords
from counterfoil.schema.plans.moments import MomentKind, meant_by_text, moment_kind, moment_of_text
from counterfoil.schema.plans.notation import DATE_LETTERS, RFC3339
from counterfoil.schema.plans.operands import may_fail
from counterfoil.schema.plans.recursion import with_paths
from counterfoil.schema.plans.rules import (
    BranchOf,
    Const,
    FieldRule,
    FormatOf,
    Formula,
    From,
    JoinOf,
    LookupRule,
    ParseOf,
    SplitOf,
    Word,
)
from counterfoil.schema.plans.scopes import SourceScope
from counterfoil.schema.plans.tree import Leaf, Node, UnionType
from counterfoil.schema.plans.types import describe, is_instant, scalar_of, split_null, widens
from counterfoil.schema.texts import counted

_STRING_SCALAR = Scalar("string", "string")
_STRING = Leaf(_STRING_SCALAR)
_LONG = Leaf(Scalar("long", "long"))
_DOUBLE = Leaf(Scalar("double", "double"))
_DATE_TIME = Scalar("date-time", "string")
_FAILED: Datum = object()


class RuleReader:
    """Makes operations of rules; reports problems to ``problem``, and lost information to ``lossy``."""

    def __init__(
        self, assigner: Assigner, problem: Callable[[ProblemKind, str, str], None], lossy: Callable[[str], None]
    ) -> None:
        self._assigner = assigner
        self._problem = problem
        self._lossy = lossy

    def by_rule(self, rule: FieldRule, target: Node, scope: SourceScope, where: str) -> Op | None:
        """Return the operation of a rule, or None after a problem."""
        if isinstance(rule.origin, Const):
            return self._assigner.constant(rule.origin.value, target, where, "const")
        if isinstance(rule.origin, BranchOf):
            return self._branch_name(rule, rule.origin, target, scope, where)
        value = self._origin(rule, target, scope, where)
        if value is None:
            return None
        if rule.lookup is not None:
            op = self._lookup(rule, rule.lookup, value, target, where)
        else:
            is_free = isinstance(rule.origin, Formula)
            op = self._assigner.plain(value, target, where, cast=rule.cast, free=is_free)
        if rule.failed is not None and op is not None:
            op = self._failed(rule.failed, op, target, where)
        if not isinstance(rule.origin, (From, JoinOf)):
            self._lossy(where)
        return self.settled(rule, op, value, target, where)

    def _branch_name(
        self, rule: FieldRule, origin: BranchOf, target: Node, scope: SourceScope, where: str
    ) -> Op | None:
        """Return the name of a union's branch, or what the rule's table has for it."""
        value = self.find(origin.path, scope, where)
        if value is None or not isinstance(value.op, Read):
            return None
        scope.use(value.op.path) if split_null(value.type)[1] is None else scope.enter(value.op.path)
        _, union = split_null(value.type)
        if not isinstance(union, UnionType):
            text = f"{spell(origin.path)} is {describe(value.type)}; expected a union of several types"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
            return None
        table = BranchTable(union)
        names = Leaf(Scalar("enum", "enum", tuple(table.label(index) for index in table.values())))
        made: list[tuple[int, Op]] = []
        for index in table.values():
            name = AssignedValue(Constant(table.label(index)), names)
            op = (
                self._assigner.plain(name, target, where)
                if rule.lookup is None
                else self._lookup(rule, rule.lookup, name, target, where)
            )
            if op is None:
                return None
            made.append((index, op))
        by_shape = [(shape, op) for index, op in made for shape in shapes_of(union.branches[index])]
        op = MapTagged(value.op, tuple(made)) if union.is_tagged else MapBranches(value.op, tuple(by_shape))
        self._lossy(where)
        return self.settled(rule, op, value, target, where)

    def _failed(self, failed: Const, op: Op, target: Node, where: str) -> Op | None:
        """Return the operation with the value of ``else`` where it fails."""
        if not may_fail(op):
            text = "nothing of this rule fails, so that else has no effect; leave it out"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
            return None
        constant = self._assigner.constant(failed.value, target, where, "else")
        if constant is None:
            return None
        self._lossy(where)
        return Otherwise(op, constant.value)

    def settled(self, rule: FieldRule, op: Op | None, value: AssignedValue, target: Node, where: str) -> Op | None:
        """Return the operation with what the rule says about null."""
        if op is None or rule.null is None:
            return self._assigner.settle_null(value, target, where, op, default=None)
        if rule.null is Word.ERROR:
            return RequireValue(op)
        constant = (
            self._assigner.constant(rule.null.value, target, where, "null") if isinstance(rule.null, Const) else None
        )
        if constant is None:
            return None
        self._lossy(where)
        return ReplaceNull(op, constant.value)

    def _origin(self, rule: FieldRule, target: Node, scope: SourceScope, where: str) -> AssignedValue | None:
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

    def _read(self, path: Sequence[str], scope: SourceScope, where: str) -> AssignedValue | None:
        """Return the field at ``path``, marked as used."""
        value = self.find(tuple(path), scope, where)
        if value is not None and isinstance(value.op, Read):
            scope.use(value.op.path)
        return value

    def find(self, path: tuple[str, ...], scope: SourceScope, where: str) -> AssignedValue | None:
        """Return the field at ``path``, or None after a problem."""
        node = scope.type_at(path)
        if node is None:
            near = get_close_matches(spell(path), scope.similar_paths(), n=1)
            meant = f"did you mean {near[0]}?" if near else f"the fields there are {', '.join(scope.names()) or 'none'}"
            self._problem(ProblemKind.UNKNOWN, where, f"the source has no field {scope.spelt(path)}; {meant}")
            return None
        found = scope.found(path)
        return AssignedValue(Read(found), node, scope.is_nullable(found))

    def scalar_at(self, path: Path, scope: SourceScope, where: str) -> tuple[AssignedValue, Scalar] | None:
        """Return the field at ``path``, whose value chooses among others, and its type; None after a problem."""
        return self._read_scalar(path, scope, where, wanted="a text, an enum, a whole number or a boolean")

    def _read_scalar(
        self, path: Sequence[str], scope: SourceScope, where: str, *, wanted: str
    ) -> tuple[AssignedValue, Scalar] | None:
        value = self._read(path, scope, where)
        if value is None:
            return None
        _, inner = split_null(value.type)
        scalar = scalar_of(inner) if inner is not None else None
        if scalar is None:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{spell(path)} is {describe(value.type)}; expected {wanted}")
            return None
        return value, scalar

    def _text(self, path: Sequence[str], scope: SourceScope, where: str, *, wanted: str) -> AssignedValue | None:
        """Return the field at ``path`` as text, if it is a text or an enum."""
        found = self._read_scalar(path, scope, where, wanted=wanted)
        if found is None:
            return None
        value, scalar = found
        if scalar.word == "string":
            return value
        if widens(scalar, _STRING_SCALAR):
            return AssignedValue(Widen(value.op, scalar, _STRING_SCALAR), _STRING, value.is_nullable)
        if scalar.word in {"boolean", "int", "long", "uint32", "uint64"}:
            return AssignedValue(Cast(value.op, scalar, _STRING_SCALAR), _STRING, value.is_nullable)
        self._problem(ProblemKind.WRONG_TYPE, where, f"{spell(path)} is {scalar}; expected {wanted}")
        return None

    def _join(self, origin: JoinOf, scope: SourceScope, where: str) -> AssignedValue | None:
        wanted = "text, an enum, a whole number or a boolean"
        parts = [self._text(path, scope, where, wanted=wanted) for path in origin.parts]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        op = Join(tuple(part.op for part in found), origin.separator)
        return AssignedValue(op, _STRING, any(part.is_nullable for part in found))

    def _split(self, origin: SplitOf, scope: SourceScope, where: str) -> AssignedValue | None:
        value = self._text(origin.path, scope, where, wanted="text")
        if value is None:
            return None
        return AssignedValue(Split(value.op, origin.separator, origin.take), _STRING, value.is_nullable)

    def _formula(self, origin: Formula, scope: SourceScope, where: str) -> AssignedValue | None:
        scalars: dict[Path, Scalar] = {}
        for path in dict.fromkeys(paths_of(origin.expression)):
            found = self._read_scalar(path, scope, where, wanted="a number, a text or another value without parts")
            if found is not None:
                scalars[path] = found[1]
        if len(scalars) < len(set(paths_of(origin.expression))):
            return None
        try:
            made = typed_formula(origin.expression, scalars.__getitem__)
        except WrongFormula as wrong:
            self._problem(ProblemKind.WRONG_TYPE, where, wrong.text)
            return None
        if made.scalar is None:
            self._problem(ProblemKind.WRONG_TYPE, where, "the formula is always null; write const: null")
            return None
        op = with_paths(made.op, scope.inside)
        return AssignedValue(op, Leaf(made.scalar), formula_may_be_null(op, scope.is_nullable))

    def _format(self, origin: FormatOf, scope: SourceScope, where: str) -> AssignedValue | None:
        found = self._read_scalar(origin.path, scope, where, wanted="a date or a timestamp")
        if found is None:
            return None
        value, scalar = found
        if origin.pattern is RFC3339:
            return self._as_rfc3339(value, scalar, origin, where)
        op, scalar = moment_of_text(value.op, scalar)
        if not self._fits_pattern(scalar, origin, where):
            return None
        return AssignedValue(Format(op, scalar, origin.pattern, origin.zone), _STRING, value.is_nullable)

    def _as_rfc3339(self, value: AssignedValue, scalar: Scalar, origin: FormatOf, where: str) -> AssignedValue | None:
        if moment_kind(scalar) not in {MomentKind.INSTANT, MomentKind.LOCAL, MomentKind.DATE}:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{scalar} has no date; expected a date or a timestamp")
            return None
        op = self._moment(value.op, scalar, _DATE_TIME, MomentWords(zone=origin.zone or None), where)
        return None if op is None else AssignedValue(op, _STRING, value.is_nullable)

    def _parse(self, origin: ParseOf, target: Node, scope: SourceScope, where: str) -> AssignedValue | None:
        value = self._text(origin.path, scope, where, wanted="text")
        _, inner = split_null(target)
        scalar = scalar_of(inner) if inner is not None else None
        if value is None:
            return None
        if inner is None:
            self._problem(ProblemKind.WRONG_TYPE, where, "a date cannot become null")
            return None
        if scalar is None:
            self._problem(ProblemKind.WRONG_TYPE, where, f"a date cannot become {describe(target)}")
            return None
        if origin.pattern is RFC3339:
            return self._of_rfc3339(value, scalar, origin, where)
        if origin.rounding is not None:
            text = f"rounding has no effect on a text that is spelt {origin.pattern.spelt}; leave it out"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
            return None
        meant = meant_by_text(scalar)
        if not self._fits_pattern(meant, origin, where):
            return None
        op: Op = Parse(value.op, meant, origin.pattern, origin.zone)
        made = op if meant is scalar else Cast(op, meant, scalar)
        return AssignedValue(made, inner, value.is_nullable)

    def _of_rfc3339(self, value: AssignedValue, scalar: Scalar, origin: ParseOf, where: str) -> AssignedValue | None:
        kind = moment_kind(scalar)
        if scalar.word == "date-time" and (origin.zone, origin.rounding) == ("", None):
            return AssignedValue(Cast(value.op, _STRING_SCALAR, scalar), Leaf(scalar), value.is_nullable)
        if kind not in {MomentKind.INSTANT, MomentKind.LOCAL, MomentKind.DATE}:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{scalar} has no date; expected a date or a timestamp")
            return None
        words = MomentWords(zone=origin.zone or None, rounding=origin.rounding)
        op = self._moment(value.op, _DATE_TIME, scalar, words, where)
        return None if op is None else AssignedValue(op, Leaf(scalar), value.is_nullable)

    def _moment(self, op: Op, source: Scalar, target: Scalar, words: MomentWords, where: str) -> Op | None:
        """Return a time as another one, or None after a problem."""
        if source == target:
            return op
        value = AssignedValue(op, Leaf(source))
        return self._assigner.plain(value, Leaf(target), where, cast=CastRule(target.word, moment=words))

    def _fits_pattern(self, scalar: Scalar, origin: FormatOf | ParseOf, where: str) -> bool:
        """Return whether a date pattern has all parts that the type needs, and only parts that it has."""
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

    def _lookup(self, rule: FieldRule, lookup: LookupRule, value: AssignedValue, target: Node, where: str) -> Op | None:
        _, inner = split_null(value.type)
        scalar = scalar_of(inner) if inner is not None else None
        if scalar is None:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{describe(value.type)} cannot be looked up in a table")
            return None
        key = value.op
        if lookup.ignores_case:
            key, scalar = self._lowered(key, scalar, where)
            if scalar is None:
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
        return None if problems or otherwise is _FAILED else Lookup(key, table, otherwise)

    def _lowered(self, op: Op, scalar: Scalar, where: str) -> tuple[Op, Scalar | None]:
        """Return a text in lower case; None instead of its type after a problem."""
        if scalar.base not in {"string", "enum"}:
            text = f"ignore_case has no effect on {scalar}; leave it out"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
            return op, None
        text_op = op if scalar.base == "string" else Widen(op, scalar, _STRING_SCALAR)
        return TextCall("lower", text_op), _STRING_SCALAR

    def _otherwise(self, rule: FieldRule, lookup: LookupRule, value: AssignedValue, target: Node, where: str) -> Datum:
        if lookup.otherwise is None or lookup.otherwise is Word.ERROR:
            return None
        if lookup.otherwise is Word.KEEP:
            op = self._assigner.plain(value, target, where, cast=rule.cast)
        elif isinstance(lookup.otherwise, Const):
            op = self._assigner.constant(lookup.otherwise.value, target, where, "else")
        return _FAILED if op is None else op


def story_of(rule: FieldRule) -> tuple[str, str, str]:
    """Return the description of a rule: a word, its source fields, and a note."""
    origin = rule.origin
    notes = []
    if rule.lookup is not None:
        in_any_case = " in any case" if rule.lookup.ignores_case else ""
        notes.append(f"{counted(len(rule.lookup.table), 'value')} looked up{in_any_case}")
    if rule.cast is not None:
        notes.append(_story_of_cast(rule.cast))
    if rule.null is not None:
        notes.append("null is an error" if rule.null is Word.ERROR else f"null becomes {_shown(rule.null)}")
    if rule.failed is not None:
        notes.append(f"what fails becomes {_shown(rule.failed)}")
    how, source, note = _story_of_origin(origin)
    return how, source, "; ".join(filter(None, (note, *notes)))


def _story_of_cast(cast: CastRule) -> str:
    words = [f"cast to {cast.to}"]
    words += [] if cast.decimals is None else [f"{cast.decimals} decimals"]
    moment = cast.moment
    words += [] if moment.times is None else [f"times {moment.times}"]
    words += [] if moment.unit is None else [f"in {moment.unit}"]
    words += [] if moment.zone is None else [f"zone {moment.zone}"]
    words += [] if moment.rounding is None else [f"rounding {moment.rounding.value}"]
    return ", ".join(words)


def _story_of_origin(origin: Datum) -> tuple[str, str, str]:
    if isinstance(origin, From):
        return "from", spell(origin.path), ""
    if isinstance(origin, JoinOf):
        paths = ", ".join(spell(path) for path in origin.parts)
        return "join", paths, f"with {origin.separator!r} between"
    if isinstance(origin, SplitOf):
        return "split", spell(origin.path), f"piece {origin.take} on {origin.separator!r}"
    if isinstance(origin, Formula):
        paths = ", ".join(dict.fromkeys(spell(path) for path in paths_of(origin.expression)))
        return "expr", paths, origin.text
    if isinstance(origin, Const):
        return "const", "", spelt_as_yaml(origin.value)
    word = "format" if isinstance(origin, FormatOf) else "parse"
    if isinstance(origin, BranchOf):
        return "branch name", spell(origin.path), ""
    zone = f" in {origin.zone}" if origin.zone else ""
    rounding = getattr(origin, "rounding", None)
    return (
        word,
        spell(origin.path),
        f"{origin.pattern.spelt}{zone}" + (f", rounding {rounding.value}" if rounding else ""),
    )


def _shown(otherwise: object) -> str:
    return spelt_as_yaml(otherwise.value) if isinstance(otherwise, Const) else str(otherwise)
