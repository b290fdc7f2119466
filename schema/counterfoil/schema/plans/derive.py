"""Deriving a conversion plan: the pair walk of two schemas, with rules where they are needed.

Each target field is filled by the first of these that exists: a rule; the source field of the same name, or of an alias
on either side, or of the same Protobuf number, if no name and no rule uses that one; for a nullable source, the
target's default instead of null; the target's default, or null. The walk continues inside records, items of arrays and
values of maps. A conversion that would lose or refuse a value is a problem unless a rule requests it.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans import shown
from counterfoil.schema.plans.assign import AssignedValue, Assigner
from counterfoil.schema.plans.branches import BranchTable
from counterfoil.schema.plans.casts import text_of_default
from counterfoil.schema.plans.formulas import BranchSegment, Path, spell, target_path
from counterfoil.schema.plans.given import fields_together, refusals, unmet_demands
from counterfoil.schema.plans.model import (
    BuildRecord,
    Constant,
    ConversionPlan,
    FirstSet,
    MapItems,
    MapValues,
    Op,
    PlanProblem,
    PlanRow,
    ProblemKind,
    Read,
    Tag,
)
from counterfoil.schema.plans.oneofs import branch_of_union, untaken_branches
from counterfoil.schema.plans.places import RecordMatch, RuleNode, TargetPlace
from counterfoil.schema.plans.recursion import OpenPair, Recursion, paths_outside
from counterfoil.schema.plans.rows import SAME_NUMBER, how_found, is_part_by_part, widened_note
from counterfoil.schema.plans.rules import FieldRule, From, NumberMeaning, PlanRules, rule_text, rule_that_fits
from counterfoil.schema.plans.scopes import SourceScope, has_path, is_within, unused_paths
from counterfoil.schema.plans.sources import RuleReader, story_of
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
    nullable,
    reading_notes,
    tree_of,
)
from counterfoil.schema.plans.types import NoValue, describe, same_values, split_null, value_of_json
from counterfoil.schema.plans.unions import UnionWalk
from counterfoil.schema.units import differ_in_unit

MIN_FIELDS: Final = 20_000
"""The largest number of fields of a plan between short schemas; for long ones it grows with their length."""
_CHARS_A_FIELD: Final = 10

_WHOLE: Final = "(value)"
"""The row of a value without parts, which has no field."""
_TOO_DEEP: Final = "the types of the schemas are nested too deep; flatten them"


def derive_plan(source: ParsedSchema, target: ParsedSchema, rules: PlanRules | None = None) -> ConversionPlan:
    """Return the plan that fills ``target`` from ``source``.

    Never raises for problems: ``plan.problems`` lists all of them, in the target's order, and a plan without problems
    (``plan.is_complete``) converts every value or returns the reason of a failure.
    """
    return Deriver(rules or PlanRules()).derive(source, target)


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
        self._recursion = Recursion()
        self._source_fields = FieldIndexes()
        self._notes: list[str] = []
        self._by_number: list[str] = []
        self._assigner = Assigner(
            self.report,
            self._lossy.append,
            note=self._notes.append,
            resolving=resolving,
            needs_rules=needs_rules,
            rounds_decimals=rules.rounds,
        )
        self._reader = RuleReader(self._assigner, self.report, self._lossy.append)
        self._unions = UnionWalk(self, self._assigner, self._reader, resolving=resolving)

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
        place = TargetPlace("", rules, scope, frozenset(rules.read()), split_null(roots[1])[0])
        built: Op | None
        match roots:
            case (RecordType() | UnionType() as read, RecordType() | UnionType() as written):
                built = self._whole_record(read, written, place)
            case Leaf() as read, Leaf() as written:
                built = self._single(read, written, place)
            case _:
                types = " and ".join(describe(root) for root in roots)
                pairs = "two records or unions, or two values without parts"
                problem = f"a plan is made between {pairs}; the types are {types}"
                return _without_plan(source, target, problem)
        if built is not None:
            self._refuse_given(built, target, roots[1], scope)
        dropped = self._settle_unused(scope)
        self._ask_about_numbers()
        return ConversionPlan(
            source,
            target,
            BuildRecord(()) if built is None else self._recursion.defined(built),
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
            self.report(ProblemKind.WRONG_TYPE, each.where, each.text)

    @staticmethod
    def _source_notes(source: ParsedSchema, root: Node) -> tuple[str, ...]:
        """Return what of the source's records is not copied, and not checked."""
        return (*contents_dropped(root), *reading_notes(source))

    def _whole_record(
        self, source: RecordType | UnionType, target: RecordType | UnionType, place: TargetPlace
    ) -> Op | None:
        """Return the operation for a record, or for a union of several types, such as the events of one topic."""
        if isinstance(source, RecordType) and isinstance(target, RecordType):
            return self._pair(source, target, (), place)
        value = AssignedValue(Read(()), source, split_null(source)[0])
        self._rows.append(PlanRow(_WHOLE, "whole value", _WHOLE, widened_note(source, target)))
        op = self._assigner.settle_null(value, target, place.where, self.parts(value, target, place), default=None)
        for segment in place.node.children:
            if not isinstance(segment, BranchSegment) and same_values(source, target):
                self._unknown_target(segment, segment, [])
        return op

    def _single(self, source: Leaf, target: Leaf, place: TargetPlace) -> Op | None:
        """Return the operation for a value without parts, such as a key that is a text."""
        value = AssignedValue(Read(()), source, split_null(source)[0])
        op = self._assigner.settle_null(value, target, place.where, self._whole(value, target, place), default=None)
        if op is None:
            text = (
                f"not every {describe(source)} can become {describe(target)}, and a value without fields has no rules"
            )
            self._problems = [PlanProblem(ProblemKind.WRONG_TYPE, "", text)]
        else:
            self._rows.append(PlanRow(_WHOLE, "whole value", _WHOLE, widened_note(source, target)))
        for segment in place.node.children:
            self._unknown_target(segment, segment, [])
        return op

    def report(self, kind: ProblemKind, where: str, text: str) -> None:
        """Report a problem."""
        self._problems.append(PlanProblem(kind, where, text))

    def add_row(self, row: PlanRow, at: int | None = None) -> int:
        """Add a row, or put it in the place of another one, and return its place."""
        if at is None:
            self._rows.append(row)
            return len(self._rows) - 1
        self._rows[at] = row
        return at

    def _record(self, target: RecordType, match: RecordMatch | None, place: TargetPlace) -> BuildRecord:
        """Return the operation for a record; ``match`` is the source record in which its fields are looked up."""
        names = [member.name for member in target.fields]
        self._fields_left.spend(1 + len(names))
        for segment in place.node.children:
            if isinstance(segment, BranchSegment):
                text = f"{describe(target)} is no union; write its field without <{segment}>"
                self.report(ProblemKind.UNKNOWN, place.under(segment).where, text)
            elif segment not in names:
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
            self.report(ProblemKind.UNCOVERED, place.under(name).where if name else place.where, text)
        return BuildRecord(tuple(built))

    def _check_oneofs(self, target: RecordType, built: dict[str, Op], place: TargetPlace) -> None:
        """Report fields of a oneof that every record would set beside others; those that some would set are noted.

        Stored plans had no such problems, and convert what other records there are.
        """
        if self._rules.numbers is NumberMeaning.ALL or not any(each.oneof for each in target.fields):
            return
        for together in fields_together(target, built, place.scope.is_nullable, place.scope.oneof_at):
            if together.always:
                self.report(ProblemKind.LOSSY, place.where or together.oneof, together.text)
            else:
                self._notes.append(together.text)

    def _taken(self, target: RecordType, match: RecordMatch, place: TargetPlace) -> frozenset[str]:
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
        self.report(ProblemKind.BY_NUMBER, "", text)

    def _unknown_target(self, where: str, segment: str, names: list[str]) -> None:
        near = get_close_matches(segment, names, n=1)
        meant = f"did you mean {near[0]}?" if near else f"the fields there are {', '.join(names) or 'none'}"
        self.report(ProblemKind.UNKNOWN, where, f"the target has no such field; {meant}")

    def _field(self, member: RecordField, match: RecordMatch | None, place: TargetPlace) -> Op | None:
        if place.node.rule is not None:
            return self._by_rule(place.node.rule, member.type, place)
        found = self._partner(member, match) if match else None
        if match and found:
            return self._by_name(member, found, (*match.path, found.name), place)
        is_union = isinstance(split_null(member.type)[1], UnionType)
        if match is not None and not self._resolving and (is_union or not place.node.children):
            is_done, op = self._by_oneof(member, match, place)
            if is_done:
                return op
        return self._from_children(member, place) if place.node.children else self._without_source(member, place)

    def _partner(self, member: RecordField, match: RecordMatch) -> RecordField | None:
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

    def _by_rule(self, rule: FieldRule, target: Node, place: TargetPlace) -> Op | None:
        row = len(self._rows)
        if rule.to is not None:
            op = self._to_branch(rule, target, place)
        elif isinstance(rule.origin, From) and (rule.lookup, rule.cast, rule.failed) == (None, None, None):
            op = self._from(rule, rule.origin, target, place)
        else:
            if place.node.children:
                text = "there is a rule for the field and one inside it; keep one of them"
                self.report(ProblemKind.WRONG_TYPE, place.where, text)
            op = self._reader.by_rule(rule, target, place.scope, place.where)
        how, sources, note = story_of(rule)
        self._rows.insert(row, PlanRow(place.where, how, sources, note))
        return op

    def _from(self, rule: FieldRule, origin: From, target: Node, place: TargetPlace) -> Op | None:
        """Return the value of a source field as it is, or part by part."""
        value = self._reader.find(origin.path, place.scope, place.where)
        if value is None:
            return None
        return self._reader.settled(rule, self.parts(value, target, place), value, target, place.where)

    def _to_branch(self, rule: FieldRule, target: Node, place: TargetPlace) -> Op | None:
        """Return the value of a rule as the branch of the target's union that it names."""
        _, union = split_null(target)
        branch = rule.to.destination if rule.to is not None else None
        index = BranchTable(union).index_of(branch) if union is not None and isinstance(branch, BranchSegment) else None
        if rule.is_whole or index is None or not isinstance(union, UnionType):
            text = (
                "to: names a branch of the target's union for the value of a rule, or says what becomes of a branch of "
                f"the source, in a rule for that branch, such as {place.where}<Card>"
            )
            if isinstance(union, UnionType) and isinstance(branch, BranchSegment):
                text = BranchTable(union).unknown(branch, "target")
            self.report(ProblemKind.WRONG_TYPE, place.where, text)
            return None
        wanted = nullable(union.branches[index]) if split_null(target)[0] else union.branches[index]
        op = self._by_rule(replace(rule, to=None), wanted, place)
        self._rows.pop()
        return Tag(op, index) if op is not None and union.is_tagged else op

    def _by_name(self, member: RecordField, found: RecordField, path: tuple[str, ...], place: TargetPlace) -> Op | None:
        is_nullable = place.scope.is_nullable(path)
        value = AssignedValue(Read(path), found.type, is_nullable)
        row = len(self._rows)
        made = self.parts(value, member.type, place)
        default = (member.default,) if member.has_default else None
        op = self._assigner.settle_null(value, member.type, place.where, made, default=default)
        by_number = self._note_number(member, found, path, place)
        if op is not None and (by_number or not is_part_by_part(op)):
            notes = [by_number, widened_note(found.type, member.type)]
            if is_nullable and not split_null(member.type)[0]:
                notes.append(f"null becomes the default {text_of_default(member.type, member.default)}")
            how = how_found(member, found)
            spelt = place.scope.prefix + spell(path)
            self._rows.insert(row, PlanRow(place.where, how, spelt, "; ".join(filter(None, notes))))
        return op

    def _note_number(self, member: RecordField, found: RecordField, path: tuple[str, ...], place: TargetPlace) -> str:
        """Return a note about a match by the number alone, and keep it for the question about all; else no text."""
        if how_found(member, found) != SAME_NUMBER:
            return ""
        self._by_number.append(f"{place.where} from {place.scope.prefix + spell(path)} (number {member.number})")
        units = " and have other units" if differ_in_unit(found.name, member.name) else ""
        return f"BY NUMBER {member.number} ALONE, the names differ{units}"

    def _by_oneof(self, member: RecordField, match: RecordMatch, place: TargetPlace) -> tuple[bool, Op | None]:
        """Return whether one side has a oneof and the other a union of its name, and if so the operation."""
        _, inner = split_null(member.type)
        parts = [(each, (*match.path, each.name)) for each in match.record.fields if each.oneof == member.name]
        if isinstance(inner, UnionType) and parts:
            self._rows.append(PlanRow(place.where, "oneof", ", ".join(spell(path) for _, path in parts)))
            values = [
                (each.name, AssignedValue(Read(path), single))
                for each, path in parts
                if (single := split_null(each.type)[1]) is not None
            ]
            inside = replace(place, takes_null=split_null(member.type)[0])
            made = self._unions.of_members(values, inner, inside)
            default = (member.default,) if member.has_default else None
            op = None if made is None else FirstSet(tuple(made))
            value = AssignedValue(Read(()), inner, is_nullable=True)
            return True, self._assigner.settle_null(value, member.type, place.where, op, default=default)
        found = next((each for each in match.record.fields if member.oneof and each.name == member.oneof), None)
        union = split_null(found.type)[1] if found is not None else None
        if found is None or not isinstance(union, UnionType):
            return False, None
        path = (*match.path, found.name)
        members = [each for each in match.siblings if each.oneof == member.oneof]
        if members[0] is member:
            self._check_branches(members, union, path, place)
        self._rows.append(PlanRow(place.where, "branch", spell(path)))
        return True, branch_of_union(member, members, union, Read(path), place=place, unions=self._unions)

    def _check_branches(
        self, members: list[RecordField], union: UnionType, path: tuple[str, ...], place: TargetPlace
    ) -> None:
        """Report the branches of a union that no field of a oneof takes."""
        place.scope.enter(path)
        for index in untaken_branches(members, union):
            place.scope.use((*path, BranchTable(union).segment(index)))
            text = f"no field of the oneof takes the branch {describe(union.branches[index])}"
            self.report(ProblemKind.LOSSY, place.where, text)

    def parts(self, value: AssignedValue, target: Node, place: TargetPlace) -> Op | None:
        """Return a value other than null as the target's type; records, arrays and maps by their parts."""
        _, source_type = split_null(value.type)
        takes_null, target_type = split_null(target)
        if source_type is None or target_type is None:
            return self._whole(value, target, place)
        if place.node.children or not same_values(source_type, target_type):
            inside = replace(place, takes_null=takes_null)
            is_done, made = self._by_parts(value, source_type, target_type, inside)
            if is_done:
                return made
        for segment in place.node.children:
            text = f"{describe(target_type)} has no such part"
            spelt = spell((segment,)) if isinstance(segment, BranchSegment) else f".{segment}"
            self.report(ProblemKind.UNKNOWN, f"{place.where}{spelt}", text)
        return self._whole(value, target, place)

    def _whole(self, value: AssignedValue, target: Node, place: TargetPlace) -> Op | None:
        """Return the value as a whole, and mark it as used."""
        if isinstance(value.op, Read):
            place.scope.use(value.op.path)
        return self._assigner.plain(value, target, place.where)

    def _by_parts(self, value: AssignedValue, source: Node, target: Node, place: TargetPlace) -> tuple[bool, Op | None]:
        """Return whether both types have parts, or one is a union, and if so the value by its parts."""
        if isinstance(source, UnionType) or isinstance(target, UnionType):
            return True, self._unions.convert(value, source, target, place)
        if isinstance(source, RecordType) and isinstance(target, RecordType) and isinstance(value.op, Read):
            return True, self._pair(source, target, value.op.path, place, is_nullable=value.is_nullable)
        if isinstance(source, ArrayType) and isinstance(target, ArrayType):
            item = self._element(value, (source.items, target.items), "[]", place)
            return True, None if item is None else MapItems(value.op, item)
        if isinstance(source, MapType) and isinstance(target, MapType):
            item = self._element(value, (source.values, target.values), "{}", place)
            return True, None if item is None else MapValues(value.op, item)
        return False, None

    def _pair(
        self, source: RecordType, target: RecordType, path: Path, place: TargetPlace, *, is_nullable: bool = False
    ) -> Op | None:
        """Return the operation for the record at a path: repeated, if it is derived already around this place."""
        has_rules = bool(place.node.children)
        known = self._recursion.met(source, target, has_rules=has_rules)
        if known is not None:
            return self._again(known, path, place)

        def derive() -> BuildRecord:
            place.scope.enter(path)
            inner = replace(place, scope=place.scope.guarded(path))
            built = self._record(target, RecordMatch(path, source), inner)
            return BuildRecord(built.fields, Read(path) if is_nullable else None)

        op, pair = self._recursion.derived((source, target), place.where, path, derive, has_rules=has_rules)
        if pair.is_repeated and (outside := paths_outside(op, path)):
            text = (
                f"{describe(target)} contains itself, so its rules are applied at every level, and can read the fields "
                f"of the level alone; {', '.join(dict.fromkeys(outside))} is outside"
            )
            self.report(ProblemKind.UNSUPPORTED, place.where, text)
        return op

    def _again(self, known: OpenPair, path: Path, place: TargetPlace) -> Op:
        for segment in place.node.children:
            text = (
                "a rule for a part of a type that contains itself is given once, at the outermost level: write "
                f"{f'{known.where}.' if known.where else ''}{spell((segment,))}"
            )
            self.report(ProblemKind.UNSUPPORTED, place.under(segment).where, text)
        place.scope.use(path)
        around = known.where or "the whole record"
        self._rows.append(PlanRow(place.where, "again", place.scope.spelt(path), f"as {around}, at every level"))
        return self._recursion.repeated(known, Read(path))

    def _element(self, value: AssignedValue, types: tuple[Node, Node], segment: str, place: TargetPlace) -> Op | None:
        """Return the operation for an item of an array or a value of a map, in a scope of its own."""
        source, target = types
        for other in place.node.children:
            if other != segment:
                inside = "" if other in {"[]", "{}"} else f".{spell((other,))}"
                text = f"write {place.where}{segment}{inside} for what is inside"
                self.report(ProblemKind.UNKNOWN, f"{place.where}.{other}", text)
        path = value.op.path if isinstance(value.op, Read) else ()
        below = place.inside(segment, place.scope.element(path, segment, source))
        if below.node.rule is not None:
            return self._by_rule(below.node.rule, target, below)
        item = AssignedValue(Read(()), source, split_null(source)[0])
        made = self.parts(item, target, below)
        return self._assigner.settle_null(item, target, below.where, made, default=None)

    def _from_children(self, member: RecordField, place: TargetPlace) -> Op | None:
        """Return the operation for a record without a source record, from the rules for its fields."""
        _, inner = split_null(member.type)
        if isinstance(inner, RecordType):
            return self._record(inner, None, place)
        for segment in place.node.children:
            text = f"{describe(member.type)} has no such part that could be filled without a source"
            self.report(ProblemKind.UNKNOWN, f"{place.where}.{segment}", text)
        return None

    def _without_source(self, member: RecordField, place: TargetPlace) -> Op | None:
        if member.has_default:
            return self._default(member, place.where)
        if split_null(member.type)[0] and (member.may_be_absent or not self._resolving):
            self._rows.append(PlanRow(place.where, "null", "", "nullable, and the source has no such field"))
            return Constant(None)
        advice = f"give it a rule{self._near_rule(member, place)}"
        self.report(
            ProblemKind.UNCOVERED,
            place.where,
            f"nothing fills it: the source has no field of this name, and it has no default; {advice}",
        )
        return None

    def _near_rule(self, member: RecordField, place: TargetPlace) -> str:
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
            self.report(ProblemKind.WRONG_TYPE, where, text)
            return None
        self._rows.append(PlanRow(where, "default", "", text_of_default(member.type, member.default)))
        return Constant(value)

    def _settle_unused(self, scope: SourceScope) -> tuple[str, ...]:
        """Return the dropped fields; fields that are neither used nor dropped become problems."""
        unused = list(unused_paths(scope))
        for path in self._rules.drop:
            if not has_path(scope.root, target_path(path)):
                near = get_close_matches(path, list(scope.all_paths()), n=1)
                meant = f"; did you mean {near[0]}?" if near else ""
                self.report(ProblemKind.UNKNOWN, "drop", f"the source has no field {path}{meant}")
        dropped = []
        for path in unused:
            if self._rules.drop_rest or any(is_within(path, listed) for listed in self._rules.drop):
                dropped.append(path)
            else:
                self.report(
                    ProblemKind.UNUSED, path, "nothing uses the source field; use it in a rule, or list it under drop"
                )
        return tuple(dropped)


def _without_plan(source: ParsedSchema, target: ParsedSchema, problem: str) -> ConversionPlan:
    problems = (PlanProblem(ProblemKind.UNSUPPORTED, "", problem),)
    return ConversionPlan(source, target, BuildRecord(()), problems, meaning_of=meaning_of)
