"""The functions of confluent-kafka that name subjects and place schema ids, for settings that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.serde.context import field_of, topic_of
from counterfoil.sdk.subjects import RECORD, TOPIC, TOPIC_RECORD

if TYPE_CHECKING:
    from counterfoil.sdk.serde.context import MessageContext


prefix_schema_id_serializer: Final = "prefix_schema_id_serializer"
header_schema_id_serializer: Final = "header_schema_id_serializer"
dual_schema_id_deserializer: Final = "dual_schema_id_deserializer"
prefix_schema_id_deserializer: Final = "prefix_schema_id_deserializer"


def topic_subject_name_strategy(ctx: MessageContext | None, record_name: str | None) -> str:
    """Return ``{topic}-key`` or ``{topic}-value``."""
    return TOPIC(topic_of(ctx), field_of(ctx), record_name)


def topic_record_subject_name_strategy(ctx: MessageContext | None, record_name: str | None) -> str:
    """Return ``{topic}-{record's full name}``."""
    return TOPIC_RECORD(topic_of(ctx), field_of(ctx), record_name)


def record_subject_name_strategy(ctx: MessageContext | None, record_name: str | None) -> str:
    """Return the record's full name."""
    return RECORD(topic_of(ctx), field_of(ctx), record_name)


def reference_subject_name_strategy(ctx: MessageContext | None, schema_ref: Any) -> str:
    """Return the name of the reference: the path of an imported Protobuf file."""
    del ctx
    return str(schema_ref.name)
