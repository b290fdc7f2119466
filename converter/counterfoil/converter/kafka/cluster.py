"""Requests to the broker: topics, their settings and watermarks, and reading a range of a topic.

Spark reads and writes the records of a run; this module reads topics before, between and after runs.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from counterfoil.converter.errors import BrokerRefused, BrokerUnreachable
from counterfoil.converter.kafka.requests import committed
from counterfoil.schema.extras import needed_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.converter.errors import BridgeError

_QUIET = {"log_level": 0}
_FETCH = {"fetch.wait.max.ms": 50, "queued.min.messages": 200_000, "fetch.message.max.bytes": 4 << 20}
_BATCH_MESSAGES = 5_000
_POLL_S = 0.2
_IDLE_DEADLINE_S = 60.0
_SETTLE_S = 0.5


class Cluster:
    """A Kafka cluster; every request has a time limit.

    Raises ``BrokerUnreachable`` when no broker responds within ``timeout_s``, and ``MissingExtra`` when the Kafka
    client is not installed.
    """

    def __init__(self, bootstrap_servers: str, *, timeout_s: float = 10.0) -> None:
        with needed_by("A bridge", extra="converter"):
            from confluent_kafka import Consumer
            from confluent_kafka.admin import AdminClient
        self.bootstrap_servers = bootstrap_servers
        self._timeout_s = timeout_s
        self._base = {"bootstrap.servers": bootstrap_servers, **_QUIET}
        self._admin = AdminClient(self._base)
        self._new_consumer = Consumer
        self._metadata()

    def _metadata(self) -> Any:
        from confluent_kafka import KafkaException

        try:
            return self._admin.list_topics(timeout=self._timeout_s)
        except KafkaException as failure:
            reason = f"{failure.args[0].str()} (waited {self._timeout_s:g} s)"
            raise BrokerUnreachable(self.bootstrap_servers, reason=reason) from None

    def partition_count(self, topic: str) -> int | None:
        """Return how many partitions ``topic`` has; None when there is no such topic."""
        found = self._metadata().topics.get(topic)
        return len(found.partitions) if found is not None and found.error is None else None

    def settings(self, topic: str) -> dict[str, str]:
        """Return the settings in effect for ``topic``, as Kafka spells them."""
        from confluent_kafka.admin import ConfigResource, ResourceType

        resource = ConfigResource(ResourceType.TOPIC, topic)
        answer = self._admin.describe_configs([resource], request_timeout=self._timeout_s)[resource]
        what = f"to describe the settings of topic {topic} (right DESCRIBE_CONFIGS)"
        return {name: entry.value for name, entry in self._result(answer, what).items()}

    def rights(self, topics: Iterable[str]) -> dict[str, frozenset[str] | None]:
        """Return the rights on each topic, as Kafka names operations.

        None for a topic that does not exist, and from a broker that does not report rights. Of a topic that may not be
        described there are none, whether or not it exists.
        """
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        wanted = TopicCollection(list(topics))
        answers = self._admin.describe_topics(
            wanted, include_authorized_operations=True, request_timeout=self._timeout_s
        )
        found: dict[str, frozenset[str] | None] = {}
        for topic, answer in answers.items():
            try:
                operations = answer.result(self._timeout_s).authorized_operations
                found[topic] = None if operations is None else frozenset(each.name for each in operations)
            except KafkaException as failure:
                code = failure.args[0].code()
                if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    found[topic] = None
                elif code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    found[topic] = frozenset()
                else:
                    raise self._failure(failure, f"to describe topic {topic}") from None
        return found

    def create_topic(self, topic: str, *, partitions: int, settings: Mapping[str, str]) -> None:
        """Create ``topic`` and wait until clients can see it; an existing one is not changed."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import NewTopic

        new = NewTopic(topic, num_partitions=partitions, config=dict(settings))
        try:
            self._admin.create_topics([new])[topic].result(self._timeout_s)
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self._failure(failure, f"to create topic {topic} (right CREATE)") from None
        end = time.monotonic() + self._timeout_s
        while self.partition_count(topic) != partitions and time.monotonic() < end:
            time.sleep(_POLL_S)

    def _result(self, answer: Any, what: str) -> Any:
        from confluent_kafka import KafkaException

        try:
            return answer.result(self._timeout_s)
        except KafkaException as failure:
            raise self._failure(failure, what) from None

    def _failure(self, failure: Any, what: str) -> BridgeError:
        """Return the error for a ``KafkaException`` of the request ``what``, such as "to describe topic rides"."""
        return broker_error(failure.args[0], self.bootstrap_servers, what)

    def watermarks(self, topic: str) -> dict[int, tuple[int, int]]:
        """Return the first available offset and the one after the last, by partition."""
        from confluent_kafka import KafkaException, TopicPartition

        partitions = self.partition_count(topic) or 0
        with closing(self._consumer()) as consumer:
            try:
                return {
                    number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=self._timeout_s)
                    for number in range(partitions)
                }
            except KafkaException as failure:
                raise self._failure(failure, f"to read the offsets of topic {topic} (right DESCRIBE)") from None

    def settled_watermarks(self, topic: str, *, deadline_s: float = 30.0) -> dict[int, tuple[int, int]]:
        """Return the watermarks when they no longer change, or those after ``deadline_s`` seconds.

        After a crash, of a broker or of a producer, the end of a partition may still change for a short time.
        """
        end = time.monotonic() + deadline_s
        before = self.watermarks(topic)
        while time.monotonic() < end:
            time.sleep(_SETTLE_S)
            now = self.watermarks(topic)
            if now == before:
                break
            before = now
        return before

    def offsets_since(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return, by partition, the first offset whose record is not older than ``timestamp_ms``, or the end."""
        from confluent_kafka import KafkaException, TopicPartition

        ends = self.watermarks(topic)
        wanted = [TopicPartition(topic, number, max(0, timestamp_ms)) for number in ends]
        with closing(self._consumer()) as consumer:
            try:
                found = consumer.offsets_for_times(wanted, timeout=self._timeout_s)
            except KafkaException as failure:
                raise self._failure(failure, f"to read the offsets of topic {topic} (right DESCRIBE)") from None
        return {each.partition: each.offset if each.offset >= 0 else ends[each.partition][1] for each in found}

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the offsets that ``group`` has committed, by partition; partitions without one are left out.

        Offsets of transactions that are still open are not included.
        """
        from confluent_kafka import KafkaException, TopicPartition

        wanted = [TopicPartition(topic, number) for number in range(self.partition_count(topic) or 0)]
        with closing(self._consumer(group, isolation="read_uncommitted")) as consumer:
            try:
                found = committed(consumer, wanted, deadline_s=self._timeout_s)
            except KafkaException as failure:
                raise self._failure(failure, f"to read the offsets of group {group} (right DESCRIBE)") from None
        return {each.partition: each.offset for each in found if each.offset >= 0}

    def read(self, topic: str, range_by_partition: Mapping[int, tuple[int, int]]) -> Iterator[Any]:
        """Yield the records of ``topic`` in ranges of offsets, the end of each exclusive, in order within a partition.

        Only committed records are read; gaps are skipped. Raises ``BrokerUnreachable`` when nothing is received for a
        minute.
        """
        open_end = {number: end for number, (first, end) in range_by_partition.items() if first < end}
        if not open_end:
            return
        from confluent_kafka import TopicPartition

        with closing(self._consumer()) as consumer:
            consumer.assign([TopicPartition(topic, number, range_by_partition[number][0]) for number in open_end])
            quiet_since = time.monotonic()
            while open_end:
                messages = consumer.consume(_BATCH_MESSAGES, timeout=_POLL_S)
                if messages:
                    quiet_since = time.monotonic()
                elif time.monotonic() - quiet_since > _IDLE_DEADLINE_S:
                    raise BrokerUnreachable(self.bootstrap_servers, reason=f"topic {topic} gave nothing for a minute")
                yield from self._within(messages, open_end)

    def _within(self, messages: list[Any], open_end: dict[int, int]) -> Iterator[Any]:
        """Yield the records among ``messages`` that are in range.

        Remove partitions that reach their end from ``open_end``.
        """
        from confluent_kafka import KafkaError

        for message in messages:
            partition, error = message.partition(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
                raise broker_error(error, self.bootstrap_servers, f"to read from topic {message.topic()} (right READ)")
            end = open_end.get(partition)
            if end is None:
                continue
            if error is None and message.offset() < end:
                yield message
            if message.offset() >= end - 1:
                del open_end[partition]

    def _consumer(self, group: str = "counterfoil-bridge", *, isolation: str = "read_committed") -> Any:
        """Return a consumer to which partitions are assigned explicitly, and which commits nothing."""
        return self._new_consumer(
            {
                **self._base,
                **_FETCH,
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": isolation,
            }
        )


def named_cluster(bootstrap_servers: str | None) -> Cluster:
    """Return the cluster that the option of a command names, or its variable; a usage error if neither does."""
    if not bootstrap_servers:
        raise click.UsageError("which Kafka cluster? --bootstrap-servers or COUNTERFOIL_BOOTSTRAP_SERVERS")
    return Cluster(bootstrap_servers)


def broker_error(error: Any, bootstrap_servers: str, what: str) -> BridgeError:
    """Return the error for a ``KafkaError`` of the request ``what``: a right is missing, or the broker is away."""
    from confluent_kafka import KafkaError

    refusals = (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    )
    if error.code() in refusals:
        return BrokerRefused(f"The broker refuses {what}: {error.str()}")
    return BrokerUnreachable(bootstrap_servers, reason=error.str())
