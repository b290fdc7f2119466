"""Schemas and versions with the attributes that they have in confluent-kafka."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.schema import model
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.rest.json_values import ReplyJson, UnexpectedShapeError
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from counterfoil.schema.rest.versions import RegisteredSchema as OwnRegistered

SchemaRegistryError: TypeAlias = RegistryError
"""The error of a registry; it has the attributes of confluent-kafka's as well."""


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A name that a schema's text uses, and the version of a subject that declares it."""

    name: str | None = None
    subject: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema: ``schema_str`` is its text, ``schema_type`` AVRO, JSON or PROTOBUF."""

    schema_str: str | None
    schema_type: str | None = "AVRO"
    references: list[SchemaReference] | None = field(default_factory=list)
    metadata: model.Metadata | None = None
    rule_set: model.RuleSet | None = None


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A version of a subject."""

    schema_id: int
    guid: str | None
    subject: str
    version: int | None
    schema: Schema


def own_schema(given: object) -> model.Schema | None:
    """Return a schema of this SDK: for Avro text, or a ``Schema`` of this module, of the SDK or of confluent-kafka.

    Raises ``InvalidSettings``.
    """
    match given:
        case None | model.Schema():
            return given
        case str():
            return model.Schema(given)
        case Schema(schema_str=str(text), schema_type=kind, metadata=metadata, rule_set=rule_set):
            references = tuple(_own_reference(each) for each in given.references or ())
            return model.Schema(text, _own_type(kind), references, metadata, rule_set)
    try:
        return SCHEMA.read(ReplyJson(given.to_dict()))  # type: ignore[attr-defined]  # what confluent-kafka's has
    except (AttributeError, UnexpectedShapeError) as error:
        problem = f"The schema is a {type(given).__name__}; expected schema text or a Schema"
        raise InvalidSettings(problem, setting="schema_str") from error


def their_schema(own: model.Schema) -> Schema:
    """Return a schema with the attributes of confluent-kafka's."""
    references = [SchemaReference(each.name, each.subject, each.version) for each in own.references]
    return Schema(own.text, own.schema_type.value, references, own.metadata, own.rule_set)


def their_version(own: OwnRegistered) -> RegisteredSchema:
    """Return a version with the attributes of confluent-kafka's."""
    guid = None if own.guid is None else str(own.guid)
    return RegisteredSchema(own.id, guid, own.subject, own.version, their_schema(own.schema))


def _own_type(kind: str | None) -> model.SchemaType:
    try:
        return model.SchemaType(kind or "AVRO")
    except ValueError:
        problem = f"The schema type is {kind!r}; expected {', '.join(model.SchemaType)}"
        raise InvalidSettings(problem, setting="schema_type") from None


def _own_reference(each: Any) -> model.Reference:
    return model.Reference(each.name or "", each.subject or "", -1 if each.version is None else each.version)
