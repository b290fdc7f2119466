"""Subjects, versions and their elements as people look at them: the values of ``/inspect/v1`` and of the pages.

The JSON of these values is that of this project's own API under ``/inspect/v1``. A page shows such a value and nothing
else, so that whatever a page says can be read by a program, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from counterfoil.schema.rest.object_forms import form_of

# Elements of a schema: fields, branches, symbols, declared types.


class ElementKind(StrEnum):
    """The kind of an element of a schema."""

    FIELD = "field"
    """A field of a record or message, or a property of an object."""
    BRANCH = "branch"
    """A branch of a union, ``oneOf``, ``anyOf`` or ``allOf``."""
    ITEM = "item"
    """The items of an array, or the values of a map, where they have facts of their own."""
    TYPE = "type"
    """A declared type: a record, an enum, a fixed, a message, a definition."""
    SYMBOL = "symbol"
    """A symbol or value of an enum."""
    ROOT = "root"
    """The schema itself, where it is no record: a string, a union."""


@dataclass(frozen=True, slots=True)
class ElementRow:
    """One element of a schema as a row of a table.

    ``path`` is its field path (``customer.email``, ``lines[].price``), for a declared type its name, for a symbol
    ``Type.SYMBOL``. ``type`` is its type in words (``decimal(10,2) on bytes``, ``null | string``, ``array of
    shop.Line``), in which the declared names are ``types``. ``default`` is a JSON text, None where there is none.
    ``constraints`` are sentences such as ``at most 10 characters`` or ``closed: no other properties``. ``pointer`` is
    the place in the schema's text, ``line`` that in the laid-out text (from 1); both are empty for an element of a
    reference, whose name is ``reference`` then. ``number`` and ``label`` are those of Protobuf. ``since`` is the first
    version of the subject from which on the element was there as it is without a gap, None if that is not known.
    """

    path: str
    kind: ElementKind
    type: str
    types: tuple[str, ...] = ()
    default: str | None = None
    doc: str = ""
    tags: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    required: bool | None = None
    number: int | None = None
    label: str = ""
    reference: str = ""
    pointer: str = ""
    line: int | None = None
    depth: int = 0
    since: int | None = None
    is_deprecated: bool = False


ELEMENT_ROW: Final = form_of(ElementRow)


@dataclass(frozen=True, slots=True)
class ElementRows:
    """A page of elements: ``total`` of them are in the schema; ``next`` is the ``after`` of the next page."""

    elements: tuple[ElementRow, ...]
    total: int
    next: str = ""


ELEMENT_ROWS: Final = form_of(ElementRows)

# Versions, and names of versions.


@dataclass(frozen=True, slots=True)
class VersionName:
    """The name of a version: its subject, qualified by its context unless that is the default one, and number."""

    subject: str
    version: int
    id: int | None = None
    is_deleted: bool = False


VERSION_NAME: Final = form_of(VersionName)


@dataclass(frozen=True, slots=True)
class ReferenceName:
    """A reference of a schema: the ``name`` that its text uses, and the version that it is."""

    name: str
    subject: str
    version: int


REFERENCE_NAME: Final = form_of(ReferenceName)


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A version in the history of its subject, with what changed from the version before.

    ``registered`` is a time (epoch ms), ``by`` the principal, both None if unknown or not for the caller. The counts
    are of changes from the last version before that is not deleted; ``change`` is the first of them in words. The flags
    say whether the version reads the records of the one before (``backward``) and the reverse (``forward``), None if
    that cannot be decided, or there is no version before, or its language differs.
    """

    version: int
    id: int
    guid: str
    registered: int | None = None
    by: str | None = None
    is_deleted: bool = False
    added: int = 0
    removed: int = 0
    changed: int = 0
    change: str = ""
    strict_backward: bool | None = None
    strict_forward: bool | None = None
    sound_backward: bool | None = None
    sound_forward: bool | None = None


VERSION_STEP: Final = form_of(VersionStep)

# The rules in force for a subject, with the scope that sets each.


@dataclass(frozen=True, slots=True)
class RuleInForce:
    """One setting of a subject: ``key`` as the config has it, or ``mode``; ``value`` is a JSON text.

    ``scope`` is the subject, context or level that sets it: ``""`` for the top level, ``:.__GLOBAL:`` for the global
    one; None if nothing sets it and it is the server's default. ``seq``, ``ts`` (epoch ms) and ``by`` are of the change
    that set the scope's settings. ``applies`` is false for a setting of a wider scope that does not apply here;
    ``why`` says why, or where an inherited one comes from.
    """

    key: str
    value: str
    scope: str | None = None
    applies: bool = True
    why: str = ""
    seq: int | None = None
    ts: int | None = None
    by: str | None = None


