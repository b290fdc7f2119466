"""The part of a schema that a reader of one path relies on, and schemas with choices of null spelled as types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from counterfoil.schema.languages.jsonschema.view.facts import ANYTHING, ConstrainedSchema, KeywordFacts, scalars_of
from counterfoil.schema.paths import FieldPath, Step, StepKind
from counterfoil.schema.patterns.matching import holds_match

# The part of a schema that a reader of one path relies on: the constraints on the way to it, and all of those there.
#
# On the way, only types count, and that what contains the path is there if the schema requires it. Other properties and
# items are left out, also of what a condition demands, and so is what a negation says. All values of a schema are
# values of its part.

_MAX_MEANT: Final = 60
_OPEN: Final = frozenset({StepKind.MEMBER, StepKind.ITEM, StepKind.VALUE})


def part_of(schema: ConstrainedSchema, path: FieldPath) -> ConstrainedSchema:
    """Return the constraints of ``schema`` that a reader of ``path`` relies on."""
    return _Parts().at(schema, path)


class _Parts:
    """The parts of one schema; each is made once, since schemas may contain themselves."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], ConstrainedSchema] = {}

    def at(self, schema: ConstrainedSchema, path: FieldPath) -> ConstrainedSchema:
        """Return the part of a schema for the rest of a path."""
        if not path or schema.accepts_everything or _counts_what_is_left(schema.facts):
            return schema
        key = (id(schema), len(path))
        if key not in self._known:
            made = self._known[key] = ConstrainedSchema(KeywordFacts(), schema.pointer)
            self._fill(made.facts, schema.facts, path)
        return self._known[key]

    def _fill(self, part: KeywordFacts, facts: KeywordFacts, path: FieldPath) -> None:
        part.is_false, part.is_opaque = facts.is_false, facts.is_opaque
        part.counts_fractions, part.types = facts.counts_fractions, facts.types
        part.all_of = tuple(self.at(each, path) for each in facts.all_of)
        part.condition = facts.condition
        part.consequence, part.alternative = (
            None if each is None else self.at(each, path) for each in (facts.consequence, facts.alternative)
        )
        part.needed_schemas = {name: self.at(each, path) for name, each in facts.needed_schemas.items()}
        step, rest = path[0], path[1:]
        part.any_of = self._choice(facts.any_of, step, path)
        if facts.one_of is not None:
            chosen = self._choice(facts.one_of, step, path)
            part.all_of += (ConstrainedSchema(KeywordFacts(any_of=chosen)),)
        match step.kind:
            case StepKind.MEMBER:
                self._fill_member(part, facts, step.name, rest)
            case StepKind.VALUE:
                part.properties = dict.fromkeys(facts.properties, ANYTHING)
                is_other = not step.name
                patterns = facts.patterns.items()
                part.patterns = {
                    pattern: self.at(each, rest) if step.name in ("", pattern) else ANYTHING
                    for pattern, each in patterns
                }
                part.additional = self.at(facts.additional, rest) if facts.additional is not None and is_other else None
            case StepKind.ITEM:
                wanted = int(step.name) if step.name.isdecimal() else None
                part.prefix = tuple(
                    self.at(each, rest) if wanted in (None, index) else ANYTHING
                    for index, each in enumerate(facts.prefix)
                )
                is_other = wanted is None or wanted >= len(facts.prefix)
                part.items = self.at(facts.items, rest) if facts.items is not None and is_other else None

    def _fill_member(self, part: KeywordFacts, facts: KeywordFacts, name: str, rest: FieldPath) -> None:
        part.required = facts.required & {name}
        part.needed_names = {other: needed & {name} for other, needed in facts.needed_names.items() if name in needed}
        declared = facts.properties.get(name)
        if declared is not None:
            part.properties = {name: self.at(declared, rest)}
        matching = {pattern: each for pattern, each in facts.patterns.items() if holds_match(pattern, name)}
        if matching:
            found = tuple(self.at(each, rest) for each in (*part.properties.values(), *matching.values()))
            part.properties = {name: ConstrainedSchema(KeywordFacts(all_of=found))}
        elif declared is None and facts.additional is not None:
            part.properties = {name: self.at(facts.additional, rest)}

    def _choice(
        self, branches: tuple[ConstrainedSchema, ...] | None, step: Step, path: FieldPath
    ) -> tuple[ConstrainedSchema, ...] | None:
        """Return the parts of the branches of a choice; of a branch that the path names, that of the rest alone."""
        if branches is None or step.kind in _OPEN:
            return None if branches is None else tuple(self.at(each, path) for each in branches)
        named = int(step.name) if step.kind is StepKind.BRANCH and step.name.isdecimal() else None
        if named is None or named >= len(branches):
            return branches
        chosen = branches[named]
        return tuple(
            self.at(each, path[1:]) if index == named else _outline(each, chosen) for index, each in enumerate(branches)
        )


def _counts_what_is_left(facts: KeywordFacts) -> bool:
    """Return whether a schema is about what no other keyword evaluates, so that no keyword can be left out."""
    return facts.unevaluated_properties is not None or facts.unevaluated_items is not None


