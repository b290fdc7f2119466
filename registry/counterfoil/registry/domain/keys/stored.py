"""Keys as documents that a storage keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.keys import Algorithm, Dek, DekId, Kek

if TYPE_CHECKING:
    from counterfoil.schema.rest.object_forms import Document

KEK_KIND: Final = "kek"
DEK_KIND: Final = "dek"
_VERSION_DIGITS: Final = 10


def kek_key(name: str) -> tuple[str, ...]:
    """What a key encryption key is kept under."""
    return (name,)


def stored_kek(kek: Kek) -> Document:
    """A key encryption key to keep."""
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
    """The key encryption key that was kept."""
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
    """What data encryption keys are kept under: all, or those under a KEK, of a subject, of an algorithm."""
    if kek_name is None:
        return ()
    if subject is None:
        return (kek_name,)
    of_subject = (kek_name, subject.context, subject.name)
    return of_subject if algorithm is None else (*of_subject, algorithm.value)


def dek_key(dek: DekId) -> tuple[str, ...]:
    """What a data encryption key is kept under; versions sort as numbers."""
    return (*dek_prefix(dek.kek_name, dek.subject, dek.algorithm), f"{dek.version:0{_VERSION_DIGITS}}")


def stored_dek(dek: Dek) -> Document:
    """A data encryption key to keep, wrapped."""
    return {"wrapped": dek.wrapped, "deleted": dek.deleted, "ts": dek.ts}


def read_stored_dek(key: tuple[str, ...], document: Document) -> Dek:
    """The data encryption key that was kept."""
    kek_name, context, name, algorithm, version = key
    dek_id = DekId(kek_name, QualifiedSubject(context, name), Algorithm(algorithm), int(version))
    return Dek(dek_id, document["wrapped"], document["deleted"], document["ts"])
