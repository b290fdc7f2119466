"""A query as it is written, read into words, filters, and the ids, guids, fingerprints and bytes that it may be."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from counterfoil.registry.search.texts import fold, parts_of_name, storable
from counterfoil.schema import wire
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.search_index import HitKind

# The words of a query, and what else it may be. No query is an error: what cannot be read is listed as unknown.

MAX_QUERY_CHARS: Final = 1000
"""The characters of a query that are read."""

MAX_WORDS: Final = 8
"""The words of a query that are searched for."""

MAX_WORD_CHARS: Final = 100

MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 50

_MAX_ID: Final = 2**31 - 1
_PARTS: Final = re.compile(r'(?:[a-z]+:)?"[^"]*"|\S+')
_PREFIX: Final = re.compile(r"([a-z]+):(.*)", re.DOTALL)
_TYPE_SIGNS: Final = frozenset("()<>|")
_NAMED_NUMBER: Final = re.compile(r"(?i:(?:schema )?id|guid|fingerprint)(?: +|: *)(?=[0-9a-fA-F-]+$)")
"""What people write before an id, a guid or a fingerprint."""

_DIGITS: Final = re.compile(r"[0-9]{1,10}")
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")
_FINGERPRINT: Final = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}|[0-9a-fA-F]{64}")
_HEX_FRAME: Final = re.compile(r"00[0-9a-fA-F]{8}(?:[0-9a-fA-F]{2})*")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{7,}={0,2}")
_FIRST_BYTES: Final = 8


class SearchExtent(StrEnum):
    """Which versions are searched."""

    LATEST = "latest"
    ANY = "any"


class WordScope(StrEnum):
    """What a word is compared with; the values are the prefixes in a query, and ``""`` stands for no prefix."""

    NAMES = ""
    SUBJECT = "subject"
    FIELD = "field"
    TYPE = "type"
    DOC = "doc"
    TAG = "tag"
    PROPERTY = "prop"
    SYMBOL = "symbol"
    TOPIC = "topic"


KIND_OF_SCOPE: Final = {
    WordScope.SUBJECT: HitKind.SUBJECT,
    WordScope.FIELD: HitKind.ELEMENT,
    WordScope.TYPE: HitKind.ELEMENT,
    WordScope.DOC: HitKind.DOC,
    WordScope.TAG: HitKind.TAG,
    WordScope.PROPERTY: HitKind.PROPERTY,
    WordScope.SYMBOL: HitKind.SYMBOL,
    WordScope.TOPIC: HitKind.TOPIC,
}


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """A search: the query, and what limits it. ``after`` is the ``next`` of the page before.

    ``counts``: how many hits there are is wanted, too, which may take longer than the hits.
    """

    q: str
    kind: HitKind | None = None
    context: str | None = None
    within: SearchExtent = SearchExtent.LATEST
    limit: int = DEFAULT_LIMIT
    after: str = ""
    counts: bool = True


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One word of a query, folded, and what it is compared with.

    ``parts`` are the words that it is made of, folded: ``customer`` and ``email`` of ``customer_email``.
    """

    text: str
    scope: WordScope = WordScope.NAMES
    parts: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query that was read: all ``words`` have to match.

    ``schema_id``, ``guid``, ``fingerprint`` (its first eight bytes) and ``frame_id`` are what the whole query may be,
    beside a name. ``unknown`` are parts that could not be read.
    """

    text: str
    words: tuple[QueryWord, ...] = ()
    language: SchemaType | None = None
    is_deleted: bool = False
    schema_id: int | None = None
    guid: UUID | None = None
    fingerprint: bytes = b""
    frame_id: int | UUID | None = None
    unknown: tuple[str, ...] = field(default=())


def read_query(text: str) -> SearchQuery:
    """Return the words and filters of a query; nothing raises, however it is written."""
    shown = storable(text[:MAX_QUERY_CHARS])
    words: list[QueryWord] = []
    unknown: list[str] = ["…"] if len(text) > MAX_QUERY_CHARS else []
    language, is_deleted = None, False
    for part in _PARTS.findall(shown):
        prefix, value = _split(part)
        if prefix == "lang" and (found := _language(value)) is not None:
            language = found
        elif (prefix, value.lower()) == ("is", "deleted"):
            is_deleted = True
        elif prefix is None and value:
            words.append(_plain(value))
        elif prefix in _SCOPES and fold(value):
            words.append(_word(value, WordScope(prefix)))
        else:
            unknown.append(part[:MAX_WORD_CHARS])
    words = list(dict.fromkeys(words))
    unknown += [each.text for each in words[MAX_WORDS:]]
    whole = _NAMED_NUMBER.sub("", shown.strip())
    return SearchQuery(
        shown,
        tuple(words[:MAX_WORDS]),
        language,
        is_deleted,
        int(whole) if _DIGITS.fullmatch(whole) and int(whole) <= _MAX_ID else None,
        UUID(whole) if _GUID.fullmatch(whole) else None,
        bytes.fromhex(whole)[:_FIRST_BYTES] if _FINGERPRINT.fullmatch(whole) else b"",
        _frame_id(whole),
        tuple(unknown),
    )


_SCOPES: Final = frozenset(each.value for each in WordScope if each)
_KNOWN: Final = _SCOPES | {"lang", "is"}


def _split(part: str) -> tuple[str | None, str]:
    """Return the known prefix of a part, None if it has none, and the rest without quotes."""
    found = _PREFIX.fullmatch(part)
    if found is not None and found[1] in _KNOWN:
        return found[1], found[2].strip('"')
    return None, part.strip('"')


def _plain(value: str) -> QueryWord:
    """Return a word without a prefix; one with a sign of types, such as ``decimal(10,2)``, is a type."""
    scope = WordScope.NAMES if _TYPE_SIGNS.isdisjoint(value) else WordScope.TYPE
    return _word(value, scope)


def _word(value: str, scope: WordScope) -> QueryWord:
    parts = parts_of_name(value) if scope is WordScope.NAMES else ()
    return QueryWord(fold(value)[:MAX_WORD_CHARS], scope, parts[:MAX_WORDS])


def in_parts(query: SearchQuery) -> SearchQuery | None:
    """Return a query with the parts of its words instead of them; None if no word has parts.

    >>> [each.text for each in getattr(in_parts(read_query("customer_email tag:a_b")), "words", ())]
    ['customer', 'email', 'ab']
    """
    if not any(each.parts for each in query.words):
        return None
    words = [word for each in query.words for word in (map(QueryWord, each.parts) if each.parts else [each])]
    return replace(query, words=tuple(dict.fromkeys(words))[:MAX_WORDS])


def _language(value: str) -> SchemaType | None:
    """Return the language that ``lang:`` names, in any case.

    >>> _language("Avro"), _language("xml")
    (<SchemaType.AVRO: 'AVRO'>, None)
    """
    wanted = {"JSONSCHEMA": "JSON", "PROTO": "PROTOBUF"}.get(value.upper(), value.upper())
    return SchemaType(wanted) if wanted in set(SchemaType) else None


def _frame_id(whole: str) -> int | UUID | None:
    """Return the id or guid in a frame that is written in hexadecimal digits or base64; None if it is none."""
    data = _bytes_of(whole.replace(" ", ""))
    if data is None:
        return None
    try:
        found = wire.read_frame(data)
    except wire.WireError:
        return None
    return found.schema_id if found.guid is None else found.guid


def _bytes_of(text: str) -> bytes | None:
    if _HEX_FRAME.fullmatch(text):
        return bytes.fromhex(text)
    if not _BASE64.fullmatch(text) or text[:1] != "A":  # a frame by id begins with a zero byte
        return None
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return None
