"""The latest statistics of each topic as stored documents."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.domain.stored_kinds import StoredKind
from counterfoil.schema.rest.topic_stats import TOPIC_STATS, TopicStats

TOPIC_STATISTICS: Final[StoredKind[TopicStats]] = StoredKind(
    "topic-stats", TOPIC_STATS, lambda each: (each.topic, each.environment)
)
