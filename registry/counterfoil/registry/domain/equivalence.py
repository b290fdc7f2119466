"""When a schema that is asked for is one that is stored already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.merging import stamp_of, unstamped
from counterfoil.schema.model import Metadata

if TYPE_CHECKING:
    from counterfoil.registry.domain.content import Content
    from counterfoil.schema.parsed import ParsedSchema


@dataclass(frozen=True, slots=True)
class Candidate:
    """A schema that was sent: its content, and the parsed form of it."""

    content: Content
    parsed: ParsedSchema


def may_match(asked: Content, stored: Content, version: int) -> bool:
    """Whether all but the text says that ``stored``, which is ``version`` of its subject, is what was asked for.

    References are equal, or the request has none (its types are written out); rules are equal; metadata is equal apart
    from the version property, see :func:`_same_metadata`.
    """
    return (
        asked.schema_type == stored.schema_type
        and (not asked.references or asked.references == stored.references)
        and asked.rule_set == stored.rule_set
        and _same_metadata(asked.metadata, stored.metadata, version)
    )


def _same_metadata(asked: Metadata | None, stored: Metadata | None, version: int) -> bool:
    asked_stamp, stored_stamp = stamp_of(asked), stamp_of(stored)
    if asked_stamp is None and stored_stamp is not None:
        return (asked or Metadata()) == unstamped(stored)
    if asked_stamp is not None and stored_stamp is None:
        return asked_stamp == str(version) and unstamped(asked) == (stored or Metadata())
    return asked == stored
