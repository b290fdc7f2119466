"""Records of a topic: where reading starts, records that are read, and records that are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

from counterfoil.contracts.errors import InputNotFound, TopicAccessRefused, UsageMistake
from counterfoil.schema.errors import needed_by
from counterfoil.schema.sampling import Bounds, Offsets, milliseconds_of
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.kafka import READING, KafkaAccess, RangeReader
from counterfoil.sdk.serde import Record, read_header

# Records of a topic: read from given places, or written.

_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A record of a topic; ``timestamp_ms`` is None if it has none."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def half(self, *, is_key: bool) -> tuple[bytes | None, bytes | None]:
        """Return the key or the value, and the header that names its schema, if there is one."""
        name = KEY_HEADER if is_key else VALUE_HEADER
        return (self.key if is_key else self.value), read_header(list(self.headers), name)


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to write; ``partition`` and ``timestamp_ms`` are chosen by the client if they are None."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class KafkaTopic:
    """The records of a topic; a context manager. Its methods raise ``ConnectionError`` if no broker answers."""

    def __init__(self, access: KafkaAccess, name: str) -> None:
        with needed_by("A topic", extra="kafka"):
            from confluent_kafka import Consumer, KafkaException
        self.name = name
        self._access = access
        try:
            self._consumer = Consumer({**access.client_settings(), **READING, "group.id": "counterfoil"})
        except KafkaException as error:
            raise self._unreadable(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def partitions(self) -> tuple[int, ...]:
        """Return the numbers of the partitions; raise ``InputNotFound`` if there is no such topic."""
        found = self._try(lambda: self._consumer.list_topics(timeout=_TIMEOUT_S)).topics.get(self.name)
        if found is None or found.error is not None:
            raise InputNotFound(f"there is no topic {self.name!r} at {self._access.servers}")
        return tuple(sorted(found.partitions))

    def bounds(self, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition, and the one after the last."""
        from confluent_kafka import TopicPartition

        place = TopicPartition(self.name, partition)
        first, end = self._try(lambda: self._consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S))
        return first, end

    def offsets_at(self, moment_ms: int) -> dict[int, int]:
        """Return the offset of the first record of each partition that is not older, if there is one."""
        from confluent_kafka import TopicPartition

        places = [TopicPartition(self.name, one, max(0, moment_ms)) for one in self.partitions()]
        found = self._try(lambda: self._consumer.offsets_for_times(places, timeout=_TIMEOUT_S))
        return {each.partition: each.offset for each in found if each.offset >= 0}

    def read(self, ranges: Mapping[int, tuple[int, int | None]]) -> Iterator[KafkaRecord]:
        """Yield the records of each partition from an offset to another, which is not included.

        Without a second offset it waits for new records. Offsets without a record, as after compaction, are left out.
        """
        for messages in self._reader().read(ranges):
            yield from map(_record_of, messages)

    def sample(self, offsets: Offsets) -> Iterator[list[Record]]:
        """Yield lists of the messages at these offsets, as confluent-kafka has them."""
        return self._reader().sample(offsets)

    def _reader(self) -> RangeReader:
        unreadable = f"topic {self.name!r} at {self._access.servers} cannot be read"
        return RangeReader(
            self._consumer,
            self.name,
            idle_s=_TIMEOUT_S,
            waits_for_end=False,
            failed=lambda error: _failure(unreadable, error),
            silent=lambda: ConnectionError(f"{unreadable}: no answer"),
        )

    def write(self, records: Sequence[NewRecord]) -> list[tuple[int, int] | str]:
        """Write the records, and return the partition and the offset of each, or why it was not written."""
        from confluent_kafka import KafkaException, Producer

        done: list[tuple[int, int] | str] = ["the broker did not confirm it in time"] * len(records)

        def reporter(index: int) -> Callable[[Any, Any], None]:
            def report(error: Any, message: Record) -> None:
                done[index] = error.str() if error else (message.partition(), message.offset())

            return report

        timeouts = {"enable.idempotence": True, "message.timeout.ms": int(_TIMEOUT_S * 1000)}
        try:
            producer = Producer({**timeouts, **self._access.client_settings()})
        except KafkaException as error:
            raise self._unreadable(error) from None
        for index, record in enumerate(records):
            choices = {"partition": record.partition, "timestamp": record.timestamp_ms}
            given = {name: value for name, value in choices.items() if value is not None}
            facts = {"key": record.key, "value": record.value, "headers": list(record.headers), **given}
            while True:
                try:
                    producer.produce(self.name, on_delivery=reporter(index), **facts)
                    break
                except BufferError:  # the client's queue is full
                    producer.poll(_POLL_S)
                except KafkaException as error:
                    done[index] = error.args[0].str()
                    break
        producer.flush(_TIMEOUT_S * 2)
        return done

    def _try(self, request: Callable[[], Any]) -> Any:
        from confluent_kafka import KafkaException

        try:
            return request()
        except KafkaException as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> Exception:
        return _failure(f"topic {self.name!r} at {self._access.servers} cannot be read", error.args[0])


