"""Key encryption keys (KEK) and data encryption keys (DEK)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.json_values import read_each, read_integer, read_texts
from counterfoil.schema.rest.keys import KEK, NEW_KEK, new_dek_document, read_dek
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import action, deleted_query, json_body, url_path, url_query

if TYPE_CHECKING:
    from typing import Final

    from counterfoil.schema.rest.keys import DekId, Kek, ShownDek
    from counterfoil.schema.rest.versions import Visibility

_KEKS: Final = ("dek-registry", "v1", "keks")


def keks(*, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /dek-registry/v1/keks``: the names of the key encryption keys."""
    return Operation("keks", "GET", url_path(*_KEKS), read_texts, deleted_query(visibility))


def kek(name: str, *, visibility: Visibility, context: str | None = None) -> Operation[Kek]:
    """``GET /dek-registry/v1/keks/{name}``; ``context`` is for registries that have keys in each context."""
    query = deleted_query(visibility) + url_query(context=context)
    return Operation("kek", "GET", url_path(*_KEKS, name), KEK.read, query)


def create_kek(new: Kek, *, context: str | None = None) -> Operation[Kek]:
    """``POST /dek-registry/v1/keks``: repeatable, since the same key is found again."""
    body = json_body(NEW_KEK.write(new))
    return Operation("create_kek", "POST", url_path(*_KEKS), KEK.read, url_query(context=context), body)


def delete_kek(name: str) -> Operation[None]:
    """``DELETE /dek-registry/v1/keks/{name}``: a soft deletion."""
    return action("delete_kek", "DELETE", url_path(*_KEKS, name))


def undelete_kek(name: str) -> Operation[None]:
    """``POST /dek-registry/v1/keks/{name}/undelete``."""
    return action("undelete_kek", "POST", url_path(*_KEKS, name, "undelete"))


def dek_subjects(kek_name: str, *, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /dek-registry/v1/keks/{name}/deks``: the subjects that have keys under this one."""
    return Operation("dek_subjects", "GET", url_path(*_KEKS, kek_name, "deks"), read_texts, deleted_query(visibility))


def dek_versions(kek_name: str, subject: str, *, algorithm: str, visibility: Visibility) -> Operation[tuple[int, ...]]:
    """``GET /dek-registry/v1/keks/{name}/deks/{subject}/versions``."""
    query = url_query(algorithm=algorithm) + deleted_query(visibility)
    return Operation("dek_versions", "GET", _deks(kek_name, subject, "versions"), read_each(read_integer), query)


def dek(kek_name: str, subject: str, number: int, *, algorithm: str, visibility: Visibility) -> Operation[ShownDek]:
    """``GET /dek-registry/v1/keks/{name}/deks/{subject}/versions/{version}``."""
    query = url_query(algorithm=algorithm) + deleted_query(visibility)
    return Operation("dek", "GET", _deks(kek_name, subject, "versions", number), read_dek, query)


def create_dek(dek_id: DekId, wrapped: str | None, *, has_subject_in_path: bool = True) -> Operation[ShownDek]:
    """``POST /dek-registry/v1/keks/{name}/deks/{subject}``: repeatable, since the same key is found again.

    ``wrapped`` None: the registry generates the key. Older registries (405) have the path without the subject.
    """
    path = _deks(dek_id.kek_name, *([str(dek_id.subject)] if has_subject_in_path else []))
    return Operation("create_dek", "POST", path, read_dek, body=json_body(new_dek_document(dek_id, wrapped)))


def delete_dek(kek_name: str, subject: str, number: int, *, algorithm: str) -> Operation[None]:
    """``DELETE /dek-registry/v1/keks/{name}/deks/{subject}/versions/{version}``: a soft deletion."""
    path = _deks(kek_name, subject, "versions", number)
    return action("delete_dek", "DELETE", path, url_query(algorithm=algorithm))


def _deks(kek_name: str, *more: str | int) -> str:
    return url_path(*_KEKS, kek_name, "deks", *more)
