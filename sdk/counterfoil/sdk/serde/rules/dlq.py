"""The action DLQ: sends a record whose rule failed to a dead letter topic, and then raises the error of the rule.

Settings of the program, in ``Rules(conf=…)`` or given to :class:`DeadLetterAction`:

- ``dlq.topic``: the topic; without it, the parameter ``dlq.topic`` of the rule is.
- ``dlq.auto.flush``: whether every record is awaited until the broker has it.
- ``dlq.redact.rule.types``: the types of rules whose fields are removed from the value.
- ``producer``: a producer with the methods of confluent-kafka's, or a function ``(topic, key, value, headers)``.
- ``dlq.producer``: a dict of settings for a producer that is made when the first record is sent.

Source: confluent-kafka 2.16, whose records have the same headers and values.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final, TypeAlias
from uuid import UUID

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import MissingExtra, needed_by
from counterfoil.sdk.errors import EncryptionError, RuleConditionFailed, RuleError, RuleTypeMissing
from counterfoil.sdk.serde.rules.protocol import RuleMode, RuleRun
from counterfoil.sdk.serde.rules.settings import NEED
from counterfoil.sdk.serde.rules.stages import refuse
from counterfoil.sdk.serde.rules.values import REDACTED, mentions, tags_to_hide

Send: TypeAlias = Callable[[str, bytes | None, bytes | None, list[tuple[str, bytes | None]]], object]
"""Sends a record: topic, key, value, headers."""

_LOG: Final = logging.getLogger(__name__)
_REDACTED: Final = ("ENCRYPT", "ENCRYPT_PAYLOAD")
_PREFIX: Final = "__rule."
_INT64: Final = range(-(2**63), 2**63)
_PRODUCER: Final[Mapping[str, Datum]] = {
    "acks": "all",
    "enable.idempotence": False,
    "max.in.flight.requests.per.connection": 1,
    "message.timeout.ms": 0,  # without end
}


class DeadLetterAction:
    """Sends records to a dead letter topic; ``conf`` are its settings, before those of the program's rules.

    Settings of ``conf`` whose names do not begin with ``dlq.`` are those of the producer.
    """

    def __init__(self, conf: Mapping[str, object] | None = None) -> None:
        self._conf = dict(conf or {})
        self._producer: Any = None
        self._lock = Lock()
        NEED.begin()

    def run(self, run: RuleRun) -> None:
        """Send the record, and raise ``RuleError``; a record that cannot be sent is logged."""
        conf = {**run.scope.conf, **self._conf}
        topic = conf.get("dlq.topic") or run.scope.parameter("dlq.topic")
        if not topic:
            problem = "The action DLQ has no topic: set dlq.topic in the rule or in the settings of rules"
            raise RuleError(problem, rule=run.scope.rule.name, action="DLQ")
        try:
            self._send(run, conf, str(topic))
        except RuleTypeMissing:
            raise
        except Exception:  # noqa: BLE001 - whatever a producer raises, the error of the rule is raised below
            _LOG.exception("The record could not be sent to the dead letter topic %s", topic)
        refuse(run, "DLQ")

    def close(self) -> None:
        """Wait until all records are sent."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            producer.flush()

    def _send(self, run: RuleRun, conf: Mapping[str, Datum], topic: str) -> None:
        try:
            key, value, headers = _redacted(run, conf)
        except Exception as error:  # noqa: BLE001 - its text may contain what must not be seen
            _LOG.error(
                "%s: the record could not be redacted, and was not sent to the dead letter topic %s",
                type(error).__name__,
                topic,
            )
            return
        given = conf.get("producer")
        if given is not None and not hasattr(given, "produce"):
            given(topic, key, value, headers)
            return
        producer = given if given is not None else self._own_producer(conf)
        producer.produce(topic, key=key, value=value, headers=headers, on_delivery=_report)
        producer.poll(0)
        if str(conf.get("dlq.auto.flush")).lower() == "true":
            producer.flush()

    def _own_producer(self, conf: Mapping[str, Datum]) -> Datum:
        """Return the producer, made when it is first needed."""
        with self._lock:
            if self._producer is None:
                try:
                    with needed_by("The action DLQ", extra="kafka"):
                        from confluent_kafka import Producer
                except MissingExtra as missing:
                    raise RuleTypeMissing(str(missing)) from missing
                own = {name: value for name, value in self._conf.items() if not name.startswith("dlq.")}
                self._producer = Producer({**_PRODUCER, **dict(conf.get("dlq.producer") or {}), **own})
            return self._producer


def _listed(value: object, default: tuple[str, ...]) -> tuple[str, ...]:
    return default if value is None else tuple(part.strip() for part in str(value).split(","))


def _redacted(
    run: RuleRun, conf: Mapping[str, object]
) -> tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
    """Return the key, the value and the headers of a record without the parts that rules encrypt."""
    types = _listed(conf.get("dlq.redact.rule.types"), _REDACTED)
    tags = tags_to_hide(run.scope.rule_set, types)
    found: list[Datum] = []
    key, value = run.key, run.value
    if run.scope.field == "key":
        key = run.redact(key, tags, found)
    else:
        value = None if value is None else run.redact(value, tags, found)
        key = key if run.redact_key is None else run.redact_key(key, types, found)
    if tags == frozenset() or run.scope.mode is RuleMode.WRITE:
        return _bytes_of(key), _bytes_of(value), _headers(run, found)
    seen = run.marked(tags) if run.marked is not None else None  # what is read is decrypted before other rules run
    return _bytes_of(key), _bytes_of(value), _headers(run, None if seen is None else [*found, *seen])


def _report(error: Any, message: Datum) -> None:
    if error is not None:
        topic = message.topic() if message is not None else "unknown"
        _LOG.error("The record could not be sent to the dead letter topic %s: %s", topic, error)


def _headers(run: RuleRun, hidden: list[Datum] | None) -> list[tuple[str, bytes | None]]:
    """Return the headers of the record, and those that say what failed, without a text that mentions hidden values.

    If these are not known, the text of no error is included that may quote a value.
    """
    given = run.headers or []
    pairs = given.items() if isinstance(given, Mapping) else given
    scope = run.scope
    facts = {
        "name": scope.rule.name,
        "mode": scope.mode.value,
        "subject": scope.subject,
        "topic": scope.topic,
        "exception": None if run.error is None else _reason(run.error, hidden),
    }
    own = [(_PREFIX + name, value) for name, value in facts.items() if name != "exception" or value is not None]
    return [(name, _header(value)) for name, value in (*pairs, *own)]


def _reason(error: Exception, hidden: list[Datum] | None) -> str:
    text = str(error)
    is_fixed = isinstance(error, (RuleConditionFailed, EncryptionError))
    quotes = not is_fixed if hidden is None else mentions(text, hidden)
    return f"{type(error).__name__} ({REDACTED})" if quotes else text


def _header(value: object) -> bytes | None:
    if value is None:
        return None
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else str(value).encode()


def _bytes_of(value: object) -> bytes | None:
    """Return a key or a value as bytes: as it is, as Kafka's own serializers write it, or else as JSON."""
    match value:
        case None:
            return None
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case str() | UUID():
            return str(value).encode()
        case int() if not isinstance(value, bool) and value in _INT64:
            return struct.pack(">q", value)
        case float():
            return struct.pack(">d", value)
    return _json(value)


def _json(value: Datum) -> bytes:
    if hasattr(value, "DESCRIPTOR"):
        from google.protobuf.json_format import MessageToJson

        return MessageToJson(value).encode()
    return json.dumps(value, default=_as_text).encode()


def _as_text(value: object) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, (bytes, bytearray)) else str(value)
