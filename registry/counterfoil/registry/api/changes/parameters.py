"""The parameters of the change feed, for its pages and its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import Depends, Header, Path, Query
from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.api.http.paths import decode_segment
from counterfoil.registry.api.http.validation import expected
from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.service.feed import ChangeFilter
from counterfoil.schema.contexts import QualifiedSubject, parse_prefix, parse_subject
from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.service.storage import Storage

LATEST: Final = "latest"
DEFAULT_LIMIT: Final = 100

_MAX_LIMIT: Final = 1000
_MAX_SEQ: Final = 10**18 - 1
_POSITION: Final = f"the number of a change, or {LATEST}"
_KINDS: Final = ", ".join(kind.value for kind in ChangeKind)


def _digits(text: object) -> object:
    """Return ``text``; refuse other spellings of a number that pydantic reads: a sign, a point, blanks, underscores."""
    if isinstance(text, str) and not (text.isascii() and text.isdigit()):
        raise ValueError("expected digits")
    return text


def _words(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in text.split(",") if word]


Seq = Annotated[int, Field(ge=0, le=_MAX_SEQ), BeforeValidator(_digits)] | Literal["latest"]
After = Annotated[
    Seq,
    Query(description=f"The number of the last change that the caller has read, or `{LATEST}`."),
    expected(_POSITION, empty=0),
]
LastEvent = Annotated[
    Seq | SkipJsonSchema[None],
    Header(alias="Last-Event-ID", description="As `after`, for a client that reconnects."),
    expected(_POSITION, empty=None),
]
Limit = Annotated[
    Annotated[int, Field(ge=1, le=_MAX_LIMIT), BeforeValidator(_digits)],
    Query(description="The largest number of changes."),
    expected(f"a number from 1 to {_MAX_LIMIT}", empty=DEFAULT_LIMIT),
]
Kinds = Annotated[
    tuple[Annotated[ChangeKind, expected(f"one of {_KINDS}")], ...],
    Query(description="Return only changes of these kinds, separated by commas."),
    BeforeValidator(_words),
]
Prefix = Annotated[
    str | SkipJsonSchema[None],
    Query(alias="subjectPrefix", description="The beginning of the name; `:*:` is all contexts."),
]


def _wanted(kind: Kinds = (), prefix: Prefix = None) -> ChangeFilter:
    return ChangeFilter(frozenset(kind or ChangeKind), None if prefix is None else parse_prefix(prefix))


def _scope(subject: Annotated[str, Path()]) -> QualifiedSubject:
    return parse_subject(decode_segment(subject))


Wanted = Annotated[ChangeFilter, Depends(_wanted)]
"""The changes that the query selects."""

ScopeSubject = Annotated[QualifiedSubject, Depends(_scope)]
"""The subject or context in the path, without resolving an alias."""


async def position(storage: Storage, after: Seq) -> int:
    """Return the number after which to continue; raise ``BadRequest`` for one that has not been assigned.

    A client with such a number has read another store. A feed that waited for later changes would leave out all changes
    until then.
    """
    if after == LATEST:
        return await storage.last_change()
    if after:
        last = await storage.last_change()
        if after > last:
            raise BadRequest(f"after is {after}, but the last change here is {last}; expected a number up to that")
    return after