def _outline(branch: ConstrainedSchema, chosen: ConstrainedSchema) -> ConstrainedSchema:
    """Return what tells the values of a branch from those of the ``chosen`` one; all of it if nothing certainly does.

    That is another type, or the listed values of a property that it requires.
    """
    mine, others = _meant(branch), _meant(chosen)
    types, other_types = _types(mine), _types(others)
    if types is not None and other_types is not None and not types & other_types:
        return ConstrainedSchema(KeywordFacts(types=types), branch.pointer)
    required = frozenset(name for each in mine for name in each.required)
    told = {name: inner for each in mine for name, inner in each.properties.items() if inner.facts.values is not None}
    told = {name: inner for name, inner in told.items() if name in required}
    if not told:
        return branch
    return ConstrainedSchema(KeywordFacts(types=types, properties=told, required=frozenset(told)), branch.pointer)


def _meant(schema: ConstrainedSchema) -> list[KeywordFacts]:
    """Return the constraints of a schema, and of those that it refers to or combines by ``allOf``."""
    found: list[KeywordFacts] = []
    waiting, seen = [schema], {id(schema)}
    while waiting and len(found) < _MAX_MEANT:
        facts = waiting.pop().facts
        found.append(facts)
        waiting += [each for each in facts.all_of if id(each) not in seen]
        seen.update(map(id, facts.all_of))
    return found


def _types(constraints: list[KeywordFacts]) -> frozenset[str] | None:
    given = [each.types for each in constraints if each.types is not None]
    return frozenset.intersection(*given) if given else None


# A schema in which a choice of null and one other schema is spelled as that schema, with null as one more type.
#
# Keywords of objects, arrays and texts say nothing about null, so that both spellings accept the same values; and what
# is refused inside has a place there. A schema that says more of null, by a negation or a condition, stays as it is.

_NULL: Final = frozenset({"null"})
_MAX_REFERRED: Final = 60


class OptionalSpelling:
    """The other spelling of one schema; that of each schema in it is made once, when it is needed."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], _Spelled] = {}

    def of(self, schema: ConstrainedSchema, *, is_nullable: bool = False) -> ConstrainedSchema:
        """Return the other spelling of a schema; with ``is_nullable``, of one that accepts null as well."""
        if schema.accepts_everything or isinstance(schema, _Spelled):
            return schema
        key = (id(schema), is_nullable)
        if key not in self._known:
            self._known[key] = _Spelled(schema, self, is_nullable=is_nullable)
        return self._known[key]


class _Spelled(ConstrainedSchema):
    """A schema whose facts are spelled when they are read."""

    def __init__(self, base: ConstrainedSchema, spelling: OptionalSpelling, *, is_nullable: bool) -> None:
        super().__init__(None, base.pointer)
        self.base = base
        self._spelling = spelling
        self._is_nullable = is_nullable

    @property
    def text(self) -> str | None:
        """The text of the schema itself, unless null was added."""
        return None if self._is_nullable else self.base.text

    def _read(self) -> KeywordFacts:
        facts, of = self.base.facts, self._spelling.of
        all_of = [of(each, is_nullable=self._is_nullable) for each in facts.all_of]
        choices: dict[str, tuple[ConstrainedSchema, ...] | None] = {"any_of": facts.any_of, "one_of": facts.one_of}
        for name, branches in choices.items():
            other = None if branches is None else _beside_null(branches)
            if other is not None:
                all_of.append(of(other, is_nullable=True))
                choices[name] = None
        found = replace(
            facts,
            properties=self._all(facts.properties),
            patterns=self._all(facts.patterns),
            additional=None if facts.additional is None else of(facts.additional),
            prefix=tuple(map(of, facts.prefix)),
            items=None if facts.items is None else of(facts.items),
            all_of=tuple(all_of),
            any_of=choices["any_of"],
            one_of=choices["one_of"],
        )
        return _with_null(found) if self._is_nullable else found

    def _all(self, schemas: Mapping[str, ConstrainedSchema]) -> dict[str, ConstrainedSchema]:
        return {name: self._spelling.of(each) for name, each in schemas.items()}


def written_of(schema: ConstrainedSchema) -> ConstrainedSchema:
    """Return the schema that was spelled in another way; any other schema unchanged."""
    return schema.base if isinstance(schema, _Spelled) else schema


def _with_null(facts: KeywordFacts) -> KeywordFacts:
    if facts.values is not None:
        values = [*facts.values, None]
        facts = replace(facts, values=values, scalars=scalars_of(values))
    if facts.is_false:
        return replace(facts, is_false=False, types=_NULL)
    return facts if facts.types is None else replace(facts, types=facts.types | _NULL)


def _beside_null(branches: tuple[ConstrainedSchema, ...]) -> ConstrainedSchema | None:
    """Return the one branch beside null, if it says of null nothing but that it is refused."""
    others = [each for each in branches if each.facts.types != _NULL]
    if len(others) != 1 or len(others) == len(branches):
        return None
    return others[0] if _refuses_null(others[0]) else None


def _refuses_null(schema: ConstrainedSchema) -> bool:
    """Return whether a schema refuses null by its types or values, and has no other constraint on null."""
    waiting, seen, is_refused = [schema], {id(schema)}, False
    while waiting:
        facts = waiting.pop().facts
        if facts.is_opaque or facts.refused is not None or facts.condition is not None or len(seen) > _MAX_REFERRED:
            return False
        if facts.any_of is not None or facts.one_of is not None:
            return False
        allows = facts.types is None or "null" in facts.types
        listed = facts.values is not None and None not in facts.values
        is_refused = is_refused or facts.is_false or not allows or listed
        for each in facts.all_of:
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)
    return is_refused
