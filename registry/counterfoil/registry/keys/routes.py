"""The routes under ``/dek-registry``, their endpoints, and the bodies about keys."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from counterfoil.registry.access.resources import AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.audit.events import EventKind, facts_about
from counterfoil.registry.http.access import FOUND, FROM_BODY, RequestCaller, on, the, the_subject_of_keys
from counterfoil.registry.http.answers import NOTHING, Answer, AuditedUse
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.http.route import ConfluentRoute
from counterfoil.registry.http.shapes import PAGE, BodyProperty, BodyShape, properties_of
from counterfoil.registry.keys.records import FIRST_VERSION, without_secrets
from counterfoil.registry.keys.use_cases import DekGroup, DekRequest
from counterfoil.registry.subjects.versions import parse_version
from counterfoil.schema import errors
from counterfoil.schema.contexts import QualifiedSubject, parse_prefix, parse_subject
from counterfoil.schema.errors import InvalidKey, KeyInUse, NotFound
from counterfoil.schema.rest.json_values import JsonValue, RequestJson, read_flag, read_integer, read_text
from counterfoil.schema.rest.keys import (
    CHANGEABLE,
    DEFAULT_ALGORITHM,
    DEK,
    DEK_ID,
    KEK,
    KEY_MATERIAL,
    NEW_KEK,
    Algorithm,
    DekId,
    Kek,
    ShownDek,
    dek_document,
)
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, INTEGERS, TEXT, TEXTS, Document

# The bodies about keys that clients send.


def read_kek(value: object) -> Kek:
    """Return the key encryption key in a body."""
    return NEW_KEK.read(RequestJson(value))


def read_kek_changes(value: object) -> Document:
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


# The shapes of bodies about keys, for the OpenAPI description.

KEK_CHANGE: Final = BodyShape(
    "KekChangeBody",
    "Changes to a key encryption key: an absent field is not changed, null clears.",
    properties_of(CHANGEABLE, is_change=True),
)
KEK_TO_CREATE: Final = BodyShape("NewKekBody", "A key encryption key to store.", properties_of(NEW_KEK))
STORED_KEK: Final = BodyShape(
    "KekBody",
    "A key encryption key: its location.",
    properties_of(KEK, always=("kmsProps", "shared", "ts")),
)
DEK_TO_CREATE: Final = BodyShape(
    "NewDekBody",
    "A data encryption key to store.",
    (
        BodyProperty("subject", TEXT, "Required if the path has none."),
        BodyProperty("version", INTEGER, default=FIRST_VERSION),
        BodyProperty("algorithm", TEXT, " or ".join(Algorithm), default=DEFAULT_ALGORITHM.value),
        BodyProperty("encryptedKeyMaterial", TEXT, "Absent: the registry makes one, if it may use the KEK."),
        BodyProperty("deleted", FLAG),
    ),
)
STORED_DEK: Final = BodyShape(
    "DekBody",
    "A data encryption key, wrapped.",
    (
        *properties_of(DEK_ID),
        *properties_of(DEK, always=("ts",)),
        BodyProperty(KEY_MATERIAL, TEXT, "The unwrapped key, if the registry may use the KEK."),
    ),
)


# Operations under ``/dek-registry``: keys, and the keys that wrap them.


def _algorithm(request: ApiRequest) -> Algorithm:
    word = request.text("algorithm")
    try:
        return Algorithm(word) if word else DEFAULT_ALGORITHM
    except ValueError:
        raise NotFound(f"algorithm is {word[:80]!r}; expected one of {', '.join(Algorithm)}") from None


async def _subject(request: ApiRequest) -> QualifiedSubject:
    """Return the subject in the path, or the one whose alias it is for keys."""
    return await request.cases.scopes.aliased_for_keys(request.scope_subject())


async def _group(request: ApiRequest) -> DekGroup:
    return DekGroup(request.segment("name"), await _subject(request), _algorithm(request))


# --- key encryption keys


async def list_keks(request: ApiRequest, caller: RequestCaller) -> object:
    """List the names of key encryption keys, sorted."""
    first, last = request.bounds()
    prefixes = [parse_prefix(text) for text in request.texts("subjectPrefix")]
    caller.filters()
    names = await request.cases.keks.names(prefixes, deleted=request.flag("deleted"))
    return [name for name in names if caller.may(AccessOperation.DESCRIBE, AccessResource(ResourceKind.KEK, name))][
        first:last
    ]


async def get_kek(request: ApiRequest, caller: RequestCaller) -> object:
    """Return a key encryption key."""
    return _shown_kek(caller, await request.cases.keks.get(request.segment("name"), deleted=request.flag("deleted")))


async def create_kek(request: ApiRequest, caller: RequestCaller) -> object:
    """Store the key encryption key in the body."""
    kek = read_kek(await request.json())
    caller.require(AccessOperation.WRITE, AccessResource(ResourceKind.KEK, kek.name))
    if kek.shared:
        caller.require(AccessOperation.UNWRAP, AccessResource(ResourceKind.KEK, kek.name))
    return _shown_kek(
        caller, await request.cases.keks.create(kek, test=request.flag("testSharing"), by=caller.requester)
    )


async def change_kek(request: ApiRequest, caller: RequestCaller) -> object:
    """Change a key encryption key as the body requests, and return it."""
    name, changes = request.segment("name"), read_kek_changes(await request.json())
    caller.filters()
    if changes.get("shared"):
        caller.require(AccessOperation.UNWRAP, AccessResource(ResourceKind.KEK, name))
    return _shown_kek(
        caller, await request.cases.keks.change(name, changes, test=request.flag("testSharing"), by=caller.requester)
    )


async def delete_kek(request: ApiRequest, caller: RequestCaller) -> object:
    """Soft-delete a key encryption key, or remove it with ``permanent=true``."""
    name = request.segment("name")
    try:
        await request.cases.keks.delete(name, permanent=request.flag("permanent"), by=caller.requester)
    except KeyInUse:
        if caller.visible(AccessOperation.DESCRIBE) is None:
            raise
        raise KeyInUse(f"Key {name!r} still wraps keys; delete those first") from None  # not naming their subjects
    return NOTHING


async def undelete_kek(request: ApiRequest, caller: RequestCaller) -> object:
    """Restore a soft-deleted key encryption key."""
    await request.cases.keks.undelete(request.segment("name"), by=caller.requester)
    return NOTHING


async def test_kek(request: ApiRequest, caller: RequestCaller) -> object:
    """Check that the registry can wrap a key with a key encryption key, and return the latter."""
    tested = await request.cases.keks.test(request.segment("name"))
    event = AuditedUse(EventKind.KEY_TESTED, AccessResource(ResourceKind.KEK, tested.name))
    return Answer(_shown_kek(caller, tested), events=(event,))


def _may_unwrap(caller: RequestCaller, name: str) -> bool:
    return caller.may(AccessOperation.UNWRAP, AccessResource(ResourceKind.KEK, name))


def _shown_kek(caller: RequestCaller, kek: Kek) -> Document:
    """Return the JSON of a key; callers who may not unwrap with it do not see the secrets in its settings."""
    if not _may_unwrap(caller, kek.name):
        kek = replace(kek, kms_props=without_secrets(kek.kms_props))
    return KEK.write(kek)


def _shown_dek(caller: RequestCaller, found: ShownDek) -> Answer:
    """Return the answer with a key, with the plain key only for callers who may unwrap it."""
    name = found.dek.id.kek_name
    if found.plain is None or not _may_unwrap(caller, name):
        return Answer(dek_document(replace(found, plain=None)))
    facts = facts_about([found.dek.id.subject])
    event = AuditedUse(EventKind.KEY_REVEALED, AccessResource(ResourceKind.KEK, name), facts)
    return Answer(dek_document(found), events=(event,))


# --- data encryption keys


async def list_dek_subjects(request: ApiRequest, caller: RequestCaller) -> object:
    """List the subjects that have keys under a key encryption key, sorted."""
    first, last = request.bounds()
    caller.filters()
    names = await request.cases.deks.subjects(request.segment("name"), deleted=request.flag("deleted"))
    return [name for name in names if caller.may_describe(parse_subject(name))][first:last]


async def list_dek_versions(request: ApiRequest, _: RequestCaller) -> object:
    """List the version numbers of a subject's keys for one algorithm, ascending."""
    first, last = request.bounds()
    return (await request.cases.deks.versions(await _group(request), deleted=request.flag("deleted")))[first:last]


