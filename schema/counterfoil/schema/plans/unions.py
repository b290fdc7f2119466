"""Deriving the operations of unions: which branch of the target each branch of the source becomes, by rules or not.

Without a rule a branch becomes the one that it belongs to (:func:`.tree.branch_pairs`), unchanged or part by part; else
the first of an equal or a larger type; else the only one of its kind. A branch that no branch takes is a problem until
a rule says what becomes of its values, and so are two branches that would become one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from counterfoil.schema.plans.assign import AssignedValue, Assigner
from counterfoil.schema.plans.branches import BranchTable, BranchTables, branches_of, shapes_of
from counterfoil.schema.plans.casts import table_of
from counterfoil.schema.plans.formulas import BranchSegment, spell
from counterfoil.schema.plans.model import (
    BranchByValue,
    Constant,
    LeaveOut,
    MapBranches,
    MapTagged,
    Op,
    PlanRow,
    ProblemKind,
    Read,
    Scalar,
    Tag,
)
from counterfoil.schema.plans.places import RuleNode, TargetPlace
from counterfoil.schema.plans.rules import Destination, FieldRule, LookupRule, Lost, ToRule
from counterfoil.schema.plans.sources import RuleReader, story_of
from counterfoil.schema.plans.tree import (
    ArrayType,
    Leaf,
    MapType,
    Node,
    NullType,
    RecordType,
    UnionType,
    belongs_by_name,
    branch_pairs,
    nullable,
)
from counterfoil.schema.plans.types import describe, same_values

_ELEMENTS = ("[]", "{}")
_NUMBER = Leaf(Scalar("long", "long"))
_SAID_BY_WORD = {Lost.ERROR: "dead letter", Lost.NULL: "null", Lost.DROP: "left out"}


@dataclass(frozen=True, slots=True)
class BranchResult:
    """The operation for the values of a branch; None: they are dead letters.

    ``places`` are the branches of the target that they become, by their indexes. ``is_said``: by a rule.
    """

    op: Op | None
    places: tuple[int, ...] = ()
    is_said: bool = False


class PartWalk(Protocol):
    """The walk of a derivation, as far as branches need it."""

    def parts(self, value: AssignedValue, target: Node, place: TargetPlace) -> Op | None:
        """Return a value other than null as the target's type; records, arrays and maps by their parts."""

    def add_row(self, row: PlanRow, at: int | None = None) -> int:
        """Add a row at a place, else at the end, and return its place."""

    def report(self, kind: ProblemKind, where: str, text: str) -> None:
        """Report a problem."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch of the source: its index in ``table``, the type that its values become, and its place.

    ``around`` is the place of the union. ``partner`` is the branch of the target that it belongs to, if there is one.
    """

    index: int
    table: BranchTable
    target: Node
    place: TargetPlace
    around: TargetPlace
    partner: int | None = None

    @property
    def node(self) -> Node:
        """The type of the branch's values."""
        return self.table.branches[self.index]

    @property
    def value(self) -> AssignedValue:
        """The branch's value, which is the scope."""
        return AssignedValue(Read(()), self.node)

    def inside(self, place: TargetPlace) -> _Branch:
        """Return the branch with the rules of another place."""
        return replace(self, place=place)


