"""The codec of each language with which any message is read: values are plain, and nothing is validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.sdk.serde.codec import Codec


def plain_codec(schema_type: SchemaType) -> Codec[Any]:
    """Return the codec of a language; its module is imported now."""
    match schema_type:
        case SchemaType.AVRO:
            from counterfoil.sdk.serde.avro import AvroCodec

            return AvroCodec()
        case SchemaType.JSON:
            from counterfoil.sdk.serde.json_codec.codec import JsonCodec

            return JsonCodec(validate=False)
        case SchemaType.PROTOBUF:
            from counterfoil.sdk.serde.protobuf_codec.codec import ProtobufCodec

            return ProtobufCodec(as_dict=True)
        case _:
            assert_never(schema_type)
