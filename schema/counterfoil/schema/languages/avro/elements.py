"""The elements of an Avro schema as rows: fields, branches of unions, items with facts of their own, declared types.

Source: Apache Avro 1.12 specification, "Schema Declaration".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Final

from counterfoil.schema.datum import Json
from counterfoil.schema.jsontext import print_json, tags_listed
from counterfoil.schema.languages.avro.compare.meaning import BIG_DECIMAL, logical_type_of
from counterfoil.schema.languages.avro.outline import outline
from counterfoil.schema.languages.avro.paths import short_name, without_null
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import (
    NO_DEFAULT,
    WORD_BY_KIND,
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
    LogicalType,
    NamedType,
    branch_name,
)
from counterfoil.schema.languages.element_rows import (
    ElementEntry,
    ElementPlace,
    ElementTags,
    InnerType,
    element_rows,
    few,
    shortened,
)
from counterfoil.schema.paths import ITEMS, VALUES, branch, member
from counterfoil.schema.rest.inspection import ElementKind, ElementRow
from counterfoil.schema.texts import Pointer, counted, print_pointer

_LOGICAL: Final = "logicalType"
_ASCENDING: Final = "ascending"


def find_elements(schema: AvroSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
    """Return the fields, branches and items of a schema, in the order of its text."""
    elements = _Elements(schema, ElementTags(tags_by_path))
    return element_rows(schema, elements.at_root)


def rows_of_fields(schema: AvroSchema, record: AvroRecord, fields: Sequence[AvroField]) -> list[list[ElementRow]]:
    """Return the rows of some fields of the schema's record as :func:`find_elements` does, those of each together.

    The schema has no references.
    """
    part = copy(record)
    part.fields = tuple(fields)
    found: list[list[ElementRow]] = []
    for row in find_elements(AvroSchema(schema.text, part, schema.named), {}):
        if row.depth == 0:
            found.append([])
        found[-1].append(row)
    return found


def has_declared_types(node: AvroType) -> bool:
    """Return whether a type is a declared one, or has one inside."""
    return bool(_names_in(node))


def declared_types(schema: AvroSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
    """Return the named types of a schema and of its references, as far as it uses them, in the order of their use."""
    elements = _Elements(schema, ElementTags(tags_by_path))
    return tuple(elements.declared(each) for each in _named_types(schema.root))


class _Elements:
    """The elements of one schema."""

    def __init__(self, schema: AvroSchema, tags: ElementTags) -> None:
        self._root = schema.root
        self._tags = tags
        self._supplied = schema.supplied
        self._reference_by_type = _reference_by_type(schema)

    def at_root(self) -> Iterator[ElementEntry]:
        """Yield the elements that are in no other: the fields of a record, or the schema itself."""
        if isinstance(self._root, AvroRecord):
            yield ElementEntry(None, self._inside(self._root, ElementPlace(), ""))
        else:
            yield self._entry(self._root, ElementPlace(), kind=ElementKind.ROOT, pointer=())

    def declared(self, node: NamedType) -> ElementRow:
        """Return the row of a named type."""
        symbols = tuple(node.symbols) if isinstance(node, AvroEnum) else ()
        default = node.default if isinstance(node, AvroEnum) else None
        return ElementRow(
            node.full_name,
            ElementKind.TYPE,
            _with_logical_type(node, _kind_words(node)),
            default=None if default is None else print_json(default),
            doc=node.doc or "",
            tags=self._tags.of(tags_listed(node.properties), node.full_name),
            constraints=(*_content(node), *_notes(node.properties, node.logical_type)),
            symbols=symbols,
            aliases=tuple(node.aliases),
            reference=self._reference(node.full_name),
            pointer=print_pointer(node.pointer),
            is_deprecated=is_deprecated(node.properties),
        )

    def _fields(self, record: AvroRecord, place: ElementPlace) -> Iterator[ElementEntry]:
        reference = self._reference(record.full_name)
        for field in record.fields:
            yield self._field(record, field, place.inside(member(field.name)), reference)

    def _field(self, record: AvroRecord, field: AvroField, place: ElementPlace, reference: str) -> ElementEntry:
        inline = (*tags_listed(field.properties), *_tags_of_unnamed(field.type))
        row = ElementRow(
            place.path,
            ElementKind.FIELD,
            type_words(field.type),
            types=_names_in(field.type),
            default=None if field.default is NO_DEFAULT else print_json(field.default),
            doc=field.doc or "",
            tags=self._tags.of(inline, f"{record.full_name}.{field.name}"),
            constraints=(*_order(field), *_notes(field.type.properties, field.type.logical_type)),
            symbols=_symbols_in(field.type),
            aliases=tuple(field.aliases),
            reference=reference,
            pointer=print_pointer(field.pointer),
            depth=place.depth,
            is_deprecated=is_deprecated(field.properties),
        )
        inner = () if _is_bare(field.type) else self._inside(field.type, place.deeper, reference)
        return ElementEntry(row, inner)

    def _entry(
        self, node: AvroType, place: ElementPlace, *, kind: ElementKind, pointer: Pointer, reference: str = ""
    ) -> ElementEntry:
        """Return the row of a type at a place that has no field of its own: a branch, an item, the schema itself."""
        is_named = isinstance(node, AvroRecord | AvroEnum | AvroFixed)
        row = ElementRow(
            place.path,
            kind,
            type_words(node),
            types=_names_in(node),
            doc="" if is_named else str(node.properties.get("doc") or ""),
            tags=self._tags.of(_tags_of_unnamed(node)),
            constraints=_notes(node.properties, node.logical_type),
            symbols=_symbols_in(node),
            reference=reference,
            pointer=print_pointer(pointer),
            depth=place.depth,
            is_deprecated=is_deprecated(node.properties),
        )
        return ElementEntry(row, self._inside(node, place.deeper, reference))

    def _inside(self, node: AvroType, place: ElementPlace, reference: str) -> tuple[InnerType, ...]:
        """Return what is inside a type: the fields of a record, the branches of a union, items with facts of theirs."""
        node = without_null(node)
        if isinstance(node, AvroArray | AvroMap):
            inner, step = (node.items, ITEMS) if isinstance(node, AvroArray) else (node.values, VALUES)
            at = place.inside(step)
            if not _has_facts(inner):
                return self._inside(inner, at, reference)
            return (InnerType((at.path, step), lambda: self._item(inner, at, reference)),)
        if isinstance(node, AvroRecord):
            return (InnerType(node.full_name, lambda: self._fields(node, place)),)
        if isinstance(node, AvroUnion) and any(map(_names_in, node.branches)):
            return (InnerType((place.path, id(node)), lambda: self._branches(node, place, reference)),)
        return ()

    def _item(self, node: AvroType, place: ElementPlace, reference: str) -> Iterator[ElementEntry]:
        yield self._entry(node, place, kind=ElementKind.ITEM, pointer=node.pointer, reference=reference)

    def _branches(self, union: AvroUnion, place: ElementPlace, reference: str) -> Iterator[ElementEntry]:
        """Yield the branches of a union that are of a declared type, or have one inside."""
        uses = Counter(map(short_name, union.branches))
        for each in union.branches:
            if _names_in(each):
                name = short_name(each) if uses[short_name(each)] == 1 else branch_name(each)
                yield self._branch(each, place.inside(branch(name)), reference)

    def _branch(self, node: AvroType, place: ElementPlace, reference: str) -> ElementEntry:
        return self._entry(node, place, kind=ElementKind.BRANCH, pointer=node.pointer, reference=reference)

    def _reference(self, full_name: str) -> str:
        return self._reference_by_type.get(full_name, full_name) if full_name in self._supplied else ""


def _reference_by_type(schema: AvroSchema) -> Mapping[str, str]:
    """Return the name of the reference that declares a type, by the full name of the type."""
    if not schema.supplied or schema.source is None:
        return {}
    return {
        name: each.reference.name
        for each in reversed(schema.source.references)
        if (found := outline(each.text)) is not None
        for name in found.declared
    }


def _named_types(root: AvroType) -> Iterator[NamedType]:
    """Yield every named type, each once, at its first use."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, AvroRecord | AvroEnum | AvroFixed):
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
        waiting += reversed(_parts(node))


