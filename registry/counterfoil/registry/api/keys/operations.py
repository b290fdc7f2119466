"""Operations under ``/dek-registry``: keys, and the keys that wrap them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from counterfoil.registry.api.http.answers import NOTHING
from counterfoil.registry.api.keys.documents import read_dek, read_kek, read_kek_changes
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import Kind, Resource
from counterfoil.registry.domain.audit.about import facts_about
from counterfoil.registry.domain.audit.events import EventKind
from counterfoil.registry.domain.keys.secrets import without_secrets
from counterfoil.registry.domain.keys.validity import FIRST_VERSION
from counterfoil.registry.domain.versions import parse_version
from counterfoil.registry.service.keys.deks import DekGroup
from counterfoil.schema.contexts import parse_prefix, parse_subject
from counterfoil.schema.errors import KeyInUse, NotFound
from counterfoil.schema.rest.keys import DEFAULT_ALGORITHM, KEK, Algorithm, dek_document

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.keys import Kek, ShownDek
    from counterfoil.schema.rest.object_forms import Document


def _algorithm(call: Call) -> Algorithm:
    word = call.text("algorithm")
    try:
        return Algorithm(word) if word else DEFAULT_ALGORITHM
    except ValueError:
        raise NotFound(f"algorithm is {word[:80]!r}; expected one of {', '.join(Algorithm)}") from None


async def _subject(call: Call) -> QualifiedSubject:
    """Return the subject in the path, or the one whose alias it is for keys."""
    return await call.cases.scopes.aliased_for_keys(call.scope_subject())


async def _group(call: Call) -> DekGroup:
    return DekGroup(call.segment("name"), await _subject(call), _algorithm(call))


# --- key encryption keys


async def list_keks(call: Call) -> Any:
    """List the names of key encryption keys, sorted."""
    first, last = call.bounds()
    prefixes = [parse_prefix(text) for text in call.texts("subjectPrefix")]
    call.asks()
    names = await call.cases.keks.names(prefixes, deleted=call.flag("deleted"))
    return [name for name in names if call.may(Operation.DESCRIBE, Resource(Kind.KEK, name))][first:last]


async def get_kek(call: Call) -> Any:
    """Return a key encryption key."""
    return _shown_kek(call, await call.cases.keks.get(call.segment("name"), deleted=call.flag("deleted")))


async def create_kek(call: Call) -> Any:
    """Store the key encryption key in the body."""
    kek = read_kek(await call.json())
    call.require(Operation.WRITE, Resource(Kind.KEK, kek.name))
    if kek.shared:
        call.require(Operation.UNWRAP, Resource(Kind.KEK, kek.name))
    return _shown_kek(call, await call.cases.keks.create(kek, test=call.flag("testSharing")))


async def change_kek(call: Call) -> Any:
    """Change a key encryption key as the body requests, and return it."""
    name, changes = call.segment("name"), read_kek_changes(await call.json())
    call.asks()
    if changes.get("shared"):
        call.require(Operation.UNWRAP, Resource(Kind.KEK, name))
    return _shown_kek(call, await call.cases.keks.change(name, changes, test=call.flag("testSharing")))


async def delete_kek(call: Call) -> Any:
    """Soft-delete a key encryption key, or remove it with ``permanent=true``."""
    name = call.segment("name")
    try:
        await call.cases.keks.delete(name, permanent=call.flag("permanent"))
    except KeyInUse:
        if call.visible(Operation.DESCRIBE) is None:
            raise
        raise KeyInUse(f"Key {name!r} still wraps keys; delete those first") from None  # not naming their subjects
    return NOTHING


async def undelete_kek(call: Call) -> Any:
    """Restore a soft-deleted key encryption key."""
    await call.cases.keks.undelete(call.segment("name"))
    return NOTHING


async def test_kek(call: Call) -> Any:
    """Check that the registry can wrap a key with a key encryption key, and return the latter."""
    tested = await call.cases.keks.test(call.segment("name"))
    call.records(EventKind.KEY_TESTED, Resource(Kind.KEK, tested.name))
    return _shown_kek(call, tested)


def _may_unwrap(call: Call, name: str) -> bool:
    return call.may(Operation.UNWRAP, Resource(Kind.KEK, name))


def _shown_kek(call: Call, kek: Kek) -> Document:
    """Return the JSON of a key; callers who may not unwrap with it do not see the secrets in its settings."""
    if not _may_unwrap(call, kek.name):
        kek = replace(kek, kms_props=without_secrets(kek.kms_props))
    return KEK.write(kek)


def _shown_dek(call: Call, found: ShownDek) -> Document:
    """Return the JSON of a key, with the plain key only for callers who may unwrap it."""
    name = found.dek.id.kek_name
    if found.plain is None or not _may_unwrap(call, name):
        return dek_document(replace(found, plain=None))
    call.records(EventKind.KEY_REVEALED, Resource(Kind.KEK, name), **facts_about([found.dek.id.subject]))
    return dek_document(found)


# --- data encryption keys


async def list_dek_subjects(call: Call) -> Any:
    """List the subjects that have keys under a key encryption key, sorted."""
    first, last = call.bounds()
    call.asks()
    names = await call.cases.deks.subjects(call.segment("name"), deleted=call.flag("deleted"))
    return [name for name in names if call.may_describe(parse_subject(name))][first:last]


async def list_dek_versions(call: Call) -> Any:
    """List the version numbers of a subject's keys for one algorithm, ascending."""
    first, last = call.bounds()
    return (await call.cases.deks.versions(await _group(call), deleted=call.flag("deleted")))[first:last]


