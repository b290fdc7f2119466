"""The shapes of bodies, for the OpenAPI description. :mod:`counterfoil.registry.api.documents` reads the requests."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class CamelShape(_Shape):
    """A shape whose names are written in camel case, as most of this API's are."""

    model_config = ConfigDict(alias_generator=to_camel)


class ErrorBody(_Shape):
    """Any answer that is not a success."""

    error_code: int = Field(description="The code; its first three digits are the HTTP status.")
    message: str = Field(description="What was wrong, where, and what would be right.")


class ReferenceBody(CamelShape):
    """A name used in a schema, and the version that defines it."""

    name: str
    subject: str
    version: int = Field(description="-1 is the latest; the real number is stored.")


class MetadataBody(CamelShape):
    """Tags by path, properties, and the names of sensitive properties."""

    tags: dict[str, list[str]] | None = None
    properties: dict[str, str] | None = None
    sensitive: list[str] | None = None


class RuleBody(CamelShape):
    """One rule."""

    name: str
    doc: str | None = None
    kind: str = "TRANSFORM"
    mode: str = "WRITEREAD"
    type: str
    tags: list[str] | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool = False


class RuleSetBody(CamelShape):
    """The rules that travel with a schema."""

    migration_rules: list[RuleBody] | None = None
    domain_rules: list[RuleBody] | None = None
    encoding_rules: list[RuleBody] | None = None
    enable_at: str | None = None


class SchemaBody(CamelShape):
    """A schema to register, look up or test."""

    # The JSON key is "schema", a name that pydantic reserves.
    schema_text: str | None = Field(
        None, alias="schema", description="The schema's text. Absent: the text of the latest version."
    )
    schema_type: str = Field("AVRO", description="The schema's language.")
    references: list[ReferenceBody] | None = None
    metadata: MetadataBody | None = None
    rule_set: RuleSetBody | None = None
    id: int | None = Field(None, description="An id of the caller's, in IMPORT mode.")
    version: int | None = Field(None, description="The number that the version must get; -1 is the next one.")


class TaggedEntityBody(CamelShape):
    """Something in a schema that can carry tags: a record or a field."""

    entity_path: str = Field(description="Such as ns.Order, ns.Order.id, object.id.")
    entity_type: str = Field(description="sr_record or sr_field.")


class EntityTagsBody(CamelShape):
    """Tags of one thing in a schema."""

    schema_entity: TaggedEntityBody
    tags: list[str]


class RegistrationBody(SchemaBody):
    """A schema to register."""

    schema_tags_to_add: list[EntityTagsBody] | None = Field(None, description="Tags to write into the text.")
    schema_tags_to_remove: list[EntityTagsBody] | None = Field(None, description="Tags to take out of the text.")
    propagate_schema_tags: bool | None = Field(None, description="Whether the latest version's tags are carried over.")


class TagBody(CamelShape):
    """What to change in a version."""

    new_version: int | None = Field(None, description="The number that the new version must get.")
    tags_to_add: list[EntityTagsBody] | None = None
    tags_to_remove: list[EntityTagsBody] | None = None
    metadata: MetadataBody | None = None
    rule_set: RuleSetBody | None = None
    rules_to_merge: RuleSetBody | None = None
    rules_to_remove: list[str] | None = None


class RegisteredBody(SchemaBody):
    """The answer to a registration."""

    id: int
    version: int
    guid: str
    ts: int | None = Field(None, description="When the version was stored, in epoch milliseconds.")
    deleted: bool | None = None


class VersionBody(RegisteredBody):
    """One version of a subject."""

    subject: str


class SchemaByIdBody(SchemaBody):
    """What an id stands for, and one version that holds it."""

    subject: str
    version: int
    id: int | None = Field(None, description="The id itself, for Confluent's Python client, which reads it.")
    guid: str
    max_id: int | None = None
    subjects: list[str] | None = Field(None, description="The subjects that hold the id, where they are asked for.")
    ts: int
    deleted: bool


class AssociationBody(CamelShape):
    """One association."""

    subject: str = Field(description="Qualified: `:.context:name` outside of the default context.")
    guid: str = Field(description="The association's own.")
    resource_name: str
    resource_namespace: str
    resource_id: str
    resource_type: str = Field("topic", description="The only one there is.")
    association_type: str = Field(description="key or value.")
    lifecycle: str = Field(description="STRONG: the subject belongs to the resource alone. WEAK: it is shared.")
    frozen: bool | None = Field(None, description="Where the lifecycle does not say it: STRONG is frozen, WEAK not.")
    create_ts: int = Field(description="When it was made, in epoch milliseconds.")
    update_ts: int


class SchemaByGuidBody(SchemaBody):
    """What a guid stands for."""

    guid: str
    ts: int
    deleted: bool


class ListedSchemaBody(VersionBody):
    """One line of the listing of all schemas."""

    aliases: list[str] | None = None
    associations: list[AssociationBody] | None = Field(None, description="Those that the query asks for.")


class SubjectVersionBody(CamelShape):
    """A subject and a version of it."""

    subject: str
    version: int


class ContextIdBody(CamelShape):
    """A context and an id in it."""

    context: str
    id: int


class ConfigUpdateBody(CamelShape):
    """Changes to a config: an absent field stays, a null clears."""

    alias: str | None = None
    alias_for_deks: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_new_schemas: bool | None = None
    validate_rules: bool | None = None
    compatibility: str | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    default_metadata: MetadataBody | None = None
    override_metadata: MetadataBody | None = None
    default_rule_set: RuleSetBody | None = None
    override_rule_set: RuleSetBody | None = None


class ConfigBody(ConfigUpdateBody):
    """A config as it is read; the level is called ``compatibilityLevel`` here."""

    compatibility_level: str


class ModeBody(CamelShape):
    """A mode; null clears. Absent where many modes were cleared at once, and there was none at this level."""

    mode: str | None = None


class CompatibilityBody(_Shape):
    """A verdict; the messages are there with ``verbose=true``."""

    is_compatible: bool
    messages: list[str] | None = None


class ChangeBody(_Shape):
    """Something that has happened; what does not belong to its kind is left out."""

    seq: int = Field(description="Counts all changes from 1, without a gap, in the order in which they were made.")
    ts: int = Field(description="Epoch milliseconds; never less than that of the change before.")
    time: str = Field(description="The same as ISO 8601.")
    kind: str = Field(description="Such as version-registered, version-deleted, settings-changed.")
    subject: str = Field(description="The subject, or the level of config and mode; empty for a context.")
    context: str
    version: int | None = None
    id: int | None = None
    guid: str | None = None
    document: dict[str, Any] | None = Field(None, description="All config and mode that are stored there since.")


class ChangesBody(_Shape):
    """A page of changes."""

    changes: list[ChangeBody]
    next: int = Field(description="What to ask for the next page with, as `after`.")
    more: bool = Field(description="Whether there is a next page already.")
