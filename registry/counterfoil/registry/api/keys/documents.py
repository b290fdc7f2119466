"""The bodies about keys that clients send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.registry.domain.keys.validity import FIRST_VERSION
from counterfoil.registry.service.keys.deks import DekRequest
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import InvalidKey
from counterfoil.schema.rest.json_values import RequestJson, read_flag, read_integer, read_text
from counterfoil.schema.rest.keys import CHANGEABLE, DEFAULT_ALGORITHM, NEW_KEK, Algorithm, DekId, Kek

if TYPE_CHECKING:
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.json_values import JsonValue


def read_kek(value: object) -> Kek:
    """Return the key encryption key in a body."""
    return NEW_KEK.read(RequestJson(value))


def read_kek_changes(value: object) -> dict[str, Any]:
    """Return the changes of a key encryption key in a body; a null clears the field."""
    return CHANGEABLE.read_changes(RequestJson(value))


def read_dek(value: object, kek_name: str, subject: QualifiedSubject | None) -> DekRequest:
    """Return the data encryption key in a body; the ``subject`` of the path takes precedence over the body's."""
    body = RequestJson(value)
    if subject is None:
        subject = parse_subject(_required(body, "subject"))
    version = body.optional("version", read_integer)
    algorithm = body.optional("algorithm", lambda word: word.one_of(Algorithm)) or DEFAULT_ALGORITHM
    return DekRequest(
        DekId(kek_name, subject, algorithm, FIRST_VERSION if version is None else version),
        wrapped=body.optional("encryptedKeyMaterial", read_text) or None,
        deleted=body.optional("deleted", read_flag) or False,
    )


def _required(body: JsonValue, key: str) -> str:
    found = body.optional(key, read_text)
    if not found:
        raise InvalidKey(f"{key} is missing; expected the subject that the key is for")
    return found
