from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.kafka.offsets import committed
from counterfoil.sdk.errors import InvalidSettings

BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class Answer:
    """A committed offset of a partition, or the reason why the broker does not return it."""

    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self.offset = offset
        self.error = error


class Consumer:
    """A consumer whose requests have these answers, one after the other."""

    def __init__(self, *answers: list[Answer]) -> None:
        self._answers = iter(answers)

    def committed(self, _partitions: list[Any], *, timeout: float) -> list[Answer]:
        assert timeout == 5.0
        return next(self._answers)


WANTED = [TopicPartition("in", 0), TopicPartition("in", 1)]


def test_a_partition_that_the_broker_refuses_is_an_error_and_not_a_partition_without_offset() -> None:
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        committed(Consumer([Answer(3), Answer(-1001, refused)]), WANTED, deadline_s=5.0)


def test_an_offset_that_is_about_to_change_is_requested_again() -> None:
    unstable = KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT)
    consumer = Consumer([Answer(3), Answer(-1001, unstable)], [Answer(3), Answer(-1001)])
    found = committed(consumer, WANTED, deadline_s=5.0)
    assert [each.offset for each in found] == [3, -1001]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"security.protocol": "FOO"}, 'Invalid value "FOO" for configuration property "security.protocol"'),
        ({"security.protocol": "SSL", "ssl.ca.pem": f"{BEGIN}AAAA{END}"}, "failed to read certificate #0"),
    ],
)
def test_settings_that_the_client_refuses_are_reported_in_one_sentence(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidSettings, match=f"The Kafka client refuses its settings: .*{reason}"):
        Cluster("127.0.0.1:1", settings)
