"""Versions of subjects as values: content, history, ids; what metadata and rules of several sources are together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final, TypeVar
from uuid import UUID

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import (
    InvalidRuleSet,
    InvalidSchema,
    InvalidSubject,
    InvalidVersion,
    ReferenceExists,
    SubjectNotFound,
    VersionNotFound,
)
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.marks import TagEdit
from counterfoil.schema.model import DEFAULT_TYPE, Metadata, Reference, Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.rest.schemas import MIGRATION_MODES, OTHER_MODES
from counterfoil.schema.rest.subjects import Config

# Which subject names are valid.

_RESERVED_NAMES: Final = frozenset({"__GLOBAL", "__EMPTY"})


def check_subject(subject: QualifiedSubject) -> None:
    """Raise ``InvalidSubject`` unless versions may be registered under ``subject``."""
    if subject.is_global:
        raise InvalidSubject(f"Subject {str(subject)!r} is not valid: the global level holds config and mode only")
    check_name(subject)


def check_name(subject: QualifiedSubject) -> None:
    """Raise ``InvalidSubject`` unless config and mode may be stored for ``subject``."""
    if subject.name in _RESERVED_NAMES:
        raise InvalidSubject(f"Subject {subject.name!r} is not valid: the name is reserved")
    for text in (subject.context, subject.name):
        if any(unicodedata.category(character) == "Cc" for character in text):
            raise InvalidSubject(f"Subject {str(subject)!r} is not valid: it contains a control character")


# Version numbers in paths, and the history of a subject.

MAX_VERSION: Final = 2**31 - 1
_LATEST_NUMBER = -1
_MAX_DIGITS = 10


def parse_version(text: str) -> int | None:
    """Return the version number that a path names, or None for the latest one (``latest`` in any case, or ``-1``).

    Raises ``InvalidVersion`` for anything that is neither nor a number from 1 to 2147483647.
    """
    word = text.strip()
    if word.lower() == "latest":
        return None
    digits = word.removeprefix("+") if word[:1] == "+" else word.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= _MAX_DIGITS:
        number = -int(digits) if word.startswith("-") else int(digits)
        if number == _LATEST_NUMBER:
            return None
        if 1 <= number <= MAX_VERSION:
            return number
    raise InvalidVersion(
        f"The version {text[:80]!r} is not valid; expected a number from 1 to {MAX_VERSION}, 'latest' or -1"
    )


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One row of a subject's history: its number, the id and guid of its content, the time of storage (epoch ms)."""

    version: int
    schema_id: int
    guid: UUID
    deleted: bool
    ts: int


@dataclass(frozen=True, slots=True, order=True)
class VersionUse:
    """One version with a schema id."""

    subject: QualifiedSubject
    version: int
    schema_id: int
    deleted: bool
    ts: int


@dataclass(frozen=True, slots=True)
class SubjectSummary:
    """A subject in a list: its latest version, or the last deleted one if all are.

    ``versions`` is the number of its versions: of those that are not deleted, unless all are.
    """

    subject: QualifiedSubject
    versions: int
    latest: VersionEntry
    schema_type: SchemaType


