"""The pair walk over two JSON schemas that finds their changes, through references.

A pair of schemas that is used in many places is compared once, so that recursive references end. Definitions are
compared where they are first used, and unused ones by their names.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.datum import Json
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.jsonschema.json_values import (
    alike,
    draft_words,
    is_number,
    print_exact,
    said,
    type_words,
    value_words,
)
from counterfoil.schema.languages.jsonschema.paths import NAMED_STEPS, definition_step
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, Step, dependency, item, member
from counterfoil.schema.paths import branch as branch_step
from counterfoil.schema.paths import value as map_value
from counterfoil.schema.texts import Pointer

_LOWER: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
_UPPER: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})
_PLAIN: Final = frozenset({"pattern", "format", "const", "uniqueItems", "multipleOf", "contentEncoding"})
_LIMITS: Final = _LOWER | _UPPER | _PLAIN | {"contentMediaType"}
_MEMBERS: Final[Mapping[str, Callable[[str], Step]]] = {
    "properties": member,
    "patternProperties": map_value,
    "dependentSchemas": dependency,
}
_INNER: Final[Mapping[str, Step]] = {
    "additionalProperties": VALUES,
    "unevaluatedProperties": VALUES,
    "items": ITEMS,
    "additionalItems": ITEMS,
    "unevaluatedItems": ITEMS,
    **NAMED_STEPS,
}
_COMBINED: Final = ("allOf", "anyOf", "oneOf")
_DEFINITIONS: Final = ("definitions", "$defs")
_COMPARED_ELSEWHERE: Final = frozenset(
    {
        *("$schema", "$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "type", "enum", "required", "default"),
        *("title", "description", "dependencies", "dependentRequired", "prefixItems"),
        *_LIMITS,
        *_MEMBERS,
        *_INNER,
        *_COMBINED,
        *_DEFINITIONS,
    }
)
_ABSENT: Final = object()


def find_changes(earlier: JsonSchema, later: JsonSchema) -> list[Change]:
    """Return all changes between two schemas, in the order of the later one; empty if they are the same.

    Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
    """
    walk = _Walk()
    if earlier.draft is not later.draft:
        words = draft_words(earlier.draft), draft_words(later.draft)
        walk.changes.append(Change(ChangeKind.DRAFT_CHANGED, (), *words, ("$schema",), ("$schema",)))
    try:
        walk.schemas(_At(root_of(earlier), root_of(later)))
    except RecursionError:
        raise InvalidSchema("The schemas are nested too deep to be compared") from None
    return walk.changes


class _At(NamedTuple):
    """The two compared schemas, the pointers to them in their own texts, and the place that they describe."""

    earlier: WrittenSchema
    later: WrittenSchema
    earlier_pointer: Pointer = ()
    later_pointer: Pointer = ()
    place: FieldPath = ()

    def gone(self, earlier: WrittenSchema, *steps: str | int, into: FieldPath = ()) -> _At:
        """Return the position of a schema inside the earlier one."""
        return _At(earlier, self.later, self.earlier_pointer + steps, self.later_pointer, self.place + into)

    def added(self, later: WrittenSchema, *steps: str | int, into: FieldPath = ()) -> _At:
        """Return the position of a schema inside the later one."""
        return _At(self.earlier, later, self.earlier_pointer, self.later_pointer + steps, self.place + into)

    def resolved(self) -> _At:
        """Return the position of the targets of the two, where a ``$ref`` is alone.

        The pointer becomes that of the target if the target is in the schema's own text.
        """
        earlier, earlier_pointer = _followed(self.earlier, self.earlier_pointer)
        later, later_pointer = _followed(self.later, self.later_pointer)
        return _At(earlier, later, earlier_pointer, later_pointer, self.place)


class _Walk:
    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._seen: set[tuple[int, int]] = set()

    def schemas(self, at: _At) -> None:
        """Compare two schemas at the same place."""
        at = at.resolved()
        was, now = at.earlier, at.later
        if isinstance(was.value, dict) and isinstance(now.value, dict):
            pair = (id(was.value), id(now.value))
            if pair in self._seen:
                return
            self._seen.add(pair)
        if (was.value is False) != (now.value is False):
            self._add(ChangeKind.TYPE_CHANGED, at, type_words(was), type_words(now))
            return
        if not was.keywords and not now.keywords:
            return
        self._types(at)
        self._texts(at)
        self._limits(at)
        self._required(at)
        self._dependencies(at)
        for keyword, step_of in _MEMBERS.items():
            self._members(at, keyword, step_of)
        self._prefixes(at)
        for keyword, step in _INNER.items():
            self._inner(at, keyword, step)
        for keyword in _COMBINED:
            self._branches(at, keyword)
        self._others(at)

    def _types(self, at: _At) -> None:
        was, now = at.earlier.keywords, at.later.keywords
        if _types(was) != _types(now):
            self._add(ChangeKind.TYPE_CHANGED, at, type_words(at.earlier), type_words(at.later), "type")
        before, after = _values(was), _values(now)
        if before is None or after is None:
            self._constraint("enum", at, _ABSENT if before is None else before, _ABSENT if after is None else after)
            return
        known, kept = {alike(value) for value in before}, {alike(value) for value in after}
        for value in before:
            if alike(value) not in kept:
                self._add(ChangeKind.VALUE_REMOVED, at, value_words(value), None, "enum")
        for value in after:
            if alike(value) not in known:
                self._add(ChangeKind.VALUE_ADDED, at, None, value_words(value), "enum")

    def _texts(self, at: _At) -> None:
        kinds = {
            "title": ChangeKind.TITLE_CHANGED,
            "description": ChangeKind.DOC_CHANGED,
            at.later.base.draft.id_keyword: ChangeKind.ID_CHANGED,
        }
        for keyword, kind in kinds.items():
            was, now = at.earlier.keywords.get(keyword, _ABSENT), at.later.keywords.get(keyword, _ABSENT)
            if alike(was) != alike(now):
                self._add(kind, at, _words(was), _words(now), keyword)
        was, now = at.earlier.keywords.get("default", _ABSENT), at.later.keywords.get("default", _ABSENT)
        if alike(was) != alike(now):
            gone = ChangeKind.DEFAULT_REMOVED if now is _ABSENT else ChangeKind.DEFAULT_CHANGED
            kind = ChangeKind.DEFAULT_ADDED if was is _ABSENT else gone
            self._add(kind, at, _words(was), _words(now), "default")

    def _limits(self, at: _At) -> None:
        for keyword in _ordered(at, _LIMITS):
            was, now = at.earlier.keywords.get(keyword, _ABSENT), at.later.keywords.get(keyword, _ABSENT)
            self._constraint(keyword, at, was, now)

    def _constraint(self, keyword: str, at: _At, was: object, now: object, *, name: str = "") -> None:
        """Add the change of a keyword, or of the entry ``name`` in it."""
        if alike(was) == alike(now):
            return
        if was is _ABSENT:
            kind = ChangeKind.CONSTRAINT_ADDED
        elif now is _ABSENT:
            kind = ChangeKind.CONSTRAINT_REMOVED
        else:
            kind = _direction(keyword, was, now)
        words = f"{keyword}/{name}" if name else keyword
        before, after = (None if value is _ABSENT else said(words, value) for value in (was, now))
        self._add(kind, at, before, after, keyword)

    def _required(self, at: _At) -> None:
        was, now = _names(at.earlier.keywords.get("required")), _names(at.later.keywords.get("required"))
        before, after = frozenset(was), frozenset(now)
        for name in was:
            if name not in after:
                self._add(ChangeKind.REQUIRED_REMOVED, at, name, None, "required")
        for name in now:
            if name not in before:
                self._add(ChangeKind.REQUIRED_ADDED, at, None, name, "required")

    def _dependencies(self, at: _At) -> None:
        for keyword in ("dependencies", "dependentRequired"):
            was, now = _mapping(at.earlier, keyword), _mapping(at.later, keyword)
            for name in dict.fromkeys((*now, *was)):
                before, after = was.get(name, _ABSENT), now.get(name, _ABSENT)
                if isinstance(before, dict | bool) and isinstance(after, dict | bool):
                    steps = (keyword, name)
                    inside = at.gone(at.earlier.below(*steps), *steps, into=(dependency(name),))
                    self.schemas(inside.added(at.later.below(*steps), *steps))
                else:
                    self._constraint(keyword, at, before, after, name=name)

    def _members(self, at: _At, keyword: str, step_of: Callable[[str], Step]) -> None:
        was, now = dict(at.earlier.named(keyword)), dict(at.later.named(keyword))
        for name, schema in was.items():
            if name not in now:
                gone = at.gone(schema, keyword, name, into=(step_of(name),))
                self._add(ChangeKind.PROPERTY_REMOVED, gone, type_words(schema), None)
        for name, schema in now.items():
            added = at.added(schema, keyword, name, into=(step_of(name),))
            if name in was:
                self.schemas(added.gone(was[name], keyword, name))
            else:
                self._add(ChangeKind.PROPERTY_ADDED, added, None, type_words(schema))

    def _prefixes(self, at: _At) -> None:
        keywords = [side.prefix_keyword for side in (at.earlier, at.later)]
        was, now = at.earlier.children(keywords[0]), at.later.children(keywords[1])
        for index in range(max(len(was), len(now))):
            inside = at._replace(place=(*at.place, item(index)))
            if index < len(was):
                inside = inside.gone(was[index], keywords[0], index)
            if index < len(now):
                inside = inside.added(now[index], keywords[1], index)
            if index >= len(now):
                self._add(ChangeKind.ITEM_REMOVED, inside, type_words(was[index]), None)
            elif index >= len(was):
                self._add(ChangeKind.ITEM_ADDED, inside, None, type_words(now[index]))
            else:
                self.schemas(inside)

    def _inner(self, at: _At, keyword: str, step: Step) -> None:
        was, now = at.earlier.one(keyword), at.later.one(keyword)
        if was is None and now is None:
            return
        if was is None or now is None or isinstance(was.value, bool) or isinstance(now.value, bool):
            before, after = (_ABSENT if schema is None else schema.value for schema in (was, now))
            self._constraint(keyword, at, before, after)
        else:
            self.schemas(at.gone(was, keyword, into=(step,)).added(now, keyword))

    def _branches(self, at: _At, keyword: str) -> None:
        was, now = at.earlier.children(keyword), at.later.children(keyword)
        pairs = _matching(was, now)
        kept = set(pairs.values())
        words = [type_words(branch) for branch in now]
        counts = Counter(words)
        for index, branch in enumerate(was):
            if index not in kept:
                gone = at.gone(branch, keyword, index)
                self._add(ChangeKind.BRANCH_REMOVED, gone, f"{keyword} {type_words(branch)}", None)
        for index, branch in enumerate(now):
            added = at.added(branch, keyword, index)
            if index in pairs:
                step = branch_step(words[index] if counts[words[index]] == 1 else index)
                self.schemas(added.gone(was[pairs[index]], keyword, pairs[index], into=(step,)))
            else:
                self._add(ChangeKind.BRANCH_ADDED, added, None, f"{keyword} {words[index]}")

    def _others(self, at: _At) -> None:
        """Compare definitions by name, and unknown keywords: tags, extensions, annotations."""
        for keyword in _DEFINITIONS:
            was, now = _mapping(at.earlier, keyword), _mapping(at.later, keyword)
            for name in was:
                if name not in now:
                    self._add(ChangeKind.DEFINITION_REMOVED, at, name, None, keyword)
            for name in now:
                if name not in was:
                    self._add(ChangeKind.DEFINITION_ADDED, at, None, name, keyword)
            for (name, before), after in self._kept(at, keyword):
                inside = at.gone(before, keyword, name, into=(definition_step(name),))
                self.schemas(inside.added(after, keyword, name))
        for keyword in _ordered(at, at.earlier.keywords.keys() | at.later.keywords.keys()):
            was, now = at.earlier.keywords.get(keyword, _ABSENT), at.later.keywords.get(keyword, _ABSENT)
            is_compared = keyword in _COMPARED_ELSEWHERE and not at.later.is_ignored(keyword)
            if not is_compared and alike(was) != alike(now):
                words = [None if value is _ABSENT else f"{keyword}={value_words(value)}" for value in (was, now)]
                self._add(ChangeKind.PROPERTY_CHANGED, at, words[0], words[1], keyword)

    @staticmethod
    def _kept(at: _At, keyword: str) -> Iterator[tuple[tuple[str, WrittenSchema], WrittenSchema]]:
        """Yield the definitions that both sides have; those that are used were compared where they are used."""
        now = dict(at.later.named(keyword))
        yield from (((name, before), now[name]) for name, before in at.earlier.named(keyword) if name in now)

    def _add(self, kind: ChangeKind, at: _At, was: str | None, now: str | None, keyword: str = "") -> None:
        pointers = [
            (*pointer, keyword) if _says(schema, keyword) else pointer
            for schema, pointer in ((at.earlier, at.earlier_pointer), (at.later, at.later_pointer))
        ]
        self.changes.append(Change(kind, at.place, was, now, pointers[0], pointers[1]))


def _says(schema: WrittenSchema, keyword: str) -> bool:
    return bool(keyword) and not schema.base.document and keyword in schema.keywords


def _followed(schema: WrittenSchema, pointer: Pointer) -> tuple[WrittenSchema, Pointer]:
    """Return the target of a schema that only refers, through any number of references."""
    seen: set[int] = set()
    while id(schema.value) not in seen:
        seen.add(id(schema.value))
        referred = schema.referred
        if len(referred) != 1 or schema.keywords.keys() - {"$ref", "$dynamicRef", "$recursiveRef", "$schema"}:
            break
        schema = referred[0]
        pointer = pointer if schema.base.document else schema.base.pointer
    return schema, pointer


def _direction(keyword: str, was: object, now: object) -> ChangeKind:
    """Return whether a limit was tightened or relaxed; only that it was changed if neither is known."""
    if keyword in _LOWER | _UPPER and is_number(was) and is_number(now):
        is_tighter = (now > was) == (keyword in _LOWER)
    elif keyword == "multipleOf" and is_number(was) and is_number(now) and was and now:
        if now % was and was % now:
            return ChangeKind.CONSTRAINT_CHANGED
        is_tighter = not now % was
    elif keyword in ("uniqueItems", "exclusiveMinimum", "exclusiveMaximum"):
        is_tighter = now is True
    elif keyword in _INNER and isinstance(was, bool) != isinstance(now, bool):
        is_tighter = was is True or now is False
    elif keyword in _INNER and isinstance(was, bool):
        is_tighter = now is False
    else:
        return ChangeKind.CONSTRAINT_CHANGED
    return ChangeKind.CONSTRAINT_TIGHTENED if is_tighter else ChangeKind.CONSTRAINT_RELAXED


def _matching(was: list[WrittenSchema], now: list[WrittenSchema]) -> dict[int, int]:
    """Return the earlier branch for each later one: by equal text, then by equal type, then by order."""
    pairs: dict[int, int] = {}
    keys: list[Callable[[WrittenSchema], str]] = [lambda schema: print_exact(schema.value, sort_keys=True), type_words]
    if len(was) == len(now):
        keys.append(lambda _: "")
    left = list(range(len(was)))
    for key in keys:
        waiting: dict[str, deque[int]] = {}
        for index in left:
            waiting.setdefault(key(was[index]), deque()).append(index)
        for index, branch in enumerate(now):
            if index not in pairs and (matches := waiting.get(key(branch))):
                pairs[index] = matches.popleft()
        left = sorted(index for indexes in waiting.values() for index in indexes)
    return pairs


def _ordered(at: _At, keywords: frozenset[str] | set[str]) -> Iterator[str]:
    """Yield those of ``keywords`` that either side has, in the order of the later one."""
    yield from (keyword for keyword in dict.fromkeys((*at.later.keywords, *at.earlier.keywords)) if keyword in keywords)


def _types(keywords: Mapping[str, object]) -> frozenset[Json] | None:
    named = keywords.get("type")
    return None if named is None else frozenset(map(alike, named if isinstance(named, list) else [named]))


def _values(keywords: Mapping[str, object]) -> list[Json] | None:
    held = keywords.get("enum")
    return held if isinstance(held, list) else None


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _mapping(schema: WrittenSchema, keyword: str) -> Mapping[str, Json]:
    held = schema.keywords.get(keyword)
    return held if isinstance(held, dict) else {}


def _words(value: object) -> str | None:
    return None if value is _ABSENT else value_words(value)
