"""What a schema has that people search for: names, types, documentation, tags, symbols, and its fingerprints.

A pure function of one schema, so that a process of judges can work it out of a large text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.caches import RecentValues
from counterfoil.schema.elements import declared_types, find_elements
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.fingerprint import all_fingerprints
from counterfoil.schema.languages.avro.elements import has_declared_types, rows_of_fields
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import AvroRecord
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import InvalidPath, StepKind, parse_path
from counterfoil.schema.rest.inspection import ElementKind, ElementRow
from counterfoil.schema.rest.search_index import HitKind

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema

MAX_FACTS: Final = 50_000
"""The largest number of facts of one schema; a larger schema is found by the first of them."""

FINGERPRINT_BYTES: Final = 8
"""The beginning of a fingerprint by which its schema is found."""

_NAMED: Final = frozenset({ElementKind.FIELD, ElementKind.TYPE})
_PATH_SIGNS: Final = frozenset('[]{}<>()"$')


class SearchFact(NamedTuple):
    """One thing that is found in a version: ``text`` is what a query is compared with.

    For an element it is its own name, and ``path`` and ``type`` say where and what it is. A sentence of documentation,
    a tag and a symbol have the path of their element.
    """

    kind: HitKind
    text: str
    path: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchableFacts:
    """The facts of a schema in the order of its text, and the first bytes of its fingerprints if it is Avro's.

    ``is_cut``: it has more than :data:`MAX_FACTS`.
    """

    facts: tuple[SearchFact, ...]
    fingerprints: tuple[bytes, ...] = ()
    is_cut: bool = False


class RememberedFields:
    """The facts of fields that were found before, by the fields as they are written.

    Most fields of a version are those of the version before. Those of Avro's primitive types, and of arrays, maps and
    unions of these, have the same facts in every record. ``max_chars`` limits what is kept.
    """

    def __init__(self, max_chars: int) -> None:
        self._found: RecentValues[str, tuple[SearchFact, ...]] = RecentValues(max_chars)

    def facts_of(self, schema: AvroSchema) -> list[SearchFact] | None:
        """Return the facts of the elements of a schema without references; None if they have to be found at once."""
        record = schema.root
        if not isinstance(record, AvroRecord):
            return None
        written = _fields_written(schema.text)
        if len(written) != len(record.fields):
            return None
        known = [self._found.get(text) for text in written]
        unknown = [field for field, facts in zip(record.fields, known, strict=True) if facts is None]
        rows = iter(rows_of_fields(schema, record, unknown) if unknown else [])
        found: list[SearchFact] = []
        walked = 0
        for field, text, facts in zip(record.fields, written, known, strict=True):
            if facts is not None:
                found += facts
                continue
            own = next(rows, [])
            walked += sum(1 + len(row.path) for row in own)
            of_field = tuple(_facts_of(own))
            found += of_field
            if not has_declared_types(field.type):
                self._found.put(text, of_field, weight=len(text) + _ENTRY_CHARS)
        return found if walked <= _MAX_WALKED else None  # the walk over all may have left something out


_ENTRY_CHARS: Final = 200
_MAX_WALKED: Final = 20_000
"""The rows, with the characters of their paths, of which the walk over a small schema certainly leaves none out."""


def _fields_written(text: str) -> list[str]:
    """Return the fields of a record as they are written, without the differences that have no meaning."""
    try:
        given = json.loads(text)
        return [repr(each) for each in given["fields"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def schema_facts(
    schema: ParsedSchema, tags_by_path: Mapping[str, Sequence[str]], known: RememberedFields | None = None
) -> SearchableFacts:
    """Return what is found of ``schema``; ``tags_by_path`` are the tags of its metadata.

    ``known`` are facts of fields that were found before, for a schema that is small and has no references.
    """
    elements: Iterable[SearchFact] | None = None
    if known is not None and not tags_by_path and isinstance(schema, AvroSchema):
        elements = known.facts_of(schema)
    if elements is None:
        elements = _facts_of(find_elements(schema, tags_by_path=tags_by_path))
    types = _facts_of(declared_types(schema, tags_by_path=tags_by_path))
    facts = list(dict.fromkeys([*elements, *types]))
    return SearchableFacts(tuple(facts[:MAX_FACTS]), fingerprints_of(schema), len(facts) > MAX_FACTS)


class SearchableSource(NamedTuple):
    """A small schema without references as it is written, with the tags of its metadata."""

    text: str
    schema_type: SchemaType
    tags_by_path: Mapping[str, Sequence[str]]


def facts_of_sources(sources: Sequence[SearchableSource]) -> list[SearchableFacts | None]:
    """Return what is found of each of some schemas, many of which have fields in common; None for one with a fault."""
    known = RememberedFields(_COMMON_CHARS)
    found: list[SearchableFacts | None] = []
    for each in sources:
        try:
            found.append(schema_facts(parse_schema(each.text, each.schema_type), each.tags_by_path, known))
        except (RegistryError, RecursionError):
            found.append(None)
    return found


_COMMON_CHARS: Final = 1024 * 1024


def fingerprints_of(schema: ParsedSchema) -> tuple[bytes, ...]:
    """Return the first eight bytes of each fingerprint of an Avro schema; none for other languages."""
    if schema.schema_type is not SchemaType.AVRO:
        return ()
    found = all_fingerprints(schema)  # type: ignore[arg-type]  # it is Avro's
    return tuple(each[:FINGERPRINT_BYTES] for each in found)


def element_name(path: str) -> str:
    """Return the name of the element at a path: that of its last field or type.

    >>> element_name("lines[].price"), element_name("payload<Customer>.eMail"), element_name("shop.Order")
    ('price', 'eMail', 'Order')
    """
    if _PATH_SIGNS.isdisjoint(path):
        return path.rpartition(".")[2]
    try:
        steps = parse_path(path)
    except InvalidPath:
        return path
    return next((each.name for each in reversed(steps) if each.kind is StepKind.MEMBER), path)


def _facts_of(rows: Iterable[ElementRow]) -> Iterator[SearchFact]:
    """Yield the facts of a schema's own elements.

    Those of its references are found in their own subjects, which other callers may read than this one.
    """
    for row in rows:
        if row.reference:
            continue
        if row.kind in _NAMED:
            for name in (element_name(row.path), *map(element_name, row.aliases)):
                yield SearchFact(HitKind.ELEMENT, name, row.path, row.type, row.tags)
        if row.kind is ElementKind.SYMBOL:
            yield SearchFact(HitKind.SYMBOL, element_name(row.path), row.path)
        for symbol in row.symbols if row.kind is ElementKind.TYPE or not row.types else ():
            yield SearchFact(HitKind.SYMBOL, symbol, f"{row.path}.{symbol}")
        if row.doc.strip():
            yield SearchFact(HitKind.DOC, row.doc.strip(), row.path, row.type)
        for tag in row.tags:
            yield SearchFact(HitKind.TAG, tag, row.path, row.type)