@dataclass(frozen=True, slots=True)
class SubjectHistory:
    """All versions of a subject in ascending order, including soft-deleted ones.

    ``revision`` changes with every write to the subject; 0 means that it has no rows.
    """

    revision: int = 0
    entries: tuple[VersionEntry, ...] = ()

    @property
    def active(self) -> tuple[VersionEntry, ...]:
        """The versions that are not deleted, ascending."""
        return tuple(entry for entry in self.entries if not entry.deleted)

    @property
    def latest(self) -> VersionEntry | None:
        """The highest active version."""
        return next((entry for entry in reversed(self.entries) if not entry.deleted), None)

    @property
    def next_version(self) -> int:
        """The number of the next version: one above the highest, soft-deleted ones included."""
        return self.entries[-1].version + 1 if self.entries else 1

    def entries_of(self, versions: Collection[int]) -> tuple[VersionEntry, ...]:
        """Return the existing ones of some versions, soft-deleted ones included."""
        return tuple(entry for entry in self.entries if entry.version in versions)

    def put(self, entry: VersionEntry) -> SubjectHistory:
        """Return the history with ``entry``, which replaces one of the same number."""
        if not self.entries or entry.version > self.entries[-1].version:
            return SubjectHistory(self.revision, (*self.entries, entry))
        others = [other for other in self.entries if other.version != entry.version]
        return SubjectHistory(self.revision, tuple(sorted([*others, entry], key=lambda each: each.version)))

    def with_deleted(self, version: int) -> SubjectHistory:
        """Return the history with the entry of this number soft-deleted."""
        return SubjectHistory(
            self.revision,
            tuple(replace(entry, deleted=True) if entry.version == version else entry for entry in self.entries),
        )

    def without(self, version: int) -> SubjectHistory:
        """Return the history without the entry of this number."""
        return SubjectHistory(self.revision, tuple(entry for entry in self.entries if entry.version != version))

    def visible(self, *, deleted: bool) -> tuple[VersionEntry, ...]:
        """Return the versions that a caller sees: the active ones, and with ``deleted`` also the soft-deleted ones."""
        return self.entries if deleted else self.active

    def find(self, version: int | None, *, deleted: bool) -> VersionEntry | None:
        """Return the entry with this number, or the latest active one for None."""
        if version is None:
            return self.latest
        return next((entry for entry in self.visible(deleted=deleted) if entry.version == version), None)

    def pick(self, subject: QualifiedSubject, version: int | None, *, deleted: bool) -> VersionEntry:
        """Return the entry with this number.

        Raise ``SubjectNotFound`` if nothing is visible, else ``VersionNotFound``.
        """
        found = self.find(version, deleted=deleted)
        if found is not None:
            return found
        if not self.visible(deleted=deleted):
            raise subject_not_found(subject, self)
        raise version_not_found(subject, version, self)


def summarized(subject: QualifiedSubject, history: SubjectHistory, schema_type: SchemaType) -> SubjectSummary:
    """Return the summary of a subject with versions, of which the latest one has a schema type."""
    return SubjectSummary(subject, len(history.active or history.entries), last_of(history), schema_type)


def last_of(history: SubjectHistory) -> VersionEntry:
    """Return the latest version, or the last deleted one if all are."""
    return history.latest or history.entries[-1]


def check_next_version(subject: QualifiedSubject, history: SubjectHistory, version: int) -> None:
    """Raise ``InvalidSchema`` unless ``version`` is the number of the next version."""
    if version != history.next_version:
        raise InvalidSchema(
            f"Version {version} is not the next one of subject {str(subject)!r}; expected {history.next_version}"
        )


def subject_not_found(subject: QualifiedSubject, history: SubjectHistory) -> SubjectNotFound:
    """Return the error for a subject of whose ``history`` no version is visible."""
    why = "all of its versions are soft-deleted" if history.entries else "it has no version that this request can see"
    return SubjectNotFound(f"Subject {str(subject)!r} not found: {why}")


def version_not_found(subject: QualifiedSubject, version: int | None, history: SubjectHistory) -> VersionNotFound:
    """Return the error for a version that is not visible in ``history``; None is the latest one."""
    if version is None:
        return VersionNotFound(
            f"The latest version (-1) of subject {str(subject)!r} not found: all of its versions are soft-deleted"
        )
    is_there = history.find(version, deleted=True) is not None
    why = ": it is soft-deleted" if is_there else ""
    return VersionNotFound(f"Version {version} of subject {str(subject)!r} not found{why}")


