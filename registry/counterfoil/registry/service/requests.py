"""Requests to register, look up or test a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import DEFAULT_TYPE, SchemaType

if TYPE_CHECKING:
    from counterfoil.schema.entity import TagEdit
    from counterfoil.schema.model import Metadata, Reference, RuleSet

SUPPORTED_TYPES = (SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.AVRO)
"""The schema types, in the order of other registries' lists, since some callers depend on the order."""

NEXT_VERSION = -1
"""As a requested version: the next one, or the latest if it has the same content."""


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    """The body of a registration, a look-up or a test.

    If ``text`` is None or blank, the latest version's is used. If ``schema_id`` or ``version`` is None, the registry
    chooses; ``version`` is -1 (:data:`NEXT_VERSION`) or a number from 1. ``tag_edit`` are tags to add to and remove
    from the text; ``propagates_tags`` copies those of the latest version to the parts that still exist. Metadata and
    rules that are None come from the latest version, unless ``is_complete``.
    """

    text: str | None = None
    schema_type: str = DEFAULT_TYPE.value
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema_id: int | None = None
    version: int | None = None
    tag_edit: TagEdit | None = None
    propagates_tags: bool = False
    is_complete: bool = False

    @property
    def is_blank(self) -> bool:
        """Whether the request has no schema text."""
        return not (self.text or "").strip()


def parse_schema_type(text: str) -> SchemaType:
    """Return the schema type that ``text`` names exactly; raise ``InvalidSchema``, which lists the types."""
    if text not in SUPPORTED_TYPES:
        raise InvalidSchema(
            f"Schema type {text[:80]!r} is not supported; this registry reads {', '.join(SUPPORTED_TYPES)}"
        )
    return SchemaType(text)
