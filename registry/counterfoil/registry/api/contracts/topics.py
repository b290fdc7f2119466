"""``/contracts/v1/topics``: what is in topics, as those who read them report it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Depends, Path
from pydantic import Field

from counterfoil.registry.api.contracts import visible
from counterfoil.registry.api.contracts.models import Count, Name, ReportBody
from counterfoil.registry.api.contracts.parameters import Filter, segment
from counterfoil.registry.api.routes.access import FOUND, on
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import subject_resource
from counterfoil.schema import errors
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.object_forms import ListOf
from counterfoil.schema.rest.topic_stats import TOPIC_STATS, SchemaCount, TopicStats

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call
    from counterfoil.registry.domain.access.resources import Resource

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


def _topic(topic: Annotated[str, Path()]) -> str:
    return segment(topic)


Topic = Annotated[str, Depends(_topic)]


async def list_topics(cases: CasesOfRequest, call: CallOfRequest) -> Any:
    """List the latest statistics of all topics."""
    call.asks()
    found = await cases.contracts.topics.all()
    return [
        _shown(call, each)
        for each in found
        if call.may(Operation.READ, _values_of(each.topic)) and visible.may_know_environment(call, each.environment)
    ]


async def get_topic_stats(cases: CasesOfRequest, call: CallOfRequest, topic: Topic, environment: Filter = None) -> Any:
    """Return the latest statistics of a topic, with the versions of its schema ids."""
    if environment:
        visible.require_known(call, visible.environment(environment))
    return _shown(call, await cases.contracts.topics.stats(topic, environment or ""))


async def post_topic_stats(cases: CasesOfRequest, call: CallOfRequest, topic: Topic, body: TopicStatsBody) -> Any:
    """Store statistics of a topic in an environment, instead of those before."""
    if body.environment:
        visible.require_known(call, visible.environment(body.environment))
    return _shown(call, await cases.contracts.topics.put(body.stats(topic)))


def _shown(call: Call, stats: TopicStats) -> Any:
    """Return the JSON of statistics; of ids of other subjects it has those names that the caller may know."""
    schemas = tuple(
        each
        if each.subject is None or call.may_describe(parse_subject(each.subject))
        else replace(each, subject=None, version=None)
        for each in stats.schemas
    )
    return TOPIC_STATS.write(replace(stats, schemas=schemas))


def _values_of(topic: str) -> Resource:
    """Return the subject of a topic's values in the default context."""
    return subject_resource(parse_subject(f"{topic}-value"))


async def _the_values(call: Call) -> Resource:
    """Return the subject of the values of the topic in the path."""
    return _values_of(segment(call.segment("topic")))


_route = partial(ValidatedRoute, tag="contracts")
_ALL: Final = "/contracts/v1/topics"
_PATH: Final = f"{_ALL}/{{topic}}/stats"

TOPIC_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _ALL, list_topics, access=FOUND, result=ListOf(TOPIC_STATS), errors=()),
    _route(
        "GET",
        _PATH,
        get_topic_stats,
        access=on(Operation.READ, _the_values),
        result=TOPIC_STATS,
        errors=(errors.TopicStatsNotFound,),
    ),
    _route(
        "POST",
        _PATH,
        post_topic_stats,
        access=on(Operation.WRITE, _the_values),
        result=TOPIC_STATS,
        errors=(errors.OperationNotPermitted,),
    ),
)
