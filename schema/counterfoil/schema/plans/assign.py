"""Converting a value to the type of a target field: unchanged, as a larger type, by a cast of a rule, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeGuard

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import shown
from counterfoil.schema.plans.branches import BranchTable, branches_of
from counterfoil.schema.plans.cast_rules import CastRule
from counterfoil.schema.plans.casts import value_of_rule
from counterfoil.schema.plans.formulas import spell
from counterfoil.schema.plans.model import (
    Cast,
    Constant,
    Lookup,
    Op,
    ProblemKind,
    Read,
    ReplaceNull,
    RequireValue,
    Scalar,
    Tag,
    Widen,
)
from counterfoil.schema.plans.moment_words import NO_WORDS, MomentWords
from counterfoil.schema.plans.moments import MomentRefused, as_moment, as_multiple, known_loss
from counterfoil.schema.plans.rules import cast_words, decimals_of, rule_text
from counterfoil.schema.plans.tree import (
    Leaf,
    Node,
    Opaque,
    RecordType,
    UnionType,
    belongs_by_name,
    full_name_of,
    is_renamed,
    renamed_branches,
)
from counterfoil.schema.plans.types import (
    NoValue,
    casts,
    describe,
    is_derived,
    keeps_meaning,
    names_of,
    needs_decimals,
    rounds,
    same_values,
    scalar_of,
    split_null,
    takes_rounding,
    widens,
)


@dataclass(frozen=True, slots=True)
class AssignedValue:
    """A value during the derivation: its operation, its type, and whether it may be null."""

    op: Op
    type: Node
    is_nullable: bool = False


_NUMBERS_OF_SYMBOLS: Final = frozenset({"int", "long"})
"""The types that have every number of an enum's symbols."""
DECIMALS: Final = "decimals: "
"""How the text of a problem begins that is about the decimals of a cast."""


