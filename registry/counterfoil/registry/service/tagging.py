"""Tags inside a schema that is being registered: requested edits, and tags copied from the latest version."""

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
        """Return ``request`` with its tag edits applied to the text; raise ``InvalidSchema`` for an unknown place."""
        if request.tag_edit is None:
            return request
        if request.is_blank:
            raise InvalidSchema("The schema is empty; expected the schema text whose tags are to be changed")
        parsed = await self._parsed(context, request)
        return replace(request, text=await self._reader.about(parsed, edit_tags, request.tag_edit))

    async def propagated(self, context: str, request: SchemaRequest, latest: Content | None) -> SchemaRequest:
        """Return ``request`` with the tags of ``latest`` on the parts that both have, if the request says so."""
        if not request.propagates_tags or latest is None or latest.schema_type.value != request.schema_type:
            return request
        parsed = await self._parsed(context, request)
        known = {entity for entity, _ in await self._reader.about(parsed, find_tags)}
        carried = await self._reader.about(await self._reader.parsed(context, latest), find_tags)
        edit = TagEdit(add={entity: tags for entity, tags in carried if tags and entity in known})
        return replace(request, text=await self._reader.about(parsed, edit_tags, edit)) if edit.add else request

    async def _parsed(self, context: str, request: SchemaRequest) -> ParsedSchema:
        reading = await self._reader.read(
            context, request, validation=Validation.LENIENT, normalize=False, deleted=False
        )
        return reading.candidate.parsed
