"""Requests to the broker: topics, their settings and watermarks, and reading a range of a topic.

Spark reads and writes the records of a run; this module reads topics before, between and after runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import click

from counterfoil.converter.errors import BridgeError, BrokerRefused, BrokerUnreachable
from counterfoil.converter.kafka.origins import committed, repeated
from counterfoil.schema.errors import needed_by
from counterfoil.schema.sampling import Offsets
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.kafka import READING, KafkaAccess, RangeReader

_FETCH = {"queued.min.messages": 200_000, "fetch.message.max.bytes": 4 << 20}
_POLL_S = 0.2
_IDLE_DEADLINE_S = 60.0
_SETTLE_S = 0.5


class Cluster:
    """A Kafka cluster; every request has a time limit.

    Raises ``BrokerUnreachable`` when no broker responds within ``timeout_s``, and ``MissingExtra`` when the Kafka
    client is not installed. ``settings`` are of a login, for example, as :class:`KafkaAccess` takes them; raises
    ``InvalidSettings`` for those that librdkafka refuses, and that not both it and Kafka's Java clients have.
    """

    def __init__(
        self, bootstrap_servers: str, settings: Mapping[str, str] | None = None, *, timeout_s: float = 10.0
    ) -> None:
        with needed_by("A bridge", extra="converter"):
            from confluent_kafka import Consumer, KafkaException
            from confluent_kafka.admin import AdminClient
        access = KafkaAccess(bootstrap_servers, settings or {}).with_files_read()
        self.bootstrap_servers = bootstrap_servers
        self.client_settings: Mapping[str, Any] = access.client_settings()
        self.java_settings: Mapping[str, str] = access.java_settings()
        self._timeout_s = timeout_s
        self._latest_error: Any = None
        try:
            self._admin = AdminClient({**self.client_settings, "error_cb": self._note})
        except KafkaException as failure:
            raise InvalidSettings(f"The Kafka client refuses its settings: {failure.args[0].str()}") from None
        self._new_consumer = Consumer
        self._metadata()

    def spark_options(self) -> dict[str, str]:
        """Return the options with which Spark's Kafka source and sink reach the cluster."""
        return {f"kafka.{name}": value for name, value in self.java_settings.items()}

    def _note(self, error: Any) -> None:
        """Keep an error of a connection, such as a refused login; requests only report that the time is over."""
        from confluent_kafka import KafkaError

        if self._latest_error is None or error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - its public name
            self._latest_error = error

    def _metadata(self) -> Any:
        from confluent_kafka import KafkaError, KafkaException

        try:
            found = self._admin.list_topics(timeout=self._timeout_s)
        except KafkaException as failure:
            self._admin.poll(0)
            error = self._latest_error or failure.args[0]
            if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001 - the client's own name
                raise BrokerRefused(f"The broker refuses the login: {error.str()}") from None
            reason = f"{error.str()} (waited {self._timeout_s:g} s)"
            raise BrokerUnreachable(self.bootstrap_servers, reason=reason) from None
        self._latest_error = None
        return found

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

        partitions = [TopicPartition(topic, number) for number in range(self.partition_count(topic) or 0)]
        with closing(self._consumer()) as consumer:

            def ask(partition: TopicPartition) -> tuple[int, int]:
                found: tuple[int, int] = consumer.get_watermark_offsets(partition, timeout=self._timeout_s)
                return found

            try:
                return {each.partition: repeated(partial(ask, each), deadline_s=self._timeout_s) for each in partitions}
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
        with closing(self._consumer()) as consumer:
            for messages in self._reader(consumer, topic).read(range_by_partition):
                yield from messages

    def sample(self, topic: str, offsets: Offsets) -> Iterator[Any]:
        """Yield the records of ``topic`` at these offsets, as :meth:`read` does."""
        with closing(self._consumer()) as consumer:
            for messages in self._reader(consumer, topic).sample(offsets):
                yield from messages

    def _reader(self, consumer: object, topic: str) -> RangeReader:
        return RangeReader(
            consumer,
            topic,
            idle_s=_IDLE_DEADLINE_S,
            failed=lambda error: broker_error(
                error, self.bootstrap_servers, f"to read from topic {topic} (right READ)"
            ),
            silent=lambda: BrokerUnreachable(
                self.bootstrap_servers, reason=f"no record of topic {topic} came within a minute"
            ),
        )

    def _consumer(self, group: str = "counterfoil-bridge", *, isolation: str = "read_committed") -> Any:
        """Return a consumer to which partitions are assigned explicitly, and which commits nothing."""
        return self._new_consumer(
            {
                **self.client_settings,
                **READING,
                **_FETCH,
                "group.id": group,
                "auto.offset.reset": "error",
                "isolation.level": isolation,
            }
        )


def named_cluster(kafka: KafkaAccess | None) -> Cluster:
    """Return the cluster that the options of a command name, or their variables; a usage error if none does."""
    if kafka is None:
        raise click.UsageError(
            "the address of the Kafka cluster is missing; give it as --bootstrap-servers or "
            "COUNTERFOIL_BOOTSTRAP_SERVERS, or as bootstrap.servers in the file of --kafka-config"
        )
    return Cluster(kafka.servers, kafka.settings)


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
