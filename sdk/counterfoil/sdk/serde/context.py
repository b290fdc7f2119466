"""The record that is serialized, for programs whose Kafka client has no such context of its own.

Both names have the members of confluent-kafka's classes of the same names, so that either can be given to either's
serializers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.sdk.serde.plans import Headers


class MessageField(StrEnum):
    """The half of a Kafka record that is serialized.

    >>> "rides" + "-" + MessageField.VALUE
    'rides-value'
    """

    KEY = "key"
    VALUE = "value"


@dataclass(slots=True)
class SerializationContext:
    """The topic of a record (None when it is not known), the half of it that is serialized, and its headers.

    Headers are a list of (name, bytes) pairs or a dict; a serializer that puts the schema's guid there adds to them.
    """

    topic: str | None
    field: str = MessageField.VALUE
    headers: Headers = None