async def get_dek(call: Call) -> Any:
    """Return version 1 of a subject's key."""
    group = await _group(call)
    return _shown_dek(call, await call.cases.deks.get(group, FIRST_VERSION, deleted=call.flag("deleted")))


async def get_dek_version(call: Call) -> Any:
    """Return one version of a subject's key."""
    version = parse_version(call.segment("version"))
    return _shown_dek(call, await call.cases.deks.get(await _group(call), version, deleted=call.flag("deleted")))


async def create_dek(call: Call) -> Any:
    """Store the data encryption key in the body; without one, generate a key and store it."""
    request = read_dek(await call.json(), call.segment("name"), await _subject(call))
    return _shown_dek(call, await call.cases.deks.create(request, rewrap=call.flag("rewrap")))


async def create_dek_of_body(call: Call) -> Any:
    """Store or generate a data encryption key; the body names the subject, as in requests of older clients."""
    request = read_dek(await call.json(), call.segment("name"), None)
    call.require_on(Operation.WRITE, request.id.subject)
    return _shown_dek(call, await call.cases.deks.create(request, rewrap=call.flag("rewrap")))


async def delete_deks(call: Call) -> Any:
    """Soft-delete all versions of a subject's key, or remove them with ``permanent=true``."""
    await call.cases.deks.delete(await _group(call), None, permanent=call.flag("permanent"))
    return NOTHING


async def delete_dek_version(call: Call) -> Any:
    """Soft-delete one version of a subject's key, or remove it with ``permanent=true``."""
    permanent = call.flag("permanent")
    version = parse_version(call.segment("version"))
    group = await _group(call)
    if version is None:
        version = await call.cases.deks.latest_version(group, deleted=permanent)
    await call.cases.deks.delete(group, version, permanent=permanent)
    return NOTHING


async def undelete_deks(call: Call) -> Any:
    """Restore all soft-deleted versions of a subject's key."""
    await call.cases.deks.undelete(await _group(call), None)
    return NOTHING


async def undelete_dek_version(call: Call) -> Any:
    """Restore one soft-deleted version of a subject's key."""
    version = parse_version(call.segment("version"))
    group = await _group(call)
    if version is None:
        version = await call.cases.deks.latest_version(group, deleted=True)
    await call.cases.deks.undelete(group, version)
    return NOTHING
