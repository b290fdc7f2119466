"""Encryption keys: data encryption keys (DEK), wrapped by key encryption keys (KEK) of a key management service.

A key encryption key never leaves its key management service; the registry stores its type and id there. A data
encryption key is stored wrapped.

Source: Confluent's documentation of client-side field level encryption, and the public API of its DEK registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.object_forms import (
    FLAG,
    INTEGER,
    REQUIRED,
    SUBJECT,
    TEXT,
    Document,
    JsonValue,
    Member,
    ObjectForm,
    form_of,
    read_text,
    word_of,
)

ALTERNATE_IDS: Final = "encrypt.alternate.kms.key.ids"
"""The property, or setting, with the ids of alternate keys, joined by commas."""


class Algorithm(StrEnum):
    """The algorithm of a data encryption key."""

    AES128_GCM = "AES128_GCM"
    AES256_GCM = "AES256_GCM"
    AES256_SIV = "AES256_SIV"


DEFAULT_ALGORITHM: Final = Algorithm.AES256_GCM

KEY_MATERIAL: Final = "keyMaterial"
"""The member with the base64 of an unwrapped data encryption key."""


@dataclass(frozen=True, slots=True)
class Kek:
    """A key encryption key: its id in the key management service, and whether the registry may use it (``shared``).

    ``ts`` (epoch ms) is the time of its last change; ``dek_count`` is the number of keys that it wraps, including
    soft-deleted ones, which is not part of responses.
    """

    name: str
    kms_type: str
    kms_key_id: str
    kms_props: Mapping[str, str] = field(default_factory=dict, repr=False)
    doc: str | None = None
    shared: bool = False
    deleted: bool = False
    ts: int = 0
    dek_count: int = 0

    @property
    def kms_key_ids(self) -> tuple[str, ...]:
        """The key's id, and after it the ids of alternate keys."""
        listed = self.kms_props.get(ALTERNATE_IDS, "").split(",")
        return (self.kms_key_id, *(each.strip() for each in listed if each.strip()))

    @property
    def content(self) -> tuple[object, ...]:
        """The content that is equal for equal keys of one name, whether deleted or not."""
        return (self.kms_type, self.kms_key_id, dict(self.kms_props), self.doc, self.shared)


@dataclass(frozen=True, slots=True, order=True)
class DekId:
    """The identity of a data encryption key."""

    kek_name: str
    subject: QualifiedSubject
    algorithm: Algorithm
    version: int


@dataclass(frozen=True, slots=True)
class Dek:
    """A wrapped data encryption key: ``wrapped`` is its base64. ``ts`` (epoch ms) is the time of its creation."""

    id: DekId
    wrapped: str
    deleted: bool = False
    ts: int = 0

    @property
    def content(self) -> str:
        """The content that is equal for equal keys of one identity, whether deleted or not."""
        return self.wrapped


@dataclass(frozen=True, slots=True)
class ShownDek:
    """A key in a response; ``plain`` is the base64 of the unwrapped key, if the registry may return it."""

    dek: Dek
    plain: str | None = field(default=None, repr=False)


CHANGEABLE: Final = form_of(
    Kek,
    "kms_props",
    "doc",
    "shared",
    about={
        "kms_props": "Settings for the key management service.",
        "shared": "Whether the registry wraps and unwraps keys with it.",
    },
)
"""The changeable members of a key encryption key."""

_NAMING: Final = (
    Member("name", "name", TEXT, otherwise=""),
    Member("kmsType", "kms_type", TEXT, otherwise="", about="The key management service, such as aws-kms, hcvault."),
    Member("kmsKeyId", "kms_key_id", TEXT, otherwise="", about="The id of the key in the key management service."),
)
_TS: Final = Member("ts", "ts", INTEGER, about="A time in epoch milliseconds.")
_DELETED: Final = Member(
    "deleted", "deleted", replace(FLAG, write=lambda deleted: deleted or None), about="Absent if false."
)

NEW_KEK: Final = ObjectForm(Kek, (*_NAMING, *CHANGEABLE.members, _DELETED))
"""The members of a key encryption key in a request."""

KEK: Final = ObjectForm(Kek, (*_NAMING, *CHANGEABLE.members, _TS, _DELETED), keeps_empty=True)
"""The members of a key encryption key in a response."""

_UNDER_KEK: Final = (
    Member("subject", "subject", SUBJECT, otherwise=REQUIRED),
    Member("version", "version", INTEGER, otherwise=REQUIRED),
    Member("algorithm", "algorithm", word_of(Algorithm), otherwise=REQUIRED),
)
DEK_ID: Final = ObjectForm(DekId, (Member("kekName", "kek_name", TEXT, otherwise=REQUIRED), *_UNDER_KEK))
"""The identity of a data encryption key in a response."""

_WRAPPED: Final = Member("encryptedKeyMaterial", "wrapped", TEXT, otherwise=REQUIRED)
DEK: Final = ObjectForm(Dek, (_WRAPPED, _TS, _DELETED), keeps_empty=True)
"""The members of a data encryption key in a response, beside its identity."""


def dek_document(key: ShownDek) -> Document:
    """Return the JSON of a data encryption key, with its plain form if that is shown."""
    document = {**DEK_ID.write(key.dek.id), **DEK.write(key.dek)}
    return document if key.plain is None else {**document, KEY_MATERIAL: key.plain}


def read_dek(value: JsonValue) -> ShownDek:
    """Return the data encryption key in a response."""
    plain = value.optional(KEY_MATERIAL, read_text)
    return ShownDek(Dek(DEK_ID.read(value), **DEK.read_fields(value)), plain or None)


def new_dek_document(dek_id: DekId, wrapped: str | None) -> Document:
    """Return the request that creates a key; the path has the name of its key encryption key.

    ``wrapped`` None: the registry, with which the key encryption key is shared, generates and wraps the key.
    """
    document = ObjectForm(DekId, _UNDER_KEK).write(dek_id)
    return document if wrapped is None else {**document, _WRAPPED.key: wrapped}
