"""The routes under ``/inspect/v1``, and their endpoints: they read, and write nothing."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Final

from fastapi import Path

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.changes.routes import ScopeSubject
from counterfoil.registry.http.access import FOUND, FROM_BODY, MEMBER, CallerOfRequest, CasesOfRequest, on, the_subject
from counterfoil.registry.http.answers import Answer
from counterfoil.registry.http.request import decode_segment
from counterfoil.registry.http.route import ValidatedRoute
from counterfoil.registry.http.shapes import AS_OF, OneOfShapes
from counterfoil.registry.inspection import bodies
from counterfoil.registry.inspection.identifiers import ReferenceDirection, context_name
from counterfoil.registry.inspection.refusals import MAX_ROWS as MAX_REFUSALS
from counterfoil.registry.inspection.rules import rule_page, rule_rows
from counterfoil.registry.inspection.subjects import MAX_ROWS
from counterfoil.registry.subjects.versions import parse_version
from counterfoil.schema import errors
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix, parse_subject
from counterfoil.schema.rest.comparisons import DECODED_BYTES, DRAFT_VERDICT, SCHEMA_COMPARISON, SchemaComparison
from counterfoil.schema.rest.inspection import (
    ELEMENT_INSPECTION,
    ELEMENT_ROWS,
    ID_INSPECTION,
    REFERENCE_GRAPH,
    REGISTRY_INSPECTION,
    RULE_INSPECTION,
    RULE_ROWS,
    SOURCE_WINDOW,
    SUBJECT_INSPECTION,
    SUBJECT_ROWS,
    VERSION_INSPECTION,
)
from counterfoil.schema.rest.search_index import REFUSAL_ROWS, REFUSED_TEXT

_SHORT_CHARS: Final = 64 * 1024
"""The characters of a draft whose verdict is printed in the event loop."""

# The registry, and lists.


async def get_registry(cases: CasesOfRequest, caller: CallerOfRequest, moment: bodies.Moment) -> object:
    """Return the registry as a whole: its size, its contexts, the state of the search index."""
    del moment
    return REGISTRY_INSPECTION.write(await cases.inspection.subjects.registry(viewer=caller))


async def list_subject_rows(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    moment: bodies.Moment,
    prefix: bodies.Prefix = "",
    context: bodies.Context = None,
    *,
    deleted: bodies.Deleted = False,
    after: bodies.After = "",
    limit: bodies.Limit = MAX_ROWS,
) -> object:
    """List subjects by context and name, with their latest versions and the rules in force."""
    del moment
    wanted = SubjectPrefix(None if context is None else context_name(context), prefix)
    found = await cases.inspection.subjects.rows(wanted, deleted=deleted, after=after, limit=limit, viewer=caller)
    return SUBJECT_ROWS.write(found)


# Subjects, versions, elements.


async def get_subject(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    named: ScopeSubject,
    subject: bodies.SubjectOfPath,
    moment: bodies.Moment,
    *,
    after: bodies.AfterVersion = 0,
    limit: bodies.Limit = MAX_ROWS,
) -> object:
    """Return a subject: its versions with what changed, its rules in force, and what belongs to it."""
    del moment
    found = await cases.inspection.subjects.subject(subject, named=named, after=after, limit=limit, viewer=caller)
    return SUBJECT_INSPECTION.write(found)


async def get_subject_version(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    subject: bodies.SubjectOfPath,
    version: bodies.VersionOfPath,
    moment: bodies.Moment,
    *,
    prefix: bodies.Prefix = "",
    after: bodies.After = "",
) -> object:
    """Return a version: its facts, its elements, what it refers to and what refers to it."""
    del moment
    caller.filters()
    found = await cases.inspection.versions.version(subject, version, prefix=prefix, after=after, viewer=caller)
    return Answer(VERSION_INSPECTION.write(found), texts=((subject, found.version),))


async def list_elements(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    subject: bodies.SubjectOfPath,
    moment: bodies.Moment,
    version: bodies.VersionParameter = "latest",
    *,
    prefix: bodies.Prefix = "",
    path: bodies.ElementPath = None,
    after: bodies.After = "",
) -> object:
    """List the elements of a version, or with ``path`` return the life of one over all versions."""
    del moment
    caller.filters()
    pages = cases.inspection.versions
    if path is not None:
        life = await pages.element(subject, path, viewer=caller)
        texts = tuple((subject, each.version) for each in life.steps)
        return Answer(ELEMENT_INSPECTION.write(life), texts=texts)
    number = parse_version(version or "latest")
    found = await pages.elements(subject, number, prefix=prefix, after=after, viewer=caller)
    history = await cases.storage.history(subject)
    return Answer(ELEMENT_ROWS.write(found), texts=((subject, history.pick(subject, number, deleted=True).version),))


async def get_references(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    subject: bodies.SubjectOfPath,
    version: bodies.VersionOfPath,
    *,
    direction: bodies.Direction = ReferenceDirection.OUT,
    depth: bodies.Depth = 2,
) -> object:
    """Return the references of a version, those to it, or both, to a depth."""
    caller.filters()
    found = await cases.inspection.identifiers.references(
        subject, version, direction=direction, depth=depth, viewer=caller
    )
    return REFERENCE_GRAPH.write(found)


# Ids, guids, laid-out texts.


async def get_id(
    cases: CasesOfRequest, caller: CallerOfRequest, schema_id: bodies.IdOfPath, context: bodies.OneContext = ""
) -> object:
    """Return every version with an id of a context."""
    return ID_INSPECTION.write(await cases.inspection.identifiers.by_id(schema_id, context=context, viewer=caller))


async def get_guid(cases: CasesOfRequest, caller: CallerOfRequest, guid: bodies.GuidOfPath) -> object:
    """Return every version with a guid, in any context."""
    return ID_INSPECTION.write(await cases.inspection.identifiers.by_guid(guid, viewer=caller))


async def get_layout(
    cases: CasesOfRequest, caller: CallerOfRequest, guid: bodies.GuidOfPath, lines: bodies.Lines = 1
) -> object:
    """Return 500 lines of the laid-out text of a guid."""
    pages = cases.inspection.identifiers
    found = await pages.source(guid, first=lines, viewer=caller)
    holder = await pages.holder(guid, viewer=caller)
    return Answer(SOURCE_WINDOW.write(found), texts=((holder.subject, holder.version),))


# Comparisons, drafts, bytes.


async def get_diff(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    earlier: bodies.FromOperand,
    later: bodies.ToOperand,
    moment: bodies.Moment,
) -> object:
    """Compare two versions: the changes, and the verdicts without proofs."""
    del moment
    caller.filters()
    pages = cases.inspection.comparisons
    return _compared(await pages.diff(pages.operand(earlier), pages.operand(later), viewer=caller))


async def post_diff(cases: CasesOfRequest, caller: CallerOfRequest, body: bodies.DiffBody) -> object:
    """Compare two schemas, each a version or a text."""
    caller.filters()
    earlier, later = bodies.operand_of(body.earlier), bodies.operand_of(body.later)
    return _compared(await cases.inspection.comparisons.diff(earlier, later, viewer=caller))


async def post_verdict(cases: CasesOfRequest, caller: CallerOfRequest, body: bodies.VerdictQuestionBody) -> object:
    """Compare two schemas with proofs, or say what would happen if a draft were registered; nothing is written."""
    caller.filters()
    operands = body.operands()
    pages = cases.inspection.comparisons
    if operands is not None:
        return _compared(await pages.verdict(*operands, policy=body.policy, level=body.level, viewer=caller))
    subject, text = body.subject_of_draft()
    found = await pages.draft(subject, text, policy=body.policy, level=body.level, viewer=caller)
    texts = () if found.comparison is None else _texts(found.comparison)
    if len(found.canonical) <= _SHORT_CHARS:
        return Answer(DRAFT_VERDICT.write(found), texts=texts)
    return Answer(await asyncio.to_thread(DRAFT_VERDICT.write, found), texts=texts, is_long=True)


def _compared(found: SchemaComparison) -> Answer:
    return Answer(SCHEMA_COMPARISON.write(found), texts=_texts(found))


def _texts(found: SchemaComparison) -> tuple[tuple[QualifiedSubject, int], ...]:
    """Return the stored versions whose texts a comparison has."""
    sides = (found.earlier, found.later)
    return tuple((parse_subject(each.subject), each.version) for each in sides if each.version is not None)


async def post_decode(cases: CasesOfRequest, caller: CallerOfRequest, body: bodies.BytesToDecodeBody) -> object:
    """Decode bytes with the schema that their frame names, or with a version of their subject; nothing is stored."""
    caller.filters()
    found = await cases.inspection.decoding.decode(body.given(), viewer=caller)
    return DECODED_BYTES.write(found)


# Refusals and rules.


async def list_refusals(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    subject: bodies.OfSubject = None,
    *,
    after: bodies.After = "",
    limit: bodies.RefusalLimit = MAX_REFUSALS,
) -> object:
    """List refused registrations, the newest first."""
    of = parse_subject(subject) if subject else None
    return REFUSAL_ROWS.write(await cases.inspection.refusals.rows(subject=of, after=after, limit=limit, viewer=caller))


async def get_refusal(cases: CasesOfRequest, caller: CallerOfRequest, request_id: Annotated[str, Path()]) -> object:
    """Return the refused registration of a request."""
    found = await cases.inspection.refusals.one(decode_segment(request_id), viewer=caller)
    return REFUSED_TEXT.write(found)


async def list_rules(lang: bodies.Language = None, policy: bodies.Policy = None, q: bodies.Words = "") -> object:
    """List the rules of compatibility."""
    return RULE_ROWS.write(rule_rows(schema_type=lang, policy=policy, query=q))


async def get_rule(rule: Annotated[str, Path()]) -> object:
    """Return a rule of compatibility, with its reasons and an example."""
    return RULE_INSPECTION.write(rule_page(decode_segment(rule)))


# The routes under ``/inspect/v1``.

_route = partial(ValidatedRoute, tag="inspection")
_read = partial(_route, "GET", has_tag=True)
_BASE: Final = "/inspect/v1"
_SUBJECT: Final = f"{_BASE}/subjects/{{subject}}"
_READ: Final = on(AccessOperation.READ, the_subject)
_PAST: Final = (AS_OF,)
_NO_SUBJECT: Final = (errors.SubjectNotFound,)
_NO_VERSION: Final = (*_NO_SUBJECT, errors.VersionNotFound, errors.InvalidVersion)
_NO_SCHEMA: Final = (errors.SchemaNotFound,)
_JUDGED: Final = (errors.TooManyJudgements, errors.JudgementEnded)
_COMPARED: Final = (*_NO_VERSION, errors.InvalidSchema, *_JUDGED)

INSPECTION_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _read(_BASE, get_registry, access=FOUND, query=_PAST, result=REGISTRY_INSPECTION, errors=()),
    _read(
        f"{_BASE}/subjects",
        list_subject_rows,
        access=FOUND,
        query=_PAST,
        result=SUBJECT_ROWS,
        errors=(),
    ),
    _read(
        _SUBJECT,
        get_subject,
        access=_READ & FOUND,
        query=_PAST,
        result=SUBJECT_INSPECTION,
        errors=(*_NO_SUBJECT, *_JUDGED),
    ),
    _read(
        f"{_SUBJECT}/versions/{{version}}",
        get_subject_version,
        access=_READ & FOUND,
        query=_PAST,
        result=VERSION_INSPECTION,
        errors=(*_NO_VERSION, *_JUDGED),
    ),
    _read(
        f"{_SUBJECT}/elements",
        list_elements,
        access=_READ & FOUND,
        query=_PAST,
        result=OneOfShapes((ELEMENT_ROWS, ELEMENT_INSPECTION)),
        errors=(*_NO_VERSION, *_JUDGED),
    ),
    _read(f"{_BASE}/ids/{{id}}", get_id, access=FOUND, result=ID_INSPECTION, errors=_NO_SCHEMA),
    _read(f"{_BASE}/guids/{{guid}}", get_guid, access=FOUND, result=ID_INSPECTION, errors=_NO_SCHEMA),
    _read(
        f"{_BASE}/layout/{{guid}}",
        get_layout,
        access=FOUND,
        result=SOURCE_WINDOW,
        errors=(*_NO_SCHEMA, errors.InvalidSchema, *_JUDGED),
    ),
    _read(
        f"{_BASE}/references/{{subject}}/{{version}}",
        get_references,
        access=_READ & FOUND,
        result=REFERENCE_GRAPH,
        errors=_NO_VERSION,
    ),
    _read(
        f"{_BASE}/diff",
        get_diff,
        access=FOUND,
        query=_PAST,
        result=SCHEMA_COMPARISON,
        errors=_COMPARED,
    ),
    _route(
        "POST",
        f"{_BASE}/diff",
        post_diff,
        access=FROM_BODY,
        result=SCHEMA_COMPARISON,
        errors=_COMPARED,
        looks_up=True,
    ),
    _route(
        "POST",
        f"{_BASE}/verdict",
        post_verdict,
        access=FROM_BODY,
        result=OneOfShapes((SCHEMA_COMPARISON, DRAFT_VERDICT)),
        errors=_COMPARED,
        looks_up=True,
    ),
    _route(
        "POST",
        f"{_BASE}/decode",
        post_decode,
        access=FROM_BODY,
        result=DECODED_BYTES,
        errors=(*_NO_VERSION, *_JUDGED),
        looks_up=True,
    ),
    _read(f"{_BASE}/refusals", list_refusals, access=FOUND, result=REFUSAL_ROWS, errors=()),
    _read(f"{_BASE}/refusals/{{request_id}}", get_refusal, access=FOUND, result=REFUSED_TEXT, errors=()),
    _read(f"{_BASE}/rules", list_rules, access=MEMBER, result=RULE_ROWS, reads_store=False, errors=()),
    _read(f"{_BASE}/rules/{{rule}}", get_rule, access=MEMBER, result=RULE_INSPECTION, reads_store=False, errors=()),
)
