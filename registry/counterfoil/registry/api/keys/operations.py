"""Operations under ``/dek-registry``: keys, and the keys that wrap them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.registry.api.http.answers import NOTHING
from counterfoil.registry.api.keys.documents import read_dek, read_kek, read_kek_changes
from counterfoil.registry.domain.keys.validity import FIRST_VERSION
from counterfoil.registry.domain.versions import parse_version
from counterfoil.registry.service.keys.deks import DekGroup
from counterfoil.schema.contexts import parse_prefix
from counterfoil.schema.errors import NotFound
from counterfoil.schema.rest.keys import DEFAULT_ALGORITHM, KEK, Algorithm, dek_document

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call
    from counterfoil.schema.contexts import QualifiedSubject


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
    return (await call.cases.keks.names(prefixes, deleted=call.flag("deleted")))[first:last]


async def get_kek(call: Call) -> Any:
    """Return a key encryption key."""
    return KEK.write(await call.cases.keks.get(call.segment("name"), deleted=call.flag("deleted")))


async def create_kek(call: Call) -> Any:
    """Store the key encryption key in the body."""
    return KEK.write(await call.cases.keks.create(read_kek(await call.json()), test=call.flag("testSharing")))


async def change_kek(call: Call) -> Any:
    """Change a key encryption key as the body requests, and return it."""
    changes = read_kek_changes(await call.json())
    return KEK.write(await call.cases.keks.change(call.segment("name"), changes, test=call.flag("testSharing")))


async def delete_kek(call: Call) -> Any:
    """Soft-delete a key encryption key, or remove it with ``permanent=true``."""
    await call.cases.keks.delete(call.segment("name"), permanent=call.flag("permanent"))
    return NOTHING


async def undelete_kek(call: Call) -> Any:
    """Restore a soft-deleted key encryption key."""
    await call.cases.keks.undelete(call.segment("name"))
    return NOTHING


async def test_kek(call: Call) -> Any:
    """Check that the registry can wrap a key with a key encryption key, and return the latter."""
    return KEK.write(await call.cases.keks.test(call.segment("name")))


# --- data encryption keys


async def list_dek_subjects(call: Call) -> Any:
    """List the subjects that have keys under a key encryption key, sorted."""
    first, last = call.bounds()
    return (await call.cases.deks.subjects(call.segment("name"), deleted=call.flag("deleted")))[first:last]


async def list_dek_versions(call: Call) -> Any:
    """List the version numbers of a subject's keys for one algorithm, ascending."""
    first, last = call.bounds()
    return (await call.cases.deks.versions(await _group(call), deleted=call.flag("deleted")))[first:last]


async def get_dek(call: Call) -> Any:
    """Return version 1 of a subject's key."""
    group = await _group(call)
    return dek_document(await call.cases.deks.get(group, FIRST_VERSION, deleted=call.flag("deleted")))


async def get_dek_version(call: Call) -> Any:
    """Return one version of a subject's key."""
    version = parse_version(call.segment("version"))
    return dek_document(await call.cases.deks.get(await _group(call), version, deleted=call.flag("deleted")))


async def create_dek(call: Call) -> Any:
    """Store the data encryption key in the body; without one, generate a key and store it."""
    request = read_dek(await call.json(), call.segment("name"), await _subject(call))
    return dek_document(await call.cases.deks.create(request, rewrap=call.flag("rewrap")))


async def create_dek_of_body(call: Call) -> Any:
    """Store or generate a data encryption key; the body names the subject, as in requests of older clients."""
    request = read_dek(await call.json(), call.segment("name"), None)
    return dek_document(await call.cases.deks.create(request, rewrap=call.flag("rewrap")))


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
