"""The routes under ``/dek-registry``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.keys import operations as keys
from counterfoil.registry.api.keys.bodies import DEK_TO_CREATE, KEK_CHANGE, KEK_TO_CREATE, STORED_DEK, STORED_KEK
from counterfoil.registry.api.routes.access import FOUND, FROM_BODY, on, the, the_subject_of_keys
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import Kind
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

_kek = the(Kind.KEK, "name")
_READ_DEK: Final = on(Operation.READ, _kek) & on(Operation.READ, the_subject_of_keys)
_WRITE_DEK: Final = on(Operation.WRITE, _kek) & on(Operation.WRITE, the_subject_of_keys)
_DELETE_DEK: Final = on(Operation.DELETE, _kek, permanent=Operation.PURGE) & on(
    Operation.DELETE, the_subject_of_keys, permanent=Operation.PURGE
)

_WRITE: Final = (errors.KeyNotFound, errors.InvalidKey, errors.OperationNotPermitted)
_READ: Final = (errors.KeyNotFound, errors.InvalidKey)
_WRAP: Final = (errors.KeyAccessDenied, errors.KeyWrapFailed)
_NEW: Final = (*_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP)

KEY_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route(
        "GET", _KEKS, keys.list_keks, access=FOUND, query=("subjectPrefix", "deleted", *PAGE), result=TEXTS, errors=()
    ),
    _route(
        "POST",
        _KEKS,
        keys.create_kek,
        access=FROM_BODY,
        query=("testSharing",),
        body=KEK_TO_CREATE,
        result=STORED_KEK,
        errors=_NEW,
    ),
    _route(
        "GET", _KEK, keys.get_kek, access=on(Operation.READ, _kek), query=("deleted",), result=STORED_KEK, errors=_READ
    ),
    _route(
        "PUT",
        _KEK,
        keys.change_kek,
        access=on(Operation.WRITE, _kek) & FROM_BODY,
        query=("testSharing",),
        body=KEK_CHANGE,
        result=STORED_KEK,
        errors=(*_WRITE, *_WRAP),
    ),
    _route(
        "DELETE",
        _KEK,
        keys.delete_kek,
        access=on(Operation.DELETE, _kek, permanent=Operation.PURGE),
        query=("permanent",),
        errors=(*_WRITE, errors.KeyInUse, errors.KeyNotSoftDeleted),
    ),
    _route("POST", f"{_KEK}/undelete", keys.undelete_kek, access=on(Operation.WRITE, _kek), errors=_WRITE),
    _route(
        "POST",
        f"{_KEK}/test",
        keys.test_kek,
        access=on(Operation.WRITE, _kek),
        result=STORED_KEK,
        errors=(*_WRITE, *_WRAP),
    ),
    _route(
        "GET",
        _DEKS,
        keys.list_dek_subjects,
        access=on(Operation.READ, _kek) & FOUND,
        query=("deleted", *PAGE),
        result=TEXTS,
        errors=_READ,
    ),
    _route(
        "POST",
        _DEKS,
        keys.create_dek_of_body,
        access=on(Operation.WRITE, _kek) & FROM_BODY,
        query=("rewrap",),
        body=DEK_TO_CREATE,
        result=STORED_DEK,
        errors=_NEW,
    ),
    _route(
        "GET",
        _DEK,
        keys.get_dek,
        access=_READ_DEK,
        query=("algorithm", "deleted"),
        result=STORED_DEK,
        errors=(*_READ, *_WRAP),
    ),
    _route(
        "POST",
        _DEK,
        keys.create_dek,
        access=_WRITE_DEK,
        query=("rewrap",),
        body=DEK_TO_CREATE,
        result=STORED_DEK,
        errors=_NEW,
    ),
    _route(
        "DELETE",
        _DEK,
        keys.delete_deks,
        access=_DELETE_DEK,
        query=_DELETION,
        errors=(*_WRITE, errors.KeyNotSoftDeleted),
    ),
    _route(
        "POST",
        f"{_DEK}/undelete",
        keys.undelete_deks,
        access=_WRITE_DEK,
        query=("algorithm",),
        errors=(*_WRITE, errors.KeyEncryptionKeyDeleted),
    ),
    _route(
        "GET",
        _VERSIONS,
        keys.list_dek_versions,
        access=on(Operation.READ, _kek) & on(Operation.DESCRIBE, the_subject_of_keys),
        query=("algorithm", "deleted", *PAGE),
        result=INTEGERS,
        errors=_READ,
    ),
    _route(
        "GET",
        _VERSION,
        keys.get_dek_version,
        access=_READ_DEK,
        query=("algorithm", "deleted"),
        result=STORED_DEK,
        errors=(errors.InvalidVersion, *_READ, *_WRAP),
    ),
    _route(
        "DELETE",
        _VERSION,
        keys.delete_dek_version,
        access=_DELETE_DEK,
        query=_DELETION,
        errors=(errors.InvalidVersion, *_WRITE, errors.KeyNotSoftDeleted),
    ),
    _route(
        "POST",
        f"{_VERSION}/undelete",
        keys.undelete_dek_version,
        access=_WRITE_DEK,
        query=("algorithm",),
        errors=(errors.InvalidVersion, *_WRITE, errors.KeyEncryptionKeyDeleted),
    ),
)
