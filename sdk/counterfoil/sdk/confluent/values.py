"""The values of confluent-kafka's client, and its functions that name subjects and place schema ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum, StrEnum
from typing import Any, ClassVar, Final, Self, TypeAlias, TypeVar

from counterfoil.schema import model
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.rest.object_forms import ReplyJson, UnexpectedShapeError
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.schema.rest.subjects import LEVEL_IN_FORCE, Config, config_document, read_config
from counterfoil.schema.rest.versions import RegisteredSchema as OwnRegistered
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde import MessageContext, field_of, topic_of
from counterfoil.sdk.subjects import RECORD, TOPIC, TOPIC_RECORD

# The functions of confluent-kafka that name subjects and place schema ids, for settings that name them.

prefix_schema_id_serializer: Final = "prefix_schema_id_serializer"
header_schema_id_serializer: Final = "header_schema_id_serializer"
dual_schema_id_deserializer: Final = "dual_schema_id_deserializer"
prefix_schema_id_deserializer: Final = "prefix_schema_id_deserializer"


def topic_subject_name_strategy(ctx: MessageContext | None, record_name: str | None) -> str:
    """Return ``{topic}-key`` or ``{topic}-value``."""
    return TOPIC(topic_of(ctx), field_of(ctx), record_name)


def topic_record_subject_name_strategy(ctx: MessageContext | None, record_name: str | None) -> str:
    """Return ``{topic}-{record's full name}``."""
    return TOPIC_RECORD(topic_of(ctx), field_of(ctx), record_name)


def record_subject_name_strategy(ctx: MessageContext | None, record_name: str | None) -> str:
    """Return the record's full name."""
    return RECORD(topic_of(ctx), field_of(ctx), record_name)


def reference_subject_name_strategy(ctx: MessageContext | None, schema_ref: Any) -> str:
    """Return the name of the reference: the path of an imported Protobuf file."""
    del ctx
    return str(schema_ref.name)


# The values of confluent-kafka's client: schemas, versions, rules, metadata, configs, associations.
#
# Each has the attributes of its counterpart, and its JSON in the REST API as ``to_dict()`` and ``from_dict()``.

T = TypeVar("T")

SchemaRegistryError: TypeAlias = RegistryError
"""The error of a registry; it has the attributes of confluent-kafka's as well."""


class _JsonObject:
    """A value that is an object in JSON: a member for each attribute that is not None.

    The arguments of a subclass make the values of attributes that are not plain.
    """

    _readers: ClassVar[Mapping[str, Callable[[Json], Json]]] = {}

    def __init_subclass__(cls, **readers: Callable[[Json], Json]) -> None:
        """Keep the functions that read attributes, by name."""
        cls._readers = readers

    def to_dict(self) -> JsonObject:
        """Return the JSON object."""
        found = ((each.name, getattr(self, each.name)) for each in _fields(type(self)))
        return {_key(name): _plain(value) for name, value in found if value is not None}

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        """Return the value of a JSON object; other members are ignored."""
        made = {}
        for each in _fields(cls):
            value, read = src_dict.get(_key(each.name)), cls._readers.get(each.name, _same)
            if value is not None or isinstance(read, _ListOf):
                made[each.name] = read(value)
            elif each.default is MISSING and each.default_factory is MISSING:
                made[each.name] = None
        return cls(**made)


class _JsonMap:
    """A value that is a map in JSON: its only attribute."""

    def to_dict(self) -> JsonObject:
        """Return the map."""
        (only,) = vars(self).values()
        return dict(only)

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        """Return the value of a map."""
        return cls(dict(src_dict))  # type: ignore[call-arg]  # a dataclass

    def __hash__(self) -> int:
        """Return the hash of the keys."""
        return hash(frozenset(self.to_dict()))


def _fields(kind: type) -> tuple[Field[Any], ...]:
    return fields(kind)


def _key(name: str) -> str:
    """Return the name of an attribute in JSON."""
    first, *rest = name.removesuffix("_str").split("_")
    return first + "".join(map(str.title, rest))


def _same(value: Json) -> Json:
    return value


class _ListOf:
    """Reads a list, which is empty if it is absent."""

    def __init__(self, read: Callable[[Json], Json]) -> None:
        self._read = read

    def __call__(self, value: Json) -> list[Json]:
        """Return the values of the items."""
        return [self._read(each) for each in value or ()]


def _plain(value: object) -> Json:
    match value:
        case Enum():
            return value.value
        case list() | tuple():
            return [_plain(each) for each in value]
        case _ if hasattr(value, "to_dict"):
            return value.to_dict()
    return value


# --- schemas ---------------------------------------------------------------------------------------------------------


class RuleKind(StrEnum):
    """What a rule does: CONDITION checks a message, TRANSFORM changes it."""

    CONDITION = "CONDITION"
    TRANSFORM = "TRANSFORM"


class RuleMode(StrEnum):
    """When a rule runs."""

    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"
    UPDOWN = "UPDOWN"
    READ = "READ"
    WRITE = "WRITE"
    WRITEREAD = "WRITEREAD"


@dataclass
class RuleParams(_JsonMap):
    """The parameters of a rule, by name."""

    params: dict[str, str] = field(default_factory=dict)
    __hash__ = _JsonMap.__hash__


@dataclass(frozen=True)
class Rule(_JsonObject, kind=RuleKind, mode=RuleMode, params=RuleParams.from_dict):
    """One rule of a rule set."""

    name: str | None = None
    doc: str | None = None
    kind: RuleKind | None = None
    mode: RuleMode | None = None
    type: str | None = None
    tags: list[str] | None = field(default=None, hash=False)
    params: RuleParams | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool | None = None


@dataclass(unsafe_hash=True)
class RuleSet(
    _JsonObject,
    migration_rules=_ListOf(Rule.from_dict),
    domain_rules=_ListOf(Rule.from_dict),
    encoding_rules=_ListOf(Rule.from_dict),
):
    """The rules of a schema."""

    migration_rules: list[Rule] | None = field(default=None, hash=False)
    domain_rules: list[Rule] | None = field(default=None, hash=False)
    encoding_rules: list[Rule] | None = field(default=None, hash=False)
    enable_at: str | None = None


@dataclass
class MetadataTags(_JsonMap):
    """The tags of the fields of a schema, by the path of a field."""

    tags: dict[str, list[str]] = field(default_factory=dict)
    __hash__ = _JsonMap.__hash__


@dataclass
class MetadataProperties(_JsonMap):
    """The properties of a schema, by name."""

    properties: dict[str, str] = field(default_factory=dict)
    __hash__ = _JsonMap.__hash__


@dataclass(frozen=True)
class Metadata(
    _JsonObject, tags=MetadataTags.from_dict, properties=MetadataProperties.from_dict, sensitive=_ListOf(str)
):
    """The metadata of a schema: tags, properties, and the names of properties that are sensitive."""

    tags: MetadataTags | None = None
    properties: MetadataProperties | None = None
    sensitive: list[str] | None = field(default=None, hash=False)


@dataclass(frozen=True)
class SchemaReference(_JsonObject):
    """A name that a schema's text uses, and the version of a subject that declares it."""

    name: str | None = None
    subject: str | None = None
    version: int | None = None


@dataclass(frozen=True)
class Schema(
    _JsonObject, references=_ListOf(SchemaReference.from_dict), metadata=Metadata.from_dict, rule_set=RuleSet.from_dict
):
    """A schema: ``schema_str`` is its text, ``schema_type`` AVRO, JSON or PROTOBUF."""

    schema_str: str | None
    schema_type: str | None = "AVRO"
    references: list[SchemaReference] | None = field(default_factory=list, hash=False)
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None


@dataclass(frozen=True)
class RegisteredSchema:
    """A version of a subject."""

    subject: str | None
    version: int | None
    schema_id: int | None
    guid: str | None
    schema: Schema

    def to_dict(self) -> JsonObject:
        """Return the version as in a response of the registry."""
        facts = {"id": self.schema_id, "guid": self.guid, "subject": self.subject, "version": self.version}
        return {**self.schema.to_dict(), **{name: value for name, value in facts.items() if value is not None}}


@dataclass(frozen=True)
class SchemaVersion(_JsonObject):
    """A subject and the number of one of its versions."""

    subject: str | None = None
    version: int | None = None


# --- configs ---------------------------------------------------------------------------------------------------------


class ConfigCompatibilityLevel(StrEnum):
    """The levels of compatibility."""

    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"
    NONE = "NONE"


@dataclass
class ServerConfig(
    _JsonObject,
    compatibility=ConfigCompatibilityLevel,
    compatibility_level=ConfigCompatibilityLevel,
    default_metadata=Metadata.from_dict,
    override_metadata=Metadata.from_dict,
    default_rule_set=RuleSet.from_dict,
    override_rule_set=RuleSet.from_dict,
):
    """The config of the registry or of a subject; the level in a response is ``compatibility_level``."""

    compatibility: ConfigCompatibilityLevel | None = None
    compatibility_level: ConfigCompatibilityLevel | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None


# --- associations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Association(_JsonObject):
    """The association of a subject with a resource."""

    subject: str | None = None
    guid: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    association_type: str | None = None
    frozen: bool = False


@dataclass
class AssociationInfo(_JsonObject, schema=Schema.from_dict):
    """An association of the resource that a response is about."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool = False
    schema: Schema | None = None


@dataclass
class AssociationCreateOrUpdateInfo(_JsonObject, schema=Schema.from_dict):
    """An association of the resource that a request is about."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: Schema | None = None
    normalize: bool | None = None


@dataclass
class AssociationCreateOrUpdateRequest(_JsonObject, associations=_ListOf(AssociationCreateOrUpdateInfo.from_dict)):
    """A resource, and associations that it should have."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationCreateOrUpdateInfo] | None = None


@dataclass
class AssociationResponse(_JsonObject, associations=_ListOf(AssociationInfo.from_dict)):
    """A resource, and its associations."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationInfo] | None = None


# --- between their values and those of this SDK ----------------------------------------------------------------------


def own_schema(given: object) -> model.Schema | None:
    """Return a schema of this SDK: for Avro text, or a ``Schema`` of this module, of the SDK or of confluent-kafka.

    Raises ``InvalidSettings``.
    """
    match given:
        case None | model.Schema():
            return given
        case str():
            return model.Schema(given)
    document = _document(given, "schema_str", "schema text or a Schema")
    kind = document.get("schemaType")
    if kind is not None and kind not in list(model.SchemaType):
        problem = f"The schema type is {kind!r}; expected {', '.join(model.SchemaType)}"
        raise InvalidSettings(problem, setting="schema_type")
    return _read(SCHEMA.read, document, "schema_str")


def own_config(given: object) -> Config:
    """Return a config of this SDK for a ``ServerConfig`` of this module or of confluent-kafka.

    Raises ``InvalidSettings``.
    """
    return _read(read_config, _document(given, "config", "a ServerConfig"), "config")


def their_schema(own: model.Schema) -> Schema:
    """Return a schema with the attributes of confluent-kafka's."""
    return Schema.from_dict(SCHEMA.write(own))


def their_version(own: OwnRegistered) -> RegisteredSchema:
    """Return a version with the attributes of confluent-kafka's."""
    guid = None if own.guid is None else str(own.guid)
    return RegisteredSchema(own.subject, own.version, own.id, guid, their_schema(own.schema))


def their_config(own: Config) -> ServerConfig:
    """Return a config as in a response: its level is the one in force."""
    document = config_document(own)
    level = document.pop("compatibility", None)
    return ServerConfig.from_dict({**document, LEVEL_IN_FORCE: level})


class _GivenJson(ReplyJson):
    """The JSON of a value that a program passes."""

    __slots__ = ()

    root_name = "it"


def _document(given: object, setting: str, expected: str) -> JsonObject:
    if not hasattr(given, "to_dict"):
        raise InvalidSettings(f"{setting} is a {type(given).__name__}; expected {expected}", setting=setting)
    try:
        document: JsonObject = given.to_dict()
    except AttributeError as error:  # a member of another type, such as text where an Enum is expected
        problem = f"{setting} is a {type(given).__name__} that has no JSON: {error}"
        raise InvalidSettings(problem, setting=setting) from error
    return document


def _read(read: Callable[[ReplyJson], T], document: JsonObject, setting: str) -> T:
    try:
        return read(_GivenJson(document))
    except UnexpectedShapeError as error:
        raise InvalidSettings(f"{setting} cannot be used: {error}", setting=setting) from error
