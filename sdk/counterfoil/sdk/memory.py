"""The rules of a registry over dictionaries: what :class:`counterfoil.sdk.testing.InMemoryRegistry` answers from.

It keeps what serializers, contracts and their tests rest on: ids by content and per context, versions, references,
compatibility, soft and permanent deletion, config and mode with their fallbacks. It has no aliases, compatibility
groups, default or override metadata, and does not look for a subject in other contexts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.check import check_compatibility
from counterfoil.schema.compatibility.messages import confluent_messages
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.errors import (
    IncompatibleSchema,
    InvalidSchema,
    ReferenceExists,
    SchemaNotFound,
    SubjectNotFound,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotFound,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.formats.protocol import ParsedSchema, Validation
from counterfoil.schema.model import Metadata, Reference, ResolvedReference, Schema
from counterfoil.schema.parsing import parse_schema
from counterfoil.sdk.entities import Compatibility, Deletion, Visibility
from counterfoil.sdk.memory_scopes import Scopes, check_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from counterfoil.schema.compatibility.levels import CompatibilityLevel


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of a subject. ``schema`` has the canonical text and real version numbers in its references."""

    subject: QualifiedSubject
    version: int
    id: int
    guid: UUID
    schema: Schema
    parsed: ParsedSchema
    is_deleted: bool = False

    def is_visible(self, visibility: Visibility) -> bool:
        """Whether a caller who asks for these sees it."""
        return visibility is Visibility.WITH_DELETED or self.is_deleted is (visibility is Visibility.DELETED_ONLY)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A schema that was read in the context of its subject, ready to be compared and stored."""

    schema: Schema
    parsed: ParsedSchema
    guid: UUID


class Memory:
    """All that one registry knows. Not thread-safe: its owner holds a lock."""

    def __init__(self, level: CompatibilityLevel) -> None:
        self._entries: dict[QualifiedSubject, tuple[Entry, ...]] = {}
        self._highest_id: dict[str, int] = defaultdict(int)
        self.scopes = Scopes(level)
        self.contexts: set[str] = {DEFAULT_CONTEXT}

    # --- reading ---------------------------------------------------------------------------------------------------

    def subjects(self, visibility: Visibility) -> list[QualifiedSubject]:
        """The subjects that a caller sees; one counts as deleted when all its versions are."""
        found = []
        for subject, entries in self._entries.items():
            is_deleted = all(entry.is_deleted for entry in entries)
            if visibility is Visibility.WITH_DELETED or is_deleted is (visibility is Visibility.DELETED_ONLY):
                found.append(subject)
        return found

    def versions(self, subject: QualifiedSubject, visibility: Visibility) -> tuple[Entry, ...]:
        """The versions that a caller sees, ascending; raises ``SubjectNotFound`` when there are none."""
        found = tuple(entry for entry in self._entries.get(subject, ()) if entry.is_visible(visibility))
        if not found:
            raise SubjectNotFound(f"Subject {str(subject)!r} not found")
        return found

    def version(self, subject: QualifiedSubject, number: int | None, visibility: Visibility) -> Entry:
        """The version with this number; the latest active one for None."""
        visible = self.versions(subject, visibility)
        if number is None:
            found = next((entry for entry in reversed(visible) if not entry.is_deleted), None)
        else:
            found = next((entry for entry in visible if entry.version == number), None)
        if found is None:
            raise VersionNotFound(f"Version {-1 if number is None else number} of subject {str(subject)!r} not found")
        return found

    def version_with_metadata(self, subject: QualifiedSubject, pairs: dict[str, str], visibility: Visibility) -> Entry:
        """The highest version whose metadata has these properties."""
        for entry in reversed(self.versions(subject, visibility)):
            metadata = entry.schema.metadata
            if metadata is not None and pairs.items() <= metadata.properties.items():
                return entry
        raise SchemaNotFound(f"Subject {str(subject)!r} has no version with the metadata {pairs}")

    def uses_of_id(self, context: str, schema_id: int) -> list[Entry]:
        """Every version in the context with this id, deleted ones too; raises ``SchemaNotFound``."""
        found = [entry for entry in self._all() if entry.subject.context == context and entry.id == schema_id]
        if not found:
            raise SchemaNotFound(f"Schema {schema_id} not found")
        return found

    def uses_of_guid(self, guid: UUID) -> list[Entry]:
        """Every version with this content, those of the default context first."""
        found = (entry for entry in self._all() if entry.guid == guid)
        return sorted(found, key=lambda entry: (entry.subject.context, entry.id))

    def referrers(self, target: Entry) -> list[Entry]:
        """The versions that refer to this one, deleted ones too."""
        return [
            entry
            for entry in self._all()
            for reference in entry.schema.references
            if reference.version == target.version and _subject_of(reference, entry.subject) == target.subject
        ]

    def _all(self) -> Iterator[Entry]:
        for entries in self._entries.values():
            yield from entries

    def _active(self, subject: QualifiedSubject) -> list[Entry]:
        """The active versions, newest first."""
        return [entry for entry in reversed(self._entries.get(subject, ())) if not entry.is_deleted]

    # --- content ---------------------------------------------------------------------------------------------------

    def lookup(self, subject: QualifiedSubject, schema: Schema, visibility: Visibility, *, normalize: bool) -> Entry:
        """The version that holds this content; raises ``SubjectNotFound``, ``SchemaNotFound``, ``InvalidSchema``."""
        candidate = self._read(subject, schema, Validation.LENIENT, normalize=normalize)
        visible = self.versions(subject, visibility)
        found = self._find(visible, candidate)
        if found is None:
            completed = self._completed(subject, schema)
            found = self._find(visible, self._read(subject, completed, Validation.LENIENT, normalize=normalize))
        if found is None:
            raise SchemaNotFound(f"Subject {str(subject)!r} holds no such schema")
        return found

    def register(self, subject: QualifiedSubject, schema: Schema, *, normalize: bool) -> Entry:
        """The version that holds this content, a new one if need be."""
        check_name(subject)
        if schema.text.strip():
            lenient = self._read(subject, schema, Validation.LENIENT, normalize=normalize)
            found = self._find(self._active_ascending(subject), lenient)
            if found is not None:
                return found
        self.scopes.check_writable(subject)
        candidate = self._read(subject, self._completed(subject, schema), Validation.STRICT, normalize=normalize)
        found = self._find(self._active_ascending(subject), candidate)
        if found is not None:
            return found
        verdict = self._judge(subject, candidate.parsed, self._active(subject))
        if not verdict.is_compatible:
            raise IncompatibleSchema(
                f"The schema is not compatible with an earlier one of subject {str(subject)!r}: "
                f"[{', '.join(verdict.messages)}]",
                reasons=verdict.messages,
            )
        return self._store(subject, candidate)

    def check(
        self, subject: QualifiedSubject, schema: Schema, against: list[Entry] | None, *, normalize: bool
    ) -> Compatibility:
        """The verdict against these versions, newest first; None: against all, as a registration would judge."""
        candidate = self._read(subject, schema, Validation.STRICT, normalize=normalize)
        return self._judge(subject, candidate.parsed, self._active(subject) if against is None else against)

    def _judge(self, subject: QualifiedSubject, candidate: ParsedSchema, history: list[Entry]) -> Compatibility:
        level = self.scopes.level(subject)
        earlier = (Earlier(entry.parsed, entry.version) for entry in history)
        report = check_compatibility(candidate, earlier, level)
        if report.is_compatible:
            return Compatibility(is_compatible=True)
        last = f"{{validateFields: 'false', compatibility: '{level}'}}"
        return Compatibility(is_compatible=False, messages=(*confluent_messages(report), last))

    def _active_ascending(self, subject: QualifiedSubject) -> tuple[Entry, ...]:
        return tuple(reversed(self._active(subject)))

    def _find(self, visible: tuple[Entry, ...], candidate: _Candidate) -> Entry | None:
        """The version with exactly this content, else the newest that says the same."""
        exact = next((entry for entry in visible if entry.guid == candidate.guid), None)
        if exact is not None:
            return exact
        return next((entry for entry in reversed(visible) if _says_the_same(entry, candidate)), None)

    def _completed(self, subject: QualifiedSubject, schema: Schema) -> Schema:
        """The schema with what a registration takes over from the latest version where it is left out."""
        latest = next(iter(self._active(subject)), None)
        if latest is None:
            return schema
        held = latest.schema
        if not schema.text.strip():
            schema = replace(schema, text=held.text, schema_type=held.schema_type, references=held.references)
        return replace(schema, metadata=schema.metadata or held.metadata, rule_set=schema.rule_set or held.rule_set)

    def _read(
        self, subject: QualifiedSubject, schema: Schema, validation: Validation, *, normalize: bool
    ) -> _Candidate:
        if not schema.text.strip():
            raise InvalidSchema("The schema is empty; expected the text of one")
        visibility = Visibility.ACTIVE if validation is Validation.STRICT else Visibility.WITH_DELETED
        references = tuple(
            replace(reference, version=self._target(reference, subject, visibility).version)  # -1 becomes a real number
            for reference in schema.references
        )
        resolved = self._resolve(references, subject)
        parsed = parse_schema(schema.text, schema.schema_type, references=resolved, validation=validation)
        normal = normalize or bool(self.scopes.effective_config(subject).normalize)
        if normal:
            references = tuple(sorted(set(references), key=lambda item: (item.subject, item.version)))
        text = parsed.normalized() if normal else parsed.canonical()
        stored = replace(schema, text=text, references=references, metadata=_in_order(schema.metadata))
        guid = content_guid(text, references, schema.metadata, schema.rule_set)
        return _Candidate(stored, parsed, guid)

    def _target(self, reference: Reference, referrer: QualifiedSubject, visibility: Visibility) -> Entry:
        try:
            number = None if reference.version == -1 else reference.version
            return self.version(_subject_of(reference, referrer), number, visibility)
        except (SubjectNotFound, VersionNotFound) as error:
            raise InvalidSchema(f"The reference {reference.name!r} cannot be resolved: {error}") from None

    def _resolve(self, references: tuple[Reference, ...], referrer: QualifiedSubject) -> list[ResolvedReference]:
        """The texts of the references and of theirs, each after those it needs; of two with one name the first."""
        text_by_name: dict[str, ResolvedReference] = {}

        def visit(wanted: tuple[Reference, ...], owner: QualifiedSubject) -> None:
            for reference in wanted:
                target = self._target(reference, owner, Visibility.WITH_DELETED)
                visit(target.schema.references, target.subject)
                text_by_name.setdefault(reference.name, ResolvedReference(reference, target.schema.text))

        visit(references, referrer)
        return list(text_by_name.values())

    def _store(self, subject: QualifiedSubject, candidate: _Candidate) -> Entry:
        entries = self._entries.get(subject, ())
        known = (entry.id for entry in self.uses_of_guid(candidate.guid) if entry.subject.context == subject.context)
        schema_id = next(known, None)
        if schema_id is None:
            schema_id = self._highest_id[subject.context] = self._highest_id[subject.context] + 1
        version = entries[-1].version + 1 if entries else 1
        added = Entry(subject, version, schema_id, candidate.guid, candidate.schema, candidate.parsed)
        kept = (entry for entry in entries if entry.id != schema_id or not entry.is_deleted or self.referrers(entry))
        self._entries[subject] = (*kept, added)
        self.contexts.add(subject.context)
        return added

    def holds_versions(self, scope: QualifiedSubject) -> bool:
        """Whether any version in the scope is active; the registry's own level spans all contexts."""
        everywhere = scope.is_global or scope == QualifiedSubject(DEFAULT_CONTEXT, "")
        return any(
            not entry.is_deleted
            for entry in self._all()
            if everywhere or entry.subject == scope or (scope.is_context and entry.subject.context == scope.context)
        )

    # --- deletion --------------------------------------------------------------------------------------------------

    def delete_subject(self, subject: QualifiedSubject, deletion: Deletion) -> list[int]:
        """The numbers of the versions that went."""
        entries = self.versions(subject, Visibility.WITH_DELETED)
        doomed = [entry for entry in entries if deletion is Deletion.PERMANENT or not entry.is_deleted]
        if not doomed:
            raise SubjectSoftDeleted(f"Subject {str(subject)!r} is soft-deleted; delete it with permanent=true")
        if deletion is Deletion.PERMANENT and not all(entry.is_deleted for entry in entries):
            raise SubjectNotSoftDeleted(f"Subject {str(subject)!r} is not soft-deleted; do that first")
        self.scopes.check_writable(subject, deletes=True)
        for entry in doomed:
            self._check_unreferenced(entry, deletion, but_by=subject)
        self._remove(subject, doomed, deletion)
        return [entry.version for entry in doomed]

    def delete_version(self, subject: QualifiedSubject, number: int | None, deletion: Deletion) -> int:
        """The number of the version that went."""
        visibility = Visibility.ACTIVE if number is None else Visibility.WITH_DELETED
        entry = self.version(subject, number, visibility)
        if deletion is Deletion.SOFT and entry.is_deleted:
            raise VersionSoftDeleted(f"Version {entry.version} of subject {str(subject)!r} is soft-deleted already")
        self.scopes.check_writable(subject, deletes=True)
        self._check_unreferenced(entry, deletion)
        if deletion is Deletion.PERMANENT and not entry.is_deleted:
            raise VersionNotSoftDeleted(f"Version {entry.version} of subject {str(subject)!r} is not soft-deleted")
        self._remove(subject, [entry], deletion)
        return entry.version

    def _remove(self, subject: QualifiedSubject, doomed: list[Entry], deletion: Deletion) -> None:
        numbers = {entry.version for entry in doomed}
        entries = self._entries[subject]
        if deletion is Deletion.SOFT:
            kept = tuple(replace(entry, is_deleted=entry.is_deleted or entry.version in numbers) for entry in entries)
        else:
            kept = tuple(entry for entry in entries if entry.version not in numbers)
        if kept:
            self._entries[subject] = kept
            return
        del self._entries[subject]
        self.scopes.forget(subject)

    def _check_unreferenced(self, entry: Entry, deletion: Deletion, *, but_by: QualifiedSubject | None = None) -> None:
        for referrer in self.referrers(entry):
            counts = deletion is Deletion.PERMANENT or not referrer.is_deleted
            if counts and referrer.subject != but_by:
                raise ReferenceExists(
                    f"Version {entry.version} of subject {str(entry.subject)!r} is referenced by "
                    f"version {referrer.version} of subject {str(referrer.subject)!r}"
                )


def _in_order(metadata: Metadata | None) -> Metadata | None:
    """The metadata as a registry gives it back: keys and values of tags, properties and names sorted."""
    if metadata is None:
        return None
    return Metadata(
        {path: tuple(sorted(set(tags))) for path, tags in sorted(metadata.tags.items())},
        dict(sorted(metadata.properties.items())),
        tuple(sorted(set(metadata.sensitive))),
    )


def _subject_of(reference: Reference, referrer: QualifiedSubject) -> QualifiedSubject:
    return parse_subject(reference.subject, context=referrer.context)


def _says_the_same(entry: Entry, candidate: _Candidate) -> bool:
    stored, asked = entry.schema, candidate.schema
    is_inlined = bool(stored.references) and not asked.references
    return (
        stored.schema_type is asked.schema_type
        and (is_inlined or stored.references == asked.references)
        and (stored.metadata or Metadata()) == (asked.metadata or Metadata())
        and stored.rule_set == asked.rule_set
        and entry.parsed.is_equivalent(candidate.parsed)
    )
