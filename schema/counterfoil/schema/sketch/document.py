"""The document of a sketch: JSON with a version, also as a registry stores it (``docs/sketches.md``)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import CounterfoilError, UnusableSketch
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.sketch.model import PartSketch, PlaceSketch, SchemaSketch, TopicSketch, WriterSchema

if TYPE_CHECKING:
    from counterfoil.schema.rest.object_forms import Document


# The document of a sketch: JSON with a version. ``docs/sketches.md`` describes its members.

VERSION: Final = 1
"""The version of the document; within it members are only added, never renamed, removed or given another meaning."""

_PARTITION: Final = re.compile("[0-9]{1,10}")
_COUNTS: Final = ("records", "values", "nulls")
_RANGES: Final = ("least", "most", "shortest", "longest")


class InvalidSketch(CounterfoilError):
    """A document is not a sketch; ``problem`` names the mistake and its place."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"This is not a sketch of a topic: {problem}")
        self.problem = problem


def write_sketch(sketch: TopicSketch) -> str:
    """Return the document of a sketch, with a line end at its end."""
    return json.dumps(sketch_document(sketch), indent=1, ensure_ascii=False) + "\n"


def sketch_document(sketch: TopicSketch) -> JsonObject:
    """Return the document of a sketch as a value of JSON."""
    return {
        "sketchVersion": VERSION,
        "topic": sketch.topic,
        "share": sketch.share,
        "offsets": {str(partition): list(bounds) for partition, bounds in sorted(sketch.offsets.items())},
        "key": _part(sketch.key_subject, sketch.key),
        "value": _part(sketch.value_subject, sketch.value),
    }


def _part(subject: str, part: PartSketch) -> JsonObject:
    return {
        "subject": subject,
        "records": part.records,
        "nulls": part.nulls,
        "problems": dict(sorted(part.problems.items())),
        "schemas": [_schema(name, each) for name, each in sorted(part.by_writer.items())],
    }


def _schema(name: str, sketch: SchemaSketch) -> JsonObject:
    writer = sketch.writer
    return {
        "writer": name,
        "schemaType": str(writer.schema_type),
        "schema": writer.text,
        "references": [
            {
                "name": each.reference.name,
                "subject": each.reference.subject,
                "version": each.reference.version,
                "schema": each.text,
            }
            for each in writer.references
        ],
        "records": sketch.records,
        "uncertain": sketch.uncertain,
        "depth": sketch.depth,
        "places": [_place(place, each) for place, each in sorted(sketch.places.items())],
    }


def _place(place: tuple[str, ...], sketch: PlaceSketch) -> JsonObject:
    """Return a place; members that say nothing are left out."""
    found: JsonObject = {"place": list(place), "kind": sketch.kind}
    found |= {name: getattr(sketch, name) for name in _COUNTS}
    found |= {name: _finite(value) for name in _RANGES if (value := getattr(sketch, name)) is not None}
    if sketch.branches:
        found["branches"] = dict(sketch.branches)
    found |= {"symbols": sketch.symbols} if sketch.symbols or sketch.symbols is None else {}
    found |= {"names": sketch.names} if sketch.names or sketch.names is None else {}
    return found | ({"hidden": True} if sketch.is_hidden else {})


def _finite(value: float) -> float | str:
    """Return a number, or the text of an infinite one, which JSON does not have."""
    is_finite = isinstance(value, int) or math.isfinite(value)  # a whole number of JSON has any size
    return value if is_finite else f"{'-' if value < 0 else ''}Infinity"


