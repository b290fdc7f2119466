"""The routes under ``/dek-registry``."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.keys import operations as keys
from counterfoil.registry.api.keys.models import DekBody, KekBody, KekChangeBody, NewDekBody, NewKekBody
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors

_KEKS: Final = "/dek-registry/v1/keks"
_KEK: Final = f"{_KEKS}/{{name}}"
_DEKS: Final = f"{_KEK}/deks"
_DEK: Final = f"{_DEKS}/{{subject}}"
_VERSIONS: Final = f"{_DEK}/versions"
_VERSION: Final = f"{_VERSIONS}/{{version}}"
_TAG: Final = "keys"
_DELETION: Final = ("algorithm", "permanent")

_WRITE: Final = (errors.KeyNotFound, errors.InvalidKey, errors.OperationNotPermitted)
_WRAP: Final = (errors.KeyAccessDenied, errors.KeyWrapFailed)

KEY_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    ConfluentRoute(
        "GET", _KEKS, keys.list_keks, tag=_TAG, query=("subjectPrefix", "deleted", *PAGE), result=list[str], errors=()
    ),
    ConfluentRoute(
        "POST",
        _KEKS,
        keys.create_kek,
        tag=_TAG,
        query=("testSharing",),
        body=NewKekBody,
        result=KekBody,
        errors=(*_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP),
    ),
    ConfluentRoute(
        "GET",
        _KEK,
        keys.get_kek,
        tag=_TAG,
        query=("deleted",),
        result=KekBody,
        errors=(errors.KeyNotFound, errors.InvalidKey),
    ),
    ConfluentRoute(
        "PUT",
        _KEK,
        keys.change_kek,
        tag=_TAG,
        query=("testSharing",),
        body=KekChangeBody,
        result=KekBody,
        errors=(*_WRITE, *_WRAP),
    ),
    ConfluentRoute(
        "DELETE",
        _KEK,
        keys.delete_kek,
        tag=_TAG,
        query=("permanent",),
        errors=(*_WRITE, errors.KeyInUse, errors.KeyNotSoftDeleted),
    ),
    ConfluentRoute("POST", f"{_KEK}/undelete", keys.undelete_kek, tag=_TAG, errors=_WRITE),
    ConfluentRoute("POST", f"{_KEK}/test", keys.test_kek, tag=_TAG, result=KekBody, errors=(*_WRITE, *_WRAP)),
    ConfluentRoute(
        "GET",
        _DEKS,
        keys.list_dek_subjects,
        tag=_TAG,
        query=("deleted", *PAGE),
        result=list[str],
        errors=(errors.KeyNotFound, errors.InvalidKey),
    ),
    ConfluentRoute(
        "POST",
        _DEKS,
        keys.create_dek_of_body,
        tag=_TAG,
        query=("rewrap",),
        body=NewDekBody,
        result=DekBody,
        errors=(*_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP),
    ),
    ConfluentRoute(
        "GET",
        _DEK,
        keys.get_dek,
        tag=_TAG,
        query=("algorithm", "deleted"),
        result=DekBody,
        errors=(errors.KeyNotFound, errors.InvalidKey, *_WRAP),
    ),
    ConfluentRoute(
        "POST",
        _DEK,
        keys.create_dek,
        tag=_TAG,
        query=("rewrap",),
        body=NewDekBody,
        result=DekBody,
        errors=(*_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP),
    ),
    ConfluentRoute(
        "DELETE", _DEK, keys.delete_deks, tag=_TAG, query=_DELETION, errors=(*_WRITE, errors.KeyNotSoftDeleted)
    ),
    ConfluentRoute(
        "POST",
        f"{_DEK}/undelete",
        keys.undelete_deks,
        tag=_TAG,
        query=("algorithm",),
        errors=(*_WRITE, errors.KeyEncryptionKeyDeleted),
    ),
    ConfluentRoute(
        "GET",
        _VERSIONS,
        keys.list_dek_versions,
        tag=_TAG,
        query=("algorithm", "deleted", *PAGE),
        result=list[int],
        errors=(errors.KeyNotFound, errors.InvalidKey),
    ),
    ConfluentRoute(
        "GET",
        _VERSION,
        keys.get_dek_version,
        tag=_TAG,
        query=("algorithm", "deleted"),
        result=DekBody,
        errors=(errors.InvalidVersion, errors.KeyNotFound, errors.InvalidKey, *_WRAP),
    ),
    ConfluentRoute(
        "DELETE",
        _VERSION,
        keys.delete_dek_version,
        tag=_TAG,
        query=_DELETION,
        errors=(errors.InvalidVersion, *_WRITE, errors.KeyNotSoftDeleted),
    ),
    ConfluentRoute(
        "POST",
        f"{_VERSION}/undelete",
        keys.undelete_dek_version,
        tag=_TAG,
        query=("algorithm",),
        errors=(
            errors.InvalidVersion,
            *_WRITE,
            errors.KeyEncryptionKeyDeleted,
        ),
    ),
)
