"""The endpoints under ``/subjects``, ``/config``, ``/mode`` and ``/compatibility``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.access.resources import AccessOperation, scope_resource
from counterfoil.registry.http.answers import RawText
from counterfoil.registry.subjects.documents import (
    read_registration,
    read_schema_request,
    read_tag_request,
    registered_document,
    stored_config_document,
    version_document,
)
from counterfoil.registry.subjects.levels import parse_mode
from counterfoil.registry.subjects.versions import NEXT_VERSION, check_name, check_subject, parse_version
from counterfoil.schema.contexts import parse_prefix
from counterfoil.schema.errors import InvalidMode, SchemaNotFound, SubjectNotFound
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.object_forms import RequestJson, read_text
from counterfoil.schema.rest.schemas import COMPATIBILITY
from counterfoil.schema.rest.subjects import Mode, config_document, read_config_changes, unread_settings
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.http.call import ApiCall
    from counterfoil.registry.subjects.lookup import Stored
    from counterfoil.registry.subjects.versions import Content, SchemaRequest
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.versions import Compatibility


# Operations under ``/subjects``.

_ALL_CONTEXTS = ":*:"
_ALL_TAGS = "*"


def visibility_of(call: ApiCall) -> Visibility:
    """Return what the flags ``deleted`` and ``deletedOnly`` select; the second one wins."""
    if call.flag("deletedOnly"):
        return Visibility.DELETED_ONLY
    return Visibility.WITH_DELETED if call.flag("deleted") else Visibility.ACTIVE


async def formatted(call: ApiCall, context: str, content: Content) -> str:
    """Return the schema's text in the query's ``format``; for an unknown format, the stored text."""
    form = call.text("format").lower()
    return await call.cases.catalog.formatted(context, content, form) if form else content.text


async def _formatted_as_sent(call: ApiCall, sent: str | None, context: str, content: Content) -> str:
    """Return :func:`formatted`, but a descriptor in base64 for Confluent's Python client if it has sent one.

    That client names no format when it registers, and uses the response in its deserializer as if it had been requested
    with ``format=serialized``.
    """
    if call.is_python and content.schema_type is SchemaType.PROTOBUF and not call.text("format"):
        from counterfoil.schema.languages.protobuf.reading import is_descriptor

        if is_descriptor(sent or ""):
            return await call.cases.catalog.formatted(context, content, "serialized")
    return await formatted(call, context, content)


async def found_tags(call: ApiCall, context: str, content: Content) -> list[Document]:
    """Return what in a schema has one of the tags that ``findTags`` names (``*``: any), with all of its tags."""
    wanted = call.texts("findTags")
    if not wanted:
        return []
    return [
        {"schemaEntity": {"entityPath": entity.path, "entityType": entity.kind.value}, "tags": list(tags)}
        for entity, tags in await call.cases.catalog.tags(context, content)
        if tags and (_ALL_TAGS in wanted or any(tag in wanted for tag in tags))
    ]


async def list_subjects(call: ApiCall) -> Any:
    """List the names of subjects, sorted, in all contexts unless a prefix selects some."""
    call.rests_on()
    first, last = call.bounds()
    prefix = parse_prefix(next(iter(call.texts("subjectPrefix")), _ALL_CONTEXTS))
    call.kept_for_same_rights()
    names = await call.cases.catalog.subject_names(
        prefix, visibility_of(call), first=first, last=last, visible=call.visible(AccessOperation.DESCRIBE)
    )
    return RawText(names)


async def delete_subject(call: ApiCall) -> Any:
    """Soft-delete all versions of a subject, or remove them with ``permanent=true``; return their numbers."""
    subject = await call.subject()
    if call.flag("permanent"):
        return list(await call.cases.deletion.hard_delete_subject(subject))
    return list(await call.cases.deletion.soft_delete_subject(subject))


async def look_up(call: ApiCall) -> Any:
    """Find the version of a subject that has the schema in the body."""
    subject = await call.lasting_subject()
    request = read_schema_request(await call.json())
    call.require_references(subject, request.references)
    if request.references:
        call.rests_on_more()
    try:
        found = await call.cases.lookup.by_content(
            subject,
            request,
            normalize=call.flag("normalize"),
            deleted=call.flag("deleted"),
            shown=call.readable,
        )
    except (SubjectNotFound, SchemaNotFound):
        if call.may_read(subject):
            raise
        raise call.denial_in_path(AccessOperation.READ, subject) from None
    _keep_for_readers(call, subject, found)
    call.gives(found.subject, found.entry.version)
    text = await _formatted_as_sent(call, request.text, found.subject.context, found.content)
    return version_document(found, text=text)


async def find_by_metadata(call: ApiCall) -> Any:
    """Find the highest version with the metadata properties given as pairs of ``key`` and ``value``."""
    subject = await call.subject()
    wanted = dict(zip(call.texts("key"), call.texts("value"), strict=False))
    found = await call.cases.lookup.by_metadata(subject, wanted, deleted=call.flag("deleted"))
    call.gives(found.subject, found.entry.version)
    return version_document(found, text=await formatted(call, found.subject.context, found.content))


async def list_versions(call: ApiCall) -> Any:
    """List the version numbers of a subject, ascending."""
    first, last = call.bounds()
    subject = await call.lasting_subject()
    numbers = await call.cases.catalog.versions(
        subject, visibility=visibility_of(call), deleted_as_negative=call.flag("deletedAsNegative")
    )
    return numbers[first:last]


async def register(call: ApiCall) -> Any:
    """Register the schema in the body, and return its id and version; an existing one keeps them."""
    subject = await call.lasting_subject()
    request = read_registration(await call.json())
    call.require_registration(subject, request)
    if request.references:
        call.rests_on_more()
    if {request.schema_id, request.version} <= {None, NEXT_VERSION}:
        call.kept_for_subject(AccessOperation.WRITE, subject)
    registered = await call.cases.registration.register(
        subject, request, normalize=call.flag("normalize"), force=call.flag("force")
    )
    text = await _formatted_as_sent(call, request.text, subject.context, registered.content)
    return registered_document(registered, text=text)


async def tag_version(call: ApiCall) -> Any:
    """Change tags, metadata or rules of a version, and register the result as a new version."""
    subject = await call.subject()
    request = read_tag_request(await call.json())
    check_subject(subject)
    version = parse_version(call.segment("version"))
    registered = await call.cases.tagging.tag(subject, version, request, shown=call.readable)
    return registered_document(registered, text=registered.content.text)


async def get_version(call: ApiCall) -> Any:
    """Return one version of a subject."""
    stored = await _readable_version(call)
    document = version_document(
        stored,
        text=await formatted(call, stored.subject.context, stored.content),
        qualified=call.text("referenceFormat").lower() == "qualified",
    )
    tags = await found_tags(call, stored.subject.context, stored.content)
    return {**document, "schemaTags": tags} if tags else document


async def get_version_text(call: ApiCall) -> Any:
    """Return the text of one version, without JSON around it."""
    stored = await _readable_version(call)
    return RawText(await formatted(call, stored.subject.context, stored.content))


async def _readable_version(call: ApiCall) -> Stored:
    """Return the version in the path, which the response has; raise ``Forbidden`` unless the caller may read it."""
    found = await _permitted_version(call)
    call.gives(found.subject, found.entry.version)
    return found


async def _permitted_version(call: ApiCall) -> Stored:
    """Return the version in the path; raise ``Forbidden`` unless the caller may read it.

    A version may also be read by those who may read a schema that refers to it.
    """
    subject = await call.lasting_subject()
    version, deleted = parse_version(call.segment("version")), call.flag("deleted")
    catalog = call.cases.catalog
    if call.readable(subject):
        stored = await catalog.version(subject, version, deleted=deleted, shown=call.readable)
        _keep_for_readers(call, subject, stored)
        return stored
    found = await catalog.version_elsewhere(subject, version, deleted=deleted, shown=call.readable)
    if found is not None:
        return found
    if await catalog.is_read_by_another(subject, version, shown=call.readable):
        return await catalog.version(subject, version, deleted=deleted, shown=call.readable)
    raise call.denial_in_path(AccessOperation.READ, subject)


def _keep_for_readers(call: ApiCall, subject: QualifiedSubject, stored: Stored) -> None:
    """Let the response be cached for readers of ``subject``, unless it is from another context."""
    if stored.subject == subject:
        call.kept_for_subject(AccessOperation.READ, subject)


async def list_referrers(call: ApiCall) -> Any:
    """List the ids of the schemas that refer to a version."""
    first, last = call.bounds(default_limit=1000)
    subject = await call.subject()
    version = parse_version(call.segment("version"))
    catalog, stored = call.cases.catalog, None
    if call.may_describe(subject):
        stored = await catalog.version(subject, version, deleted=True, shown=call.may_describe)
    else:
        stored = await catalog.version_elsewhere(subject, version, deleted=True, shown=call.may_describe)
    if stored is None:
        raise call.denial_in_path(AccessOperation.DESCRIBE, subject)
    return (await catalog.referenced_by(stored, deleted=call.flag("deleted"), shown=call.readable))[first:last]


async def delete_version(call: ApiCall) -> Any:
    """Soft-delete one version, or remove it with ``permanent=true``; return its number."""
    subject = await call.subject()
    version = parse_version(call.segment("version"))
    if call.flag("permanent"):
        return await call.cases.deletion.hard_delete_version(subject, version)
    return await call.cases.deletion.soft_delete_version(subject, version)


# Operations on config, mode and compatibility.

_NEEDED_BY_MODE: Final[Mapping[Mode | None, tuple[AccessOperation, ...]]] = {
    Mode.IMPORT: (AccessOperation.IMPORT, AccessOperation.PURGE),  # it removes soft-deleted versions
    Mode.FORWARD: (AccessOperation.IMPORT,),
}
"""The operations that a mode needs besides the change of a mode."""


# --- config


async def get_config(call: ApiCall) -> Any:
    """Return the config of a subject, a context or the top level."""
    config = await call.cases.settings.config(call.scope_subject(), effective=call.flag("defaultToGlobal"))
    return stored_config_document(config)


async def put_config(call: ApiCall) -> Any:
    """Change the config of a subject, a context or the top level as the body requests, and return it.

    Members that are no settings, such as a misspelt one, are ignored, as by other registries; a header names them.
    """
    request = RequestJson(await call.json())
    changes = read_config_changes(request)
    call.ignored += unread_settings(request.members(), changes)
    call.require_targets(call.scope_subject(), (changes.get("alias"), changes.get("alias_for_deks")))
    return config_document(await call.cases.settings.put_config(call.scope_subject(), changes))


async def delete_config(call: ApiCall) -> Any:
    """Delete the config of a subject, a context or the top level, and return it."""
    return stored_config_document(await call.cases.settings.delete_config(call.scope_subject()))


# --- mode


async def get_mode(call: ApiCall) -> Any:
    """Return the mode of a subject, a context or the top level."""
    mode = await call.cases.settings.mode(call.scope_subject(), effective=call.flag("defaultToGlobal"))
    return {"mode": mode.value}


async def put_mode(call: ApiCall) -> Any:
    """Set the mode of a subject, a context or the top level; null clears it."""
    scope = call.scope_subject()
    text = _mode_text(await call.json())
    check_name(scope)
    mode: Mode | None = None if text is None else parse_mode(text, scope)
    for operation in _NEEDED_BY_MODE.get(mode, (AccessOperation.ALTER_MODE,)):
        call.require(operation, scope_resource(scope))
    await call.cases.settings.put_mode(scope, mode, force=call.flag("force"))
    return {"mode": text}


def _mode_text(body: object) -> str | None:
    if isinstance(body, str):
        return body
    request = RequestJson(body)
    if "mode" not in request.members():
        raise InvalidMode(f"The request names no mode; expected one of {', '.join(Mode)}, or null")
    return request.optional("mode", read_text)


async def delete_mode(call: ApiCall) -> Any:
    """Delete the mode of a subject, a context or the top level, and return it."""
    mode = await call.cases.settings.delete_mode(call.scope_subject(), recursive=call.flag("recursive"))
    return {} if mode is None else {"mode": mode.value}


# --- compatibility


async def test_against_all(call: ApiCall) -> Any:
    """Check the schema in the body against the versions of a subject."""
    call.rests_on()
    subject = await call.subject()
    request = read_schema_request(await call.json())
    _require_references(call, subject, request)
    verbose = call.flag("verbose")
    result = await call.cases.compatibility.against_all(
        subject, request, normalize=call.flag("normalize"), verbose=verbose, knows=call.may_know_application
    )
    return _result_document(result, verbose=verbose)


async def test_against_version(call: ApiCall) -> Any:
    """Check the schema in the body against one version of a subject."""
    call.rests_on()
    subject = await call.subject()
    request = read_schema_request(await call.json())
    _require_references(call, subject, request)
    version = parse_version(call.segment("version"))
    verbose = call.flag("verbose")
    result = await call.cases.compatibility.against_version(
        subject, version, request, normalize=call.flag("normalize"), verbose=verbose
    )
    return _result_document(result, verbose=verbose)


def _require_references(call: ApiCall, subject: QualifiedSubject, request: SchemaRequest) -> None:
    """Raise ``Forbidden`` unless the caller may read all references; without any, readers get the same response."""
    call.require_references(subject, request.references)
    if not request.references:
        call.kept_for_subject(AccessOperation.READ, subject)


def _result_document(result: Compatibility, *, verbose: bool) -> Document:
    document = COMPATIBILITY.write(result)
    if not verbose:
        del document["messages"]
    return document
