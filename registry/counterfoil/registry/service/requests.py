"""What a caller sends to register, look up or test a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.schema.entity import TagEdit
    from counterfoil.schema.model import Metadata, Reference, RuleSet

SUPPORTED_TYPES = (SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.AVRO)
"""What a schema may be written in, in the order in which other registries list it: some callers go by the place."""

NEXT_VERSION = -1
"""As a requested version: the next one, but nothing new when the latest is the same."""


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    """The body of a registration, a look-up or a test.

    ``text`` is None or blank where the latest version's is meant. ``schema_id`` and ``version`` are None where the
    registry chooses; ``version`` is -1 (:data:`NEXT_VERSION`) or a number from 1. ``tag_edit`` are tags to add to and
    remove from the text; ``propagates_tags`` copies those of the latest version onto what is still there. Metadata and
    rules that are None come from the latest version, unless ``is_complete``.
    """

    text: str | None = None
    schema_type: str = SchemaType.AVRO.value
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
        """Whether the request brings no schema text of its own."""
        return not (self.text or "").strip()


def parse_schema_type(text: str) -> SchemaType:
    """The schema type that ``text`` names, letter by letter; ``InvalidSchema`` names those there are."""
    if text not in SUPPORTED_TYPES:
        raise InvalidSchema(
            f"Schema type {text[:80]!r} is not supported; this registry reads {', '.join(SUPPORTED_TYPES)}"
        )
    return SchemaType(text)
