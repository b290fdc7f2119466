"""The content of a registry's responses, as frozen values.

Source of the vocabulary: the REST entities of Confluent Schema Registry's public API.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.model import Metadata, RuleSet, Schema

VersionNumber: TypeAlias = int | Literal["latest"]
"""A version of a subject: a number from 1, or the highest active one."""


class Visibility(Enum):
    """Which subjects or versions a response includes. Soft-deleted ones are still readable by schema id."""

    ACTIVE = "active"
    WITH_DELETED = "with deleted"
    DELETED_ONLY = "deleted only"


class Deletion(Enum):
    """How to delete: ``SOFT`` hides it and keeps the schema readable by id.

    ``PERMANENT`` requires an earlier ``SOFT``.
    """

    SOFT = "soft"
    PERMANENT = "permanent"


class Mode(StrEnum):
    """What a registry, a context or a subject permits."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A version of a subject, with its schema.

    ``version`` counts from 1, ``id`` is the registry's number for the content, ``guid`` the content's identity in every
    registry. ``version`` and ``guid`` are None where a registry does not return them: before Confluent's 8.0 the
    response to a registration has only the id.
    """

    subject: str
    version: int | None
    id: int
    guid: UUID | None
    schema: Schema


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """One use of a schema id: a subject and its version."""

    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class ContextId:
    """The id that one context gives to a content; ``context`` is ``.`` for the default one, else ``.name``."""

    context: str
    id: int


@dataclass(frozen=True, slots=True)
class Compatibility:
    """The registry's verdict on a candidate. ``messages`` are the reasons; empty when compatible or not requested."""

    is_compatible: bool
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The settings of a registry, a context or a subject.

    None: not set here (when read), not changed (when written).
    """

    compatibility_level: CompatibilityLevel | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_new_schemas: bool | None = None
    validate_rules: bool | None = None
    alias: str | None = None
    alias_for_deks: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None
