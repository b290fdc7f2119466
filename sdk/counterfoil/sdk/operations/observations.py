"""What was observed, of this project's registry: who reads which fields, and what is in topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.json_values import read_each
from counterfoil.schema.rest.topic_stats import TOPIC_STATS
from counterfoil.schema.rest.usage import OBSERVED_USE, USAGE_RECEIPT
from counterfoil.sdk.operations.contracts import CONTRACTS
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import json_body, url_path, url_query

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from counterfoil.schema.rest.topic_stats import TopicStats
    from counterfoil.schema.rest.usage import ObservedUse, UsageReceipt


def post_usage(batch: Mapping[str, Any]) -> Operation[UsageReceipt]:
    """``POST /contracts/v1/usage``: a batch as :class:`~counterfoil.sdk.Usage` makes it.

    It is not repeatable, since counts are added up.
    """
    path, body = url_path(*CONTRACTS, "usage"), json_body(batch)
    return Operation("post_usage", "POST", path, USAGE_RECEIPT.read, body=body, is_repeatable=False)


def observed_uses(
    subject: str | None = None, *, application: str | None = None, environment: str | None = None
) -> Operation[tuple[ObservedUse, ...]]:
    """``GET /contracts/v1/usage``: what is stored, of a subject, of an application, in an environment, or all."""
    query = url_query(subject=subject, application=application, environment=environment)
    return Operation("observed_uses", "GET", url_path(*CONTRACTS, "usage"), read_each(OBSERVED_USE.read), query)


def topics() -> Operation[tuple[TopicStats, ...]]:
    """``GET /contracts/v1/topics``: the latest statistics of all topics."""
    return Operation("topics", "GET", url_path(*CONTRACTS, "topics"), read_each(TOPIC_STATS.read))


def topic_stats(topic: str, *, environment: str | None = None) -> Operation[TopicStats]:
    """``GET /contracts/v1/topics/{topic}/stats``."""
    path, query = url_path(*CONTRACTS, "topics", topic, "stats"), url_query(environment=environment)
    return Operation("topic_stats", "GET", path, TOPIC_STATS.read, query)


def post_topic_stats(stats: TopicStats) -> Operation[TopicStats]:
    """``POST /contracts/v1/topics/{topic}/stats``: repeatable, since it replaces what is stored."""
    left_out = {"topic", "oldestVersion"} if stats.environment else {"topic", "oldestVersion", "environment"}
    body = {key: value for key, value in TOPIC_STATS.write(stats).items() if key not in left_out}
    path = url_path(*CONTRACTS, "topics", stats.topic, "stats")
    return Operation("post_topic_stats", "POST", path, TOPIC_STATS.read, body=json_body(body))
