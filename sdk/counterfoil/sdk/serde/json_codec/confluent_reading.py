"""How often the readers of Confluent decrypt the texts of a JSON value.

Source: which texts the field rules of confluent-kafka 2.16 change. They go through ``allOf``, or else the first branch
of ``oneOf`` that the value fits, or else all branches of ``anyOf`` that it fits, one after the other: whether it fits
is decided with what the branches before have changed. ``properties`` and ``items`` beside branches follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.formats.jsonschema.marks import written
from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema
from counterfoil.schema.marks import ROOT, Steps, known_tags_in
from counterfoil.schema.steps import OutOfSteps
from counterfoil.sdk.serde.json_codec.applicable import Fitting
from counterfoil.sdk.serde.json_codec.layers import LayeredText

if TYPE_CHECKING:
    from counterfoil.schema.formats.jsonschema.view.facts import Schema
    from counterfoil.schema.marks import FieldTags

_BRANCHES: Final = ("allOf", "oneOf", "anyOf")
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
_KIND_BY_WORD: Final[dict[str, Any]] = {
    "string": str,
    "object": dict,
    "array": list,
    "boolean": bool,
}


class _Field(NamedTuple):
    """The nearest field around a value: its full name, and its tags."""

    full_name: str
    tags: frozenset[str] | None


class ConfluentReader:
    """Reads values of a schema as a reader of Confluent's does, with a rule for the tags ``wanted``."""

    def __init__(self, root: WrittenSchema, tags: FieldTags, wanted: frozenset[str]) -> None:
        self._root = root
        self._tags = tags
        self._wanted = wanted
        self._fitting = Fitting()
        self._steps = Steps()

    def read(self, value: Any) -> None:
        """Read a value, and count in the places of its texts how often each is decrypted."""
        self._fitting, self._steps = Fitting(), Steps(200_000)
        try:
            self._read(self._root, value, _Field(ROOT, None))
        except (OutOfSteps, RecursionError):
            return  # what was not reached counts as not decrypted

    def _read(self, schema: Schema, value: Any, field: _Field) -> Any:
        if not self._steps.take():
            raise OutOfSteps
        if value is None or not isinstance(schema, WrittenSchema) or not isinstance(schema.value, dict):
            return value
        keywords = schema.value
        word = self._word(schema, value)
        branches = next((each for each in _BRANCHES if isinstance(keywords.get(each), list)), None)
        if branches is not None:
            value = self._branches(schema, branches, value, field)
            return self._items(schema, self._properties(schema, value, field), field)
        if isinstance(value, list) and keywords.get("items") is not None:
            return self._items(schema, value, field)
        if isinstance(keywords.get("$ref"), str):
            return self._read(schema.referred[0], value, field) if schema.referred else value
        if keywords.get("const") is not None or keywords.get("enum") is not None or word in _SCALARS:
            return self._scalar(value, field)
        return self._properties(schema, value, field)

    def _word(self, schema: WrittenSchema, value: Any) -> Any:
        """Return the type of a schema; of several, the one of the value, if the schema accepts it."""
        word = schema.value.get("type")
        if not isinstance(word, list):
            return word
        fits = self._fits(schema, value)
        return next((each for each in word if fits and _is_of(each, value)), None)

    def _branches(self, schema: WrittenSchema, keyword: str, value: Any, field: _Field) -> Any:
        for index in range(len(schema.value[keyword])):
            branch: Schema = schema.below(keyword, index)
            if keyword != "allOf":
                if isinstance(branch, WrittenSchema) and "$ref" in written(branch) and branch.referred:
                    branch = branch.referred[0]
                if not self._fits(branch, value):
                    continue
            value = self._read(branch, value, field)
            if keyword == "oneOf":
                break
        return value

    def _fits(self, schema: Schema, value: Any) -> bool:
        return self._fitting.may_fit(schema, self._fitting.exact(value))

    def _properties(self, schema: WrittenSchema, value: Any, field: _Field) -> Any:
        listed = schema.value.get("properties")
        if not isinstance(listed, dict) or not isinstance(value, dict):
            return value
        for name, keywords in listed.items():
            old = value.get(name)
            if old is None or not isinstance(keywords, dict):
                continue
            full_name = f"{field.full_name}.{name}"
            inner = _Field(full_name, self._tags.of(full_name, known_tags_in(keywords)))
            new = self._read(schema.below("properties", name), old, inner)
            value = value if new is old else {**value, name: new}
        return value

    def _items(self, schema: WrittenSchema, value: Any, field: _Field) -> Any:
        if not isinstance(value, list) or not isinstance(schema.value.get("items"), dict):
            return value
        items = schema.below("items")
        return [self._read(items, item, field) for item in value]

    def _scalar(self, value: Any, field: _Field) -> Any:
        is_marked = field.tags is not None and (not self._wanted or bool(self._wanted & field.tags))
        if not is_marked or not isinstance(value, LayeredText):
            return value
        value.place.reads += 1
        return value.place.text(max(0, value.layers - 1))


def _is_of(word: Any, value: Any) -> bool:
    """Return whether a value is of the type that a word of JSON Schema names."""
    if word in ("integer", "number"):
        return not isinstance(value, (str, dict, list, bool))
    return isinstance(value, _KIND_BY_WORD.get(word, ()))