async def get_dek(request: ApiRequest, caller: RequestCaller) -> object:
    """Return version 1 of a subject's key."""
    group = await _group(request)
    return _shown_dek(caller, await request.cases.deks.get(group, FIRST_VERSION, deleted=request.flag("deleted")))


async def get_dek_version(request: ApiRequest, caller: RequestCaller) -> object:
    """Return one version of a subject's key."""
    version = parse_version(request.segment("version"))
    return _shown_dek(
        caller, await request.cases.deks.get(await _group(request), version, deleted=request.flag("deleted"))
    )


async def create_dek(request: ApiRequest, caller: RequestCaller) -> object:
    """Store the data encryption key in the body; without one, generate a key and store it."""
    given = read_dek(await request.json(), request.segment("name"), await _subject(request))
    return _shown_dek(
        caller, await request.cases.deks.create(given, rewrap=request.flag("rewrap"), by=caller.requester)
    )


async def create_dek_of_body(request: ApiRequest, caller: RequestCaller) -> object:
    """Store or generate a data encryption key; the body names the subject, as in requests of older clients."""
    given = read_dek(await request.json(), request.segment("name"), None)
    caller.require_on(AccessOperation.WRITE, given.id.subject)
    return _shown_dek(
        caller, await request.cases.deks.create(given, rewrap=request.flag("rewrap"), by=caller.requester)
    )


