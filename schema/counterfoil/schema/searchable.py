"""What a schema has that people search for: names, types, documentation, tags, symbols, and its fingerprints.

A pure function of one schema, so that a process of judges can work it out of a large text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.elements import declared_types, find_elements
from counterfoil.schema.fingerprint import all_fingerprints
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


def schema_facts(schema: ParsedSchema, tags_by_path: Mapping[str, Sequence[str]]) -> SearchableFacts:
    """Return what is found of ``schema``; ``tags_by_path`` are the tags of its metadata."""
    rows = [
        *find_elements(schema, tags_by_path=tags_by_path),
        *declared_types(schema, tags_by_path=tags_by_path),
    ]
    facts = list(dict.fromkeys(_facts_of(rows)))
    return SearchableFacts(tuple(facts[:MAX_FACTS]), fingerprints_of(schema), len(facts) > MAX_FACTS)


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