class UnionWalk:
    """Derives the operations of unions for a walk; losses of information are reported to ``assigner``."""

    def __init__(self, walk: PartWalk, assigner: Assigner, reader: RuleReader, *, resolving: bool) -> None:
        self._walk = walk
        self._assigner = assigner
        self._reader = reader
        self._resolving = resolving
        self._tables = BranchTables()

    def convert(self, value: AssignedValue, source: Node, target: Node, place: TargetPlace) -> Op | None:
        """Return a value other than null; ``source`` and ``target`` are types without null, one of them a union."""
        table = self._tables.of(source)
        rules = self._rules(table, place)
        if not isinstance(source, UnionType):
            return self._single(value, table, target, place, rules.get(0, RuleNode()))
        if not source.is_tagged and not _are_distinct(source):
            text = f"the branches of {describe(source)} cannot be distinguished by their values"
            self._walk.report(ProblemKind.UNSUPPORTED, place.where, text)
            return None
        pairs = self._pairs(source, target)
        made: dict[int, BranchResult] = {}
        for index in table.values():
            found = self._branch(
                index, table, value, target, place, rules=rules.get(index, RuleNode()), partner=pairs.get(index)
            )
            if found is not None:
                made[index] = found
        if len(made) < len(table.values()) or not self._keeps_branches(table, target, made, place):
            return None
        ops = [(index, each.op) for index, each in made.items() if each.op is not None]
        if source.is_tagged:
            return MapTagged(value.op, tuple(ops))
        by_shape = [(shape, op) for index, op in ops for shape in shapes_of(source.branches[index])]
        return MapBranches(value.op, tuple(by_shape))

    def _single(
        self,
        value: AssignedValue,
        table: BranchTable,
        target: Node,
        place: TargetPlace,
        rules: RuleNode,
        *,
        name: BranchSegment | None = None,
    ) -> Op | None:
        """Return a value that is of no union as a branch of one; ``name`` is its name in paths of the target."""
        has_rules = rules.rule is not None or bool(rules.children)
        fitted = None if has_rules else self._assigner.fit(value, table.node, target, place.where)
        if fitted is not None:
            if isinstance(value.op, Read):
                place.scope.use(value.op.path)
            return fitted.tagged(target)
        partner = _like(table, 0, target)
        made = self._branch(0, table, value, target, place, rules=rules, partner=partner, name=name)
        if made is None:
            return None
        ops = () if made.op is None else tuple((shape, made.op) for shape in shapes_of(table.node))
        return MapBranches(value.op, ops)

    def _rules(self, table: BranchTable, place: TargetPlace) -> Mapping[int, RuleNode]:
        """Return the rules of each branch by its index; report rules for what is no branch."""
        found: dict[int, RuleNode] = {}
        name_by_index: dict[int, str] = {}
        for segment, node in place.node.children.items():
            where = place.under(segment).where
            index = table.index_of(segment) if isinstance(segment, BranchSegment) else None
            if not isinstance(segment, BranchSegment):
                first = table.label(table.values()[0])
                text = f"the value is of a union; name its branch, such as {place.where}<{first}>"
                self._walk.report(ProblemKind.UNKNOWN, where, text)
            elif index is None or isinstance(table.branches[index], NullType):
                self._walk.report(ProblemKind.UNKNOWN, where, table.unknown(segment, "source"))
            elif index in found:
                text = f"<{name_by_index[index]}> and <{segment}> are one branch; write the rules for it with one name"
                self._walk.report(ProblemKind.WRONG_TYPE, where, text)
            else:
                found[index], name_by_index[index] = node, segment
        return found

    def _pairs(self, source: UnionType, target: Node) -> Mapping[int, int]:
        if not isinstance(target, UnionType) or not (source.is_tagged or target.is_tagged):
            return {}
        return branch_pairs(source, target, by_names=self._resolving)

    def _branch(
        self,
        index: int,
        table: BranchTable,
        union: AssignedValue,
        target: Node,
        around: TargetPlace,
        *,
        rules: RuleNode,
        partner: int | None,
        name: BranchSegment | None = None,
    ) -> BranchResult | None:
        """Return what becomes of the values of a branch, in a scope of its own; None after a problem."""
        segment = table.segment(index)
        path = union.op.path if isinstance(union.op, Read) else ()
        is_single = not isinstance(table.node, UnionType)
        scope = around.scope.element(path, segment, table.branches[index], is_same_place=is_single)
        at = _Branch(index, table, target, around.inside(name or segment, scope, rules), around, partner)
        row = self._walk.add_row(PlanRow(at.place.where, "branch", scope.place))
        made = self._derived(at) if rules.rule is None else self._by_rule(rules.rule, at)
        if made is None:
            scope.use(())
        note = "" if made is None else self._said(made, rules.rule, target)
        self._walk.add_row(PlanRow(at.place.where, "branch", scope.place, note), row)
        return made

    def _said(self, made: BranchResult, rule: FieldRule | None, target: Node) -> str:
        """Return what becomes of a branch, for its row."""
        notes = []
        to = None if rule is None else rule.to
        if rule is not None and not rule.is_whole:
            how, sources, note = story_of(rule)
            notes.append(" ".join(filter(None, (how, sources, note))))
        if to is not None and to.destination is None:
            cases = [f"{key} {_spelt(each)}" for key, each in to.table]
            notes.append(f"by {spell(to.by)}: {', '.join(cases)}, else {_spelt(to.otherwise)}")
        elif to is not None and isinstance(to.destination, Lost):
            notes.append(_SAID_BY_WORD[to.destination])
        elif made.places:
            notes.append(f"as <{self._tables.of(target).label(made.places[0])}>")
        return "; ".join(notes)

    # -- branches without a rule

    def _derived(self, at: _Branch) -> BranchResult | None:
        others, is_union = branches_of(at.target), isinstance(at.table.node, UnionType)
        found = self._partner(at)
        if found is not None:
            if is_union:
                self._assigner.note_branch(at.node, others[found], at.around.where)
            return _result(self._walk.parts(at.value, others[found], at.place), found, at.target)
        fitted = self._assigner.fit(at.value, at.node, at.target, at.place.where)
        if fitted is not None and not at.place.node.children:
            if is_union:
                self._assigner.note_branch(at.node, others[fitted.place], at.around.where)
            at.place.scope.use(())
            return BranchResult(fitted.tagged(at.target), (fitted.place,))
        like = _like(at.table, at.index, at.target)
        if like is not None:
            return _result(self._walk.parts(at.value, others[like], at.place), like, at.target)
        if not self._assigner.is_ambiguous(at.node, at.target, at.place.where):
            text = f"{describe(at.node)} has no equal and no larger type in {describe(at.target)}"
            self._walk.report(ProblemKind.WRONG_TYPE, at.place.where, f"{text}{self._advice(at)}")
        return None

    def _advice(self, at: _Branch) -> str:
        if self._resolving:
            return ""
        to = self._tables.of(at.target)
        names = [f"<{to.label(index)}>" for index in to.values() if to.branches[index].kind == at.node.kind]
        choices = [*names[:1], "error", *(["null"] if at.around.takes_null else [])]
        return f"; say what becomes of it, such as {at.place.where}: {{to: {' or '.join(choices)}}}"

    def _partner(self, at: _Branch) -> int | None:
        """Return the branch that another one belongs to, of an equal type, or both of them records.

        A record that belongs to none is that of its place, where the data of one side does not tell branches.
        """
        source, target, place = at.table.node, at.target, at.partner
        if not isinstance(source, UnionType):
            return place
        if not isinstance(target, UnionType) or not (source.is_tagged or target.is_tagged):
            return None
        if place is not None and same_values(at.node, target.branches[place]):
            return place
        if not isinstance(at.node, RecordType) or (
            place is None and any(same_values(at.node, each) for each in target.branches)
        ):
            return None
        if place is None and not (source.tells_branch and target.tells_branch):
            places, own = self._tables.of(target).values(), at.table.values()
            place = places[own.index(at.index)] if len(places) == len(own) else None
        return place if place is not None and isinstance(target.branches[place], RecordType) else None

    def _keeps_branches(
        self, table: BranchTable, target: Node, made: Mapping[int, BranchResult], place: TargetPlace
    ) -> bool:
        """Return whether no two branches become one without a rule, where the data tells them apart."""
        indexes_by_place: dict[int, list[int]] = {}
        for index, each in made.items():
            for target_index in each.places:
                indexes_by_place.setdefault(target_index, []).append(index)
        for indexes in indexes_by_place.values():
            silent = [index for index in indexes if not made[index].is_said]
            if len(silent) < len(indexes) > 1:
                self._assigner.lossy(place.where)
            if len(silent) > 1 and isinstance(table.node, UnionType) and table.node.tells_branch:
                self._report_merged(table, silent, target, place)
                return False
        return True

    def _report_merged(self, table: BranchTable, merged: list[int], target: Node, place: TargetPlace) -> None:
        names = " and ".join(describe(table.branches[index]) for index in merged)
        text = f"the branches {names} would become one in {describe(target)}, which does not keep which of them it was"
        if not self._resolving:
            to = self._tables.of(target)
            said = f"{place.where}<{table.label(merged[-1])}>: {{to: <{to.label(to.values()[0])}>}}"
            text += f"; if that is meant, say so: {said}"
        self._walk.report(ProblemKind.UNSUPPORTED, place.where, text)

    # -- branches with a rule

    def _by_rule(self, rule: FieldRule, at: _Branch) -> BranchResult | None:
        if rule.to is None:
            return self._without_destination(rule, at)
        if rule.to.destination is None:
            return self._chosen(rule.to, rule, at)
        for segment in at.place.node.children if isinstance(rule.to.destination, Lost) else ():
            text = "the values of this branch become nothing, so that no rule has a meaning; leave it out"
            self._walk.report(ProblemKind.UNKNOWN, at.place.under(segment).where, text)
        return self._to(rule.to.destination, rule, at)

    def _without_destination(self, rule: FieldRule, at: _Branch) -> BranchResult | None:
        """Return the result of a rule that does not name the target's branch: it is the one of the same name."""
        to = self._tables.of(at.target)
        named = [to.index_of(name) for name in at.table.names[at.index]]
        found = next((index for index in (at.partner, *named) if index is not None), None)
        if not isinstance(at.target, UnionType):
            found = 0
        if found is None:
            label = to.label(to.values()[0])
            text = f"the target has no branch of this name; say which one it becomes, such as to: <{label}>"
            self._walk.report(ProblemKind.WRONG_TYPE, at.place.where, text)
            return None
        return _result(self._value(rule, found, at), found, at.target, is_said=True)

    def _to(self, destination: Destination, rule: FieldRule, at: _Branch) -> BranchResult | None:
        """Return the result for one destination; None after a problem."""
        if isinstance(destination, Lost):
            return self._lost(destination, at)
        to = self._tables.of(at.target)
        index = to.index_of(destination)
        if index is None or isinstance(to.branches[index], NullType):
            self._walk.report(ProblemKind.UNKNOWN, at.place.where, to.unknown(destination, "target"))
            return None
        return _result(self._value(rule, index, at), index, at.target, is_said=True)

    def _lost(self, destination: Lost, at: _Branch) -> BranchResult | None:
        """Return the result for values that no branch takes."""
        at.place.scope.use(())
        self._assigner.lossy(at.place.where)
        if destination is Lost.ERROR:
            return BranchResult(None, is_said=True)
        if destination is Lost.NULL and at.around.takes_null:
            return BranchResult(Constant(None), is_said=True)
        if destination is Lost.DROP and at.around.where.endswith(_ELEMENTS):
            return BranchResult(LeaveOut(), is_said=True)
        text = (
            "to: null, but null is no value here; say to: error, or name a branch"
            if destination is Lost.NULL
            else "to: drop leaves an item of an array or an entry of a map out; say to: error, so that the record is a "
            "dead letter, or to: null"
        )
        self._walk.report(ProblemKind.WRONG_TYPE, at.place.where, text)
        return None

    def _value(self, rule: FieldRule, index: int, at: _Branch) -> Op | None:
        """Return the value of a rule, or the branch's value by its parts, as a branch of the target."""
        wanted = branches_of(at.target)[index]
        if rule.is_whole:
            return self._walk.parts(at.value, wanted, at.place)
        if at.place.node.children:
            text = "there is a rule for the branch and one inside it; keep one of them"
            self._walk.report(ProblemKind.WRONG_TYPE, at.place.where, text)
        whole = nullable(wanted) if at.around.takes_null else wanted
        return self._reader.by_rule(replace(rule, to=None), whole, at.place.scope, at.place.where)

    def _chosen(self, to: ToRule, rule: FieldRule, at: _Branch) -> BranchResult | None:
        """Return the branch that the value of a field chooses."""
        key = self._reader.scalar_at(to.by, at.place.scope, at.place.where)
        if key is None:
            return None
        destinations = to.destinations
        numbers = tuple((written, destinations.index(each)) for written, each in to.table)
        table, problems = table_of(LookupRule(numbers), key[1], _NUMBER)
        for text in problems:
            self._walk.report(ProblemKind.WRONG_TYPE, at.place.where, text)
        self._check_rules(destinations, at)
        made: list[BranchResult] = []
        for destination in destinations:
            inner = self._inside(destination, at) if isinstance(destination, BranchSegment) else at
            found = self._to(destination, rule, inner)
            if found is None:
                return None
            made.append(found)
        if problems:
            return None
        cases = tuple((value, made[number].op) for value, number in table)
        places = tuple(dict.fromkeys(index for each in made for index in each.places))
        otherwise = made[destinations.index(to.otherwise)].op
        return BranchResult(BranchByValue(key[0].op, cases, otherwise), places, is_said=True)

    def _inside(self, destination: BranchSegment, at: _Branch) -> _Branch:
        """Return a branch with the rules for one of several branches that it may become."""
        to = self._tables.of(at.target)
        index = to.index_of(destination)
        nodes = [
            node
            for segment, node in at.place.node.children.items()
            if isinstance(segment, BranchSegment) and to.index_of(segment) == index
        ]
        return at.inside(at.place.inside(destination, at.place.scope, nodes[0] if nodes else RuleNode()))

    def _check_rules(self, destinations: tuple[Destination, ...], at: _Branch) -> None:
        """Report rules for branches that a branch does not become."""
        to = self._tables.of(at.target)
        known = {to.index_of(each) for each in destinations if isinstance(each, BranchSegment)}
        for segment in at.place.node.children:
            if not isinstance(segment, BranchSegment) or to.index_of(segment) not in known:
                spelt = "" if isinstance(segment, BranchSegment) else f".{spell((segment,))}"
                text = (
                    f"name one of the branches in to: after that of the source, such as {at.place.where}<Card>{spelt}"
                )
                self._walk.report(ProblemKind.UNKNOWN, at.place.under(segment).where, text)

    # -- the fields of a oneof

    def of_members(
        self, parts: list[tuple[str, AssignedValue]], target: UnionType, place: TargetPlace
    ) -> list[Op] | None:
        """Return each field of a oneof, by its name, as a value of the union; None after a problem."""
        names = [BranchSegment(name) for name, _ in parts]
        for segment in place.node.children:
            if segment not in names:
                text = f"the oneof of the source has no such field; it has {', '.join(f'<{name}>' for name in names)}"
                self._walk.report(ProblemKind.UNKNOWN, place.under(segment).where, text)
        made: list[Op] = []
        for name, (_, value) in zip(names, parts, strict=True):
            op = self._single(value, self._tables.of(value.type), target, place, place.node.child(name), name=name)
            if op is None:
                return None
            made.append(op)
        return made

    def part_of_branch(self, union: Read, source: UnionType, index: int, wanted: Node, place: TargetPlace) -> Op | None:
        """Return a branch's value as the type of a field of a oneof."""
        branch = source.branches[index]
        scope = place.scope.element(union.path, self._tables.of(source).segment(index), branch)
        if isinstance(branch, RecordType) and isinstance(wanted, RecordType) and not same_values(branch, wanted):
            inside = TargetPlace(place.where, RuleNode(), scope)
            return self._walk.parts(AssignedValue(Read(()), branch), wanted, inside)
        scope.use(())
        fitted = self._assigner.fit(AssignedValue(Read(()), branch), branch, wanted, place.where)
        if fitted is None:
            text = f"{describe(branch)} has no equal and no larger type in {describe(wanted)}"
            self._walk.report(ProblemKind.WRONG_TYPE, place.where, text)
        return None if fitted is None else fitted.tagged(wanted)