class ReferredTo(ReferenceExists):
    """A version cannot be deleted, since a version of ``by`` refers to it; ``referred`` is the former as a text."""

    def __init__(self, subject: QualifiedSubject, version: int, *, by: QualifiedSubject, by_version: int) -> None:
        self.referred = f"Version {version} of subject {str(subject)!r}"
        self.by = by
        super().__init__(
            f"{self.referred} is referenced by version {by_version} of subject {str(by)!r}; delete that one first"
        )


# The content of a schema id: text, type, references, metadata and rules, with one fingerprint.


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


# Requests to register, look up or test a schema.

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


def schema_request_of(schema: Schema) -> SchemaRequest:
    """Return the request to register ``schema`` as it is, without parts of the latest version."""
    return SchemaRequest(
        schema.text,
        schema.schema_type.value,
        schema.references,
        schema.metadata,
        schema.rule_set,
        is_complete=True,
    )


def parse_schema_type(text: str) -> SchemaType:
    """Return the schema type that ``text`` names exactly; raise ``InvalidSchema``, which lists the types."""
    if text not in SUPPORTED_TYPES:
        raise InvalidSchema(
            f"Schema type {text[:80]!r} is not supported; this registry reads {', '.join(SUPPORTED_TYPES)}"
        )
    return SchemaType(text)


# How metadata and rules come together at a registration: defaults, then the schema's own, then overrides.
#
# Source: Confluent Schema Registry's documentation of data contracts.

_T = TypeVar("_T")

VERSION_PROPERTY: Final = "confluent:version"
"""The metadata property that holds a schema's own version number, where it has one."""


def merged_metadata(config: Config, own: Metadata | None) -> Metadata | None:
    """Return the metadata that a registration stores: the config's defaults, over them ``own``, then its overrides."""
    return _layered(merge_metadata, config.default_metadata, own, config.override_metadata)


def merged_rule_set(config: Config, own: RuleSet | None) -> RuleSet | None:
    """Return the rules that a registration stores, layered in the same way."""
    return _layered(merge_rule_sets, config.default_rule_set, own, config.override_rule_set)


def _layered(merge: Callable[[_T, _T], _T], *layers: _T | None) -> _T | None:
    result: _T | None = None
    for layer in layers:
        if layer is not None:
            result = layer if result is None else merge(result, layer)
    return result


def merge_metadata(under: Metadata, over: Metadata) -> Metadata:
    """Tags and properties replaced key by key; sensitive names of both."""
    return Metadata(
        tags={**under.tags, **over.tags},
        properties={**under.properties, **over.properties},
        sensitive=tuple(sorted({*under.sensitive, *over.sensitive})),
    )


def merge_rule_sets(under: RuleSet, over: RuleSet) -> RuleSet:
    """List by list: the rules of ``under`` whose names ``over`` does not use, then those of ``over``."""
    return RuleSet(
        migration_rules=_merge_rules(under.migration_rules, over.migration_rules),
        domain_rules=_merge_rules(under.domain_rules, over.domain_rules),
        encoding_rules=_merge_rules(under.encoding_rules, over.encoding_rules),
        enable_at=over.enable_at or under.enable_at,
    )


def without_rules(rule_set: RuleSet, names: Collection[str]) -> RuleSet:
    """``rule_set`` without the rules that have one of ``names``, in whichever list they are."""

    def kept(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule.name not in names)

    return replace(
        rule_set,
        migration_rules=kept(rule_set.migration_rules),
        domain_rules=kept(rule_set.domain_rules),
        encoding_rules=kept(rule_set.encoding_rules),
    )


def _merge_rules(under: tuple[Rule, ...], over: tuple[Rule, ...]) -> tuple[Rule, ...]:
    taken = {rule.name for rule in over}
    return (*(rule for rule in under if rule.name not in taken), *over)


def stamped(metadata: Metadata | None, version: int) -> Metadata:
    """``metadata`` with the version property set to ``version``."""
    base = metadata or Metadata()
    return replace(base, properties={**base.properties, VERSION_PROPERTY: str(version)})


