"""The values of a JSON schema as rules see them: dicts, lists, texts and numbers.

A property is described by every schema that certainly applies to it, through references, ``allOf``, and the branches of
``anyOf`` and ``oneOf`` that the value fits. The full name of a field is its path from the root, ``$.lines.price``; the
items of an array have the name of the array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.sdk.serde.json_codec.applicable import MAX_STEPS, applicable
from counterfoil.sdk.serde.json_codec.encode import compile_encoder
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.rules.protocol import FieldType, SchemaField
from counterfoil.sdk.serde.rules.values import Checked, read_inline_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.view.facts import Schema
    from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, Transform
    from counterfoil.sdk.serde.rules.tags import FieldTags

_TAGS: Final = "confluent:tags"
_RULES: Final = "confluent:rules"
_ROOT: Final = "$"
_UNKNOWN: Final = object()

_TYPE_BY_WORD: Final[Mapping[str, FieldType]] = {
    "string": FieldType.STRING,
    "integer": FieldType.INT,
    "number": FieldType.DOUBLE,
    "boolean": FieldType.BOOLEAN,
}


class _At(NamedTuple):
    """A property: its full name, its name, and the tags beside it."""

    full_name: str
    name: str
    tags: frozenset[str]


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
        self._root = root_of(parsed)
        self._tags = tags
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

    def fields(self, changes: FieldChanges, /) -> Transform:
        """Return a function that applies a field rule to a message."""
        fields = _Fields(changes, self._tags)
        return lambda message: _Walk(fields).changed(self._root, message, None, _ROOT, None)

    def inline_rules(self) -> Callable[[Any], Iterator[Checked]] | None:
        """Return a function that finds the values to check; None without inline rules."""
        root = self._root
        if not _mentions_rules(root):
            return None
        return lambda message: _checked(root, message, _ROOT, Evaluator(MAX_STEPS))

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
    """The functions of a field rule, made once for each field and type."""

    def __init__(self, changes: FieldChanges, tags: FieldTags) -> None:
        self._changes = changes
        self._tags = tags
        self._made: dict[tuple[_At, FieldType], Any] = {}
        self._tags_of: dict[tuple[str, frozenset[str]], frozenset[str]] = {}

    def of(self, at: _At, field_type: FieldType) -> Change | None:
        """Return the function for values of a field."""
        key = (at, field_type)
        made = self._made.get(key, _UNKNOWN)
        if made is _UNKNOWN:
            field = SchemaField(at.full_name, at.name, field_type, self._tags.of(at.full_name, at.tags))
            made = self._made[key] = self._changes(field)
        change: Change | None = made
        return change


class _Walk:
    """One message, changed part by part."""

    def __init__(self, fields: _Fields) -> None:
        self._fields = fields
        self._evaluator = Evaluator(MAX_STEPS)

    def changed(self, schema: Schema, value: Any, at: _At | None, path: str, message: Any) -> Any:
        """Return a value of ``schema``, changed by the rule; ``message`` is the object that contains it."""
        schemas = [*applicable(schema, value, self._evaluator)]
        if isinstance(value, dict):
            return self._object(schemas, value, path)
        if isinstance(value, list):
            return self._array(schemas, value, at, path, message)
        if at is None or value is None:
            return value
        field_type = _type_of(schemas, value)
        change = None if field_type is None else self._fields.of(at, field_type)
        return value if change is None else change(value, message)

    def _object(self, schemas: list[Schema], value: dict[str, Any], path: str) -> dict[str, Any]:
        found = value
        for each in schemas:
            for name, inner in each.facts.properties.items():
                old = found.get(name)
                if old is None:
                    continue
                full_name = f"{path}.{name}"
                new = self.changed(inner, old, _At(full_name, name, _own_tags(inner)), full_name, found)
                if new is not old:
                    found = dict(value) if found is value else found
                    found[name] = new
        return found

    def _array(self, schemas: list[Schema], value: list[Any], at: _At | None, path: str, message: Any) -> list[Any]:
        found = value
        for each in schemas:
            for index, old in enumerate(found):
                inner = each.facts.item(index)
                new = old if inner is None else self.changed(inner, old, at, path, message)
                if new is not old:
                    found = list(value) if found is value else found
                    found[index] = new
        return found


def _type_of(schemas: list[Schema], value: Any) -> FieldType | None:
    """Return the type of a scalar by the schemas that describe it; None if none of them names it."""
    if any(each.facts.values is not None for each in schemas):
        return FieldType.ENUM
    words = {word for each in schemas for word in each.facts.types or ()}
    wanted = ("boolean",) if isinstance(value, bool) else _WORDS_BY_KIND.get(type(value), ("string",))
    return next((_TYPE_BY_WORD[word] for word in wanted if word in words), None)


_WORDS_BY_KIND: Final[Mapping[type, tuple[str, ...]]] = {int: ("integer", "number"), float: ("number", "integer")}


def _own_tags(schema: Schema) -> frozenset[str]:
    written = _written(schema).get(_TAGS)
    return frozenset(str(tag) for tag in written) if isinstance(written, list) else frozenset()


def _written(schema: Schema) -> Mapping[str, Any]:
    """Return the keywords of a schema as they are written, also those beside a reference."""
    return schema.value if isinstance(schema, WrittenSchema) and isinstance(schema.value, dict) else {}


def _mentions_rules(root: WrittenSchema) -> bool:
    """Return whether the schema, or one that it refers to, has inline rules."""
    waiting: list[Schema] = [root]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if _RULES in _written(each):
            return True
        facts = each.facts
        inner = (facts.items, facts.additional, *facts.properties.values(), *facts.prefix, *facts.beside())
        waiting += [one for one in inner if one is not None]
    return False


def _checked(schema: Schema, value: Any, path: str, evaluator: Evaluator) -> Iterator[Checked]:
    """Yield the values in ``value`` that have inline rules, each rule of a property with the property's path."""
    if value is None:
        return
    is_root = path == _ROOT
    for each in [*applicable(schema, value, evaluator)]:
        if isinstance(value, dict) or not is_root:
            yield from (Checked(rule, path, value) for rule in read_inline_rules(_written(each).get(_RULES)))
        if isinstance(value, dict):
            for name, inner in each.facts.properties.items():
                yield from _checked(inner, value.get(name), f"{path}.{name}", evaluator)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                of_item = each.facts.item(index)
                if of_item is not None:
                    yield from _checked(of_item, item, f"{path}[{index}]", evaluator)
