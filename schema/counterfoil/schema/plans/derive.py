"""Deriving a conversion plan: the pair walk of two schemas, with rules where they are needed.

Each target field is filled by the first of these that exists: a rule; the source field of the same name, or of an alias
on either side, or of the same Protobuf number, if no name and no rule uses that one; for a nullable source, the
target's default instead of null; the target's default, or null. The walk continues inside records, items of arrays and
values of maps. A conversion that would lose or refuse a value is a problem unless a rule requests it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans import shown
from counterfoil.schema.plans.assign import AssignedValue, Assigner
from counterfoil.schema.plans.casts import text_of_default
from counterfoil.schema.plans.formulas import spell
from counterfoil.schema.plans.given import (
    branch_of_union,
    check_branches,
    fields_together,
    oneof_as_union,
    refusals,
    unmet_demands,
)
from counterfoil.schema.plans.model import (
    BuildRecord,
    Constant,
    ConversionPlan,
    MapItems,
    MapValues,
    Op,
    PlanProblem,
    PlanRow,
    ProblemKind,
    Read,
)
from counterfoil.schema.plans.rules import NO_RULE, FieldRule, From, NumberMeaning, PlanRules, rule_text, rule_that_fits
from counterfoil.schema.plans.sources import RuleNode, RuleReader, SourceScope, story_of, unused_paths
from counterfoil.schema.plans.tree import (
    ArrayType,
    FieldIndexes,
    Leaf,
    MapType,
    Node,
    NotPlannable,
    RecordField,
    RecordType,
    UnionType,
    contents_dropped,
    limits_of,
    meaning_of,
    reading_notes,
    tree_of,
)
from counterfoil.schema.plans.types import (
    NoValue,
    describe,
    is_derived,
    same_values,
    scalar_of,
    split_null,
    value_of_json,
)
from counterfoil.schema.units import differ_in_unit

MIN_FIELDS: Final = 20_000
"""The largest number of fields of a plan between short schemas; for long ones it grows with their length."""
_CHARS_A_FIELD: Final = 10

_WHOLE: Final = "(value)"
"""The row of a value without parts, which has no field."""
_TOO_DEEP: Final = "the types of the schemas are nested too deep; flatten them"
SAME_NUMBER: Final = "same number"
"""How a row says that a field was found by its number alone."""


def derive_plan(source: ParsedSchema, target: ParsedSchema, rules: PlanRules | None = None) -> ConversionPlan:
    """Return the plan that fills ``target`` from ``source``.

    Never raises for problems: ``plan.problems`` lists all of them, in the target's order, and a plan without problems
    (``plan.is_complete``) converts every value or returns the reason of a failure.
    """
    return Deriver(rules or PlanRules()).derive(source, target)


@dataclass(frozen=True, slots=True)
class _Match:
    """A source record that a target record was matched with: its path in the scope, and its fields.

    ``siblings`` are the fields of the target record, and ``taken`` the names of source fields that no number finds.
    """

    path: tuple[str, ...]
    record: RecordType
    siblings: tuple[RecordField, ...] = ()
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Target:
    """The current place of the walk: the target path, the rules at and below it, and the scope of source paths.

    ``read`` are the paths in the scope that rules read. ``has_rules``: a bridge file may have rules for the fields.
    """

    where: str
    node: RuleNode
    scope: SourceScope
    read: frozenset[tuple[str, ...]] = frozenset()
    has_rules: bool = True

    def under(self, name: str) -> _Target:
        """Return the place of a field."""
        spelt = spell((name,))
        where = f"{self.where}.{spelt}" if self.where else spelt
        return replace(self, where=where, node=self.node.child(name))


class Deriver:
    """One derivation, which collects problems and rows during the walk.

    ``resolving`` follows Avro's schema resolution instead of this project's rules. Without ``needs_rules``, values are
    cast, and null is refused, where otherwise a rule would have to request it. ``numbered`` are the only source fields
    that a number may find; None: any.
    """

    def __init__(
        self,
        rules: PlanRules,
        *,
        resolving: bool = False,
        needs_rules: bool = True,
        numbered: frozenset[str] | None = None,
    ) -> None:
        self._rules = rules
        self._numbered = numbered
        self._resolving = resolving
        self._fields_left = Steps(MIN_FIELDS)
        self._problems: list[PlanProblem] = []
        self._rows: list[PlanRow] = []
        self._lossy: list[str] = []
        self._open_pairs: set[tuple[int, int]] = set()
        self._branch_scopes: list[SourceScope] = []
        self._source_fields = FieldIndexes()
        self._notes: list[str] = []
        self._by_number: list[str] = []
        self._assigner = Assigner(
            self._problem,
            self._lossy.append,
            self._branch,
            note=self._notes.append,
            resolving=resolving,
            needs_rules=needs_rules,
            rounds_decimals=rules.rounds,
        )
        self._reader = RuleReader(self._assigner, self._problem, self._lossy.append)

    def derive(self, source: ParsedSchema, target: ParsedSchema) -> ConversionPlan:
        """Return the plan between two records, two values without parts, such as texts, or two unions.

        A problem is its only content if the schemas are of other types.
        """
        roots = []
        for schema in (source, target):
            try:
                root = tree_of(schema)
            except NotPlannable as unplannable:
                return _without_plan(source, target, unplannable.problem)
            roots.append(root)
        chars = sum(len(each.text) + each.referenced_chars for each in (source, target))
        self._fields_left = Steps(max(MIN_FIELDS, chars // _CHARS_A_FIELD))
        try:
            return self._derived(source, target, roots)
        except OutOfSteps:
            problem = "the plan has too many fields: types that hold others several times are filled at each place"
            return _without_plan(source, target, problem)
        except RecursionError:
            return _without_plan(source, target, _TOO_DEEP)

    def _derived(self, source: ParsedSchema, target: ParsedSchema, roots: list[Node]) -> ConversionPlan:
        scope, rules = SourceScope(roots[0]), RuleNode.of(self._rules)
        place = _Target("", rules, scope, frozenset(rules.read()))
        built: Op | None
        match roots:
            case RecordType() as read, RecordType() as written:
                built = self._record(written, _Match((), read), place)
            case (Leaf() as read, Leaf() as written) | (UnionType() as read, UnionType() as written):
                built = self._single(read, written, place)
            case _:
                types = " and ".join(describe(root) for root in roots)
                pairs = "two records, two values without parts, or two unions"
                problem = f"a plan is made between {pairs}; the types are {types}"
                return _without_plan(source, target, problem)
        if built is not None:
            self._refuse_given(built, target, roots[1], scope)
        dropped = self._settle_unused(scope)
        self._ask_about_numbers()
        return ConversionPlan(
            source,
            target,
            BuildRecord(()) if built is None else built,
            problems=tuple(self._problems),
            described=tuple(self._rows),
            dropped=dropped,
            lossy=tuple(dict.fromkeys(self._lossy)),
            notes=() if self._resolving else (*self._source_notes(source, roots[0]), *dict.fromkeys(self._notes)),
            meaning_of=meaning_of,
        )

    def _refuse_given(self, built: Op, target: ParsedSchema, tree: Node, scope: SourceScope) -> None:
        """Report the values that the plan gives by itself and the target refuses.

        Stored plans had no such problems, and convert what other records there are. A reader's schema that another one
        is resolved to is not changed for its defaults.
        """
        if self._rules.numbers is NumberMeaning.ALL or self._resolving:
            return
        how_by_field = {row.target: row.how for row in self._rows}
        limits, is_nullable = limits_of(target), scope.is_nullable
        for each in refusals(built, tree, limits, how_by_field=how_by_field, is_nullable=is_nullable):
            self._problem(ProblemKind.WRONG_TYPE, each.where, each.text)

    @staticmethod
    def _source_notes(source: ParsedSchema, root: Node) -> tuple[str, ...]:
        """Return what of the source's records is not copied, and not checked."""
        return (*contents_dropped(root), *reading_notes(source))

    def _single(self, source: Leaf | UnionType, target: Leaf | UnionType, place: _Target) -> Op | None:
        """Return the operation for a value without parts, such as a key that is a text, or for a value of a union."""
        value = AssignedValue(Read(()), source, split_null(source)[0])
        op = self._assigner.settle_null(value, target, place.where, self._whole(value, target, place), default=None)
        if op is None:
            text = (
                f"not every {describe(source)} can become {describe(target)}, and a value without fields has no rules"
            )
            self._problems = [PlanProblem(ProblemKind.WRONG_TYPE, "", text)]
        else:
            self._rows.append(PlanRow(_WHOLE, "whole value", _WHOLE, _widened(source, target)))
        for segment in place.node.children:
            self._unknown_target(segment, segment, [])
        return op

    def _problem(self, kind: ProblemKind, where: str, text: str) -> None:
        self._problems.append(PlanProblem(kind, where, text))

    def _record(self, target: RecordType, match: _Match | None, place: _Target) -> BuildRecord:
        """Return the operation for a record; ``match`` is the source record in which its fields are looked up."""
        names = [member.name for member in target.fields]
        self._fields_left.spend(1 + len(names))
        for segment in place.node.children:
            if segment not in names:
                self._unknown_target(place.under(segment).where, segment, names)
        if match is not None:
            match = replace(match, siblings=tuple(target.fields), taken=self._taken(target, match, place))
        built = []
        for member in target.fields:
            op = self._field(member, match, place.under(member.name))
            if op is not None:
                built.append((member.name, op))
        self._check_oneofs(target, dict(built), place)
        for name, text in unmet_demands(target.demands, dict(built), place.scope.is_nullable) if target.demands else ():
            self._problem(ProblemKind.UNCOVERED, place.under(name).where if name else place.where, text)
        return BuildRecord(tuple(built))

    def _check_oneofs(self, target: RecordType, built: dict[str, Op], place: _Target) -> None:
        """Report fields of a oneof that every record would set beside others; those that some would set are noted.

        Stored plans had no such problems, and convert what other records there are.
        """
        if self._rules.numbers is NumberMeaning.ALL or not any(each.oneof for each in target.fields):
            return
        for together in fields_together(target, built, place.scope.is_nullable, place.scope.oneof_at):
            if together.always:
                self._problem(ProblemKind.LOSSY, place.where or together.oneof, together.text)
            else:
                self._notes.append(together.text)

    def _taken(self, target: RecordType, match: _Match, place: _Target) -> frozenset[str]:
        """Return the names of the source fields that a name, a rule or ``drop`` uses already."""
        if self._rules.numbers is NumberMeaning.ALL:
            return frozenset(member.name for member in target.fields)
        named = (self._named_partner(member, match.record) for member in target.fields)
        taken = {found.name for found in named if found is not None}
        depth = len(match.path)
        taken |= {path[depth] for path in place.read if len(path) > depth and path[:depth] == match.path}
        for member in match.record.fields:
            spelt = place.scope.prefix + spell((*match.path, member.name))
            if spelt in self._rules.drop or (self._numbered is not None and spelt not in self._numbered):
                taken.add(member.name)
        return frozenset(taken)

    def _ask_about_numbers(self) -> None:
        """Report the fields that were found by their numbers alone, if it is not said what that means: all at once."""
        if self._rules.numbers is not NumberMeaning.ASK or not self._by_number:
            return
        text = (
            f"{', '.join(self._by_number)}: another name with the same number, which says nothing where two topics "
            "were declared independently; say numbers: same if these are the same fields, or give them rules"
        )
        self._problem(ProblemKind.BY_NUMBER, "", text)

    def _branch(self, source: RecordType, target: RecordType, where: str) -> BuildRecord:
        """Return the operation for a record that is a branch of a union; its value is the scope, without rules."""
        scope = SourceScope(source, prefix=f"{where}.", place=where)
        self._branch_scopes.append(scope)
        outer, self._assigner.has_rules = self._assigner.has_rules, False
        try:
            return self._record(target, _Match((), source), _Target(where, RuleNode(), scope, has_rules=False))
        finally:
            self._assigner.has_rules = outer

    def _unknown_target(self, where: str, segment: str, names: list[str]) -> None:
        near = get_close_matches(segment, names, n=1)
        meant = f"did you mean {near[0]}?" if near else f"the fields there are {', '.join(names) or 'none'}"
        self._problem(ProblemKind.UNKNOWN, where, f"the target has no such field; {meant}")

    def _field(self, member: RecordField, match: _Match | None, place: _Target) -> Op | None:
        if place.node.rule is not None:
            return self._by_rule(place.node.rule, member, place)
        found = self._partner(member, match) if match else None
        if match and found:
            return self._by_name(member, found, (*match.path, found.name), place)
        if place.node.children:
            return self._from_children(member, place)
        if match is not None and not self._resolving:
            is_done, op = self._by_oneof(member, match, place)
            if is_done:
                return op
        return self._without_source(member, place)

    def _partner(self, member: RecordField, match: _Match) -> RecordField | None:
        """Return the source field of a target field: by name, by aliases of the two sides, by Protobuf number."""
        named = self._named_partner(member, match.record)
        if named is not None or self._resolving or member.number is None:
            return named
        same = self._source_fields.of(match.record).by_number.get(member.number, ())
        return next((candidate for candidate in same if candidate.name not in match.taken), None)

    def _named_partner(self, member: RecordField, record: RecordType) -> RecordField | None:
        """Return the source field of a target field by name, or by aliases of the two sides."""
        known = self._source_fields.of(record)
        for name in (member.name, *member.aliases):
            if name in known.by_name:
                return known.by_name[name]
        if self._resolving:  # a reader ignores the writer's aliases
            return None
        return known.by_alias.get(member.name)

    def _by_rule(self, rule: FieldRule, member: RecordField, place: _Target) -> Op | None:
        row = len(self._rows)
        if isinstance(rule.origin, From) and (rule.lookup, rule.cast, rule.failed) == (None, None, None):
            value = self._reader.find(rule.origin.path, place.scope, place.where)
            made = None if value is None else self._parts(value, member.type, place)
            op = None if value is None else self._reader.settled(rule, made, value, member.type, place.where)
        else:
            if place.node.children:
                text = "there is a rule for the field and one inside it; keep one of them"
                self._problem(ProblemKind.WRONG_TYPE, place.where, text)
            op = self._reader.by_rule(rule, member.type, place.scope, place.where)
        how, sources, note = story_of(rule)
        self._rows.insert(row, PlanRow(place.where, how, sources, note))
        return op

    def _by_name(self, member: RecordField, found: RecordField, path: tuple[str, ...], place: _Target) -> Op | None:
        is_nullable = place.scope.is_nullable(path)
        value = AssignedValue(Read(path), found.type, is_nullable)
        row = len(self._rows)
        made = self._parts(value, member.type, place)
        default = (member.default,) if member.has_default else None
        op = self._assigner.settle_null(value, member.type, place.where, made, default=default)
        by_number = self._note_number(member, found, path, place)
        if op is not None and (by_number or not _is_part_by_part(op)):
            notes = [by_number, _widened(found.type, member.type)]
            if is_nullable and not split_null(member.type)[0]:
                notes.append(f"null becomes the default {text_of_default(member.type, member.default)}")
            how = _how_found(member, found)
            spelt = place.scope.prefix + spell(path)
            self._rows.insert(row, PlanRow(place.where, how, spelt, "; ".join(filter(None, notes))))
        return op

    def _note_number(self, member: RecordField, found: RecordField, path: tuple[str, ...], place: _Target) -> str:
        """Return a note about a match by the number alone, and keep it for the question about all; else no text."""
        if _how_found(member, found) != SAME_NUMBER:
            return ""
        self._by_number.append(f"{place.where} from {place.scope.prefix + spell(path)} (number {member.number})")
        units = " and have other units" if differ_in_unit(found.name, member.name) else ""
        return f"BY NUMBER {member.number} ALONE, the names differ{units}"

    def _by_oneof(self, member: RecordField, match: _Match, place: _Target) -> tuple[bool, Op | None]:
        """Return whether one side has a oneof and the other a union of its name, and if so the operation."""
        _, inner = split_null(member.type)
        parts = [(each, (*match.path, each.name)) for each in match.record.fields if each.oneof == member.name]
        if isinstance(inner, UnionType) and parts:
            for _, path in parts:
                place.scope.use(path)
            op = oneof_as_union(parts, inner, place.where, assigner=self._assigner)
            self._rows.append(PlanRow(place.where, "oneof", ", ".join(spell(path) for _, path in parts)))
            default = (member.default,) if member.has_default else None
            value = AssignedValue(Read(()), inner, is_nullable=True)
            return True, self._assigner.settle_null(value, member.type, place.where, op, default=default)
        found = next((each for each in match.record.fields if member.oneof and each.name == member.oneof), None)
        union = split_null(found.type)[1] if found is not None else None
        if found is None or not isinstance(union, UnionType):
            return False, None
        path = (*match.path, found.name)
        place.scope.use(path)
        members = [each for each in match.siblings if each.oneof == member.oneof]
        if members[0] is member:
            check_branches(place.where, members, union, self._problem)
        self._rows.append(PlanRow(place.where, "branch", spell(path)))
        return True, branch_of_union(member, members, union, Read(path), place.where, assigner=self._assigner)

    def _parts(self, value: AssignedValue, target: Node, place: _Target) -> Op | None:
        """Return a value other than null as the target's type; records, arrays and maps by their parts."""
        _, source_type = split_null(value.type)
        _, target_type = split_null(target)
        if source_type is None or target_type is None:
            return self._whole(value, target, place)
        if place.node.children or not same_values(source_type, target_type):
            pair = (id(source_type), id(target_type))
            if pair in self._open_pairs:
                self._self_contained(value, target_type, place)
                return None
            self._open_pairs.add(pair)
            try:
                is_done, made = self._by_parts(value, source_type, target_type, place)
            finally:
                self._open_pairs.discard(pair)
            if is_done:
                return made
        for segment in place.node.children:
            text = f"{describe(target_type)} has no such part"
            self._problem(ProblemKind.UNKNOWN, f"{place.where}.{segment}", text)
        return self._whole(value, target, place)

    def _whole(self, value: AssignedValue, target: Node, place: _Target) -> Op | None:
        """Return the value as a whole, and mark it as used."""
        if isinstance(value.op, Read):
            place.scope.use(value.op.path)
        return self._assigner.plain(value, target, place.where)

    def _self_contained(self, value: AssignedValue, target: Node, place: _Target) -> None:
        text = f"{describe(target)} contains itself, so it can only be copied unchanged"
        self._problem(ProblemKind.UNSUPPORTED, place.where, text)
        if isinstance(value.op, Read):
            place.scope.use(value.op.path)

    def _by_parts(self, value: AssignedValue, source: Node, target: Node, place: _Target) -> tuple[bool, Op | None]:
        """Return whether both types have parts, and if so the value by its parts."""
        if isinstance(source, RecordType) and isinstance(target, RecordType) and isinstance(value.op, Read):
            path = value.op.path
            place.scope.enter(path)
            inner = replace(place, scope=place.scope.guarded(path))
            built = self._record(target, _Match(path, source), inner)
            return True, BuildRecord(built.fields, value.op if value.is_nullable else None)
        if isinstance(source, ArrayType) and isinstance(target, ArrayType):
            item = self._element(value, (source.items, target.items), "[]", place)
            return True, None if item is None else MapItems(value.op, item)
        if isinstance(source, MapType) and isinstance(target, MapType):
            item = self._element(value, (source.values, target.values), "{}", place)
            return True, None if item is None else MapValues(value.op, item)
        return False, None

    def _element(self, value: AssignedValue, types: tuple[Node, Node], segment: str, place: _Target) -> Op | None:
        """Return the operation for an item of an array or a value of a map, in a scope of its own."""
        source, target = types
        for other in place.node.children:
            if other != segment:
                inside = "" if other in {"[]", "{}"} else f".{spell((other,))}"
                text = f"write {place.where}{segment}{inside} for what is inside"
                self._problem(ProblemKind.UNKNOWN, f"{place.where}.{other}", text)
        path = value.op.path if isinstance(value.op, Read) else ()
        scope = place.scope.element(path, segment, source)
        node = place.node.child(segment)
        read = frozenset(node.read())
        below = _Target(f"{place.where}{segment}", node, scope, read, has_rules=place.has_rules)
        if below.node.rule is not None:
            scope.use(())
            text = "a rule can stand for a field inside, not for the item"
            self._problem(ProblemKind.UNSUPPORTED, below.where, text)
            return None
        item = AssignedValue(Read(()), source, split_null(source)[0])
        made = self._parts(item, target, below)
        return self._assigner.settle_null(item, target, below.where, made, default=None)

    def _from_children(self, member: RecordField, place: _Target) -> Op | None:
        """Return the operation for a record without a source record, from the rules for its fields."""
        _, inner = split_null(member.type)
        if isinstance(inner, RecordType):
            return self._record(inner, None, place)
        for segment in place.node.children:
            text = f"{describe(member.type)} has no such part that could be filled without a source"
            self._problem(ProblemKind.UNKNOWN, f"{place.where}.{segment}", text)
        return None

    def _without_source(self, member: RecordField, place: _Target) -> Op | None:
        if member.has_default:
            return self._default(member, place.where)
        if split_null(member.type)[0] and (member.may_be_absent or not self._resolving):
            self._rows.append(PlanRow(place.where, "null", "", "nullable, and the source has no such field"))
            return Constant(None)
        advice = f"give it a rule{self._near_rule(member, place)}" if place.has_rules else NO_RULE.format("it")
        self._problem(
            ProblemKind.UNCOVERED,
            place.where,
            f"nothing fills it: the source has no field of this name, and it has no default; {advice}",
        )
        return None

    def _near_rule(self, member: RecordField, place: _Target) -> str:
        """Return the rule from the source field of the most similar name, if that can fill the field."""
        near = get_close_matches(member.name, place.scope.names(), n=1)
        found = place.scope.type_at((near[0],)) if near else None
        if found is None or differ_in_unit(near[0], member.name):
            return ""
        is_nullable = place.scope.is_nullable((near[0],))
        rule = rule_that_fits(spell((near[0],)), found, member.type, is_nullable=is_nullable)
        return "" if rule is None else f", such as {rule_text(rule)}"

    def _default(self, member: RecordField, where: str) -> Op | None:
        try:
            value = value_of_json(member.type, member.default)
        except NoValue as no_value:
            text = f"its default {shown(member.default)} is no value; expected {no_value}"
            self._problem(ProblemKind.WRONG_TYPE, where, text)
            return None
        self._rows.append(PlanRow(where, "default", "", text_of_default(member.type, member.default)))
        return Constant(value)

    def _settle_unused(self, scope: SourceScope) -> tuple[str, ...]:
        """Return the dropped fields; fields that are neither used nor dropped become problems."""
        scopes = (scope, *self._branch_scopes)
        unused = [path for each in scopes for path in unused_paths(each)]
        known = {path for each in scopes for path in each.all_paths()}
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
                    ProblemKind.UNUSED, path, "nothing uses the source field; use it in a rule, or list it under drop"
                )
        return tuple(dropped)


