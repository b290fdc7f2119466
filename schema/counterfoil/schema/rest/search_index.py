"""What is beside the store: results of the search index, and refused registrations.

The JSON of these values is that of this project's own API under ``/inspect/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from counterfoil.schema.rest.inspection import IndexState, ReferenceName
from counterfoil.schema.rest.object_forms import JsonType, form_of

# Search.


class HitKind(StrEnum):
    """The kind of what a search found."""

    SUBJECT = "subject"
    ELEMENT = "element"
    DOC = "doc"
    TAG = "tag"
    PROPERTY = "property"
    TOPIC = "topic"
    SYMBOL = "symbol"
    ID = "id"
    GUID = "guid"
    FINGERPRINT = "fingerprint"
    BYTES = "bytes"


_RANGE: Final = JsonType(
    read=lambda given: tuple(given.value),
    write=lambda found: [list(each) for each in found],
    schema={"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One thing that was found: an element in the versions ``since`` to ``until`` (None: it is there still).

    ``text`` is what matched (a name, a sentence of documentation), ``marks`` the ranges in it: pairs of first and last
    (exclusive) character.
    """

    kind: HitKind
    subject: str
    text: str
    version: int | None = None
    path: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    schema_type: str = ""
    since: int | None = None
    until: int | None = None
    marks: tuple[tuple[int, int], ...] = ()


SEARCH_HIT: Final = form_of(SearchHit, types={"marks": _RANGE})


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page of hits in the order of their ranks, and the state of the index they come from.

    ``counts`` are how many there are of each kind, as texts such as ``37 elements in 12 subjects``; ``nearest`` are
    names that resemble the query where nothing was found. ``unknown`` are parts of the query that could not be read.
    """

    query: str
    hits: tuple[SearchHit, ...]
    index: IndexState
    counts: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    next: str = ""


SEARCH_RESULT: Final = form_of(SearchResult)

# Refused registrations.


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """A refused registration; ``count`` is how often the same text was refused since ``first`` (both epoch ms)."""

    request_id: str
    subject: str
    error_code: int
    message: str
    first: int
    last: int
    count: int = 1
    by: str | None = None


REFUSAL_ROW: Final = form_of(RefusalRow)


@dataclass(frozen=True, slots=True)
class RefusalRows:
    """A page of refusals, the newest first; ``next`` is the ``after`` of the next page."""

    refusals: tuple[RefusalRow, ...]
    next: str = ""


REFUSAL_ROWS: Final = form_of(RefusalRows)


@dataclass(frozen=True, slots=True)
class RefusedText:
    """A refused registration with what was sent: against which state (``seq``, the last change then) it was judged."""

    refusal: RefusalRow
    schema_type: str
    schema: str
    seq: int
    references: tuple[ReferenceName, ...] = ()
    messages: tuple[str, ...] = ()


REFUSED_TEXT: Final = form_of(RefusedText)
