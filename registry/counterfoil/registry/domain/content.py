"""The content of a schema id: text, type, references, metadata and rules, with one fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.fingerprint import content_guid

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.model import Metadata, Reference, RuleSet, SchemaType


@dataclass(frozen=True, slots=True)
class Content:
    """An immutable stored schema. ``text`` is canonical.

    ``guid`` is the fingerprint of everything else except the type.
    """

    guid: UUID
    schema_type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None


def make_content(
    text: str,
    schema_type: SchemaType,
    *,
    references: tuple[Reference, ...] = (),
    metadata: Metadata | None = None,
    rule_set: RuleSet | None = None,
) -> Content:
    """Compute the fingerprint and return the content."""
    guid = content_guid(text, references, metadata, rule_set)
    return Content(guid, schema_type, text, references, metadata, rule_set)
