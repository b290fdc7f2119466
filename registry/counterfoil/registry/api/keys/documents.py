"""The documents about keys: what callers send and get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.documents import Document, without_null
from counterfoil.registry.domain.json_fields import boolean_of, integer_of, map_of, object_of, optional, text_of
from counterfoil.registry.domain.keys.model import DEFAULT_ALGORITHM, FIRST_VERSION, Algorithm, DekId, Kek
from counterfoil.registry.service.keys.deks import DekRequest
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import BadRequest, InvalidKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.registry.service.keys.deks import ShownDek
    from counterfoil.schema.contexts import QualifiedSubject

_READ_BY_FIELD: Final[dict[str, tuple[str, Callable[[object, str], Any], Any]]] = {
    "kmsProps": ("kms_props", lambda value, what: map_of(value, what, text_of), {}),
    "doc": ("doc", text_of, None),
    "shared": ("shared", boolean_of, False),
}


def kek_document(kek: Kek) -> Document:
    """A key encryption key; ``deleted`` is there only where it is true."""
    return without_null(
        {
            "name": kek.name,
            "kmsType": kek.kms_type,
            "kmsKeyId": kek.kms_key_id,
            "kmsProps": dict(kek.kms_props),
            "doc": kek.doc,
            "shared": kek.shared,
            "ts": kek.ts,
            "deleted": kek.deleted or None,
        }
    )


def dek_document(shown: ShownDek) -> Document:
    """A data encryption key; ``keyMaterial`` is there only where its KEK is shared."""
    dek = shown.dek
    return without_null(
        {
            "kekName": dek.id.kek_name,
            "subject": str(dek.id.subject),
            "version": dek.id.version,
            "algorithm": dek.id.algorithm.value,
            "encryptedKeyMaterial": dek.wrapped,
            "keyMaterial": shown.plain,
            "ts": dek.ts,
            "deleted": dek.deleted or None,
        }
    )


def read_kek(value: object) -> Kek:
    """The key encryption key in a body."""
    fields = object_of(value, "The request body")
    given = {name: found for name, found in read_kek_changes(fields).items() if found is not None}
    return Kek(
        name=optional(fields, "name", text_of) or "",
        kms_type=optional(fields, "kmsType", text_of) or "",
        kms_key_id=optional(fields, "kmsKeyId", text_of) or "",
        deleted=optional(fields, "deleted", boolean_of) or False,
        **given,
    )


def read_kek_changes(value: object) -> dict[str, Any]:
    """What a body changes in a key encryption key; a null is a field that is cleared."""
    fields = object_of(value, "The request body")
    changes: dict[str, Any] = {}
    for key, (name, read, cleared) in _READ_BY_FIELD.items():
        if key in fields:
            found = optional(fields, key, read)
            changes[name] = cleared if found is None else found
    return changes


def read_dek(value: object, kek_name: str, subject: QualifiedSubject | None) -> DekRequest:
    """The data encryption key in a body; the ``subject`` of the path goes before the body's."""
    fields = object_of(value, "The request body")
    if subject is None:
        subject = parse_subject(_required(fields, "subject"))
    version = optional(fields, "version", integer_of)
    algorithm = optional(fields, "algorithm", _algorithm) or DEFAULT_ALGORITHM
    return DekRequest(
        DekId(kek_name, subject, algorithm, FIRST_VERSION if version is None else version),
        wrapped=optional(fields, "encryptedKeyMaterial", text_of) or None,
        deleted=optional(fields, "deleted", boolean_of) or False,
    )


def _required(fields: Mapping[str, Any], key: str) -> str:
    found = optional(fields, key, text_of)
    if not found:
        raise InvalidKey(f"{key} is missing; expected the subject that the key is for")
    return found


def _algorithm(value: object, what: str) -> Algorithm:
    word = text_of(value, what)
    try:
        return Algorithm(word)
    except ValueError:
        raise BadRequest(f"{what} is {word[:80]!r}; expected one of {', '.join(Algorithm)}") from None
