"""Requests to the broker that are repeated while it is not ready for them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE_S = 0.1


def repeated(call: Callable[[], Any], *, deadline_s: float) -> Any:
    """Return the result of ``call``; repeat it for ``deadline_s`` seconds while its errors are passing ones.

    Raises ``KafkaException``. A coordinator or a leader of a partition that is being elected, or is loading its log, is
    such an error: the client marks only those of producers so.
    """
    from confluent_kafka import KafkaError, KafkaException

    passing = (
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError._WAIT_COORD,  # noqa: SLF001 - the client's own name
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
    )
    deadline = time.monotonic() + deadline_s
    while True:
        try:
            return call()
        except KafkaException as failure:
            error = failure.args[0]
            if not (error.retriable() or error.code() in passing) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)


def committed(consumer: Any, partitions: list[Any], *, deadline_s: float) -> list[Any]:
    """Return the offsets that a consumer's group has committed, negative where there is none.

    Raises ``KafkaException``, also if the broker refuses one partition only: its records would else be written again.
    """
    from confluent_kafka import KafkaException

    def ask() -> list[Any]:
        found: list[Any] = consumer.committed(partitions, timeout=deadline_s)
        for each in found:
            if each.error is not None:
                raise KafkaException(each.error)
        return found

    answer: list[Any] = repeated(ask, deadline_s=deadline_s)
    return answer