def _result(op: Op | None, index: int, target: Node, *, is_said: bool = False) -> BranchResult | None:
    """Return the result of an operation, with its index where values of the target have one."""
    if op is None:
        return None
    has_index = isinstance(target, UnionType) and target.is_tagged and op != Constant(None)
    return BranchResult(Tag(op, index) if has_index else op, (index,), is_said=is_said)


def _spelt(destination: Destination) -> str:
    return _SAID_BY_WORD[destination] if isinstance(destination, Lost) else f"<{destination}>"


def _like(table: BranchTable, index: int, target: Node) -> int | None:
    """Return the branch that a value with parts can become part by part: of its name, or the only one on both sides."""
    branch = table.branches[index]
    if not isinstance(branch, RecordType | ArrayType | MapType):
        return None
    alike = [place for place, each in enumerate(branches_of(target)) if each.kind == branch.kind]
    named = [place for place in alike if belongs_by_name(branch, branches_of(target)[place])]
    if len(named) == 1:
        return named[0]
    is_only = sum(each.kind == branch.kind for each in table.branches) == 1
    return alike[0] if is_only and len(alike) == 1 else None


def _are_distinct(union: UnionType) -> bool:
    shapes = [shape for branch in union.branches for shape in shapes_of(branch)]
    return len(set(shapes)) == len(shapes)
