"""Field paths in JSON schemas: the target of a path, through references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from counterfoil.schema.datum import Json
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.jsonschema.document import Base, ReferenceResolver
from counterfoil.schema.languages.jsonschema.json_values import type_words
from counterfoil.schema.paths import (
    ITEMS,
    VALUES,
    FieldPath,
    PathFault,
    PathTarget,
    Step,
    StepKind,
    branch,
    follow,
    item,
    member,
    value,
)
from counterfoil.schema.texts import Pointer

_NULL: Final = {"type": "null"}
_DEFINITIONS: Final = ("$defs", "definitions")
_COMBINED: Final = ("oneOf", "anyOf", "allOf")
_BY_NAME: Final[Mapping[StepKind, tuple[str, ...]]] = {
    StepKind.MEMBER: ("properties",),
    StepKind.VALUE: ("patternProperties",),
    StepKind.DEPENDENCY: ("dependentSchemas", "dependencies"),
}
_BY_NUMBER: Final[Mapping[StepKind, tuple[str, ...]]] = {
    StepKind.ITEM: ("prefixItems", "items"),
    StepKind.BRANCH: _COMBINED,
}
_ALONE: Final[Mapping[StepKind, tuple[str, ...]]] = {
    StepKind.ITEM: ("items", "additionalItems", "unevaluatedItems", "contains"),
    StepKind.VALUE: ("additionalProperties", "unevaluatedProperties"),
}
"""The keywords that contain the schema for a step without a name, by the kind of the step."""

NAMED_STEPS: Final[Mapping[str, Step]] = {
    "propertyNames": value("name"),
    "contains": item("some"),
    "not": branch("not"),
    "if": branch("if"),
    "then": branch("then"),
    "else": branch("else"),
}
"""The steps of the diff into the schemas under other keywords."""

_ARRAYS: Final = ("prefixItems", *_ALONE[StepKind.ITEM])
_NAMED: Final = frozenset({"properties", *_BY_NAME[StepKind.DEPENDENCY], "dependentRequired", "required"})
"""Keywords that are followed by the name of a property; ``required`` only in differences."""
_TRANSPARENT: Final = frozenset({"not", "if", "then", "else", "propertyNames"})


def steps_through(keywords: Sequence[str]) -> FieldPath:
    """Return the steps for a sequence of keywords, as in a JSON Pointer into a schema.

    A definition is a member by its name; a branch of ``allOf``, ``anyOf`` or ``oneOf`` is a branch by its number,
    counted from 0. What follows a keyword that contains no schema is left out.
    """
    steps: list[Step] = []
    rest = [*keywords][::-1]
    while rest:
        keyword = rest.pop()
        if keyword in _NAMED and rest:
            steps.append(member(rest.pop()))
        elif keyword in _DEFINITIONS and rest:
            steps = [member(rest.pop())]
        elif keyword == "patternProperties" and rest:
            steps.append(value(rest.pop()))
        elif keyword in _ARRAYS:
            steps.append(item(rest.pop()) if rest and rest[-1].isdecimal() else ITEMS)
        elif keyword in _ALONE[StepKind.VALUE]:
            steps.append(VALUES)
        elif keyword in _COMBINED and rest and rest[-1].isdecimal():
            steps.append(branch(rest.pop()))
        elif keyword not in _TRANSPARENT:
            break
    return tuple(steps)


def path_at(pointer: Pointer) -> FieldPath:
    """Return the path for a JSON Pointer into a schema.

    >>> [step.name for step in path_at(("properties", "lines", "items", "properties", "price", "minimum"))]
    ['lines', '', 'price']
    """
    return steps_through([str(step) for step in pointer])


def definition_step(name: str) -> Step:
    """Return the step of the diff into a definition."""
    return branch(f"definition {name}")


def target_of(document: object, resolver: ReferenceResolver, path: FieldPath) -> PathTarget:
    """Return the target of ``path``; raise ``PathFault`` for a step without a target.

    The targets of references and the branches of ``allOf`` count as part of the schema, as does a single branch of
    ``oneOf`` or ``anyOf`` beside null. A path may start with the name of a definition.
    """
    root = _SchemaAt(document, resolver.root, resolver)
    first = path[0] if path else None
    defined = root.under(_DEFINITIONS, first.name) if first is not None and first.kind is StepKind.MEMBER else []
    if defined and not any(each.through(path[0]) for each in root.meant()):
        found = follow(defined, path, lambda places, step: places if step is first else _inside(places, step))
    else:
        found = follow([root], path, _inside)
    base = found[0].base
    return PathTarget(() if base.document else base.pointer, found[0].value)


class _SchemaAt(NamedTuple):
    """A schema, its position, and the resolver of the whole document."""

    value: Json
    base: Base
    whole: ReferenceResolver

    @property
    def keywords(self) -> Mapping[str, Json]:
        """The keywords of the schema; only ``$ref`` beside a ``$ref`` in drafts up to 7."""
        value = self.value if isinstance(self.value, dict) else {}
        return {"$ref": value["$ref"]} if "$ref" in value and not self.base.draft.is_modern else value

    def one(self, *steps: str | int) -> _SchemaAt | None:
        """Return the schema at keys and indexes inside this one; None if there is none."""
        value: Json = self.keywords
        for step in steps:
            is_there = step in value if isinstance(value, dict) else isinstance(step, int) and isinstance(value, list)
            if not is_there or (isinstance(value, list) and isinstance(step, int) and step >= len(value)):
                return None
            value = value[step]
        is_schema = isinstance(value, dict | bool)
        return _SchemaAt(value, self.whole.enter(value, self.base.below(*steps)), self.whole) if is_schema else None

    def under(self, keywords: Iterable[str], *steps: str | int) -> list[_SchemaAt]:
        """Return the schemas at ``steps`` under those of ``keywords`` that have one."""
        return [child for keyword in keywords if (child := self.one(keyword, *steps)) is not None]

    def children(self, keyword: str) -> list[_SchemaAt]:
        """Return the schemas in the list under a keyword."""
        listed = self.keywords.get(keyword)
        indexes = range(len(listed)) if isinstance(listed, list) else ()
        return [child for index in indexes if (child := self.one(keyword, index)) is not None]

    def through(self, step: Step) -> list[_SchemaAt]:
        """Return the possible targets of a step in this schema alone, the most likely first."""
        kind, name = step
        alone = [] if name else self.under(_ALONE.get(kind, ()))
        numbered = self.under(_BY_NUMBER.get(kind, ()), int(name)) if name.isdecimal() else []
        named = self.under(word for word, each in NAMED_STEPS.items() if each == step)
        return [*alone, *numbered, *self.under(_BY_NAME.get(kind, ()), name), *named, *self._described(step)]

    def _described(self, step: Step) -> Iterator[_SchemaAt]:
        """Yield the branches and definitions to which the diff leads with ``step``."""
        if step.kind is StepKind.BRANCH:
            yield from (each for word in _COMBINED for each in self.children(word) if type_words(each) == step.name)
            for word in _DEFINITIONS:
                known = self.keywords.get(word)
                names = known if isinstance(known, dict) else ()
                yield from self.under([word], *(name for name in names if definition_step(name) == step))

    def meant(self) -> Iterator[_SchemaAt]:
        """Yield the schemas that a value must fit at this place: itself, references, allOf and single branches."""
        seen: set[int] = set()
        waiting = [self]
        while waiting:
            place = waiting.pop()
            if id(place.value) in seen:
                continue
            seen.add(id(place.value))
            yield place
            choices = [[each for each in place.children(word) if each.value != _NULL] for word in ("oneOf", "anyOf")]
            only = [kept[0] for kept in choices if len(kept) == 1]
            waiting += reversed([*place.referred, *place.children("allOf"), *only])

    @property
    def referred(self) -> list[_SchemaAt]:
        """The target of its ``$ref``; empty if it cannot be resolved."""
        reference = self.keywords.get("$ref")
        try:
            return (
                [_SchemaAt(*self.whole.resolve(reference, self.base), self.whole)] if isinstance(reference, str) else []
            )
        except InvalidSchema:
            return []


def _inside(places: Sequence[_SchemaAt], step: Step) -> list[_SchemaAt]:
    """Return the possible targets of one step, the most likely first; raise ``PathFault`` if there is none."""
    meant = [one for place in places for one in place.meant()]
    found: dict[int, _SchemaAt] = {}
    for inner in (inner for one in meant for inner in one.through(step)):
        found.setdefault(id(inner.value), inner)
    if found:
        return [*found.values()]
    if step.kind is StepKind.MEMBER:
        known = [one.keywords.get("properties") for one in meant]
        names = [name for held in known if isinstance(held, dict) for name in held]
        raise PathFault.of_names("the schema", "property", step.name, names)
    raise PathFault(f"the schema has no {step.kind.value}{f' {step.name!r}' if step.name else ''}")