async def delete_deks(request: ApiRequest, caller: RequestCaller) -> object:
    """Soft-delete all versions of a subject's key, or remove them with ``permanent=true``."""
    await request.cases.deks.delete(
        await _group(request), None, permanent=request.flag("permanent"), by=caller.requester
    )
    return NOTHING


async def delete_dek_version(request: ApiRequest, caller: RequestCaller) -> object:
    """Soft-delete one version of a subject's key, or remove it with ``permanent=true``."""
    permanent = request.flag("permanent")
    version = parse_version(request.segment("version"))
    group = await _group(request)
    if version is None:
        version = await request.cases.deks.latest_version(group, deleted=permanent)
    await request.cases.deks.delete(group, version, permanent=permanent, by=caller.requester)
    return NOTHING


async def undelete_deks(request: ApiRequest, caller: RequestCaller) -> object:
    """Restore all soft-deleted versions of a subject's key."""
    await request.cases.deks.undelete(await _group(request), None, by=caller.requester)
    return NOTHING


async def undelete_dek_version(request: ApiRequest, caller: RequestCaller) -> object:
    """Restore one soft-deleted version of a subject's key."""
    version = parse_version(request.segment("version"))
    group = await _group(request)
    if version is None:
        version = await request.cases.deks.latest_version(group, deleted=True)
    await request.cases.deks.undelete(group, version, by=caller.requester)
    return NOTHING


# The routes under ``/dek-registry``.

_KEKS: Final = "/dek-registry/v1/keks"
_KEK: Final = f"{_KEKS}/{{name}}"
_DEKS: Final = f"{_KEK}/deks"
_DEK: Final = f"{_DEKS}/{{subject}}"
_VERSIONS: Final = f"{_DEK}/versions"
_VERSION: Final = f"{_VERSIONS}/{{version}}"
_DELETION: Final = ("algorithm", "permanent")

_route = partial(ConfluentRoute, tag="keys")

_kek = the(ResourceKind.KEK, "name")
_READ_DEK: Final = on(AccessOperation.READ, _kek) & on(AccessOperation.READ, the_subject_of_keys)
_WRITE_DEK: Final = on(AccessOperation.WRITE, _kek) & on(AccessOperation.WRITE, the_subject_of_keys)
_DELETE_DEK: Final = on(AccessOperation.DELETE, _kek, permanent=AccessOperation.PURGE) & on(
    AccessOperation.DELETE, the_subject_of_keys, permanent=AccessOperation.PURGE
)

_WRITE: Final = (errors.KeyNotFound, errors.InvalidKey, errors.OperationNotPermitted)
_READ: Final = (errors.KeyNotFound, errors.InvalidKey)
_WRAP: Final = (errors.KeyAccessDenied, errors.KeyWrapFailed)
_NEW: Final = (*_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP)

