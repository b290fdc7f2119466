"""The part of a schema that a reader of one path relies on: the constraints on the way to it, and all of those there.

On the way, only types count, and that what contains the path is there if the schema requires it. Other properties and
items are left out, also of what a condition demands, and so is what a negation says. All values of a schema are values
of its part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.read.patterns import holds_match
from counterfoil.schema.formats.jsonschema.view.facts import ANYTHING, Facts, Schema
from counterfoil.schema.paths.model import StepKind

if TYPE_CHECKING:
    from counterfoil.schema.paths.model import FieldPath, Step

_MAX_MEANT: Final = 60
_OPEN: Final = frozenset({StepKind.MEMBER, StepKind.ITEM, StepKind.VALUE})


def part_of(schema: Schema, path: FieldPath) -> Schema:
    """Return the constraints of ``schema`` that a reader of ``path`` relies on."""
    return _Parts().at(schema, path)


class _Parts:
    """The parts of one schema; each is made once, since schemas may contain themselves."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Schema] = {}

    def at(self, schema: Schema, path: FieldPath) -> Schema:
        """Return the part of a schema for the rest of a path."""
        if not path or schema.accepts_everything or _counts_what_is_left(schema.facts):
            return schema
        key = (id(schema), len(path))
        if key not in self._known:
            made = self._known[key] = Schema(Facts(), schema.pointer)
            self._fill(made.facts, schema.facts, path)
        return self._known[key]

    def _fill(self, part: Facts, facts: Facts, path: FieldPath) -> None:
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
            part.all_of += (Schema(Facts(any_of=chosen)),)
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

    def _fill_member(self, part: Facts, facts: Facts, name: str, rest: FieldPath) -> None:
        part.required = facts.required & {name}
        part.needed_names = {other: needed & {name} for other, needed in facts.needed_names.items() if name in needed}
        declared = facts.properties.get(name)
        if declared is not None:
            part.properties = {name: self.at(declared, rest)}
        matching = {pattern: each for pattern, each in facts.patterns.items() if holds_match(pattern, name)}
        if matching:
            found = tuple(self.at(each, rest) for each in (*part.properties.values(), *matching.values()))
            part.properties = {name: Schema(Facts(all_of=found))}
        elif declared is None and facts.additional is not None:
            part.properties = {name: self.at(facts.additional, rest)}

    def _choice(self, branches: tuple[Schema, ...] | None, step: Step, path: FieldPath) -> tuple[Schema, ...] | None:
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


def _counts_what_is_left(facts: Facts) -> bool:
    """Return whether a schema is about what no other keyword evaluates, so that no keyword can be left out."""
    return facts.unevaluated_properties is not None or facts.unevaluated_items is not None


def _outline(branch: Schema, chosen: Schema) -> Schema:
    """Return what tells the values of a branch from those of the ``chosen`` one; all of it if nothing certainly does.

    That is another type, or the listed values of a property that it requires.
    """
    mine, others = _meant(branch), _meant(chosen)
    types, other_types = _types(mine), _types(others)
    if types is not None and other_types is not None and not types & other_types:
        return Schema(Facts(types=types), branch.pointer)
    required = frozenset(name for each in mine for name in each.required)
    told = {name: inner for each in mine for name, inner in each.properties.items() if inner.facts.values is not None}
    told = {name: inner for name, inner in told.items() if name in required}
    if not told:
        return branch
    return Schema(Facts(types=types, properties=told, required=frozenset(told)), branch.pointer)


def _meant(schema: Schema) -> list[Facts]:
    """Return the constraints of a schema, and of those that it refers to or combines by ``allOf``."""
    found: list[Facts] = []
    waiting, seen = [schema], {id(schema)}
    while waiting and len(found) < _MAX_MEANT:
        facts = waiting.pop().facts
        found.append(facts)
        waiting += [each for each in facts.all_of if id(each) not in seen]
        seen.update(map(id, facts.all_of))
    return found


def _types(constraints: list[Facts]) -> frozenset[str] | None:
    given = [each.types for each in constraints if each.types is not None]
    return frozenset.intersection(*given) if given else None
