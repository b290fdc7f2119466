"""The routes under ``/schemas`` and ``/contexts``, and their endpoints."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import UUID

from counterfoil.registry.access.resources import REGISTRY, AccessOperation
from counterfoil.registry.associations.routes import requested_lifecycles
from counterfoil.registry.associations.use_cases import AssociationFilter
from counterfoil.registry.audit.events import EventKind
from counterfoil.registry.http.access import FOUND, MEMBER, RequestCaller, on, the_context
from counterfoil.registry.http.answers import NOTHING, Answer, AuditedUse, RawText
from counterfoil.registry.http.replies import until_any_write
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.http.route import ConfluentRoute
from counterfoil.registry.http.shapes import PAGE
from counterfoil.registry.judges.judging import Pauses
from counterfoil.registry.subjects.catalog import MAX_SUBJECTS, ById, Stored
from counterfoil.registry.subjects.documents import (
    LISTED_VERSION,
    SCHEMA_BY_GUID,
    by_guid_document,
    by_id_document,
    version_document,
)
from counterfoil.registry.subjects.endpoints import formatted, found_tags
from counterfoil.registry.subjects.versions import SUPPORTED_TYPES, VersionUse
from counterfoil.schema import errors
from counterfoil.schema.contexts import SubjectPrefix, parse_prefix, parse_subject
from counterfoil.schema.errors import NotFound, SchemaNotFound
from counterfoil.schema.model import RuleSet
from counterfoil.schema.rest.object_forms import TEXTS, Document, ListOf
from counterfoil.schema.rest.schemas import CONTEXT_ID, SUBJECT_VERSION
from counterfoil.schema.rest.subjects import Lifecycle, association_document
from counterfoil.schema.rest.versions import ContextId, SubjectVersion

# Operations under ``/schemas``, and on contexts.

_PAGE = 1000
_EVERYTHING = SubjectPrefix(None, "")
_GUID_DIGITS = 32
_LIFECYCLES = frozenset({*Lifecycle, "NONE"})


async def list_schemas(request: ApiRequest, caller: RequestCaller) -> object:
    """List all versions of the subjects of the default context, or of the subjects that begin with a prefix."""
    first, last = request.bounds(default_limit=_PAGE)
    by_association = _association_filter(request)
    rule_type = request.text("ruleType")
    is_filtered = bool(rule_type) or by_association is not None
    prefix = parse_prefix(request.text("subjectPrefix"))
    listing = request.cases.catalog.schemas(
        prefix,
        deleted=request.flag("deleted"),
        latest_only=request.flag("latestOnly"),
        aliases=request.flag("aliases"),
        at_most=MAX_SUBJECTS if is_filtered else last,
        visible=caller.visible(AccessOperation.READ),
    )
    found: list[tuple[Stored, Document]] = []
    pauses = Pauses()
    async for listed in listing:
        await pauses.pause_if_due()
        content = listed.stored.content
        if rule_type and not _has_rule(content.rule_set, rule_type):
            continue
        document = version_document(listed.stored, text=content.text)
        if listed.aliases:
            document["aliases"] = list(listed.aliases)
        if by_association is not None:
            associations = await by_association.find(listed.stored.subject)
            if associations is None:
                continue
            if associations:
                document["associations"] = [association_document(each) for each in associations]
        found.append((listed.stored, document))
        if len(found) == last:
            break
    export = AuditedUse(EventKind.REGISTRY_EXPORT, REGISTRY, is_required=False)
    return Answer(
        [document for _, document in found[first:]],
        texts=tuple((stored.subject, stored.entry.version) for stored, _ in found[first:]),
        events=(export,) if prefix == _EVERYTHING and first == 0 else (),
    )


def _has_rule(rule_set: RuleSet | None, rule_type: str) -> bool:
    return rule_set is not None and any(rule.type == rule_type for rule in rule_set.rules)


def _association_filter(request: ApiRequest) -> AssociationFilter | None:
    """Return the filter by associations of the query; None if it has none."""
    lifecycles = requested_lifecycles(request, _LIFECYCLES)
    types = frozenset(text for text in request.texts("associationType") if text)
    resource_type = request.text("resourceType")
    if not (lifecycles or types or resource_type):
        return None
    if request.cases.associations is None:
        raise NotFound("This registry keeps no associations, so that it cannot list schemas by them")
    return AssociationFilter(request.cases.associations, types, frozenset(lifecycles), resource_type)


async def get_by_id(request: ApiRequest, caller: RequestCaller) -> object:
    """Return the schema with an id."""
    found = await _readable_id(request, caller, request.integer_segment("id"))
    document = by_id_document(
        found,
        text=await formatted(request, found.context, found.content),
        qualified=request.text("referenceFormat").lower() == "qualified",
        with_id=request.is_python,
    )
    tags = await found_tags(request, found.context, found.content)
    if tags:
        document["schemaTags"] = tags
    if request.flag("fetchMaxId"):
        document["maxId"] = await request.cases.catalog.max_id(found.context)
    if request.flag("includeSubjects"):
        document["subjects"] = await _subjects_of_id(request, caller, deleted=False)
    return await _with_text(request, caller, document, found, context=found.context)


async def _readable_id(request: ApiRequest, caller: RequestCaller, schema_id: int) -> ById:
    """Return the content of an id; raise ``Forbidden`` unless the caller may read a subject that has it."""
    subject = await request.subject_parameter()
    found = await request.cases.catalog.by_id(schema_id, subject, shown=caller.readable)
    asked = parse_subject(subject)
    if found is None or not (asked.is_context or found.use.subject.name == asked.name or caller.may_read(asked)):
        raise caller.denial(AccessOperation.READ)
    return found


async def _with_text(
    request: ApiRequest, caller: RequestCaller, value: Any, found: ById, *, context: str | None
) -> Answer:
    """Return the answer with a text. It is one of each subject that has it; the audit gets one of them.

    Readers of the subject in it get the same if those who may read more do.
    """
    needs = caller.needs(AccessOperation.READ, found.use.subject) if found.is_usual else None
    held, watched = None, caller.watched
    if watched is not None:
        use = found.use
        held = (
            use
            if watched(use.subject)
            else await request.cases.catalog.holder(found.content.guid, context, shown=watched)
        )
    return Answer(value, needs=needs, texts=() if held is None else ((held.subject, held.version),))


async def get_text_by_id(request: ApiRequest, caller: RequestCaller) -> object:
    """Return the text of the schema with an id, without JSON around it."""
    found = await _readable_id(request, caller, request.integer_segment("id"))
    text = RawText(await formatted(request, found.context, found.content))
    return await _with_text(request, caller, text, found, context=found.context)


async def list_subjects_of_id(request: ApiRequest, caller: RequestCaller) -> object:
    """List the subjects that have the schema with an id."""
    first, last = request.bounds()
    return (await _subjects_of_id(request, caller, deleted=request.flag("deleted")))[first:last]


async def _subjects_of_id(request: ApiRequest, caller: RequestCaller, *, deleted: bool) -> list[str]:
    return sorted({str(use.subject) for use in await _uses_of_id(request, caller, deleted=deleted)})


async def _uses_of_id(request: ApiRequest, caller: RequestCaller, *, deleted: bool) -> list[VersionUse]:
    """Return the versions with the content of an id, of the subjects that the caller may know.

    Raises ``Forbidden`` unless it may read one of them.
    """
    schema_id = request.integer_segment("id")
    if caller.authenticated is not None:
        await _readable_id(request, caller, schema_id)
    uses = await request.cases.catalog.uses(
        schema_id, await request.subject_parameter(), deleted=deleted, shown=caller.readable
    )
    return [use for use in uses if caller.may_describe(use.subject)]


async def list_versions_of_id(request: ApiRequest, caller: RequestCaller) -> object:
    """List the subjects and versions that have the schema with an id."""
    first, last = request.bounds()
    uses = await _uses_of_id(request, caller, deleted=request.flag("deleted"))
    return [SUBJECT_VERSION.write(SubjectVersion(str(use.subject), use.version)) for use in uses[first:last]]


async def get_by_guid(request: ApiRequest, caller: RequestCaller) -> object:
    """Return the schema with a guid."""
    text = request.segment("guid")
    guid = _guid(text)
    if guid is None:
        raise SchemaNotFound(f"Schema {text[:80]!r} not found: this is no guid")
    found = await request.cases.catalog.by_guid(guid, shown=caller.readable)
    if found is None:
        raise caller.denial(AccessOperation.READ)
    document = by_guid_document(found, text=await formatted(request, found.context, found.content))
    return await _with_text(request, caller, document, found, context=None)


async def list_ids_of_guid(request: ApiRequest, caller: RequestCaller) -> object:
    """List the contexts and ids of the schema with a guid."""
    guid = _guid(request.segment("guid"))
    ids = [] if guid is None else await request.cases.catalog.ids_of_guid(guid)
    if caller.visible(AccessOperation.READ) is not None:
        held = [await request.cases.catalog.is_held(*each, shown=caller.readable) for each in ids]
        if ids and not any(held):
            raise caller.denial(AccessOperation.READ)
        ids = [each for each, is_held in zip(ids, held, strict=True) if is_held]
    return [CONTEXT_ID.write(ContextId(context, schema_id)) for context, schema_id in ids]


def _guid(text: str) -> UUID | None:
    digits = text.replace("-", "")
    if len(digits) != _GUID_DIGITS or not digits.isascii() or not digits.isalnum():
        return None
    try:
        return UUID(digits)
    except ValueError:
        return None


async def list_types(_: ApiRequest, __: RequestCaller) -> object:
    """List the schema types that this registry supports."""
    return [schema_type.value for schema_type in SUPPORTED_TYPES]


async def list_contexts(request: ApiRequest, caller: RequestCaller) -> object:
    """List the contexts in which something was registered, the default context first."""
    caller.filters()
    first, last = request.bounds()
    prefix = request.text("contextPrefix")
    names = [name for name in await request.cases.catalog.contexts() if name.startswith(prefix)]
    return [name for name in names if caller.may_see_context(name)][first:last]


async def delete_context(request: ApiRequest, caller: RequestCaller) -> object:
    """Delete an empty context."""
    await request.cases.deletion.drop_context(parse_subject(request.segment("context")).context, by=caller.requester)
    return NOTHING


# The routes under ``/schemas`` and ``/contexts``.

_ID: Final = "/schemas/ids/{id}"

_route = partial(ConfluentRoute, tag="schemas")
_NOT_FOUND: Final = (errors.SchemaNotFound,)

SCHEMA_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route(
        "GET",
        "/schemas",
        list_schemas,
        access=FOUND,
        query=(
            "subjectPrefix",
            "aliases",
            "deleted",
            "latestOnly",
            "ruleType",
            "resourceType",
            "associationType",
            "lifecycle",
            *PAGE,
        ),
        result=ListOf(LISTED_VERSION),
        errors=(),
    ),
    _route("GET", "/schemas/types", list_types, access=MEMBER, result=TEXTS, reads_store=False, errors=()),
    _route(
        "GET",
        f"{_ID}/subjects",
        list_subjects_of_id,
        access=FOUND,
        query=("subject", "deleted", *PAGE),
        result=TEXTS,
        errors=_NOT_FOUND,
    ),
    _route(
        "GET",
        f"{_ID}/versions",
        list_versions_of_id,
        access=FOUND,
        query=("subject", "deleted", *PAGE),
        result=ListOf(SUBJECT_VERSION),
        errors=_NOT_FOUND,
    ),
    _route(
        "GET",
        "/schemas/guids/{guid}",
        get_by_guid,
        access=FOUND,
        query=("format",),
        result=SCHEMA_BY_GUID,
        has_tag=True,
        cached=until_any_write,
        errors=_NOT_FOUND,
    ),
    _route("GET", "/schemas/guids/{guid}/ids", list_ids_of_guid, access=FOUND, result=ListOf(CONTEXT_ID), errors=()),
    ConfluentRoute(
        "GET",
        "/contexts",
        list_contexts,
        access=FOUND,
        tag="contexts",
        query=("contextPrefix", *PAGE),
        result=TEXTS,
        errors=(),
    ),
    ConfluentRoute(
        "DELETE",
        "/contexts/{context}",
        delete_context,
        access=on(AccessOperation.ALTER_CONFIGS, the_context),
        tag="contexts",
        errors=(errors.ContextNotEmpty, errors.OperationNotPermitted),
    ),
)
