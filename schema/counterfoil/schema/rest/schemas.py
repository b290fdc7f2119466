"""The JSON of a schema and its references, metadata and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.schema.model import DEFAULT_TYPE, Metadata, Reference, Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.rest.json_values import (
    read_each,
    read_flag,
    read_integer,
    read_text,
    read_text_by_key,
    read_text_set,
)
from counterfoil.schema.rest.object_forms import REQUIRED, Member, ObjectForm, each_written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.rest.json_values import JsonValue
    from counterfoil.schema.rest.object_forms import Document

RULE_KINDS: Final = ("TRANSFORM", "CONDITION")
ENABLE_AT: Final = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")
MIGRATION_MODES: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
"""The modes of a migration rule."""
OTHER_MODES: Final = ("WRITE", "READ", "WRITEREAD")
"""The modes of a domain rule or an encoding rule."""
_RULE_MODES: Final = (*MIGRATION_MODES, *OTHER_MODES)
_LATEST: Final = -1

REFERENCE: Final = ObjectForm(
    Reference,
    (
        Member("name", "name", read_text, otherwise=""),
        Member("subject", "subject", read_text, otherwise=""),
        Member("version", "version", read_integer, otherwise=_LATEST),
    ),
    keeps_empty=True,
)


def _sorted_sets(tags: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {path: sorted(tags[path]) for path in sorted(tags)}


def _sorted_pairs(pairs: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(pairs.items()))


METADATA: Final = ObjectForm(
    Metadata,
    (
        Member("tags", "tags", lambda value: value.by_key(read_text_set), _sorted_sets),
        Member("properties", "properties", read_text_by_key, _sorted_pairs),
        Member("sensitive", "sensitive", read_text_set, sorted),
    ),
)

RULE: Final = ObjectForm(
    Rule,
    (
        Member("name", "name", read_text, otherwise=""),
        Member("doc", "doc", read_text),
        Member("kind", "kind", lambda value: value.word(RULE_KINDS)),
        Member("mode", "mode", lambda value: value.word(_RULE_MODES)),
        Member("type", "type", read_text),
        Member("tags", "tags", read_text_set, list),
        Member("params", "params", read_text_by_key, _sorted_pairs),
        Member("expr", "expr", read_text),
        Member("onSuccess", "on_success", read_text),
        Member("onFailure", "on_failure", read_text),
        Member("disabled", "disabled", read_flag),
    ),
)

_read_rules = read_each(RULE.read)
_write_rules = each_written(RULE)

RULE_SET: Final = ObjectForm(
    RuleSet,
    (
        Member("migrationRules", "migration_rules", _read_rules, _write_rules),
        Member("domainRules", "domain_rules", _read_rules, _write_rules),
        Member("encodingRules", "encoding_rules", _read_rules, _write_rules),
        Member("enableAt", "enable_at", lambda value: value.word(ENABLE_AT)),
    ),
)


def _schema_type(value: JsonValue) -> SchemaType:
    return value.one_of(SchemaType)


BESIDE_TEXT: Final = (
    Member(
        "references",
        "references",
        read_each(REFERENCE.read),
        lambda references: reference_documents(references) or None,
    ),
    Member("metadata", "metadata", METADATA.read, METADATA.write),
    Member("ruleSet", "rule_set", RULE_SET.read, RULE_SET.write),
)
"""The members of a schema's identity other than its text. Empty metadata differ from none, and so do empty rules."""

SCHEMA: Final = ObjectForm(
    Schema,
    (
        Member("schemaType", "schema_type", _schema_type, str),  # registries before 8.0 leave it out if it is AVRO
        *BESIDE_TEXT,
        Member("schema", "text", read_text, otherwise=REQUIRED),
    ),
    keeps_empty=True,
)


class Described(Protocol):
    """A schema, or another value that has a schema's fields."""

    @property
    def text(self) -> str:
        """The schema's text."""

    @property
    def schema_type(self) -> SchemaType:
        """The language of the text."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The names that the text uses."""

    @property
    def metadata(self) -> Metadata | None:
        """Tags and properties."""

    @property
    def rule_set(self) -> RuleSet | None:
        """The rules of the schema."""


def schema_document(schema: Described) -> Document:
    """Return the members that describe ``schema``."""
    return SCHEMA.write(schema)


def schema_request(schema: Schema) -> Document:
    """Return the body that registers, looks up or checks ``schema``; the default type is not written."""
    document = SCHEMA.write(schema)
    if schema.schema_type is DEFAULT_TYPE:
        del document["schemaType"]
    return document


def reference_documents(references: tuple[Reference, ...]) -> list[Document]:
    """Return the JSON of each reference."""
    return [REFERENCE.write(reference) for reference in references]


def metadata_document(metadata: Metadata | None) -> Document | None:
    """Return the JSON of metadata: ``{}`` for empty ones, None for none."""
    return None if metadata is None else METADATA.write(metadata)


def rule_set_document(rule_set: RuleSet | None) -> Document | None:
    """Return the JSON of a rule set: ``{}`` for an empty one, None for none."""
    return None if rule_set is None else RULE_SET.write(rule_set)
