"""What a page says about something that is not there: its name, the change that removed it, names that resemble it.

It is made of what the caller may read, by the name in the request alone: a name that the caller may not read has
the same page whether it exists or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.pages.frame import Crumb
from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.changes.as_of import EVER, VersionRemoved
from counterfoil.registry.search.questions import SearchQuestion
from counterfoil.registry.store.changes import JournalChangeKind
from counterfoil.registry.web.answers import ErrorHelp
from counterfoil.schema.errors import NotFound, RegistryError, SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.rest.search_index import HitKind

if TYPE_CHECKING:
    from counterfoil.registry.use_cases import UseCases
    from counterfoil.registry.web.endpoint import PageRequest
    from counterfoil.schema.contexts import QualifiedSubject

_MOST_NAMES: Final = 5
_MAX_DIGITS: Final = 10
_PARTS: Final = {"id": "schema id", "guid": "guid", "rule": "rule", "request_id": "request", "topic": "topic"}
"""The words for the segments of paths that may name what is not there."""


async def help_with_absence(error: RegistryError, request: PageRequest, cases: UseCases) -> None:
    """Let the page of an error say what is not there; ``cases`` read what is stored now.

    It stays without what cannot be read.
    """
    found = request.error_help
    found.here, found.parameters, found.as_of = request.earlier_address(), request.parameters(), request.as_of
    found.missing = _missing(error, request)
    if isinstance(error, VersionRemoved):
        found.removed = error.seq, error.ts
    if not isinstance(error, SubjectNotFound | VersionNotFound) or not request.names_a_subject:
        return
    try:
        await _help_with_subject(found, error, request, cases)
    except RegistryError:
        return


def _missing(error: RegistryError, request: PageRequest) -> str:
    version = request.segment("version") or request.text("version")
    if isinstance(error, SubjectNotFound) and request.names_a_subject:
        return f"subject {request.named_subject()}"
    if isinstance(error, VersionNotFound | VersionRemoved) and version:
        return f"version {version} of subject {request.named_subject()}"
    if isinstance(error, NotFound) and request.text("path"):
        return f"element {request.text('path')}"
    if isinstance(error, NotFound) and request.text("at"):
        return f"place {request.text('at')}"
    if isinstance(error, NotFound | SchemaNotFound):
        return next((f"{words} {request.segment(name)}" for name, words in _PARTS.items() if request.segment(name)), "")
    return ""


async def _help_with_subject(found: ErrorHelp, error: RegistryError, request: PageRequest, cases: UseCases) -> None:
    """Add the way to a subject, the change that removed it or one of its versions, and the nearest names."""
    named = request.named_subject()
    subject = await cases.scopes.aliased(named)
    is_version = isinstance(error, VersionNotFound)
    found.crumbs = (Crumb("Subjects", request.links.subjects()),)
    if is_version:
        found.crumbs += (Crumb(str(named), request.links.subject(str(named))),)
    if request.viewer.may_read(subject):
        version = request.segment("version") or request.text("version") if is_version else ""
        found.removed = await _removal(cases, subject, version)
    if not is_version:
        found.nearest = await nearest_subjects(request, cases, named)


async def _removal(cases: UseCases, subject: QualifiedSubject, version: str) -> tuple[int, int] | None:
    """Return the number and the time of the last change that removed a version, any one for an empty text."""
    versions = None
    if version:
        if not (version.isascii() and version.isdigit() and len(version) <= _MAX_DIGITS):
            return None
        versions = range(int(version), int(version) + 1)
    kind = JournalChangeKind.REMOVED
    for change in await cases.storage.changes_of(subject, EVER, versions=versions, kind=kind, newest=1):
        return change.seq, change.ts
    return None


async def nearest_subjects(request: PageRequest, cases: UseCases, named: QualifiedSubject) -> tuple[str, ...]:
    """Return the subjects that the viewer may read whose names contain a name, or else resemble it."""
    hits, resembling = await _found(request, cases, named.name)
    if not hits:
        for text in resembling[:_MOST_NAMES]:
            more, _ = await _found(request, cases, text)
            hits += [each for each in more if each not in hits]
    return tuple(each for each in hits if each != str(named))[:_MOST_NAMES]


async def _found(request: PageRequest, cases: UseCases, name: str) -> tuple[list[str], tuple[str, ...]]:
    words = name.replace('"', " ").strip()
    if not words:
        return [], ()
    question = SearchQuestion(f'subject:"{words}"', kind=HitKind.SUBJECT, limit=_MOST_NAMES + 1)
    result = await cases.search.search(question, visible=request.viewer.visible(AccessOperation.READ))
    return [each.subject for each in result.hits if each.kind is HitKind.SUBJECT], result.nearest
