"""Looking a schema up by its content, or by its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.access.rights import everything
from counterfoil.registry.domain.versions import subject_not_found
from counterfoil.registry.service.matching import completed
from counterfoil.registry.service.reading import in_context
from counterfoil.registry.service.requests import parse_schema_type
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import InvalidSchema, SchemaNotFound
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.access.rights import Shown
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.service.matching import Matcher
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored version. ``exact``: found by identical content, so that its times are not needed."""

    subject: QualifiedSubject
    entry: VersionEntry
    content: Content
    exact: bool = False


class Lookup:
    """The use cases of looking up."""

    def __init__(self, storage: Storage, *, scopes: Scopes, reader: SchemaReader, matcher: Matcher) -> None:
        self._storage = storage
        self._scopes = scopes
        self._reader = reader
        self._matcher = matcher

    async def by_content(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        normalize: bool,
        deleted: bool,
        shown: Shown = everything,
    ) -> Stored:
        """Return the version of ``subject`` with the schema, if the subject is ``shown`` to the caller.

        A name without a context is also looked up in other contexts. Raises ``InvalidSchema``, ``SubjectNotFound`` if
        no version is visible, else ``SchemaNotFound``.
        """
        found = None
        if shown(subject):
            found = await self._in_subject(subject, request, normalize=normalize, deleted=deleted)
        if found is None and subject.is_default:
            found = await self._elsewhere(subject, request, normalize=normalize, deleted=deleted, shown=shown)
        if found is not None:
            return found
        history = await self._storage.history(subject)
        if not history.visible(deleted=deleted):
            raise subject_not_found(subject, history)
        raise SchemaNotFound(f"Subject {str(subject)!r} does not hold this schema")

    async def _elsewhere(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool, deleted: bool, shown: Shown
    ) -> Stored | None:
        for context in await self._storage.contexts():
            other = in_context(subject, context)
            if other == subject or not shown(other) or not (await self._storage.history(other)).entries:
                continue
            if not all(shown(parse_subject(each.subject, context=context)) for each in request.references):
                continue
            try:
                found = await self._in_subject(other, request, normalize=normalize, deleted=deleted)
            except InvalidSchema:
                continue
            if found is not None:
                return found
        return None

    async def _in_subject(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool, deleted: bool
    ) -> Stored | None:
        if request.is_blank:
            parse_schema_type(request.schema_type)
            return None
        config = await self._scopes.config(subject)
        normalize = normalize or bool(config.normalize)
        found = await self._match(subject, request, normalize=normalize, deleted=deleted)
        if found is not None:
            return found
        history = await self._storage.history(subject)
        fuller = await completed(request, config, history, self._reader)
        if fuller == request:
            return None
        return await self._match(subject, fuller, normalize=normalize, deleted=deleted)

    async def _match(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool, deleted: bool
    ) -> Stored | None:
        reading = await self._reader.read(
            subject.context, request, validation=Validation.LOOKUP, normalize=normalize, deleted=True
        )
        entries = (await self._storage.history(subject)).visible(deleted=deleted)
        match = await self._matcher.find(subject.context, reading.candidate, entries)
        return None if match is None else Stored(subject, match.entry, match.content, match.exact)

    async def by_metadata(self, subject: QualifiedSubject, wanted: Mapping[str, str], *, deleted: bool) -> Stored:
        """Return the highest version whose metadata has all properties of ``wanted``.

        If that is empty, any metadata.
        """
        history = await self._storage.history(subject)
        entries = history.visible(deleted=deleted)
        if not entries:
            raise subject_not_found(subject, history)
        for entry in reversed(entries):
            content = await self._reader.content(entry.guid)
            if content.metadata is not None and wanted.items() <= dict(content.metadata.properties).items():
                return Stored(subject, entry, content)
        raise SchemaNotFound(f"No version of subject {str(subject)!r} has this metadata")