class Assigner:
    """Converts values to target types.

    What cannot be converted is reported to ``problem``, what loses information to ``lossy``, and a branch that gets
    another name to ``note``. Without ``needs_rules``, casts are made without a rule. ``resolving`` follows Avro's
    schema resolution: promotions that round are permitted, and null instead of a value is an error of the record.
    Without ``rounds_decimals``, the decimals of a cast of decimals have no effect, as in plans of version 0.2.
    """

    def __init__(
        self,
        problem: Callable[[ProblemKind, str, str], None],
        lossy: Callable[[str], None],
        *,
        note: Callable[[str], None] = lambda _: None,
        resolving: bool = False,
        needs_rules: bool = True,
        rounds_decimals: bool = True,
    ) -> None:
        self._problem = problem
        self._note = note
        self.lossy = lossy
        self._resolving = resolving
        self._needs_rules = needs_rules
        self._rounds_decimals = rounds_decimals
        self._noted: set[tuple[int, int, str]] = set()

    def constant(self, given: object, target: Node, where: str, word: str) -> Constant | None:
        """Return a JSON value as the target's, or None after a problem.

        ``word`` is the key of the value in the rule.
        """
        try:
            return Constant(value_of_rule(target, given))
        except NoValue as no_value:
            text = f"{word}: {shown(given)} is no value here; expected {no_value}"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
            return None

    def settle_null(
        self, value: AssignedValue, target: Node, where: str, op: Op | None, *, default: tuple[Datum] | None
    ) -> Op | None:
        """Return ``op`` if null is permitted, with the value of ``default`` (a tuple), if given, instead of null."""
        if op is None or not value.is_nullable or split_null(target)[0]:
            return op
        if self._resolving or not self._needs_rules:
            return RequireValue(op)
        if default is None:
            advice = "give it a rule with null: error, or null: and a value"
            self._problem(ProblemKind.LOSSY, where, f"the source may be null and the field may not; {advice}")
            return None
        self.lossy(where)
        constant = self.constant(default[0], target, where, "default")
        return None if constant is None else ReplaceNull(op, constant.value)

    def plain(
        self, value: AssignedValue, target: Node, where: str, *, cast: CastRule | None = None, free: bool = False
    ) -> Op | None:
        """Return a value other than null as the target's type; ``free`` permits casts without a rule."""
        _, source_type = split_null(value.type)
        _, target_type = split_null(target)
        if source_type is None:
            return value.op
        if target_type is None:
            self._problem(ProblemKind.WRONG_TYPE, where, f"{describe(value.type)} cannot become null")
            return None
        if cast is not None and not (
            self._is_named(cast, target_type, where) and self._rounds(cast, source_type, target_type, where)
        ):
            return None
        is_rounded = cast is not None and cast.decimals is not None and self._rounds_decimals
        is_rounded = is_rounded or (cast is not None and cast.moment.times is not None)
        if (same_values(source_type, target_type) and not is_rounded) or (
            self._resolving and isinstance(target_type, Opaque)
        ):
            self._note_renamed(source_type, target_type, where)
            return value.op
        if isinstance(source_type, UnionType) or isinstance(target_type, UnionType):
            return self._as_branch(value, source_type, target_type, where)
        source, wanted = scalar_of(source_type), scalar_of(target_type)
        if self._resolving and _is_enum(source_type) and _is_enum(target_type):
            return _resolved_enum(value.op, source_type, target_type)
        numbered = _by_numbers(value.op, source_type, target_type)
        if numbered is not None and cast is not None and not cast.moment.are_given:
            return numbered
        if numbered is not None:
            rule = self._rule(value, source, wanted, target) if source and wanted else ""
            text = f"{describe(source_type)} as {describe(target_type)} needs a rule such as {rule}"
            self._problem(ProblemKind.LOSSY, where, f"{text}, which takes the numbers of its symbols")
            return None
        if source is None or wanted is None:
            self._problem(
                ProblemKind.WRONG_TYPE, where, f"{describe(source_type)} cannot become {describe(target_type)}"
            )
            return None
        return self._scalar(value, source, wanted, target, where, cast=cast, free=free or not self._needs_rules)

    def _is_named(self, cast: CastRule, target: Node, where: str) -> bool:
        """Return whether the cast names the type of the field."""
        names = {describe(target), str(target.kind), getattr(target, "name", ""), getattr(target, "full_name", "")}
        scalar = scalar_of(target)
        if scalar is not None:
            names |= names_of(scalar)
        if cast.to in names:
            return True
        own = "" if scalar is None else f"; write cast: {scalar.word}"
        self._problem(ProblemKind.WRONG_TYPE, where, f"cast: {cast.to}, but the field is {describe(target)}{own}")
        return False

    def _rounds(self, cast: CastRule, source: Node, target: Node, where: str) -> bool:
        """Return whether the words beside a cast have an effect, if there are any; else report it."""
        given, wanted = scalar_of(source), scalar_of(target)
        is_same = given is None or wanted is None or (same_values(source, target) and cast.moment.times is None)
        if cast.moment.are_given and is_same:
            word = next(
                word for word in ("unit", "zone", "rounding", "times") if getattr(cast.moment, word) is not None
            )
            text = f"{word} has no effect on {describe(source)} as {describe(target)}; leave it out"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
            return False
        if cast.decimals is None or not self._rounds_decimals:
            return True
        if given is not None and wanted is not None and rounds(given, wanted):
            if wanted.word != "decimal" or cast.decimals <= wanted.scale:
                return True
            text = f"{DECIMALS}{cast.decimals}, but the field is {wanted}, which has {wanted.scale}"
        elif given is not None and wanted is not None and needs_decimals(given, wanted):
            return True
        else:
            text = f"{DECIMALS}{cast.decimals} has no effect on {describe(source)} as {describe(target)}; leave it out"
        self._problem(ProblemKind.WRONG_TYPE, where, text)
        return False

    def _scalar(
        self,
        value: AssignedValue,
        source: Scalar,
        target: Scalar,
        whole: Node,
        where: str,
        *,
        cast: CastRule | None,
        free: bool,
    ) -> Op | None:
        """Return a scalar as a larger type or by a cast; ``whole`` is the type of the field, with its null."""
        words = NO_WORDS if cast is None else cast.moment
        if not self._resolving:
            is_done, moment = self._moment(value, source, target, words, where)
            if is_done:
                return moment
        if widens(source, target):
            return Widen(value.op, source, target)
        if not casts(source, target):
            self._problem(ProblemKind.WRONG_TYPE, where, f"{source} cannot become {target}")
            return None
        is_safe = keeps_meaning(source, target) or is_derived(source, target)
        if cast is None and not (free or is_safe or self._resolving):
            advice = f"give it a rule such as {self._rule(value, source, target, whole)}"
            self._problem(ProblemKind.LOSSY, where, f"{_loss(source, target)}; {advice}")
            return None
        decimals, rounding = cast.decimals if cast else None, words.rounding
        if needs_decimals(source, target) and decimals is None and (rounding is None or target.word == "string"):
            how = "as text" if target.word == "string" else f"as {target}"
            advice = f"such as decimals: {decimals_of(target)}"
            self._problem(ProblemKind.LOSSY, where, f"{source} {how} needs decimals: {advice}")
            return None
        if not keeps_meaning(source, target) or decimals is not None or rounding is not None:
            self.lossy(where)
        if not self._resolving and (loss := known_loss(source, target)):
            self._note(f"{where}: {source} as {target}: {loss}")
        if rounds(source, target) and self._rounds_decimals:
            return Cast(value.op, source, target, rounded=decimals, rounding=rounding)
        return Cast(value.op, source, target, decimals, rounding=rounding)

    def _moment(
        self, value: AssignedValue, source: Scalar, target: Scalar, words: MomentWords, where: str
    ) -> tuple[bool, Op | None]:
        """Return whether a time becomes another one or a number, or should, and if so the operation."""
        try:
            made = as_multiple(value.op, source, target, words) or as_moment(value.op, source, target, words)
        except MomentRefused as refused:
            self._problem(ProblemKind.LOSSY if refused.is_loss else ProblemKind.WRONG_TYPE, where, refused.text)
            return True, None
        if made is not None:
            if made.loss:
                self.lossy(where)
                self._note(f"{where}: {source} as {target}: {made.loss}")
            return True, made.op
        if not casts(source, target) and not widens(source, target):
            return False, None
        unused = [word for word in ("unit", "zone") if getattr(words, word) is not None]
        if words.rounding is not None and not takes_rounding(source, target):
            unused.append("rounding")
        if unused:
            text = f"{unused[0]} has no effect on {source} as {target}; leave it out"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
        return bool(unused), None

    def _rule(self, value: AssignedValue, source: Scalar, target: Scalar, whole: Node) -> str:
        """Return the rule that casts a value, as it is written in a bridge file."""
        spelt = (spell(value.op.path) or "value") if isinstance(value.op, Read) else "…"
        null = {"null": "error"} if value.is_nullable and not split_null(whole)[0] else {}
        return rule_text({"from": spelt, **cast_words(source, target), **null})

    def _as_branch(self, value: AssignedValue, source: Node, target: Node, where: str) -> Op | None:
        """Return a value that a rule computes as a branch of a union."""
        fitted = None if isinstance(source, UnionType) else self.fit(value, source, target, where)
        if fitted is not None:
            return fitted.tagged(target)
        if isinstance(source, UnionType):
            first = BranchTable(source).label(0)
            text = (
                f"{describe(source)} is converted branch by branch; give its branches rules, such as {where}<{first}>"
            )
            self._problem(ProblemKind.WRONG_TYPE, where, text)
        elif not self.is_ambiguous(source, target, where):
            text = f"{describe(source)} has no equal and no larger type in {describe(target)}"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
        return None

    def note_branch(self, branch: Node, other: Node, where: str) -> None:
        """Note a branch that becomes another one, if that has another name.

        The same is noted of the unions inside it, where it stays unchanged.
        """
        if is_renamed(branch, other):
            self._note(_renamed_text(branch, other, where))
        elif full_name_of(branch) is not None and full_name_of(other) is None:
            self._note(f"{where}: the branch {_with_name(branch)} becomes {describe(other)}, a type without a name")
        if same_values(branch, other):
            self._note_renamed(branch, other, where)

    def _note_renamed(self, source: Node, target: Node, where: str) -> None:
        """Note the branches inside two types, once for each place: each branch of two unions asks for it."""
        asked = id(source), id(target), where
        if asked in self._noted:
            return
        self._noted.add(asked)
        for branch, other in renamed_branches(source, target):
            self._note(_renamed_text(branch, other, where))

    def _equal_place(self, node: Node, target: Node) -> int | None:
        """Return the branch of an equal type: of several, the one of the same name, else the first.

        Where the data of the target tells branches, a record of the same name with other fields comes before it.
        """
        branches = branches_of(target)
        same = [index for index, branch in enumerate(branches) if same_values(node, branch)]
        tells = isinstance(target, UnionType) and target.tells_branch
        if full_name_of(node) is None or not (tells or len(same) > 1):
            return same[0] if same else None
        with_name = [index for index, branch in enumerate(branches) if full_name_of(branch) == full_name_of(node)]
        for named in (with_name, [index for index, branch in enumerate(branches) if belongs_by_name(node, branch)]):
            if len(named) == 1:
                return named[0] if named[0] in same else None
        return same[0] if same else None

    def fit(self, value: AssignedValue, node: Node, target: Node, where: str) -> PlacedValue | None:
        """Return a value as the target, or as the target's first branch of an equal type, or else of a larger one.

        ``node`` is its type without null. None if there is no such branch, or several that it could be.
        """
        branches = branches_of(target)
        equal = self._equal_place(node, target)
        if equal is not None:
            return None if self._could_be(node, equal, target) else PlacedValue(value.op, equal)
        source = scalar_of(node)
        for index, branch in enumerate(branches):
            wanted = scalar_of(branch)
            if source and wanted and widens(source, wanted):
                return PlacedValue(Widen(value.op, source, wanted), index)
            if source and wanted and is_derived(source, wanted):
                if not keeps_meaning(source, wanted):
                    self.lossy(where)
                return PlacedValue(Cast(value.op, source, wanted), index)
        return None

    def is_ambiguous(self, node: Node, target: Node, where: str) -> bool:
        """Return whether a value could be of several equal branches, none of which has its name; report it."""
        equal = self._equal_place(node, target)
        same = [] if equal is None else self._could_be(node, equal, target)
        if same:
            text = f"{describe(node)} could be {' or '.join(map(describe, same))}, and none of them has its name"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
        return bool(same)

    @staticmethod
    def _could_be(node: Node, place: int, target: Node) -> list[Node]:
        """Return the equal branches of a value that could be of several, none of which has its name."""
        if (
            not isinstance(target, UnionType)
            or not target.tells_branch
            or belongs_by_name(node, target.branches[place])
        ):
            return []
        same = [branch for branch in target.branches if same_values(node, branch)]
        return same if len(same) > 1 else []


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """The value of a branch of the target, at its index; 0 if the target is no union."""

    op: Op
    place: int

    def tagged(self, target: Node) -> Op:
        """Return the value, with its index where values of the target have one."""
        return Tag(self.op, self.place) if isinstance(target, UnionType) and target.is_tagged else self.op


