"""The progress of bridges in a compacted topic: the key is a bridge's name, the value its latest state as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.errors import BridgeError
from counterfoil.converter.run.snapshot import read_snapshot, snapshot_json
from counterfoil.schema.rest.json_values import UnexpectedShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.snapshot import Snapshot

_TIMEOUT_S: Final = 10.0


class TopicReports:
    """Writes the states of a run to ``topic``; a broker that does not take them is printed once, and ends no run."""

    def __init__(self, bootstrap_servers: str, topic: str, *, say: Callable[[str], None]) -> None:
        from confluent_kafka import Producer

        settings = {"bootstrap.servers": bootstrap_servers, "log_level": 0, "enable.idempotence": True}
        self._producer = Producer({**settings, "message.timeout.ms": round(_TIMEOUT_S * 1000)})
        self._topic = topic
        self._say = say
        self._has_failed = False

    def __call__(self, state: Snapshot) -> None:
        """Write a state, and wait until the broker has it."""
        value = json.dumps(snapshot_json(state))
        self._producer.produce(self._topic, key=state.bridge, value=value, on_delivery=self._delivered)
        self._producer.flush(_TIMEOUT_S)

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None and not self._has_failed:
            self._say(f"topic {self._topic} does not take reports of progress, and the run goes on: {error.str()}")
        self._has_failed = error is not None


def latest_state(cluster: Cluster, topic: str, *, bridge: str) -> Snapshot | None:
    """Return the latest state of a bridge in ``topic``; None if there is none."""
    found: Snapshot | None = None
    for message in cluster.read(topic, cluster.watermarks(topic)):
        if message.key() == bridge.encode() and message.value() is not None:
            try:
                state = read_snapshot(json.loads(message.value()))
            except (ValueError, UnexpectedShapeError) as mistake:
                place = f"{topic}/{message.partition()}/{message.offset()}"
                raise BridgeError(f"The record {place} is not the progress of a bridge: {mistake}") from None
            found = state if found is None or state.ts >= found.ts else found
    return found