def _parts(node: AvroType) -> Sequence[AvroType]:
    match node:
        case AvroRecord():
            return [field.type for field in node.fields]
        case AvroUnion():
            return node.branches
        case AvroArray(items=inner) | AvroMap(values=inner):
            return (inner,)
    return ()


# Types in words.


def type_words(node: AvroType) -> str:
    """Return a type in words, with the full names of declared types.

    >>> from counterfoil.schema.languages.avro.schema import parse_avro
    >>> type_words(parse_avro('["null", {"type": "array", "items": ["null", "string"]}]').root)
    'null | array of (null | string)'
    """
    return WORD_BY_KIND[node.kind] if _is_bare(node) else shortened(_words(node))


def _is_bare(node: AvroType) -> bool:
    """Return whether a type is a primitive one that has nothing but its name."""
    return isinstance(node, AvroPrimitive) and not node.properties and node.logical_type is None


def _words(node: AvroType) -> str:
    if _is_bare(node):
        return WORD_BY_KIND[node.kind]
    match node:
        case AvroArray():
            words = f"array of {_grouped(node.items)}"
        case AvroMap():
            words = f"map of {_grouped(node.values)}"
        case AvroUnion():
            words = " | ".join(map(_words, node.branches)) or "empty union"
        case _:
            words = branch_name(node)
    return _with_logical_type(node, words)


