"""The endpoints under ``/subjects``, ``/config``, ``/mode`` and ``/compatibility``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from counterfoil.registry.access.resources import AccessOperation, scope_resource
from counterfoil.registry.access.rights import EVERY_CALLER
from counterfoil.registry.http.access import RequestCaller
from counterfoil.registry.http.answers import Answer, RawText
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.subjects.catalog import Stored
from counterfoil.registry.subjects.documents import (
    read_registration,
    read_schema_request,
    read_tag_request,
    registered_document,
    stored_config_document,
    version_document,
)
from counterfoil.registry.subjects.levels import parse_mode
from counterfoil.registry.subjects.versions import (
    NEXT_VERSION,
    Content,
    SchemaRequest,
    check_name,
    check_subject,
    parse_version,
)
from counterfoil.schema.contexts import QualifiedSubject, parse_prefix
from counterfoil.schema.errors import InvalidMode, SchemaNotFound, SubjectNotFound
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.json_values import RequestJson, read_text
from counterfoil.schema.rest.object_forms import Document
from counterfoil.schema.rest.schemas import COMPATIBILITY
from counterfoil.schema.rest.subjects import Mode, config_document, read_config_changes, unread_settings
from counterfoil.schema.rest.versions import Compatibility, Visibility

# Operations under ``/subjects``.

_ALL_CONTEXTS = ":*:"
_ALL_TAGS = "*"


def visibility_of(request: ApiRequest) -> Visibility:
    """Return what the flags ``deleted`` and ``deletedOnly`` select; the second one wins."""
    if request.flag("deletedOnly"):
        return Visibility.DELETED_ONLY
    return Visibility.WITH_DELETED if request.flag("deleted") else Visibility.ACTIVE


async def formatted(request: ApiRequest, context: str, content: Content) -> str:
    """Return the schema's text in the query's ``format``; for an unknown format, the stored text."""
    form = request.text("format").lower()
    return await request.cases.catalog.formatted(context, content, form) if form else content.text


async def _formatted_as_sent(request: ApiRequest, sent: str | None, context: str, content: Content) -> str:
    """Return :func:`formatted`, but a descriptor in base64 for Confluent's Python client if it has sent one.

    That client names no format when it registers, and uses the response in its deserializer as if it had been requested
    with ``format=serialized``.
    """
    if request.is_python and content.schema_type is SchemaType.PROTOBUF and not request.text("format"):
        from counterfoil.schema.languages.protobuf.reading import is_descriptor

        if is_descriptor(sent or ""):
            return await request.cases.catalog.formatted(context, content, "serialized")
    return await formatted(request, context, content)


async def found_tags(request: ApiRequest, context: str, content: Content) -> list[Document]:
    """Return what in a schema has one of the tags that ``findTags`` names (``*``: any), with all of its tags."""
    wanted = request.texts("findTags")
    if not wanted:
        return []
    return [
        {"schemaEntity": {"entityPath": entity.path, "entityType": entity.kind.value}, "tags": list(tags)}
        for entity, tags in await request.cases.catalog.tags(context, content)
        if tags and (_ALL_TAGS in wanted or any(tag in wanted for tag in tags))
    ]


async def list_subjects(request: ApiRequest, caller: RequestCaller) -> object:
    """List the names of subjects, sorted, in all contexts unless a prefix selects some."""
    first, last = request.bounds()
    prefix = parse_prefix(next(iter(request.texts("subjectPrefix")), _ALL_CONTEXTS))
    names = await request.cases.catalog.subject_names(
        prefix, visibility_of(request), first=first, last=last, visible=caller.visible(AccessOperation.DESCRIBE)
    )
    return Answer(RawText(names), needs=EVERY_CALLER)


async def delete_subject(request: ApiRequest, caller: RequestCaller) -> object:
    """Soft-delete all versions of a subject, or remove them with ``permanent=true``; return their numbers."""
    subject = await request.subject()
    if request.flag("permanent"):
        return list(await request.cases.deletion.hard_delete_subject(subject, by=caller.requester))
    return list(await request.cases.deletion.soft_delete_subject(subject, by=caller.requester))


async def look_up(request: ApiRequest, caller: RequestCaller) -> object:
    """Find the version of a subject that has the schema in the body."""
    subject = await request.subject()
    given = read_schema_request(await request.json())
    caller.require_references(subject, given.references)
    try:
        found = await request.cases.lookup.by_content(
            subject,
            given,
            normalize=request.flag("normalize"),
            deleted=request.flag("deleted"),
            shown=caller.readable,
        )
    except (SubjectNotFound, SchemaNotFound):
        if caller.may_read(subject):
            raise
        raise caller.denial_of(AccessOperation.READ, subject, named=request.scope_subject()) from None
    text = await _formatted_as_sent(request, given.text, found.subject.context, found.content)
    document = version_document(found, text=text)
    return replace(_with_text(caller, document, found, read_as=subject), is_cached=not given.references)


async def find_by_metadata(request: ApiRequest, _: RequestCaller) -> object:
    """Find the highest version with the metadata properties given as pairs of ``key`` and ``value``."""
    subject = await request.subject()
    wanted = dict(zip(request.texts("key"), request.texts("value"), strict=False))
    found = await request.cases.lookup.by_metadata(subject, wanted, deleted=request.flag("deleted"))
    document = version_document(found, text=await formatted(request, found.subject.context, found.content))
    return Answer(document, texts=((found.subject, found.entry.version),))


async def list_versions(request: ApiRequest, _: RequestCaller) -> object:
    """List the version numbers of a subject, ascending."""
    first, last = request.bounds()
    subject = await request.subject()
    numbers = await request.cases.catalog.versions(
        subject, visibility=visibility_of(request), deleted_as_negative=request.flag("deletedAsNegative")
    )
    return numbers[first:last]


async def register(request: ApiRequest, caller: RequestCaller) -> object:
    """Register the schema in the body, and return its id and version; an existing one keeps them."""
    subject = await request.subject()
    given = read_registration(await request.json())
    caller.require_registration(subject, given)
    registered = await request.cases.registration.register(
        subject, given, normalize=request.flag("normalize"), force=request.flag("force"), by=caller.requester
    )
    text = await _formatted_as_sent(request, given.text, subject.context, registered.content)
    is_plain = {given.schema_id, given.version} <= {None, NEXT_VERSION}
    return Answer(
        registered_document(registered, text=text),
        needs=caller.needs(AccessOperation.WRITE, subject) if is_plain else None,
        is_cached=not given.references,
    )


async def tag_version(request: ApiRequest, caller: RequestCaller) -> object:
    """Change tags, metadata or rules of a version, and register the result as a new version."""
    subject = await request.subject()
    given = read_tag_request(await request.json())
    check_subject(subject)
    version = parse_version(request.segment("version"))
    registered = await request.cases.tagging.tag(subject, version, given, shown=caller.readable, by=caller.requester)
    return registered_document(registered, text=registered.content.text)


async def get_version(request: ApiRequest, caller: RequestCaller) -> object:
    """Return one version of a subject."""
    stored, read_as = await _permitted_version(request, caller)
    document = version_document(
        stored,
        text=await formatted(request, stored.subject.context, stored.content),
        qualified=request.text("referenceFormat").lower() == "qualified",
    )
    tags = await found_tags(request, stored.subject.context, stored.content)
    document = {**document, "schemaTags": tags} if tags else document
    return _with_text(caller, document, stored, read_as=read_as)


async def get_version_text(request: ApiRequest, caller: RequestCaller) -> object:
    """Return the text of one version, without JSON around it."""
    stored, read_as = await _permitted_version(request, caller)
    text = RawText(await formatted(request, stored.subject.context, stored.content))
    return _with_text(caller, text, stored, read_as=read_as)


async def _permitted_version(request: ApiRequest, caller: RequestCaller) -> tuple[Stored, QualifiedSubject | None]:
    """Return the version in the path, and the subject as whose reader the caller gets it.

    A version may also be read by those who may read a schema that refers to it, or one of another context: then there
    is no such subject. Raise ``Forbidden`` for other callers.
    """
    subject = await request.subject()
    version, deleted = parse_version(request.segment("version")), request.flag("deleted")
    catalog = request.cases.catalog
    if caller.readable(subject):
        return await catalog.version(subject, version, deleted=deleted, shown=caller.readable), subject
    found = await catalog.version_elsewhere(subject, version, deleted=deleted, shown=caller.readable)
    if found is not None:
        return found, None
    if await catalog.is_read_by_another(subject, version, shown=caller.readable):
        return await catalog.version(subject, version, deleted=deleted, shown=caller.readable), None
    raise caller.denial_of(AccessOperation.READ, subject, named=request.scope_subject())


def _with_text(caller: RequestCaller, value: Any, stored: Stored, *, read_as: QualifiedSubject | None) -> Answer:
    """Return the answer with the text of a version, which readers of ``read_as`` get unless it has another context."""
    needs = caller.needs(AccessOperation.READ, stored.subject) if stored.subject == read_as else None
    return Answer(value, needs=needs, texts=((stored.subject, stored.entry.version),))


async def list_referrers(request: ApiRequest, caller: RequestCaller) -> object:
    """List the ids of the schemas that refer to a version."""
    first, last = request.bounds(default_limit=1000)
    subject = await request.subject()
    version = parse_version(request.segment("version"))
    catalog, stored = request.cases.catalog, None
    if caller.may_describe(subject):
        stored = await catalog.version(subject, version, deleted=True, shown=caller.may_describe)
    else:
        stored = await catalog.version_elsewhere(subject, version, deleted=True, shown=caller.may_describe)
    if stored is None:
        raise caller.denial_of(AccessOperation.DESCRIBE, subject, named=request.scope_subject())
    return (await catalog.referenced_by(stored, deleted=request.flag("deleted"), shown=caller.readable))[first:last]


async def delete_version(request: ApiRequest, caller: RequestCaller) -> object:
    """Soft-delete one version, or remove it with ``permanent=true``; return its number."""
    subject = await request.subject()
    version = parse_version(request.segment("version"))
    if request.flag("permanent"):
        return await request.cases.deletion.hard_delete_version(subject, version, by=caller.requester)
    return await request.cases.deletion.soft_delete_version(subject, version, by=caller.requester)


# Operations on config, mode and compatibility.

_NEEDED_BY_MODE: Final[Mapping[Mode | None, tuple[AccessOperation, ...]]] = {
    Mode.IMPORT: (AccessOperation.IMPORT, AccessOperation.PURGE),  # it removes soft-deleted versions
    Mode.FORWARD: (AccessOperation.IMPORT,),
}
"""The operations that a mode needs besides the change of a mode."""


# --- config


async def get_config(request: ApiRequest, _: RequestCaller) -> object:
    """Return the config of a subject, a context or the top level."""
    config = await request.cases.settings.config(request.scope_subject(), effective=request.flag("defaultToGlobal"))
    return stored_config_document(config)


async def put_config(request: ApiRequest, caller: RequestCaller) -> object:
    """Change the config of a subject, a context or the top level as the body requests, and return it.

    Members that are no settings, such as a misspelt one, are ignored, as by other registries; a header names them.
    """
    given = RequestJson(await request.json())
    changes = read_config_changes(given)
    caller.require_targets(request.scope_subject(), (changes.get("alias"), changes.get("alias_for_deks")))
    config = await request.cases.settings.put_config(request.scope_subject(), changes, by=caller.requester)
    return Answer(config_document(config), ignored=unread_settings(given.members(), changes))


async def delete_config(request: ApiRequest, caller: RequestCaller) -> object:
    """Delete the config of a subject, a context or the top level, and return it."""
    return stored_config_document(
        await request.cases.settings.delete_config(request.scope_subject(), by=caller.requester)
    )


# --- mode


async def get_mode(request: ApiRequest, _: RequestCaller) -> object:
    """Return the mode of a subject, a context or the top level."""
    mode = await request.cases.settings.mode(request.scope_subject(), effective=request.flag("defaultToGlobal"))
    return {"mode": mode.value}


async def put_mode(request: ApiRequest, caller: RequestCaller) -> object:
    """Set the mode of a subject, a context or the top level; null clears it."""
    scope = request.scope_subject()
    text = _mode_text(await request.json())
    check_name(scope)
    mode: Mode | None = None if text is None else parse_mode(text, scope)
    for operation in _NEEDED_BY_MODE.get(mode, (AccessOperation.ALTER_MODE,)):
        caller.require(operation, scope_resource(scope))
    await request.cases.settings.put_mode(scope, mode, force=request.flag("force"), by=caller.requester)
    return {"mode": text}


def _mode_text(body: object) -> str | None:
    if isinstance(body, str):
        return body
    request = RequestJson(body)
    if "mode" not in request.members():
        raise InvalidMode(f"The request names no mode; expected one of {', '.join(Mode)}, or null")
    return request.optional("mode", read_text)


async def delete_mode(request: ApiRequest, caller: RequestCaller) -> object:
    """Delete the mode of a subject, a context or the top level, and return it."""
    mode = await request.cases.settings.delete_mode(
        request.scope_subject(), recursive=request.flag("recursive"), by=caller.requester
    )
    return {} if mode is None else {"mode": mode.value}


# --- compatibility


async def test_against_all(request: ApiRequest, caller: RequestCaller) -> object:
    """Check the schema in the body against the versions of a subject."""
    subject = await request.subject()
    given = read_schema_request(await request.json())
    caller.require_references(subject, given.references)
    verbose = request.flag("verbose")
    result = await request.cases.compatibility.against_all(
        subject, given, normalize=request.flag("normalize"), verbose=verbose, knows=caller.may_know_application
    )
    return _tested(caller, result, subject, given, verbose=verbose)


async def test_against_version(request: ApiRequest, caller: RequestCaller) -> object:
    """Check the schema in the body against one version of a subject."""
    subject = await request.subject()
    given = read_schema_request(await request.json())
    caller.require_references(subject, given.references)
    version = parse_version(request.segment("version"))
    verbose = request.flag("verbose")
    result = await request.cases.compatibility.against_version(
        subject, version, given, normalize=request.flag("normalize"), verbose=verbose
    )
    return _tested(caller, result, subject, given, verbose=verbose)


def _tested(
    caller: RequestCaller, result: Compatibility, subject: QualifiedSubject, request: SchemaRequest, *, verbose: bool
) -> Answer:
    """Return the answer with a result, which all readers of ``subject`` get if the schema has no references."""
    needs = None if request.references else caller.needs(AccessOperation.READ, subject)
    document = COMPATIBILITY.write(result)
    if not verbose:
        del document["messages"]
    return Answer(document, needs=needs)
