"""One record of a topic, for a command."""

from __future__ import annotations

import time
from typing import Any, Final

from counterfoil.contracts.errors import InputNotFound
from counterfoil.schema.errors import MissingExtra
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER

_TIMEOUT_S: Final = 30.0


def fetch_record(
    servers: str, topic: str, partition: int, offset: int | None, *, is_key: bool
) -> tuple[bytes, bytes | None]:
    """Return the value (or the key) of a record, and its header that names a schema; without ``offset``, of the last.

    Raises ``InputNotFound`` if there is no such record or it is null, and ``ConnectionError`` if no broker answers.
    """
    try:
        from confluent_kafka import Consumer, KafkaException, TopicPartition
    except ModuleNotFoundError as missing:
        raise MissingExtra("--topic", module="confluent_kafka", extra="kafka") from missing
    settings = {"bootstrap.servers": servers, "group.id": "counterfoil-decode", "enable.auto.commit": False}
    consumer = Consumer({**settings, "enable.partition.eof": True, "log_level": 0})
    try:
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_TIMEOUT_S)
        wanted = end - 1 if offset is None else offset
        place = f"offset {wanted} of partition {partition} of topic {topic!r}"
        if not first <= wanted < end:
            raise InputNotFound(f"there is no record at {place}, which has the offsets from {first} to {end - 1}")
        consumer.assign([TopicPartition(topic, partition, wanted)])
        record = _poll(consumer, place)
    except KafkaException as error:
        raise ConnectionError(f"topic {topic!r} at {servers} cannot be read: {error.args[0].str()}") from None
    finally:
        consumer.close()
    data = record.key() if is_key else record.value()
    if data is None:
        raise InputNotFound(f"the {'key' if is_key else 'value'} of the record at {place} is null")
    headers = dict(record.headers() or [])
    return data, headers.get(KEY_HEADER if is_key else VALUE_HEADER)


def _poll(consumer: Any, place: str) -> Any:
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        record = consumer.poll(1.0)
        if record is not None and record.error() is None:
            return record
        if record is not None:  # the end of the partition: the record itself was removed by compaction
            break
    raise InputNotFound(f"the record at {place} could not be read; it may have been removed by compaction")
