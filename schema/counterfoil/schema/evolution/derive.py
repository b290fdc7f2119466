"""Derive a conversion plan: the pair walk of two schemas, with rules where they are needed.

Each target field is filled by the first of these that there is: a rule; the source field of the same name, or of an
alias on either side; for a nullable source, the target's default in place of null; the target's default, or null.
Records are walked into, arrays by their items, maps by their values. Whatever would lose or refuse a value is a
problem until a rule says how it is to be done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.assign import Assigner, Value
from counterfoil.schema.evolution.model import (
    BuildRecord,
    Cast,
    Constant,
    ConversionPlan,
    MapBranches,
    MapItems,
    MapValues,
    Op,
    PlanRow,
    Problem,
    ProblemKind,
    Read,
    Widen,
)
from counterfoil.schema.evolution.rules import PlanRules
from counterfoil.schema.evolution.scope import Scope, unused_paths
from counterfoil.schema.evolution.types import (
    NoValue,
    describe,
    is_instant,
    same_values,
    split_null,
    value_of_json,
)
from counterfoil.schema.formats.avro.types import Array, Field, Map, Record, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.evolution.model import Scalar
    from counterfoil.schema.evolution.rules import FieldRule
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType


def derive_plan(source: AvroSchema, target: AvroSchema, rules: PlanRules | None = None) -> ConversionPlan:
    """The plan that fills ``target`` from ``source``.

    Never raises for what is left open: ``plan.problems`` lists all of it, in the target's order, and a plan without
    problems (``plan.is_complete``) converts every value or says why not.
    """
    rules = rules or PlanRules()
    if not isinstance(source.root, Record) or not isinstance(target.root, Record):
        side = target.root if isinstance(source.root, Record) else source.root
        problem = Problem(
            ProblemKind.UNSUPPORTED, "", f"a plan is made between two records; the top-level type is {describe(side)}"
        )
        return ConversionPlan(source, target, BuildRecord(()), (problem,))
    return _Deriver(rules).derive(source, target)


def derive_resolution(writer: AvroSchema, reader: AvroSchema) -> ConversionPlan:
    """The plan that Avro's schema resolution is: how data of ``writer`` become values of ``reader``.

    Only what stands on both sides is looked at as Avro does: names and the reader's aliases, promotions, defaults. Its
    problems are what this operation algebra cannot say, or what Avro cannot resolve.
    """
    if not isinstance(writer.root, Record) or not isinstance(reader.root, Record):
        return derive_plan(writer, reader)
    return _Deriver(PlanRules(drop_rest=True), resolving=True).derive(writer, reader)


def resolution_conflicts(writer: AvroSchema, reader: AvroSchema) -> list[tuple[str, str]]:
    """Where Avro would read a writer's number as the reader's although it means something else: path and reason.

    Resolution leaves logical types out of account: milliseconds are read as microseconds, cents as euros.
    """
    found: list[tuple[str, str]] = []
    for where, source, target in _conversions(derive_resolution(writer, reader).root, ""):
        if "decimal" in {source.word, target.word} or (is_instant(source) and is_instant(target)):
            found.append((where, f"a writer's {source} would be read as {target}"))
    return found


def _conversions(op: Any, where: str) -> Iterator[tuple[str, Scalar, Scalar]]:
    """Every change of a scalar type in an operation, with the target path."""
    if isinstance(op, (Cast, Widen)):
        yield where, op.source, op.target
    if isinstance(op, BuildRecord):
        for name, member in op.fields:
            yield from _conversions(member, f"{where}.{name}" if where else name)
    elif isinstance(op, MapBranches):
        for _, branch in op.branches:
            yield from _conversions(branch, where)
    elif isinstance(op, (MapItems, MapValues)):
        yield from _conversions(op.item if isinstance(op, MapItems) else op.value, f"{where}[]")
    elif hasattr(op, "of"):
        yield from _conversions(op.of, where)


@dataclass(slots=True)
class _RuleNode:
    """The rules at one target path and below it."""

    rule: FieldRule | None = None
    children: dict[str, _RuleNode] = field(default_factory=dict)

    def child(self, segment: str) -> _RuleNode:
        return self.children.get(segment) or _RuleNode()


@dataclass(frozen=True, slots=True)
class _Match:
    """A source record that a target record was matched with: its path in the scope, and its fields."""

    path: tuple[str, ...]
    record: Record


class _Deriver:
    """One derivation. Problems and rows gather here while the trees are walked."""

    def __init__(self, rules: PlanRules, *, resolving: bool = False) -> None:
        self._rules = rules
        self._resolving = resolving
        self._problems: list[Problem] = []
        self._rows: list[PlanRow] = []
        self._lossy: list[str] = []
        self._open_pairs: set[tuple[int, int]] = set()
        self._assigner = Assigner(self._problem, self._lossy.append, resolving=resolving)

    def derive(self, source: AvroSchema, target: AvroSchema) -> ConversionPlan:
        if not isinstance(source.root, Record) or not isinstance(target.root, Record):  # for the type checker
            raise TypeError
        scope = Scope(source.root)
        root = self._record(target.root, _Match((), source.root), self._rule_tree(), scope, "")
        dropped = self._settle_unused(scope)
        return ConversionPlan(
            source, target, root, tuple(self._problems), tuple(self._rows), dropped, tuple(dict.fromkeys(self._lossy))
        )

    def _rule_tree(self) -> _RuleNode:
        root = _RuleNode()
        for rule in self._rules.fields:
            node = root
            for segment in rule.target:
                node = node.children.setdefault(segment, _RuleNode())
            node.rule = rule
        return root

    def _problem(self, kind: ProblemKind, where: str, text: str) -> None:
        self._problems.append(Problem(kind, where, text))

    def _record(self, target: Record, match: _Match | None, node: _RuleNode, scope: Scope, prefix: str) -> BuildRecord:
        """The record from its fields; ``match`` is the source record that they are looked up in."""
        names = [member.name for member in target.fields]
        for segment in node.children:
            if segment not in names:
                self._unknown_target(f"{prefix}{segment}", segment, names)
        built = []
        for member in target.fields:
            op = self._field(member, match, node.child(member.name), scope, f"{prefix}{member.name}")
            if op is not None:
                built.append((member.name, op))
        return BuildRecord(tuple(built))

    def _unknown_target(self, where: str, segment: str, names: list[str]) -> None:
        near = get_close_matches(segment, names, n=1)
        meant = f"did you mean {near[0]}?" if near else f"the fields there are {', '.join(names) or 'none'}"
        self._problem(ProblemKind.UNKNOWN, where, f"the target has no such field; {meant}")

    def _field(self, member: Field, match: _Match | None, node: _RuleNode, scope: Scope, where: str) -> Op | None:
        if node.rule is not None:
            if node.children:
                self._problem(
                    ProblemKind.WRONG_TYPE, where, "there is a rule for the field and one inside it; keep one of them"
                )
            return self._by_rule(node.rule, member, scope, where)
        found = self._partner(member, match.record) if match else None
        if match and found:
            return self._by_name(member, found, match, node, scope, where)
        if node.children:
            return self._from_children(member, node, scope, where)
        return self._without_source(member, scope, where)

    def _partner(self, member: Field, record: Record) -> Field | None:
        """The source field that a target field succeeds: by name, by its aliases, by the source's aliases."""
        by_name = {candidate.name: candidate for candidate in record.fields}
        for name in (member.name, *member.aliases):
            if name in by_name:
                return by_name[name]
        if self._resolving:  # a writer's aliases say nothing to a reader
            return None
        return next((candidate for candidate in record.fields if member.name in candidate.aliases), None)

    def _by_rule(self, rule: FieldRule, member: Field, scope: Scope, where: str) -> Op | None:
        op = self._assigner.by_rule(rule, member.type, scope, where)
        how, sources, note = self._assigner.story(rule)
        self._rows.append(PlanRow(where, how, sources, note))
        return op

    def _by_name(
        self, member: Field, found: Field, match: _Match, node: _RuleNode, scope: Scope, where: str
    ) -> Op | None:
        path = (*match.path, found.name)
        value = Value(Read(path), found.type, scope.is_nullable(path))
        row = len(self._rows)
        op = self._fit(value, member, node, scope, where)
        spelt = "".join((scope.prefix, ".".join(path)))
        how = "same name" if found.name == member.name else "alias"
        if op is not None and not _is_part_by_part(op):
            note = _widened(found.type, member.type)
            if scope.is_nullable(path) and not split_null(member.type)[0]:
                note = "; ".join(filter(None, (note, f"null becomes the default {member.default!r}")))
            self._rows.insert(row, PlanRow(where, how, spelt, note))
        return op

    def _fit(self, value: Value, member: Field, node: _RuleNode, scope: Scope, where: str) -> Op | None:
        """The value as the field's type, walked into where the two types have parts."""
        default = member.default if member.has_default else None
        return self._assigner.settle_null(
            value,
            member.type,
            where,
            self._parts(value, member.type, node, scope, where),
            default=(default,) if member.has_default else None,
        )

    def _parts(self, value: Value, target: AvroType, node: _RuleNode, scope: Scope, where: str) -> Op | None:
        """The value as the target's type without null; records, arrays and maps by their parts."""
        _, source_type = split_null(value.type)
        _, target_type = split_null(target)
        if source_type is None or target_type is None:
            if isinstance(value.op, Read):
                scope.use(value.op.path)
            return self._assigner.plain(value, target, where)
        if node.children or not same_values(source_type, target_type):
            pair = (id(source_type), id(target_type))
            if pair in self._open_pairs:
                if isinstance(value.op, Read):
                    scope.use(value.op.path)
                self._problem(
                    ProblemKind.UNSUPPORTED,
                    where,
                    f"{describe(target_type)} contains itself, so it can only be copied unchanged",
                )
                return None
            self._open_pairs.add(pair)
            try:
                made = self._by_parts(value, source_type, target_type, node, scope, where)
            finally:
                self._open_pairs.discard(pair)
            if made is not _NO_PARTS:
                return made
        for segment in node.children:
            self._problem(ProblemKind.UNKNOWN, f"{where}.{segment}", f"{describe(target_type)} has no such part")
        if isinstance(value.op, Read):
            scope.use(value.op.path)
        return self._assigner.plain(value, target, where)

    def _by_parts(
        self, value: Value, source: AvroType, target: AvroType, node: _RuleNode, scope: Scope, where: str
    ) -> Any:
        """The value by its parts, or ``_NO_PARTS`` for a pair that has none in common."""
        if isinstance(source, Record) and isinstance(target, Record) and isinstance(value.op, Read):
            scope.enter(value.op.path)
            inner = scope.guarded(value.op.path)
            built = self._record(target, _Match(value.op.path, source), node, inner, f"{where}.")
            return BuildRecord(built.fields, value.op if value.is_nullable else None)
        if isinstance(source, Array) and isinstance(target, Array):
            item = self._element(value, source.items, target.items, node, scope, (where, "[]"))
            return None if item is None else MapItems(value.op, item)
        if isinstance(source, Map) and isinstance(target, Map):
            item = self._element(value, source.values, target.values, node, scope, (where, "{}"))
            return None if item is None else MapValues(value.op, item)
        return _NO_PARTS

    def _element(
        self,
        value: Value,
        source: AvroType,
        target: AvroType,
        node: _RuleNode,
        scope: Scope,
        place: tuple[str, str],
    ) -> Op | None:
        """An item of an array or a value of a map, in a scope of its own."""
        where, segment = place
        path = value.op.path if isinstance(value.op, Read) else ()
        for other in node.children:
            if other != segment:
                self._problem(ProblemKind.UNKNOWN, f"{where}.{other}", f"write {where}{segment} for what is inside")
        below = scope.element(path, segment, source)
        child = node.child(segment)
        inner_where = f"{where}{segment}"
        item = Value(Read(()), source, split_null(source)[0])
        if child.rule is not None:
            below.use(())
            self._problem(ProblemKind.UNSUPPORTED, inner_where, "a rule can stand for a field inside, not for the item")
            return None
        return self._assigner.settle_null(
            item, target, inner_where, self._parts(item, target, child, below, inner_where), default=None
        )

    def _from_children(self, member: Field, node: _RuleNode, scope: Scope, where: str) -> Op | None:
        """A record without a partner, from the rules for its fields."""
        _, inner = split_null(member.type)
        if isinstance(inner, Record):
            return self._record(inner, None, node, scope, f"{where}.")
        for segment in node.children:
            text = f"{describe(member.type)} has no such part that could be filled without a source"
            self._problem(ProblemKind.UNKNOWN, f"{where}.{segment}", text)
        return None

    def _without_source(self, member: Field, scope: Scope, where: str) -> Op | None:
        if member.has_default:
            try:
                value = value_of_json(member.type, member.default)
            except NoValue as no_value:
                self._problem(
                    ProblemKind.WRONG_TYPE, where, f"its default {member.default!r} is no value; expected {no_value}"
                )
                return None
            self._rows.append(PlanRow(where, "default", "", repr(member.default)))
            return Constant(value)
        if split_null(member.type)[0] and not self._resolving:
            self._rows.append(PlanRow(where, "null", "", "nullable, and the source has no such field"))
            return Constant(None)
        near = get_close_matches(member.name, scope.names(), n=1)
        meant = f", such as {{from: {near[0]}}}" if near else ""
        self._problem(
            ProblemKind.UNCOVERED,
            where,
            f"nothing fills it: the source has no field of this name, and it has no default; give it a rule{meant}",
        )
        return None

    def _settle_unused(self, scope: Scope) -> tuple[str, ...]:
        """The dropped fields; what is neither used nor dropped becomes a problem."""
        unused = list(unused_paths(scope))
        known = set(scope.all_paths())
        for path in self._rules.drop:
            if path not in known:
                near = get_close_matches(path, known, n=1)
                meant = f"; did you mean {near[0]}?" if near else ""
                self._problem(ProblemKind.UNKNOWN, "drop", f"the source has no field {path}{meant}")
        dropped = []
        for path in unused:
            if self._rules.drop_rest or any(_is_within(path, listed) for listed in self._rules.drop):
                dropped.append(path)
            else:
                self._problem(
                    ProblemKind.UNUSED, path, "the source field goes nowhere; use it in a rule, or list it under drop"
                )
        return tuple(dropped)


_NO_PARTS = object()


def _is_part_by_part(op: Op) -> bool:
    """Whether the parts of the value have told their own rows."""
    inner = getattr(op, "of", op) if isinstance(op, (MapItems, MapValues)) else op
    return isinstance(inner, BuildRecord) or (
        isinstance(op, (MapItems, MapValues))
        and isinstance(op.item if isinstance(op, MapItems) else op.value, BuildRecord)
    )


def _is_within(path: str, listed: str) -> bool:
    return path == listed or path.startswith((f"{listed}.", f"{listed}[", f"{listed}{{"))


def _widened(source: AvroType, target: AvroType) -> str:
    """A note on how the type grew; empty where it did not."""
    source_null, source_inner = split_null(source)
    target_null, target_inner = split_null(target)
    notes = []
    if source_inner is not None and target_inner is not None and not same_values(source_inner, target_inner):
        notes.append(f"widened {describe(source_inner)} → {describe(target_inner)}")
    if target_null and not source_null and not isinstance(target_inner, Union):
        notes.append("may now be null")
    return ", ".join(notes)
