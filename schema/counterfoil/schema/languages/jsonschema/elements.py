"""The elements of a JSON schema as rows: properties, items, values of maps, branches, definitions.

The target of a reference, the branches of ``allOf``, and the only branch of ``oneOf`` or ``anyOf`` beside null describe
the same value as the schema around them: their properties are found at its place, as field paths find them.

Source: the core and validation specifications of draft-04 to 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from counterfoil.schema.datum import Json
from counterfoil.schema.jsontext import tags_listed
from counterfoil.schema.languages.element_rows import ElementEntry, ElementPlace, ElementTags, InnerType, element_rows
from counterfoil.schema.languages.jsonschema.descriptions import (
    constraints_of,
    describe_type,
    name_of,
    openness_of,
    symbols_of,
)
from counterfoil.schema.languages.jsonschema.document import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP, subschemas
from counterfoil.schema.languages.jsonschema.json_values import print_exact
from counterfoil.schema.languages.jsonschema.paths import NAMED_STEPS
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.written import DEFINITIONS, REFERENCES, WrittenSchema, root_of
from counterfoil.schema.marks import ROOT
from counterfoil.schema.paths import ITEMS, VALUES, Step, branch, dependency, item, member, print_inside, value
from counterfoil.schema.rest.inspection import ElementKind, ElementRow
from counterfoil.schema.texts import Pointer, counted, print_pointer

_NULL: Final = {"type": "null"}
_CHOICES: Final = ("oneOf", "anyOf")
_REST_OF_OBJECTS: Final = ("additionalProperties", "unevaluatedProperties")
_OF_ARRAYS: Final = ("prefixItems", "items", "additionalItems", "unevaluatedItems")
_OF_OBJECTS: Final = ("properties", "patternProperties", "dependentSchemas", "dependencies", *_REST_OF_OBJECTS)
_WITH_ELEMENTS: Final = (ONE_SCHEMA | SCHEMA_LIST | SCHEMA_MAP | {*REFERENCES}) - DEFINITIONS
"""The keywords with elements inside."""
_LONGEST_WAY: Final = 500
"""The characters of the steps through branches of ``allOf``: a chain of thousands of them has no path of its own."""
_PARTS: Final = 50
"""How many schemas that describe one value are looked at for its required properties."""

_Place: TypeAlias = tuple[str, Pointer]
"""The document and the pointer of a schema."""


def find_elements(schema: JsonSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
    """Return the properties, items and branches of a schema, in the order of its text."""
    elements = _Elements(schema, ElementTags(tags_by_path))
    return element_rows(schema, elements.at_root)


def declared_types(schema: JsonSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
    """Return the schema itself, its definitions, and the other schemas to which references lead, in order."""
    return tuple(_Elements(schema, ElementTags(tags_by_path)).declared())


class _Around(NamedTuple):
    """A place in the table, with the names by which the metadata may assign tags to it.

    ``choices`` is the path around its branches: that of the place, with a step for each ``allOf`` that is passed on the
    way to them, and for each choice with only one branch beside null, since a number without it means another branch.
    ``entity`` is the path of the entities of tags (``object.lines.array.object``), empty behind a reference, where
    there are none; ``full_name`` that of field rules (``$.lines``).
    """

    place: ElementPlace = ElementPlace()
    choices: str = ""
    entity: str = ""
    full_name: str = ROOT
    is_named: bool = True

    def inside(self, step: Step, entity: str = "", *, name: str = "") -> _Around:
        known = f"{self.entity}.{entity}".lstrip(".") if entity and self.is_named else ""
        full_name = f"{self.full_name}.{name}" if name else self.full_name
        place = self.place.inside(step)
        return _Around(place, place.path, known, full_name, bool(entity) and self.is_named)

    def of_branch(self, keyword: str, index: int) -> _Around:
        """Return the place of a branch that is an element of its own."""
        around = self._replace(place=ElementPlace(self.choices, self.place.depth))
        return around.inside(branch(index), f"{keyword.lower()}.{index}")

    @property
    def deeper(self) -> _Around:
        return self._replace(place=self.place.deeper)

    @property
    def behind(self) -> _Around:
        """The same place, behind a reference."""
        return self._replace(entity="", is_named=False)

    def beside(self, keyword: str, index: int) -> _Around:
        """Return the same place in a branch that is no element of its own."""
        entity = f"{self.entity}.{keyword.lower()}.{index}".lstrip(".")
        is_long = len(self.choices) > len(self.place.path) + _LONGEST_WAY
        return self._replace(
            entity="" if is_long else entity,
            choices=self.choices if is_long else print_inside(self.choices, branch(index)),
        )

    @property
    def of_object(self) -> _Around:
        return self._replace(entity=f"{self.entity}.object".lstrip("."))


class _Elements:
    """The elements of one schema."""

    def __init__(self, schema: JsonSchema, tags: ElementTags) -> None:
        self._schema = schema
        self._root = root_of(schema)
        self._tags = tags

    # Elements.

    def at_root(self) -> Iterator[ElementEntry]:
        """Yield the elements that are in no other: those of an object, or the schema itself."""
        if "properties" in self._root.keywords:
            yield self._transparent(self._root, _Around(), _needed(self._root))
        else:
            yield self._entry(self._root, _Around(), ElementKind.ROOT)

    def _transparent(self, schema: WrittenSchema, around: _Around, needed: frozenset[str]) -> ElementEntry:
        """Return the entry of a schema that describes a value whose row there is already."""
        return ElementEntry(None, (InnerType(_place(schema), lambda: self._parts(schema, around, needed)),))

    def _parts(self, schema: WrittenSchema, around: _Around, needed: frozenset[str]) -> Iterator[ElementEntry]:
        """Yield the elements in the value of a schema, keyword by keyword; ``needed`` are properties it must have."""
        if schema.references[0] and not self._is_built_in(schema):
            for target in schema.referred:
                yield self._transparent(target, around.behind, needed)
        for keyword in schema.keywords:
            if keyword == "allOf":
                for index, child in enumerate(schema.children(keyword)):
                    yield self._transparent(child, around.beside(keyword, index), needed)
            elif keyword in _CHOICES:
                yield from self._choice(schema, keyword, around, needed)
            elif keyword in _OF_OBJECTS:
                yield from self._of_object(schema, keyword, around, needed)
            elif keyword in _OF_ARRAYS:
                yield from self._of_array(schema, keyword, around)
            elif keyword in NAMED_STEPS and (found := schema.one(keyword)) is not None:
                yield self._entry(found, around.inside(NAMED_STEPS[keyword]), ElementKind.BRANCH)

    def _choice(
        self, schema: WrittenSchema, keyword: str, around: _Around, needed: frozenset[str]
    ) -> Iterator[ElementEntry]:
        """Yield the branches of ``oneOf`` or ``anyOf``; the only one beside null is no element of its own."""
        only = _only(schema, keyword)
        if only is not None:
            yield self._transparent(only[0], around.beside(keyword, only[1]), needed)
            return
        for index, child in enumerate(schema.children(keyword)):
            yield self._entry(child, around.of_branch(keyword, index), ElementKind.BRANCH)

    def _of_object(
        self, schema: WrittenSchema, keyword: str, around: _Around, needed: frozenset[str]
    ) -> Iterator[ElementEntry]:
        """Yield the properties under a keyword for objects."""
        if keyword in _REST_OF_OBJECTS:
            yield from self._rest(schema.one(keyword), around.inside(VALUES))
            return
        for name, child in schema.named(keyword):
            if keyword == "properties":
                at = around.of_object.inside(member(name), name, name=name)
                yield self._entry(child, at, ElementKind.FIELD, required=name in needed)
            elif keyword == "patternProperties":
                yield self._entry(child, around.inside(value(name)), ElementKind.ITEM)
            else:
                yield self._entry(child, around.inside(dependency(name)), ElementKind.BRANCH)

    def _of_array(self, schema: WrittenSchema, keyword: str, around: _Around) -> Iterator[ElementEntry]:
        """Yield the items under a keyword for arrays."""
        if keyword == schema.prefix_keyword and isinstance(schema.keywords[keyword], list):
            for index, child in enumerate(schema.children(keyword)):
                yield self._entry(child, around.inside(item(index)), ElementKind.ITEM)
        else:
            yield from self._rest(schema.one(keyword), around.inside(ITEMS, "array" if keyword == "items" else ""))

    def _rest(self, schema: WrittenSchema | None, around: _Around) -> Iterator[ElementEntry]:
        """Yield the schema of items or values: as a row if it has facts of its own, else what is inside it."""
        if schema is None or isinstance(schema.value, bool):
            return
        entry = self._entry(schema, around, ElementKind.ITEM)
        row = entry.row
        has_limits = len(row.constraints) > len(openness_of(schema)) if row else False
        if row and (row.doc or row.tags or row.symbols or row.is_deprecated or has_limits or row.default is not None):
            yield entry
        else:
            yield self._transparent(schema, around, _needed(schema))

    def _entry(
        self, schema: WrittenSchema, around: _Around, kind: ElementKind, *, required: bool | None = None
    ) -> ElementEntry:
        """Return the row of a schema, and what is inside it."""
        keywords = written_keywords(schema)
        names = (around.full_name, *filter(None, (around.entity,))) if kind is ElementKind.FIELD else ()
        words, types = describe_type(schema)
        row = ElementRow(
            around.place.path,
            kind,
            words,
            types=types,
            default=print_exact(keywords["default"]) if "default" in keywords else None,
            doc=doc_of(keywords),
            tags=self._tags.of(tags_listed(keywords), *names),
            constraints=constraints_of(schema),
            symbols=symbols_of(schema),
            required=required,
            reference=schema.base.document,
            pointer=_pointer(schema),
            depth=around.place.depth,
            is_deprecated=keywords.get("deprecated") is True,
        )
        if not isinstance(schema.value, dict) or _WITH_ELEMENTS.isdisjoint(schema.value):
            return ElementEntry(row)
        inside = around.deeper
        return ElementEntry(row, (InnerType(_place(schema), lambda: self._parts(schema, inside, _needed(schema))),))

    def _is_built_in(self, schema: WrittenSchema) -> bool:
        """Return whether a schema refers to a draft's own schema, which is known and large."""
        return any(each.base.document and each.base.document not in self._schema.references for each in schema.referred)

    # Declared types.

    def declared(self) -> Iterator[ElementRow]:
        """Yield the row of the schema itself, of its definitions, and of the other targets of its references."""
        seen = {_place(self._root)}
        yield self._declared(self._root)
        for keyword in ("$defs", "definitions"):
            for _, child in self._root.named(keyword):
                if _place(child) not in seen:
                    seen.add(_place(child))
                    yield self._declared(child)
        for target in self._targets():
            if _place(target) not in seen:
                seen.add(_place(target))
                yield self._declared(target)

    def _targets(self) -> Iterator[WrittenSchema]:
        """Yield the schemas to which references lead, in the order of the text, and those behind them."""
        seen: set[_Place] = set()
        waiting = [self._root]
        while waiting:
            schema = waiting.pop()
            if _place(schema) in seen:
                continue
            seen.add(_place(schema))
            targets = [each for each in schema.referred if not self._is_built_in(schema)]
            yield from targets
            inner = [schema.below(*steps) for steps, _ in subschemas(schema.value)]
            waiting += reversed([*inner, *targets])

    def _declared(self, schema: WrittenSchema) -> ElementRow:
        keywords = written_keywords(schema)
        words, types = describe_type(schema)
        properties = keywords.get("properties")
        count = (counted(len(properties), "property", "properties"),) if isinstance(properties, dict) else ()
        return ElementRow(
            name_of(schema),
            ElementKind.TYPE,
            words,
            types=types,
            default=print_exact(keywords["default"]) if "default" in keywords else None,
            doc=doc_of(keywords),
            tags=self._tags.of(tags_listed(keywords), *(("object",) if schema is self._root else ())),
            constraints=(*count, *constraints_of(schema)),
            symbols=symbols_of(schema),
            reference=schema.base.document,
            pointer=_pointer(schema),
            is_deprecated=keywords.get("deprecated") is True,
        )


