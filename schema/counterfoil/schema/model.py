"""The terms of a registry, as frozen values: context, subject, schema, reference, metadata, rule set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

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