def read_sketch(text: str) -> TopicSketch:
    """Return the sketch of a document. Raises ``InvalidSketch``, which names the mistake and its place.

    >>> read_sketch(write_sketch(TopicSketch("rides"))) == TopicSketch("rides")
    True
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSketch(f"it is no JSON ({error})") from None
    return sketch_of(document)


def sketch_of(document: object) -> TopicSketch:
    """Return the sketch of a document that is read already; raise ``InvalidSketch`` as :func:`read_sketch`."""
    root = _Member("", document)
    version = root.get("sketchVersion", int)
    if version != VERSION:
        raise InvalidSketch(f"sketchVersion is {version}, and this program reads version {VERSION}")
    offsets = root.get("offsets", dict)
    return TopicSketch(
        topic=root.get("topic", str),
        key=_read_part(root.below("key")),
        value=_read_part(root.below("value")),
        offsets=dict(_read_bounds(partition, bounds) for partition, bounds in offsets.items()),
        share=root.get("share", float),
        key_subject=root.below("key").get("subject", str),
        value_subject=root.below("value").get("subject", str),
    )


def _read_bounds(partition: str, bounds: object) -> tuple[int, tuple[int, int]]:
    """Return a partition with its first offset and the end."""
    match bounds:
        case [int(first), int(end)] if _PARTITION.fullmatch(partition):
            return int(partition), (first, end)
    raise InvalidSketch(f"offsets has {partition:.40}: {_shown(bounds)}; expected a partition with two offsets")


def _read_part(part: _Member) -> PartSketch:
    return PartSketch(
        {each.get("writer", str): _read_schema(each) for each in part.items("schemas")},
        part.count("nulls"),
        part.counts("problems") or {},
    )


def _read_schema(member: _Member) -> SchemaSketch:
    language = member.get("schemaType", str)
    if language not in list(SchemaType):
        raise InvalidSketch(f"{member.path}.schemaType is {language!r}; expected {', '.join(SchemaType)}")
    references = tuple(
        ResolvedReference(
            Reference(each.get("name", str), each.get("subject", str), each.get("version", int)),
            each.get("schema", str),
        )
        for each in member.items("references")
    )
    return SchemaSketch(
        WriterSchema(SchemaType(language), member.get("schema", str), references),
        member.count("records"),
        {tuple(each.texts("place")): _read_place(each) for each in member.items("places")},
        member.count("uncertain"),
        member.optional("depth", int),
    )


def _read_place(member: _Member) -> PlaceSketch:
    return PlaceSketch(
        kind=member.get("kind", str),
        records=member.count("records"),
        values=member.count("values"),
        nulls=member.count("nulls"),
        branches=member.counts("branches") or {},
        symbols=member.counts("symbols"),
        names=member.counts("names"),
        least=member.number("least"),
        most=member.number("most"),
        shortest=member.optional("shortest", int),
        longest=member.optional("longest", int),
        is_hidden=member.optional("hidden", bool) or False,
    )


_WORDS: Final[Mapping[Callable[..., Any], str]] = {
    int: "an integer",
    float: "a number",
    str: "a text",
    dict: "an object",
    list: "an array",
    bool: "true or false",
}


class _Member:
    """A value inside the document, with its path for messages."""

    def __init__(self, path: str, value: object) -> None:
        self.path = path
        if not isinstance(value, dict):
            raise InvalidSketch(f"{path or 'the document'} is {_shown(value)}; expected an object")
        self._value = value

    def get(self, name: str, kind: type) -> Json:
        """Return a member that must be there."""
        if name not in self._value:
            raise InvalidSketch(f"{self._at(name)} is missing")
        return self._checked(name, kind)

    def count(self, name: str) -> int:
        """Return an integer from 0, which must be there."""
        found: int = self.get(name, int)
        if found < 0:
            raise InvalidSketch(f"{self._at(name)} is {found}; expected an integer from 0")
        return found

    def optional(self, name: str, kind: type) -> Json:
        """Return a member, or None."""
        return None if self._value.get(name) is None else self._checked(name, kind)

    def number(self, name: str) -> float | None:
        """Return a number that may be missing, or infinite."""
        if self._value.get(name) in ("Infinity", "-Infinity"):
            return float(self._value[name])
        found: float | None = self.optional(name, float)
        if found is not None and found != found:  # noqa: PLR0124 - only NaN differs from itself
            raise InvalidSketch(f"{self._at(name)} is NaN; expected a number")
        return found

    def counts(self, name: str) -> dict[str, int] | None:
        """Return counts by text: none if the member is missing, and None if it is null."""
        if name in self._value and self._value[name] is None:
            return None
        counts: dict[str, int] = self._checked(name, dict) if name in self._value else {}
        for text, count in counts.items():
            if not _is(count, int) or count < 0:
                raise InvalidSketch(
                    f"{self._at(name)} has {_shown(count)} for {text!r:.40}; expected an integer from 0"
                )
        return counts

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        found: list[str] = self.get(name, list)
        if not all(isinstance(each, str) for each in found):
            raise InvalidSketch(f"{self._at(name)} is {_shown(found)}; expected texts")
        return found

    def below(self, name: str) -> _Member:
        """Return an object inside."""
        return _Member(self._at(name), self.get(name, dict))

    def items(self, name: str) -> list[_Member]:
        """Return the objects of a list."""
        return [_Member(f"{self._at(name)}[{index}]", each) for index, each in enumerate(self.get(name, list))]

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _checked(self, name: str, kind: type) -> Json:
        value = self._value[name]
        if not _is(value, kind):
            raise InvalidSketch(f"{self._at(name)} is {_shown(value)}; expected {_WORDS[kind]}")
        return value


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool) is not (kind is bool):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def _shown(value: object) -> str:
    return f"{value!r:.40}"


# A sketch as a registry stores it.


def stored_sketch(name: str, document: Document) -> Document:
    """Return the document of a sketch of the subject ``name`` as it is stored: only with members that a sketch has.

    Raises ``UnusableSketch`` for a document that is none of this subject.
    """
    try:
        sketch = sketch_of(document)
    except InvalidSketch as invalid:
        raise UnusableSketch(str(invalid)) from None
    if name not in {sketch.key_subject, sketch.value_subject}:
        raise UnusableSketch(
            f"The sketch is of the subjects {sketch.key_subject!r} and {sketch.value_subject!r}; expected {name!r}"
        )
    return sketch_document(sketch)
