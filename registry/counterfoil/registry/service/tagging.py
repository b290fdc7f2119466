"""Tags inside a schema that is being registered: edits that are asked for, and tags carried over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.schema.entity import TagEdit
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.tags.edit import edit_tags, find_tags

if TYPE_CHECKING:
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.schema.parsed import ParsedSchema


class Tagging:
    """Tags as part of a registration."""

    def __init__(self, reader: SchemaReader) -> None:
        self._reader = reader

    async def edited(self, context: str, request: SchemaRequest) -> SchemaRequest:
        """``request`` with the tags that it adds and removes in its text; ``InvalidSchema`` for what is not there."""
        if request.tag_edit is None:
            return request
        if request.is_blank:
            raise InvalidSchema("The schema is empty; expected the schema text whose tags are to be changed")
        return replace(request, text=edit_tags(await self._parsed(context, request), request.tag_edit))

    async def propagated(self, context: str, request: SchemaRequest, latest: Content | None) -> SchemaRequest:
        """``request`` with the tags of ``latest`` on everything that it has, too, where it asks for that."""
        if not request.propagates_tags or latest is None or latest.schema_type.value != request.schema_type:
            return request
        parsed = await self._parsed(context, request)
        known = {entity for entity, _ in find_tags(parsed)}
        carried = find_tags(await self._reader.parsed(context, latest))
        edit = TagEdit(add={entity: tags for entity, tags in carried if tags and entity in known})
        return replace(request, text=edit_tags(parsed, edit)) if edit.add else request

    async def _parsed(self, context: str, request: SchemaRequest) -> ParsedSchema:
        reading = await self._reader.read(
            context, request, validation=Validation.LENIENT, normalize=False, deleted=False
        )
        return reading.candidate.parsed
