"""Versions of subjects, ids and verdicts: a registry's responses about a schema, and the choices in requests.

Their JSON is in :mod:`counterfoil.schema.rest.schemas`, so that clients that send no request do not load it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from counterfoil.schema.model import Schema

if TYPE_CHECKING:
    from uuid import UUID

VersionNumber: TypeAlias = int | Literal["latest"]
"""A version of a subject: a number from 1, or the highest active one."""


class Visibility(Enum):
    """The subjects or versions that a response includes. Soft-deleted ones are still readable by schema id."""

    ACTIVE = "active"
    WITH_DELETED = "with deleted"
    DELETED_ONLY = "deleted only"


class Deletion(Enum):
    """The kind of deletion: ``SOFT`` hides a version, and its schema is still readable by id.

    ``PERMANENT`` requires an earlier ``SOFT``.
    """

    SOFT = "soft"
    PERMANENT = "permanent"


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A version of a subject, with its schema.

    ``version`` counts from 1, ``id`` is the registry's number for the content, ``guid`` the content's identity in every
    registry. ``version`` and ``guid`` are None if a registry does not return them: before Confluent's 8.0 the response
    to a registration has only the id.
    """

    subject: str
    version: int | None
    id: int
    guid: UUID | None
    schema: Schema


@dataclass(frozen=True, slots=True, order=True)
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
