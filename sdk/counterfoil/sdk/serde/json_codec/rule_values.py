"""The values of a JSON schema as rules see them: dicts, lists, texts and numbers.

A property is described by every schema that certainly applies to it, through references, ``allOf``, and the branches of
``anyOf`` and ``oneOf`` that the value fits. The full name of a field is its path from the root, ``$.lines.price``; the
items of an array have the name of the array.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.formats.jsonschema.marks import (
    JsonMarks,
    inside,
    places,
    written,
)
from counterfoil.schema.formats.jsonschema.view.written import root_of
from counterfoil.schema.marks import ROOT, FieldTags, Mark
from counterfoil.schema.tags.reach import unnamed_paths
from counterfoil.sdk.serde.json_codec.applicable import Fitting
from counterfoil.sdk.serde.json_codec.encode import compile_encoder
from counterfoil.sdk.serde.json_codec.encrypting import Decryption, Encryption, is_decided_by_texts
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.json_codec.rule_walk import ChoiceOf, Everything, RuleFields, RuleWalk
from counterfoil.sdk.serde.rules.protocol import FieldType, SchemaField
from counterfoil.sdk.serde.rules.values import Aim, Checked, read_inline_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.view.facts import Schema
    from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema
    from counterfoil.schema.tags.reach import UnnamedPath
    from counterfoil.sdk.serde.rules.protocol import FieldChanges, Transform
    from counterfoil.sdk.serde.rules.redaction import Hiding

_RULES: Final = "confluent:rules"


class JsonRuleValues:
    """The :class:`~counterfoil.sdk.serde.rules.values.RuleValues` of a JSON schema.

    ``dump`` turns a value of the program into values of JSON; it is not called for those that are. ``load`` validates
    values of JSON, and turns them into values of the program. ``fill`` adds the defaults of the schema to a migrated
    value, in place. ``validates_writing``: what rules have changed is validated before it is written.
    """

    def __init__(
        self,
        parsed: JsonSchema,
        tags: FieldTags,
        *,
        dump: Callable[[Any], Any],
        load: Callable[[Any], Any],
        fill: Callable[[Any], None] | None,
        validates_writing: bool = True,
    ) -> None:
        self._parsed = parsed
        self._validates_writing = validates_writing
        self._root = root_of(parsed)
        self._tags = tags
        self._marks = JsonMarks(tags)
        self._dump = dump
        self._fill = fill
        self.closed = load
        self._encode = compile_encoder(None)
        self._decrypting: list[RuleFields] = []

    def opened(self, value: Any, /) -> Any:
        """Return the value as dicts, lists and scalars."""
        return value if isinstance(value, (dict, list, str, int, float)) else self._dump(value)

    def encoded(self, message: Any, /) -> bytes:
        """Return the body of a message that rules changed."""
        return self._encode(message, b"")

    def fields(
        self, changes: FieldChanges, /, *, tags: frozenset[str] = frozenset(), aim: Aim = Aim.CHANGE
    ) -> Transform:
        """Return a function that applies a field rule to a message; the encoder writes no defaults."""
        fields = RuleFields(changes, self._marks, self._root, tags)
        if aim is not Aim.CHANGE and is_decided_by_texts(self._root):
            if aim is Aim.ENCRYPT:
                return Encryption(fields, self._root, self._dump)
            self._decrypting.append(fields)
            return Decryption(fields, self._root, self._dump, self._decrypting)
        root, mark = self._root, self._marks.at_root(self._root)
        return lambda message: RuleWalk(fields, Fitting(), self._dump).changed([(root, mark)], message, None)

    def places(self) -> Iterable[SchemaField]:
        """Return the fields of the whole schema."""
        for each in places(self._parsed, self._tags):
            is_key = each.type == "KEY"
            field_type = FieldType.STRING if is_key else FieldType[each.type]
            field = SchemaField.marked(each.mark, field_type, each.where, is_key=is_key)
            yield replace(field, may_be=each.may_be) if self._validates_writing and each.may_be else field

    def unnamed_paths(self) -> list[UnnamedPath]:
        """Return the paths of the metadata that assign their tags to nothing."""
        return unnamed_paths(self._tags.by_path, lambda tags: places(self._parsed, tags))

    def redacted(self, message: Any, hiding: Hiding, /) -> Any:
        """Return a copy of a value without what is to be hidden; tags of all branches count, whichever it fits."""
        if hiding.tags is None:
            return hiding.whole(self.opened(message))
        fields = RuleFields(hiding.changes, self._marks, self._root, hiding.tags, hiding=hiding)
        walk = RuleWalk(fields, Everything(), self._dump)
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
    fitting: ChoiceOf


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
