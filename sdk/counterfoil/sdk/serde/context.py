"""The record that is serialized, for programs whose Kafka client has no such context of its own.

``MessageField`` and ``SerializationContext`` have the members of confluent-kafka's classes of the same names, so that
either can be given to either's serializers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from counterfoil.sdk.subjects import Field

Headers: TypeAlias = Any
"""Kafka headers: a list of (name, bytes) pairs, a dict, or None."""


class MessageField(StrEnum):
    """The half of a Kafka record that is serialized.

    >>> "rides" + "-" + MessageField.VALUE
    'rides-value'
    """

    KEY = "key"
    VALUE = "value"


class MessageContext(Protocol):
    """The known facts of a record; ``SerializationContext`` is one, and so is confluent-kafka's."""

    @property
    def topic(self) -> str | None:
        """The topic; None where it is not known."""

    @property
    def field(self) -> str:
        """``key`` or ``value``."""


@dataclass(slots=True)
class SerializationContext:
    """The topic of a record (None when it is not known), the half of it that is serialized, and its headers.

    Headers are a list of (name, bytes) pairs or a dict; a serializer that puts the schema's guid there adds to them.
    """

    topic: str | None
    field: str = MessageField.VALUE
    headers: Headers = None


def topic_of(ctx: MessageContext | None) -> str | None:
    """Return the topic of a context; None without one."""
    topic = getattr(ctx, "topic", None)
    return topic if isinstance(topic, str) else None


def field_of(ctx: MessageContext | None) -> Field:
    """Return the half of the record of a context; the value without one."""
    return "key" if getattr(ctx, "field", None) == "key" else "value"


def headers_of(ctx: MessageContext | None) -> Headers:
    """Return the headers of a context; None without any."""
    return getattr(ctx, "headers", None)
