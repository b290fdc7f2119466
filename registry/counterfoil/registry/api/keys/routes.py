"""The routes under ``/dek-registry``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.keys import operations as keys
from counterfoil.registry.api.keys.bodies import DEK_TO_CREATE, KEK_CHANGE, KEK_TO_CREATE, STORED_DEK, STORED_KEK
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import INTEGERS, TEXTS

_KEKS: Final = "/dek-registry/v1/keks"
_KEK: Final = f"{_KEKS}/{{name}}"
_DEKS: Final = f"{_KEK}/deks"
_DEK: Final = f"{_DEKS}/{{subject}}"
_VERSIONS: Final = f"{_DEK}/versions"
_VERSION: Final = f"{_VERSIONS}/{{version}}"
_DELETION: Final = ("algorithm", "permanent")

_route = partial(ConfluentRoute, tag="keys")

_WRITE: Final = (errors.KeyNotFound, errors.InvalidKey, errors.OperationNotPermitted)
_READ: Final = (errors.KeyNotFound, errors.InvalidKey)
_WRAP: Final = (errors.KeyAccessDenied, errors.KeyWrapFailed)
_NEW: Final = (*_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP)

KEY_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route("GET", _KEKS, keys.list_keks, query=("subjectPrefix", "deleted", *PAGE), result=TEXTS, errors=()),
    _route("POST", _KEKS, keys.create_kek, query=("testSharing",), body=KEK_TO_CREATE, result=STORED_KEK, errors=_NEW),
    _route("GET", _KEK, keys.get_kek, query=("deleted",), result=STORED_KEK, errors=_READ),
    _route(
        "PUT",
        _KEK,
        keys.change_kek,
        query=("testSharing",),
        body=KEK_CHANGE,
        result=STORED_KEK,
        errors=(*_WRITE, *_WRAP),
    ),
    _route(
        "DELETE",
        _KEK,
        keys.delete_kek,
        query=("permanent",),
        errors=(*_WRITE, errors.KeyInUse, errors.KeyNotSoftDeleted),
    ),
    _route("POST", f"{_KEK}/undelete", keys.undelete_kek, errors=_WRITE),
    _route("POST", f"{_KEK}/test", keys.test_kek, result=STORED_KEK, errors=(*_WRITE, *_WRAP)),
    _route("GET", _DEKS, keys.list_dek_subjects, query=("deleted", *PAGE), result=TEXTS, errors=_READ),
    _route(
        "POST", _DEKS, keys.create_dek_of_body, query=("rewrap",), body=DEK_TO_CREATE, result=STORED_DEK, errors=_NEW
    ),
    _route("GET", _DEK, keys.get_dek, query=("algorithm", "deleted"), result=STORED_DEK, errors=(*_READ, *_WRAP)),
    _route("POST", _DEK, keys.create_dek, query=("rewrap",), body=DEK_TO_CREATE, result=STORED_DEK, errors=_NEW),
    _route("DELETE", _DEK, keys.delete_deks, query=_DELETION, errors=(*_WRITE, errors.KeyNotSoftDeleted)),
    _route(
        "POST",
        f"{_DEK}/undelete",
        keys.undelete_deks,
        query=("algorithm",),
        errors=(*_WRITE, errors.KeyEncryptionKeyDeleted),
    ),
    _route(
        "GET", _VERSIONS, keys.list_dek_versions, query=("algorithm", "deleted", *PAGE), result=INTEGERS, errors=_READ
    ),
    _route(
        "GET",
        _VERSION,
        keys.get_dek_version,
        query=("algorithm", "deleted"),
        result=STORED_DEK,
        errors=(errors.InvalidVersion, *_READ, *_WRAP),
    ),
    _route(
        "DELETE",
        _VERSION,
        keys.delete_dek_version,
        query=_DELETION,
        errors=(errors.InvalidVersion, *_WRITE, errors.KeyNotSoftDeleted),
    ),
    _route(
        "POST",
        f"{_VERSION}/undelete",
        keys.undelete_dek_version,
        query=("algorithm",),
        errors=(errors.InvalidVersion, *_WRITE, errors.KeyEncryptionKeyDeleted),
    ),
)
