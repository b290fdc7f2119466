"""The progress of bridges in a compacted topic: the key is a bridge's name, the value its latest state as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.errors import BridgeError
from counterfoil.converter.run.snapshot import read_snapshot, snapshot_json
from counterfoil.schema.rest.json_values import UnexpectedShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.snapshot import Snapshot

_TIMEOUT_S: Final = 10.0


class TopicReports:
    """Writes the states of a run to ``topic``; a broker that does not take them is printed once, and ends no run.

    ``client`` are settings of confluent-kafka.
    """

    def __init__(self, client: Mapping[str, Any], topic: str, *, say: Callable[[str], None]) -> None:
        from confluent_kafka import KafkaException, Producer

        self._producer = Producer({**client, "message.timeout.ms": round(_TIMEOUT_S * 1000)})
        self._errors = (KafkaException, BufferError)
        self._topic = topic
        self._say = say
        self._has_failed = False

    def __call__(self, state: Snapshot) -> None:
        """Write a state, and wait until the broker has it."""
        value = json.dumps(snapshot_json(state))
        try:
            self._producer.produce(self._topic, key=state.bridge, value=value, on_delivery=self._delivered)
            self._producer.flush(_TIMEOUT_S)
        except self._errors as failure:
            self._note(str(failure))

    def _delivered(self, error: Any, _message: Any) -> None:
        self._note("" if error is None else error.str())

    def _note(self, problem: str) -> None:
        """Print a problem, but not one after the other."""
        if problem and not self._has_failed:
            self._say(f"topic {self._topic} does not take reports of progress, and the run goes on: {problem}")
        self._has_failed = bool(problem)


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