def _grouped(node: AvroType) -> str:
    words = _words(node)
    return f"({words})" if isinstance(node, AvroUnion) and len(node.branches) > 1 else words


def _with_logical_type(node: AvroType, words: str) -> str:
    logical = logical_type_of(node)
    return words if logical is None else f"{logical_words(logical)} on {words}"


def logical_words(logical: LogicalType) -> str:
    """Return a logical type in words.

    >>> logical_words(LogicalType("decimal", 10, 2)), logical_words(LogicalType("date"))
    ('decimal(10,2)', 'date')
    """
    return logical.name if logical.precision is None else f"{logical.name}({logical.precision},{logical.scale})"


def _kind_words(node: NamedType) -> str:
    return "error" if isinstance(node, AvroRecord) and node.is_error else node.kind.value


def _names_in(node: AvroType) -> tuple[str, ...]:
    """Return the names of the declared types in a type, which is not looked into further."""
    if isinstance(node, AvroPrimitive):
        return ()
    found: dict[str, None] = {}
    waiting: list[AvroType] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, AvroRecord | AvroEnum | AvroFixed):
            found[each.full_name] = None
        else:
            waiting += reversed(_parts(each))
    return tuple(found)


def _symbols_in(node: AvroType) -> tuple[str, ...]:
    """Return the symbols of the only enum in a type, if they are few."""
    while isinstance(node, AvroArray | AvroMap | AvroUnion):
        inner = without_null(node)
        if isinstance(inner, AvroUnion):
            return ()
        node = inner.items if isinstance(inner, AvroArray) else inner.values if isinstance(inner, AvroMap) else inner
    return few(node.symbols) if isinstance(node, AvroEnum) else ()


# Facts of elements.


def _content(node: NamedType) -> tuple[str, ...]:
    match node:
        case AvroRecord():
            return (counted(len(node.fields), "field"),)
        case AvroEnum():
            return (counted(len(node.symbols), "symbol"),)
        case _:
            return (counted(node.size, "byte"),)


def _order(field: AvroField) -> tuple[str, ...]:
    return () if field.order in (None, _ASCENDING) else (f"sort order: {field.order}",)


def _notes(properties: Mapping[str, Json], logical: LogicalType | None) -> tuple[str, ...]:
    """Return a sentence about a logical type that is none of the specification's, or does not fit its type."""
    written = properties.get(_LOGICAL)
    if not isinstance(written, str) or logical is not None or written == BIG_DECIMAL.name:
        return ()
    return (f"annotated as {shortened(written)}, which readers ignore",)


def _has_facts(node: AvroType) -> bool:
    """Return whether items or values have facts that the type of their array or map does not have."""
    is_named = isinstance(node, AvroRecord | AvroEnum | AvroFixed)
    return not is_named and bool(node.properties.keys() - {_LOGICAL, "precision", "scale"})


def _tags_of_unnamed(node: AvroType) -> tuple[str, ...]:
    """Return the tags in a type without a name, which mark the values as those of its field do."""
    return () if isinstance(node, AvroRecord | AvroEnum | AvroFixed) else tags_listed(node.properties)


def is_deprecated(properties: Mapping[str, Json]) -> bool:
    """Return whether an element has the property ``deprecated``: true, or a text that says why."""
    written = properties.get("deprecated")
    return written is True or (isinstance(written, str) and written.lower() not in ("", "false"))
