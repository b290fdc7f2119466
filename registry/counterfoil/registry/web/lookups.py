"""The builders of pages that look something up: lists, subjects, versions, elements, ids, changes, refusals, rules."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from counterfoil.pages.frame import Crumb
from counterfoil.pages.links import Section, anchor
from counterfoil.pages.models import (
    ChangeLine,
    ChangesPage,
    HelpPage,
    HomePage,
    ReferencesPage,
    RefusalsPage,
    RulesPage,
    SearchPage,
    SubjectPage,
    SubjectsPage,
    SubjectTab,
    VersionPage,
    VersionView,
)
from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.changes.as_of import EVER
from counterfoil.registry.changes.feed import ChangeFilter, read_newest
from counterfoil.registry.inspection.identifiers import ReferenceDirection
from counterfoil.registry.inspection.rules import rule_page, rule_rows
from counterfoil.registry.search.questions import SearchExtent, SearchQuestion
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind
from counterfoil.registry.subjects.versions import parse_version
from counterfoil.registry.web.endpoint import BuiltPage, Elsewhere, PageRequest, quoted
from counterfoil.registry.web.history import change_line
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix, parse_prefix
from counterfoil.schema.element_tables import MAX_ELEMENTS
from counterfoil.schema.errors import BadRequest, NotFound
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.inspection import ReferenceGraph, SubjectRows
from counterfoil.schema.rest.search_index import HitKind

_LAST_CHANGES: Final = 20
_PAGE: Final = 100
_MOST_READS: Final = 20
"""How many times a page of changes is read, of which the viewer may see few."""

_LINES: Final = 500
_RAW_CHARS: Final = 200_000
_SHOWN: Final = 80
_MAX_TITLE: Final = 200
_DAY: Final = timedelta(days=1)
_INSPECT: Final = "/inspect/v1"

# What the journal does not have, so that pages of an earlier moment name it.

_REFERRERS: Final = "versions that refer to it"
_MISSING_OF_SUBJECT: Final = (
    "aliases",
    "topics",
    "contracts, bridges and keys",
    "the owner",
    "readers",
    _REFERRERS,
    "refusals",
)

# The registry: home, lists, changes.


async def build_home(request: PageRequest) -> BuiltPage:
    """Return the first page: the registry and its last changes."""
    registry = await request.cases.inspection.subjects.registry(viewer=request.viewer)
    changes = await _newest(request, ChangeFilter(), 0, _LAST_CHANGES)
    return BuiltPage(
        "home",
        HomePage(registry, changes[0], request.address(), await _subjects_then(request)),
        "Home",
        json=request.api(f"{_INSPECT}"),
        canonical=_canonical(request, request.links.home()),
        may_stream=not request.as_of,
        missing=("how many subjects and versions there were", "what a search would have found"),
    )


async def _subjects_then(request: PageRequest) -> SubjectRows | None:
    """Return the first subjects as of an earlier moment; None for now, where the search finds them."""
    if not request.as_of:
        return None
    every = SubjectPrefix(None, "")
    return await request.cases.inspection.subjects.rows(every, limit=_LAST_CHANGES, viewer=request.viewer)


async def build_registry(request: PageRequest) -> BuiltPage:
    """Return the page about the registry and its search index."""
    found = await request.cases.inspection.subjects.registry(viewer=request.viewer)
    return BuiltPage(
        "registry",
        found,
        "Registry",
        Section.REGISTRY,
        (Crumb("Registry"),),
        json=request.api(f"{_INSPECT}"),
    )


async def build_help(request: PageRequest) -> BuiltPage:
    """Return the page about search and notation."""
    request.viewer.filters()
    return BuiltPage("help", HelpPage(request.address()), "Help", None, (Crumb("Help"),))


async def build_subjects(request: PageRequest) -> BuiltPage:
    """Return a page of the list of subjects."""
    prefix, context, after = request.text("prefix"), request.text("context"), request.text("after")
    deleted = request.flag("deleted")
    wanted = parse_prefix(prefix) if prefix.startswith(":") else SubjectPrefix(context or None, prefix)
    rows = await request.cases.inspection.subjects.rows(
        wanted, deleted=deleted, after=after, limit=_PAGE, viewer=request.viewer
    )
    return BuiltPage(
        "subjects",
        SubjectsPage(rows, prefix, context, deleted, await _contexts(request), after),
        "Subjects",
        Section.SUBJECTS,
        (Crumb("Subjects"),),
        json=request.api(
            f"{_INSPECT}/subjects", prefix=prefix, context=context, deleted="true" if deleted else "", after=after
        ),
        context=context,
    )


async def _contexts(request: PageRequest) -> tuple[str, ...]:
    """Return the contexts that the viewer may see."""
    found = await request.cases.catalog.contexts()
    return tuple(each for each in found if request.viewer.may_see_context(each))


async def build_changes(request: PageRequest) -> BuiltPage:
    """Return changes, the newest first."""
    kinds = {each.value: each for each in JournalChangeKind}
    kind, subject, by = request.text("kind"), request.text("subject"), request.text("actor")
    since, until = request.text("from"), request.text("to")
    if kind and kind not in kinds:
        raise BadRequest(f"kind is {kind[:80]!r}; expected one of {', '.join(kinds)}")
    wanted = ChangeFilter(
        frozenset([kinds[kind]] if kind else kinds.values()), parse_prefix(subject) if subject else None
    )
    first, end = _start_ms("from", since), _end_ms("to", until)
    before = request.number("before")
    if end is not None:
        last = await request.cases.storage.last_change(end) + 1
        before = min(before, last) if before else last
    lines, following = await _newest(request, wanted, before, _PAGE, by=by, least_ts=first)
    return BuiltPage(
        "changes",
        ChangesPage(lines, tuple(kinds), kind, subject, by, since, until, following),
        "Changes",
        Section.CHANGES,
        (Crumb("Changes"),),
        json="" if request.as_of else request.api("/changes", kind=kind, subjectPrefix=subject),
        may_stream=not (request.as_of or before or by or since or until),
    )


async def _newest(
    request: PageRequest,
    wanted: ChangeFilter,
    before: int,
    limit: int,
    *,
    by: str = "",
    least_ts: int | None = None,
) -> tuple[tuple[ChangeLine, ...], int]:
    """Return changes that the viewer may see, the newest first, and the number before which to continue, or 0.

    With ``by`` they are those of one principal, and with ``least_ts`` (epoch ms) those since then.
    """
    storage, caller = request.cases.storage, request.viewer.authenticated
    page = await read_newest(storage, before, limit, wanted=request.viewer.visible_changes(wanted))
    lines = [change_line(each, caller) for each in page.changes]
    kept = [each for each in lines if (not by or each.by == by) and (least_ts is None or each.ts >= least_ts)]
    is_over = least_ts is not None and bool(lines) and lines[-1].ts < least_ts
    return tuple(kept), page.next if page.has_more and not is_over else 0


def _moment(name: str, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(f"{name} is {text[:80]!r}; expected a day such as 2026-11-01, or a time of ISO 8601") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _epoch_ms(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))


def _start_ms(name: str, text: str) -> int | None:
    return _epoch_ms(_moment(name, text)) if text else None


def _end_ms(name: str, text: str) -> int | None:
    """Return the last millisecond of a day, or a time itself."""
    if not text:
        return None
    moment = _moment(name, text)
    if "T" in text or " " in text:
        return _epoch_ms(moment)
    try:
        return _epoch_ms(moment + _DAY) - 1
    except OverflowError:
        return _epoch_ms(moment)


# Subjects, versions, elements.


async def build_named(request: PageRequest) -> BuiltPage | Elsewhere:
    """Return the page about a subject that the query names: the subject, a version, its references, or an element."""
    part = request.text("part")
    if part == "elements":
        return await build_element(request)
    if part == "references":
        return await build_references(request)
    if part:
        raise BadRequest(f"part is {part[:80]!r}; expected elements or references")
    return await build_version(request) if request.text("version") else await build_subject(request)


def _crumbs(request: PageRequest, *steps: Crumb) -> tuple[Crumb, ...]:
    """Return the way to a page about a subject."""
    links, subject = request.links, request.named_subject()
    return (Crumb("Subjects", links.subjects()), Crumb(str(subject), links.subject(str(subject))), *steps)


def _canonical(request: PageRequest, chosen: str) -> str:
    """Return the chosen address of a page, if the request has another one; an empty text otherwise."""
    return "" if chosen.partition("?")[0] == request.path() else chosen


def _version_text(request: PageRequest) -> str:
    return request.segment("version") or request.text("version")


async def build_subject(request: PageRequest) -> BuiltPage:
    """Return the page of a subject with the part that its tab shows."""
    named, subject = str(request.named_subject()), await request.subject()
    inspection, viewer = request.cases.inspection, request.viewer
    tab = request.choice("tab", {each.value: each for each in SubjectTab})
    after = request.number("after")
    found = await inspection.subjects.subject(subject, after=after, limit=request.window(_PAGE), viewer=viewer)
    page = SubjectPage(
        found,
        tab,
        graph=await _graph(request, subject) if tab is SubjectTab.REFERENCES else None,
        changes=await _changes_of(request, subject) if tab is SubjectTab.CHANGES else (),
        refusals=await inspection.refusals.rows(subject=subject, viewer=viewer) if tab is SubjectTab.REFUSALS else None,
    )
    return BuiltPage(
        "subject",
        page,
        named,
        Section.SUBJECTS,
        (Crumb("Subjects", request.links.subjects()), Crumb(named)),
        json=request.api(f"{_INSPECT}/subjects/{quoted(named)}", after=after),
        canonical=_canonical(request, request.links.subject(named)),
        context=found.context,
        missing=_MISSING_OF_SUBJECT,
        can_be_printed=True,
    )


async def _graph(request: PageRequest, subject: QualifiedSubject) -> ReferenceGraph:
    return await request.cases.inspection.identifiers.references(
        subject, None, direction=_known_then(request, ReferenceDirection.BOTH), viewer=request.viewer
    )


def _known_then(request: PageRequest, direction: ReferenceDirection) -> ReferenceDirection:
    """Return the direction of references that is known for the moment that was requested, in the place of both."""
    return ReferenceDirection.OUT if request.as_of and direction is ReferenceDirection.BOTH else direction


async def _changes_of(request: PageRequest, subject: QualifiedSubject) -> tuple[ChangeLine, ...]:
    """Return the last changes of a subject that the viewer may see, the newest first; no others are read."""
    storage, caller = request.cases.storage, request.viewer.authenticated
    wanted = request.viewer.visible_changes(ChangeFilter())
    found: list[JournalChange] = []
    until = EVER
    for _ in range(_MOST_READS):
        changes = await storage.changes_of(subject, until, newest=_PAGE)
        found += [each for each in reversed(changes) if wanted.wants(each)]
        if len(changes) < _PAGE or len(found) >= _PAGE:
            break
        until = changes[0].seq - 1
    return tuple(change_line(each, caller) for each in found[:_PAGE])


async def build_version(request: PageRequest) -> BuiltPage | Elsewhere:
    """Return the page of a version in one of its views; ``at`` leads to the place of a pointer or of an element."""
    named, subject = str(request.named_subject()), await request.subject()
    version = parse_version(_version_text(request))
    view = request.choice("view", {each.value: each for each in VersionView})
    prefix, after, at = request.text("prefix"), request.text("after"), request.text("at")
    if at:
        return Elsewhere(await _place(request, subject, version, at))
    found = await request.cases.inspection.versions.version(
        subject,
        version,
        prefix=prefix,
        after=after,
        limit=request.window(MAX_ELEMENTS),
        lists_elements=view is VersionView.FIELDS,
        viewer=request.viewer,
    )
    source = raw = None
    cut = 0
    if view is VersionView.SOURCE:
        first = request.number("lines", 1, least=1)
        source = await request.cases.inspection.identifiers.version_source(
            subject, UUID(found.guid), first=first, count=request.window(_LINES)
        )
    elif view is VersionView.RAW:
        text = (await request.cases.catalog.version(subject, found.version, deleted=True)).content.text
        raw, cut = text[:_RAW_CHARS], max(len(text) - _RAW_CHARS, 0)
    chosen = request.links.version(named, found.version if version is not None else None)
    api = f"{_INSPECT}/subjects/{quoted(named)}/versions/{found.version}"
    return BuiltPage(
        "version",
        VersionPage(found, view, source, raw, cut, prefix, after),
        f"{named} v{found.version}",
        Section.SUBJECTS,
        _crumbs(request, Crumb(f"v{found.version}")),
        json=request.api(api, prefix=prefix, after=after),
        canonical=_canonical(request, chosen),
        context=found.context,
        missing=("other versions with the same schema", _REFERRERS),
        texts=((subject, found.version),),
        can_be_printed=True,
    )


async def _place(request: PageRequest, subject: QualifiedSubject, wanted: int | None, at: str) -> str:
    """Return the address of the window and the anchor of an element or a pointer; raise ``NotFound``."""
    named, links = str(request.named_subject()), request.links
    version, place = await request.cases.inspection.versions.place(subject, wanted, at)
    if place is None:
        raise NotFound(f"Version {version} of {named} has no element and no place {at[:200]!r}")
    if place.line is None:
        return f"{links.version(named, version, after=place.after)}#{anchor('e', place.path or '')}"
    first = (place.line - 1) // _LINES * _LINES + 1
    return f"{links.version(named, version, view='source', lines=str(first))}#L{place.line}"


async def build_element(request: PageRequest) -> BuiltPage:
    """Return the life of an element."""
    named, subject = str(request.named_subject()), await request.subject()
    path = request.text("path")  # an empty one is that of the root, which not every schema lists as an element
    try:
        found = await request.cases.inspection.versions.element(subject, path, viewer=request.viewer)
    except NotFound:
        if path:
            raise
        raise BadRequest("path is missing; expected the path of an element, such as customer.email") from None
    return BuiltPage(
        "element",
        found,
        f"{path[:_MAX_TITLE] or 'The root'} in {named}",
        Section.SUBJECTS,
        _crumbs(request, Crumb(path or "The root")),
        json=request.api(f"{_INSPECT}/subjects/{quoted(named)}/elements", path=path),
        canonical=_canonical(request, request.links.element(named, path)),
        missing=("readers", "the owner", "the same name elsewhere"),
    )


async def build_references(request: PageRequest) -> BuiltPage:
    """Return the references of a version as a graph."""
    named, subject = str(request.named_subject()), await request.subject()
    direction = _known_then(request, request.choice("direction", {each.value: each for each in ReferenceDirection}))
    depth = request.number("depth", 2, least=1)
    version = parse_version(_version_text(request) or "latest")
    graph = await request.cases.inspection.identifiers.references(
        subject, version, direction=direction, depth=depth, viewer=request.viewer
    )
    links = request.links
    return BuiltPage(
        "references",
        ReferencesPage(graph, direction.value, depth),
        f"References of {named} v{graph.version}",
        Section.SUBJECTS,
        _crumbs(request, Crumb(f"v{graph.version}", links.version(named, graph.version)), Crumb("References")),
        json=""
        if request.as_of
        else request.api(
            f"{_INSPECT}/references/{quoted(named)}/{graph.version}", direction=direction.value, depth=depth
        ),
        canonical=_canonical(request, links.references(named, graph.version)),
        missing=(_REFERRERS,),
    )


# Ids and guids.


async def build_id(request: PageRequest) -> BuiltPage:
    """Return the versions with an id."""
    number, context = request.segment("id"), request.text("context")
    if not (number.isascii() and number.isdigit() and len(number) <= _MAX_ID_DIGITS):
        raise NotFound(f"{number[:80]!r} is no schema id; expected a number")
    found = await request.cases.inspection.identifiers.by_id(int(number), context=context, viewer=request.viewer)
    return BuiltPage(
        "id",
        found,
        f"Schema id {int(number)}",
        None,
        (Crumb(f"Id {int(number)}"),),
        json=request.api(f"{_INSPECT}/ids/{int(number)}", context=context),
        context=context,
    )


_MAX_ID_DIGITS: Final = 10


async def build_guid(request: PageRequest) -> BuiltPage:
    """Return the versions with a guid."""
    try:
        guid = UUID(request.segment("guid"))
    except ValueError:
        raise NotFound(f"{request.segment('guid')[:80]!r} is no guid; expected 32 hexadecimal digits") from None
    found = await request.cases.inspection.identifiers.by_guid(guid, viewer=request.viewer)
    return BuiltPage(
        "id",
        found,
        f"Guid {guid}",
        None,
        (Crumb(f"Guid {guid}"),),
        json=request.api(f"{_INSPECT}/guids/{guid}"),
        canonical=_canonical(request, request.links.guid(str(guid))),
    )


# Refusals.


async def build_refusals(request: PageRequest) -> BuiltPage:
    """Return refused registrations, the newest first."""
    named, after = request.text("subject"), request.text("after")
    subject = request.subject_named(named) if named else None
    rows = await request.cases.inspection.refusals.rows(subject=subject, after=after, viewer=request.viewer)
    return BuiltPage(
        "refusals",
        RefusalsPage(rows, named),
        "Refusals",
        Section.REFUSALS,
        (Crumb("Refusals"),),
        json=request.api(f"{_INSPECT}/refusals", subject=named, after=after),
    )


# Rules.


async def build_rules(request: PageRequest) -> BuiltPage:
    """Return the rules of compatibility, or those that a query names."""
    request.viewer.filters()
    lang, policy, query = request.text("lang"), request.text("policy"), request.text("q")
    kind = request.choice("lang", {"": None, **{each.value: each for each in SchemaType}})
    chosen = request.choice("policy", {"": None, **{each.value: each for each in CompatibilityPolicy}})
    rows = await asyncio.to_thread(rule_rows, schema_type=kind, policy=chosen, query=query)
    return BuiltPage(
        "rules",
        RulesPage(rows, lang, policy, query, tuple(each.value for each in CompatibilityPolicy)),
        "Rules",
        Section.RULES,
        (Crumb("Rules"),),
        json=request.api(f"{_INSPECT}/rules", lang=lang, policy=policy, q=query),
    )


async def build_rule(request: PageRequest) -> BuiltPage:
    """Return a rule with its reasons and its example."""
    request.viewer.filters()
    rule = request.segment("rule")
    found = await asyncio.to_thread(rule_page, rule)
    return BuiltPage(
        "rule",
        found,
        f"Rule {rule}",
        Section.RULES,
        (Crumb("Rules", request.links.rules()), Crumb(rule)),
        json=request.api(f"{_INSPECT}/rules/{quoted(rule)}"),
    )


# Search.


async def build_search(request: PageRequest) -> BuiltPage:
    """Return what a search finds among the subjects that the viewer may read."""
    viewer = request.viewer
    visible = viewer.visible(AccessOperation.READ)
    query, kind, context = request.text("q"), request.text("kind"), request.text("context")
    lang = request.text("lang")
    within = request.choice("in", {each.value: each for each in SearchExtent})
    kinds = {each.value: each for each in HitKind}
    if kind and kind not in kinds:
        raise BadRequest(f"kind is {kind[:80]!r}; expected one of {', '.join(kinds)}")
    result = None
    if query:
        question = SearchQuestion(
            f"{query} lang:{lang}" if lang else query,
            kind=kinds.get(kind),
            context=context or None,
            within=within,
            after=request.text("after"),
        )
        result = await request.cases.search.search(question, visible=visible)
    return BuiltPage(
        "search",
        SearchPage(result, query, kind, lang, context, within.value, await _contexts(request)),
        f"Search: {query[:_SHOWN]}" if query else "Search",
        None,
        (Crumb("Search"),),
        json=request.api(f"{_INSPECT}/search", **{"q": query, "kind": kind, "context": context, "in": within.value}),
        context=context,
        search=query,
    )