RULE_IN_FORCE: Final = form_of(RuleInForce, keeps_empty=True)

# Subjects: rows of the list, and one subject.


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """A subject in a list: its language, its number of versions, the latest of them, the rules in force."""

    subject: str
    context: str
    schema_type: str
    versions: int
    latest: int
    id: int
    registered: int | None
    level: str
    policy: str
    is_deleted: bool = False


SUBJECT_ROW: Final = form_of(SubjectRow)


@dataclass(frozen=True, slots=True)
class SubjectRows:
    """A page of subjects, sorted; ``next`` is the ``after`` of the next page, empty on the last one."""

    subjects: tuple[SubjectRow, ...]
    next: str = ""


SUBJECT_ROWS: Final = form_of(SubjectRows)


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """An application that reads a subject, as a contract declares it or a report saw it; times are epoch ms."""

    application: str
    version: str
    contract: str
    reads: tuple[str, ...]
    environments: tuple[str, ...] = ()
    last_seen: int | None = None
    activity: str | None = None


READER_ROW: Final = form_of(ReaderRow)


@dataclass(frozen=True, slots=True)
class NamedThing:
    """Something that belongs to a subject and has a page or an API of its own: a bridge, a contract, a key, a topic."""

    kind: str
    name: str
    about: str = ""


NAMED_THING: Final = form_of(NamedThing)


@dataclass(frozen=True, slots=True)
class SubjectInspection:
    """A subject: its versions from the first to the last, and what belongs to it.

    ``name`` is the name of the latest version's type; ``referrers`` refer to any of its versions, ``references`` are
    those of the latest one. ``next`` is the ``after`` of the next page of versions, 0 on the last. ``owner`` is empty
    if none is known. ``alias_of`` is the subject that stands for this one.
    """

    subject: str
    context: str
    schema_type: str
    name: str
    versions: tuple[VersionStep, ...]
    version_count: int
    deleted_count: int
    rules: tuple[RuleInForce, ...]
    references: tuple[ReferenceName, ...] = ()
    referrers: tuple[VersionName, ...] = ()
    readers: tuple[ReaderRow, ...] = ()
    things: tuple[NamedThing, ...] = ()
    topics: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    alias_of: str = ""
    owner: str = ""
    refusals: int = 0
    next: int = 0


SUBJECT_INSPECTION: Final = form_of(SubjectInspection)


@dataclass(frozen=True, slots=True)
class RuleSetRow:
    """A rule of a version's rule set in words."""

    name: str
    kind: str
    mode: str
    type: str
    expr: str = ""
    tags: tuple[str, ...] = ()
    doc: str = ""


RULE_SET_ROW: Final = form_of(RuleSetRow)


@dataclass(frozen=True, slots=True)
class MetadataRow:
    """A property of a version's metadata; ``is_sensitive``: its value is not shown, and is empty here."""

    key: str
    value: str
    is_sensitive: bool = False


METADATA_ROW: Final = form_of(MetadataRow)


@dataclass(frozen=True, slots=True)
class VersionInspection:
    """A version: its facts, its elements, its types, what it refers to and what refers to it.

    ``uses`` are the other versions with the same content, in any context. ``previous`` and ``following`` are the
    numbers of its neighbours. ``warnings`` are those that a registration of it would give.
    """

    subject: str
    context: str
    version: int
    id: int
    guid: str
    schema_type: str
    name: str
    step: VersionStep
    elements: ElementRows
    types: tuple[ElementRow, ...] = ()
    uses: tuple[VersionName, ...] = ()
    references: tuple[ReferenceName, ...] = ()
    referrers: tuple[VersionName, ...] = ()
    rules: tuple[RuleSetRow, ...] = ()
    metadata: tuple[MetadataRow, ...] = ()
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    text_chars: int = 0
    previous: int | None = None
    following: int | None = None
    latest: int | None = None


VERSION_INSPECTION: Final = form_of(VersionInspection)


@dataclass(frozen=True, slots=True)
class IdInspection:
    """What has an id in a context, or a guid: every version with it, soft-deleted ones included."""

    guid: str
    schema_type: str
    name: str
    id: int | None = None
    context: str = ""
    uses: tuple[VersionName, ...] = ()


ID_INSPECTION: Final = form_of(IdInspection)

# The laid-out text of a schema.