def _needed(schema: WrittenSchema) -> frozenset[str]:
    """Return the properties that a value must have, as far as the first parts of its schema say so."""
    found: set[str] = set()
    seen: set[_Place] = set()
    waiting = [schema]
    while waiting and len(seen) < _PARTS:
        part = waiting.pop()
        if _place(part) in seen:
            continue
        seen.add(_place(part))
        required = part.keywords.get("required")
        found.update(each for each in required if isinstance(each, str)) if isinstance(required, list) else None
        waiting += [*part.referred, *islice(part.children("allOf"), _PARTS)]
    return frozenset(found)


def _only(schema: WrittenSchema, keyword: str) -> tuple[WrittenSchema, int] | None:
    """Return the only branch beside null under ``oneOf`` or ``anyOf``, and its index; None if there are several."""
    kept = [(each, index) for index, each in enumerate(schema.children(keyword)) if each.value != _NULL]
    return kept[0] if len(kept) == 1 else None


def _place(schema: WrittenSchema) -> _Place:
    return schema.base.document, schema.base.pointer


def _pointer(schema: WrittenSchema) -> str:
    return "" if schema.base.document else print_pointer(schema.base.pointer)


def written_keywords(schema: WrittenSchema) -> Mapping[str, Json]:
    """Return the keywords that are written in a schema, also those beside a reference that its draft ignores."""
    return schema.value if isinstance(schema.value, dict) else {}


def doc_of(keywords: Mapping[str, Json]) -> str:
    """Return the title and the description of a schema, each in lines of its own."""
    texts = (keywords.get(keyword) for keyword in ("title", "description"))
    return "\n".join(text for text in texts if isinstance(text, str) and text)
