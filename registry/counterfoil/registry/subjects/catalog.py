"""Stored versions: looked up by content or metadata, listed, and found by id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from counterfoil.registry.access.rights import Shown, Visible, everything
from counterfoil.registry.store.name_ranges import SubjectRange, intersection, of_prefix
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.levels import Scopes
from counterfoil.registry.subjects.reading import Matcher, SchemaReader, completed, in_context
from counterfoil.registry.subjects.versions import (
    Content,
    SchemaRequest,
    VersionEntry,
    VersionUse,
    parse_schema_type,
    subject_not_found,
)
from counterfoil.schema.answers import formatted_text
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, SubjectPrefix, parse_subject
from counterfoil.schema.entity import Entity
from counterfoil.schema.errors import InvalidSchema, SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.versions import Visibility
from counterfoil.schema.tags import find_tags

# Looking a schema up by its content, or by its metadata.


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored version. ``exact``: found by identical content, so that its times are not needed."""

    subject: QualifiedSubject
    entry: VersionEntry
    content: Content
    exact: bool = False


class SchemaLookup:
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


# Reading subjects, versions, ids and contexts.

MAX_SUBJECTS: Final = 2**31 - 1
_MAX_REFERRERS: Final = 1000


@dataclass(frozen=True, slots=True)
class ById:
    """The content of an id, and one version with this id.

    ``is_usual``: it is the version that callers get who may read all of them.
    """

    context: str
    schema_id: int
    content: Content
    use: VersionUse
    is_usual: bool = True


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

    async def subject_names(
        self,
        prefix: SubjectPrefix,
        visibility: Visibility,
        *,
        first: int,
        last: int,
        visible: Visible | None = None,
    ) -> str:
        """Return the names with a prefix from one index to another, sorted, as the text of a JSON array.

        ``visible`` are those that are listed for a caller; None lists all.
        """
        if visible is None:
            return await self._storage.subject_names(prefix, visibility, first=first, last=last)
        contexts = [prefix.context]
        if prefix.context is None:
            contexts = [DEFAULT_CONTEXT, *await self._storage.contexts()]
        ranges: list[SubjectRange] = []
        is_exact = True
        for context in sorted({each for each in contexts if each is not None}):
            found = visible.names(context)
            is_exact = is_exact and found.is_exact
            ranges += [SubjectRange(context, *each) for each in intersection(found.ranges, (of_prefix(prefix.name),))]
        if is_exact:
            return await self._storage.names_within(ranges, visibility, first=first, last=last)
        names = json.loads(await self._storage.names_within(ranges, visibility, first=0, last=MAX_SUBJECTS))
        shown = [name for name in names if visible.shows(parse_subject(name))]
        return json.dumps(shown[first:last], ensure_ascii=False, separators=(",", ":"))

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
            raise subject_not_found(subject, history)
        if deleted_as_negative:
            return [-entry.version if entry.deleted else entry.version for entry in history.entries]
        entries: Sequence[VersionEntry] = history.visible(deleted=visibility is not Visibility.ACTIVE)
        if visibility is Visibility.DELETED_ONLY:
            entries = [entry for entry in entries if entry.deleted]
        return [entry.version for entry in entries]

    async def version(
        self, subject: QualifiedSubject, version: int | None, *, deleted: bool, shown: Shown = everything
    ) -> Stored:
        """Return one version, or the latest for None.

        A name without a context is also looked up in the other contexts, in subjects that are ``shown`` to the caller.
        """
        try:
            return await self._version(subject, version, deleted=deleted)
        except (SubjectNotFound, VersionNotFound) as missing:
            found = await self.version_elsewhere(subject, version, deleted=deleted, shown=shown)
            if found is None:
                raise missing from None
            return found

    async def version_elsewhere(
        self, subject: QualifiedSubject, version: int | None, *, deleted: bool, shown: Shown = everything
    ) -> Stored | None:
        """Return the version of the first subject in another context that has the name and is shown to the caller."""
        for context in await self._storage.contexts() if subject.is_default else ():
            other = in_context(subject, context)
            if other == subject or not shown(other):
                continue
            if (await self._storage.history(other)).find(version, deleted=deleted) is not None:
                return await self._version(other, version, deleted=deleted)
        return None

    async def is_read_by_another(self, subject: QualifiedSubject, version: int | None, *, shown: Shown) -> bool:
        """Return whether a schema that refers to a version, maybe through others, is shown to the caller.

        Its text contains that of the version already. Of more than a thousand such schemas the first are examined.
        """
        entry = (await self._storage.history(subject)).find(version, deleted=True)
        waiting = [] if entry is None else [(subject, entry.version)]
        known = set(waiting)
        while waiting:
            for use in await self._storage.referrers(*waiting.pop()):
                target = (use.subject, use.version)
                if use.deleted or target in known:
                    continue
                if shown(use.subject):
                    return True
                if len(known) == _MAX_REFERRERS:
                    return False
                known.add(target)
                waiting.append(target)
        return False

    async def _version(self, subject: QualifiedSubject, version: int | None, *, deleted: bool) -> Stored:
        entry = (await self._storage.history(subject)).pick(subject, version, deleted=deleted)
        return Stored(subject, entry, await self._reader.content(entry.guid))

    async def formatted(self, context: str, content: Content, form: str) -> str:
        """Return the schema's text in a form of its language, or the stored text if the language has no such form."""
        parsed = await self._reader.parsed(context, content)
        text = await self._reader.about(parsed, formatted_text, form)
        return content.text if text is None else text

    async def tags(self, context: str, content: Content) -> list[tuple[Entity, tuple[str, ...]]]:
        """Return everything in a schema that can have tags, with its tags."""
        return await self._reader.about(await self._reader.parsed(context, content), find_tags)

    # --- ids

    async def by_id(self, schema_id: int, subject: str, *, shown: Shown = everything) -> ById | None:
        """Return the content of an id; ``subject`` names the context, see :meth:`_uses_of_id`.

        None if no subject with the id is ``shown`` to the caller.
        """
        context, uses = await self._uses_of_id(schema_id, subject, shown=shown)
        use = _use_shown(uses, parse_subject(subject), shown)
        if use is None:
            return None
        guid = await self._storage.guid_of_id(context, schema_id)
        if guid is None:
            raise schema_not_found(schema_id)
        is_usual = shown is everything or use == _use_shown(uses, parse_subject(subject), everything)
        return ById(context, schema_id, await self._reader.content(guid), use, is_usual)

    async def _uses_of_id(self, schema_id: int, subject: str, *, shown: Shown) -> tuple[str, Sequence[VersionUse]]:
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
                if any(use.subject == in_context(wanted, context) and shown(use.subject) for use in others):
                    return context, others
        if not uses:
            raise schema_not_found(schema_id)
        return wanted.context, uses

    async def uses(self, schema_id: int, subject: str, *, deleted: bool, shown: Shown = everything) -> list[VersionUse]:
        """Return the highest version of each subject with the content of an id; ``subject`` only names the context.

        After an import one content may have several ids.
        """
        context, _ = await self._uses_of_id(schema_id, subject, shown=shown)
        guid = await self._storage.guid_of_id(context, schema_id)
        twins = [] if guid is None else await self._storage.ids_of_guid(guid)
        uses = [use for place, twin in twins if place == context for use in await self._storage.uses(context, twin)]
        highest = {use.subject: use for use in sorted(uses) if deleted or not use.deleted}
        return list(highest.values())

    async def max_id(self, context: str) -> int:
        """Return the highest id of the context."""
        return await self._storage.max_id(context)

    async def by_guid(self, guid: UUID, *, shown: Shown = everything) -> ById | None:
        """Return a content by its fingerprint; the default context first, the others by name.

        None if no subject with it is ``shown`` to the caller.
        """
        ids = await self.ids_of_guid(guid)
        is_stored = False
        for context, schema_id in sorted(ids, key=lambda pair: (pair[0] != DEFAULT_CONTEXT, pair)):
            uses = await self._storage.uses(context, schema_id)
            use = next((use for use in uses if shown(use.subject)), None)
            if use is not None:
                is_usual = not is_stored and use == uses[0]
                return ById(context, schema_id, await self._reader.content(guid), use, is_usual)
            is_stored = is_stored or bool(uses)
        if is_stored:
            return None
        raise SchemaNotFound(f"No schema with guid {guid} is stored")

    async def holder(self, guid: UUID, context: str | None, *, shown: Shown) -> VersionUse | None:
        """Return a version with a content, of a subject that is ``shown``; in a context, or in any for None."""
        for place, schema_id in await self.ids_of_guid(guid):
            uses = await self._storage.uses(place, schema_id) if context in {None, place} else ()
            found = next((use for use in uses if shown(use.subject)), None)
            if found is not None:
                return found
        return None

    async def is_held(self, context: str, schema_id: int, *, shown: Shown) -> bool:
        """Return whether a subject with an id is ``shown`` to the caller."""
        return any(shown(use.subject) for use in await self._storage.uses(context, schema_id))

    async def ids_of_guid(self, guid: UUID) -> list[tuple[str, int]]:
        """Return all contexts and ids of a content, sorted."""
        return list(await self._storage.ids_of_guid(guid))

    async def referenced_by(self, referred: Stored, *, deleted: bool, shown: Shown = everything) -> list[int]:
        """Return the ids of the schemas that refer to a version, ascending; ``deleted`` includes soft-deleted ones.

        Ids of different contexts may be the same number, which then occurs twice.
        """
        uses = await self._storage.referrers(referred.subject, referred.entry.version)
        ids = {
            (use.subject.context, use.schema_id) for use in uses if (deleted or not use.deleted) and shown(use.subject)
        }
        return sorted(schema_id for _, schema_id in ids)

    # --- all schemas

    async def schemas(
        self,
        prefix: SubjectPrefix,
        *,
        deleted: bool,
        latest_only: bool,
        aliases: bool,
        at_most: int = MAX_SUBJECTS,
        visible: Visible | None = None,
    ) -> AsyncIterator[Listed]:
        """Yield all versions of the subjects whose names have a prefix, by name and version.

        ``aliases`` adds the subjects of aliases with the prefix. ``at_most`` limits the number of subjects that are
        read, for callers that need no more. ``visible`` are those that are listed for a caller; None lists all.
        """
        names_by_subject: dict[QualifiedSubject, list[str]] = {}
        visibility = Visibility.WITH_DELETED if deleted else Visibility.ACTIVE
        names = await self.subject_names(prefix, visibility, first=0, last=at_most, visible=visible)
        subjects = {parse_subject(name) for name in json.loads(names)}
        if aliases:
            names_by_subject = await self._aliases(prefix, everything if visible is None else visible.shows)
            subjects |= names_by_subject.keys()
        for subject in sorted(subjects, key=str):
            entries = (await self._storage.history(subject)).visible(deleted=deleted)
            for entry in entries[-1:] if latest_only else entries:
                stored = Stored(subject, entry, await self._reader.content(entry.guid))
                yield Listed(stored, tuple(names_by_subject.get(subject, ())))

    async def _aliases(self, prefix: SubjectPrefix, shown: Shown) -> dict[QualifiedSubject, list[str]]:
        found: dict[QualifiedSubject, list[str]] = {}
        for scope, settings in await self._storage.scopes():
            matches = prefix.context in {None, scope.context} and scope.name.startswith(prefix.name)
            if matches and not scope.is_context and settings.config is not None and settings.config.alias:
                target = parse_subject(settings.config.alias, context=scope.context)
                if shown(scope) and shown(target):
                    found.setdefault(target, []).append(str(scope))
        return found


def _use_shown(uses: Sequence[VersionUse], asked: QualifiedSubject, shown: Shown) -> VersionUse | None:
    """Return the version that an id stands for: that of the name ``asked``, or the first, of those that are shown."""
    found = uses if shown is everything else [use for use in uses if shown(use.subject)]
    return next((use for use in found if use.subject.name == asked.name), found[0] if found else None)


def schema_not_found(schema_id: int) -> SchemaNotFound:
    """Return the error for an unknown id."""
    return SchemaNotFound(f"Schema {schema_id} not found")