def _renamed_text(branch: Node, other: Node, where: str) -> str:
    same = "fields" if isinstance(branch, RecordType) else "values"
    return f"{where}: the branch {_with_name(branch)} becomes {_with_name(other)}, which has the same {same}"


def _with_name(branch: Node) -> str:
    text, name = describe(branch), branch.name if isinstance(branch, RecordType | Leaf) else ""
    return text if not name or name in text else f"{text} {name}"


def _is_enum(node: Node) -> TypeGuard[Leaf]:
    return isinstance(node, Leaf) and node.kind == "enum"


def _resolved_enum(op: Op, writer: Leaf, reader: Leaf) -> Op:
    """Return the reader's symbol of the same name, else its default, else an error."""
    known = tuple((symbol, symbol) for symbol in writer.symbols if symbol in reader.symbols)
    default = reader.default if reader.default in reader.symbols else None
    return Lookup(op, known, Constant(default) if default is not None else None)


def _by_numbers(op: Op, source: Node, target: Node) -> Lookup | None:
    """Return the number of an enum's symbol, or the symbol of a number, of several the first; None for other types."""
    if not isinstance(source, Leaf) or not isinstance(target, Leaf):
        return None
    if _is_enum(source) and source.numbers and target.scalar.word in _NUMBERS_OF_SYMBOLS:
        return Lookup(op, tuple(zip(source.symbols, source.numbers, strict=True)))
    if _is_enum(target) and target.numbers and source.scalar.word in _NUMBERS_OF_SYMBOLS:
        pairs = zip(target.numbers, target.symbols, strict=True)
        return Lookup(op, tuple(dict(reversed([*pairs])).items()))
    return None


def _loss(source: Scalar, target: Scalar) -> str:
    """Return the reason why a cast needs a rule."""
    if source.word == target.word == "enum":
        return f"the target has no {', '.join(symbol for symbol in source.symbols if symbol not in target.symbols)}"
    return f"{source} as {target} may lose or refuse values"