@dataclass(frozen=True, slots=True)
class SourceToken:
    """A part of a line: ``kind`` is ``name``, ``text``, ``number``, ``word``, ``comment`` or empty.

    ``type`` is the declared name to which the token refers, if it refers to one.
    """

    text: str
    kind: str = ""
    type: str = ""


SOURCE_TOKEN: Final = form_of(SourceToken)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a laid-out text: its number from 1, its parts, and the pointer of the element that begins in it."""

    number: int
    tokens: tuple[SourceToken, ...]
    pointer: str = ""


SOURCE_LINE: Final = form_of(SourceLine)


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """Some lines of a laid-out text of ``total`` lines."""

    schema_type: str
    lines: tuple[SourceLine, ...]
    total: int


SOURCE_WINDOW: Final = form_of(SourceWindow)

# The life of one element through the versions of its subject.


@dataclass(frozen=True, slots=True)
class ElementStep:
    """An element in one version, None if it is not there; ``changes`` are those from the version before, in words."""

    version: int
    element: ElementRow | None = None
    changes: tuple[str, ...] = ()
    registered: int | None = None
    is_deleted: bool = False


ELEMENT_STEP: Final = form_of(ElementStep)


@dataclass(frozen=True, slots=True)
class ElementElsewhere:
    """An element of the same name in another subject's latest version."""

    subject: str
    version: int
    path: str
    type: str


ELEMENT_ELSEWHERE: Final = form_of(ElementElsewhere)


@dataclass(frozen=True, slots=True)
class ElementInspection:
    """The life of an element: one step for each version in which it appeared, changed or went away."""

    subject: str
    path: str
    steps: tuple[ElementStep, ...]
    readers: tuple[ReaderRow, ...] = ()
    elsewhere: tuple[ElementElsewhere, ...] = ()
    owner: str = ""


ELEMENT_INSPECTION: Final = form_of(ElementInspection)

# References as a graph.


@dataclass(frozen=True, slots=True)
class ReferenceEdge:
    """A version that refers to another one under a name; ``depth`` is the distance from the version in question."""

    subject: str
    version: int
    to_subject: str
    to_version: int
    name: str = ""
    depth: int = 1


REFERENCE_EDGE: Final = form_of(ReferenceEdge)


@dataclass(frozen=True, slots=True)
class ReferenceGraph:
    """The references of a version, to a depth; ``is_cut``: there are more than are listed."""

    subject: str
    version: int
    edges: tuple[ReferenceEdge, ...]
    is_cut: bool = False


REFERENCE_GRAPH: Final = form_of(ReferenceGraph)

# The rules of compatibility, with their examples.


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule in the list of rules; ``policies`` are those under which it breaks."""

    id: str
    schema_type: str
    sentence: str
    policies: tuple[str, ...] = ()
    error_type: str = ""


RULE_ROW: Final = form_of(RuleRow)


@dataclass(frozen=True, slots=True)
class RuleRows:
    """All rules, or those that a query names."""

    rules: tuple[RuleRow, ...]


RULE_ROWS: Final = form_of(RuleRows)


@dataclass(frozen=True, slots=True)
class RuleExample:
    """The example of a rule: two schemas, the finding about them, and the record that proves it, if there is one."""

    previous: str
    current: str
    finding: str
    witness: str = ""
    stop: str = ""


RULE_EXAMPLE: Final = form_of(RuleExample)


@dataclass(frozen=True, slots=True)
class RuleInspection:
    """A rule with its reasons and its example."""

    rule: RuleRow
    why: str
    fix: str = ""
    forward_fix: str = ""
    example: RuleExample | None = None


RULE_INSPECTION: Final = form_of(RuleInspection)

# The registry as a whole.


@dataclass(frozen=True, slots=True)
class IndexState:
    """The search index: ``indexed`` is the number of the last change that it has, ``last`` that of the store.

    ``state`` is ``current``, ``behind``, ``rebuilding``, ``off`` or ``lost``; ``unreadable`` counts texts that could
    not be parsed. ``is_scanned``: names are found by reading all, since the store has no index of parts of words.
    """

    state: str
    indexed: int = 0
    last: int = 0
    unreadable: int = 0
    is_scanned: bool = False


INDEX_STATE: Final = form_of(IndexState)


@dataclass(frozen=True, slots=True)
class RegistryInspection:
    """The registry: its size and the state of its index.

    ``subjects`` and ``versions`` are None, and ``last_change`` is 0, for callers who may not know all of them.
    """

    subjects: int | None
    versions: int | None
    contexts: tuple[str, ...]
    index: IndexState
    last_change: int = 0


REGISTRY_INSPECTION: Final = form_of(RegistryInspection)
