"""How often a text of a JSON value is encrypted, so that readers of Confluent's can decrypt it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.marks import written
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema
from counterfoil.schema.marks import ROOT, FieldTags, Mark, WalkLimit, known_tags_in
from counterfoil.sdk.serde.json.schemas import Fitting

# Texts of a JSON value that are encrypted once or several times, so that readers of Confluent's can decrypt them.
#
# Confluent's readers decide which branches of ``anyOf`` describe a value while they decrypt it, so that one text may be
# decrypted by none of the branches or by several. A text is therefore encrypted as often as they decrypt it.

MOST_LAYERS: Final = 8
"""How often one text is encrypted at most."""


class SealedPlace:
    """A place of one value whose text is encrypted.

    ``mark`` is that of the place if Confluent's clients find the tag there; None otherwise. ``count`` is how often the
    text is encrypted, and ``reads`` how often a reader has decrypted it, or has tried to.
    """

    def __init__(self, plain: str, encrypt: Callable[[str], str], mark: Mark | None) -> None:
        self.mark = mark
        self.count = 1
        self.reads = 0
        self._encrypt = encrypt
        self._texts = [plain]
        self.text(1)  # whatever encryption raises is raised while the value is walked

    @property
    def is_readable(self) -> bool:
        """Whether the reader has decrypted the text as often as it was encrypted."""
        return self.mark is None or self.reads == self.count

    def text(self, layers: int) -> LayeredText:
        """Return the text, encrypted so many times."""
        while len(self._texts) <= layers:
            self._texts.append(self._encrypt(self._texts[-1]))
        found = LayeredText(self._texts[layers])
        found.place, found.layers = self, layers
        return found


class LayeredText(str):
    """A text of a value that is encrypted ``layers`` times."""

    __slots__ = ("layers", "place")

    layers: int
    place: SealedPlace


class LayerReader(Protocol):
    """Decrypts the texts of a value as another program would, and counts that in their places."""

    def read(self, value: Json) -> None:
        """Read a value; each place counts in ``reads`` how often it is decrypted."""


def settle(value: object, found: Sequence[SealedPlace], reader: LayerReader) -> list[SealedPlace]:
    """Choose how often each text is encrypted; return the places whose ciphertext the reader would return as data.

    A text that it cannot decrypt is encrypted once.
    """
    unreadable = _read(value, found, reader)
    for _ in range(MOST_LAYERS):
        counts = [min(max(1, place.reads), MOST_LAYERS) for place in unreadable]
        if counts == [place.count for place in unreadable]:
            break
        for place, count in zip(unreadable, counts, strict=True):
            place.count = count
        unreadable = _read(value, found, reader)
    for place in unreadable:
        place.count = 1
    unreadable = _read(value, found, reader) if unreadable else []
    return [place for place in unreadable if not place.reads]


def _read(value: object, found: Sequence[SealedPlace], reader: LayerReader) -> list[SealedPlace]:
    """Let the reader read the value; return the places that it did not decrypt as often as they are encrypted."""
    for place in found:
        place.reads = 0
    if any(place.mark is not None for place in found):
        reader.read(replaced(value, lambda text: text.place.text(text.place.count)))
    return [place for place in found if not place.is_readable]


def as_written(value: object) -> Json:
    """Return the value with the encrypted texts as they are written."""
    return replaced(value, lambda text: str(text.place.text(text.place.count)))


def replaced(value: Json, change: Callable[[Json], str], kind: type[str] = LayeredText) -> Json:
    """Return a copy of a value in which the texts of the class ``kind`` are changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {name: replaced(item, change, kind) for name, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, change, kind) for item in value]
    return value


# How often the readers of Confluent decrypt the texts of a JSON value.
#
# Source: which texts the field rules of confluent-kafka 2.16 change. They go through ``allOf``, or else the first
# branch of ``oneOf`` that the value fits, or else all branches of ``anyOf`` that it fits, one after the other: whether
# it fits is decided with what the branches before have changed. ``properties`` and ``items`` beside branches follow.

_BRANCHES: Final = ("allOf", "oneOf", "anyOf")
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
_KIND_BY_WORD: Final[dict[str, type]] = {
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
        self._steps = WalkLimit()

    def read(self, value: object) -> None:
        """Read a value, and count in the places of its texts how often each is decrypted."""
        self._fitting, self._steps = Fitting(), WalkLimit(200_000)
        try:
            self._read(self._root, value, _Field(ROOT, None))
        except (OutOfSteps, RecursionError):
            return  # what was not reached counts as not decrypted

    def _read(self, schema: ConstrainedSchema, value: object, field: _Field) -> Json:
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

    def _word(self, schema: WrittenSchema, value: object) -> Json:
        """Return the type of a schema; of several, the one of the value, if the schema accepts it."""
        word = schema.value.get("type")
        if not isinstance(word, list):
            return word
        fits = self._fits(schema, value)
        return next((each for each in word if fits and _is_of(each, value)), None)

    def _branches(self, schema: WrittenSchema, keyword: str, value: object, field: _Field) -> Json:
        for index in range(len(schema.value[keyword])):
            branch: ConstrainedSchema = schema.below(keyword, index)
            if keyword != "allOf":
                if isinstance(branch, WrittenSchema) and "$ref" in written(branch) and branch.referred:
                    branch = branch.referred[0]
                if not self._fits(branch, value):
                    continue
            value = self._read(branch, value, field)
            if keyword == "oneOf":
                break
        return value

    def _fits(self, schema: ConstrainedSchema, value: object) -> bool:
        return self._fitting.may_fit(schema, self._fitting.exact(value))

    def _properties(self, schema: WrittenSchema, value: object, field: _Field) -> Json:
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

    def _items(self, schema: WrittenSchema, value: object, field: _Field) -> Json:
        if not isinstance(value, list) or not isinstance(schema.value.get("items"), dict):
            return value
        items = schema.below("items")
        return [self._read(items, item, field) for item in value]

    def _scalar(self, value: object, field: _Field) -> Json:
        is_marked = field.tags is not None and (not self._wanted or bool(self._wanted & field.tags))
        if not is_marked or not isinstance(value, LayeredText):
            return value
        value.place.reads += 1
        return value.place.text(max(0, value.layers - 1))


def _is_of(word: Json, value: Json) -> bool:
    """Return whether a value is of the type that a word of JSON Schema names."""
    if word in ("integer", "number"):
        return not isinstance(value, (str, dict, list, bool))
    return isinstance(value, _KIND_BY_WORD.get(word, ()))
