"""Keys as stored documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.keys import Algorithm, Dek, DekId, Kek

if TYPE_CHECKING:
    from counterfoil.schema.rest.object_forms import Document

KEK_KIND: Final = "kek"
DEK_KIND: Final = "dek"
KEK_PASSING: Final = frozenset({"ts", "dekCount"})
"""The members of a key encryption key that are no content: its time, and how many keys it wraps."""
DEK_PASSING: Final = frozenset({"ts"})
"""The member of a data encryption key that is no content."""
_VERSION_DIGITS: Final = 10


def kek_key(name: str) -> tuple[str, ...]:
    """Return the record key of a key encryption key."""
    return (name,)


def stored_kek(kek: Kek) -> Document:
    """Return the stored document of a key encryption key."""
    return {
        "kmsType": kek.kms_type,
        "kmsKeyId": kek.kms_key_id,
        "kmsProps": dict(kek.kms_props),
        "doc": kek.doc,
        "shared": kek.shared,
        "deleted": kek.deleted,
        "ts": kek.ts,
        "dekCount": kek.dek_count,
    }


def read_stored_kek(key: tuple[str, ...], document: Document) -> Kek:
    """Return the key encryption key in a stored document."""
    return Kek(
        name=key[0],
        kms_type=document["kmsType"],
        kms_key_id=document["kmsKeyId"],
        kms_props=document["kmsProps"],
        doc=document["doc"],
        shared=document["shared"],
        deleted=document["deleted"],
        ts=document["ts"],
        dek_count=document["dekCount"],
    )


def dek_prefix(
    kek_name: str | None, subject: QualifiedSubject | None = None, algorithm: Algorithm | None = None
) -> tuple[str, ...]:
    """Return the prefix of the record keys of data encryption keys: all, or those of a KEK, a subject, an algorithm."""
    if kek_name is None:
        return ()
    if subject is None:
        return (kek_name,)
    of_subject = (kek_name, subject.context, subject.name)
    return of_subject if algorithm is None else (*of_subject, algorithm.value)


def dek_key(dek: DekId) -> tuple[str, ...]:
    """Return the record key of a data encryption key; versions sort as numbers."""
    return (*dek_prefix(dek.kek_name, dek.subject, dek.algorithm), f"{dek.version:0{_VERSION_DIGITS}}")


def stored_dek(dek: Dek) -> Document:
    """Return the stored document of a wrapped data encryption key."""
    return {"wrapped": dek.wrapped, "deleted": dek.deleted, "ts": dek.ts}


def read_stored_dek(key: tuple[str, ...], document: Document) -> Dek:
    """Return the data encryption key in a stored document."""
    kek_name, context, name, algorithm, version = key
    dek_id = DekId(kek_name, QualifiedSubject(context, name), Algorithm(algorithm), int(version))
    return Dek(dek_id, document["wrapped"], document["deleted"], document["ts"])
