"""The shapes of bodies, for the OpenAPI description. Requests are read by :mod:`counterfoil.registry.api.documents`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class ErrorBody(_Shape):
    """Any answer that is not a success."""

    error_code: int = Field(description="The code; its first three digits are the HTTP status.")
    message: str = Field(description="What was wrong, where, and what would be right.")


class ReferenceBody(_Shape):
    """A name used in a schema, and the version that defines it."""

    name: str
    subject: str
    version: int = Field(description="-1 is the latest; the real number is stored.")


class MetadataBody(_Shape):
    """Tags by path, properties, and the names of sensitive properties."""

    tags: dict[str, list[str]] | None = None
    properties: dict[str, str] | None = None
    sensitive: list[str] | None = None


class RuleBody(_Shape):
    """One rule."""

    name: str
    doc: str | None = None
    kind: str = "TRANSFORM"
    mode: str = "WRITEREAD"
    type: str
    tags: list[str] | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    onSuccess: str | None = None  # noqa: N815 - the API's spelling
    onFailure: str | None = None  # noqa: N815 - the API's spelling
    disabled: bool = False


class RuleSetBody(_Shape):
    """The rules that travel with a schema."""

    migrationRules: list[RuleBody] | None = None  # noqa: N815 - the API's spelling
    domainRules: list[RuleBody] | None = None  # noqa: N815 - the API's spelling
    encodingRules: list[RuleBody] | None = None  # noqa: N815 - the API's spelling
    enableAt: str | None = None  # noqa: N815 - the API's spelling


class SchemaBody(_Shape):
    """A schema to register, look up or test."""

    # The JSON key is "schema", a name that pydantic keeps for itself.
    schema_text: str | None = Field(
        None, alias="schema", description="The schema's text. Absent: the text of the latest version."
    )
    schemaType: str = Field("AVRO", description="The schema's language.")  # noqa: N815 - the API's spelling
    references: list[ReferenceBody] | None = None
    metadata: MetadataBody | None = None
    ruleSet: RuleSetBody | None = None  # noqa: N815 - the API's spelling
    id: int | None = Field(None, description="An id of the caller's, in IMPORT mode.")
    version: int | None = Field(None, description="The number that the version must get; -1 is the next one.")


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
    guid: str
    maxId: int | None = None  # noqa: N815 - the API's spelling
    ts: int
    deleted: bool


class ListedSchemaBody(VersionBody):
    """One line of the listing of all schemas."""

    aliases: list[str] | None = None


class SubjectVersionBody(_Shape):
    """A subject and a version of it."""

    subject: str
    version: int


class ContextIdBody(_Shape):
    """A context and an id in it."""

    context: str
    id: int


class ConfigUpdateBody(_Shape):
    """Changes to a config: an absent field stays, a null clears."""

    alias: str | None = None
    aliasForDeks: str | None = None  # noqa: N815 - the API's spelling
    normalize: bool | None = None
    validateFields: bool | None = None  # noqa: N815 - the API's spelling
    validateNewSchemas: bool | None = None  # noqa: N815 - the API's spelling
    validateRules: bool | None = None  # noqa: N815 - the API's spelling
    compatibility: str | None = None
    compatibilityPolicy: str | None = None  # noqa: N815 - the API's spelling
    compatibilityGroup: str | None = None  # noqa: N815 - the API's spelling
    defaultMetadata: MetadataBody | None = None  # noqa: N815 - the API's spelling
    overrideMetadata: MetadataBody | None = None  # noqa: N815 - the API's spelling
    defaultRuleSet: RuleSetBody | None = None  # noqa: N815 - the API's spelling
    overrideRuleSet: RuleSetBody | None = None  # noqa: N815 - the API's spelling


class ConfigBody(ConfigUpdateBody):
    """A config as it is read; the level is called ``compatibilityLevel`` here."""

    compatibilityLevel: str  # noqa: N815 - the API's spelling


class ModeBody(_Shape):
    """A mode; null clears."""

    mode: str | None


class CompatibilityBody(_Shape):
    """A verdict; the messages are there with ``verbose=true``."""

    is_compatible: bool
    messages: list[str] | None = None
