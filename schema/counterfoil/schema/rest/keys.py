"""Encryption keys: data encryption keys (DEK), wrapped by key encryption keys (KEK) of a key management service.

A key encryption key never leaves its key management service; the registry stores its type and id there. A data
encryption key is stored wrapped.

Source: Confluent's documentation of client-side field level encryption, and the public API of its DEK registry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.rest.json_values import read_flag, read_integer, read_text, read_text_by_key
from counterfoil.schema.rest.object_forms import Document, Member, ObjectForm, without_null

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.contexts import QualifiedSubject

_ALTERNATE_IDS: Final = "encrypt.alternate.kms.key.ids"


class Algorithm(StrEnum):
    """The algorithm of a data encryption key."""

    AES128_GCM = "AES128_GCM"
    AES256_GCM = "AES256_GCM"
    AES256_SIV = "AES256_SIV"


DEFAULT_ALGORITHM: Final = Algorithm.AES256_GCM


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
        listed = self.kms_props.get(_ALTERNATE_IDS, "").split(",")
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


def _if_true(deleted: bool) -> bool | None:  # noqa: FBT001 (the writer of a member)
    return deleted or None


CHANGEABLE: Final = ObjectForm(
    Kek,
    (
        Member("kmsProps", "kms_props", read_text_by_key, dict),
        Member("doc", "doc", read_text),
        Member("shared", "shared", read_flag),
    ),
)
"""The changeable members of a key encryption key."""

_NAMING: Final = (
    Member("name", "name", read_text, otherwise=""),
    Member("kmsType", "kms_type", read_text, otherwise=""),
    Member("kmsKeyId", "kms_key_id", read_text, otherwise=""),
)
_DELETED: Final = Member("deleted", "deleted", read_flag, _if_true)

NEW_KEK: Final = ObjectForm(Kek, (*_NAMING, *CHANGEABLE.members, _DELETED))
"""The members of a key encryption key in a request."""

KEK: Final = ObjectForm(
    Kek, (*_NAMING, *CHANGEABLE.members, Member("ts", "ts", read_integer), _DELETED), keeps_empty=True
)
"""The members of a key encryption key in a response."""


def dek_document(dek: Dek, *, plain: str | None) -> Document:
    """Return the JSON of a data encryption key; ``plain`` is the base64 of it unwrapped, if the KEK is shared."""
    return without_null(
        {
            "kekName": dek.id.kek_name,
            "subject": str(dek.id.subject),
            "version": dek.id.version,
            "algorithm": dek.id.algorithm.value,
            "encryptedKeyMaterial": dek.wrapped,
            "keyMaterial": plain,
            "ts": dek.ts,
            "deleted": _if_true(dek.deleted),
        }
    )
