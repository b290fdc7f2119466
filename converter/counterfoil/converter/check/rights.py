"""The rights on topics that a bridge needs, and those that the broker does not grant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.bridges.model import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.schema.bridges.model import BridgeFile

_REQUEST_BY_RIGHT: Final = {
    "DESCRIBE": "to describe",
    "DESCRIBE_CONFIGS": "to describe the settings of",
    "READ": "to read from",
    "WRITE": "to write to",
}


def needed_rights(file: BridgeFile) -> dict[str, frozenset[str]]:
    """Return the rights that a run needs, by topic.

    Outputs are read, too: by the restart filter, and to find the end of transactions.
    """
    outputs = {"DESCRIBE", "DESCRIBE_CONFIGS", "WRITE"} | (
        {"READ"} if file.delivery is not Delivery.AT_LEAST_ONCE else set()
    )
    needed = {
        file.source_topic: frozenset({"DESCRIBE", "DESCRIBE_CONFIGS", "READ"}),
        file.target_topic: frozenset(outputs),
        file.dead_letter_topic: frozenset(outputs),
    }
    if file.progress_topic is not None:
        needed[file.progress_topic] = frozenset({"DESCRIBE", "DESCRIBE_CONFIGS", "WRITE"})
    return needed


def missing_rights(file: BridgeFile, cluster: Cluster) -> Iterator[str]:
    """Yield a sentence for each right that the broker does not grant; a topic that does not exist has none."""
    needed = needed_rights(file)
    granted = cluster.rights(needed)
    for topic, wanted in needed.items():
        has = granted[topic]
        for right in sorted(wanted - has) if has is not None else ():
            yield f"the broker refuses {_REQUEST_BY_RIGHT[right]} topic {topic}: the right {right} is missing"
