"""The routes under ``/sketches/v1`` and ``/contracts/v1/topics``, and their endpoints."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Final

from fastapi import Body, Depends, Path
from pydantic import Field

from counterfoil.registry.access.resources import AccessOperation, AccessResource, subject_resource
from counterfoil.registry.changes.routes import ScopeSubject
from counterfoil.registry.contracts.verdict_endpoints import Count, Filter, Name, ReportBody, require_known, segment
from counterfoil.registry.contracts.visibility import environment_resource, may_know_environment
from counterfoil.registry.http.access import FOUND, CallerOfRequest, CasesOfRequest, RequestCaller, on, the_scope
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.http.route import ValidatedRoute
from counterfoil.schema import errors
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.object_forms import Document, JsonType, ListOf
from counterfoil.schema.rest.observations import TOPIC_STATS, SchemaCount, TopicStats

# ``/contracts/v1/topics``: what is in topics, as those who read them report it.

_MAX_IDS: Final = 10_000


class SchemaCountBody(ReportBody):
    """How many records have a schema id."""

    schema_id: Annotated[int, Field(ge=0, le=2**31 - 1)]
    count: Count


class TopicStatsBody(ReportBody):
    """The values of a topic's records, counted."""

    environment: Name | None = Field(None, description="Default: none.")
    records: Count
    tombstones: Count = 0
    undecodable: Count = 0
    schemas: Annotated[tuple[SchemaCountBody, ...], Field(max_length=_MAX_IDS)] = ()
    complete: bool = Field(default=False, description="Whether all records were counted, and not a sample.")
    counted_ts: Count = Field(0, description="The time of the count, in epoch milliseconds. Default: now.")

    def stats(self, topic: str) -> TopicStats:
        """Return the statistics."""
        return TopicStats(
            topic,
            self.environment or "",
            self.records,
            self.tombstones,
            self.undecodable,
            tuple(SchemaCount(each.schema_id, each.count) for each in self.schemas),
            self.complete,
            counted_ts=self.counted_ts,
        )


async def _topic(topic: Annotated[str, Path()]) -> str:
    return segment(topic)


Topic = Annotated[str, Depends(_topic)]


async def list_topics(cases: CasesOfRequest, caller: CallerOfRequest) -> object:
    """List the latest statistics of all topics."""
    caller.filters()
    found = await cases.contracts.topics.all()
    return [
        _shown(caller, each)
        for each in found
        if caller.may(AccessOperation.READ, _values_of(each.topic)) and may_know_environment(caller, each.environment)
    ]


async def get_topic_stats(
    cases: CasesOfRequest, caller: CallerOfRequest, topic: Topic, environment: Filter = None
) -> object:
    """Return the latest statistics of a topic, with the versions of its schema ids."""
    if environment:
        require_known(caller, environment_resource(environment))
    return _shown(caller, await cases.contracts.topics.stats(topic, environment or ""))


async def post_topic_stats(
    cases: CasesOfRequest, caller: CallerOfRequest, topic: Topic, body: TopicStatsBody
) -> object:
    """Store statistics of a topic in an environment, instead of those before."""
    if body.environment:
        require_known(caller, environment_resource(body.environment))
    return _shown(caller, await cases.contracts.topics.put(body.stats(topic), by=caller.requester))


def _shown(caller: RequestCaller, stats: TopicStats) -> object:
    """Return the JSON of statistics; of ids of other subjects it has those names that the caller may know."""
    schemas = tuple(
        each
        if each.subject is None or caller.may_describe(parse_subject(each.subject))
        else replace(each, subject=None, version=None)
        for each in stats.schemas
    )
    return TOPIC_STATS.write(replace(stats, schemas=schemas))


def _values_of(topic: str) -> AccessResource:
    """Return the subject of a topic's values in the default context."""
    return subject_resource(parse_subject(f"{topic}-value"))


async def _the_values(request: ApiRequest, _: RequestCaller) -> AccessResource:
    """Return the subject of the values of the topic in the path."""
    return _values_of(segment(request.segment("topic")))


_topic_route = partial(ValidatedRoute, tag="contracts")
_TOPICS_PATH: Final = "/contracts/v1/topics"
_STATISTICS_PATH: Final = f"{_TOPICS_PATH}/{{topic}}/stats"

TOPIC_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _topic_route("GET", _TOPICS_PATH, list_topics, access=FOUND, result=ListOf(TOPIC_STATS), errors=()),
    _topic_route(
        "GET",
        _STATISTICS_PATH,
        get_topic_stats,
        access=on(AccessOperation.READ, _the_values),
        result=TOPIC_STATS,
        errors=(errors.TopicStatsNotFound,),
    ),
    _topic_route(
        "POST",
        _STATISTICS_PATH,
        post_topic_stats,
        access=on(AccessOperation.WRITE, _the_values),
        result=TOPIC_STATS,
        errors=(errors.OperationNotPermitted,),
    ),
)


# The endpoints under ``/sketches/v1``.

SketchBody = Annotated[Document, Body(description="The document of a sketch.")]


async def list_sketches(cases: CasesOfRequest, caller: CallerOfRequest) -> object:
    """List the subjects that have a sketch."""
    caller.filters()
    return [str(subject) for subject in await cases.sketches.subjects() if caller.may_read(subject)]


async def get_sketch(cases: CasesOfRequest, subject: ScopeSubject) -> object:
    """Return the sketch of a subject."""
    return await cases.sketches.get(subject)


async def put_sketch(cases: CasesOfRequest, caller: CallerOfRequest, subject: ScopeSubject, body: SketchBody) -> None:
    """Store a sketch with its subject, instead of the one before."""
    await cases.sketches.put(subject, body, by=caller.requester)


async def delete_sketch(cases: CasesOfRequest, caller: CallerOfRequest, subject: ScopeSubject) -> None:
    """Delete the sketch of a subject."""
    await cases.sketches.delete(subject, by=caller.requester)


# The routes under ``/sketches/v1``.

_route = partial(ValidatedRoute, tag="sketches")
_ALL: Final = "/sketches/v1/subjects"
_ONE: Final = f"{_ALL}/{{subject}}"
_SKETCH: Final = JsonType(
    read=lambda given: given.value,
    schema={"type": "object", "description": "The document of a sketch, as `counterfoil sketch --out` writes it."},
)

SKETCH_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _ALL, list_sketches, access=FOUND, result=ListOf({"type": "string"}), errors=()),
    _route(
        "GET",
        _ONE,
        get_sketch,
        access=on(AccessOperation.READ, the_scope),
        result=_SKETCH,
        errors=(errors.SketchNotFound,),
    ),
    _route(
        "PUT",
        _ONE,
        put_sketch,
        access=on(AccessOperation.WRITE, the_scope),
        errors=(errors.UnusableSketch, errors.OperationNotPermitted),
    ),
    _route(
        "DELETE",
        _ONE,
        delete_sketch,
        access=on(AccessOperation.WRITE, the_scope),
        errors=(errors.SketchNotFound, errors.OperationNotPermitted),
    ),
)