def stamp_of(metadata: Metadata | None) -> str | None:
    """Return the version property of ``metadata``; None if there is none."""
    return None if metadata is None else metadata.properties.get(VERSION_PROPERTY)


def unstamped(metadata: Metadata | None) -> Metadata | None:
    """``metadata`` without the version property."""
    if stamp_of(metadata) is None or metadata is None:
        return metadata
    kept = {name: value for name, value in metadata.properties.items() if name != VERSION_PROPERTY}
    return replace(metadata, properties=kept)


# Whether a requested schema is equivalent to a stored one.


@dataclass(frozen=True, slots=True)
class Candidate:
    """A schema from a request: its content, and its parsed form."""

    content: Content
    parsed: ParsedSchema


def may_match(asked: Content, stored: Content, version: int) -> bool:
    """Return whether ``stored``, which is ``version`` of its subject, may be equivalent, apart from the texts.

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


# Which rule sets are valid.

_PAIRED_MODES: Final = frozenset({"UPDOWN", "WRITEREAD"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}")


def check_rule_set(rule_set: RuleSet | None) -> None:
    """Return when the rules are valid; else ``InvalidRuleSet`` naming the first that is not, and why."""
    if rule_set is None:
        return
    seen: set[str] = set()
    for rule in rule_set.migration_rules:
        _check(rule, seen, MIGRATION_MODES)
    for rule in (*rule_set.domain_rules, *rule_set.encoding_rules):
        _check(rule, seen, OTHER_MODES)


def _check(rule: Rule, seen: set[str], modes: tuple[str, ...]) -> None:
    if not _NAME.fullmatch(rule.name):
        raise InvalidRuleSet(
            f"Rule name {rule.name[:80]!r} is not valid; expected a letter or '_', then letters, digits, '_' or '-'"
        )
    if rule.name in seen:
        raise InvalidRuleSet(f"Rule name {rule.name!r} occurs twice; names are unique in a rule set")
    seen.add(rule.name)
    if not rule.type:
        raise InvalidRuleSet(f"Rule {rule.name!r} has no type; expected one such as 'CEL'")
    if rule.mode not in modes:
        raise InvalidRuleSet(f"Rule {rule.name!r} has mode {rule.mode}; expected one of {', '.join(modes)} here")
    for action in (rule.on_success, rule.on_failure):
        if action and "," in action and rule.mode not in _PAIRED_MODES:
            raise InvalidRuleSet(f"Rule {rule.name!r} has a list of actions; mode {rule.mode} takes a single one")


# Reserved field names: a metadata property with names that fields may not have, checked if ``validateFields`` is on.
#
# Source: Confluent Schema Registry's public API (``confluent:reserved``).

RESERVED_PROPERTY: Final = "confluent:reserved"
"""The metadata property that lists names with commas between them."""


def reserved_names(metadata: Metadata | None) -> tuple[str, ...]:
    """Return the names that ``metadata`` reserves, in order."""
    listed = "" if metadata is None else metadata.properties.get(RESERVED_PROPERTY, "")
    return tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))


def reservation_messages(
    metadata: Metadata | None, field_names: Collection[str], *, latest: Metadata | None
) -> tuple[str, ...]:
    """Return a message for each name that a new schema no longer reserves, and for each field with a reserved name.

    ``field_names`` are those of its top level, ``latest`` is the metadata of the version before it.
    """
    names = reserved_names(metadata)
    lost = [name for name in reserved_names(latest) if name not in names]
    taken = [name for name in names if name in field_names]
    return (
        *(
            f"{{errorType:'RESERVED_FIELD_REMOVED', description:'The new schema no longer reserves the name {name}, "
            f"which the latest version does', additionalInfo:'{name}'}}"
            for name in lost
        ),
        *(
            f"{{errorType:'FIELD_CONFLICTS_WITH_RESERVED_FIELD', description:'The new schema has a field {name}, "
            f"a name that it reserves', additionalInfo:'{name}'}}"
            for name in taken
        ),
    )
