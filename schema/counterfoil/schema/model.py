"""The terms of a registry, as frozen values: context, subject, schema, reference, metadata, rule set."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


# The terms of a registry, as frozen values: schema type, reference, metadata, rule set, schema.
#
# Source of the vocabulary: the REST entities of Confluent Schema Registry's public API.


class SchemaType(StrEnum):
    """The language of a schema; the values are those of the REST API."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"

    __hash__ = str.__hash__  # equality is that of texts, too; the hash of enums is slower


DEFAULT_TYPE: Final = SchemaType.AVRO
"""The language of a schema if none is named."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name used inside a schema, and the subject and version that define it.

    ``version`` counts from 1; -1 means the latest active version and is replaced when the schema is stored.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A reference together with the text of its subject and version."""

    reference: Reference
    text: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """Tags by path, free properties, and the names of properties that are sensitive.

    Empty metadata differ from no metadata: the two have different fingerprints.
    """

    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    sensitive: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a rule set; the defaults are those that the REST API fills in."""

    name: str
    type: str | None = None
    doc: str | None = None
    kind: str = "TRANSFORM"
    mode: str = "WRITEREAD"
    tags: tuple[str, ...] = ()
    params: Mapping[str, str] = field(default_factory=dict)
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a schema: migration rules, domain rules, encoding rules."""

    migration_rules: tuple[Rule, ...] = ()
    domain_rules: tuple[Rule, ...] = ()
    encoding_rules: tuple[Rule, ...] = ()
    enable_at: str | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the three lists, in this order."""
        return (*self.migration_rules, *self.domain_rules, *self.encoding_rules)


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as a client sends it: text, type, and the other parts of its identity."""

    text: str
    schema_type: SchemaType = DEFAULT_TYPE
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None


# Contexts: the name spaces of a registry, and subject names with a context.
#
# ``foo`` is the subject ``foo`` of the default context ``.``; ``:.ctx:foo`` is the subject ``foo`` of the context
# ``.ctx``; ``:.ctx:`` is that context itself.
#
# Source: Confluent Schema Registry's documentation of schema contexts.

DEFAULT_CONTEXT: Final = "."
"""The context of every name without one."""

GLOBAL_CONTEXT: Final = ".__GLOBAL"
"""The level of config and mode above all contexts; it is not a context."""

_MARK = ":."
_WILDCARD = ":*:"


@dataclass(frozen=True, slots=True, order=True)
class QualifiedSubject:
    """A subject's name inside a context; an empty ``name`` is the context itself.

    ``str()`` is the form that a registry returns: plain in the default context, ``:.ctx:name`` elsewhere.
    """

    context: str
    name: str

    def __str__(self) -> str:
        return self.name if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.name}"

    @property
    def is_context(self) -> bool:
        """Whether this names a context and no subject in it."""
        return not self.name

    @property
    def is_default(self) -> bool:
        """Whether this is in the default context."""
        return self.context == DEFAULT_CONTEXT

    @property
    def is_global(self) -> bool:
        """Whether this is in the level above all contexts, which has config and mode only."""
        return self.context == GLOBAL_CONTEXT


TOP_LEVEL: Final = QualifiedSubject(DEFAULT_CONTEXT, "")
"""The default context itself: its config and mode are those without a subject."""

GLOBAL_LEVEL: Final = QualifiedSubject(GLOBAL_CONTEXT, "")
"""The last fallback of config and mode."""


@dataclass(frozen=True, slots=True)
class SubjectPrefix:
    """The beginning of the names to list. ``context`` is None for all contexts."""

    context: str | None
    name: str


def parse_subject(text: str, *, context: str = DEFAULT_CONTEXT) -> QualifiedSubject:
    """Return the subject that ``text`` names; a name without a context is in ``context``.

    Every text is a name: ``:foo`` is the subject ``:foo``, since a context is marked by a colon and a dot.
    """
    if not text.startswith(_MARK):
        return QualifiedSubject(context, text)
    found, _, name = text[1:].partition(":")
    return QualifiedSubject(found, name)


def parse_prefix(text: str) -> SubjectPrefix:
    """Return the prefix that ``text`` names: ``:*:foo`` in all contexts, else in the context of the name."""
    if text.startswith(_WILDCARD):
        return SubjectPrefix(None, text.removeprefix(_WILDCARD))
    subject = parse_subject(text)
    return SubjectPrefix(subject.context, subject.name)