def fetch_record(
    access: KafkaAccess, name: str, partition: int, offset: int | None, *, is_key: bool
) -> tuple[bytes, bytes | None]:
    """Return the value (or the key) of a record, and its header that names a schema; without ``offset``, of the last.

    Raises ``InputNotFound`` if there is no such record or it is null, and ``ConnectionError`` if no broker answers.
    """
    with KafkaTopic(access, name) as topic:
        first, end = topic.bounds(partition)
        wanted = end - 1 if offset is None else offset
        place = f"offset {wanted} of partition {partition} of topic {name!r}"
        if not first <= wanted < end:
            raise InputNotFound(f"there is no record at {place}, which has the offsets from {first} to {end - 1}")
        record = next(topic.read({partition: (wanted, wanted + 1)}), None)
    if record is None:
        raise InputNotFound(f"the record at {place} could not be read; it may have been removed by compaction")
    data, named = record.half(is_key=is_key)
    if data is None:
        raise InputNotFound(f"the {'key' if is_key else 'value'} of the record at {place} is null")
    return data, named


def _failure(unreadable: str, error: Any) -> Exception:
    """Return the error for a ``KafkaError``: the broker refuses it, or cannot be reached."""
    from confluent_kafka import KafkaError

    refusals = (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
    )
    if error.code() in refusals:
        return TopicAccessRefused(f"{unreadable}: {error.str()}")
    if error.code() in {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}:  # noqa: SLF001 (the names of the codes)
        return ConnectionError(f"{unreadable}: no broker answers there; check the address, and that the broker runs")
    return ConnectionError(f"{unreadable}: {error.str()}")


def _record_of(message: Record) -> KafkaRecord:
    kind, timestamp_ms = message.timestamp()
    return KafkaRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp_ms if kind else None,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


# Where the reading of a topic starts: the value of ``--from``.

_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Start:
    """A place in every partition: an ``offset`` (negative: so many records before the end), or a ``moment``.

    Both are None for the end.
    """

    offset: int | None = None
    moment: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> Start:
        """Return the start that ``text`` names: beginning, end, an offset, ``-N``, or a time in ISO 8601.

        >>> Start.parse("-10")
        Start(offset=-10, moment=None)
        """
        if text in {"beginning", "end"}:
            return cls(0 if text == "beginning" else None)
        if _NUMBER.fullmatch(text):
            return cls(int(text))
        try:
            return cls(None, datetime.fromisoformat(text).astimezone())
        except (ValueError, OverflowError):
            expected = "beginning, end, an offset, -N for the last N records, or a time such as 2026-01-31T12:00Z"
            raise UsageMistake(f"--from is {text!r}; expected {expected}") from None

    def offsets(self, topic: KafkaTopic, bounds: Bounds) -> dict[int, int]:
        """Return the offset at which the reading of each partition starts; ``bounds`` are the offsets that it has."""
        ends = {partition: end for partition, (_, end) in bounds.items()}
        if self.moment is not None:
            found = topic.offsets_at(milliseconds_of(self.moment))
            return {partition: found.get(partition, end) for partition, end in ends.items()}
        offset = self.offset
        if offset is None:
            return ends
        return {one: max(first, offset if offset >= 0 else end + offset) for one, (first, end) in bounds.items()}
