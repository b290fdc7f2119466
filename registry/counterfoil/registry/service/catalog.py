"""Reading subjects, versions, ids and contexts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.versions import VersionEntry, subject_not_found
from counterfoil.registry.service.lookup import Stored
from counterfoil.registry.service.reading import in_context
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, SubjectPrefix, parse_subject
from counterfoil.schema.errors import SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.rest.versions import Visibility
from counterfoil.schema.tags.edit import find_tags

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from uuid import UUID

    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import Use
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.entity import Entity


MAX_SUBJECTS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ById:
    """The content of an id, and one version with this id."""

    context: str
    schema_id: int
    content: Content
    use: Use


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the listing of all schemas."""

    stored: Stored
    aliases: tuple[str, ...] = ()


class Catalog:
    """The use cases of reading."""

    def __init__(self, storage: Storage, *, reader: SchemaReader) -> None:
        self._storage = storage
        self._reader = reader

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """Return the names with a prefix from one index to another, sorted, as the text of a JSON array."""
        return await self._storage.subject_names(prefix, visibility, first=first, last=last)

    async def contexts(self) -> list[str]:
        """Return the default context, then those in which something was registered."""
        known = await self._storage.contexts()
        return [DEFAULT_CONTEXT, *(name for name in known if name != DEFAULT_CONTEXT)]

    async def versions(
        self, subject: QualifiedSubject, *, visibility: Visibility, deleted_as_negative: bool = False
    ) -> list[int]:
        """Return the version numbers of a subject, ascending; raise ``SubjectNotFound`` if none is visible.

        ``deleted_as_negative`` lists all, the soft-deleted ones negated; it does not change which count as visible.
        """
        history = await self._storage.history(subject)
        if not history.visible(deleted=visibility is not Visibility.ACTIVE):
            raise subject_not_found(subject)
        if deleted_as_negative:
            return [-entry.version if entry.deleted else entry.version for entry in history.entries]
        entries: Sequence[VersionEntry] = history.visible(deleted=visibility is not Visibility.ACTIVE)
        if visibility is Visibility.DELETED_ONLY:
            entries = [entry for entry in entries if entry.deleted]
        return [entry.version for entry in entries]

    async def version(self, subject: QualifiedSubject, version: int | None, *, deleted: bool) -> Stored:
        """Return one version, or the latest for None.

        A name without a context is also looked up in the other contexts.
        """
        try:
            return await self._version(subject, version, deleted=deleted)
        except (SubjectNotFound, VersionNotFound) as missing:
            for context in await self._storage.contexts() if subject.is_default else ():
                other = in_context(subject, context)
                history = await self._storage.history(other)
                if history.find(version, deleted=deleted) is not None:
                    return await self._version(other, version, deleted=deleted)
            raise missing from None

    async def _version(self, subject: QualifiedSubject, version: int | None, *, deleted: bool) -> Stored:
        entry = (await self._storage.history(subject)).pick(subject, version, deleted=deleted)
        return Stored(subject, entry, await self._reader.content(entry.guid))

    async def formatted(self, context: str, content: Content, form: str) -> str:
        """Return the schema's text in a form of its language, or the stored text if the language has no such form."""
        text = (await self._reader.parsed(context, content)).formatted(form)
        return content.text if text is None else text

    async def tags(self, context: str, content: Content) -> list[tuple[Entity, tuple[str, ...]]]:
        """Return everything in a schema that can have tags, with its tags."""
        return find_tags(await self._reader.parsed(context, content))

    # --- ids

    async def by_id(self, schema_id: int, subject: str) -> ById:
        """Return the content of an id; ``subject`` names the context, see :meth:`_uses_of_id`."""
        context, uses = await self._uses_of_id(schema_id, subject)
        asked = parse_subject(subject)
        use = next((use for use in uses if use.subject.name == asked.name), uses[0])
        guid = await self._storage.guid_of_id(context, schema_id)
        if guid is None:
            raise schema_not_found(schema_id)
        return ById(context, schema_id, await self._reader.content(guid), use)

    async def _uses_of_id(self, schema_id: int, subject: str) -> tuple[str, Sequence[Use]]:
        """Return the context of the id, and the versions with this id there, at least one.

        ``:.ctx:`` is that context; so is ``:.ctx:foo`` if ``foo`` has the id there; ``foo`` is the default context if
        ``foo`` has the id there, else the first in which it has, else the default context. Raises ``SchemaNotFound`` if
        the context does not have the id.
        """
        wanted = parse_subject(subject)
        uses = await self._storage.uses(wanted.context, schema_id)
        if not wanted.is_context and all(use.subject != wanted for use in uses):
            if not wanted.is_default:
                raise schema_not_found(schema_id)
            for context in await self._storage.contexts():
                others = await self._storage.uses(context, schema_id)
                if any(use.subject == in_context(wanted, context) for use in others):
                    return context, others
        if not uses:
            raise schema_not_found(schema_id)
        return wanted.context, uses

    async def uses(self, schema_id: int, subject: str, *, deleted: bool) -> list[Use]:
        """Return the highest version of each subject with the content of an id; ``subject`` only names the context.

        After an import one content may have several ids.
        """
        context, _ = await self._uses_of_id(schema_id, subject)
        guid = await self._storage.guid_of_id(context, schema_id)
        twins = [] if guid is None else await self._storage.ids_of_guid(guid)
        uses = [use for place, twin in twins if place == context for use in await self._storage.uses(context, twin)]
        highest = {use.subject: use for use in sorted(uses) if deleted or not use.deleted}
        return list(highest.values())

    async def max_id(self, context: str) -> int:
        """Return the highest id of the context."""
        return await self._storage.max_id(context)

    async def by_guid(self, guid: UUID) -> ById:
        """Return a content by its fingerprint; the default context first, the others by name."""
        ids = await self.ids_of_guid(guid)
        for context, schema_id in sorted(ids, key=lambda pair: (pair[0] != DEFAULT_CONTEXT, pair)):
            uses = await self._storage.uses(context, schema_id)
            if uses:
                return ById(context, schema_id, await self._reader.content(guid), uses[0])
        raise SchemaNotFound(f"No schema with guid {guid} is stored")

    async def ids_of_guid(self, guid: UUID) -> list[tuple[str, int]]:
        """Return all contexts and ids of a content, sorted."""
        return list(await self._storage.ids_of_guid(guid))

    async def referenced_by(self, subject: QualifiedSubject, version: int | None, *, deleted: bool) -> list[int]:
        """Return the ids of the schemas that refer to a version, ascending; ``deleted`` includes soft-deleted ones.

        The version is looked up as in :meth:`version`. Ids of different contexts may be the same number, which then
        occurs twice.
        """
        found = await self.version(subject, version, deleted=True)
        uses = await self._storage.referrers(found.subject, found.entry.version)
        ids = {(use.subject.context, use.schema_id) for use in uses if deleted or not use.deleted}
        return sorted(schema_id for _, schema_id in ids)

    # --- all schemas

    async def schemas(
        self, prefix: SubjectPrefix, *, deleted: bool, latest_only: bool, aliases: bool, at_most: int = MAX_SUBJECTS
    ) -> AsyncIterator[Listed]:
        """Yield all versions of the subjects whose names have a prefix, by name and version.

        ``aliases`` adds the subjects of aliases with the prefix. ``at_most`` limits the number of subjects that are
        read, for callers that need no more.
        """
        names_by_subject: dict[QualifiedSubject, list[str]] = {}
        visibility = Visibility.WITH_DELETED if deleted else Visibility.ACTIVE
        names = await self._storage.subject_names(prefix, visibility, first=0, last=at_most)
        subjects = {parse_subject(name) for name in json.loads(names)}
        if aliases:
            names_by_subject = await self._aliases(prefix)
            subjects |= names_by_subject.keys()
        for subject in sorted(subjects, key=str):
            entries = (await self._storage.history(subject)).visible(deleted=deleted)
            for entry in entries[-1:] if latest_only else entries:
                stored = Stored(subject, entry, await self._reader.content(entry.guid))
                yield Listed(stored, tuple(names_by_subject.get(subject, ())))

    async def _aliases(self, prefix: SubjectPrefix) -> dict[QualifiedSubject, list[str]]:
        found: dict[QualifiedSubject, list[str]] = {}
        for scope, settings in await self._storage.scopes():
            matches = prefix.context in {None, scope.context} and scope.name.startswith(prefix.name)
            if matches and not scope.is_context and settings.config is not None and settings.config.alias:
                target = parse_subject(settings.config.alias, context=scope.context)
                found.setdefault(target, []).append(str(scope))
        return found


def schema_not_found(schema_id: int) -> SchemaNotFound:
    """Return the error for an unknown id."""
    return SchemaNotFound(f"Schema {schema_id} not found")
