"""The walk of a field rule through a JSON value: which parts it changes, by the schemas that describe them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from counterfoil.schema.formats.jsonschema.marks import EVERY, TYPE_BY_WORD, carrying
from counterfoil.sdk.serde.rules.protocol import FieldType, SchemaField

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.formats.jsonschema.marks import Choice, Described, JsonMarks
    from counterfoil.schema.formats.jsonschema.view.facts import Schema
    from counterfoil.schema.marks import Mark
    from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges
    from counterfoil.sdk.serde.rules.redaction import Hiding

_MANY_FIELDS: Final = 10_000


class RuleFields:
    """The functions of a field rule, made once for each field and type.

    With ``hiding`` the rule is a redaction.
    """

    def __init__(
        self,
        changes: FieldChanges,
        marks: JsonMarks,
        root: Schema,
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

    def may_change(self, described: tuple[Schema, Mark]) -> bool:
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

    def __init__(self, fields: RuleFields, fitting: ChoiceOf, dump: Callable[[Any], Any]) -> None:
        self.rule_fields = fields
        self._marks = fields.marks
        self._fitting = fitting
        self._dump = dump

    def changed(self, described: Sequence[tuple[Schema, Mark]], value: Any, message: Any) -> Any:
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

    def scalar(self, described: Sequence[Described], value: Any, message: Any) -> Any:
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

    def _object(self, described: Sequence[Described], value: dict[str, Any], choice: Choice) -> dict[str, Any]:
        found = value
        for name, old in value.items():
            schemas = [one for each in described for one in self._marks.of_property(each, name)]
            new = old if old is None or not schemas else self.changed(schemas, old, found)
            if new is not old:
                found = dict(value) if found is value else found
                found[name] = new
        return self._with_keys(described, found, choice)

    def _with_keys(self, described: Sequence[Described], value: dict[str, Any], choice: Choice) -> dict[str, Any]:
        """Return the object after the rule for the names of its properties: a redaction hides what no schema lists."""
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

    def _array(self, described: Sequence[Described], value: list[Any], message: Any, choice: Choice) -> list[Any]:
        found = value
        for index, old in enumerate(value):
            schemas = [one for each in described for one in self._marks.of_item(each, index, choice)]
            new = self.changed(schemas, old, message) if schemas else old
            if new is not old:
                found = list(value) if found is value else found
                found[index] = new
        return found


def typed(described: Described, value: Any) -> tuple[Mark, FieldType]:
    """Return the mark and the type of a scalar: the type that its schemas name, or else that of the value."""
    _, words, by_kind = next(found for found in _KINDS if isinstance(value, found[0]))
    word, is_known = described.type_word(words)
    mark = described.mark if is_known else described.mark.beyond()
    if word is None:
        return mark, by_kind
    return mark, FieldType.ENUM if word == "enum" else FieldType[TYPE_BY_WORD[word]]


_JSON_KINDS: Final = (dict, list, str, int, float, Decimal)
_KINDS: Final[tuple[tuple[Any, tuple[str, ...], FieldType], ...]] = (
    (bool, ("boolean",), FieldType.BOOLEAN),
    (int, ("integer", "number"), FieldType.INT),
    ((float, Decimal), ("number", "integer"), FieldType.DOUBLE),
    (object, ("string",), FieldType.STRING),
)
"""The words for the types of scalars in a schema, and the type of a scalar whose schemas name none, by its class."""


class ChoiceOf(Protocol):
    """Decides which branches count for the values of one message."""

    def choice(self, value: Any) -> Choice:
        """Return the choice for a value."""


class Everything:
    """All branches count."""

    def choice(self, value: Any) -> Choice:
        """Return the choice of all branches."""
        del value
        return EVERY
