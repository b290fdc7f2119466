"""Dead letters: records that could not be read, unchanged, with headers that give the reason."""

from __future__ import annotations

from typing import Any, Final, TypedDict

from counterfoil.sdk.adapters.headers import header_pairs
from counterfoil.sdk.serde.places import member

ERROR: Final = "counterfoil.error"
"""The class of the error, such as ``DecodeError``."""
ERROR_FIELD: Final = "counterfoil.error.field"
"""The half of the record that could not be read: ``key`` or ``value``."""
ERROR_TEXT: Final = "counterfoil.error.text"
"""The error as a sentence."""
SOURCE: Final = "counterfoil.src"
"""The position of the record: ``topic/partition/offset``."""


class DeadLetter(TypedDict):
    """The arguments of a client's ``produce`` or ``send``, besides the topic."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def dead_letter(record: Any, error: BaseException) -> DeadLetter:
    """Return the record as it was consumed, with the ``error`` in its headers.

    ``record`` is one of confluent-kafka, aiokafka or kafka-python whose key and value are still bytes. Use it as in
    ``producer.produce("rides.dead-letters", **dead_letter(record, error))``.
    """
    key, value = member(record, "key"), member(record, "value")
    return DeadLetter(key=key, value=value, headers=[*header_pairs(member(record, "headers")), *_reason(record, error)])


def _reason(record: Any, error: BaseException) -> list[tuple[str, bytes | None]]:
    place = "/".join(str(member(record, name)) for name in ("topic", "partition", "offset"))
    facts = {
        ERROR: type(error).__name__,
        ERROR_FIELD: getattr(error, "field", None) or "",
        ERROR_TEXT: str(error),
        SOURCE: place,
    }
    return [(name, text.encode()) for name, text in facts.items()]
