"""The values of a JSON schema as rules see them: dicts, lists, texts and numbers.

A property is described by every schema that certainly applies to it, through references, ``allOf``, and the branches of
``anyOf`` and ``oneOf`` that the value fits. The full name of a field is its path from the root, ``$.lines.price``; the
items of an array have the name of the array.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from counterfoil.schema.formats.jsonschema.marks import (
    EVERY,
    TYPE_BY_WORD,
    JsonMarks,
    carrying,
    inside,
    places,
    written,
)
from counterfoil.schema.formats.jsonschema.view.written import root_of
from counterfoil.schema.marks import ROOT, FieldTags, Mark
from counterfoil.sdk.serde.json_codec.applicable import Fitting
from counterfoil.sdk.serde.json_codec.encode import compile_encoder
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.rules.protocol import FieldType, SchemaField
from counterfoil.sdk.serde.rules.values import Checked, read_inline_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.marks import Choice, Described
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.view.facts import Schema
    from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema
    from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, Transform
    from counterfoil.sdk.serde.rules.redaction import Hiding

_RULES: Final = "confluent:rules"
_MANY_FIELDS: Final = 10_000


class JsonRuleValues:
    """The :class:`~counterfoil.sdk.serde.rules.values.RuleValues` of a JSON schema.

    ``dump`` turns a value of the program into values of JSON; it is not called for those that are. ``load`` validates
    values of JSON, and turns them into values of the program. ``fill`` adds the defaults of the schema to a migrated
    value, in place.
    """

    def __init__(
        self,
        parsed: JsonSchema,
        tags: FieldTags,
        *,
        dump: Callable[[Any], Any],
        load: Callable[[Any], Any],
        fill: Callable[[Any], None] | None,
    ) -> None:
        self._parsed = parsed
        self._root = root_of(parsed)
        self._tags = tags
        self._marks = JsonMarks(tags)
        self._dump = dump
        self._fill = fill
        self.closed = load
        self._encode = compile_encoder(None)

    def opened(self, value: Any, /) -> Any:
        """Return the value as dicts, lists and scalars."""
        return value if isinstance(value, (dict, list, str, int, float)) else self._dump(value)

    def encoded(self, message: Any, /) -> bytes:
        """Return the body of a message that rules changed."""
        return self._encode(message, b"")

    def fields(self, changes: FieldChanges, /, *, tags: frozenset[str] = frozenset(), fills: bool = False) -> Transform:
        """Return a function that applies a field rule to a message; the encoder writes no defaults."""
        del fills
        fields = _Fields(changes, self._marks, self._root, tags)
        root, mark = self._root, self._marks.at_root(self._root)
        return lambda message: _Walk(fields, Fitting(), self._dump).changed([(root, mark)], message, None)

    def places(self) -> Iterable[SchemaField]:
        """Return the fields of the whole schema."""
        for each in places(self._parsed, self._tags):
            is_key = each.type == "KEY"
            field_type = FieldType.STRING if is_key else FieldType[each.type]
            yield SchemaField.marked(each.mark, field_type, each.where, is_key=is_key)

    def redacted(self, message: Any, hiding: Hiding, /) -> Any:
        """Return a copy of a value without what is to be hidden; tags of all branches count, whichever it fits."""
        if hiding.tags is None:
            return hiding.whole(self.opened(message))
        fields = _Fields(hiding.changes, self._marks, self._root, hiding.tags, hiding=hiding)
        walk = _Walk(fields, _Everything(), self._dump)
        return walk.changed([(self._root, self._marks.at_root(self._root))], self.opened(message), None)

    def inline_rules(self) -> Callable[[Any], Iterator[Checked]] | None:
        """Return a function that finds the values to check; None without inline rules."""
        root = self._root
        if not _mentions_rules(root):
            return None
        marks = JsonMarks(FieldTags({}, {}))
        return lambda message: _checked([(root, Mark())], message, ROOT, _Rules(marks, Fitting()))

    def to_json(self, message: Any, /) -> Any:
        """Return the message itself."""
        return message

    def from_json(self, value: Any, /) -> Any:
        """Return the value, with the defaults of the schema; it is validated when it becomes a value of the program."""
        if self._fill is None:
            return value
        message = read_exactly(self.encoded(value), 0)
        self._fill(message)
        return message


class _Fields:
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
        self._made: dict[tuple[Mark, FieldType, bool], Change | None] = {}
        self._carrying = carrying(root, tags) if tags and not marks.tags.has_paths else None

    def may_change(self, described: tuple[Schema, Mark]) -> bool:
        """Return False if nothing that a schema describes has one of the tags."""
        if self._carrying is None:
            return True
        schema, mark = described
        return schema in self._carrying or not self.tags.isdisjoint(mark.own) or not self.tags.isdisjoint(mark.outer)

    def of(self, mark: Mark, field_type: FieldType, *, is_key: bool = False) -> Change | None:
        """Return the function for values of a field."""
        key = (mark, field_type, is_key)
        if key not in self._made:
            if len(self._made) >= _MANY_FIELDS:  # names of properties that a schema does not list are without end
                self._made.clear()
            self._made[key] = self._changes(SchemaField.marked(mark, field_type, is_key=is_key))
        return self._made[key]


class _Walk:
    """One message, changed part by part; values that are none of JSON are made by ``dump``.

    A value may be described several times, as by two branches of ``allOf``: a rule runs for each description in which
    Confluent's clients find its tags, as theirs does, and else once.
    """

    def __init__(self, fields: _Fields, fitting: _Fitting, dump: Callable[[Any], Any]) -> None:
        self._fields = fields
        self._marks = fields.marks
        self._fitting = fitting
        self._dump = dump

    def changed(self, described: Sequence[tuple[Schema, Mark]], value: Any, message: Any) -> Any:
        """Return a value of these schemas, changed by the rule; ``message`` is the object that contains it."""
        described = [each for each in described if self._fields.may_change(each)]
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
        return self._scalar(found, value, message)

    def _scalar(self, described: Sequence[Described], value: Any, message: Any) -> Any:
        known: list[Change] = []
        beyond: list[Change] = []
        for each in described:
            mark, field_type = _typed(each, value)
            change = self._fields.of(mark, field_type)
            if change is not None and mark.is_reached(self._fields.tags):
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
        hiding = self._fields.hiding
        if hiding is None:
            for mark in keys:
                change = None if mark is None else self._fields.of(mark, FieldType.STRING, is_key=True)
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


def _typed(described: Described, value: Any) -> tuple[Mark, FieldType]:
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


class _Fitting(Protocol):
    """Decides which branches count for the values of one message."""

    def choice(self, value: Any) -> Choice:
        """Return the choice for a value."""


class _Everything:
    """All branches count."""

    def choice(self, value: Any) -> Choice:
        """Return the choice of all branches."""
        del value
        return EVERY


def _mentions_rules(root: WrittenSchema) -> bool:
    """Return whether the schema, or one that it refers to, has inline rules."""
    waiting: list[Schema] = [root]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if _RULES in written(each):
            return True
        waiting += inside(each)
    return False


class _Rules(NamedTuple):
    """What a walk for inline rules needs."""

    marks: JsonMarks
    fitting: _Fitting


def _checked(described: Sequence[tuple[Schema, Mark]], value: Any, path: str, walk: _Rules) -> Iterator[Checked]:
    """Yield the values in ``value`` that have inline rules, each rule of a property with the property's path."""
    if value is None:
        return
    choice = walk.fitting.choice(value)
    found = [walk.marks.described(schema, mark, choice) for schema, mark in described]
    schemas = list(dict.fromkeys(part.schema for each in found for part in each.parts))
    for schema in schemas:
        yield from (Checked(rule, path, value) for rule in read_inline_rules(written(schema).get(_RULES)))
    if isinstance(value, dict):
        for name, inner in value.items():
            below = [one for each in found for one in walk.marks.of_property(each, name)]
            yield from _checked(below, inner, f"{path}.{name}", walk)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            below = [one for each in found for one in walk.marks.of_item(each, index, choice)]
            yield from _checked(below, item, f"{path}[{index}]", walk)