KEY_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route("GET", _KEKS, list_keks, access=FOUND, query=("subjectPrefix", "deleted", *PAGE), result=TEXTS, errors=()),
    _route(
        "POST",
        _KEKS,
        create_kek,
        access=FROM_BODY,
        query=("testSharing",),
        body=KEK_TO_CREATE,
        result=STORED_KEK,
        errors=_NEW,
    ),
    _route(
        "GET", _KEK, get_kek, access=on(AccessOperation.READ, _kek), query=("deleted",), result=STORED_KEK, errors=_READ
    ),
    _route(
        "PUT",
        _KEK,
        change_kek,
        access=on(AccessOperation.WRITE, _kek) & FROM_BODY,
        query=("testSharing",),
        body=KEK_CHANGE,
        result=STORED_KEK,
        errors=(*_WRITE, *_WRAP),
    ),
    _route(
        "DELETE",
        _KEK,
        delete_kek,
        access=on(AccessOperation.DELETE, _kek, permanent=AccessOperation.PURGE),
        query=("permanent",),
        errors=(*_WRITE, errors.KeyInUse, errors.KeyNotSoftDeleted),
    ),
    _route("POST", f"{_KEK}/undelete", undelete_kek, access=on(AccessOperation.WRITE, _kek), errors=_WRITE),
    _route(
        "POST",
        f"{_KEK}/test",
        test_kek,
        access=on(AccessOperation.WRITE, _kek),
        result=STORED_KEK,
        errors=(*_WRITE, *_WRAP),
    ),
    _route(
        "GET",
        _DEKS,
        list_dek_subjects,
        access=on(AccessOperation.READ, _kek) & FOUND,
        query=("deleted", *PAGE),
        result=TEXTS,
        errors=_READ,
    ),
    _route(
        "POST",
        _DEKS,
        create_dek_of_body,
        access=on(AccessOperation.WRITE, _kek) & FROM_BODY,
        query=("rewrap",),
        body=DEK_TO_CREATE,
        result=STORED_DEK,
        errors=_NEW,
    ),
    _route(
        "GET",
        _DEK,
        get_dek,
        access=_READ_DEK,
        query=("algorithm", "deleted"),
        result=STORED_DEK,
        errors=(*_READ, *_WRAP),
    ),
    _route(
        "POST",
        _DEK,
        create_dek,
        access=_WRITE_DEK,
        query=("rewrap",),
        body=DEK_TO_CREATE,
        result=STORED_DEK,
        errors=_NEW,
    ),
    _route(
        "DELETE",
        _DEK,
        delete_deks,
        access=_DELETE_DEK,
        query=_DELETION,
        errors=(*_WRITE, errors.KeyNotSoftDeleted),
    ),
    _route(
        "POST",
        f"{_DEK}/undelete",
        undelete_deks,
        access=_WRITE_DEK,
        query=("algorithm",),
        errors=(*_WRITE, errors.KeyEncryptionKeyDeleted),
    ),
    _route(
        "GET",
        _VERSIONS,
        list_dek_versions,
        access=on(AccessOperation.READ, _kek) & on(AccessOperation.DESCRIBE, the_subject_of_keys),
        query=("algorithm", "deleted", *PAGE),
        result=INTEGERS,
        errors=_READ,
    ),
    _route(
        "GET",
        _VERSION,
        get_dek_version,
        access=_READ_DEK,
        query=("algorithm", "deleted"),
        result=STORED_DEK,
        errors=(errors.InvalidVersion, *_READ, *_WRAP),
    ),
    _route(
        "DELETE",
        _VERSION,
        delete_dek_version,
        access=_DELETE_DEK,
        query=_DELETION,
        errors=(errors.InvalidVersion, *_WRITE, errors.KeyNotSoftDeleted),
    ),
    _route(
        "POST",
        f"{_VERSION}/undelete",
        undelete_dek_version,
        access=_WRITE_DEK,
        query=("algorithm",),
        errors=(errors.InvalidVersion, *_WRITE, errors.KeyEncryptionKeyDeleted),
    ),
)
