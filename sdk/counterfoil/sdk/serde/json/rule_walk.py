"""The walk of a field rule through a JSON value, and which values decide its branches after other rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.languages.jsonschema.marks import (
    EVERY,
    TYPE_BY_WORD,
    BranchChoice,
    DescribedValue,
    JsonMarks,
    carrying,
)
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts
from counterfoil.schema.marks import Mark
from counterfoil.sdk.serde.json.schemas import Fitting
from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, FieldType, SchemaField

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.values import Hiding


# The walk of a field rule through a JSON value: which parts it changes, by the schemas that describe them.

_MANY_FIELDS: Final = 10_000


class RuleFields:
    """The functions of a field rule, made once for each field and type.

    With ``hiding`` the rule is a redaction.
    """

    def __init__(
        self,
        changes: FieldChanges,
        marks: JsonMarks,
        root: ConstrainedSchema,
        tags: frozenset[str],
        *,
        hiding: Hiding | None = None,
    ) -> None:
        self.marks = marks
        self.tags = tags
        self.hiding = hiding
        self._changes = changes
        self._made: dict[tuple[Mark, FieldType, bool, bool, str], Change | None] = {}
        self._carrying = carrying(root, tags) if tags and not marks.tags.has_paths else None

    def may_change(self, described: tuple[ConstrainedSchema, Mark]) -> bool:
        """Return False if nothing that a schema describes has one of the tags."""
        if self._carrying is None:
            return True
        schema, mark = described
        return schema in self._carrying or not self.tags.isdisjoint(mark.own) or not self.tags.isdisjoint(mark.outer)

    def of(
        self, mark: Mark, field_type: FieldType, *, is_key: bool = False, is_possible: bool = False, where: str = ""
    ) -> Change | None:
        """Return the function for values of a field."""
        key = (mark, field_type, is_key, is_possible, where)
        if key not in self._made:
            if len(self._made) >= _MANY_FIELDS:  # names of properties that a schema does not list are without end
                self._made.clear()
            field = SchemaField.marked(mark, field_type, where, is_key=is_key)
            self._made[key] = self._changes(replace(field, is_possible=True) if is_possible else field)
        return self._made[key]


class RuleWalk:
    """One message, changed part by part; values that are none of JSON are made by ``dump``.

    A value may be described several times, as by two branches of ``allOf``: a rule runs for each description in which
    Confluent's clients find its tags, as theirs does, and else once.
    """

    def __init__(self, fields: RuleFields, fitting: ChoiceOf, dump: Callable[[Json], Json]) -> None:
        self.rule_fields = fields
        self._marks = fields.marks
        self._fitting = fitting
        self._dump = dump

    def changed(self, described: Sequence[tuple[ConstrainedSchema, Mark]], value: object, message: object) -> Json:
        """Return a value of these schemas, changed by the rule; ``message`` is the object that contains it."""
        described = [each for each in described if self.rule_fields.may_change(each)]
        if value is None or not described:
            return value
        if not isinstance(value, _JSON_KINDS):
            value = self._dump(value)
        choice = self._fitting.choice(value)
        found = [self._marks.described(schema, mark, choice) for schema, mark in described]
        if isinstance(value, dict):
            return self._object(found, value, choice)
        if isinstance(value, list):
            return self._array(found, value, message, choice)
        return self.scalar(found, value, message)

    def scalar(self, described: Sequence[DescribedValue], value: object, message: object) -> Json:
        """Return a scalar, changed by the rule."""
        known: list[Change] = []
        beyond: list[Change] = []
        for each in described:
            mark, field_type = typed(each, value)
            change = self.rule_fields.of(mark, field_type)
            if change is not None and mark.is_reached(self.rule_fields.tags):
                known += [change] * (each.runs_for_text() if isinstance(value, str) else 1)
            elif change is not None:
                beyond.append(change)
        for change in known or beyond[:1]:
            value = change(value, message)
        return value

    def _object(self, described: Sequence[DescribedValue], value: JsonObject, choice: BranchChoice) -> JsonObject:
        found = value
        for name, old in value.items():
            schemas = [one for each in described for one in self._marks.of_property(each, name)]
            new = old if old is None or not schemas else self.changed(schemas, old, found)
            if new is not old:
                found = dict(value) if found is value else found
                found[name] = new
        return self._with_keys(described, found, choice)

    def _with_keys(self, described: Sequence[DescribedValue], value: JsonObject, choice: BranchChoice) -> JsonObject:
        """Return the object after the rule for the names of its properties: a redaction hides unlisted names."""
        keys = [self._marks.of_key(each, choice) for each in described] if value else []
        hiding = self.rule_fields.hiding
        if hiding is None:
            for mark in keys:
                change = None if mark is None else self.rule_fields.of(mark, FieldType.STRING, is_key=True)
                if change is not None:
                    for name in value:
                        change(name, value)
            return value
        marks = (*keys, *(each.mark for each in described))
        if not any(hiding.hides(mark.tags) for mark in marks if mark is not None):
            return value
        listed = {name for each in described for part in each.parts for name in part.schema.facts.properties}
        return {
            name if name in listed else hiding.key(index, name): item
            for index, (name, item) in enumerate(value.items())
        }

    def _array(
        self, described: Sequence[DescribedValue], value: list[Json], message: object, choice: BranchChoice
    ) -> list[Json]:
        found = value
        for index, old in enumerate(value):
            schemas = [one for each in described for one in self._marks.of_item(each, index, choice)]
            new = self.changed(schemas, old, message) if schemas else old
            if new is not old:
                found = list(value) if found is value else found
                found[index] = new
        return found


def typed(described: DescribedValue, value: object) -> tuple[Mark, FieldType]:
    """Return the mark and the type of a scalar: the type that its schemas name, or else that of the value."""
    _, words, by_kind = next(found for found in _KINDS if isinstance(value, found[0]))
    word, is_known = described.type_word(words)
    mark = described.mark if is_known else described.mark.beyond()
    if word is None:
        return mark, by_kind
    return mark, FieldType.ENUM if word == "enum" else FieldType[TYPE_BY_WORD[word]]


_JSON_KINDS: Final = (dict, list, str, int, float, Decimal)
_KINDS: Final[tuple[tuple[Json, tuple[str, ...], FieldType], ...]] = (
    (bool, ("boolean",), FieldType.BOOLEAN),
    (int, ("integer", "number"), FieldType.INT),
    ((float, Decimal), ("number", "integer"), FieldType.DOUBLE),
    (object, ("string",), FieldType.STRING),
)
"""The words for the types of scalars in a schema, and the type of a scalar whose schemas name none, by its class."""


class ChoiceOf(Protocol):
    """Decides which branches count for the values of one message."""

    def choice(self, value: Json) -> BranchChoice:
        """Return the choice for a value."""


class Everything:
    """All branches count."""

    def choice(self, value: object) -> BranchChoice:
        """Return the choice of all branches."""
        del value
        return EVERY


# Which values decide the branches that describe a JSON value that rules have changed before.
#
# A rule that encrypts runs after others. A ciphertext fits other branches than the text that was encrypted, and a rule
# that changed a text may have taken from another text the branch that marks it. So each part of such a value knows the
# parts at the same place in earlier forms of the value, and these decide.

_MISSING: Final = object()


class DecidedObject(dict[str, Any]):
    """An object, and the values that decide about it."""

    deciders: tuple[Json, ...] = ()


class DecidedArray(list[Any]):
    """An array, and the values that decide about it."""

    deciders: tuple[Json, ...] = ()


class DecidedText(str):
    """A text, and the values that decide about it."""

    __slots__ = ("deciders",)

    deciders: tuple[Json, ...]


def decided(value: object, deciders: Sequence[object], dump: Callable[[Json], Json]) -> Json:
    """Return a copy of a value in which each object, array and text knows the parts of ``deciders`` at its place.

    A decider that has nothing at a place does not decide there. ``dump`` makes values of JSON of other values.
    """
    if not isinstance(value, (dict, list, str)):
        return value
    known = tuple(
        each if each is None or each is _MISSING or isinstance(each, _JSON_KINDS) else dump(each) for each in deciders
    )
    found: DecidedObject | DecidedArray | DecidedText
    if isinstance(value, dict):
        found = DecidedObject((key, decided(item, _parts(known, key), dump)) for key, item in value.items())
    elif isinstance(value, list):
        found = DecidedArray(decided(item, _parts(known, index), dump) for index, item in enumerate(value))
    else:
        found = DecidedText(value)
    found.deciders = known
    return found


def _parts(deciders: Iterable[object], key: str | int) -> list[Json]:
    return [_part(each, key) for each in deciders]


def _part(decider: object, key: str | int) -> Json:
    if isinstance(decider, dict):
        return decider.get(key, _MISSING)
    if isinstance(decider, list) and isinstance(key, int) and key < len(decider):
        return decider[key]
    return _MISSING


def decider(value: object, which: int) -> Json:
    """Return one of the values that decide about a value, or the value itself if there is none at its place."""
    known = value.deciders if isinstance(value, (DecidedObject, DecidedArray, DecidedText)) else ()
    found = known[which] if which < len(known) else _MISSING
    return value if found is _MISSING else found


class Deciding(Fitting):
    """Chooses the branches of values of :func:`decided`, by the deciders at the indices ``which``.

    The first of them decides as a value itself would. Each other one adds the branches that it fits, if it fits any.
    """

    def __init__(self, *which: int) -> None:
        super().__init__()
        self._which = which

    def choice(self, value: object) -> BranchChoice:
        """Return the choice of schemas for a value."""
        first, *others = (decider(value, each) for each in self._which)
        choice = super().choice(first)
        more = [_Added(self, each) for each in others if each is not value and each is not None]
        return _Joined((choice, *more)) if more else choice


class _Added:
    """The schemas that an earlier form of a value adds to those that describe the value."""

    def __init__(self, fitting: Fitting, value: object) -> None:
        self._fitting = fitting
        self._value = value
        self._exact = fitting.exact(value)

    def branches(self, branches: Sequence[ConstrainedSchema]) -> Iterable[ConstrainedSchema]:
        return [each for each in branches if self._fitting.may_fit(each, self._exact)]

    def conditional(self, facts: KeywordFacts) -> Iterable[ConstrainedSchema]:
        return Fitting.choice(self._fitting, self._value).conditional(facts)

    def needed(self, name: str) -> bool:
        return isinstance(self._value, dict) and name in self._value

    def contains(self, schema: ConstrainedSchema, index: int) -> bool:
        is_there = isinstance(self._exact, list) and index < len(self._exact)
        return is_there and self._fitting.may_fit(schema, self._exact[index])


class _Joined:
    """All schemas of several choices."""

    def __init__(self, choices: Sequence[BranchChoice]) -> None:
        self._choices = choices

    def branches(self, branches: Sequence[ConstrainedSchema]) -> Iterable[ConstrainedSchema]:
        return list(dict.fromkeys(one for each in self._choices for one in each.branches(branches)))

    def conditional(self, facts: KeywordFacts) -> Iterable[ConstrainedSchema]:
        return list(dict.fromkeys(one for each in self._choices for one in each.conditional(facts)))

    def needed(self, name: str) -> bool:
        return any(each.needed(name) for each in self._choices)

    def contains(self, schema: ConstrainedSchema, index: int) -> bool:
        return any(each.contains(schema, index) for each in self._choices)
