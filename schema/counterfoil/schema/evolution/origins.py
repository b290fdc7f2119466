"""Translating rules to operations: the source of a rule's value, and the steps that follow."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from counterfoil.schema.counting import counted
from counterfoil.schema.evolution.assign import Value
from counterfoil.schema.evolution.errors import spelt_as_yaml
from counterfoil.schema.evolution.expr import paths_of, result_of
from counterfoil.schema.evolution.field_paths import spell
from counterfoil.schema.evolution.model import (
    Arithmetic,
    Cast,
    Format,
    Join,
    Lookup,
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
from counterfoil.schema.evolution.tree import Leaf
from counterfoil.schema.evolution.types import NUMERIC, describe, is_instant, scalar_of, split_null, widens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.evolution.assign import Assigner
    from counterfoil.schema.evolution.rules import LookupRule
    from counterfoil.schema.evolution.scope import Scope
    from counterfoil.schema.evolution.tree import Node

_STRING_SCALAR = Scalar("string", "string")
_STRING = Leaf(_STRING_SCALAR)
_LONG = Leaf(Scalar("long", "long"))
_DOUBLE = Leaf(Scalar("double", "double"))
_FAILED: Any = object()


class RuleReader:
    """Makes operations of rules; reports problems to ``problem``, and lost information to ``lossy``."""

    def __init__(
        self, assigner: Assigner, problem: Callable[[ProblemKind, str, str], None], lossy: Callable[[str], None]
    ) -> None:
        self._assigner = assigner
        self._problem = problem
        self._lossy = lossy

    def by_rule(self, rule: FieldRule, target: Node, scope: Scope, where: str) -> Op | None:
        """Return the operation of a rule, or None after a problem."""
        if isinstance(rule.origin, Const):
            return self._assigner.constant(rule.origin.value, target, where, "const")
        value = self._origin(rule, target, scope, where)
        if value is None:
            return None
        if rule.lookup is not None:
            op = self._lookup(rule, rule.lookup, value, target, where)
        else:
            is_free = isinstance(rule.origin, Formula)
            op = self._assigner.plain(value, target, where, cast=rule.cast, free=is_free)
        if not isinstance(rule.origin, (From, JoinOf)):
            self._lossy(where)
        return self.settled(rule, op, value, target, where)

    def settled(self, rule: FieldRule, op: Op | None, value: Value, target: Node, where: str) -> Op | None:
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

    def _origin(self, rule: FieldRule, target: Node, scope: Scope, where: str) -> Value | None:
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
        """Return the field at ``path``, marked as used."""
        value = self.find(tuple(path), scope, where)
        if value is not None:
            scope.use(tuple(path))
        return value

    def find(self, path: tuple[str, ...], scope: Scope, where: str) -> Value | None:
        """Return the field at ``path``, or None after a problem."""
        node = scope.type_at(path)
        if node is None:
            spelt = spell(path)
            known = [spell(other) for other in scope.paths(())]
            near = get_close_matches(spelt, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"the fields there are {', '.join(scope.names()) or 'none'}"
            self._problem(ProblemKind.UNKNOWN, where, f"the source has no field {scope.prefix}{spelt}; {meant}")
            return None
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
            self._problem(ProblemKind.WRONG_TYPE, where, f"{spell(path)} is {describe(value.type)}; expected {wanted}")
            return None
        return value, scalar

    def _text(self, path: Sequence[str], scope: Scope, where: str, *, wanted: str) -> Value | None:
        """Return the field at ``path`` as text, if it is a text or an enum."""
        found = self._read_scalar(path, scope, where, wanted=wanted)
        if found is None:
            return None
        value, scalar = found
        if scalar.word == "string":
            return value
        if widens(scalar, _STRING_SCALAR):
            return Value(Widen(value.op, scalar, _STRING_SCALAR), _STRING, value.is_nullable)
        if scalar.word in {"boolean", "int", "long", "uint32", "uint64"}:
            return Value(Cast(value.op, scalar, _STRING_SCALAR), _STRING, value.is_nullable)
        self._problem(ProblemKind.WRONG_TYPE, where, f"{spell(path)} is {scalar}; expected {wanted}")
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
                self._problem(ProblemKind.WRONG_TYPE, where, f"{spell(path)} is {found[1]}; expected a number")
                is_readable = False
            else:
                kinds[path] = "long" if found[1].word in {"int", "long", "uint32"} else "double"
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

    def _parse(self, origin: ParseOf, target: Node, scope: Scope, where: str) -> Value | None:
        value = self._text(origin.path, scope, where, wanted="text")
        _, inner = split_null(target)
        scalar = scalar_of(inner) if inner is not None else None
        if value is None:
            return None
        if inner is None:
            self._problem(ProblemKind.WRONG_TYPE, where, "a date cannot become null")
            return None
        if scalar is None or not self._fits_pattern(scalar, origin, where):
            if scalar is None:
                self._problem(ProblemKind.WRONG_TYPE, where, f"a date cannot become {describe(target)}")
            return None
        return Value(Parse(value.op, scalar, origin.pattern, origin.zone), inner, value.is_nullable)

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

    def _lookup(self, rule: FieldRule, lookup: LookupRule, value: Value, target: Node, where: str) -> Op | None:
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

    def _otherwise(self, rule: FieldRule, lookup: LookupRule, value: Value, target: Node, where: str) -> Any:
        if lookup.otherwise is None or lookup.otherwise is Word.ERROR:
            return None
        if lookup.otherwise is Word.KEEP:
            op = self._assigner.plain(value, target, where, cast=rule.cast)
        elif isinstance(lookup.otherwise, Const):
            op = self._assigner.constant(lookup.otherwise.value, target, where, "else")
        return _FAILED if op is None else op


def paths_read(rule: FieldRule) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the source fields that a rule reads."""
    origin = rule.origin
    if isinstance(origin, JoinOf):
        return origin.parts
    if isinstance(origin, Formula):
        return tuple(dict.fromkeys(paths_of(origin.expression)))
    return () if isinstance(origin, Const) else (origin.path,)


def story_of(rule: FieldRule) -> tuple[str, str, str]:
    """Return the description of a rule: a word, its source fields, and a note."""
    origin = rule.origin
    notes = []
    if rule.lookup is not None:
        notes.append(f"{counted(len(rule.lookup.table), 'value')} looked up")
    if rule.cast is not None:
        decimals = "" if rule.cast.decimals is None else f", {rule.cast.decimals} decimals"
        notes.append(f"cast to {rule.cast.to}{decimals}")
    if rule.null is not None:
        notes.append("null is an error" if rule.null is Word.ERROR else f"null becomes {_shown(rule.null)}")
    how, source, note = _story_of_origin(origin)
    return how, source, "; ".join(filter(None, (note, *notes)))


def _story_of_origin(origin: Any) -> tuple[str, str, str]:
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
    return word, spell(origin.path), f"{origin.pattern.spelt} in {origin.zone}"


def _shown(otherwise: object) -> str:
    return spelt_as_yaml(otherwise.value) if isinstance(otherwise, Const) else str(otherwise)
