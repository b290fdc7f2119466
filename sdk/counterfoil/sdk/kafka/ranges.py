"""The records of a topic in ranges of offsets, and the settings of a consumer that reads them.

The consumer is given its partitions, so that it joins no group, and it commits nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.sampling.runs import turns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.sampling.selection import Offsets

READING: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
}
"""The settings of a consumer that reads ranges, besides addresses and ``group.id``."""

_BATCH_MESSAGES: Final = 5_000
_POLL_S: Final = 0.2
_DROP_S: Final = 0.01


class RangeReader:
    """Reads ranges of one topic with a ``consumer`` of confluent-kafka.

    ``failed`` makes the exception for a ``KafkaError``; ``silent`` the one for a topic that gives nothing for
    ``idle_s`` seconds although its end is not reached. With ``waits_for_end``, the end of what can be read now is not
    the end of a range: a transaction may still be open.
    """

    def __init__(
        self,
        consumer: Any,
        topic: str,
        *,
        idle_s: float,
        failed: Callable[[Any], Exception],
        silent: Callable[[], Exception],
        waits_for_end: bool = True,
    ) -> None:
        self._consumer = consumer
        self._topic = topic
        self._idle_s = idle_s
        self._failed = failed
        self._silent = silent
        self._waits_for_end = waits_for_end

    def read(self, ranges: Mapping[int, tuple[int, int | None]]) -> Iterator[list[Any]]:
        """Yield lists of the records in ranges of offsets, the end of each exclusive, in order within a partition.

        A range without an end is read for ever. Offsets without a record, as after compaction, are left out.
        """
        from confluent_kafka import TopicPartition

        rest = {number: end for number, (first, end) in ranges.items() if end is None or first < end}
        if not rest:
            return
        self._consumer.assign([TopicPartition(self._topic, number, ranges[number][0]) for number in sorted(rest)])
        missing = sum(end - ranges[number][0] for number, end in rest.items() if end is not None)
        heard_s = time.monotonic()
        is_beyond = False
        while rest:
            is_endless = None in rest.values()
            if is_beyond:  # a partition that is done gives more and more, which others wait behind
                messages = self._consumer.consume(_BATCH_MESSAGES, timeout=_DROP_S)
            else:
                most = 1 if is_endless else max(1, min(_BATCH_MESSAGES, missing))
                messages = self._consumer.consume(most, timeout=_POLL_S)
            if messages:
                heard_s = time.monotonic()
            elif not is_endless and time.monotonic() - heard_s > self._idle_s:
                raise self._silent()
            found = self._within(messages, rest)
            missing -= len(found)
            is_beyond = not is_endless and len(messages) > len(found)
            if found:
                yield found

    def sample(self, offsets: Offsets) -> Iterator[list[Any]]:
        """Yield lists of the records at these offsets."""
        for turn in turns_of(offsets):
            for messages in self.read(turn.spans):
                found = [each for each in messages if turn.takes(each.partition(), each.offset())]
                if found:
                    yield found

    def _within(self, messages: list[Any], rest: dict[int, int | None]) -> list[Any]:
        """Return the records among ``messages`` that are in range; remove partitions that reach their end."""
        from confluent_kafka import KafkaError

        found = []
        for message in messages:
            partition, error = message.partition(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
                raise self._failed(error)
            if partition not in rest:
                continue
            end = rest[partition]
            if error is None and (end is None or message.offset() < end):
                found.append(message)
            is_end = error is not None and not self._waits_for_end
            if end is not None and (is_end or message.offset() >= end - 1):
                del rest[partition]
        return found
