"""The builder of the page of a topic: its subjects by name and by association, and what its records carry."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from counterfoil.pages.frame import Crumb
from counterfoil.pages.links import Section
from counterfoil.pages.models import TopicPage
from counterfoil.registry.contracts.visibility import may_know_environment
from counterfoil.registry.web.endpoint import BuiltPage, PageRequest
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
from counterfoil.schema.errors import NotFound
from counterfoil.schema.rest.inspection import ElementRow, SubjectRow
from counterfoil.schema.rest.observations import SchemaCount, TopicStats
from counterfoil.schema.rest.subjects import TOPIC, WILDCARD, AssociationType

_MOST_OTHERS: Final = 100


async def build_topic(request: PageRequest) -> BuiltPage:
    """Return a topic: the subjects of its values and keys, their elements, and the ids that its records carry.

    An association says which subject it is; where there is none, the name does.
    """
    topic = request.segment("topic") or request.text("name")
    request.viewer.filters()
    associated = await _associated(request, topic)
    first = [associated.get(part, ()) for part in AssociationType]
    key, value = [
        found[0] if found else await _row(request, request.subject_named(f"{topic}-{part}"))
        for part, found in zip(AssociationType, first, strict=True)
    ]
    others = tuple(each for found in first for each in found[1:])
    value_elements, left = await _elements(request, value)
    key_elements, _ = await _elements(request, key)
    stats = await _stats(request, topic)
    if value is None and key is None and not stats:
        raise NotFound(
            f"There is no subject {topic}-value and no subject {topic}-key, no subject is associated with topic "
            f"{topic!r}, and there are no counts of its records"
        )
    chosen = request.links.topic(topic)
    return BuiltPage(
        "topic",
        TopicPage(topic, value, key, value_elements, key_elements, left, others, stats),
        f"Topic {topic}",
        Section.SUBJECTS,
        (Crumb("Subjects", request.links.subjects()), Crumb(f"Topic {topic}")),
        canonical="" if chosen.partition("?")[0] == request.path() else chosen,
        missing=("the counts of the topic's records, and its associations",),
    )


async def _associated(request: PageRequest, topic: str) -> dict[AssociationType, tuple[SubjectRow, ...]]:
    """Return the subjects that are associated with topics of a name, for keys and for values."""
    associations = request.cases.associations
    found: dict[AssociationType, tuple[SubjectRow, ...]] = {}
    if associations is None or request.as_of or topic == WILDCARD:
        return found
    for each in (await associations.named(WILDCARD, topic))[:_MOST_OTHERS]:
        row = await _row(request, each.subject) if each.resource.type == TOPIC else None
        if row is not None and row not in found.get(each.type, ()):
            found[each.type] = (*found.get(each.type, ()), row)
    return found


async def _row(request: PageRequest, subject: QualifiedSubject) -> SubjectRow | None:
    """Return a subject, if it is there and the viewer may read it."""
    if not request.viewer.may_read(subject):
        return None
    rows = await request.cases.inspection.subjects.rows(
        SubjectPrefix(subject.context, subject.name), limit=1, viewer=request.viewer
    )
    return next((each for each in rows.subjects if each.subject == str(subject)), None)


async def _elements(request: PageRequest, row: SubjectRow | None) -> tuple[tuple[ElementRow, ...], int]:
    """Return the first elements of the latest version of a subject, and how many more there are."""
    if row is None:
        return (), 0
    subject = request.subject_named(row.subject)
    found = await request.cases.inspection.versions.elements(subject, None, viewer=request.viewer)
    return found.elements, max(found.total - len(found.elements), 0)


async def _stats(request: PageRequest, topic: str) -> tuple[TopicStats, ...]:
    """Return the counts of a topic's records in each environment, with the names that the viewer may know."""
    if request.as_of or not request.viewer.may_read(request.subject_named(f"{topic}-value")):
        return ()
    return tuple(
        replace(each, schemas=tuple(map(partial(_shown_count, request), each.schemas)))
        for each in await request.cases.contracts.topics.all()
        if each.topic == topic and may_know_environment(request.viewer, each.environment)
    )


def _shown_count(request: PageRequest, count: SchemaCount) -> SchemaCount:
    if count.subject is None or request.viewer.may_describe(request.subject_named(count.subject)):
        return count
    return replace(count, subject=None, version=None)