def _without_plan(source: ParsedSchema, target: ParsedSchema, problem: str) -> ConversionPlan:
    problems = (PlanProblem(ProblemKind.UNSUPPORTED, "", problem),)
    return ConversionPlan(source, target, BuildRecord(()), problems, meaning_of=meaning_of)


def _is_part_by_part(op: Op) -> bool:
    """Return whether the parts of the value have rows of their own."""
    inner = getattr(op, "of", op) if isinstance(op, (MapItems, MapValues)) else op
    return isinstance(inner, BuildRecord) or (
        isinstance(op, (MapItems, MapValues))
        and isinstance(op.item if isinstance(op, MapItems) else op.value, BuildRecord)
    )


def _how_found(member: RecordField, found: RecordField) -> str:
    """Return the relation of a target field to its source field, as a word."""
    if found.name == member.name:
        return "same name"
    return "alias" if {found.name, *found.aliases} & {member.name, *member.aliases} else SAME_NUMBER


def _is_within(path: str, listed: str) -> bool:
    return path == listed or path.startswith((f"{listed}.", f"{listed}[", f"{listed}{{"))


def _widened(source: Node, target: Node) -> str:
    """Return a note about a larger type; empty if the type is not larger."""
    source_null, source_inner = split_null(source)
    target_null, target_inner = split_null(target)
    notes = []
    if source_inner is not None and target_inner is not None and not same_values(source_inner, target_inner):
        left, right = scalar_of(source_inner), scalar_of(target_inner)
        word = "written as" if left and right and is_derived(left, right) else "widened"
        notes.append(f"{word} {describe(source_inner)} → {describe(target_inner)}")
    if target_null and not source_null and not isinstance(target_inner, UnionType):
        notes.append("may now be null")
    return ", ".join(notes)
