"""Operators of Bytewax that read and write whole messages, with headers, tombstones and null keys.

Bytewax's own operators in ``bytewax.connectors.kafka.operators`` take the serializers as they are. They give them no
headers, do not write tombstones, and know the topic of a message only if it names one; these operators do all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from counterfoil.schema.errors import needed_by
from counterfoil.sdk.adapters.dead_letters import KeyValueReader, dead_letter, header_pairs, new_context
from counterfoil.sdk.errors import SchemaNotCached, SerdeError
from counterfoil.sdk.serde.base import RecordReader
from counterfoil.sdk.serde.serializer import Serializer

with needed_by("The adapter of Bytewax", extra="bytewax"):
    import bytewax.operators as op
    from bytewax.connectors.kafka import KafkaError, KafkaSinkMessage, KafkaSourceMessage
    from bytewax.connectors.kafka.operators import KafkaOpOut
    from bytewax.dataflow import Stream, operator
    from confluent_kafka import KafkaError as Report
    from confluent_kafka import KafkaException

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Failed(KafkaError[K, V]):
    """A message as it came (``msg``), and the ``error`` of its key or value; ``err`` is the same for Bytewax."""

    error: SerdeError


@operator
def deserialize(
    step_id: str,
    up: Stream[KafkaSourceMessage[bytes | None, bytes | None]],
    *,
    key_deserializer: RecordReader[Any] | None = None,
    val_deserializer: RecordReader[Any] | None = None,
) -> KafkaOpOut[KafkaSourceMessage[Any, Any], Failed[bytes | None, bytes | None]]:
    """Return the messages with their keys and values (``oks``), and those that cannot be read (``errs``).

    Every message is read by its own topic and headers; without a deserializer its bytes stay. None is read as None.
    Errors that are not the message's, such as ``RegistryUnavailable``, end the dataflow, which resumes at its last
    snapshot.
    """
    reading = KeyValueReader(key_deserializer, val_deserializer)

    def read(message: KafkaSourceMessage[bytes | None, bytes | None]) -> object:
        consumed = reading.read(message)
        if isinstance(consumed.error, SerdeError):
            return Failed(_report(consumed.error, "DESERIALIZATION"), message, consumed.error)
        return message._with_key_and_value(consumed.key, consumed.value)

    return _split(op.flat_map_batch("read", up, lambda batch: map(read, batch)))


@operator
def serialize(
    step_id: str,
    up: Stream[KafkaSourceMessage[Any, Any] | KafkaSinkMessage[Any, Any]],
    *,
    topic: str | None = None,
    key_serializer: Serializer[Any] | None = None,
    val_serializer: Serializer[Any] | None = None,
) -> KafkaOpOut[KafkaSinkMessage[bytes | None, bytes | None], Failed[Any, Any]]:
    """Return the messages as bytes for a sink (``oks``), and those that cannot be written (``errs``).

    ``topic`` is the topic of messages that name none; messages of a source are written to it, whatever topic they came
    from. Without a serializer the bytes stay. None is written as null: a tombstone, or a null key. The schema ids in
    the headers are replaced.
    """

    def write(message: KafkaSourceMessage[Any, Any] | KafkaSinkMessage[Any, Any]) -> object:
        sink = message.to_sink() if isinstance(message, KafkaSourceMessage) else message
        target = sink.topic or topic
        headers: list[Any] = list(header_pairs(sink.headers))
        try:
            key = sink.key if key_serializer is None else key_serializer(sink.key, new_context(target, "key", headers))
            value = sink.value
            if val_serializer is not None:
                value = val_serializer(value, new_context(target, "value", headers))
        except SchemaNotCached:
            raise
        except SerdeError as error:
            return Failed(_report(error, "SERIALIZATION"), message, error)  # type: ignore[arg-type]  # either message
        return KafkaSinkMessage(key, value, target, headers, sink.partition, sink.timestamp)

    return _split(op.flat_map_batch("write", up, lambda batch: map(write, batch)))


@operator
def dead_letters(
    step_id: str,
    up: Stream[KafkaError[bytes | None, bytes | None]],
) -> Stream[KafkaSinkMessage[bytes | None, bytes | None]]:
    """Return messages that could not be read as they came, with the reason in their headers, for a sink."""

    def explain(failed: KafkaError[bytes | None, bytes | None]) -> KafkaSinkMessage[bytes | None, bytes | None]:
        error = failed.error if isinstance(failed, Failed) else KafkaException(failed.err)
        return KafkaSinkMessage(**dead_letter(failed.msg, error))  # type: ignore[arg-type]  # headers may be null

    return op.map("explain", up, explain)


def _report(error: SerdeError, what: str) -> Report:
    half = "KEY" if error.field == "key" else "VALUE"
    return Report(getattr(Report, f"_{half}_{what}"), str(error))


def _split(outcomes: Stream[Any]) -> KafkaOpOut[Any, Any]:
    branch = op.branch("split", outcomes, lambda outcome: not isinstance(outcome, Failed))
    return KafkaOpOut(branch.trues, branch.falses)
